import pytest
from support.log_oracle import Rows, read, rows_of


def panel(*texts: str, title: str = "Metrics", end: str = "╰────╯") -> str:
    return "\n".join((f"╭─── {title} ───╮", *(f"│{text} │" for text in texts), end, ""))


def rows(text: str) -> Rows:
    return rows_of(read("open-instruct", ("stdout", text.encode())).columns)


def test_a_panel_without_a_step() -> None:
    assert rows(panel("  eval       scores: 0.50")) == [(-1, {"eval/scores": 0.5})]


def test_a_wrapped_row() -> None:
    text = panel(
        "  other      training_step: 7 | a_rather_long_name:", "             0.50 |", "             lr: 5.00e-07"
    )
    assert rows(text) == [(7, {"training_step": 7.0, "a_rather_long_name": 0.5, "lr": 5e-07})]


def test_a_name_may_hold_slashes() -> None:
    assert rows(panel("  val        ifeval/strict: 0.50 | other: text")) == [(-1, {"val/ifeval/strict": 0.5})]


@pytest.mark.parametrize(
    "text",
    [
        panel("  other      lr: 1.00", title="Settings"),
        panel("  other      lr: 1.00", title="Metrics of another"),
        panel("  other      lr: 1.00", end="Traceback"),
        panel("  other      lr: high"),
        panel(),
    ],
)
def test_other_panels_are_no_records(text: str) -> None:
    assert rows(text) == []


def test_a_panel_that_does_not_end_is_bounded() -> None:
    text = panel(*["  other      lr: 1.00"] * 5000, "  other      lr: 2.00")
    assert rows(text) == [(-1, {"lr": 1.0})]
