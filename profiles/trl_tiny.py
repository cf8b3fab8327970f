"""TRL's GRPOTrainer with a random model, made on the spot: no hub. 0.1 M weights on the CPU, 0.4 B on GPUs (`--gpu`).

One process is one rank: start it with RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, or under
torchrun. It prints nothing on stdout but what TRL prints, and on a GPU its memory at the end. `--fault` makes a
rank fail in a chosen way. Needs trl 1.0 or later.
"""

from __future__ import annotations

import argparse
import atexit
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

FAULTS = ("none", "kill", "abort-teardown", "orphan", "segv", "raise", "exit3", "hang", "zero-reward")
RANK = int(os.environ.get("RANK", "0"))
SEED = 42
VOCABULARY = 2 + 256  # padding and end, then one token a byte
ORPHAN = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
parent = int(sys.argv[1])
while os.getppid() == parent:
    time.sleep(0.05)
time.sleep(2)
if sys.argv[2] == "gpu":
    import torch
    held = torch.zeros(2 << 30, dtype=torch.uint8, device="cuda")
time.sleep(600)
"""
"""What a rank leaves behind: a process that takes 2 GiB of its GPU only when the rank has been gone for seconds."""
SIZES = {
    False: {
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
    },
    True: {
        "hidden_size": 1024,
        "intermediate_size": 3072,
        "num_hidden_layers": 28,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
    },
}
"""The shape of the model, by `--gpu`."""


class TrainerState(Protocol):
    """What TRL tells a reward function about the run."""

    global_step: int


def main() -> None:
    """Train as the command line says."""
    options = parse_arguments()
    if options.fault == "abort-teardown" and options.fault_rank == RANK:
        atexit.register(abort)  # before torch registers its own, so that it runs after all of them
    if options.fault == "orphan" and options.fault_rank == RANK:
        atexit.register(leave_orphan, "gpu" if options.gpu else "cpu")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    train(options)


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="A tiny GRPO run with TRL.")
    parser.add_argument("--steps", type=int, default=20, help="optimizer steps")
    parser.add_argument("--gpu", action="store_true", help="a GPU a rank, and a model of 0.4 B weights")
    parser.add_argument("--beta", type=float, default=0.04, help="weight of the KL penalty; 0: no KL is printed")
    parser.add_argument("--output-dir", help="keep the trained model here; by default no file is left")
    parser.add_argument("--fault", choices=FAULTS, default="none", help="how the run fails")
    parser.add_argument("--fault-rank", type=int, default=1, help="who fails; zero-reward strikes all ranks")
    parser.add_argument("--fault-step", type=int, default=8, help="from which step on; a teardown has none")
    return parser.parse_args()


def train(options: argparse.Namespace) -> None:
    """One run. The model's folder is gone before the first step, so a killed rank leaves nothing behind."""
    trl = import_module("trl")  # late: torch takes seconds, and the atexit order depends on it
    with tempfile.TemporaryDirectory(prefix="trl-tiny-") as folder:
        save_random_model(folder, SIZES[options.gpu])
        trainer = trl.GRPOTrainer(
            model=folder,  # by path: that is how TRL finds the reference model again
            processing_class=byte_tokenizer(),
            reward_funcs=[with_fault(reward, options) for reward in (letters, no_digits)],
            args=trl.GRPOConfig(output_dir=options.output_dir or folder, **settings(options)),
            train_dataset=prompts(),
        )
    trainer.train()
    if options.output_dir:
        trainer.save_model()
    if options.gpu:
        say_memory()
    # No destroy_process_group() before the trainer is freed: with it 2 of 12 exits hung (torch 2.13, gloo).


