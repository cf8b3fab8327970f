"""One training step from the inside: who sees what, and that all ranks agree."""

import threading
from collections.abc import Sequence
from statistics import fmean

import pytest
from demo_faults import Fault
from demo_objective import Answer
from demo_policy import greedy
from demo_ranks import Ranks
from demo_task import reward
from demo_trainer import EPOCHS, MINIBATCHES, VALIDATION_KEY, Settings, Trainer
from support.demo import PATIENCE

SETTINGS = Settings(steps=2, seed=1, prompts=6, group_size=4, max_length=6, lr=0.05, checkpoint=None, fault=Fault())


class Watched(Trainer):
    """A trainer that keeps the answers of each update."""

    def __init__(self, settings: Settings, ranks: Ranks) -> None:
        super().__init__(settings, ranks)
        self.updates: list[list[Answer]] = []

    def _descend(self, answers: Sequence[Answer]) -> dict[str, float]:
        self.updates.append(list(answers))
        return super()._descend(answers)


def train(*trainers: Trainer) -> list[list[dict[str, float]]]:
    """Train on all ranks at once; returns the reports of each."""
    reports: list[list[dict[str, float]]] = [[] for _ in trainers]

    def work(rank: int) -> None:
        reports[rank].extend(trainers[rank].step(number) for number in (1, 2))

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(len(trainers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    return reports


def test_ranks_work_on_different_prompts_and_stay_equal(pair: tuple[Ranks, Ranks]) -> None:
    trainers = [Watched(SETTINGS, ranks) for ranks in pair]
    reports = train(*trainers)
    assert len(reports[0]) == 2
    assert reports[0] == reports[1]
    assert trainers[0].weights == trainers[1].weights != trainers[0].reference
    prompts = [{answer.prompt for update in trainer.updates for answer in update} for trainer in trainers]
    assert [len(each) for each in prompts] == [12, 12]
    assert not prompts[0] & prompts[1]


def test_numbers_cover_the_answers_of_all_ranks(pair: tuple[Ranks, Ranks]) -> None:
    trainers = [Watched(SETTINGS, ranks) for ranks in pair]
    first = train(*trainers)[0][0]
    answers = [answer for trainer in trainers for update in trainer.updates[:MINIBATCHES] for answer in update]
    assert len(answers) == 2 * 6 * 4
    assert first["critic/score/mean"] == pytest.approx(fmean(answer.reward for answer in answers))
    assert first["response_length/max"] == max(len(answer.tokens) for answer in answers)
    assert first["response_length/clip_ratio"] == fmean(len(answer.tokens) == 6 for answer in answers)
    assert first["actor/entropy"] == pytest.approx(fmean(nats for a in answers for nats in a.entropy))
    weighted = [answer.advantage for answer in answers for _ in answer.tokens]
    assert first["critic/advantages/mean"] == pytest.approx(fmean(weighted))
    assert first["critic/advantages/min"] == min(weighted)


def test_every_epoch_uses_each_answer_once() -> None:
    trainer = Watched(SETTINGS, Ranks(0, 1, []))
    trainer.step(1)
    assert len(trainer.updates) == EPOCHS * MINIBATCHES
    for epoch in range(EPOCHS):
        updates = trainer.updates[epoch * MINIBATCHES : (epoch + 1) * MINIBATCHES]
        assert len({id(answer) for update in updates for answer in update}) == 6 * 4
        assert [len(update) for update in updates] == [6 * 4 // MINIBATCHES] * MINIBATCHES


def test_validation_score_is_of_prompts_never_seen() -> None:
    trainer = Trainer(SETTINGS, Ranks(0, 1, []))
    assert VALIDATION_KEY not in trainer.step(1)
    last = trainer.step(2)
    scores = [reward(greedy(trainer.weights, prompt, max_length=6), prompt.answer) for prompt in trainer.held_out]
    assert last[VALIDATION_KEY] == pytest.approx(fmean(scores))


def test_prompts_come_in_epochs() -> None:
    trainer = Trainer(SETTINGS, Ranks(0, 1, []))
    a_pass = len(trainer.train) // SETTINGS.prompts
    batches = [next(trainer.batches) for _ in range(a_pass + 1)]
    assert [epoch for epoch, _ in batches] == [0] * a_pass + [1]
    seen = [prompt.text for _, batch in batches[:a_pass] for prompt in batch]
    assert len(set(seen)) == len(seen)
