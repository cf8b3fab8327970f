"""Placeholders in the words of a profile: `{python}`, `{profile_dir}` and so on become what they stand for.

Only the names below are placeholders. All other braces stay as they are, since hydra overrides are full of
them, and so does `${rank}`, which is an interpolation of hydra or of a shell.
"""

import re
from collections.abc import Mapping, Sequence

from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.model.excerpts import visible

NAMES = ("python", "grpotui_python", "profile_dir", "run_dir", "rank", "master_port", "wrapper")
"""The training interpreter's words, grpotui's own interpreter, the folder of the profile, the run directory,
this process's rank, the rendezvous port, and the words to put before a program to run it under the hook."""

_PLACEHOLDER = re.compile(r"(?<!\$)\{(" + "|".join(NAMES) + r")\}")


def expand(words: Sequence[str], values: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the words with each placeholder that has a value replaced; what was put in is not read again.

    A word that is nothing but a placeholder becomes all words of its value, also none.

    Raises:
        UsageError: a value that is not exactly one word stands inside a longer word.
    """
    for _, reason in misplaced(words, values):
        raise UsageError(reason, hint="Make the placeholder a word of its own.")
    return tuple(expanded for word in words for expanded in _expanded(word, values))


def misplaced(words: Sequence[str], values: Mapping[str, tuple[str, ...]]) -> tuple[tuple[int, str], ...]:
    """Return index and reason for each word that `expand` cannot fill in."""
    return tuple(
        (index, f"{{{name}}} stands for {_counted(values[name])} and cannot be a part of the word {word!r}")
        for index, word in enumerate(words)
        if not _PLACEHOLDER.fullmatch(word)
        for name in dict.fromkeys(_PLACEHOLDER.findall(word))
        if name in values and len(values[name]) != 1
    )


def _counted(value: tuple[str, ...]) -> str:
    return f"{len(value)} words ({visible(' '.join(value))})" if value else "no word here"


def _expanded(word: str, values: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    whole = _PLACEHOLDER.fullmatch(word)
    if whole and whole[1] in values:
        return values[whole[1]]
    return (_PLACEHOLDER.sub(lambda found: values.get(found[1], (found[0],))[0], word),)
