"""Keeps secrets out of what is written down: arguments, URLs, environment values.

The environment goes to the shim over stdin and is never stored. Of its values only those of an allow-list are kept.
A secret is known by the name it is given to, by its shape, or because its value stands under such a name elsewhere.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

MASK = "<redacted>"
_SHORTEST = 6  # characters; blanking out shorter values wherever they occur would hit innocent text

_ANYWHERE = {"secret", "credential", "credentials", "password", "passwd", "passphrase", "pwd", "apikey", "auth", "jwt"}
_ENDINGS = ("password", "passwd", "passphrase", "secret", "apikey")
_KEYS = {
    "access", "account", "admin", "anthropic", "api", "app", "aws", "azure", "client", "comet", "dashscope",
    "deepseek", "encryption", "gcp", "gemini", "google", "hf", "license", "master", "ngc", "openai", "private", "s3",
    "secret", "service", "signing", "ssh", "storage", "swanlab", "wandb",
}  # fmt: skip
_VOCABULARY = {
    "audio", "begin", "bos", "class", "cls", "decoder", "each", "end", "eos", "extra", "first", "ignore", "image",
    "input", "last", "mask", "max", "min", "new", "next", "num", "of", "output", "pad", "per", "prev", "prompt", "ref",
    "response", "reward", "score", "sep", "special", "start", "stop", "system", "text", "think", "tool", "unk",
    "video", "vision",
}  # fmt: skip
"""Words before `token` that make it one of a tokenizer, or a count."""
_PASSED_BY = {
    "admin", "basic", "db", "ftp", "http", "mysql", "pg", "postgres", "proxy", "redis", "root", "smtp", "ssh", "sudo",
    "user",
}  # fmt: skip
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NAME = r"[A-Za-z][A-Za-z0-9_.-]*"
_QUOTE = r"\\*[\"']?"  # JSON in JSON has its quotes escaped
_PAIR = re.compile(rf"(?P<name>{_NAME})(?P<sep>{_QUOTE}\s*[=:]\s*{_QUOTE})(?=[^\s\"'=:\\])")
_OPTION = re.compile(rf"(?<![\w-])--?(?P<name>{_NAME})(?P<sep>{_QUOTE}[\s,]+{_QUOTE})(?=[^\s\"',\\-])")
_VALUE = re.compile(r"[^\s\"',;&|{}\[\]\\]+")
_URL_USER = re.compile(r"(?P<head>\b[a-z][a-z0-9+.-]*://)[^/\s\"']+@", re.IGNORECASE)
_URL_QUERY = re.compile(r"(?P<head>[?&;](?P<name>[^=&;\s]+)=)[^&;\s\"'#]+")
_BEARER = re.compile(r"(?P<head>\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)
_SHAPES = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}"
    r"|glpat-[A-Za-z0-9_-]{16,}|xox[abprs]-[A-Za-z0-9-]{10,}|nvapi-[A-Za-z0-9_-]{16,}|AKIA[A-Z0-9]{16}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+)"
)
_KEPT = re.compile(
    r"^(?:CUDA_|NCCL_|VLLM_|TORCH_|TORCHINDUCTOR_|RAY_|OMP_|MKL_|PYTORCH_|GLOO_|UCX_|SGLANG_|ACCELERATE_|DS_|SLURM_)"
    r"|^(?:HF_HOME|HF_HUB_OFFLINE|HF_HUB_CACHE|TRANSFORMERS_OFFLINE|TOKENIZERS_PARALLELISM|PYTHONUNBUFFERED|PYTHONPATH"
    r"|PYTHONHASHSEED|LD_LIBRARY_PATH|LD_PRELOAD|PATH|VIRTUAL_ENV|CONDA_PREFIX|RANK|LOCAL_RANK|WORLD_SIZE"
    r"|LOCAL_WORLD_SIZE|MASTER_ADDR|MASTER_PORT|TQDM_MININTERVAL|TMPDIR)$"
)


def is_secret_name(name: str) -> bool:
    """Whether what has that name is a secret: HF_TOKEN and --api-key are, max_token_len and eos_token are not."""
    if name in ("PWD", "OLDPWD"):  # the shell's working directory
        return False
    words = [word for word in re.split(r"[^a-z0-9]+", _CAMEL.sub("_", name).lower()) if word]
    if not words:
        return False
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last == "token":
        return before not in _VOCABULARY
    if last in ("pass", "pat"):
        return before in _PASSED_BY or before in ("github", "gitlab", "gh")
    if _ANYWHERE.intersection(words) or last.endswith(_ENDINGS):
        return True
    return (last == "key" and (not before or before in _KEYS)) or last in ("accesstoken", "authtoken", "sshpass")


def text(value: str, secrets: Iterable[str] = ()) -> str:
    """One string without what is given to a secret's name in it, credentials in URLs, token shapes, known values."""
    for secret in secrets:  # longest first: one may be part of another
        value = value.replace(secret, MASK)
    value = _URL_USER.sub(rf"\g<head>{MASK}@", value)
    value = _URL_QUERY.sub(_query, value)
    value = _BEARER.sub(rf"\g<head>{MASK}", value)
    for pattern in (_PAIR, _OPTION):
        value = _masked(value, pattern)
    return _SHAPES.sub(MASK, value)


