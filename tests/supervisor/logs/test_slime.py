import pytest
from support.log_oracle import Rows, read, rows_of

PREFIX = "(MegatronTrainRayActor pid=70, ip=10.0.0.7) [2026-07-20 17:53:24] data.py:193 - "


def rows(text: str) -> Rows:
    return rows_of(read("slime", ("stdout", text.encode())).columns)


@pytest.mark.parametrize(
    "prefix",
    ["", PREFIX, "(RolloutManager pid=1) ", "\x1b[36m(RolloutManager pid=1)\x1b[0m [2026 actor_cell0_rank0] x.py:1 - "],
)
def test_what_stands_in_front_of_a_record(prefix: str) -> None:
    assert rows(f"{prefix}rollout 3: {{'rollout/kl': 0.5}}\n") == [(3, {"rollout/kl": 0.5})]


def test_several_optimizer_steps_are_of_one_rollout() -> None:
    text = "".join(
        f"{PREFIX}rollout {r}: {{'rollout/kl': {r}.5}}\n"
        + "".join(f"{PREFIX}step {2 * r + i}: {{'train/loss': {2 * r + i}}}\n" for i in range(2))
        for r in (4, 5)
    )
    reader = read("slime", ("stdout", text.encode()))
    assert rows_of(reader.columns) == [
        (4, {"rollout/kl": 4.5, "train/loss": 9.0}),
        (5, {"rollout/kl": 5.5, "train/loss": 11.0}),
    ]
    assert reader.step == 5


def test_the_next_rollout_may_end_while_this_one_is_trained() -> None:
    text = "rollout 4: {'rollout/kl': 1}\nperf 5: {'perf/rollout_time': 2}\nstep 4: {'train/loss': 3}\n"
    assert rows(text) == [(4, {"rollout/kl": 1.0, "train/loss": 3.0}), (5, {"perf/rollout_time": 2.0})]


def test_a_rollout_is_done_when_it_is_trained() -> None:
    reader = read("slime", ("stdout", b"rollout 4: {'rollout/kl': 1}\n"))
    assert (reader.step, reader.steps_total, reader.training_complete) == (None, None, False)
    reader.feed(b"critic-step 4: {'train/critic-loss': 1}\n")
    assert reader.step == 4


@pytest.mark.parametrize(
    "line",
    [
        "the rollout 3: {'rollout/kl': 0.5}",
        "rollout 3: {'kl': 0.5}",
        "rollout 3: {'rollout/kl': 0.5",
        "rollout 3: {}",
        "rollout: {'rollout/kl': 0.5}",
        "rollout 9999999999999999: {'rollout/kl': 0.5}",
    ],
)
def test_other_lines_are_no_records(line: str) -> None:
    assert rows(line + "\n") == []
