"""What a person writes, and what an error looks like."""

from __future__ import annotations

import pytest

from grpotui.tui.lines.matching import Errors, Matcher
from grpotui_supervisor.errors import UsageError

TEXT = "Step one\nstep two\nи Ягель\n\nlast STEP three"


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        ("step", [0, 1, 4]),
        ("Step", [0]),
        ("ягель", [2]),
        ("Ягель", [2]),
        ("!step", [2, 3]),
        ("re:^step \\w+$", [0, 1]),
        ("re:t[eE]+p t", [1]),
        ("!re:step", [2, 3]),
        ("(", []),
    ],
)
def test_the_lines_that_are_meant(words: str, numbers: list[int]) -> None:
    assert list(Matcher(words).lines(TEXT)) == numbers
    for number, line in enumerate(TEXT.split("\n")):
        assert Matcher(words).holds(line) == (number in numbers)


def test_hits_are_lit_where_they_are() -> None:
    assert Matcher("ab").spans("AB xab") == [(0, 2), (4, 6)]
    assert Matcher("Ab").spans("AB xAb") == [(4, 6)]
    assert Matcher("!ab").spans("ab") == []
    assert Matcher("re:x*").spans("axxb") == [(1, 3)]


def test_what_is_no_expression_is_said() -> None:
    with pytest.raises(UsageError, match="is no regular expression: "):
        Matcher("re:(")


@pytest.mark.parametrize(
    "line",
    [
        "Traceback (most recent call last):",
        "RuntimeError: CUDA error: an illegal memory access was encountered",
        "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
        "node-0:42:99 [0] NCCL WARN Cuda failure 'out of memory'",
        "[rank1]:[E1130 07:15 ProcessGroupNCCL.cpp:683] [Rank 1] Watchdog caught collective operation timeout",
        "Segmentation fault (core dumped)",
        "Killed",
        "ray.exceptions.ActorDiedError: The actor died unexpectedly",
        "  failed (exitcode: -9) local_rank: 1 (pid: 42)",
        "OSError: [Errno 28] No space left on device",
        "2026-11-30 ERROR worker.py:12 something",
    ],
)
def test_an_error_is_known(line: str) -> None:
    assert Errors().holds(line)


@pytest.mark.parametrize(
    "line",
    [
        "step:12 - actor/pg_loss:0.1 - critic/error_rate:0.0 - perf/mfu:0.3",
        "{'loss': '0.0', 'rewards/format_error/mean': '0.1'}",
        "no errors so far, 0 failures",
        "INFO: KilledWorker handler registered",
        "training complete",
        "exitcode: 0",
    ],
)
def test_what_only_speaks_of_errors_is_none(line: str) -> None:
    assert not Errors().holds(line)
