import random
from collections.abc import Iterable
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.log_oracle import cut, read, rows_of, state

from grpotui_supervisor.logs import READERS, reader_for
from grpotui_supervisor.logs import auto as module
from grpotui_supervisor.logs.auto import MARK_LIMIT, SEEN_LIMIT, AutoReader, Candidate
from grpotui_supervisor.logs.catalog import KEYS, SAME_AS
from grpotui_supervisor.logs.columns import UNKNOWN_STEP
from grpotui_supervisor.logs.openrlhf import OpenRlhfReader
from grpotui_supervisor.logs.verl import VerlReader
from grpotui_supervisor.model.profile import Framework

VERL = b"step:3 - actor/lr:1e-06\n"
VERL_END = b"(TaskRunner pid=7) Final validation metrics: {'val-core/gsm8k/reward/mean@1': 0.5}\n"
TRL = b"{'loss': '0.5', 'epoch': '1'}\n"
SEED = 7


def auto(blocks: Iterable[bytes], *, logging_steps: int | None = 3) -> AutoReader:
    reader = reader_for("auto", logging_steps=logging_steps)
    assert isinstance(reader, AutoReader)
    for block in blocks:
        reader.feed(block)
    return reader


def singles(data: bytes) -> list[bytes]:
    return [bytes([byte]) for byte in data]


def test_every_registered_reader_goes_by_its_name_and_has_keys() -> None:
    for name, make, _ in READERS:
        assert make(None).framework in {name, SAME_AS.get(name)}
    assert {entry.framework for entry in READERS} <= KEYS.keys() | SAME_AS.keys()


def test_marks_are_such_that_they_can_be_found() -> None:
    for entry in READERS:
        assert entry.marks
        assert all(0 < len(mark) <= MARK_LIMIT and b"\n" not in mark and b"\r" not in mark for mark in entry.marks)


def test_a_fork_is_read_as_its_origin() -> None:
    for fork, origin in SAME_AS.items():
        reader = reader_for(fork)
        assert reader is None or reader.framework in {fork, origin}


def test_a_profile_may_name_every_framework_that_is_read() -> None:
    names = set(get_args(Framework))
    assert names | {"trainer-state"} == {"auto"} | {entry.framework for entry in READERS} | set(SAME_AS)
    assert all(reader_for(name) is not None for name in names)


def test_an_unknown_framework_has_no_reader() -> None:
    assert reader_for("unheard-of", logging_steps=None) is None


def test_nothing_is_recognised_before_the_first_record() -> None:
    reader = read("auto", ("stdout", b"Total training steps: 40\n"), ("stderr", b"\r 10%|# | 4/40 [00:01<00:03]"))
    assert reader.framework == "auto"
    assert (reader.step, reader.steps_total, reader.training_complete, len(reader.columns)) == (None, None, False, 0)


@pytest.mark.parametrize(("log", "framework"), [(VERL + TRL, "verl"), (TRL + VERL, "trl")])
def test_the_first_record_decides(log: bytes, framework: str) -> None:
    for blocks in ([log], singles(log)):
        reader = auto(blocks)
        assert reader.framework == framework
        assert [step for step, _ in rows_of(reader.columns)] == [3]


def test_the_last_validation_of_verl_is_a_record_by_itself() -> None:
    for blocks in ([VERL_END], singles(VERL_END)):
        reader = auto(blocks)
        assert reader.framework == "verl"
        assert rows_of(reader.columns) == [(UNKNOWN_STEP, {"val-core/gsm8k/reward/mean@1": 0.5})]


def test_what_came_before_the_record_is_not_lost() -> None:
    reader = read("auto", ("stdout", b"Total training steps: 3\n"), ("stdout", VERL))
    assert (reader.framework, reader.step, reader.steps_total, reader.training_complete) == ("verl", 3, 3, True)


def test_what_the_other_stream_said_before_is_not_lost() -> None:
    bar = b"\r  0%| | 0/64 [00:00<?]\r100%|#| 64/64 [00:00<00:00]\n\r  0%| | 0/20 [00:00<?]"
    reader = read("auto", ("stderr", bar), ("stdout", TRL), logging_steps=1)
    assert (reader.framework, reader.step, reader.steps_total) == ("trl", 1, 20)


