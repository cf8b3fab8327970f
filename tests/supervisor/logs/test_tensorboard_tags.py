"""The framework that wrote an event file: told by several marks, or not at all."""

import pytest
from support.event_files import FIRST, event, record, simple, training
from support.log_data import DATA

from grpotui_supervisor.logs.catalog import KEYS, canonical, unit, unreliable
from grpotui_supervisor.logs.tensorboard import TensorBoardReader
from grpotui_supervisor.logs.tensorboard_tags import MARKS, framework_of
from grpotui_supervisor.logs.verl import VerlReader

VERL = ["actor/pg_clipfrac", "actor/ppo_kl", "critic/rewards/mean", "response_length/mean", "timing_s/gen"]
TRL = ["train/epoch", "train/reward", "train/reward_std", "train/completions/mean_length"]


@pytest.mark.parametrize(("framework", "tags"), [("verl", VERL), ("trl", TRL)])
def test_all_marks_must_be_there(framework: str, tags: list[str]) -> None:
    assert framework_of([*tags, "mine"]) == framework
    for missing in tags:
        assert framework_of([tag for tag in tags if tag != missing]) is None


def test_marks_of_two_tell_nothing() -> None:
    assert framework_of([*VERL, *TRL]) is None
    assert framework_of([]) is None


@pytest.mark.parametrize("framework", sorted(KEYS.keys() - {"verl"}))
def test_the_keys_of_no_other_framework_pass_for_verl_s(framework: str) -> None:
    keys = [key.raw for keys in KEYS[framework].values() for key in keys]
    assert framework_of(keys) is None
    assert framework_of([f"train/{key}" for key in keys]) in ({"trl"} if framework == "trl" else {None})


def test_fine_tuning_with_the_same_trainer_is_not_trl_s_grpo() -> None:
    assert framework_of(["train/epoch", "train/loss", "train/grad_norm", "train/learning_rate"]) is None
    assert framework_of(["train/epoch", "train/reward", "train/loss", "train/completion_length"]) is None


def test_every_mark_is_a_key_of_its_framework() -> None:
    for framework, marks in MARKS:
        known = {key.raw for keys in KEYS[framework].values() for key in keys}
        named = {tag.removeprefix("train/") if framework == "trl" else tag for mark in marks for tag in mark}
        assert named - known == set()


def test_canonical_names_of_trl_s_tags() -> None:
    row = dict.fromkeys([*TRL, "train/rewards/format/mean", "train/kl", "eval/reward"], 0.5)
    found = canonical("trl", row)
    assert found.keys() == {"epoch", "reward/mean", "reward/std", "length/mean", "reward/part/format", "kl/reference"}
    assert canonical("trl", {"train/reward": 0.5}) == {}  # a key of the run's own, in a console's row
    assert unit("memory/reserved_max", "trl", [*TRL, "train/memory(GiB)"]) == "GiB"
    doubted = {"completion_length": 1.0, "completions/mean_length": 1.0, "epoch": 1.0}
    assert unreliable("trl", [f"train/{key}" for key in doubted], "1.0") == unreliable("trl", doubted, "1.0")


def test_the_reader_goes_by_that_name_once_it_has_seen_enough() -> None:
    reader = TensorBoardReader()
    reader.feed(training(TRL[:2], range(1, 3)))
    assert reader.framework == "tensorboard"
    reader.feed(training(TRL, range(3, 5)))
    assert reader.framework == "trl"


def test_the_next_file_of_a_run_goes_on_behind_a_torn_record() -> None:
    reader = TensorBoardReader()
    reader.feed(record(event(1.0, 1, simple("a", 1.0))) + record(event(2.0, 2, simple("a", 2.0)))[:-3])
    reader.next_file()
    reader.feed(FIRST + record(event(3.0, 2, simple("a", 3.0))))
    assert (list(reader.points["a"].values), reader.damaged) == ([1.0, 3.0], None)
    assert reader.walls() == {1: 1.0, 2: 3.0}


def test_our_captured_runs() -> None:
    log = DATA / "verl-h200x2" / "healthy.log"
    if not log.exists():
        pytest.skip("the captured logs are not beside this checkout")
    verl = VerlReader()
    verl.feed(log.read_bytes())
    assert framework_of(verl.columns.series) == "verl"
    reader = TensorBoardReader()
    reader.feed((DATA / "frameworks" / "tensorboard-1.tfevents").read_bytes())
    assert reader.framework == "trl"
    assert {"reward/mean", "kl/reference", "length/mean"} <= canonical("trl", reader.columns.row(3)).keys()
