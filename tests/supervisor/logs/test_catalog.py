import itertools
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.log_data import DATA

from grpotui_supervisor.logs.catalog import KEYS, OPEN_KEYS, SAME_AS, canonical, describe, unit, unreliable
from grpotui_supervisor.logs.catalog_doubts import DOUBTS, VERL_V1_KEY
from grpotui_supervisor.logs.catalog_names import METRICS, OPEN_METRICS
from grpotui_supervisor.logs.catalog_page import page
from grpotui_supervisor.logs.trl import TrlReader

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"

DESIGN = """
score/{mean,max,min} reward/{mean,std,max,min} reward/part/<name> reward/zero_std_groups advantage/{max,min}
kl/reference kl/update kl/mismatch entropy clip_ratio clip_ratio/{low,high} length/{mean,max,truncated} prompt/mean
grad_norm learning_rate loss loss/policy loss/value value/clip_ratio value/explained_variance
time/{generate,wait,reward,logprob,reference,update,sync,validate,step} tokens_per_s
memory/{allocated_max,reserved_max,cpu} engine/{kv_cache,running,waiting,preemptions,tokens_per_s} epoch val/<name>
"""


def designed() -> list[str]:
    names = []
    for word in DESIGN.split():
        stem, _, ends = word.partition("{")
        names += [stem + end for end in ends.rstrip("}").split(",")]
    return names


def printed(framework: str) -> list[str]:
    """Every raw key that the tables know of a framework, and one of each open kind."""
    fixed = [key.raw for keys in KEYS[framework].values() for key in keys]
    return fixed + [before + "some/name" for before, _ in OPEN_KEYS.get(framework, ())]


def test_every_name_of_the_design_is_described() -> None:
    for name in designed():
        metric = describe(name)
        assert metric is not None, name
        assert metric.meaning
        assert "\n" not in metric.meaning
        assert metric.good in {"up", "down", "neither", "target"}
    assert {metric.name for metric in OPEN_METRICS} <= set(designed())


