"""Which process and stream a log is of, from the names of all logs that were given. Pure: names only."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

_STREAMS = {"out": "stdout", "stdout": "stdout", "err": "stderr", "stderr": "stderr"}
_RANK = re.compile(r"(?:^|[^a-z])(?:rank|worker)[_.-]?([0-9]{1,6})(?![0-9])", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]{1,6}")
_PACKED = re.compile(r"\.(?:gz|zst)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPlace:
    """One log's place in the run."""

    path: str
    member: str
    rank: int | None
    """None where the names do not tell."""
    stream: str
    """`stdout` or `stderr`."""


class _Name(NamedTuple):
    folder: str
    stem: str
    """Without the word for the stream."""
    stream: str | None
    rank: int | None


def places(paths: Iterable[str]) -> list[LogPlace]:
    """A place for each log, in the given order.

    `X.out` and `X.err` of one folder, or `stdout.log` and `stderr.log`, are the two streams of one process; any other
    log is a process of its own. `rank_R.log` and torchrun's `R/stdout.log` are rank R's, where all logs tell a rank,
    each its own. Members without a rank are `log` when there is one, else `log-0`, `log-1`, ….
    """
    names = {path: _name(path) for path in paths}
    owners = {path: _owner(path, names) for path in names}
    order = list(dict.fromkeys(owners.values()))
    ranks = {owners[path]: name.rank for path, name in names.items()}
    are_ranks = None not in ranks.values() and len(set(ranks.values())) == len(order)

    def place(path: str) -> LogPlace:
        owner = owners[path]
        rank = ranks[owner] if are_ranks else None
        plain = "log" if len(order) == 1 else f"log-{order.index(owner)}"
        stream = names[path].stream if owner != (path, "") else None
        return LogPlace(path=path, member=plain if rank is None else str(rank), rank=rank, stream=stream or "stdout")

    return [place(path) for path in names]


def _owner(path: str, names: dict[str, _Name]) -> tuple[str, str]:
    """What the two streams of one process share; a log that is no stream of a pair has its path to itself."""
    own = names[path]
    streams = [name.stream for name in names.values() if (name.folder, name.stem) == (own.folder, own.stem)]
    return (own.folder, own.stem) if sorted(map(str, streams)) == ["stderr", "stdout"] else (path, "")


def _name(path: str) -> _Name:
    folder, _, base = path.rpartition("/")
    base = _PACKED.sub("", base)
    stem, _, word = base.removesuffix(".log").rpartition(".")
    stream = _STREAMS.get(word)
    stem = stem if stream else base
    numbered = _RANK.search(stem)
    if numbered:
        return _Name(folder, stem, stream, int(numbered[1]))
    above = folder.rpartition("/")[2]
    return _Name(folder, stem, stream, int(above) if stream and not stem and _NUMBER.fullmatch(above) else None)
