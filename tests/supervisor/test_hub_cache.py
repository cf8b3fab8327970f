"""Hugging Face's cache, found by its variables and read without its library."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from grpotui_supervisor import hub_cache

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({"HOME": "/h"}, "/h/.cache/huggingface/hub"),
        ({"HOME": "/h", "XDG_CACHE_HOME": "/x"}, "/x/huggingface/hub"),
        ({"HOME": "/h", "HF_HOME": "/f"}, "/f/hub"),
        ({"HF_HOME": "/f", "HUGGINGFACE_HUB_CACHE": "/old"}, "/old"),
        ({"HF_HOME": "/f", "HF_HUB_CACHE": "/c", "HUGGINGFACE_HUB_CACHE": "/old"}, "/c"),
    ],
)
def test_where_it_lies(env: dict[str, str], folder: str) -> None:
    assert hub_cache.folder(env) == folder


@pytest.mark.parametrize("word", ["gpt2", "Qwen/Qwen3-1.7B", "a/b.c_d"])
def test_names(word: str) -> None:
    assert hub_cache.is_name(word)


@pytest.mark.parametrize("word", ["", "/abs/path", "a/b/c", "../x", "a b", "a/", "./a", "a\n"])
def test_words_that_are_no_names(word: str, tmp_path: Path) -> None:
    assert not hub_cache.is_name(word)
    assert hub_cache.snapshot({"HF_HOME": str(tmp_path)}, "models", word) is None


def test_the_snapshot_of_the_main_branch(tmp_path: Path) -> None:
    top, env = tmp_path / "hub/datasets--o--n", {"HF_HOME": str(tmp_path)}
    assert hub_cache.snapshot(env, "datasets", "o/n") is None
    (top / "snapshots/one").mkdir(parents=True)
    assert hub_cache.snapshot(env, "datasets", "o/n") == str(top / "snapshots/one")
    (top / "snapshots/two").mkdir()
    assert hub_cache.snapshot(env, "datasets", "o/n") is None  # which of them is meant is not told
    (top / "refs").mkdir()
    (top / "refs/main").write_text("two\n")
    assert hub_cache.snapshot(env, "datasets", "o/n") == str(top / "snapshots/two")
    (top / "refs/main").write_text("../../..")
    assert hub_cache.snapshot(env, "datasets", "o/n") is None
