"""One rank's side of the demo's GRPO loop: sample groups, score them, compare, update; then describe it.

It prints no metrics: `demo_grpo` does, on rank 0. It says, as verl does, that it validates and where it saves.
"""

from __future__ import annotations

import json
import os
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from demo_console import Stopwatch, means, say, spreads
from demo_objective import KL_COEF, Answer, Sums, accumulate, chosen, entropy, group_advantages
from demo_policy import SIZE, Adam, base_policy, greedy, log_probs, sample
from demo_task import dataset, reward

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from demo_faults import Fault
    from demo_ranks import Ranks
    from demo_task import Prompt

EPOCHS = 2
"""Passes over each batch. From the second update on, the policy is no longer the one that wrote the answers,
so that ratios, clipping and `actor/ppo_kl` mean something."""
MINIBATCHES = 2
MAX_NORM = 1.0
DEMONSTRATIONS = 160
DEMONSTRATION_RATE = 0.3
SAVE_EVERY = 20
VALIDATION_KEY = "val-core/demo/reward/mean@1"


@dataclass(frozen=True)
class Settings:
    """What the command line says."""

    steps: int
    seed: int
    prompts: int
    """A step and rank, so that more ranks are a larger batch and not a shorter run."""
    group_size: int
    max_length: int
    lr: float
    checkpoint: str | None
    fault: Fault


