"""What is known of one device, as labelled lines. Three readings of its memory stay apart, and none is called free."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from grpotui.gpu_words import return_lines, word_lines, xid_words
from grpotui.text import duration, engine_line, member_word, size
from grpotui_supervisor.model.gpu import tolerance

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from grpotui.tui.panels.facts import Fact

OLD_S: Final = 15.0
"""An unchanged reading is written again after 10 s; one that is older than this is not of now."""
_KINDS: Final = {"v1": ", with what the driver reserves", "lists": ", the sum of its processes"}
_TOLD: Final = (
    ("utilization_percent", "busy", "{} %"),
    ("power_w", "power", "{:.0f} W"),
    ("temperature_c", "temperature", "{} °C"),
)
_XIDS: Final = 5
_ENGINES: Final = 4


def device_facts(gpu: Mapping[str, Any], document: Mapping[str, Any]) -> list[Fact]:
    """The most telling first."""
    return [
        *_return(gpu, document),
        *_driver(gpu),
        *_torch(gpu, document),
        *_condition(gpu),
        *_faults(gpu),
        *_growth(gpu, document),
        ("device", _identity(gpu), "label"),
        ("uuid", gpu["uuid"] or "not told", "label"),
    ]


def machine_facts(document: Mapping[str, Any]) -> list[Fact]:
    """The rollout engines, and the memory of the host."""
    return [*_engines(document), *_host(document)]


def return_word(gpu: Mapping[str, Any]) -> tuple[str, str]:
    """Whether its memory is back, in a word or two, with its role; empty while nobody can say."""
    if gpu["returned"] is None:
        return "", "label"
    if gpu["returned"]:
        return f"back after {gpu['returned_s']:.2g} s", "good"
    return ("NOT back" if gpu["final"] else "still releasing"), "critical" if gpu["final"] else "warning"


def _return(gpu: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[Fact]:
    if gpu["returned"] is False:
        yield from (("return", line, "critical" if gpu["final"] else "warning") for line in word_lines([gpu]))
    elif gpu["returned"] or document["state"] == "ended":
        only = {**document, "gpus": [gpu]}
        yield from (("return", line, "good" if gpu["returned"] else "label") for line in return_lines(only))


def _driver(gpu: Mapping[str, Any]) -> Iterator[Fact]:
    used, total, base = gpu["used_bytes"], gpu["total_bytes"], gpu["baseline_bytes"]
    if gpu["unavailable"] is not None:
        yield "driver", str(gpu["unavailable"]), "warning"
    if used is None:
        return
    of = "" if not total else f" of {size(total)}, {used / total:.0%}"
    above = "; no idle baseline" if base is None else f"; {_signed(used - base)} over its idle {size(base)}"
    yield "driver: device", f"{size(used)}{of}{_KINDS.get(gpu['kind'], '')}{above}", "value"
    processes, loose = gpu["processes"], gpu["unattributed_bytes"]
    if processes is None:
        yield "driver: lists", f"not read: {gpu['processes_reason']}", "label"
        return
    count = f"{len(processes)} process{'' if len(processes) == 1 else 'es'} listed"
    nobody = "" if loose is None else f"; {_signed(loose)} of nobody listed"
    odd = loose is not None and loose > tolerance(total)
    yield "driver: lists", f"{count}{nobody}", "warning" if odd else "title"


def _signed(count: int) -> str:
    return f"-{size(-count)}" if count < 0 else f"+{size(count)}" if count else size(0)


def _torch(gpu: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[Fact]:
    """Of the processes that are listed on it, and of the log's lines of their members."""
    listed = {process["pid"]: process for process in gpu["processes"] or ()}
    for one in document.get("torch_memory", ()):
        if one["pid"] in listed:
            age = "" if one["age_s"] is None else f", {duration(one['age_s'])} ago"
            text = (
                f"allocated {size(one['allocated_bytes'])} (most {size(one['max_allocated_bytes'])}), "
                f"reserved {size(one['reserved_bytes'])} (most {size(one['max_reserved_bytes'])}){age}"
            )
            yield f"torch: {member_word(one['member'])}", text, "title"
    members = {process["member"] for process in listed.values()} - {None}
    newest = {line["member"]: line for line in document.get("memory_lines", ()) if line["member"] in members}
    for line in newest.values():
        text = f"allocated {size(line['allocated_bytes'])}, reserved {size(line['reserved_bytes'])} at {line['label']}"
        yield f"log: {member_word(line['member'])}", text, "title"


