"""No secret is written down: a byte search through everything that a launch leaves behind."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from support.commands import of_home
from support.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from support.runs import Home

ENVIRONMENT = {
    "WANDB_API_KEY": "0123456789abcdef-wandb",
    "HF_TOKEN": "hf-token-of-nobody",
    "MY_PASSWORD": "pass-word-one",
    "AWS_SECRET_ACCESS_KEY": "aws/secret+value",
    "RAY_AUTH_TOKEN": "ray-secret-token",
    "PGPASSWORD": "pg-secret-value",
    "SLURM_JWT": "slurm-secret-value",
    "SOMETHING_ORDINARY": "an-ordinary-value",  # only the allow-list is written down
    "VLLM_ENDPOINT": "https://user:in-url-one@host/v1?token=in-url-two&max_tokens=16",
    "NCCL_DEBUG": "INFO",
}
PROFILE_ENVIRONMENT = {"JUDGE_API_KEY": "judge-secret-key", "OMP_NUM_THREADS": "1", "db_password": "db-secret-word"}
ARGUMENTS = [
    "--api-key", "argv-secret-one", "--token=argv-secret-two", "api_key=argv-secret-three",
    "+trainer.hub_token=argv-secret-four",
    "--url", "postgres://me:argv-secret-five@db/x", "https://h/?sig=argv-secret-six&access_token=argv-secret-seven",
    "export WANDB_API_KEY=argv-secret-eight; --password argv-secret-nine", '{"openai_api_key": "argv-secret-ten"}',
    "--header", "Authorization: Bearer argv-secret-eleven", "data.max_token_len=4096", "--tokenizer", "org/name",
    "--eos_token", "<|im_end|>", "data.reward_fn_key=data_source", "also argv-secret-one here",
]  # fmt: skip
READABLE = ["data.max_token_len=4096", "--tokenizer", "org/name", "--eos_token", "<|im_end|>"]
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven")
SECRETS = [
    *(value for name, value in ENVIRONMENT.items() if name not in ("VLLM_ENDPOINT", "NCCL_DEBUG")),
    *(value for name, value in PROFILE_ENVIRONMENT.items() if name != "OMP_NUM_THREADS"),
    *(f"argv-secret-{number}" for number in NUMBERS),
    *("in-url-one", "in-url-two", "judge-companion-secret", "training-secret-value", "set-secret-value"),
    "918273645546372819",
]


def profile(home: Home) -> str:
    env = "\n".join(f"{name} = {json.dumps(value)}" for name, value in PROFILE_ENVIRONMENT.items())
    return home.profile(
        f'name = "secrets"\n[launch]\nmode = "ranks"\nnproc = 2\nargv = {json.dumps(["sleep", "1000"])}\n'
        f"[launch.env]\n{env}\n"
        '[companions.judge]\nargv = ["sleep", "1000"]\nenv = { JUDGE_TOKEN = "judge-companion-secret" }\n'
        '[training]\nwandb_api_key = "training-secret-value"\nmax_token_len = 77\npassword = 918273645546372819\n'
    )


def search(folder: Path) -> dict[str, list[str]]:
    """Secret → the files that hold it, the ranks' own logs excepted."""
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix != ".log"}
    assert len(files) >= 7
    return {
        secret: hits
        for secret in SECRETS
        if (hits := [path.name for path, content in files.items() if secret.encode() in content])
    }


def test_no_secret_is_written_down(home: Home) -> None:
    argv = ["sh", "-c", "sleep 1000", "sh", *ARGUMENTS]
    settings = ["--set", f"launch.argv={json.dumps(argv)}", "--set", 'launch.env.MY_SECRET="set-secret-value"']
    done = home.run("launch", profile(home), "--detach", *settings, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    run = done.stdout.strip()
    home.wait_for_state(run, "running")
    wait_until(lambda: home.records(run, "timeline"), what="the monitor")
    home.run("stop", run, "--now")
    wait_until(lambda: not of_home(home), what="an end of everything")
    assert search(home.directory(run)) == {}
    facts: dict[str, Any] = json.loads((home.directory(run) / "run.json").read_text())
    for member in facts["members"][1:]:
        assert [word for word in member["argv"] if word in READABLE] == READABLE
        assert "--url" in member["argv"]
    assert facts["environment"]["VLLM_ENDPOINT"] == "https://<redacted>@host/v1?token=<redacted>&max_tokens=16"
    assert facts["environment"]["NCCL_DEBUG"] == "INFO"
    assert {"SOMETHING_ORDINARY", "WANDB_API_KEY", "MY_PASSWORD"} <= set(facts["environment_names"])
    assert facts["profile"]["training"]["max_token_len"] == 77
    assert facts["profile"]["launch"]["env"]["OMP_NUM_THREADS"] == "1"


def test_a_start_that_fails_tells_no_secret_either(home: Home) -> None:
    words = ["launch", profile(home), "--set", f"launch.argv={json.dumps(['no-such', *ARGUMENTS])}"]
    done = home.run(*words, env=ENVIRONMENT)
    assert done.returncode == 127
    assert not [secret for secret in SECRETS if secret in done.stdout + done.stderr]
    assert search(next(home.path.glob("runs/*"))) == {}


def test_the_working_directory_is_no_secret(home: Home, tmp_path: Path) -> None:
    """PWD ends with a word for passwords, and its value stands in every path."""
    run = home.run(
        "launch",
        home.ranks_profile("exit0"),
        "--detach",
        cwd=tmp_path,
        env={"PWD": str(tmp_path), "OLDPWD": "/usr/bin"},
    ).stdout.strip()
    assert "<redacted>" not in (home.directory(run) / "run.json").read_text()