class Trainer:
    """One rank's share of the training. All ranks hold the same weights at all times."""

    def __init__(self, settings: Settings, ranks: Ranks) -> None:
        self.settings = settings
        self.ranks = ranks
        self.train, self.held_out = dataset(settings.seed)
        demonstrations = random.Random(f"{settings.seed}/base").sample(self.train, DEMONSTRATIONS)
        self.reference = base_policy(demonstrations, DEMONSTRATION_RATE)
        self.weights = list(self.reference)
        self.optimizer = Adam(SIZE, rate=settings.lr, max_norm=MAX_NORM)
        self.rng = random.Random(f"{settings.seed}/rank {ranks.rank}")
        self.batches = self._deal()

    def _deal(self) -> Iterator[tuple[int, list[Prompt]]]:
        """Yield the epoch and this rank's prompts of each step, for ever."""
        share = self.settings.prompts
        block = share * self.ranks.world
        start = share * self.ranks.rank
        order = random.Random(f"{self.settings.seed}/order")
        deck: list[Prompt] = []
        epoch = -1
        while True:
            if len(deck) < block:
                deck = order.sample(self.train, len(self.train))
                epoch += 1
            batch, deck = deck[:block], deck[block:]
            yield epoch, batch[start : start + share]

    def step(self, number: int) -> dict[str, float]:
        """Do training step `number` (from 1); returns its metrics by verl's names, reduced over all ranks."""
        watch = Stopwatch()
        with watch.phase("step"):
            epoch, prompts = next(self.batches)
            answers = self._collect(prompts, number, watch)
            with watch.phase("update_actor"):
                actor = self._update(answers)
            after = self._finish(number, watch)
        progress = {"training/global_step": number, "training/epoch": epoch}
        return {**actor, **after, **progress, **self._describe(answers), **self._speed(answers, watch)}

    def _collect(self, prompts: Sequence[Prompt], number: int, watch: Stopwatch) -> list[Answer]:
        """Sample answers and find out all about them that the update needs."""
        with watch.phase("gen"):
            answers = self._generate(prompts, number)
        self.settings.fault.strike(number, self.ranks)
        with watch.phase("reward"):
            for answer in answers:
                score = reward(answer.tokens, answer.prompt.answer)
                answer.reward = self.settings.fault.score(number, self.ranks.rank, score)
        with watch.phase("old_log_prob"):
            for answer in answers:
                logs = [log_probs(self.weights, where) for where in answer.contexts()]
                answer.old = [logs[place][token] for place, token in enumerate(answer.tokens)]
                answer.entropy = [entropy(each) for each in logs]
        with watch.phase("ref"):
            for answer in answers:
                answer.reference = chosen(self.reference, answer)
        with watch.phase("adv"):
            self._compare(answers)
        return answers

    def _generate(self, prompts: Sequence[Prompt], number: int) -> list[Answer]:
        """Sample a group of answers to each prompt; the answers of a group follow each other."""
        limit = self.settings.max_length
        may_stop = self.settings.fault.allows_stop(number)
        return [
            Answer(prompt, sample(self.weights, prompt, self.rng, max_length=limit, may_stop=may_stop))
            for prompt in prompts
            for _ in range(self.settings.group_size)
        ]

    def _compare(self, answers: Sequence[Answer]) -> None:
        """Give each answer its advantage over the others of its group."""
        size = self.settings.group_size
        for start in range(0, len(answers), size):
            group = answers[start : start + size]
            for place, advantage in enumerate(group_advantages([answer.reward for answer in group])):
                group[place].advantage = advantage

    def _update(self, answers: Sequence[Answer]) -> dict[str, float]:
        """Update the weights EPOCHS * MINIBATCHES times; returns the averages over these updates."""
        totals: dict[str, float] = {}
        for _ in range(EPOCHS):
            order = self.rng.sample(answers, len(answers))
            for part in range(MINIBATCHES):
                for key, value in self._descend(order[part::MINIBATCHES]).items():
                    totals[key] = totals.get(key, 0.0) + value / (EPOCHS * MINIBATCHES)
        words = self.ranks.all_reduce([sum(map(sum, (a.entropy for a in answers))), tokens_of(answers)])
        return {
            "actor/entropy": words[0] / words[1],
            **totals,
            "actor/kl_coef": KL_COEF,
            "actor/lr": self.optimizer.rate,
        }

    def _descend(self, answers: Sequence[Answer]) -> dict[str, float]:
        """Take one optimizer step on the answers of all ranks."""
        gradient = [0.0] * SIZE
        sums = accumulate(self.weights, answers, gradient)
        reduced = self.ranks.all_reduce([*gradient, *sums])
        whole = Sums(*reduced[SIZE:])
        norm = self.optimizer.update(self.weights, [slope / whole.tokens for slope in reduced[:SIZE]])
        return {
            "actor/kl_loss": whole.kl / whole.tokens,
            "actor/pg_loss": whole.pg_loss / whole.tokens,
            "actor/pg_clipfrac": whole.clipped / whole.tokens,
            "actor/ppo_kl": whole.ppo_kl / whole.tokens,
            "actor/grad_norm": norm,
        }

    def _finish(self, number: int, watch: Stopwatch) -> dict[str, float]:
        """Validate after the last step, save every so often; returns the validation score if there is one."""
        last = number == self.settings.steps
        score = {}
        if last:
            if self.ranks.rank == 0:
                say(f"test_gen_batch meta info: {{'validate': True, 'global_steps': {number}}}")
            with watch.phase("testing"):
                score = {VALIDATION_KEY: self.validate()}
        if self.settings.checkpoint and self.ranks.rank == 0 and (last or number % SAVE_EVERY == 0):
            save(self.settings.checkpoint, number, self.weights)
        return score

    def validate(self) -> float:
        """Average the reward of greedy answers to prompts that are never trained on."""
        mine = self.held_out[self.ranks.rank :: self.ranks.world]
        limit = self.settings.max_length
        scores = [reward(greedy(self.weights, prompt, max_length=limit), prompt.answer) for prompt in mine]
        total, count = self.ranks.all_reduce([sum(scores), len(scores)])
        return total / count

    def _describe(self, answers: Sequence[Answer]) -> dict[str, float]:
        """Describe rewards and lengths; advantages are weighted by tokens, as verl's are."""
        rewards = [answer.reward for answer in answers]
        lengths = [len(answer.tokens) for answer in answers]
        limit = self.settings.max_length
        samples: dict[str, Sequence[float]] = {
            "critic/score": rewards,
            "critic/rewards": rewards,  # the same: the KL term is in the loss
            "critic/advantages": [answer.advantage for answer in answers for _ in answer.tokens],
            "response_length": lengths,
            "prompt_length": [len(answer.prompt.text) for answer in answers],
        }
        cut = means(self.ranks, {"response_length/clip_ratio": lengths.count(limit) / len(lengths)})
        return {**spreads(self.ranks, samples), **cut}

    def _speed(self, answers: Sequence[Answer], watch: Stopwatch) -> dict[str, float]:
        """Report the phases (seconds, averaged over ranks, so that parts never exceed the step) and tokens."""
        timing = means(self.ranks, {f"timing_s/{name}": value for name, value in watch.seconds.items()})
        tokens = tokens_of(answers) + sum(len(answer.prompt.text) for answer in answers)
        total = int(self.ranks.all_reduce([tokens])[0])
        seconds = timing["timing_s/step"]
        return {
            **timing,
            "perf/total_num_tokens": total,
            "perf/time_per_step": seconds,
            "perf/throughput": total / seconds / self.ranks.world,
        }


def tokens_of(answers: Sequence[Answer]) -> int:
    """Count the tokens that were written."""
    return sum(len(answer.tokens) for answer in answers)


def save(folder: str, step: int, weights: Sequence[float]) -> None:
    """Write the weights to `global_step_<n>/weights.json`, and then, as verl does, the step into a file beside it.

    A reader sees whole files or none.
    """
    place = os.path.join(folder, f"global_step_{step}")
    say(f"local_global_step_folder: {place}")
    os.makedirs(place, exist_ok=True)
    _write(os.path.join(place, "weights.json"), json.dumps({"step": step, "weights": list(weights)}))
    _write(os.path.join(folder, "latest_checkpointed_iteration.txt"), str(step))


def _write(path: str, text: str) -> None:
    with open(path + ".tmp", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".tmp", path)
