"""Ports that the job will listen on, and who listens there already."""

from __future__ import annotations

import errno
import os
import socket
from typing import TYPE_CHECKING, Final

import psutil

from grpotui_supervisor.preflight import framework
from grpotui_supervisor.preflight.check import Result
from grpotui_supervisor.preflight.finding import Finding, together
from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpotui_supervisor.preflight.check import Job

_TORCHRUN: Final = 29500
"""Where torchrun, accelerate and deepspeed meet by default."""
_LAUNCHERS: Final = frozenset({"torchrun", "accelerate", "deepspeed", "torch.distributed.run", "trl"})
_RAY_HEAD, _RAY_DASHBOARD = 6379, 8265


class _Ports:
    name = "ports"
    title = "Ports"
    limit_s = 10.0

    def run(self, job: Job) -> Result:
        """The rendezvous of the ranks; of Ray, the head's port and the dashboard's."""
        found = [*_rendezvous(job), *(_ray(job) if framework.uses_ray(job) else ())]
        if not found:
            return Result(outcome="not_applicable", evidence="no port of the job is known beforehand")
        return together(found)


def _rendezvous(job: Job) -> Iterator[Finding]:
    launch = job.loaded.profile.launch
    port = master_port(job)
    if port is None:
        return
    if not 1 <= port <= 65535:
        yield Finding("failed", f"{port} is no port", "MASTER_PORT=20000 to 32767")
        return
    who = listener(port)
    if who is None:
        yield Finding("passed", f"the rendezvous port {port} is free")
    else:
        other = (
            "[launch.env] MASTER_PORT" if launch.mode == "ranks" else "--master_port, or MASTER_PORT in [launch.env]"
        )
        yield Finding("failed", f"the rendezvous port {port} is in use by {who}", f"another one ({other}), or end that")


def master_port(job: Job) -> int | None:
    """Where the ranks will meet; None: nobody says, and no launcher with a known default is called."""
    launch = job.loaded.profile.launch
    for start in job.plan.starts:
        if start.role == "rank":
            return int(start.env["MASTER_PORT"])
    words = list(launch.argv)
    for at, word in enumerate(words):
        name, sign, value = word.partition("=")
        if name.replace("_", "-") in ("--master-port", "--main-process-port"):
            text = value if sign else words[at + 1] if at + 1 < len(words) else ""
            return int(text) if text.isdigit() else None
    if not any(os.path.basename(word) in _LAUNCHERS for word in words):
        return None
    if any(word.startswith(("--standalone", "--rdzv")) for word in words):
        return None
    text = job.environment.get("MASTER_PORT", "")
    return int(text) if text.isdigit() else _TORCHRUN


def _ray(job: Job) -> Iterator[Finding]:
    """`ray.init()` joins the cluster that RAY_ADDRESS names, else the one that left its address here."""
    address = job.environment.get("RAY_ADDRESS")
    if address and address != "local":
        yield Finding("passed", f"Ray's cluster is named: RAY_ADDRESS={address}")
        return
    file = os.path.join(framework.ray_folder(job.environment), "ray_current_cluster")
    there, head = _address(file), listener(_RAY_HEAD)
    port = None if there is None else there.rpartition(":")[2]
    if address != "local" and port is not None and port.isdigit() and (who := listener(int(port))) is not None:
        words = f"a Ray cluster is here already at {there} ({who}; {file}): the job joins it, its versions and its GPUs"
        yield Finding("warning", words, "end that cluster, or RAY_ADDRESS=local")
    elif head is not None:
        words = f"Ray's port {_RAY_HEAD} is in use by {head}, another Ray cluster perhaps"
        yield Finding("warning", words, "end it, or RAY_ADDRESS=local: another port is taken then")
    else:
        yield Finding("passed", f"Ray's port {_RAY_HEAD} is free")
    board = listener(_RAY_DASHBOARD)
    state = "free" if board is None else f"in use by {board}: it takes the next"
    yield Finding("passed", f"Ray's dashboard port {_RAY_DASHBOARD} is {state}")


def _address(path: str) -> str | None:
    try:
        with open(path, encoding="ascii") as file:
            return file.read(200).strip() or None
    except (OSError, ValueError):
        return None


def listener(port: int) -> str | None:
    """Who listens on a TCP port of this machine, in words; None: nobody does. Nothing is sent to it."""
    if _can_bind(port):
        return None
    try:
        found = psutil.net_connections(kind="tcp")
    except (psutil.Error, OSError):
        found = []
    pid = next(
        (c.pid for c in found if c.status == psutil.CONN_LISTEN and c.laddr and c.laddr.port == port and c.pid), None
    )
    stat = None if pid is None else procfs.stat(pid)
    return "somebody that cannot be seen from here" if stat is None else f"{stat.name} (pid {pid})"


def _can_bind(port: int) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            with socket.socket(family) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                probe.bind(("", port))
        except PermissionError:
            return True  # below 1024: whether it is free cannot be told, and it is not ours to take
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
    return True


CHECK = _Ports()
