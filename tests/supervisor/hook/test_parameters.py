"""Parameters in a real torch: which are chosen, what of them is hashed, and that a change of one bit is seen.

`GRPOTUI_TEST_TRAINER` names an interpreter with torch; without it these tests are skipped.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from support.hooked import Job

if TYPE_CHECKING:
    from pathlib import Path

TRAINER = os.environ.get("GRPOTUI_TEST_TRAINER", "")
pytestmark = [
    pytest.mark.trainer,
    pytest.mark.skipif(not TRAINER, reason="GRPOTUI_TEST_TRAINER names no interpreter with torch"),
]

HEAD = """
import torch, types
from torch import nn
from trl.grpo import GRPOTrainer
class Model(nn.Module):
    def __init__(self, **sizes):
        super().__init__()
        for name, size in sizes.items():
            self.register_parameter(name, nn.Parameter(torch.zeros(size)))
model = Model(embed_tokens=(8, 4), norm=(4,), q=(4, 4), up=(4, 8), down=(8, 4), lm_head=(8, 4))
def begin(): GRPOTrainer(model).on('train_begin')
def at(step):
    trainer = GRPOTrainer(model)
    trainer.state.global_step = step
    trainer.on('step_end')
"""


def samples(folder: Path, body: str) -> list[dict[str, Any]]:
    job = Job(folder, wanted="parameters", python=TRAINER)
    done = job.run(HEAD + body)
    assert (done.returncode, done.stderr) == (0, "")
    return [record for record in job.records() if record["ev"] == "parameters"]


def only(folder: Path, body: str) -> dict[str, Any]:
    ((tensor,),) = [sample["tensors"] for sample in samples(folder, body)]
    return dict(tensor)


def test_matrices_that_every_step_uses_are_chosen(tmp_path: Path) -> None:
    (sample,) = samples(tmp_path, "begin()")
    assert [tensor["name"] for tensor in sample["tensors"]] == ["q", "up", "down"]


def test_adapters_come_first(tmp_path: Path) -> None:
    body = "model = Model(**{name.replace('.', '_'): (2, 2) for name in ('q', 'q.lora_A', 'q.lora_B')}); begin()"
    (sample,) = samples(tmp_path, body)
    assert [tensor["name"] for tensor in sample["tensors"]] == ["q_lora_A", "q_lora_B"]


def test_frozen_parameters_prove_nothing(tmp_path: Path) -> None:
    body = "model.q.requires_grad_(False); model.up.requires_grad_(False); begin()"
    assert only(tmp_path, body)["name"] == "down"


def test_one_bit_is_a_change_and_none_is_none(tmp_path: Path) -> None:
    body = "begin(); at(1)\nwith torch.no_grad(): model.q[3, 3] = -0.0\nat(2)"
    found = samples(tmp_path, body)
    assert [[tensor["changed"] for tensor in sample["tensors"]] for sample in found] == [
        [None] * 3, [False] * 3, [True, False, False],
    ]  # fmt: skip


def test_the_steps_that_are_looked_at(tmp_path: Path) -> None:
    found = samples(tmp_path, "begin(); [at(step) for step in range(1, 301)]; GRPOTrainer(model).on('train_end')")
    steps = [sample["step"] for sample in found]
    assert steps == [0, 1, 2, 4, 8, 16, 32, 64, 100, 128, 200, 256, 300, 0]
    assert [sample["when"] for sample in found][::13] == ["train_begin", "train_end"]


def test_a_large_one_is_hashed_in_part_and_that_is_said(tmp_path: Path) -> None:
    body = "model = Model(q=(1024, 1024)).to(torch.bfloat16); begin()"
    found = only(tmp_path, body)
    assert (found["bytes"], found["of_bytes"], found["dtype"]) == (1 << 20, 2 << 20, "bfloat16")


HELD = {
    "local shard": "model.q._local_tensor = torch.ones(2, 4)",
    "deepspeed shard": "model.q.ds_tensor = torch.ones(2, 4)",
    "deepspeed fp32 master": "model.q._hp_mapping = types.SimpleNamespace(hp_fragment=torch.ones(2, 4))",
    "deepspeed fp32 master shard": (
        "model.q.ds_tensor = torch.ones(5, dtype=torch.bfloat16)\n"
        "model.q._z3_optimizer = types.SimpleNamespace(\n"
        "    grad_position={7: [1, 3, 8]}, get_param_id=lambda p: 7, _swappable_optimizer_subgroup=lambda g: False,\n"
        "    fp32_partitioned_groups_flat=[None, torch.cat([torch.zeros(3), torch.ones(9)])])"
    ),
}


def test_a_partitioned_model_s_matrices_are_still_known(tmp_path: Path) -> None:
    """As with ZeRO-3: every parameter is empty, and its shape stands beside it."""
    body = """
for p in model.parameters():
    p.ds_shape, p.ds_tensor, p.data = p.shape, torch.ones(2), torch.empty(0)
begin()"""
    (sample,) = samples(tmp_path, body)
    assert [tensor["name"] for tensor in sample["tensors"]] == ["q", "up", "down"]


@pytest.mark.parametrize("kind", HELD)
def test_what_the_process_really_holds_is_hashed(tmp_path: Path, kind: str) -> None:
    """Stand-ins with the attributes of FSDP2 and DeepSpeed: the eight ones that they hold, not the zeros in front."""
    plain = only(tmp_path, "model = Model(q=(2, 4)); nn.init.ones_(model.q); begin()")
    (tmp_path / "held").mkdir()
    found = only(tmp_path / "held", f"model = Model(q=(4, 4))\n{HELD[kind]}\nbegin()")
    assert (found["kind"], found["blake2b"], found["of_bytes"]) == (kind, plain["blake2b"], 32)


@pytest.mark.parametrize(
    "body",
    [
        "model = Model(q=(0, 4)); begin()",
        "model = Model(q=(4, 4)).to('meta'); begin()",
        "model = Model(q=(4, 4)); model.q.data = model.q.data.t()[:, :2]; begin()",
        "model = None; begin()",
        "model = object(); begin()",
    ],
)
def test_what_cannot_be_looked_at_is_left_out(tmp_path: Path, body: str) -> None:
    job = Job(tmp_path, wanted="parameters", python=TRAINER)
    done = job.run(HEAD + body)
    assert (done.returncode, done.stderr) == (0, "")
    assert not [record for path in job.paths() for record in job.records() if record.get("tensors")]
