"""Batch sizes of verl. All but those "per GPU" are global; all but the data set's are counted in prompts.

Rules: verl `trainer/config`, `workers/config/actor.py` (validate) and the normalisation in its FSDP workers:
mini batch · rollout.n / (GPUs / sequence parallelism) is what a card gets, and micro batches divide that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from grpotui_supervisor.plan.batches import Batches, Broken, divisors_near, either, multiples_near

if TYPE_CHECKING:
    from collections.abc import Iterator

_OLD_KEYS: Final = ("ppo_micro_batch_size", "log_prob_micro_batch_size", "forward_micro_batch_size")


@dataclass(frozen=True, slots=True, kw_only=True)
class VerlBatches:
    """verl's numbers; None: not set."""

    gpus: int
    train_batch_size: int
    """Prompts of a step."""
    rollout_n: int
    ppo_mini_batch_size: int
    """Prompts of an update."""
    ppo_epochs: int = 1
    ppo_micro_batch_size_per_gpu: int | None = None
    """Trajectories of a forward and backward pass on one card."""
    log_prob_micro_batch_size_per_gpu: int | None = None
    critic_micro_batch_size_per_gpu: int | None = None
    use_dynamic_bsz: bool = False
    ppo_max_token_len_per_gpu: int | None = None
    sequence_parallel: int = 1
    tensor_parallel: int = 1
    max_prompt_length: int | None = None
    max_response_length: int | None = None
    rows: int | None = None
    """Of the training data."""
    advantage: str = "grpo"
    old_keys: tuple[str, ...] = ()
    """Keys of the old names, `*_micro_batch_size`, that the command sets."""


def check(sizes: VerlBatches) -> Batches:
    """Every rule, and what the numbers come to."""
    rules = (_groups, _updates, _cards, _micro, _tokens, _old)
    return Batches(tuple(_facts(sizes)), tuple(broken for rule in rules for broken in rule(sizes)))


def _facts(sizes: VerlBatches) -> Iterator[tuple[str, str]]:
    prompts, n, mini = sizes.train_batch_size, sizes.rollout_n, sizes.ppo_mini_batch_size
    yield "trajectories a step", f"{prompts} × {n} = {prompts * n}"
    yield "trajectories an update", f"{mini} × {n} = {mini * n}"
    if mini and prompts % mini == 0:
        epochs = f" × {sizes.ppo_epochs} epochs = {prompts // mini * sizes.ppo_epochs}" if sizes.ppo_epochs > 1 else ""
        yield "updates a step", f"{prompts} / {mini} = {prompts // mini}{epochs}"
    groups = sizes.gpus // sizes.sequence_parallel
    if groups and mini * n % groups == 0:
        yield "trajectories of an update on a card", f"{mini * n} / {groups} = {mini * n // groups}"
    if sizes.rows is not None:
        yield "steps an epoch", f"{sizes.rows} / {prompts} = {sizes.rows // prompts} (the rest is dropped)"


def _groups(sizes: VerlBatches) -> Iterator[Broken]:
    if sizes.advantage == "grpo" and sizes.rollout_n < 2:
        yield Broken(
            "group_of_one", "failed",
            f"rollout.n = {sizes.rollout_n}: the advantage is what sets an answer apart from the others to its prompt, "
            "and there are no others: every advantage is 0",
            "actor_rollout_ref.rollout.n=4 to 8",
        )  # fmt: skip


def _updates(sizes: VerlBatches) -> Iterator[Broken]:
    prompts, mini = sizes.train_batch_size, sizes.ppo_mini_batch_size
    if mini < 1:
        yield Broken("mini_batch_empty", "failed", f"ppo_mini_batch_size = {mini}", f"a divisor of {prompts}")
    elif prompts < mini:
        yield Broken(
            "mini_batch_too_large", "failed",
            f"train_batch_size {prompts} < ppo_mini_batch_size {mini}: not one update fills",
            f"ppo_mini_batch_size={prompts} or train_batch_size={mini}",
        )  # fmt: skip
    elif prompts % mini:
        yield Broken(
            "mini_batch_divides", "warning",
            f"train_batch_size {prompts} / ppo_mini_batch_size {mini} = {prompts / mini:.2f}: "
            f"the last update of a step has {prompts % mini} prompts only",
            f"train_batch_size={either(multiples_near(prompts, mini))}, "
            f"or ppo_mini_batch_size={either(divisors_near(mini, prompts))}",
        )  # fmt: skip