def test_names_are_unique() -> None:
    names = [metric.name for metric in METRICS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("framework", KEYS)
def test_every_table_maps_to_names_that_are_described(framework: str) -> None:
    assert {name for name in KEYS[framework] if describe(name) is None} == set()
    assert all(describe(after + "x") for _, after in OPEN_KEYS.get(framework, ()))


@pytest.mark.parametrize("framework", KEYS)
def test_no_raw_key_stands_for_two_metrics(framework: str) -> None:
    fixed = [key.raw for keys in KEYS[framework].values() for key in keys]
    assert sorted(fixed) == sorted(set(fixed))


@pytest.mark.parametrize("framework", KEYS)
@given(st.data())
def test_each_number_is_shown_at_most_once(framework: str, data: st.DataObject) -> None:
    keys = data.draw(st.lists(st.sampled_from(printed(framework)), unique=True))
    row = {key: float(number) for number, key in enumerate(keys, start=1)}
    scaled = {key.raw: key.divisor for keys in KEYS[framework].values() for key in keys}
    worked_out = {"areal": {"length/mean"}, "open-instruct": {"length/truncated"}}.get(framework, set())
    found = canonical(framework, row)
    shown = [value for name, value in found.items() if name not in worked_out]
    assert len(shown) == len(set(shown))
    assert set(shown) <= {value / scaled.get(key, 1.0) for key, value in row.items()}
    assert all(describe(name) for name in found)


def test_the_first_key_present_wins() -> None:
    assert canonical("verl", {"actor/entropy_loss": 1.0}) == {"entropy": 1.0}
    assert canonical("verl", {"actor/entropy_loss": 1.0, "actor/entropy": 2.0}) == {"entropy": 2.0}


def test_score_and_reward_are_two_metrics() -> None:
    row = {"critic/score/mean": 0.5, "critic/rewards/mean": 0.4, "critic/rewards/max": 1.0}
    assert canonical("verl", row) == {"score/mean": 0.5, "reward/mean": 0.4, "reward/max": 1.0}


def test_three_kinds_of_kl_are_three_metrics() -> None:
    row = {"actor/kl_loss": 0.1, "actor/ppo_kl": 0.2, "rollout_corr/kl": 0.3}
    assert canonical("verl", row) == {"kl/reference": 0.1, "kl/update": 0.2, "kl/mismatch": 0.3}


def test_the_v1_trainer_of_verl_waits_for_samples() -> None:
    assert canonical("verl", {"timing_s/gen": 3.0}) == {"time/generate": 3.0}
    assert canonical("verl", {"timing_s/gen": 3.0, VERL_V1_KEY: 0.0}) == {"time/wait": 3.0}


@pytest.mark.parametrize("key", ["val-core/openai/gsm8k/reward/mean@1", "val/openai/gsm8k/reward/mean@1"])
def test_validation_of_verl(key: str) -> None:
    assert canonical("verl", {key: 0.5}) == {"val/openai/gsm8k/reward/mean@1": 0.5}


def test_parts_of_the_reward() -> None:
    row = {"rewards/org/model/mean": 0.5, "rewards/org/model/std": 0.1, "rewards/old_style": 0.25}
    assert canonical("trl", row) == {"reward/part/org/model": 0.5, "reward/part/old_style": 0.25}
    assert canonical("easyr1", {"reward/overall": 0.5, "reward/format": 1.0}) == {
        "reward/mean": 0.5,
        "reward/part/format": 1.0,
    }


def test_a_fork_prints_what_its_origin_prints() -> None:
    for fork, origin in SAME_AS.items():
        row = dict.fromkeys(printed(origin), 1.0)
        assert canonical(fork, row) == canonical(origin, row) != {}


def test_percent_becomes_a_share() -> None:
    assert canonical("prime-rl", {"Truncation": 3.0}) == {"length/truncated": 0.03}


def test_what_is_printed_in_other_words() -> None:
    solved = {"batch/solve_none": 12.0, "batch/solve_all": 3.0, "batch/solve_partial": 5.0}
    assert canonical("rllm", solved) == {"reward/zero_std_groups": 0.75}
    assert canonical("rllm", {**solved, "batch/solve_partial": -15.0}) == {}
    assert canonical("rllm", {"batch/solve_none": 12.0}) == {}
    assert canonical("areal", {"ppo_actor/seq_len/avg": 900.0, "ppo_actor/prompt_len/avg": 100.0}) == {
        "length/mean": 800.0,
        "prompt/mean": 100.0,
    }
    assert canonical("open-instruct", {"val/stop_rate": 0.75}) == {"length/truncated": 0.25}


@pytest.mark.parametrize("framework", ["trl", "unsloth", "ms-swift", "trainer-state"])
def test_validation_of_the_hugging_face_family(framework: str) -> None:
    line = b"{'eval_loss': 0.75, 'eval_reward': 1.0, 'eval_runtime': 2.0, 'epoch': 1.0}\n"
    reader = TrlReader()
    reader.feed(line)
    shown = canonical(framework, reader.columns.row(0))
    assert (shown["val/loss"], shown["val/reward"]) == (0.75, 1.0)
    assert "reward/mean" not in shown


def test_an_absent_metric_and_an_unknown_framework_give_nothing() -> None:
    assert canonical("trl", {"never/heard/of": 1.0, "vals/x": 1.0}) == {}
    assert canonical("unheard-of", {"reward": 1.0, "loss": 0.0}) == {}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("time/step", "s"),
        ("length/mean", "tokens"),
        ("kl/reference", "nats"),
        ("clip_ratio", "share"),
        ("memory/cpu", "GiB"),
        ("reward/part/letters", "points"),
        ("val/gsm8k", ""),
        ("loss", ""),
        ("unheard-of", ""),
    ],
)
def test_units(name: str, expected: str) -> None:
    assert unit(name) == expected
    assert unit(name, "verl", ["timing_s/step", "perf/throughput"]) == expected


def test_a_framework_may_have_a_unit_of_its_own() -> None:
    assert unit("tokens_per_s") == unit("tokens_per_s", "verl", ["perf/throughput"]) == "tokens/s/GPU"
    assert unit("tokens_per_s", "prime-rl", ["Throughput"]) == "tokens/s"
    assert unit("tokens_per_s", "prime-rl", ["perf/throughput_per_gpu"]) == "tokens/s/GPU"


CUT = "response_length/clip_ratio"