def _condition(gpu: Mapping[str, Any]) -> Iterator[Fact]:
    """What it does, and what of that it does not tell."""
    told = [f"{word} {form.format(gpu[name])}" for name, word, form in _TOLD if gpu[name] is not None]
    if told:
        yield "condition", " · ".join(told), "title"
    if gpu["slowed"]:
        yield "slowed", f"by {' and '.join(gpu['slowed'])}", "warning"
    for field, reason in gpu["absent"].items():
        yield "not told", f"{field}: {reason}", "label"
    age = gpu["sample_age_s"]
    if age is not None:
        yield "reading", f"{duration(age)} old", "warning" if age > OLD_S else "label"


def _faults(gpu: Mapping[str, Any]) -> Iterator[Fact]:
    for one in gpu["xids"][-_XIDS:]:
        age = "" if one["age_s"] is None else f", {duration(one['age_s'])} ago"
        yield (
            "fault",
            f"{xid_words(one['xid'], one['name'])}{age}",
            "label" if one["severity"] == "note" else "critical",
        )


def _growth(gpu: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[Fact]:
    for one in document.get("growth", ()):
        if one["gpu"] == gpu["gpu"]:
            where = f" in {one['phase']}" if one["phase"] else ""
            full = (
                "" if one["steps_until_full"] is None else f"; full in {one['steps_until_full']:,} steps at that rate"
            )
            text = (
                f"{size(one['slope_bytes_per_step'])} a step{where} ({one['reading']}, "
                f"steps {one['from_step']} to {one['to_step']}){full}"
            )
            yield "grows", text, "warning"
    for one in document.get("after_sleep", ()):
        if one["gpu"] == gpu["gpu"]:
            text = (
                f"least in use in updates: {size(one['first_bytes'])} at first, {size(one['last_bytes'])} now, "
                f"{one['steps']} steps later"
            )
            yield "after sleep", text, "title"


def _identity(gpu: Mapping[str, Any]) -> str:
    whose = "" if gpu["in_run"] else " · not of this run"
    reserved = "" if gpu["reserved_bytes"] is None else f" · the driver reserves {size(gpu['reserved_bytes'])}"
    return f"{gpu['name'] or 'unnamed'}{reserved}{whose}"


def _engines(document: Mapping[str, Any]) -> Iterator[Fact]:
    engines = document.get("engines") or _logged_engine(document)
    for engine in engines[:_ENGINES]:
        yield "rollout", engine_line(engine), "title"
    if len(engines) > _ENGINES:
        yield "rollout", f"and {len(engines) - _ENGINES} engines more", "label"


def _logged_engine(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A bare log tells of its engine among the other metrics."""
    told = {name: value for name, value in document["metrics"].items() if name.startswith("engine/")}
    return [{"engine": "in this log", "metrics": told, "age_s": None}] if told and document["run"] is None else []


def _host(document: Mapping[str, Any]) -> Iterator[Fact]:
    host = document.get("host")
    if host is None:
        return
    yield (
        "host memory",
        f"{size(host['memory_available_bytes'])} available of {size(host['memory_total_bytes'])}",
        "title",
    )
    if host["swap_total_bytes"]:
        yield "swap", f"{size(host['swap_free_bytes'])} free of {size(host['swap_total_bytes'])}", "title"
    if host["shm_total_bytes"] is not None:
        yield "shared memory", f"{size(host['shm_used_bytes'])} used of {size(host['shm_total_bytes'])}", "title"
    yield from _cgroup(host)


def _cgroup(host: Mapping[str, Any]) -> Iterator[Fact]:
    cgroup = host["cgroup"]
    if cgroup is None:
        yield "cgroup", f"not read: {host['cgroup_unavailable']}", "label"
        return
    parts = [
        f"{name.removesuffix('_bytes').replace('_', ' ')} {size(value)}"
        for name, value in cgroup.items()
        if name.endswith("_bytes") and value is not None
    ]
    yield "cgroup", " · ".join(parts) or "no limit is told", "title"
