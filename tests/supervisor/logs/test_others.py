"""What all readers of the smaller frameworks have in common; their own rules are tested beside."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.framework_samples import SAMPLES, Sample
from support.log_oracle import bits, cut, read, rows_of, state

from grpotui_supervisor.logs import READERS
from grpotui_supervisor.logs.catalog import canonical
from grpotui_supervisor.logs.reader import LINE_LIMIT

OTHERS = sorted({sample.framework for sample in SAMPLES})
PIECES = sorted({word for sample in SAMPLES for word in sample.log.replace("\n", "\n ").split(" ")})
LOGS = st.one_of(
    st.binary(max_size=200),
    st.lists(st.sampled_from([*PIECES, "\n", "\r", " ", "}", "{'"]), max_size=50).map(
        lambda words: " ".join(words).encode()
    ),
    st.tuples(
        st.sampled_from(SAMPLES), st.integers(0, 3000), st.integers(0, 3000), st.sampled_from([*PIECES, "\n"])
    ).map(lambda drawn: _damaged(*drawn)),
)
PLACES = st.lists(st.integers(0, 3000), max_size=12)


def _damaged(sample: Sample, start: int, end: int, word: str) -> bytes:
    log = sample.log.encode()
    start, end = sorted((start % len(log), end % len(log)))
    return log[:start] + word.encode() + log[end:]


def named(samples: tuple[Sample, ...]) -> list[object]:
    return [pytest.param(sample, id=f"{sample.framework}-{index}") for index, sample in enumerate(samples)]


@pytest.mark.parametrize("sample", named(SAMPLES))
def test_every_number_of_a_sample(sample: Sample) -> None:
    reader = read(sample.framework, ("stdout", sample.log.encode()))
    assert bits(rows_of(reader.columns)) == bits(sample.rows)
    assert (reader.framework, reader.step, reader.steps_total) == (sample.framework, sample.step, sample.total)
    assert reader.training_complete == sample.complete


@pytest.mark.parametrize("sample", named(SAMPLES))
def test_it_is_recognised_and_no_other_reader_takes_it(sample: Sample) -> None:
    data = sample.log.encode()
    assert state(read("auto", ("stdout", data))) == state(read(sample.framework, ("stdout", data)))
    for other in {entry.framework for entry in READERS} - {sample.framework, "trl"}:
        assert not read(other, ("stdout", data)).columns, other
    if sample.framework not in {"openrlhf", "llama-factory"}:  # dictionaries that a Hugging Face trainer could print
        assert not read("trl", ("stdout", data)).columns


@pytest.mark.parametrize("sample", named(SAMPLES))
def test_it_has_canonical_metrics(sample: Sample) -> None:
    found = {name for _, row in sample.rows for name in canonical(sample.framework, row)}
    assert found & {"reward/mean", "score/mean", "loss", "loss/policy", "learning_rate", "length/mean", "entropy"}


@pytest.mark.parametrize("sample", named(SAMPLES))
def test_either_stream_may_carry_it_and_the_other_does_not_disturb(sample: Sample) -> None:
    whole = state(read(sample.framework, ("stdout", sample.log.encode())))
    blocks: list[tuple[str, bytes]] = []
    for line in sample.log.encode().splitlines(keepends=True):
        blocks += [("stderr", line), ("stdout", b"a line of the other stream\n")]
    assert state(read(sample.framework, *blocks)) == whole


@pytest.mark.parametrize("sample", named(SAMPLES))
@settings(max_examples=20, deadline=None)
@given(places=PLACES)
def test_cutting_a_sample_does_not_matter(sample: Sample, places: list[int]) -> None:
    log = sample.log.encode()
    whole = state(read(sample.framework, ("stdout", log)))
    assert state(read(sample.framework, *(("stdout", block) for block in cut(log, places)))) == whole
    assert state(read("auto", *(("stdout", block) for block in cut(log, places)))) == whole


@pytest.mark.parametrize("framework", OTHERS)
@settings(max_examples=150, deadline=None)
@given(out=LOGS, err=LOGS, places=PLACES)
def test_no_text_raises_however_it_is_cut(framework: str, out: bytes, err: bytes, places: list[int]) -> None:
    whole = read(framework, ("stdout", out), ("stderr", err), logging_steps=5)
    blocks = [("stdout", block) for block in cut(out, places)] + [("stderr", block) for block in cut(err, places)]
    assert state(read(framework, *blocks, logging_steps=5)) == state(whole)


@settings(max_examples=150, deadline=None)
@given(out=LOGS, err=LOGS, places=PLACES)
def test_recognition_does_not_depend_on_cutting(out: bytes, err: bytes, places: list[int]) -> None:
    whole = read("auto", ("stdout", out), ("stderr", err), logging_steps=5)
    blocks = [("stdout", block) for block in cut(out, places)] + [("stderr", block) for block in cut(err, places)]
    assert state(read("auto", *blocks, logging_steps=5)) == state(whole)


IN_ORDER = [s for s in SAMPLES if s.rows[0][0] >= 0 and len(s.rows) > 1 and s.framework != "prime-rl"]


@pytest.mark.parametrize("sample", named(tuple(IN_ORDER)))
def test_a_run_that_starts_again_gets_new_rows(sample: Sample) -> None:
    reader = read(sample.framework, ("stdout", (sample.log * 2).encode()))
    again = rows_of(reader.columns)[len(sample.rows) :]
    assert [step for step, _ in again][-1] == sample.rows[-1][0]
    assert len(reader.columns.restarts) == 1
    assert reader.columns.restarts[0].row == len(sample.rows)


HOSTILE = [
    "{'a': 1, ",
    " - step 1: {'a/b': 1, ",
    "Global step 1: {'a': ",
    "Train epoch [1/1]: ",
    "Train epoch [1/1]: [x, a=1, ",
    "a=b",
    "| INFO | x - {'policy_loss': ",
    "Step 1 | a:b:c ",
    "a:b:c ",
    "'a': ",
    '"a": ',
    "│ a │ 1 ",
    "[PID 1] {",
    '{"step": 1, "actor": ',
    '{"step": 1, "actor": [',
    "SUCCESS Step 1 | 1m ",
    "1s ",
    "Finished: 'x', time cost: ",
    "===",
    "• a: ",
    "(AReaL) ",
    "Epoch:[1/1](1/1), Reward: ",
    " " * 7,
    "'",
    "\x1b[",
]


@pytest.mark.parametrize("framework", OTHERS)
@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.timeout(10)
def test_a_long_hostile_line_takes_no_time(framework: str, piece: str) -> None:
    line = (piece * (LINE_LIMIT // 4 // len(piece) + 1)).encode()
    head = next(sample.log for sample in SAMPLES if sample.framework == framework).encode()
    for before in (b"", head.splitlines()[0][:40]):
        read(framework, ("stdout", before + line + b"\n"))
