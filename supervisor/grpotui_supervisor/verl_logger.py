"""verl's own `file` logger, added to a verl job at launch: one JSON line a step, with all digits.

Hydra takes the last word for a key, so the loggers that the job has already are said again with `file` behind them.
Whatever is not known for sure leaves the job as it is, with the reason.
"""

from __future__ import annotations

import functools
import re
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PATH_VARIABLE: Final = "VERL_FILE_LOGGER_PATH"
"""Where the logger writes; it empties the file first, and falls back on a path of its own without this."""

_SECONDS = 20.0
_ASK = "import importlib.metadata as m; print('verl==' + m.version('verl'))"
_ANSWER = re.compile(r"^verl==(\d+)\.(\d+)(?:\.(\d+))?(\S*)$", re.MULTILINE)
_WORD = re.compile(r"(\+{0,2})trainer\.logger=(.*)", re.DOTALL)
_NAME = re.compile(r"\s*(['\"]?)([a-z_]+)\1\s*")
_STOCK = ("console", "wandb")
"""What `verl.trainer.main_ppo` has where nothing else is said, in 0.7.1 and in 0.9.1."""
_OTHER_CONFIG = ("--config-name", "--config-path", "--config-dir", "-cn", "-cp", "-cd")


@dataclass(frozen=True, slots=True)
class Addition:
    """What is put behind the job's words and into its environment; else why nothing is."""

    words: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    refused: str | None = None


def addition(
    argv: Sequence[str], environment: Mapping[str, str], *, python: tuple[str, ...], cwd: str, path: str
) -> Addition:
    """Adds the logger, writing to `path`, to a job with these words, whose interpreter is `python`."""
    if PATH_VARIABLE in environment:
        return Addition(refused=f"{PATH_VARIABLE} is set already, and its file is not ours")
    if not _starts_with_interpreter(argv, python):
        return Addition(refused="argv does not name {python}, so which verl it runs cannot be found out")
    loggers, plus = _loggers(argv)
    if isinstance(loggers, str):
        return Addition(refused=loggers)
    reason = _unfit(_version(python, cwd, tuple(sorted(environment.items()))))
    if reason is not None:
        return Addition(refused=reason)
    names = ",".join(f'"{name}"' for name in (*loggers, "file"))
    words = () if "file" in loggers else (f"{plus}trainer.logger=[{names}]",)
    return Addition(words, {PATH_VARIABLE: path})


def _starts_with_interpreter(argv: Sequence[str], python: tuple[str, ...]) -> bool:
    size = len(python)
    return any(tuple(argv[at : at + size]) == python for at in range(len(argv)))


def _loggers(argv: Sequence[str]) -> tuple[tuple[str, ...] | str, str]:
    """The job's loggers, or why they are not known; and the pluses in front of the key."""
    if any(word.startswith("~trainer.logger") for word in argv):
        return "argv deletes trainer.logger", ""
    said = [found for word in argv if (found := _WORD.fullmatch(word))]
    if said:
        names = _names(said[-1][2])
        # Hydra refuses a second `+` for the same key, and takes `++` for a new one as for one that is there.
        return (f"trainer.logger={said[-1][2]} is no list of names", "") if names is None else (names, "++")
    if "verl.trainer.main_ppo" in argv and not any(word.split("=")[0] in _OTHER_CONFIG for word in argv):
        return _STOCK, ""
    return "argv does not set trainer.logger, and what the job's configuration has is not known", ""


def _names(value: str) -> tuple[str, ...] | None:
    listed = value.strip()
    inner = listed[1:-1] if listed.startswith("[") and listed.endswith("]") else listed
    found = [_NAME.fullmatch(part) for part in inner.split(",")] if inner.strip() else []
    names = tuple(match[2] for match in found if match is not None)
    return names if len(names) == len(found) else None


@functools.cache  # a launch asks twice: before the run directory is made, and with it
def _version(python: tuple[str, ...], cwd: str, environment: tuple[tuple[str, str], ...]) -> tuple[int, ...] | str:
    """Of the verl that a fresh process of the interpreter finds, which does not import it; or why it is not known.

    A version before a release (`0.7.1.dev0`) counts as the release before it.
    """
    command = [*python, "-c", _ASK]
    try:
        done = subprocess.run(
            command, cwd=cwd, env=dict(environment), stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", timeout=_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"{python[0]} did not tell the version of verl within {_SECONDS:g} s"
    except OSError as error:
        return f"{python[0]} could not be started to tell the version of verl: {error.strerror}"
    found = _ANSWER.search(done.stdout)
    if found is None:
        return f"{python[0]} does not know an installed verl, so its version cannot be found out"
    early = re.match(r"[.-]?(dev|a|b|rc)", found[4]) is not None
    return int(found[1]), int(found[2]), int(found[3] or 0), 0 if early else 1


def _unfit(version: tuple[int, ...] | str) -> str | None:
    if isinstance(version, str):
        return version
    spelled = ".".join(map(str, version[:3])) + ("" if version[3] else " (before its release)")
    if version < (0, 6):
        return f"verl {spelled} has no file logger; it came with 0.6.0"
    if version < (0, 7, 1, 1):
        return f"the file logger of verl {spelled} ends the job at the first numpy number; 0.7.1 does not"
    return None
