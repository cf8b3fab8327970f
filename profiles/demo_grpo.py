"""Train a tiny policy with GRPO (arXiv:2402.03300) on several ranks, in the standard library alone.

The embedded demo of grpotui: every number it prints is computed or measured, every fault is a real one, and
it needs neither a GPU nor a package. The launcher sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as
torchrun does; without them it runs as one rank. Python 3.8 or later.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from demo_console import Progress, say, step_line, validation_text
from demo_faults import DEFAULT_STEP, KINDS, LASTING, Fault
from demo_ranks import meet
from demo_trainer import VALIDATION_KEY, Settings, Trainer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from demo_ranks import Ranks


def at_least(smallest: int) -> Callable[[str], int]:
    """Make a reader of whole numbers that refuses smaller ones."""

    def integer(text: str) -> int:
        if int(text) < smallest:
            raise argparse.ArgumentTypeError(f"{text} is less than {smallest}")
        return int(text)

    return integer


def parser(environment: Mapping[str, str]) -> argparse.ArgumentParser:
    """Describe the command line; defaults of the fault options come from the environment."""
    faults = "\n".join(f"  {kind:<15} {text}" for kind, text in KINDS.items())
    arguments = argparse.ArgumentParser(
        description="A tiny GRPO run: add numbers, answer backwards.",
        epilog=f"faults (--fault, or GRPOTUI_DEMO_FAULT, _FAULT_RANK and _FAULT_STEP):\n{faults}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = arguments.add_argument
    add("--steps", type=at_least(1), default=60)
    add("--seed", type=int, default=1)
    add("--prompts", type=at_least(1), default=320, help="prompts of a step, on each rank")
    add("--group-size", type=at_least(2), default=8, help="answers to each prompt")
    add("--max-length", type=at_least(1), default=8, help="tokens of an answer, at most")
    add("--lr", type=float, default=0.05, help="learning rate of Adam")
    add("--checkpoint", metavar="DIR", help="write the weights there, every 20 steps and at the end")
    add("--fault", metavar="FAULT", default=environment.get("GRPOTUI_DEMO_FAULT") or None)
    add("--fault-rank", type=at_least(0), default=environment.get("GRPOTUI_DEMO_FAULT_RANK", "1"))
    add("--fault-step", type=at_least(1), default=environment.get("GRPOTUI_DEMO_FAULT_STEP"))
    add("--orphan-seconds", type=float, default=600.0, help="how long the fault 'orphan' leaves its process")
    return arguments


def settings(arguments: Sequence[str], environment: Mapping[str, str]) -> Settings:
    """Read the command line; a wrong one ends the process with code 2, as argparse does."""
    reader = parser(environment)
    given = reader.parse_args(arguments)
    if given.fault not in (None, *KINDS):
        reader.error(f"there is no fault {given.fault!r}; choose one of {', '.join(KINDS)}")
    world = int(environment.get("WORLD_SIZE", "1"))
    if given.fault and given.fault not in LASTING and given.fault_rank >= world:
        reader.error(f"the fault is meant for rank {given.fault_rank}, the last one is {world - 1}")
    step = given.fault_step or (1 if given.fault in LASTING else min(DEFAULT_STEP, given.steps))
    if given.fault and step > given.steps:
        reader.error(f"the fault is meant for step {step}, the last one is {given.steps}")
    return Settings(
        steps=given.steps,
        seed=given.seed,
        prompts=given.prompts,
        group_size=given.group_size,
        max_length=given.max_length,
        lr=given.lr,
        checkpoint=given.checkpoint,
        fault=Fault(given.fault, given.fault_rank, step, given.orphan_seconds),
    )


def lead(trainer: Trainer, steps: int) -> None:
    """Train as rank 0, which prints for all of them."""
    say(f"Total training steps: {steps}")
    bar = Progress(steps)
    metrics: dict[str, float] = {}
    for number in range(1, steps + 1):
        metrics = trainer.step(number)
        say(step_line(number, metrics))
        bar.draw(number)
    bar.close()
    say(validation_text({VALIDATION_KEY: metrics[VALIDATION_KEY]}))


def follow(trainer: Trainer, steps: int) -> None:
    """Train as any other rank, which is silent, as verl's workers are."""
    for number in range(1, steps + 1):
        trainer.step(number)


def join(environment: Mapping[str, str]) -> Ranks:
    """Meet the other ranks that the launcher started."""
    rank, world = int(environment.get("RANK", "0")), int(environment.get("WORLD_SIZE", "1"))
    address, port = environment.get("MASTER_ADDR", "127.0.0.1"), int(environment.get("MASTER_PORT", "29500"))
    where = f"rank {rank} of {world}, process {os.getpid()}, meets at {address}:{port}"
    print(f"demo: {where}", file=sys.stderr, flush=True)
    return meet(rank, world, address, port)


def main() -> None:
    """Run one rank from start to end."""
    chosen = settings(sys.argv[1:], os.environ)
    ranks = join(os.environ)
    trainer = Trainer(chosen, ranks)
    (lead if ranks.rank == 0 else follow)(trainer, chosen.steps)
    ranks.barrier()  # a fault of the teardown must come after rank 0's last line
    chosen.fault.tear_down(ranks.rank)
    ranks.close()


if __name__ == "__main__":
    main()
