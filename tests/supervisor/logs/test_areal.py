from support.log_oracle import Rows, read, rows_of

HEAD = "(AReaL) 20261129-16:41:10.841 StatsLogger INFO: "
STEP = HEAD + "Epoch 1/10 Step 3/29 Train step 3/290 done.\n"
TOP, LINE, END = "╒══╤══╕\n", "├──┼──┤\n", "╘══╧══╛\n"


def rows(text: str) -> Rows:
    return rows_of(read("areal", ("stdout", text.encode())).columns)


def test_the_last_of_several_tables_counts() -> None:
    text = STEP + "".join(f"{HEAD}Stats ({n}/2):\n{HEAD}\n{TOP}│ a/b │ {n}.0000e+00 │\n{END}" for n in (1, 2))
    assert rows(text) == [(3, {"a/b": 2.0})]


def test_a_table_that_is_cut_off_gives_what_was_printed() -> None:
    table = f"{TOP}│ a/b │ 1.0000e+00 │\n"
    assert rows(STEP + table) == []
    assert rows(STEP + table + "Traceback\n") == [(3, {"a/b": 1.0})]
    assert rows(STEP + table + HEAD + "x\n") == [(3, {"a/b": 1.0})]


def test_another_logger_between_step_and_table_does_not_matter() -> None:
    other = "(AReaL) 20261129-16:41:10.842 RolloutController INFO: Train step is next\n"
    assert rows(f"{STEP}{other}{TOP}│ a/b │ 1.0000e+00 │\n{LINE}│ c/d │ nan e │\n{END}") == [(3, {"a/b": 1.0})]


def test_cells_of_a_table_without_its_frame_are_one_row() -> None:
    text = "(AReaL) stats\n│ a/b │ 1.0000e+00 │ c/d │ 2.0000e+00 │\n│ non_metric │ ignored │\n│ a/b │ 3.0000e+00 │\n"
    assert rows(text) == [(-1, {"a/b": 3.0, "c/d": 2.0})]


def test_other_tables_are_no_records() -> None:
    assert rows(f"{TOP}│ a/b │ 1.0000e+00 │\n{END}") == []


def test_progress() -> None:
    reader = read("areal", ("stdout", STEP.encode()))
    assert (reader.step, reader.steps_total, reader.training_complete, len(reader.columns)) == (3, 290, False, 0)
