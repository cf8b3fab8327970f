"""Keeps secrets out of what is written down: arguments, URLs, process titles, environment values.

The environment goes to the shim over stdin and is never stored. Of its values only those of an allow-list are kept.
"""

import re
from collections.abc import Iterable, Mapping

MASK = "<redacted>"

_ANYWHERE = {"secret", "password", "passwd", "passphrase", "pwd", "credential", "credentials", "apikey", "auth"}
_KEYS = {"api", "access", "private", "secret", "encryption", "signing", "wandb", "license", "account", "ssh"}
_VOCABULARY = {"eos", "bos", "pad", "unk", "sep", "cls", "mask", "stop", "image", "special", "num", "max", "per"}
_URL_USER = re.compile(r"(?P<scheme>\b[a-z][a-z0-9+.-]*://)[^/\s@]+@", re.IGNORECASE)
_URL_QUERY = re.compile(r"(?P<name>[?&;][^=&\s]*(?:token|key|secret|passw|sig|auth)[^=&\s]*=)[^&\s#]+", re.IGNORECASE)
_SHAPES = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{16,}|glpat-[A-Za-z0-9_-]{16,}"
    r"|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[A-Z0-9]{16}|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+)"
)
_KEPT = re.compile(
    r"^(?:CUDA_|NCCL_|VLLM_|TORCH_|TORCHINDUCTOR_|RAY_|OMP_|MKL_|PYTORCH_|GLOO_|UCX_|SGLANG_|ACCELERATE_|DS_|SLURM_)"
    r"|^(?:HF_HOME|HF_HUB_OFFLINE|HF_HUB_CACHE|TRANSFORMERS_OFFLINE|TOKENIZERS_PARALLELISM|PYTHONUNBUFFERED|PYTHONPATH"
    r"|PYTHONHASHSEED|LD_LIBRARY_PATH|LD_PRELOAD|PATH|VIRTUAL_ENV|CONDA_PREFIX|RANK|LOCAL_RANK|WORLD_SIZE"
    r"|LOCAL_WORLD_SIZE|MASTER_ADDR|MASTER_PORT|TQDM_MININTERVAL|TMPDIR)$"
)


def is_secret_name(name: str) -> bool:
    """Whether a variable or option of that name holds a secret: HF_TOKEN does, max_token_len and eos_token do not."""
    words = [word for word in re.split(r"[^a-z0-9]+", name.lower()) if word]
    if not words:
        return False
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last == "token":
        return before not in _VOCABULARY
    return bool(_ANYWHERE.intersection(words)) or (last == "key" and (not before or before in _KEYS))


def text(value: str, secrets: Iterable[str] = ()) -> str:
    """One string without credentials in URLs, known token shapes, and the given secret values."""
    for secret in secrets:  # longest first: one may be part of another
        value = value.replace(secret, MASK)
    value = _URL_USER.sub(rf"\g<scheme>{MASK}@", value)
    value = _URL_QUERY.sub(rf"\g<name>{MASK}", value)
    return _SHAPES.sub(MASK, value)


def arguments(words: Iterable[str], secrets: Iterable[str] = ()) -> list[str]:
    """A command line: also `--token X`, `--token=X` and `api_key=X` lose their X."""
    result: list[str] = []
    mask_next = False
    for word in words:
        if mask_next and not word.startswith("-"):
            result.append(MASK)
            mask_next = False
            continue
        name, equals, _ = word.partition("=")
        if equals and is_secret_name(name):
            result.append(f"{name}={MASK}")
        else:
            result.append(text(word, secrets))
        mask_next = word.startswith("-") and not equals and is_secret_name(word)
    return result


def secret_values(environment: Mapping[str, str]) -> list[str]:
    """Values of variables with a secret's name, longest first; short ones would blank out innocent text."""
    values = {value for name, value in environment.items() if is_secret_name(name) and len(value) >= 6}
    return sorted(values, key=len, reverse=True)


def environment(variables: Mapping[str, str], secrets: Iterable[str] = ()) -> tuple[dict[str, str], list[str]]:
    """(name → value of the variables that may be written down, names of all others), both sorted by name."""
    known = list(secrets)
    kept = {
        name: text(value, known)
        for name, value in sorted(variables.items())
        if _KEPT.search(name) and not is_secret_name(name)
    }
    return kept, sorted(set(variables) - kept.keys())
