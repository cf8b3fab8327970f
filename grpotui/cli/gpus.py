"""`grpotui gpus`."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

import click

from grpotui.cli.options import examples, json_option
from grpotui.output import say
from grpotui.text import inert, size, table
from grpotui_supervisor import rundir
from grpotui_supervisor.gpu_usage import usage
from grpotui_supervisor.model.gpu import tolerance

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

SCHEMA = 1
_NAME = 26
"""Columns of a device's name: `H100 80GB HBM3 MIG 1g.10gb`."""
_PROCESS = 22
_USER = 12
_STAMP = re.compile(r"-\d{8}-\d{6}-")
_DRIVERS_OWN = 1536 << 20
"""By memory info v1, so much may be the driver's own."""
_EXAMPLES = examples("grpotui gpus", "grpotui gpus --json | jq '.gpus[] | select(.state != \"idle\") | .evidence'")


@click.command(epilog=_EXAMPLES)
@json_option
def command(*, as_json: bool) -> int:
    """Show every GPU of this machine: whether it is idle, who holds it, and for which run.

    Works without any run. The exit code is 1 where the GPUs cannot be read.
    """
    document, reason = usage(rundir.root(os.environ))
    if as_json:
        click.echo(json.dumps({"schema": SCHEMA, **document}))
    elif reason is None:
        click.echo("\n".join(_lines(document)))
    if reason is None:
        return 0
    say(f"grpotui: the GPUs cannot be read: {reason}\n  {reason.hint or _next_step()}")
    return 1


def _next_step() -> str:
    if os.path.exists("/.dockerenv") or os.path.exists("/run/.containerenv"):
        return "in a container: start it with its GPUs (docker run --gpus all); outside, see whether nvidia-smi works"
    return "see whether nvidia-smi works; if it does, its libnvidia-ml.so.1 is not on this command's library path"


def _lines(document: Mapping[str, Any]) -> list[str]:
    gpus = document["gpus"]
    cuda = f", CUDA up to {document['cuda']}" if document["cuda"] else ""
    lines = [f"driver {document['driver']}{cuda}" + ("" if gpus else ": it has no GPU")]
    lines += ["", *_gpu_table(gpus)] if gpus else []
    remarks = [inert(line) for gpu in gpus for line in _remarks(gpu)]
    known = {run["run"] for run in document["runs"]}
    for part in (remarks, _process_table(gpus, known), _run_table(document["runs"])):
        lines += ["", *part] if part else []
    return lines


def _gpu_table(gpus: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = [
        (
            gpu["gpu"],
            _cut(inert(gpu["name"] or "-").removeprefix("NVIDIA "), _NAME),
            _memory(gpu),
            _figure(gpu["utilization_percent"], "%"),
            _figure(gpu["power_w"], "W"),
            _figure(gpu["temperature_c"], "°C"),
            gpu["state"],
        )
        for gpu in gpus
    ]
    return table(*_right(("GPU", "name", "memory", "util", "power", "temp", "state"), rows, (2, 3, 4, 5)))


def _process_table(gpus: Sequence[Mapping[str, Any]], known: Collection[str]) -> list[str]:
    rows = [row for gpu in gpus for row in _process_rows(gpu, known)]
    return table(*_right(("GPU", "process", "pid", "user", "memory", "run"), rows, (2, 4))) if rows else []


def _process_rows(gpu: Mapping[str, Any], known: Collection[str]) -> Iterator[tuple[str, ...]]:
    listed = sorted(gpu["processes"] or (), key=lambda p: (-(p["used_bytes"] or 0), p["pid"]))
    for process in listed:
        name = "not visible here" if process["start"] is None else inert(process["name"] or "?")
        kind = "" if process["type"] == "compute" else f" ({process['type']})"
        yield (
            gpu["gpu"],
            _cut(name, _PROCESS - len(kind)) + kind,
            str(process["pid"]),
            _cut(inert(process["user"] or "-"), _USER),
            size(process["used_bytes"]),
            inert(_whose(process, known)),
        )
    rest = gpu["unattributed_bytes"]
    if rest is not None and rest > _unremarkable(gpu):
        yield (gpu["gpu"], "not visible here", "-", "-", size(rest), "-")


def _unremarkable(gpu: Mapping[str, Any]) -> int:
    """Bytes that no process need account for."""
    return _DRIVERS_OWN if gpu["kind"] == "v1" else tolerance(gpu["total_bytes"])


def _whose(process: Mapping[str, Any], known: Collection[str]) -> str:
    """Rank and run; the id in full where no table below has it."""
    run = process["run"]
    if run is None:
        return "-"
    member = process["member"] if process["rank"] is None else f"rank {process['rank']}"
    return " ".join(filter(None, (_short(run) if run in known else run, member)))


def _run_table(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = [(inert(run["run"]), run["state"] or "-", _step(run), _devices(run)) for run in runs]
    lines = table(("run", "state", "step", "GPUs"), rows) if rows else []
    return lines + [inert(line) for run in runs for line in _unlisted(run)]


def _step(run: Mapping[str, Any]) -> str:
    if run["step"] is None:
        return "-"
    return f"{run['step']}" if run["steps_total"] is None else f"{run['step']}/{run['steps_total']}"


def _devices(run: Mapping[str, Any]) -> str:
    return ", ".join(use["gpu"] for use in run["gpus"]) or "-"


def _unlisted(run: Mapping[str, Any]) -> Iterator[str]:
    """A device on which no process of the run is listed is not said to be free of it."""
    keys = [use["gpu"] for use in run["gpus"] if use["listed"] is False]
    if keys:
        yield f"  no process of {_short(run['run'])} is listed on GPU {', '.join(keys)}, which it has claimed"


def _short(run: str) -> str:
    """A run id without its date and time: `demo-…-3f2a`."""
    return _STAMP.sub("-…-", run)


def _remarks(gpu: Mapping[str, Any]) -> Iterator[str]:
    """What the tables cannot say of a device."""
    if gpu["state"] in ("unknown", "lost") or (gpu["state"] == "held" and not gpu["processes"]):
        yield f"{gpu['evidence']}"
    if gpu["slowed"]:
        yield f"GPU {gpu['gpu']} is slowed down: {', '.join(gpu['slowed'])}"
    if gpu["kind"] == "v1":
        yield f"GPU {gpu['gpu']}: this driver counts what it keeps for itself as used"
    if gpu["kind"] == "lists":
        yield f"GPU {gpu['gpu']} shares the host's memory: used is the sum over the listed processes"


def _memory(gpu: Mapping[str, Any]) -> str:
    used, total = gpu["used_bytes"], gpu["total_bytes"]
    if used is None:
        return "-" if not total else f"? of {size(total)}"
    return size(used) if not total else f"{used / (1 << 30):.1f} of {size(total)}"


def _figure(value: float | None, unit: str) -> str:
    return "-" if value is None else f"{value:.0f} {unit}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _right(
    head: tuple[str, ...], rows: Sequence[tuple[str, ...]], columns: tuple[int, ...]
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The same cells, numbers of these columns with their ends below each other."""
    widths = {i: max(len(line[i]) for line in (head, *rows)) for i in columns}
    first, *rest = (tuple(cell.rjust(widths.get(i, 0)) for i, cell in enumerate(line)) for line in (head, *rows))
    return first, rest
