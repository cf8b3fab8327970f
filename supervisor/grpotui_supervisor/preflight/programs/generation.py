"""A few tokens through vLLM, with the job's model on one GPU; nothing is downloaded."""

from __future__ import annotations

import importlib
import json
import sys

from grpotui_supervisor.preflight.programs.base import answer, failure, tell


def main(model: str, options: str) -> None:
    """`options`: of `vllm.LLM`, as JSON."""
    tell(stage="importing vllm")
    vllm = importlib.import_module("vllm")
    tell(stage="loading the model", vllm=vllm.__version__)
    engine = vllm.LLM(model=model, **json.loads(options))
    tell(stage="generating")
    (found,) = engine.generate(["1 + 1 ="], vllm.SamplingParams(max_tokens=8, temperature=0.0))
    answer(tokens=len(found.outputs[0].token_ids), text=found.outputs[0].text, stage="leaving")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Exception as error:
        tell(error=failure(error))
        raise
