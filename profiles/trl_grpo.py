"""GRPO with TRL, all of it on the command line: the options of GRPOConfig and ModelConfig, and those below.

TRL hands vLLM no limit of sequences and no size of its KV cache. Here both go to the engine that TRL makes in this
process (`vllm_mode=colocate`), as does whether it captures CUDA graphs; compilation stays on.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import SimpleNamespace


@dataclass
class Own:
    """Options of this script."""

    dataset_name: str = field(metadata={"help": "A name on the hub, or a file of rows with prompt and solution."})
    dataset_split: str = field(default="train", metadata={"help": "Which part of it: train[:8]."})
    max_num_seqs: int | None = field(default=None, metadata={"help": "Sequences that the engine runs at once."})
    kv_cache_memory_bytes: int | None = field(default=None, metadata={"help": "KV cache of each card in bytes."})
    cuda_graphs: bool = field(default=True, metadata={"help": "Whether the engine captures CUDA graphs."})


def limits(own: Own | SimpleNamespace) -> dict[str, Any]:
    """What the engine is told on top of what TRL tells it."""
    found: dict[str, Any] = {}
    if own.max_num_seqs is not None:
        found["max_num_seqs"] = own.max_num_seqs
    if own.kv_cache_memory_bytes is not None:
        found["kv_cache_memory_bytes"] = own.kv_cache_memory_bytes
    if not own.cuda_graphs:
        found["compilation_config"] = {"cudagraph_mode": "NONE"}
    return found


def limited(engine: type, told: dict[str, Any]) -> type:
    """The engine's class, which takes these over what its caller says."""

    class LLM(engine):  # type: ignore[misc]
        def __init__(self, *words: Any, **options: Any) -> None:  # noqa: ANN401
            super().__init__(*words, **{**options, **told})

    return LLM


def rows(own: Own) -> Any:  # noqa: ANN401
    """The data set: a file of this machine, or one of the hub."""
    load = import_module("datasets").load_dataset
    kind = {"jsonl": "json", "json": "json", "parquet": "parquet", "csv": "csv"}.get(
        own.dataset_name.rpartition(".")[2]
    )
    if kind is None:
        return load(own.dataset_name, split=own.dataset_split)
    return load(kind, data_files=own.dataset_name, split=own.dataset_split)


def main(words: list[str]) -> None:
    """Trains; what is saved, and when, the options say."""
    parser, trl = import_module("transformers").HfArgumentParser, import_module("trl")
    own, training, model = parser((Own, trl.GRPOConfig, trl.ModelConfig)).parse_args_into_dataclasses(words)
    if training.use_vllm:
        vllm = import_module("vllm")
        setattr(vllm, "LLM", limited(vllm.LLM, limits(own)))  # noqa: B010  (before TRL's trainer takes it from there)
    training.model_init_kwargs = {"dtype": model.dtype}
    trainer = trl.GRPOTrainer(
        model=model.model_name_or_path,
        reward_funcs=import_module("trl.rewards").accuracy_reward,
        args=training,
        train_dataset=rows(own),
        peft_config=trl.get_peft_config(model),
    )
    trainer.train()


if __name__ == "__main__":
    main(sys.argv[1:])
