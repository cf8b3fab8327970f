"""Checkpoints out of the lines of a log."""

from hypothesis import given
from hypothesis import strategies as st

from grpotui_supervisor.logs.checkpoints import LIMIT, Checkpoints

BEGIN = "(TaskRunner pid=7) local_global_step_folder: /c/global_step_20"


def read(*lines: str, family: str | None = "verl", rows: int = 0) -> Checkpoints:
    found = Checkpoints()
    for line in lines:
        found.read(line, family=family, rows=rows, moment=5)
    return found


def test_verl_s_is_complete_when_its_step_s_record_has_come() -> None:
    found = read(BEGIN, rows=20)
    (one,) = found.found
    assert (one.path, one.step, one.began_m, one.evidence) == ("/c/global_step_20", 20, 5, None)
    steps = [*range(20)]
    found.settle(steps, complete=False)
    assert one.evidence is None
    found.settle([*steps, 20], complete=False)
    assert one.evidence == "the record of step 20 was printed after it"


def test_a_record_before_it_and_one_of_an_earlier_step_say_nothing() -> None:
    found = read(BEGIN, rows=2)
    found.settle([19, 20, 11, 12], complete=False)  # 20 was printed before; then the run began again
    assert found.found[0].evidence is None


def test_one_that_is_written_in_the_background_stays_unknown() -> None:
    found = read(BEGIN, "(TaskRunner pid=7) skip write latest_checkpointed_iteration.txt when async_save is True")
    found.settle([20, 21], complete=True)
    assert found.found[0].evidence is None


def test_shards() -> None:
    shard = "INFO:2025-12-16 15:17:42,001:[Rank {0}] Saved model to /{1}/actor/model_world_size_2_rank_{0}.pt"
    found = read(
        BEGIN, *(shard.format(rank, "c/global_step_20") for rank in (0, 1)), shard.format(0, "d/global_step_1")
    )
    assert found.found[0].parts == {"actor/model_world_size_2_rank_0", "actor/model_world_size_2_rank_1"}


def test_transformers_are_complete_one_step_later() -> None:
    lines = ["Saving model checkpoint to /c/checkpoint-20", "Model weights saved in /c/checkpoint-20/model.safetensors"]
    found = read(*lines, family="trl", rows=2)
    found.settle([19, 20, 20], complete=False)
    assert (found.found[0].step, found.found[0].parts, found.found[0].evidence) == (20, {"model.safetensors"}, None)
    found.settle([19, 20, 20, 21], complete=False)
    assert found.found[0].evidence == "the record of step 21 was printed after it"


def test_the_last_save_names_no_step_and_nothing_follows_it() -> None:
    found = read("[INFO|trainer.py:3978] 2025-04-26 23:14:40,943 >> Saving model checkpoint to /c/hf", family="trl")
    found.settle([1, 2], complete=True)
    assert (found.found[0].step, found.found[0].path, found.found[0].evidence) == (None, "/c/hf", None)


def test_the_end_of_training_is_after_its_last_checkpoint() -> None:
    found = read("Saving model checkpoint to /c/checkpoint-20", family="trl", rows=20)
    found.settle(range(1, 21), complete=True)
    assert found.found[0].evidence == "training was complete after it"


def test_prose_and_other_frameworks_name_none() -> None:
    assert not read(BEGIN, family="slime").found
    assert not read("he says local_global_step_folder: /c/global_step_20", "x Saving model checkpoint to /c").found
    assert not read("  print(f'local_global_step_folder: {local_global_step_folder}')", family=None).found


def test_a_garbled_log_fills_no_memory() -> None:
    found = read(*(f"local_global_step_folder: /c/global_step_{step}" for step in range(LIMIT + 50)))
    assert len(found.found) == LIMIT
    assert found.found[-1].step == LIMIT + 49
    assert not read("local_global_step_folder: /" + "c" * 5000 + "/global_step_1").found


@given(st.lists(st.text(max_size=80) | st.sampled_from([BEGIN, "Saved model to /c/global_step_20/", "checkpoint-"])))
def test_no_text_raises(lines: list[str]) -> None:
    read(*lines, *(f"Saving model checkpoint to {line}" for line in lines), family=None).settle([1], complete=True)
