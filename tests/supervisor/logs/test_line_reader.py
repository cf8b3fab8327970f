import math
import re

import pytest

from grpotui_supervisor.logs import columns as store
from grpotui_supervisor.logs.columns import UNKNOWN_STEP, Columns
from grpotui_supervisor.logs.line_reader import Row, dict_pairs, dicts_after, json_object, numbers, split_actor, step_of


@pytest.mark.parametrize(
    ("line", "actor", "text"),
    [
        ("(TaskRunner pid=42) step", "(TaskRunner pid=42) ", "step"),
        ("(WorkerDict pid=16, ip=172.26.135.50)  step", "(WorkerDict pid=16, ip=172.26.135.50) ", " step"),
        ("(pid=15334) step", "(pid=15334) ", "step"),
        ("(raylet) step", "", "(raylet) step"),
        ("(see pid=x) step", "", "(see pid=x) step"),
        ("step (TaskRunner pid=42)", "", "step (TaskRunner pid=42)"),
    ],
)
def test_the_prefix_of_ray(line: str, actor: str, text: str) -> None:
    assert split_actor(line) == (actor, text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{'a': 0.5}", 0.5),
        ("{'a': '0.5000'}", 0.5),
        ("{'a': \"1e-06\"}", 1e-06),
        ('{"a": -inf}', -math.inf),
        ("{'a': np.float64(0.25)}", 0.25),
        ("{'a': tensor(0.25, device='cuda:0')}", 0.25),
        ("{'a': tensor(0.25)}", 0.25),
        ("{'a': True}", 1.0),
        ("{'a': 5 }", 5.0),
        ("  'a': 5,", 5.0),
    ],
)
def test_values_of_a_printed_dictionary(text: str, value: float) -> None:
    assert dict(dict_pairs(text)) == {"a": value}


@pytest.mark.parametrize(
    "text", ["{'a': None}", "{'a': 'text'}", "{'a': [1, 2]}", "{'a': {}}", "{'a'}", "{a: 1}", "", "{'a': "]
)
def test_what_is_no_number_is_left_out(text: str) -> None:
    assert list(dict_pairs(text)) == []


def test_dictionaries_behind_their_openings() -> None:
    start = re.compile(r"step ([0-9]+): \{(?=')")
    line = "step 1: {'a': 1} and step 2: {'b': 2} and step 3: {'c': 3"
    assert [(found[1], body) for found, body in dicts_after(start, line)] == [("1", "'a': 1"), ("2", "'b': 2")]


def test_a_row_of_unknown_step_fills_line_by_line() -> None:
    columns = Columns()
    row = Row(columns, UNKNOWN_STEP)
    row.put([])
    assert len(columns) == 0
    row.put([("a", 1.0)])
    row.put([("b", 2.0), ("a", 3.0)])
    Row(columns, UNKNOWN_STEP).put([("a", 5.0)])
    assert [columns.row(index) for index in range(len(columns))] == [{"a": 3.0, "b": 2.0}, {"a": 5.0}]
    assert list(columns.steps) == [UNKNOWN_STEP, UNKNOWN_STEP]


def test_a_row_keeps_to_the_limit_of_series(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_SERIES", 2)
    columns = Columns()
    row = Row(columns, UNKNOWN_STEP)
    row.put([("a", 1.0)])
    row.put([("b", 1.0), ("c", 1.0), ("a", 2.0)])
    assert columns.row(0) == {"a": 2.0, "b": 1.0}


def test_json() -> None:
    assert json_object('{"a": 1}') == {"a": 1}
    assert [json_object(text) for text in ("", "[1]", "{", "[" * 100_000, '{"a": ' * 100_000)] == [None] * 5
    found = json_object('{"a": 1, "b": {"c": true, "d": "x", "e": null}, "f": [1], "g": ' + "9" * 400 + "}")
    assert found is not None
    assert list(numbers(found)) == [("a", 1.0), ("b/c", 1.0)]


@pytest.mark.parametrize(
    ("value", "step"),
    [
        (7, 7),
        (7.0, 7),
        (0, 0),
        (7.5, None),
        (-1, None),
        (True, None),
        ("7", None),
        (None, None),
        (math.nan, None),
        (1e16, None),
    ],
)
def test_steps(value: object, step: int | None) -> None:
    assert step_of(value) == step
