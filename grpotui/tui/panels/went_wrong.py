"""What went wrong, as of a frame: findings of the rules, bad ends of members, leftovers, devices that are not back."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, Final

from grpotui.gpu_words import word_lines, xid_words
from grpotui.leftover_text import leftover_line
from grpotui.text import duration, ending, member_name, member_word, oom_line
from grpotui.tui.palette import severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grpotui.tui.cells import Run
    from grpotui.tui.feed.feed import Feed
    from grpotui.tui.feed.frame import Frame
    from grpotui.tui.panels.facts import Fact


_GRADES: Final = ("critical", "warning", "info")


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that went wrong."""

    severity: str
    name: str
    evidence: str
    step: int | None = None
    moment: int | None = None
    """Of the run's clock; None where the cursor cannot go there."""
    offset_s: float | None = None
    cleared_s: float | None = None
    facts: tuple[Fact, ...] = ()
    limit: str = ""
    """What the evidence was held against; of a rule."""

    @property
    def identity(self) -> tuple[str, int | None, str]:
        """What it is known by from one frame to the next."""
        return self.name, self.moment, self.evidence if self.moment is None else ""


def counts(items: Sequence[Item]) -> list[Run]:
    """How many of each severity: `✖ 1  ▲ 2`."""
    parts: list[Run] = []
    for name in _GRADES:
        count = sum(item.severity == name for item in items)
        if count:
            glyph, _, role = severity(name)
            parts.append((f"{'  ' if parts else ''}{glyph} {count}", role))
    return parts


def items_of(feed: Feed, frame: Frame) -> list[Item]:
    """What is known as of the frame: what stands first, the worst of it first, and a cause before what it led to."""
    start = _start(frame)
    document = frame.document
    found = [*_raised(feed, start), *_ends(document, start), *_devices(document), *_leftovers(frame)]
    return sorted(found, key=_place)


def _place(item: Item) -> tuple[bool, int, float]:
    grade = _GRADES.index(item.severity) if item.severity in _GRADES else len(_GRADES)
    return item.cleared_s is not None, grade, inf if item.offset_s is None else item.offset_s


def _start(frame: Frame) -> int | None:
    """The moment that offsets count from: the cursor's own, less its offset."""
    known = frame.document.get("as_of") or {}
    offset, moment = known.get("offset_s"), known.get("m")
    return None if offset is None or moment is None else int(moment) - round(offset * 1e9)


def _raised(feed: Feed, start: int | None) -> Iterator[Item]:
    for one in feed.raised():
        found = one.finding
        began = None if start is None else (one.raised_m - start) / 1e9
        cleared = None if start is None or one.cleared_m is None else (one.cleared_m - start) / 1e9
        yield Item(
            str(found.severity), str(found.id), str(found.evidence), found.step, one.raised_m, began, cleared,
            _known(
                ("seen", str(found.evidence), "value"),
                ("limit", str(found.threshold), "title"),
                ("next", str(found.next), "info"),
                ("member", "" if found.member is None else member_word(str(found.member)), "title"),
                ("step", "" if found.step is None else str(found.step), "title"),
                ("raised", "" if began is None else f"+{duration(began)} after the start", "title"),
                ("cleared", "no: it stands" if one.cleared_m is None else _cleared(cleared), "title"),
            ),
            str(found.threshold),
        )  # fmt: skip


def _cleared(at: float | None) -> str:
    return "yes" if at is None else f"+{duration(at)} after the start: it no longer holds"


def _ends(document: Mapping[str, Any], start: int | None) -> Iterator[Item]:
    """Members that ended otherwise than with code 0, or whose end nobody saw."""
    first = document.get("first_failure") or {}
    for member in document["ranks"]:
        state = member["state"]
        if state not in ("exited", "killed", "failed_to_start", "lost") or member.get("code") == 0:
            continue
        name, words, sent = member_name(member), ending(member), " ".join(member["sent"])
        why = f" (grpotui had sent {sent})" if sent else ""
        at = member["ended_offset_s"]
        moment = None if at is None or start is None else start + round(at * 1e9)
        is_first = member["member"] == first.get("member")
        yield Item(
            "critical" if state != "lost" and not sent else "warning",
            f"{name} {'not started' if state == 'failed_to_start' else 'ended'}", f"{words}{why}", None, moment, at,
            None,
            _known(
                ("seen", f"{name} {words}", "value"),
                ("order", _order(first) if is_first else "", "critical"),
                ("sent", f"grpotui had sent it {sent}" if sent else "grpotui had sent it nothing", "title"),
                ("memory", "" if member["oom"] is None else oom_line(member), "warning"),
                ("pid", "" if member["pid"] is None else str(member["pid"]), "title"),
                ("doing", member["phase"] or "", "title"),
                ("at", "" if at is None else f"+{duration(at)} after the start", "title"),
                ("next", "its last lines: page 2; all of its lines: page 5", "info"),
            ),
        )  # fmt: skip


def _order(first: Mapping[str, Any]) -> str:
    before = first.get("seconds_before_next")
    return "the first failure" + ("" if before is None else f", {before:.3g} s before the next end")


def _devices(document: Mapping[str, Any]) -> Iterator[Item]:
    """Those that did not come back, and what the driver reported."""
    for gpu in document["gpus"]:
        for line in word_lines([gpu]):
            yield Item("warning", f"GPU {gpu['gpu']} not back", line, facts=(("seen", line, "value"), _PAGE_3))
        for one in gpu["xids"]:
            words = f"GPU {gpu['gpu']}: {xid_words(one['xid'], one['name'])}"
            now, age = (document.get("as_of") or {}).get("offset_s"), one["age_s"]
            at = None if now is None or age is None else now - age
            grade = {"job": "critical", "gpu": "critical"}.get(str(one["severity"]), "info")
            yield Item(grade, f"Xid {one['xid']}", words, offset_s=at, facts=(("seen", words, "value"), _PAGE_3))


_PAGE_3: Fact = ("next", "who is on it, and its memory over the run: page 3", "info")


def _leftovers(frame: Frame) -> Iterator[Item]:
    for one in frame.document.get("leftovers") or ():
        line = leftover_line(one)
        command = f"grpotui stop --leftovers {frame.document['run']}, or page 2"
        ends = ("next", command if frame.kind == "live" else "what became of it later: move the cursor on", "info")
        yield Item("warning", "left behind", line, facts=(("seen", line, "value"), ends))


def _known(*facts: Fact) -> tuple[Fact, ...]:
    """Those that say anything."""
    return tuple(fact for fact in facts if fact[1])
