"""Whatever stands between verl's records, and however the bytes are cut: the same records, and no text raises.

`GRPOTUI_FUZZ=100000` sets how many garbled logs are tried.
"""

import os
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.log_oracle import Rows, bits, cut, read, rows_of, state

from grpotui_supervisor.logs.reader import Reader

FUZZ = int(os.environ.get("GRPOTUI_FUZZ", "300"))
DRIVER = "\x1b[36m(TaskRunner pid=42)\x1b[0m "
KINDS = (
    ("actor/entropy", "actor/lr", "training/global_step"),
    ("actor/entropy", "actor/lr", "training/global_step", "val-core/openai/gsm8k/acc/mean@1"),
    ("critic/lr(1e-4)", "actor/pg_loss"),
    ("val-core/my data/acc", "complexkey/with:colon/mean@1"),
    ("num_turns/mean", "no_slash", "timing_s/step"),
    ('odd"key/x', "back\\slash/x", "é/ü"),
)
NOISE = (
    "",
    " ",
    "{'step': 3, 'actor/lr': 1e-06}",
    f"{DRIVER}[response] step: first we compute 3 - 2 = 1",
    f"{DRIVER}we say step:3 - actor/lr, not more",
    f"{DRIVER}step:3 - the answer is: 5",
    f"{DRIVER}'step:3 - actor/lr:1e-06'",
    f"{DRIVER}training/global_step:3 - actor/lr:1e-06",
    f"{DRIVER}\rTraining Progress:  25%|██▌       | 1/4 [00:05<00:15,  5.1s/it]",
    f"{DRIVER}Rank 1 After step, memory allocated (GB): 7.49, device memory used/total (GB): 22.81/79.15",
    "\x1b[36m(WorkerDict pid=7, ip=10.0.0.1)\x1b[0m - list - of - nothing\x1b[32m [repeated 3x across cluster]\x1b[0m",
    "Traceback (most recent call last):",
    '  File "/verl/trainer.py", line 12, in step',
    "\x1b]0;title\x07",
    "\udcff\udcfe is no UTF-8",
)
FRONTS = ("", DRIVER, "(main_task pid=7) ", "(TaskRunnerV1 pid=7, ip=10.0.0.1) ", f"{NOISE[8]}", "2026-01-01 12:00 ")
BACKS = (
    "",
    "",
    "",
    "\r",
    "\x1b[0m",
    "(WorkerDict pid=9) INFO: - a/b:7",
    "\x1b[32m [repeated 3x across cluster]\x1b[0m",
)
FRAGMENTS = (
    *(
        "step:",
        "1",
        "7",
        "23",
        " - ",
        "- ",
        "-",
        " ",
        "a/b:",
        "c/d:",
        "x:",
        "0.5",
        "1e-06",
        "nan",
        "null",
        "True",
        "-0.0",
    ),
    *(
        "np.float64(",
        "np.int32(",
        ")",
        "(",
        ":",
        ",",
        '"',
        "\\",
        "{",
        "}",
        "\t",
        "\r",
        "\n",
        "\r\n",
        "\x1b[36m",
        "\x1b[",
    ),
    *(
        DRIVER,
        "(TaskRunner pid=1) ",
        "[repeated 2x across cluster]",
        "step:3 - a/b:0.5 - c/d:2\n",
        "step:4 - a/b:nan\n",
    ),
    *("Total training steps: 9", "Total training steps: 2\n", "Training Progress: ", " 35%|##| 7/20 [", "\xff", "é"),
    *("Final validation metrics: {'a/b': 0.5}", "(\"Final validation metrics: {'a/b': \"\n", " 'np.float64(0.5)}')\n"),
    *('{"step":1,"data":{"a/b":1}}\n', '{"step": 2, "data": {'),
)


class Printed(NamedTuple):
    """A number and how it is printed."""

    text: str
    value: float


class Line(NamedTuple):
    """A line of a log, and the record in it."""

    text: str
    record: tuple[int, dict[str, float]] | None = None


def printed(value: float, style: str) -> Printed:
    if style == "fixed":
        return Printed(f"{value:.3f}", float(f"{value:.3f}"))
    return Printed(f"np.float64({value!r})" if style == "numpy" else repr(value), float(repr(value)))


NUMBERS = st.one_of(
    st.builds(printed, st.floats(), st.sampled_from(("fixed", "plain", "numpy"))),
    st.builds(printed, st.floats(0, 1), st.sampled_from(("fixed", "plain", "numpy"))),
    st.integers(0, 10**20).map(lambda number: Printed(str(number), float(number))),
    st.sampled_from([Printed("True", 1.0), Printed("np.int32(2)", 2.0), Printed("np.float32(-inf)", float("-inf"))]),
)