def test_a_log_of_none_shows_what_it_looks_like() -> None:
    log = b"\n  \x1b[2J\r\n\x1b[31mLoading\x1b[0m weights {of step 3}\nsecond\n"
    for blocks in ([log], singles(log)):
        reader = auto(blocks)
        assert (reader.framework, reader.seen) == ("auto", "Loading weights {of step 3}")
    assert auto([b""]).seen is None
    assert auto([b"no end yet"]).seen is None
    assert auto([b"x" * 100_000 + b"\n"]).seen == "x" * SEEN_LIMIT
    assert auto([b"first\n", VERL]).seen == "first"
    assert auto(["\u202eright\u200b\tto left\n".encode()]).seen == "right to left"


def test_memory_stays_bounded_while_nothing_is_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 500)
    monkeypatch.setattr(module, "MEMORY", 2)
    for text in (b"a step {x} that is none ", b"a step {x} that is none\n"):
        reader = auto([text * 10] * 100)
        assert reader._past._size <= 1500


def test_a_line_without_its_beginning_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", len(b"global_"))
    monkeypatch.setattr(module, "MEMORY", 100)
    assert [step for step, _ in rows_of(auto([b"x\n" * 500, b"global_step:9 - x:1\n" + VERL]).columns)] == [3]
    for memory in range(7):  # the line begins in what is forgotten, unless little is
        monkeypatch.setattr(module, "MEMORY", memory)
        assert [step for step, _ in rows_of(auto([b"global_step:9 - x:1\n" + VERL]).columns)] in ([3], [])


def test_a_reader_without_a_record_stops_listening(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 50)
    reader = auto([b"a step\n"])
    assert len(reader._awake) == 1
    reader.feed(b"plain text\n" * 50)
    assert not reader._awake
    reader.feed(VERL)
    assert reader.framework == "verl"


def test_only_one_reader_is_fed_after_the_decision() -> None:
    reader = auto([VERL])
    assert (reader._candidates, reader._awake) == ((), {})


WORDS = [
    b"step:3 - ",
    b"x:1",
    b"step",
    b"{'loss': 1.5, ",
    b"'epoch': 1}",
    b"\n",
    b"\r",
    b"word ",
    b"Total training steps: 9",
]


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["stdout", "stderr"]), st.sampled_from(WORDS)), max_size=40),
    st.lists(st.integers(0, 40), max_size=6),
    st.integers(5, 60),
    st.integers(0, 3),
    st.integers(0, 3),
)
def test_cutting_does_not_matter_however_little_is_kept(
    words: list[tuple[str, bytes]], places: list[int], page: int, memory: int, patience: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PAGE", page)
        patch.setattr(module, "MEMORY", memory)
        patch.setattr(module, "PATIENCE", patience)
        whole = read("auto", *words, logging_steps=5)
        pieces = [(stream, piece) for stream, word in words for piece in cut(word, places)]
        parts = read("auto", *pieces, logging_steps=5)
        assert isinstance(whole, AutoReader)
        assert isinstance(parts, AutoReader)
        assert (state(parts), parts.seen) == (state(whole), whole.seen)


def test_no_reader_listens_to_a_log_without_marks() -> None:
    rng = random.Random(SEED)
    words = ["".join(rng.choices("abcdefgh", k=6)) for _ in range(100)]
    reader = auto([])
    for _ in range(200):
        reader.feed((" ".join(rng.choices(words, k=15)) + "\n").encode() * 10)
        assert not reader._awake
    assert reader.framework == "auto"


def test_a_record_counts_for_a_reader_from_its_mark_on() -> None:
    """A control character in a mark hides it, but not from TRL, whose mark is shorter; a later mark is too late."""
    data = b"{'los\0s': 5, 'reward': 1, 'learning_rate': 1, 'epoch': 2}\n{'loss'"
    assert auto([data]).framework == auto(singles(data)).framework == "trl"
    whole = data.replace(b"\0", b"")
    assert auto([whole]).framework == auto(singles(whole)).framework == "llama-factory"


def test_a_mark_behind_its_record_counts_before_the_line_has_ended() -> None:
    candidates = [Candidate(OpenRlhfReader, (b"Global step ",)), Candidate(VerlReader, (b"step:", b" step"))]
    data = b"Final validation metrics: {'r': 5}\nGlobal step 2: {'kl': nan}\n"
    for blocks in ([data], singles(data)):
        reader = AutoReader(candidates)
        for block in blocks:
            reader.feed(block)
        assert reader.framework == "verl"


def test_a_final_validation_is_a_record_of_verl() -> None:
    data = b"Final validation metrics: {'r': 5}\nGlobal step 2: {'kl': nan}\n"
    assert auto([data]).framework == auto(singles(data)).framework == "verl"
