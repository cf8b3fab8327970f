from support.log_oracle import Rows, read, rows_of

RULE = "=" * 25


def block(loss: float) -> str:
    return f"📊 Training Results:\n  • Loss: {loss}\n⏱️  Timing:\n  • Total step time: 2.5s\n"


def step(number: int, total: int) -> str:
    return f"\n{RULE} Step {number}/{total} {RULE}\n{block(float(number))}"


def rows(text: str) -> Rows:
    return rows_of(read("nemo-rl", ("stdout", text.encode())).columns)


def row(loss: float) -> dict[str, float]:
    return {"Loss": loss, "Total step time": 2.5}


def test_without_a_header_the_step_is_unknown() -> None:
    assert rows(block(0.5) + block(0.25)) == [(-1, row(0.5)), (-1, row(0.25))]


def test_steps_go_on_in_the_next_epoch() -> None:
    text = "".join(f"{RULE} Epoch {epoch}/3 {RULE}\n{step(1, 2)}{step(2, 2)}" for epoch in (1, 2, 3))
    reader = read("nemo-rl", ("stdout", text.encode()))
    assert list(reader.columns.steps) == [1, 2, 3, 4, 5, 6]
    assert (reader.step, reader.steps_total, reader.training_complete) == (6, None, False)


def test_steps_that_go_on_by_themselves_are_left_alone() -> None:
    text = f"{RULE} Epoch 1/2 {RULE}\n{step(1, 9)}{step(2, 9)}{RULE} Epoch 2/2 {RULE}\n{step(3, 9)}"
    assert [at for at, _ in rows(text)] == [1, 2, 3]


def test_a_run_that_was_started_again_gets_new_rows() -> None:
    text = f"{RULE} Epoch 1/1 {RULE}\n{step(1, 3)}{step(2, 3)}"
    reader = read("nemo-rl", ("stdout", (text + text + step(3, 3)).encode()))
    assert list(reader.columns.steps) == [1, 2, 1, 2, 3]
    assert list(reader.columns.restarts) == [(2, 1)]
    assert (reader.step, reader.steps_total, reader.training_complete) == (3, 3, True)


def test_a_header_alone_is_no_step_done() -> None:
    reader = read("nemo-rl", ("stdout", f"{RULE} Step 1/3 {RULE}\n".encode()))
    assert (reader.step, reader.steps_total, len(reader.columns)) == (None, 3, 0)


def test_validation_before_training() -> None:
    assert rows("📊 Validation Results:\n    • Accuracy: 0.5000\n" + step(1, 3)) == [
        (-1, {"validation/Accuracy": 0.5}),
        (1, row(1.0)),
    ]


def test_bullets_elsewhere_are_no_metrics() -> None:
    assert rows("📊 Results:\n  • Loss: 0.5\n  • Loss: 0.5\n") == []
    assert rows(block(0.5) + "📊 Buffer:\n  • Size: 5\n") == [(-1, row(0.5))]