def settings(options: argparse.Namespace) -> dict[str, object]:
    """What GRPOConfig gets: 8 completions of 24 tokens a rank and step, in groups of 4."""
    return {
        "max_steps": options.steps,
        "beta": options.beta,
        "per_device_train_batch_size": 8,
        "num_generations": 4,
        "max_completion_length": 128 if options.gpu else 24,
        "learning_rate": 1e-5 if options.gpu else 5e-3,
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": "none",
        "use_cpu": not options.gpu,  # otherwise accelerate, seeing no GPU, lets each rank train alone
        "bf16": options.gpu,
        "gradient_checkpointing": False,
        "seed": SEED,
    }


def prompts() -> object:
    """A data set of 64 prompts."""
    lines = [f"Write letters, number {index}: " for index in range(64)]
    return import_module("datasets").Dataset.from_dict({"prompt": lines})


def byte_tokenizer() -> object:
    """One token a byte, so any text is in reach of any model."""
    tokenizers = import_module("tokenizers")
    split = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokens = ["<pad>", "<eos>", *sorted(split.alphabet())]
    model = tokenizers.models.BPE(vocab={token: index for index, token in enumerate(tokens)}, merges=[])
    inner = tokenizers.Tokenizer(model)
    inner.pre_tokenizer = split
    inner.decoder = tokenizers.decoders.ByteLevel()
    return import_module("transformers").PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token="<pad>",  # noqa: S106
        eos_token="<eos>",  # noqa: S106
        padding_side="left",
        model_input_names=["input_ids", "attention_mask"],  # transformers 4 adds one that Qwen2 refuses
    )


def save_random_model(folder: str, size: dict[str, int]) -> None:
    """Write a model that knows nothing; the same on every rank."""
    transformers = import_module("transformers")
    import_module("torch").manual_seed(SEED)
    config = transformers.Qwen2Config(
        vocab_size=VOCABULARY,
        **size,
        max_position_embeddings=256,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
        tie_word_embeddings=True,
    )
    transformers.Qwen2ForCausalLM(config).save_pretrained(folder)


def letters(completions: list[str], **_: object) -> list[float]:
    """The share of ASCII letters: a fifth for random bytes, and easy to raise."""
    return [share(text, lambda char: char.isascii() and char.isalpha()) for text in completions]


def no_digits(completions: list[str], **_: object) -> list[float]:
    """Minus the share of ASCII digits: a second part of the reward, small from the start."""
    return [-share(text, lambda char: char.isascii() and char.isdigit()) for text in completions]


def share(text: str, wanted: Callable[[str], bool]) -> float:
    """The share of characters that are wanted; 0 for no text."""
    return sum(map(wanted, text)) / max(len(text), 1)


def with_fault(reward: Callable[..., list[float]], options: argparse.Namespace) -> Callable[..., list[float]]:
    """The same reward until the fault's step comes; TRL shows it under the same name."""

    @wraps(reward)
    def faulty(completions: list[str], trainer_state: TrainerState, **columns: object) -> list[float]:
        if trainer_state.global_step + 1 >= options.fault_step:
            if options.fault == "zero-reward":
                return [0.0] * len(completions)
            if options.fault_rank == RANK:
                fail(options.fault)
        return reward(completions, **columns)

    return faulty


def fail(fault: str) -> None:
    """End or stop this rank, in the middle of a step; nothing happens for a fault of another kind."""
    match fault:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "segv":
            ctypes.string_at(0)
        case "raise":
            raise RuntimeError(f"fault injected on rank {RANK}")
        case "exit3":
            sys.exit(3)
        case "hang":
            while True:
                signal.pause()
        case _:
            pass


def say_memory() -> None:
    """Print what torch's allocator holds at the end; the driver's figure of the process is another one."""
    cuda = import_module("torch").cuda
    print(f"[rank {RANK}] torch allocated {cuda.memory_allocated()} reserved {cuda.memory_reserved()}", flush=True)


def leave_orphan(device: str) -> None:
    """Leave a process behind that outlives the run in a session of its own."""
    subprocess.Popen([sys.executable, "-c", ORPHAN, str(os.getpid()), device], start_new_session=True)


def abort() -> None:
    """Die as a crashing teardown does, after everything that was to be printed."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.abort()


if __name__ == "__main__":
    main()
