"""The mathematics: against formulas written the slow way, and against finite differences."""

import math
import random
from collections import Counter
from collections.abc import Sequence

import pytest
from demo_objective import CLIP, KL_COEF, Answer, accumulate, chosen, entropy, group_advantages, k3
from demo_policy import SIZE, Adam, base_policy, greedy, log_probs, sample
from demo_task import COLUMNS, EOS, VOCABULARY, ask
from hypothesis import given
from hypothesis import strategies as st

rewards = st.floats(min_value=-10, max_value=10)


def noise(seed: int, scale: float) -> list[float]:
    rng = random.Random(seed)
    return [rng.gauss(0.0, scale) for _ in range(SIZE)]


def probabilities(weights: Sequence[float], column: int, previous: int) -> list[float]:
    """The softmax of the two rows, without any care for large numbers."""
    rows = column * VOCABULARY, (COLUMNS + previous) * VOCABULARY
    powers = [math.exp(weights[rows[0] + token] + weights[rows[1] + token]) for token in range(VOCABULARY)]
    return [power / sum(powers) for power in powers]


def answers(weights: list[float], reference: list[float], count: int) -> list[Answer]:
    """Sample answers under `weights`, with advantages of both signs."""
    rng = random.Random(3)
    result = []
    for _ in range(count):
        prompt = ask(rng.randrange(1000), rng.randrange(1000))
        answer = Answer(prompt, sample(weights, prompt, rng, max_length=6), advantage=rng.uniform(-2, 2))
        answer.old, answer.reference = chosen(weights, answer), chosen(reference, answer)
        result.append(answer)
    return result


def slow_loss(weights: Sequence[float], batch: list[Answer]) -> float:
    """The loss as the papers write it, summed over tokens."""
    total = 0.0
    for answer in batch:
        previous = VOCABULARY  # nothing written yet
        for place, token in enumerate(answer.tokens):
            column = answer.prompt.columns[min(place, len(answer.prompt.columns) - 1)]
            p = probabilities(weights, column, previous)[token]
            ratio = p / math.exp(answer.old[place])
            held = max(1 - CLIP, min(1 + CLIP, ratio))
            q = math.exp(answer.reference[place]) / p
            total -= min(ratio * answer.advantage, held * answer.advantage)
            total += KL_COEF * (q - math.log(q) - 1)
            previous = token
    return total


def test_equal_rewards_have_no_advantage() -> None:
    assert group_advantages([0.0] * 8) == [0.0] * 8
    assert group_advantages([1.0] * 8) == [0.0] * 8


def test_half_right_group() -> None:
    expected = 0.5 / (math.sqrt(8 * 0.25 / 7) + 1e-4)
    assert expected == pytest.approx(0.9352, abs=1e-4)
    assert group_advantages([0.0] * 4 + [1.0] * 4) == pytest.approx([-expected] * 4 + [expected] * 4)


@given(st.lists(rewards, min_size=2, max_size=16))
def test_advantages_of_a_group_cancel(group: list[float]) -> None:
    advantages = group_advantages(group)
    assert sum(advantages) == pytest.approx(0.0, abs=1e-6)
    assert max(map(abs, advantages)) <= math.sqrt(len(group))


def test_k3_averages_to_the_divergence() -> None:
    policy, reference = log_probs(noise(1, 1.0), (0, 11)), log_probs(noise(2, 1.0), (0, 11))
    exact = sum(math.exp(p) * (p - q) for p, q in zip(policy, reference, strict=True))
    estimate = sum(math.exp(p) * k3(p, q) for p, q in zip(policy, reference, strict=True))
    assert exact > 0.1
    assert estimate == pytest.approx(exact)


@given(st.floats(-20, 0), st.floats(-20, 0))
def test_k3_is_never_negative(log: float, reference: float) -> None:
    assert k3(log, reference) >= -1e-15  # what rounding leaves
    assert k3(log, log) == 0.0


