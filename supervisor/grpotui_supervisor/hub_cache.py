"""Hugging Face's cache on disk: which models and data sets are in it, without a question to the network.

Places: `huggingface_hub` and `datasets` (HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME); a repository is
`models--owner--name/snapshots/<commit>/…`, and the commit that a branch means stands in `refs/<branch>`.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Kind = Literal["models", "datasets"]

_NAME: Final = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)?")
_BRANCH: Final = "main"


def is_name(word: str) -> bool:
    """Whether a word has the form of a repository's name: `owner/name`, or `name` of the old ones."""
    return _NAME.fullmatch(word) is not None


def folder(environment: Mapping[str, str]) -> str:
    """Where the hub's repositories lie."""
    if found := environment.get("HF_HUB_CACHE") or environment.get("HUGGINGFACE_HUB_CACHE"):
        return os.path.expanduser(found)
    return os.path.join(home(environment), "hub")


def home(environment: Mapping[str, str]) -> str:
    """Hugging Face's own folder."""
    if found := environment.get("HF_HOME"):
        return os.path.expanduser(found)
    caches = environment.get("XDG_CACHE_HOME") or os.path.join(environment.get("HOME", "~"), ".cache")
    return os.path.join(os.path.expanduser(caches), "huggingface")


def snapshot(environment: Mapping[str, str], kind: Kind, name: str) -> str | None:
    """The folder of a repository's files as its main branch was when it was fetched; None: it is not there."""
    if not is_name(name):
        return None
    top = os.path.join(folder(environment), f"{kind}--{name.replace('/', '--')}")
    commit = _line(os.path.join(top, "refs", _BRANCH))
    found = None if commit is None else os.path.join(top, "snapshots", commit)
    return found if found is not None and os.path.isdir(found) else _only(os.path.join(top, "snapshots"))


def _line(path: str) -> str | None:
    try:
        with open(path, encoding="ascii") as file:
            found = file.read(100).strip()
    except (OSError, ValueError):
        return None
    return found if found.isalnum() else None


def _only(folder: str) -> str | None:
    """Its one subfolder: which of several is meant is not known."""
    try:
        found = os.listdir(folder)
    except OSError:
        return None
    return os.path.join(folder, found[0]) if len(found) == 1 else None
