"""verl's memory lines: real ones, those of older versions, and what only looks like one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.log_data import DATA
from support.log_oracle import cut

from grpotui_supervisor.logs.memory_lines import MemoryLines, Place, Printed, place_of

NUMBERS = "memory allocated (GB): 7.51, memory reserved (GB): 17.50, device memory used/total (GB): 23.86/79.15"
OLD = "memory allocated (GB): 55.34482717514038, memory reserved (GB): 61.265625"
PRINTED = (b"7.51", b"17.50", b"23.86", b"79.15")
HEADS = {
    "After FSDP": Place("After FSDP", None, None),
    "(WorkerDict pid=97394) After a, b init": Place("After a, b init", "WorkerDict pid=97394", 97394),
    "\x1b[36m(WorkerDict pid=4, ip=10.0.0.4)\x1b[0m Rank 2 After x": Place("Rank 2 After x", "WorkerDict pid=4", 4),
    "(WorkerDict pid=169054) DEBUG:2025-06-28 18:06:41,828:Before building vllm rollout": Place(
        "Before building vllm rollout", "WorkerDict pid=169054", 169054
    ),
    "(pid=7) INFO:2025-06-28 18:06:41,828:a, b": Place("a, b", None, None),
}


def read(*blocks: bytes) -> list[list[tuple[bytes, Printed]]]:
    lines = MemoryLines()
    return [group.lines for block in blocks for group in lines.groups(block)]


@pytest.mark.parametrize("head", HEADS)
def test_where_a_line_was_printed(head: str) -> None:
    ((line,),) = read(f"x\n{head}, {NUMBERS}\n".encode())
    assert line == (head.encode(), PRINTED)
    assert place_of(line[0]) == HEADS[head]


@pytest.mark.parametrize(
    "ending",
    ["\n", "\r\n", "\x1b[0m\n", " [repeated 3x across cluster]\n", "\x1b[32m [repeated 7x across cluster]\x1b[0m\n"],
)
def test_what_may_stand_behind_the_numbers(ending: str) -> None:
    assert read(f"After x, {NUMBERS}{ending}".encode()) == [[(b"After x", PRINTED)]]


def test_older_versions_print_all_digits_and_no_device() -> None:
    ((line,),) = read(f"After x, {OLD}\n".encode())
    assert line[1] == (b"55.34482717514038", b"61.265625", None, None)
    assert read(b"a, memory allocated (GB): 4.76837158203125e-07, memory reserved (GB): 0.0\n")[0][0][1][1] == b"0.0"


@pytest.mark.parametrize(
    "line",
    [
        f"After x, {NUMBERS}",  # it may go on: a number is read when all of its digits are there
        f"the line `After x, {NUMBERS}` means\n",
        f"After x, {OLD}, memory max reserved (GB): 3\n",
        "After x, memory allocated (GB): 1.0, memory reserved (MB): 2048.0\n",
        "After x, memory allocated (GB): nan, memory reserved (GB): 2\n",
        f"{NUMBERS}\n",
    ],
)
def test_other_lines(line: str) -> None:
    assert read(line.encode()) == []


@pytest.mark.parametrize("head", [b"", b"(WorkerDict pid=3) ", b"x" * 201])
def test_no_label(head: bytes) -> None:
    assert place_of(head) is None


def test_a_record_parts_the_lines() -> None:
    line = f"After x, {OLD}\n"
    log = line * 2 + "(Task pid=1) step:1 - loss:0.5\n" + line + "timing_s/step:3 x\n" + line
    assert [len(group) for group in read(log.encode())] == [2, 2]
    (first, second) = MemoryLines().groups(log.encode())
    assert (first.begin, second.begin) == (0, log.index(line, log.index("step:1")))


@given(places=st.lists(st.integers(0, 2000), max_size=5))
@settings(max_examples=100, deadline=None)
def test_cuts_change_nothing(places: list[int]) -> None:
    log = "".join(f"{head}, {NUMBERS}\nstep:{i} - a:1\nother\n" for i, head in enumerate(HEADS)).encode()
    whole = [line for group in read(log) for line in group]
    assert len(whole) == len(HEADS)
    assert [line for group in read(*cut(log, places)) for line in group] == whole


def test_real_lines() -> None:
    if not (DATA / "cases").is_dir():
        pytest.skip("no captured logs here")
    found: dict[tuple[str, Place | None], Printed] = {}
    for path in sorted((DATA / "cases").glob("*.log")):
        for group in read(path.read_bytes()):
            found |= {(path.name[:3], place_of(head)): numbers for head, numbers in group}
    label = "After Actor optimizer init"
    assert found["003", Place(label, "WorkerDict pid=252390", 252390)] == (b"7.49", b"17.19", b"22.81", b"79.15")
    assert len(found) == 4