def _cards(sizes: VerlBatches) -> Iterator[Broken]:
    gpus, n = sizes.gpus, sizes.rollout_n
    for name, size in (
        ("sequence parallelism", sizes.sequence_parallel),
        ("tensor_model_parallel_size", sizes.tensor_parallel),
    ):
        if gpus % size:
            yield Broken("cards_divide", "failed", f"{gpus} GPUs / {name} {size} = {gpus / size:.2f}",
                         f"{name} {either(divisors_near(size, gpus))}")  # fmt: skip
    groups = max(1, gpus // sizes.sequence_parallel)
    if sizes.train_batch_size * n % groups:
        yield Broken(
            "trajectories_divide", "failed",
            f"train_batch_size {sizes.train_batch_size} × n {n} = {sizes.train_batch_size * n} trajectories "
            f"/ {groups} = {sizes.train_batch_size * n / groups:.2f} a card",
            f"train_batch_size={either(multiples_near(sizes.train_batch_size, groups))}",
        )  # fmt: skip
    mini = sizes.ppo_mini_batch_size * n
    if 0 < mini < groups:
        yield Broken("mini_batch_vanishes", "failed",
                     f"ppo_mini_batch_size {sizes.ppo_mini_batch_size} × n {n} = {mini} trajectories for {groups} "
                     "cards: a card gets none",
                     f"ppo_mini_batch_size={-(-groups // n)} or more")  # fmt: skip
    elif mini % groups:
        yield Broken(
            "mini_batch_per_card", "failed",
            f"ppo_mini_batch_size {sizes.ppo_mini_batch_size} × n {n} = {mini} trajectories / {groups} cards "
            f"= {mini / groups:.2f}",
            f"ppo_mini_batch_size={either(multiples_near(sizes.ppo_mini_batch_size, groups))}",
        )  # fmt: skip


def _micro(sizes: VerlBatches) -> Iterator[Broken]:
    groups = max(1, sizes.gpus // sizes.sequence_parallel)
    mine, micro = sizes.ppo_mini_batch_size * sizes.rollout_n // groups, sizes.ppo_micro_batch_size_per_gpu
    if sizes.use_dynamic_bsz or not mine:
        return
    if micro is None:
        if "ppo_micro_batch_size" not in sizes.old_keys:
            yield Broken("micro_batch_missing", "failed",
                         "neither ppo_micro_batch_size_per_gpu nor use_dynamic_bsz is set",
                         f"ppo_micro_batch_size_per_gpu={max(1, min(mine, 4))}, or use_dynamic_bsz=True")  # fmt: skip
        return
    if micro < 1 or mine % micro:
        yield Broken(
            "micro_batch_divides", "failed",
            f"{mine} trajectories a card / ppo_micro_batch_size_per_gpu {micro}"
            + (f" = {mine / micro:.2f}" if micro > 0 else ""),
            f"ppo_micro_batch_size_per_gpu={either(divisors_near(micro, mine))}",
        )  # fmt: skip
    for name, size in (("log_prob_micro_batch_size_per_gpu", sizes.log_prob_micro_batch_size_per_gpu),
                       ("critic ppo_micro_batch_size_per_gpu", sizes.critic_micro_batch_size_per_gpu)):  # fmt: skip
        if size is not None and size < micro:
            yield Broken(
                "smaller_than_training", "information",
                f"{name} {size} < ppo_micro_batch_size_per_gpu {micro}, though it needs less memory",
                f"{name}={2 * micro}: a pass without gradients, or with a head of one value, takes twice as much",
            )  # fmt: skip


def _tokens(sizes: VerlBatches) -> Iterator[Broken]:
    prompt, response, most = sizes.max_prompt_length, sizes.max_response_length, sizes.ppo_max_token_len_per_gpu
    if not sizes.use_dynamic_bsz or prompt is None or response is None or most is None:
        return
    longest = prompt + response
    if most * sizes.sequence_parallel < longest:
        yield Broken(
            "tokens_below_one_sequence", "failed",
            f"ppo_max_token_len_per_gpu {most} × sequence parallelism {sizes.sequence_parallel} < "
            f"{prompt} + {response} = {longest}: the longest trajectory fits no micro batch",
            f"ppo_max_token_len_per_gpu={longest} or more",
        )  # fmt: skip
    elif most < 2 * longest:
        yield Broken(
            "tokens_below_advice", "information",
            f"ppo_max_token_len_per_gpu {most} < 2 × ({prompt} + {response}) = {2 * longest}, which verl's guide "
            "advises: slower, and a cautious choice on cards of 32 GB",
            f"ppo_max_token_len_per_gpu={2 * longest} where memory allows it",
        )  # fmt: skip


def _old(sizes: VerlBatches) -> Iterator[Broken]:
    for key in sizes.old_keys:
        if key.rpartition(".")[2] in _OLD_KEYS:
            yield Broken("old_key", "warning", f"{key} is the old name, a global size that verl divides by the GPUs",
                         f"{key}_per_gpu")  # fmt: skip
