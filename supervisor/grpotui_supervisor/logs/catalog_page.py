"""Writes docs/metrics.md from the catalogue: `python -m grpotui_supervisor.logs.catalog_page > docs/metrics.md`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from grpotui_supervisor.logs.catalog import KEYS, OPEN_KEYS, SAME_AS
from grpotui_supervisor.logs.catalog_doubts import DOUBTS, Doubt
from grpotui_supervisor.logs.catalog_names import METRICS, OPEN_METRICS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grpotui_supervisor.logs.catalog_keys import Key, Keys

_HEAD = """# Metrics

Made from the catalogue by `python -m grpotui_supervisor.logs.catalog_page`; do not edit.

grpotui shows these names for every framework. The framework's own key stays available beside each. A metric that a
framework does not print is absent, never 0. There are three kinds of KL, and they stay three metrics.

| name | unit | good | meaning |
|---|---|---|---|
"""

_IN_EVENT_FILES = {
    "verl": "In a TensorBoard event file the tags are the same keys.\n\n",
    "trl": "In a TensorBoard event file `train/` stands before every key.\n\n",
}
"""Of the frameworks that are recognised there; the tags of any other are shown as they are."""

_GOOD = {"up": "up", "down": "down", "neither": "", "target": "in a band"}


def page() -> str:
    """The whole page."""
    names = (f"| `{m.name}` | {m.unit} | {_GOOD[m.good]} | {m.meaning} |" for m in (*METRICS, *OPEN_METRICS))
    frameworks = (_framework(name, table) for name, table in KEYS.items())
    return _HEAD + "\n".join(names) + "\n\n" + "\n".join(frameworks) + "\n" + _doubts()


def _framework(name: str, table: Keys) -> str:
    forks = sorted(fork for fork, origin in SAME_AS.items() if origin == name)
    also = f"Also for {', '.join(forks)}.\n\n" if forks else ""
    also += _IN_EVENT_FILES.get(name, "")
    rows = [f"| `{metric}` | {_cell(keys)} |" for metric, keys in table.items()]
    rows += [f"| `{after}<name>` | `{before}<name>` |" for before, after in OPEN_KEYS.get(name, ())]
    if name == "trl":
        rows.append("| `reward/part/<name>` | `rewards/<name>/mean` (0.17+), `rewards/<name>` (0.14-0.16) |")
    return f"## {name}\n\n{also}| name | its own key, the first one printed |\n|---|---|\n" + "\n".join(rows) + "\n"


def _cell(keys: Iterable[Key]) -> str:
    return ", ".join(_key(key) for key in keys)


def _key(key: Key) -> str:
    remarks = [remark for remark in (key.versions, key.note, f"in {key.unit}" if key.unit else "") if remark]
    return f"`{key.raw}`" + (f" ({'; '.join(remarks)})" if remarks else "")


def _doubts() -> str:
    rows = dict.fromkeys(f"| {d.framework} | `{d.metric}` | {_where(d)} | {d.reason} |" for d in DOUBTS)
    head = "## Known to be wrong\n\nShown as unreliable, with the reason.\n\n"
    return head + "| framework | name | where | why |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"


def _where(doubt: Doubt) -> str:
    if doubt.unknown_too:
        return "version unknown"
    parts = [f"from {doubt.since}" if doubt.since else "", f"before {doubt.before}" if doubt.before else ""]
    parts += [" or ".join(f"`{key}`" for key in doubt.when) + " is printed" if doubt.when else ""]
    parts += [" and ".join(f"`{key}`" for key in doubt.unless) + " not printed" if doubt.unless else ""]
    return ", ".join(part for part in parts if part) or "always"


if __name__ == "__main__":
    sys.stdout.write(page())
