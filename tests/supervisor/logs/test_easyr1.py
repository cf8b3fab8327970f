import math
import struct
from base64 import b64encode

import pytest
from support.log_oracle import Rows, read, rows_of


def rows(text: str) -> Rows:
    return rows_of(read("easyr1", ("stdout", text.encode())).columns)


def scalar(key: str, data: bytes, dtype: str) -> str:
    """As PyYAML writes a NumPy scalar; `dtype` is an anchor with its type, or a reference."""
    head = f"  {key}: !!python/object/apply:numpy._core.multiarray.scalar\n"
    return f"{head}{dtype}  - !!binary |\n    {b64encode(data).decode()}\n"


def anchor(name: str, kind: str) -> str:
    return (
        f"  - &{name} !!python/object/apply:numpy.dtype\n    args:\n    - {kind}\n    - false\n    - true\n"
        "    state: !!python/tuple\n    - 3\n    - <\n    - null\n    - -1\n    - 0\n"
    )


def test_numpy_scalars_are_decoded() -> None:
    text = "Step 1\nactor:\n"
    text += scalar("a", struct.pack("<d", 0.1), anchor("id001", "f8"))
    text += scalar("b", struct.pack("<f", 0.5), anchor("id002", "f4"))
    text += scalar("c", struct.pack("<d", math.pi), "  - *id001\n")
    text += scalar("d", struct.pack("<q", -7), anchor("id003", "i8"))
    text += "  e: 5\nperf:\n  mfu: 0.5\n"
    assert rows(text) == [
        (1, {"actor/a": 0.1, "actor/b": 0.5, "actor/c": math.pi, "actor/d": -7.0, "actor/e": 5.0, "perf/mfu": 0.5})
    ]


@pytest.mark.parametrize(
    "bad",
    [
        scalar("a", b"1234567", anchor("id001", "f8")),
        scalar("a", b"12345678", anchor("id001", "V8")),
        scalar("a", b"12345678", "  - *id009\n"),
        "  a: !!python/object/apply:numpy._core.multiarray.scalar\n  - !!binary |\n    %%%%\n",
        "  a: !!python/object/apply:numpy._core.multiarray.scalar\n",
        "  a: !!python/object/apply:os.system\n  - rm\n",
        "  a: text\n",
        "  a: null\n",
    ],
)
def test_what_cannot_be_decoded_is_left_out(bad: str) -> None:
    assert rows(f"Step 1\nactor:\n{bad}  b: 5\n")[:1] in ([(1, {"actor/b": 5.0})], [])


def test_an_object_without_an_end_does_not_swallow_the_next_step() -> None:
    text = "Step 1\nactor:\n  a: !!python/object/apply:numpy._core.multiarray.scalar\n" + "  - x\n" * 40
    assert rows(text + "Step 2\nactor:\n  b: 5\n") == [(2, {"actor/b": 5.0})]


@pytest.mark.parametrize(
    "text",
    [
        "Step 1\nFirst we add 1 and 1.\n  sum: 2\n",
        "Step 1: do this\nactor:\n  lr: 5\n",
        "Step 1\nanswer:\n  lr: 5\n",
        "Step 1\n  lr: 5\n",
        "actor:\n  lr: 5\n",
        "wandb: timing_s/gen 72.0\n",
        '{"step": 1, "loss": 0.5}\n',
        '{"step": 1, "actor": 5}\n',
        '{"step": "1", "actor": {"lr": 5}}\n',
        '{"step": 1, "actor": {"lr": 5}\n',
    ],
)
def test_other_texts_are_no_records(text: str) -> None:
    assert rows(text) == []


def test_validation_before_training() -> None:
    assert rows("Step 0\nval:\n  reward_score: 0.5\n") == [(0, {"val/reward_score": 0.5})]


def test_a_number_counts_when_its_line_has_ended() -> None:
    reader = read("easyr1", ("stdout", b"Step 1\nactor:\n  lr: 1"))
    assert len(reader.columns) == 0
    reader.feed(b"23\n")
    assert rows_of(reader.columns) == [(1, {"actor/lr": 123.0})]
