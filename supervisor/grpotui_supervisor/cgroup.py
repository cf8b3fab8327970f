"""The memory cgroup of a process: use, limit, and how many of its processes the kernel has killed for want of memory.

Version 2 (https://docs.kernel.org/admin-guide/cgroup-v2.html, "Memory Interface Files") and version 1
(https://docs.kernel.org/admin-guide/cgroup-v1/memory.html). Paths are those that can be seen from here: in a container
the tree begins at its own cgroup, so a limit above that is not known. A file that is missing is None, never 0.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

Version = Literal["v1", "v2"]

_UNLIMITED: Final = 1 << 62
"""Version 1 tells no limit as the largest multiple of a page that a signed word holds."""


@dataclass(frozen=True, slots=True)
class Place:
    """A memory cgroup: the folder with its files, and the one in which its tree begins."""

    version: Version
    folder: str
    top: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What is read of a memory cgroup; None: its kernel, or its place in the tree, does not tell."""

    current_bytes: int | None
    """With the page cache of its processes."""
    limit_bytes: int | None
    """The lowest one up the tree; None: there is none that can be seen."""
    oom_kills: int | None
    """Processes of it that the OOM killer has killed, in version 2 with those of the cgroups below."""
    oom_events: int | None
    """How often it was at its limit and an allocation was about to fail; version 2 only."""


class _Files(NamedTuple):
    current: str
    limit: str
    events: str


_FILES: Final = {
    "v2": _Files("memory.current", "memory.max", "memory.events"),
    "v1": _Files("memory.usage_in_bytes", "memory.limit_in_bytes", "memory.oom_control"),
}


def find(pid: int, *, root: str = "/") -> Place | str:
    """The memory cgroup that a process is accounted in, or why none can be told.

    Where memory is not accounted in the cgroup itself it is in the next one above. `root`: where /proc and /sys lie.
    """
    lines = _read(os.path.join(root, f"proc/{pid}/cgroup"))
    if lines is None:
        return "its cgroup cannot be read"
    found = _named(lines)
    if found is None:
        return "it is in no memory cgroup"
    version, path = found
    mount = _mount(root, version)
    if mount is None:
        return f"the {version} memory cgroups are not mounted"
    inside = _inside(path, mount.root)
    top = os.path.join(root, mount.point.lstrip("/"))
    folder = None if inside is None else _accounted(top, inside, _FILES[version].current)
    return "its memory cgroup cannot be seen from here" if folder is None else Place(version, folder, top)


def read(place: Place) -> Usage | None:
    """None: the cgroup is gone."""
    names = _FILES[place.version]
    if not os.path.isdir(place.folder):
        return None
    events = _pairs(os.path.join(place.folder, names.events))
    return Usage(
        current_bytes=_number(os.path.join(place.folder, names.current)),
        limit_bytes=min(
            (known for each in _upwards(place) if (known := _limit(each, names)) is not None), default=None
        ),
        oom_kills=events.get("oom_kill"),
        oom_events=events.get("oom"),
    )


def _named(lines: str) -> tuple[Version, str] | None:
    """Version and path as /proc/PID/cgroup names them: `4:memory:/job`, or `0::/job`."""
    unified: tuple[Version, str] | None = None
    for line in lines.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if "memory" in controllers.split(","):
            return "v1", path
        if number == "0" and not controllers:
            unified = "v2", path
    return unified


class _Mount(NamedTuple):
    root: str
    """The cgroup that the mount begins at."""
    point: str


def _mount(root: str, version: Version) -> _Mount | None:
    """The first mount of that hierarchy (proc(5), /proc/PID/mountinfo)."""
    for line in (_read(os.path.join(root, "proc/self/mountinfo")) or "").splitlines():
        place, _, kind = line.partition(" - ")
        fields, kinds = place.split(), kind.split()
        if len(fields) < 5 or len(kinds) < 3:
            continue
        fits = kinds[0] == "cgroup2" if version == "v2" else kinds[0] == "cgroup" and "memory" in kinds[2].split(",")
        if fits:
            return _Mount(fields[3], fields[4])
    return None


def _inside(path: str, mounted: str) -> str | None:
    """A cgroup below a mount's point; None where the mount does not reach it."""
    if mounted in (path, "/"):
        return None if path.startswith("/..") else path.removeprefix(mounted).strip("/")
    return path[len(mounted) :].strip("/") if path.startswith(mounted + "/") else None


def _accounted(top: str, inside: str, current: str) -> str | None:
    """The nearest folder, from the cgroup upwards, in which memory is accounted."""
    parts = [part for part in inside.split("/") if part]
    for count in range(len(parts), -1, -1):
        folder = os.path.join(top, *parts[:count])
        if os.path.isfile(os.path.join(folder, current)):
            return folder
    return None


def _upwards(place: Place) -> list[str]:
    folders = [place.folder]
    while folders[-1] != place.top and len(folders[-1]) > len(place.top):
        folders.append(os.path.dirname(folders[-1]))
    return folders


def _limit(folder: str, names: _Files) -> int | None:
    found = _number(os.path.join(folder, names.limit))
    return None if found is None or found >= _UNLIMITED else found


def _number(path: str) -> int | None:
    text = (_read(path) or "").strip()
    return int(text) if text.isascii() and text.isdigit() else None


def _pairs(path: str) -> dict[str, int]:
    """`oom_kill 3`, one a line."""
    pairs = (line.split() for line in (_read(path) or "").splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isascii() and pair[1].isdigit()}


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return None