def test_entropy_against_the_plain_formula() -> None:
    weights = noise(1, 2.0)
    plain = probabilities(weights, 5, 3)
    logs = log_probs(weights, (5 * VOCABULARY, (COLUMNS + 3) * VOCABULARY))
    assert entropy(logs) == pytest.approx(-sum(p * math.log(p) for p in plain))
    assert entropy([math.log(1 / VOCABULARY)] * VOCABULARY) == pytest.approx(math.log(VOCABULARY))


def test_gradient_against_finite_differences() -> None:
    old, moved = noise(1, 0.7), noise(2, 0.25)
    weights = [before + change for before, change in zip(old, moved, strict=True)]
    batch = answers(old, noise(4, 0.7), 16)
    gradient = [0.0] * SIZE
    sums = accumulate(weights, batch, gradient)
    assert 0.1 * sums.tokens < sums.clipped < 0.9 * sums.tokens  # both branches are at work
    assert sums.pg_loss + KL_COEF * sums.kl == pytest.approx(slow_loss(weights, batch))
    before, now = ([sum(map(sum, logs))] for logs in ([a.old for a in batch], [chosen(weights, a) for a in batch]))
    assert sums.ppo_kl == pytest.approx(before[0] - now[0])

    touched = {start + token for answer in batch for row in answer.contexts() for start in row
               for token in range(VOCABULARY)}  # fmt: skip
    small = 1e-6
    for index in touched:
        there, back = list(weights), list(weights)
        there[index] += small
        back[index] -= small
        slope = (slow_loss(there, batch) - slow_loss(back, batch)) / (2 * small)
        assert gradient[index] == pytest.approx(slope, abs=1e-6), index
    assert all(gradient[index] == 0.0 for index in range(SIZE) if index not in touched)


def test_first_update_clips_nothing() -> None:
    weights = noise(1, 1.0)
    sums = accumulate(weights, answers(weights, weights, 8), [0.0] * SIZE)
    assert (sums.clipped, sums.kl, sums.ppo_kl) == (0, 0, 0)


def test_samples_follow_the_policy() -> None:
    weights, rng, prompt = noise(1, 1.0), random.Random(1), ask(7, 15)
    first = Counter(sample(weights, prompt, rng, max_length=1)[0] for _ in range(20_000))
    for token, p in enumerate(probabilities(weights, prompt.columns[0], VOCABULARY)):
        assert first[token] / 20_000 == pytest.approx(p, abs=4 * math.sqrt(p / 20_000))


def test_answers_end_with_eos_or_are_cut() -> None:
    weights, rng = [0.0] * SIZE, random.Random(1)
    drawn = [sample(weights, ask(1, 2), rng, max_length=5) for _ in range(500)]
    assert all(EOS not in tokens[:-1] for tokens in drawn)
    assert {len(tokens) for tokens in drawn} == {1, 2, 3, 4, 5}
    assert all(len(tokens) == 5 or tokens[-1] == EOS for tokens in drawn)
    endless = [sample(weights, ask(1, 2), rng, max_length=5, may_stop=False) for _ in range(50)]
    assert all(len(tokens) == 5 and EOS not in tokens for tokens in endless)


def test_greedy_answers_what_demonstrations_taught() -> None:
    prompt = ask(7, 15)
    assert greedy(base_policy([prompt] * 400, 0.5), prompt, max_length=8) == list(prompt.answer)


def test_adam_limits_the_norm_and_goes_downhill() -> None:
    weights = [0.0, 0.0]
    optimizer = Adam(2, rate=0.1, max_norm=1.0)
    assert optimizer.update(weights, [3.0, -4.0]) == pytest.approx(5.0)
    assert weights == pytest.approx([-0.1, 0.1], rel=1e-4)  # Adam's first step is the rate, whatever the slope
    for _ in range(300):
        optimizer.update(weights, [2 * (weights[0] - 1), 2 * (weights[1] + 2)])
    assert weights == pytest.approx([1.0, -2.0], abs=0.05)
