"""A profile becomes a plan: from its command's words, over which its tables go."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from grpotui_supervisor import planning
from grpotui_supervisor.errors import PlanError
from grpotui_supervisor.model.checking import check
from grpotui_supervisor.model.profile import Profile
from grpotui_supervisor.model.profile_rules import RULES

if TYPE_CHECKING:
    from grpotui_supervisor.planning import Planned

TRL = 'name = "p"\nframework = "trl"\nlaunch.mode = "ranks"\nlaunch.nproc = 7\nlaunch.argv = ["{python}", "t.py", %s]\n'
VERL = 'name = "p"\nlaunch.mode = "command"\nlaunch.argv = ["{python}", "-m", "verl.trainer.main_ppo", %s]\n'


def profile(text: str) -> Profile:
    found, problems = check(Profile, tomllib.loads(text), rules=RULES)
    assert found is not None, problems
    return found


def planned(text: str) -> Planned:
    found = profile(text)
    return planning.of_profile(found, planning.machine_of(found))


def test_tables_go_over_the_command_and_may_be_nested() -> None:
    text = VERL % '"actor_rollout_ref.model.path=Qwen/Qwen3-1.7B", "data.train_batch_size=128"'
    text += "[training]\ndata.train_batch_size = 256\n[training.actor_rollout_ref]\nactor.ppo_mini_batch_size = 64\n"
    text += "[rollout]\n'actor_rollout_ref.rollout.n' = 4\n"
    found = planned(text)
    assert found.batches is not None
    assert dict(found.batches.facts)["trajectories a step"] == "256 × 4 = 1024"
    assert dict(found.batches.facts)["updates a step"] == "256 / 64 = 4"
    assert found.memory is None
    assert not found.mistakes


def test_the_cards_and_rows_of_a_profile() -> None:
    text = VERL % '"actor_rollout_ref.model.path=Qwen/Qwen3-1.7B", "data.train_batch_size=128"'
    found = planned(text + "[gpus]\ncards = '4x32GB'\nhost = '128GB'\n[data]\nrows = 7473\n")
    assert found.memory is not None
    machine = found.memory.machine
    assert (machine.cards, machine.card_bytes, machine.host_bytes) == (4, 32 * 10**9, 128 * 10**9)
    assert found.batches is not None
    assert dict(found.batches.facts)["steps an epoch"].startswith("7473 / 128 = 58")


@pytest.mark.parametrize(
    ("words", "ranks"),
    [
        ('"--num_processes", "4"', 4),
        ('"--nproc_per_node", "2", "--nnodes=2"', 4),
        ('"--num-gpus", "8"', 8),
        ('"x"', 1),
    ],
)
def test_ranks_of_a_launcher(words: str, ranks: int) -> None:
    text = 'name = "p"\nlaunch.mode = "command"\nlaunch.argv = ["accelerate", %s, "--model_name_or_path", "m"]\n'
    assert planning.command_of(profile(text % words)).world == ranks


def test_a_misspelled_setting_is_named_and_others_are_left_alone() -> None:
    text = TRL % '"--model_name_or_path", "Qwen/Qwen3-1.7B"'
    text += "[training]\nnum_generation = 4\nlearning_rate = 1e-6\nper_device_train_batch_size = 'x'\n"
    assert planned(text).mistakes == (
        "per_device_train_batch_size=x is not a number; its default is taken",
        "num_generation is not read here; did you mean 'num_generations'?",
    )


@pytest.mark.parametrize("text", [TRL % '"--steps", "10"', VERL % '"data.json"', VERL.replace("-m", "-x") % '"a=b"'])
def test_a_command_that_says_nothing_has_no_plan(text: str) -> None:
    """Defaults of a framework are not what a script of one's own does."""
    with pytest.raises(PlanError, match="no settings of verl or TRL"):
        planned(text)


def test_a_profile_without_a_model_says_how_to_name_one() -> None:
    with pytest.raises(PlanError, match="names no model") as raised:
        planned(TRL % '"--num_generations", "8"')
    assert "[model] path" in str(raised.value.hint)