@st.composite
def lines(draw: st.DrawFn) -> list[Line]:
    """A log: steps ascend, now and then one is printed again or the run goes back."""
    found, step = [], draw(st.integers(0, 2))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=2))  # few, so that layouts are compiled
    for _ in range(draw(st.integers(0, 20))):
        found += [Line(text) for text in draw(st.lists(st.sampled_from(NOISE), max_size=2))]
        keys = draw(st.sampled_from(kinds))
        fields = {key: draw(NUMBERS) for key in keys}
        body = " - ".join(f"{key}:{number.text}" for key, number in fields.items())
        text = f"{draw(st.sampled_from(FRONTS))}step:{step} - {body}{draw(st.sampled_from(BACKS))}"
        found.append(Line(text, (step, {key: number.value for key, number in fields.items()})))
        found.append(Line(draw(st.sampled_from(NOISE[3:]))))
        step = max(0, step + draw(st.sampled_from((1, 1, 1, 1, 1, 0, -2, 5))))
    return found


class Model:
    """What the columns should hold, said as simply as possible."""

    def __init__(self, log: list[Line]) -> None:
        self.rows: Rows = []
        self.restarts: list[tuple[int, int]] = []
        self._index: dict[int, int] = {}
        self._last = -1
        for _, record in log:
            if record is not None:
                self._add(*record)

    def _add(self, step: int, row: dict[str, float]) -> None:
        first = next(iter(row))
        known = self.rows[self._index[step]][1] if step in self._index else None
        if step < self._last and (first in known if known is not None else not first.startswith("val")):
            self.restarts.append((len(self.rows), step))
            self._index, self._last = {}, -1
        if step not in self._index:
            self._index[step] = len(self.rows)
            self.rows.append((step, {}))
        self.rows[self._index[step]][1].update(row)
        self._last = max(step, self._last)


def encoded(log: list[Line]) -> bytes:
    return "".join(f"{line.text}\n" for line in log).encode("utf-8", "surrogateescape")


def assert_reads(reader: Reader, log: list[Line]) -> None:
    model = Model(log)
    assert bits(rows_of(reader.columns)) == bits(model.rows)
    assert reader.columns.restarts == model.restarts


@settings(deadline=None, max_examples=300)
@given(log=lines(), places=st.lists(st.integers(0, 5000), max_size=8))
def test_every_record_and_nothing_else(log: list[Line], places: list[int]) -> None:
    data = encoded(log)
    whole = read("verl", ("stdout", data))
    assert_reads(whole, log)
    assert state(read("verl", *(("stdout", block) for block in cut(data, places)))) == state(whole)
    assert state(read("verl", *(("stdout", bytes([byte])) for byte in data))) == state(whole)


@settings(deadline=None, max_examples=200)
@given(log=lines(), place=st.integers(0, 5000))
def test_a_truncated_log_has_the_records_whose_lines_have_ended(log: list[Line], place: int) -> None:
    data = encoded(log)
    data = data[: place % (len(data) + 1)]
    ended = log[: data.count(b"\n")]
    rest = log[len(ended)] if len(ended) < len(log) else Line("")
    if b"\r" in data[data.rfind(b"\n") + 1 :] and rest.record is not None:
        return  # a carriage return ends a line too: there the record may be whole
    assert_reads(read("verl", ("stdout", data)), ended)


@settings(deadline=None, max_examples=200)
@given(log=lines(), noise=st.lists(st.tuples(st.integers(0, 60), st.sampled_from(NOISE)), max_size=20))
def test_noise_between_the_lines_changes_nothing(log: list[Line], noise: list[tuple[int, str]]) -> None:
    noisy = list(log)
    for place, text in noise:
        noisy.insert(place % (len(noisy) + 1), Line(text))
    assert_reads(read("verl", ("stdout", encoded(noisy))), log)


GARBLED = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=3)), max_size=50).map("".join)
BEGINNINGS = (
    "",
    "step:1 - a/b:0.5 - c/d:2\n\x07\nstep:2 - a/b:0.5 - c/d:np.float64(2.0)\n\x07\n",
    '{"step":1,"data":{"a/b":1}}\n',
)


@settings(deadline=None, max_examples=FUZZ, suppress_health_check=[HealthCheck.too_slow])
@given(
    start=st.sampled_from(BEGINNINGS),
    text=GARBLED,
    more=st.binary(max_size=30),
    places=st.lists(st.integers(0, 400), max_size=6),
)
def test_no_text_raises_and_cutting_does_not_matter(start: str, text: str, more: bytes, places: list[int]) -> None:
    """With known layouts too, so that the fast way is tried on everything."""
    data = (start * 2 + text).encode("utf-8", "replace") + more + b"\n"
    whole = read("verl", ("stdout", data))
    for blocks in (cut(data, places), [bytes([byte]) for byte in data]):
        other = read("verl", *(("stdout", block) for block in blocks))
        assert state(other) == state(whole)
        assert other.columns.restarts == whole.columns.restarts
    assert sorted(whole.columns.curve()) == sorted(set(whole.columns.curve()))


@pytest.mark.parametrize(
    "start", ["", "step:1 - a/b:1", "step:1 - a/b:1\rstep:2 - a/b:1\r", "\"Final validation metrics: {'"]
)
@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_a_hostile_line_costs_linear_time(start: str, fragment: str) -> None:
    """Quadratic time over these 300 kB would take minutes, and the test's time is limited."""
    read("verl", ("stdout", (start + fragment * (300_000 // len(fragment))).encode() + b"\n"))