@pytest.mark.parametrize(
    ("framework", "keys", "version", "expected"),
    [
        ("verl", {CUT, VERL_V1_KEY}, "0.9.1", {"length/truncated"}),
        ("verl", {CUT, VERL_V1_KEY}, None, {"length/truncated"}),
        ("verl", {VERL_V1_KEY}, None, set()),
        ("verl", {CUT}, "0.9.1", set()),
        ("verl", {CUT}, None, set()),
        (
            "verl",
            {"actor/lr", "actor/ppo_kl", "actor/kl_loss"},
            "0.4.1",
            {"learning_rate", "kl/update", "kl/reference"},
        ),
        ("verl", {"actor/lr"}, "0.5.0", set()),
        ("verl", {"actor/lr"}, "0.10.0.dev0", set()),
        ("verl", {"actor/lr"}, None, set()),
        ("tinyzero", {"actor/lr", "timing/gen"}, None, {"learning_rate"}),
        ("trl", {"reward_std"}, "0.26.2", {"reward/std"}),
        ("trl", {"reward_std"}, "0.27", set()),
        ("trl", {"reward_std"}, "1.16.0", set()),
        ("trl", {"reward_std"}, None, {"reward/std"}),
        ("trl", {"reward_std", "completion_length"}, None, {"reward/std"}),
        ("trl", {"reward", "kl"}, None, set()),
        ("openrlhf", {"group_reward_std"}, None, {"reward/std"}),
        ("openrlhf", {"group_reward_std", "rollout/reward_std"}, None, set()),
        ("areal", {"ppo_actor/kl_rewards/avg", "ppo_actor/seq_len/avg"}, None, {"kl/reference", "length/mean"}),
        ("areal", {"ppo_actor/prompt_len/avg", "ppo_actor/seq_len/avg"}, None, set()),
        ("roll", {"time/step_total"}, None, {"time/step"}),
        ("roll", {"time/step_total", "time/step_rollout"}, None, set()),
        ("skyrl", {"policy/policy_lr"}, None, {"learning_rate"}),
        ("skyrl", {"policy_lr"}, None, set()),
        ("open-instruct", {"objective/kl2_avg", "optim/grad_norm"}, None, {"kl/reference"}),
        ("unheard-of", {"reward_std"}, None, set()),
    ],
)
def test_what_is_known_to_be_wrong(framework: str, keys: set[str], version: str | None, expected: set[str]) -> None:
    found = unreliable(framework, keys, version)
    assert found.keys() == expected
    assert all(reason and "\n" not in reason for reason in found.values())


def test_the_reason_is_the_one_of_this_log() -> None:
    assert "does not tell its version" in unreliable("trl", {"reward_std"}, None)["reward/std"]
    assert "until TRL 0.26" in unreliable("trl", {"reward_std", "completion_length"}, None)["reward/std"]
    unsloth = {"reward_std", "completion_length", "completions/mean_length"}
    assert "does not tell its version" in unreliable("trl", unsloth, None)["reward/std"]


def test_every_doubt_is_about_a_metric_of_its_framework() -> None:
    assert all(doubt.metric in KEYS[doubt.framework] for doubt in DOUBTS)


@given(st.text(max_size=12))
def test_no_version_raises(version: str) -> None:
    unreliable("verl", {"actor/lr"}, version)


def test_the_page_is_current() -> None:
    if not PAGE.parent.exists():
        pytest.skip("this copy of the sources has no documentation")
    assert PAGE.read_text() == page(), "run: python -m grpotui_supervisor.logs.catalog_page > docs/metrics.md"


def test_the_page_is_a_page_of_tables() -> None:
    blocks = [block for block in page().split("\n\n") if block.startswith("|")]
    for block in blocks:
        columns = {len(re.findall(r"(?<!\\)\|", line)) for line in block.strip().split("\n")}
        assert len(columns) == 1, block


FAMILIES = [
    ("verl", "verl-family"),
    ("trl", "hf-trainer"),
    ("trl", "ms-swift"),
    ("openrlhf", "openrlhf<0.8/skyrl"),
    ("verl", "rllm"),
    *((name, name) for name in KEYS if name not in {"verl", "trl", "llama-factory"}),
]
ELSEWHERE = {
    ("verl-family", "step"): "not a metric here",
    ("torchforge", "time/generate"): "waiting_for_buffer is time/wait",
}


@pytest.mark.parametrize(("framework", "family"), FAMILIES)
def test_the_table_holds_what_the_reference_says(framework: str, family: str) -> None:
    reference = DATA.parent / "reference" / "canonical.json"
    if not reference.exists():
        pytest.skip("the reference tables are not beside this checkout")
    for name, keys in json.loads(reference.read_text())[family].items():
        ours = [key.raw for key in KEYS[framework].get(name, ())]
        own = [key for key in keys if key in ours]  # a family lists the keys of its forks too
        assert own or (family, name) in ELSEWHERE, name
        assert own == [key for key in ours if key in keys], name


def test_the_reference_names_no_framework_that_we_do_not_know() -> None:
    assert set(KEYS) == {framework for framework, _ in FAMILIES} | {"llama-factory"}  # it has no table there
    assert not set(itertools.chain(SAME_AS)) & set(KEYS)