def _query(found: re.Match[str]) -> str:
    name = found["name"]
    secret = is_secret_name(name) or name.lower().endswith(("sig", "signature"))
    return found["head"] + MASK if secret else found[0]


def _masked(value: str, pattern: re.Pattern[str]) -> str:
    parts, end = [], 0
    for begin, stop in _values(value, pattern):
        parts += [value[end:begin], MASK]
        end = stop
    return "".join([*parts, value[end:]])


def _values(value: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Where in the text a value stands behind a secret's name; a value may hold such a name itself."""
    found = pattern.search(value)
    while found is not None:
        end = found.end()
        if is_secret_name(found["name"]) and not value.startswith(MASK, end):
            end = _value_end(value, found)
            yield found.end(), end
        found = pattern.search(value, end)


def _value_end(value: str, found: re.Match[str]) -> int:
    """A quoted value ends with its quote, any other before the next blank or bracket."""
    quote = found["sep"][-1:]
    if quote in ("'", '"'):
        end = value.find(quote, found.end())
        return end if end >= 0 else len(value)
    plain = _VALUE.match(value, found.end())
    return plain.end() if plain else found.end()


def arguments(words: Iterable[str], secrets: Iterable[str] = ()) -> list[str]:
    """A command line: also `--token X`, `--token=X` and `api_key=X` lose their X."""
    known = list(secrets)
    return [
        word[: len(word) - len(secret)] + MASK if secret else text(word, known)
        for word, secret in _with_secrets(list(words))
    ]


def secret_arguments(words: Iterable[str]) -> set[str]:
    """The values that `arguments` would mask by their name, to mask them wherever else they stand."""
    known = list(words)
    found = {secret for _, secret in _with_secrets(known)}
    for word in known:
        for pattern in (_PAIR, _OPTION):
            found.update(word[begin:end] for begin, end in _values(word, pattern))
    return {secret for secret in found if len(secret) >= _SHORTEST}


def _with_secrets(words: list[str]) -> Iterator[tuple[str, str]]:
    """Each word with the part at its end that is a secret by the name before it; empty: none."""
    expected = False
    for word in words:
        name, equals, value = word.partition("=")
        if expected and word and not word.startswith("-"):
            yield word, word
        elif equals and _plain_name(name) and is_secret_name(name):
            yield word, value
        else:
            yield word, ""
        expected = word.startswith("-") and not equals and is_secret_name(word)


def _plain_name(name: str) -> bool:
    return not re.search(r"[\s\"'?&]", name)


def secret_values(environment: Mapping[str, str], more: Iterable[str] = ()) -> list[str]:
    """Values of variables with a secret's name, and `more`, longest first; without short ones."""
    values = {value for name, value in environment.items() if is_secret_name(name)} | set(more)
    return sorted((value for value in values if len(value) >= _SHORTEST), key=len, reverse=True)


def environment(variables: Mapping[str, str], secrets: Iterable[str] = ()) -> tuple[dict[str, str], list[str]]:
    """(name → value of the variables that may be written down, names of all others), both sorted by name."""
    known = list(secrets)
    kept = {
        name: text(value, known)
        for name, value in sorted(variables.items())
        if _KEPT.search(name) and not is_secret_name(name)
    }
    return kept, sorted(set(variables) - kept.keys())
