"""Which process and stream a log is of, told by the names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpotui_supervisor.model.log_names import places


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["/a/train.log"], ["log stdout"]),
        (["/a/x.err"], ["log stdout"]),  # alone it is whatever a shell put there: 2>&1
        (["/a/x.out", "/a/x.err"], ["log stdout", "log stderr"]),
        (["/a/stderr.log", "/a/stdout.log"], ["log stderr", "log stdout"]),
        (["/a/slurm-7.out.gz", "/a/slurm-7.err.zst"], ["log stdout", "log stderr"]),
        (["/a/x.out", "/b/x.err"], ["log-0 stdout", "log-1 stdout"]),
        (["/a/rank1.log", "/a/rank_0.log"], ["1 stdout", "0 stdout"]),
        (["/a/rank1.log", "/a/other.log"], ["log-0 stdout", "log-1 stdout"]),
        (["/a/rank1.log", "/b/rank1.log"], ["log-0 stdout", "log-1 stdout"]),
        (["/a/worker-3.out", "/a/worker-3.err"], ["3 stdout", "3 stderr"]),
        (["/t/0/stdout.log", "/t/0/stderr.log", "/t/1/stdout.log"], ["0 stdout", "0 stderr", "1 stdout"]),
        (["/a/frank12.log"], ["log stdout"]),
        (["/a/trankquil.log"], ["log stdout"]),
    ],
)
def test_places(paths: list[str], expected: list[str]) -> None:
    found = places(paths)
    assert [place.path for place in found] == paths
    assert [f"{place.member} {place.stream}" for place in found] == expected
    assert all(place.rank is None or str(place.rank) == place.member for place in found)


@given(st.lists(st.text(st.sampled_from("ab/.0_rankouterstd"), min_size=1).map("/".__add__), max_size=6, unique=True))
def test_no_two_logs_share_a_place(paths: list[str]) -> None:
    found = places(paths)
    assert len({(place.member, place.stream) for place in found}) == len(paths)
