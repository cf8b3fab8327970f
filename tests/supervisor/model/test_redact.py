"""Secrets are told from what only looks like one, by name, by shape, and by value."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpotui_supervisor.model import redact
from grpotui_supervisor.model.redact import MASK

SECRET_NAMES = [
    "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "WANDB_API_KEY", "OPENAI_API_KEY", "OPENAI_KEY", "MY_PASSWORD", "PGPASSWORD",
    "MYSQL_PWD", "DB_PASS", "SSHPASS", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "GITHUB_PAT", "CLIENT_SECRET",
    "RAY_AUTH_TOKEN", "SLURM_JWT", "GOOGLE_APPLICATION_CREDENTIALS", "APIKEY", "apiKey", "accessToken", "authtoken",
    "--api-key", "--token", "--hub_token", "trainer.wandb_api_key", "+x.password", "passphrase", "X-Auth-Token", "key",
]  # fmt: skip
OTHER_NAMES = [
    "max_token_len", "max_tokens", "tokenizer", "tokenizer_path", "eos_token", "bos_token", "pad_token", "image_token",
    "num_tokens", "tokens_per_s", "TOKENIZERS_PARALLELISM", "token_level_loss", "entropy_per_token", "loss_per_token",
    "time_to_first_token", "data.prompt_key", "data.reward_fn_key", "reward_model.key", "sort_key", "public_key",
    "keyboard", "monkey", "forward_pass", "bypass", "pattern", "PWD", "OLDPWD", "author", "PATH", "seed", "", "=", "__",
]  # fmt: skip


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_names_of_secrets(name: str) -> None:
    assert redact.is_secret_name(name)


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_names_that_only_look_like_it(name: str) -> None:
    assert not redact.is_secret_name(name)


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("https://me:s3cret@host/x", f"https://{MASK}@host/x"),
        ("https://me:p@ss@host/x", f"https://{MASK}@host/x"),
        ("postgres://me@host", f"postgres://{MASK}@host"),
        ("https://host/a@b", "https://host/a@b"),
        ("https://h/x?token=abc&page=2#top", f"https://h/x?token={MASK}&page=2#top"),
        ("https://h/x?X-Amz-Signature=abc;max_tokens=5", f"https://h/x?X-Amz-Signature={MASK};max_tokens=5"),
        ("Authorization: Bearer abcdefghijk", f"Authorization: Bearer {MASK}"),
        ("a Bearer of it", "a Bearer of it"),
        ("x=hf_abcdefghijklmnopqrst", f"x={MASK}"),
        ("sk-proj-abcdefghijklmnop", MASK),
        ("ghp_abcdefghijklmnopqrst", MASK),
        ("AKIAABCDEFGHIJKLMNOP", MASK),
        ("eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.abc-defghij", MASK),
        ("export HF_TOKEN=abc && x", f"export HF_TOKEN={MASK} && x"),
        ("a=b=password=x", f"a=b=password={MASK}"),
        ("python t.py --token abc --steps 3", f"python t.py --token {MASK} --steps 3"),
        ("--token --steps 3", "--token --steps 3"),
        ('{"api_key": "two words", "eos_token": "</s>"}', f'{{"api_key": "{MASK}", "eos_token": "</s>"}}'),
        ("{api_key:abc,lr:1e-6}", f"{{api_key:{MASK},lr:1e-6}}"),
        ('argv=["x", "--api-key", "abc"]', f'argv=["x", "--api-key", "{MASK}"]'),
        ("actor.optim.lr=1e-6", "actor.optim.lr=1e-6"),
        ("12:30:01 step:3 - reward:0.5", "12:30:01 step:3 - reward:0.5"),
        ("key=", "key="),
        ("", ""),
    ],
)
def test_text(given_text: str, expected: str) -> None:
    assert redact.text(given_text) == expected


def test_json_in_json_in_json() -> None:
    inner = {"openai_api_key": "abcdef"}
    for _ in range(3):
        word = json.dumps(inner)
        assert "abcdef" not in redact.text(word)
        inner = {"argv": word}


def test_known_values_go_wherever_they_stand() -> None:
    secrets = redact.secret_values({"A_TOKEN": "abcdef", "B_TOKEN": "abcdefgh", "C_TOKEN": "abc", "NAME": "innocent"})
    assert secrets == ["abcdefgh", "abcdef"]  # longest first, none so short that it could be a word
    assert redact.text("/abcdefgh/abcdef/abc/innocent", secrets) == f"/{MASK}/{MASK}/abc/innocent"


def test_arguments() -> None:
    words = [
        "t.py",
        "--api-key",
        "one",
        "--token=two",
        "api_key=three",
        "--token",
        "--flag",
        "x",
        "-k",
        "y",
        "--password",
    ]
    assert redact.arguments(words) == [
        "t.py", "--api-key", MASK, f"--token={MASK}", f"api_key={MASK}", "--token", "--flag", "x", "-k", "y",
        "--password",
    ]  # fmt: skip
    assert redact.arguments(["--eos_token", "</s>", "--max_token_len", "9"]) == [
        "--eos_token", "</s>", "--max_token_len", "9",
    ]  # fmt: skip


def test_values_found_in_arguments_are_known_elsewhere() -> None:
    words = [
        "--api-key",
        "secret-1",
        "token=secret-2",
        'x={"password": "secret-3"}',
        "sh -c 'A_TOKEN=secret-4'",
        "token=ab",
    ]
    assert redact.secret_arguments(words) == {"secret-1", "secret-2", "secret-3", "secret-4"}


def test_environment() -> None:
    kept, names = redact.environment(
        {
            "NCCL_DEBUG": "INFO",
            "VLLM_API_KEY": "x",
            "HOME": "/root",
            "PATH": "/bin:/x-secret-y",
            "MY_TOKEN": "x-secret-y",
        },
        ["x-secret-y"],
    )
    assert kept == {"NCCL_DEBUG": "INFO", "PATH": f"/bin:/{MASK}"}
    assert names == ["HOME", "MY_TOKEN", "VLLM_API_KEY"]


@given(st.lists(st.text(max_size=40), max_size=6), st.lists(st.text(min_size=6, max_size=12), max_size=3))
def test_no_text_makes_it_fail_or_adds_words(words: list[str], secrets: list[str]) -> None:
    masked = redact.arguments(words, secrets)
    assert len(masked) == len(words)
    redact.secret_arguments(words)


@given(
    st.sampled_from(SECRET_NAMES[:-1]),
    st.sampled_from(["{}={}", "{}: {}", "--{} {}", '{{"{}": "{}"}}', "x {}={} y", "https://h/?a=1&{}={}"]),
    st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=6, max_size=30),
)
def test_what_has_a_secret_s_name_never_stays(name: str, form: str, value: str) -> None:
    assert value not in redact.text(form.format(name.strip("-+"), value)).replace(name, "")


def test_a_long_line_takes_no_time() -> None:
    for piece in ("a=", "--token ", "https://", "'\"", "{", '\\"', "key:"):
        redact.text(piece * 20_000)
