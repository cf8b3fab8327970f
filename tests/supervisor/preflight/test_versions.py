"""What the training interpreter has, and what of it is known not to work together."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from support.fake_cuda import packages, torch
from support.preflight import job

from grpotui_supervisor.preflight import versions
from grpotui_supervisor.preflight.requirements import fits, numbers, unmet

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TRAINER = os.environ.get("GRPOTUI_TEST_TRAINER")
TRL = 'mode = "ranks"\nnproc = 2\nargv = ["{{python}}", "t.py", "--use_vllm", "true", "--vllm_mode", "{mode}", {more}]'
SLEEPS = '"--vllm_enable_sleep_mode", "true"'


def trl(mode: str = "colocate", more: str = SLEEPS) -> str:
    return TRL.format(mode=mode, more=more).replace("{{python}}", "{python}")


def test_what_is_there_is_told_without_importing_it(tmp_path: Path) -> None:
    site = packages(tmp_path, trl="0.26.0", vllm="0.11.0", transformers="4.57.1", deepspeed="0.18.2")
    site = torch(tmp_path, "12.8", "2.8.0")
    found = versions.CHECK.run(job(tmp_path, env={"PYTHONPATH": site}))
    assert found.outcome == "passed"
    words = "torch 2.8.0 (CUDA 12.8), vllm 0.11.0, trl 0.26.0, transformers 4.57.1, deepspeed 0.18.2"
    assert found.evidence.startswith("Python 3.")
    assert found.evidence.endswith(words)
    assert found.data["packages"]["trl"] == "0.26.0"
    assert found.data["torch_cuda"] == "12.8"


def test_other_versions_than_the_profile_s(tmp_path: Path) -> None:
    site = torch(tmp_path, "12.8", "2.8.0+cu128")
    site = packages(tmp_path, trl="0.27.1", vllm="0.11.0")
    table = (
        '[versions]\npython = "3"\ntorch = "2.8.0"\ntrl = "0.26.0"\nvllm = "0.11"\nflash-attn = "2.8.3"\nother = "1"\n'
    )
    found = versions.CHECK.run(job(tmp_path, env={"PYTHONPATH": site}, more=table))
    assert found.outcome == "warning"
    assert found.evidence == "trl 0.27.1 here, 0.26.0 in the profile; no flash-attn here, 2.8.3 in the profile"
    assert "other versions" in str(found.next)


def test_nothing_is_there(tmp_path: Path) -> None:
    found = versions.CHECK.run(job(tmp_path))
    assert (found.outcome, found.evidence.endswith(", no training framework")) == ("passed", True)


def test_an_interpreter_that_cannot_be_started(tmp_path: Path) -> None:
    found = versions.CHECK.run(job(tmp_path, python=("/no/such/python",)))
    assert found.outcome == "unchecked"
    assert found.evidence == (
        "the training interpreter could not be started: /no/such/python: No such file or directory"
    )


def outcome(
    tmp_path: Path, launch: str, env: Mapping[str, str | None] | None = None, /, **installed: str
) -> tuple[str, str]:
    site = packages(tmp_path / "site", **installed)
    found = versions.CHECK.run(job(tmp_path, env={"PYTHONPATH": site, **(env or {})}, launch=launch))
    return found.outcome, found.evidence


def test_trl_with_a_vllm_that_sleeps(tmp_path: Path) -> None:
    installed = {"trl": "0.26.0", "vllm": "0.11.0"}
    word, evidence = outcome(tmp_path, trl(), **installed)
    assert word == "warning"
    assert evidence.startswith("trl 0.26.0, vllm 0.11.0: with vLLM beside the training")
    assert outcome(tmp_path, trl(more='"--x"'), **installed)[0] == "passed"
    assert outcome(tmp_path, trl("server"), **installed)[0] == "passed"


def test_a_newer_trl_is_not_known_to_fail(tmp_path: Path) -> None:
    assert outcome(tmp_path, trl(), trl="1.0.0", vllm="0.11.0")[0] == "passed"


@pytest.mark.parametrize("name", ["PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"])
def test_expandable_segments_and_sleep_mode(name: str, tmp_path: Path) -> None:
    verl = 'mode = "command"\nargv = ["{python}", "-m", "verl.trainer.main_ppo", "data.train_batch_size=8"]'
    segments: dict[str, str | None] = {name: "max_split_size_mb:64,expandable_segments:True"}
    word, evidence = outcome(tmp_path, verl, segments, vllm="0.11.0", verl="0.7.1")
    assert (word, "Expandable segments are not compatible" in evidence) == ("warning", True)
    awake = verl.replace("data.train_batch_size=8", "actor_rollout_ref.rollout.free_cache_engine=False")
    assert outcome(tmp_path, awake, segments, vllm="0.11.0")[0] == "passed"
    assert outcome(tmp_path, verl, {name: "max_split_size_mb:64"}, vllm="0.11.0")[0] == "passed"


def test_a_wheel_that_was_built_for_another_torch(tmp_path: Path) -> None:
    site = torch(tmp_path / "site", "12.8", "2.8.0+cu128")
    packages(tmp_path / "site", flash_attn="2.8.3+cu12torch2.7cxx11abiFALSE")
    found = versions.CHECK.run(job(tmp_path, env={"PYTHONPATH": site}))
    assert found.outcome == "warning"
    assert "is built for torch 2.7, and torch 2.8.0+cu128 is installed" in found.evidence


def test_what_they_require_of_each_other(tmp_path: Path) -> None:
    site = tmp_path / "site"
    packages(site, torch="2.9.0", vllm="0.11.0")
    with (site / "vllm-0.11.0.dist-info/METADATA").open("a") as file:
        file.write("Requires-Dist: torch==2.8.0\nRequires-Dist: transformers>=4.55\n")
    found = versions.CHECK.run(job(tmp_path, env={"PYTHONPATH": str(site)}))
    assert found.outcome == "warning"
    assert found.evidence == "vllm 0.11.0 requires torch==2.8.0, and torch 2.9.0 is installed"


@pytest.mark.parametrize(("version", "specifier", "answer"), [
    ("0.11.0", ">=0.10.2,<0.13", True), ("0.13.0", "<0.13", False), ("0.11.1", ">=0.10,!=0.11.1", False),
    ("2.8.0+cu128", "==2.8.0", True), ("2.8", "==2.8.0", True), ("2.8.1", "==2.8.*", True), ("2.9", "==2.8.*", False),
    ("2.9", "!=2.8.*", True), ("1.4.5", "~=1.4.2", True), ("1.5.0", "~=1.4.2", False), ("5.0.0.dev0", ">=5", True),
    ("unknown", ">=1", None), ("1.0", "", None), ("1.0", ">=x", None), ("10.0", ">9.9", True), ("1!2.0", "<=2", True),
])  # fmt: skip
def test_specifiers(version: str, specifier: str, answer: bool | None) -> None:
    assert fits(version, specifier) is answer


def test_conditions_of_requirements() -> None:
    installed = {"trl": "1.16.0", "vllm": "0.20.0", "transformers": "4.0"}
    of_trl = [
        'vllm<=0.31.0,>=0.22.0; extra == "vllm"',
        'transformers[kernels]>=9; extra == "kernels"',
        'transformers>=9; python_version < "3.9"',
        "transformers (>=4.56.2)",
        "vllm @ https://example.org/vllm.whl",
        "",
    ]
    assert list(unmet(installed, {"trl": of_trl})) == [
        "trl 1.16.0 requires vllm<=0.31.0,>=0.22.0, and vllm 0.20.0 is installed",
        "trl 1.16.0 requires transformers>=4.56.2, and transformers 4.0 is installed",
    ]
    assert numbers("v1.2rc1") == (1, 2)


@pytest.mark.trainer
@pytest.mark.skipif(TRAINER is None, reason="GRPOTUI_TEST_TRAINER names no interpreter with TRL")
def test_a_real_environment(tmp_path: Path) -> None:
    found = versions.CHECK.run(job(tmp_path, python=(str(TRAINER),)))
    assert {"torch", "trl", "transformers"} <= found.data["packages"].keys()
