"""A start whose process is on no record: told by three looks at a child that goes on meanwhile."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from grpotui_supervisor.shim import procfs, unrecorded

OWN, SHELL = b"python\0shim\0", b"sh\0-c\0exit 3\0"
SHIMS = {"PATH": "/bin"}
MARKED = {"PATH": "/bin", procfs.MEMBER_MARK: "3"}
OTHER = {"PATH": "/bin", procfs.MEMBER_MARK: "2"}
UNCLEAR = unrecorded._UNCLEAR


def stat(*, ended: bool = False, sid: int = 7, start: int = 100) -> SimpleNamespace:
    return SimpleNamespace(has_ended=ended, sid=sid, start=start)


@pytest.mark.parametrize(
    ("words", "environment", "found", "expected"),
    [
        (SHELL, MARKED, stat(), 100),
        (SHELL, OTHER, stat(), None),
        (SHELL, MARKED, stat(sid=6), None),  # what the process has started carries its mark too
        (OWN, SHIMS, stat(), UNCLEAR),  # between fork and exec
        (OWN, MARKED, stat(), UNCLEAR),  # it got there between the two looks: the next round says so
        (b"", {}, stat(), UNCLEAR),  # in the middle of exec: its words are not there yet
        (SHELL, {}, stat(), UNCLEAR),  # in the middle of exec: its environment is not there yet
        (SHELL, {}, stat(ended=True), 100),  # it died between the looks
        (b"", {}, stat(ended=True), 100),
        (OWN, SHIMS, stat(ended=True), 100),  # exec failed, or it was quick
        (b"", {}, stat(ended=True, start=99), None),  # older than the start
        (b"", {}, stat(ended=True, sid=6), None),
        (SHELL, MARKED, None, None),
    ],
)
def test_three_looks(
    monkeypatch: pytest.MonkeyPatch,
    words: bytes,
    environment: dict[str, str],
    found: SimpleNamespace | None,
    expected: int | None,
) -> None:
    for name, answer in (("command_line", words), ("environment", environment), ("stat", found)):
        monkeypatch.setattr(procfs, name, lambda _pid, answer=answer: answer)
    assert unrecorded._look(7, "3", 100, OWN) == expected
