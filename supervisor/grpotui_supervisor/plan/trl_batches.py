"""Batch sizes of TRL's GRPOTrainer, counted in answers. Rules: `GRPOConfig.__post_init__` (TRL 1.16)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grpotui_supervisor.plan.batches import Batches, Broken, divisors_near, either, multiples_near

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True, kw_only=True)
class TrlBatches:
    """TRL's numbers; None: not set."""

    world_size: int
    per_device_train_batch_size: int
    gradient_accumulation_steps: int = 1
    num_generations: int = 8
    num_iterations: int = 1
    steps_per_generation: int | None = None
    generation_batch_size: int | None = None
    rows: int | None = None
    max_steps: int | None = None
    reference_batch: int | None = None
    """A global batch that this one is meant to be compared with."""

    @property
    def together(self) -> int:
        """Answers in one pass over all the cards."""
        return self.per_device_train_batch_size * self.world_size

    @property
    def global_batch(self) -> int:
        """Answers of one optimizer step."""
        return self.together * self.gradient_accumulation_steps

    @property
    def generated(self) -> int:
        """Answers generated at once."""
        if self.generation_batch_size is not None:
            return self.generation_batch_size
        return self.together * (self.steps_per_generation or self.gradient_accumulation_steps)


def check(sizes: TrlBatches) -> Batches:
    """Every rule, and what the numbers come to."""
    return Batches(tuple(_facts(sizes)), (*_groups(sizes), *_generation(sizes), *_compared(sizes)))


def _facts(sizes: TrlBatches) -> Iterator[tuple[str, str]]:
    parts = (sizes.world_size, sizes.per_device_train_batch_size, sizes.gradient_accumulation_steps)
    yield "answers an optimizer step", f"{' × '.join(map(str, parts))} = {sizes.global_batch}"
    yield "answers generated at once", str(sizes.generated)
    if sizes.num_generations and sizes.generated % sizes.num_generations == 0:
        prompts = sizes.generated // sizes.num_generations
        yield "prompts generated for at once", f"{sizes.generated} / {sizes.num_generations} = {prompts}"
        if sizes.rows is not None and prompts:
            steps = sizes.rows * sizes.num_generations * sizes.num_iterations // sizes.global_batch
            yield (
                "optimizer steps an epoch",
                (f"{sizes.rows} × {sizes.num_generations} × {sizes.num_iterations} / {sizes.global_batch} = {steps}"),
            )
    if sizes.generated % sizes.global_batch == 0:
        times = sizes.generated // sizes.global_batch * sizes.num_iterations
        yield "optimizer steps from one generation", str(times)


def _groups(sizes: TrlBatches) -> Iterator[Broken]:
    n = sizes.num_generations
    if n < 2:
        yield Broken("group_of_one", "failed", f"num_generations = {n}: every advantage would be 0, and TRL refuses it",
                     "num_generations=4 to 16")  # fmt: skip
    elif sizes.generated % n:
        near = [one for one in divisors_near(n, sizes.generated) if one > 1]
        yield Broken(
            "groups_divide", "failed",
            f"{sizes.generated} answers generated at once / num_generations {n} = {sizes.generated / n:.2f}: "
            "a group would be cut",
            (f"num_generations={either(near)}, or " if near else "")
            + f"a generation batch of {either(multiples_near(sizes.generated, n))}",
        )  # fmt: skip


def _generation(sizes: TrlBatches) -> Iterator[Broken]:
    size = sizes.generation_batch_size
    if size is not None and sizes.steps_per_generation is not None:
        yield Broken("both_given", "failed", "generation_batch_size and steps_per_generation are both set",
                     "leave one of them out")  # fmt: skip
    elif size is not None and size % sizes.together:
        yield Broken(
            "generation_batch_divides", "failed",
            f"generation_batch_size {size} / ({sizes.per_device_train_batch_size} × {sizes.world_size}) "
            f"= {size / sizes.together:.2f}",
            f"generation_batch_size={either(multiples_near(size, sizes.together))}",
        )  # fmt: skip
    if sizes.max_steps is not None and 1 < sizes.num_iterations > sizes.max_steps:
        yield Broken("iterations_unused", "information",
                     f"num_iterations {sizes.num_iterations} > max_steps {sizes.max_steps}: the run ends before "
                     "one generation is used up", f"max_steps={sizes.num_iterations} or more")  # fmt: skip


def _compared(sizes: TrlBatches) -> Iterator[Broken]:
    wanted = sizes.reference_batch
    if wanted is not None and wanted != sizes.global_batch:
        yield Broken(
            "not_the_reference_batch", "information",
            f"{sizes.global_batch} answers an optimizer step, where the reference has {wanted}",
            "say so beside the results, or change gradient_accumulation_steps",
        )  # fmt: skip
