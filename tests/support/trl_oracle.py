"""A slow and obvious reader of what our own TRL runs print, to compare every number and every step with.

It holds the whole log, looks at one line after the other, and reads a dict with `eval`. It knows the five places from
which a step can come, but nothing of blocks, wrapped copies, foreign dictionaries or hostile text.
"""

import math
import re
from itertools import pairwise
from typing import NamedTuple

from support.log_oracle import Rows

UNKNOWN = -1
_BAR = re.compile(r"(?:\[default\d+\]:)?\s*\d+%\|[^|]*\| (\d+)/(\d+) \[")
_TITLE = re.compile(r"╭─+ Step (\d+) ─+╮")
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Event(NamedTuple):
    kind: str  # "record", "evaluation", "end", "bar", "title"
    values: dict[str, float]
    number: int


def events(data: bytes) -> list[Event]:
    text = _ESCAPE.sub("", data.decode("utf-8", "replace")).replace("\r", "\n")
    found = []
    for line in text.split("\n")[:-1]:
        if bar := _BAR.match(line):
            found.append(Event("bar", {}, int(bar[1])))
        for start, kind in (("{'loss'", "record"), ("{'eval_", "evaluation"), ("{'train_runtime'", "end")):
            if start in line:
                found.append(Event(kind, numbers(line[line.index(start) : line.index("}") + 1]), 0))
        if title := _TITLE.search(line):
            found.append(Event("title", {}, int(title[1])))
    return found


def numbers(body: str) -> dict[str, float]:
    values = eval(body, {"__builtins__": {}}, {"nan": math.nan, "inf": math.inf})  # our own runs
    return {key.replace("eval_", "val/"): float(value) for key, value in values.items() if value is not None}


def trl_rows(data: bytes, every: int | None = None) -> Rows:
    """Rows of a log in one stream. With bars in it, they are in order unless two dicts come without one between."""
    found = events(data)
    told = [event.kind for event in found]
    dicts = {"record", "evaluation", "end"}
    bars = "bar" in told
    ordered = bars and not any(a in dicts and b in dicts for a, b in pairwise(told))
    rows: dict[int, dict[str, float]] = {}
    unknown = []
    count = 0
    last_epoch = math.nan
    for place, event in enumerate(found):
        if event.kind not in {"record", "evaluation"}:
            continue
        count += event.kind == "record"
        step = count * every if every else UNKNOWN
        if event.kind == "evaluation" and not ordered and event.values["epoch"] != last_epoch:
            step = UNKNOWN
        if event.kind == "record":
            last_epoch = event.values["epoch"]
        after = found[place + 1] if place + 1 < len(found) else None
        if after and (after.kind == "title" or (ordered and after.kind == "bar")):
            step = after.number
        if step == UNKNOWN:
            unknown.append(len(rows))
            rows[-len(rows) - 2] = dict(event.values)
        else:
            rows.setdefault(step, {}).update(event.values)
    return [(max(step, UNKNOWN), row) for step, row in rows.items()]
