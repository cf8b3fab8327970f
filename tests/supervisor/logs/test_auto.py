import pytest
from support.log_oracle import read, rows_of

from grpotui_supervisor.logs import READERS, reader_for
from grpotui_supervisor.logs.auto import AutoReader
from grpotui_supervisor.logs.reader import LINE_LIMIT

VERL = b"step:3 - actor/lr:1e-06\n"
TRL = b"{'loss': '0.5', 'epoch': '1'}\n"


def test_every_registered_reader_goes_by_its_name() -> None:
    assert [(name, make(None).framework) for name, make in READERS] == [("verl", "verl"), ("trl", "trl")]


def test_an_unknown_framework_has_no_reader() -> None:
    assert reader_for("unheard-of", logging_steps=None) is None


def test_nothing_is_recognised_before_the_first_record() -> None:
    reader = read("auto", ("stdout", b"Total training steps: 40\n"), ("stderr", b"\r 10%|# | 4/40 [00:01<00:03]"))
    assert reader.framework == "auto"
    assert (reader.step, reader.steps_total, reader.training_complete, len(reader.columns)) == (None, None, False, 0)


@pytest.mark.parametrize(("log", "framework"), [(VERL + TRL, "verl"), (TRL + VERL, "trl")])
def test_the_first_record_decides(log: bytes, framework: str) -> None:
    for blocks in ([log], [bytes([byte]) for byte in log]):
        reader = read("auto", *(("stdout", block) for block in blocks), logging_steps=3)
        assert reader.framework == framework
        assert [step for step, _ in rows_of(reader.columns)] == [3]


def test_what_came_before_the_record_is_not_lost() -> None:
    reader = read("auto", ("stdout", b"Total training steps: 3\n"), ("stdout", VERL))
    assert (reader.framework, reader.step, reader.steps_total, reader.training_complete) == ("verl", 3, 3, True)
    assert reader.phase is None


def test_memory_stays_bounded_while_nothing_is_recognised() -> None:
    reader = reader_for("auto", logging_steps=None)
    assert isinstance(reader, AutoReader)
    for _ in range(30):
        reader.feed(b"x" * (LINE_LIMIT // 10))
    held = [len(lines._open) for one in reader._candidates for lines in vars(one)["_streams"].values()]
    assert held == [LINE_LIMIT, LINE_LIMIT]
