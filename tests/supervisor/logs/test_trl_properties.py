"""Any cutting, any noise, any truncation, any text: what a TRL reader ends up with does not depend on it."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.log_oracle import bits, cut, read, rows_of, state
from support.trl_oracle import trl_rows
from support.trl_texts import BAR, CLEAR, bar, read_trl, redrawn, written

FRAGMENTS = [
    *("{'loss': ", "'0.5'", "0.25", "'epoch': 1", "'kl': None", "'grad_norm': nan", "'reward': '1'", ", ", ": ", "}"),
    *("{'loss': 0.5, 'epoch': 1.0}", "{'loss': '0.25', 'epoch': '2'}", "{'eval_loss': 0.5, 'epoch': 1.0}"),
    *("{'train_runtime': 1, 'train_loss': 2}", "'global_step/max_steps': '5/20'", '{"loss": 1, "iteration": "3/20"}'),
    *("{", "{'", '{"', "'", '"', "\\", "[", "]", "(", "it/s]", "│ ", "╭─── Step 4 ───╮", "╭─", "[default1]:", "0: "),
    *(bar(0), bar(1), BAR, bar(20), bar(3, 5), bar(0, 5), redrawn(5), CLEAR, " 35%|", "| 7/20 [", "/20 [", "%"),
    *("\r", "\n", "\r\n", "\n\r", " \r\r", "\x1b[36m", "\x1b[A", "\x1b]0;", "\x07", "\x00", "é", "\x85", " " * 50),
]
BYTES = st.one_of(
    st.binary(max_size=300),
    st.lists(st.sampled_from(FRAGMENTS), max_size=60).map(lambda parts: "".join(parts).encode()),
    st.lists(st.one_of(st.sampled_from([part.encode() for part in FRAGMENTS]), st.binary(max_size=3)), max_size=60).map(
        b"".join
    ),
)
PLACES = st.lists(st.integers(0, 4000), max_size=12)
NOISE = [
    "INFO 08-02 23:48:05 [executor_base.py:227] It took 0.612868 seconds to wake up tags ['weights'].",
    "[rank1]:[W1129 16:03:21.76 reducer.cpp:1529] Warning: find_unused_parameters=True was specified",
    "Traceback (most recent call last):",
    "    print({'loss': 0.5, 'epoch': 1.0})",
    "ValueError: {'loss': 'grpo', 'epoch': 'last'}",
    "{'role': 'user', 'content': 'What is {x} when the loss is 0.5?'}",
    "[{'prompt': 'a', 'loss': 0.5, 'epoch': 1.0}]",
    "GRPOConfig(loss_type='dapo', {'epoch': 3, 'learning_rate': 1e-06})",
    "{'reward': 0.5, 'answer': '42'}",
    "Question: 50% of 3/20 [is what?",
    "│ │ {'loss': 0.5, 'epoch': 1.0} │ 0.5 │ │",
    "Adding requests: 100%|###| 8/8 [00:00<00:00, 9.1it/s]",
    "the set {'a'} and {\"b\"} and {",
    "\x1b[31mred\x1b[0m",
    "",
]


def whole_state(out: bytes, err: bytes = b"", logging_steps: int | None = 5) -> tuple[object, ...]:
    return state(read("trl", ("stdout", out), ("stderr", err), logging_steps=logging_steps))


@settings(max_examples=600, deadline=None)
@given(out=BYTES, err=BYTES, places=PLACES)
@example(out=b"{'loss': 1, 'epoch': 1}\n\r", err=b"", places=[25])
@example(out=(redrawn(5) + "{'loss': 1, 'epoch': 1}\r\r\n" + bar(20) + "\r").encode(), err=b"", places=[132, 133])
def test_cutting_does_not_matter(out: bytes, err: bytes, places: list[int]) -> None:
    whole = whole_state(out, err)
    blocks = [("stdout", block) for block in cut(out, places)] + [("stderr", block) for block in cut(err, places)]
    assert state(read("trl", *blocks, logging_steps=5)) == whole
    single = [("stdout", bytes([byte])) for byte in out] + [("stderr", bytes([byte])) for byte in err]
    assert state(read("trl", *single, logging_steps=5)) == whole


METRIC_NAMES = st.sampled_from(["grad_norm", "kl", "rewards/a b/mean", "completions/max_length", "é", "x(y)", "reward"])
NUMBERS = st.floats().map(lambda value: float(repr(value)))  # a printed NaN has no sign
METRICS = st.dictionaries(METRIC_NAMES, NUMBERS, max_size=7)
RECORDS = st.lists(METRICS, min_size=1, max_size=6)


def merged_log(records: Sequence[dict[str, float]], *, quoted: bool, noise: Sequence[str] = ()) -> str:
    """One ordered stream: some bars, then a dict and the bar again, with noise between any two of these."""
    pieces = [bar(0)]
    for number, metrics in enumerate(records, start=1):
        values = {"loss": 0.5, **metrics, "epoch": float(number)}
        text = str({key: f"{value:.4g}" for key, value in values.items()} if quoted else values)
        pieces += [f"\n{line}\n" for line in noise] + [bar(number * 3 - 1), written(text, number * 3)]
    return "".join(pieces) + "\n"


@settings(deadline=None)
@given(records=RECORDS, quoted=st.booleans())
def test_every_number_bit_for_bit(records: list[dict[str, float]], *, quoted: bool) -> None:
    text = merged_log(records, quoted=quoted)
    rows = rows_of(read_trl(("stdout", text)).columns)
    printed = [
        {key: float(f"{value:.4g}") if quoted else value for key, value in row.items()}
        for row in ({"loss": 0.5, **row, "epoch": float(number)} for number, row in enumerate(records, start=1))
    ]
    assert bits(rows) == bits([(number * 3, row) for number, row in enumerate(printed, start=1)])
    plain = [(step, {k: v for k, v in row.items() if math.isfinite(v)}) for step, row in rows]
    oracle = trl_rows(text.encode())
    assert bits(plain) == bits([(step, {k: v for k, v in row.items() if math.isfinite(v)}) for step, row in oracle])


@settings(deadline=None)
@given(records=RECORDS, noise=st.lists(st.sampled_from(NOISE), max_size=5), quoted=st.booleans())
def test_noise_between_the_lines_does_not_matter(
    records: list[dict[str, float]], noise: list[str], *, quoted: bool
) -> None:
    quiet = read_trl(("stdout", merged_log(records, quoted=quoted)))
    noisy = read_trl(("stdout", merged_log(records, quoted=quoted, noise=noise)))
    assert state(noisy) == state(quiet)


@settings(deadline=None)
@given(records=RECORDS, width=st.integers(8, 120))
def test_a_wrapped_copy_has_the_same_numbers(records: list[dict[str, float]], width: int) -> None:
    texts = [str({"loss": 0.5, **row, "epoch": float(number)}) for number, row in enumerate(records, start=1)]
    copy = "".join("\n".join(text[at : at + width] for at in range(0, len(text), width)) + "\n" for text in texts)
    plain = read_trl(("stdout", "\n".join(texts) + "\n"), logging_steps=1)
    assert state(read_trl(("stdout", copy), logging_steps=1)) == state(plain)


@settings(deadline=None)
@given(records=RECORDS, place=st.integers(0, 10_000), logging_steps=st.sampled_from([None, 3]))
def test_a_truncated_log_gives_the_same_as_far_as_it_goes(
    records: list[dict[str, float]], place: int, logging_steps: int | None
) -> None:
    """The step of the last row may not be known yet."""
    data = merged_log(records, quoted=False).encode()
    some = read("trl", ("stdout", data[: place % (len(data) + 1)]), logging_steps=logging_steps)
    whole = read("trl", ("stdout", data), logging_steps=logging_steps)
    few, all_rows = bits(rows_of(some.columns)), bits(rows_of(whole.columns))
    assert few[:-1] == all_rows[: max(len(few) - 1, 0)]
    if few:
        step, row = few[-1]
        assert step in (-1, all_rows[len(few) - 1][0])
        assert row == all_rows[len(few) - 1][1]


HOSTILE = [
    *FRAGMENTS,
    "''",
    "{'a': ",
    "{'a': {'b",
    "{'loss': 1, 'epoch': {'",
    "'a': 1, ",
    " ",
    "1",
    "│{'loss'",
    "\\'",
    "─",
]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("fragment", HOSTILE)
@pytest.mark.parametrize("start", ["", "{'loss': 1, ", "{'loss': ", bar(0) + redrawn(5) + "\n"])
def test_a_hostile_log_costs_linear_time(start: str, fragment: str) -> None:
    """In quadratic time, even of 2 ns, these 100 kB would take longer than the test may."""
    data = (start + fragment * (100_000 // len(fragment))).encode() + b"}\n"
    read("trl", ("stdout", data))
