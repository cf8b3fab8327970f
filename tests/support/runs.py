"""Real runs in a state directory of their own, and their certain end."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from grpotui_supervisor.shim import procfs
from support.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

RANK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rank.py")
CHOOSER = os.path.join(os.path.dirname(RANK), "choose_mode.py")
SHIM = os.path.join(os.path.dirname(procfs.__file__))


def rank_argv(mode: str, until: float | None = None) -> list[str]:
    """Words that start the test rank in that mode."""
    return [sys.executable, "-I", "-S", RANK, mode, *([] if until is None else [repr(until)])]


def records(path: Path) -> list[dict[str, Any]]:
    """Whole JSON objects of a record file; what is torn or garbage is left out, as every reader does."""
    found = []
    for line in path.read_bytes().split(b"\n") if path.exists() else []:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            found.append(record)
    return found


def _command_line(pid: int) -> list[str]:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().decode("utf-8", "replace").split("\0")
    except OSError:
        return []


def kill(pid: int) -> None:
    """SIGKILL by pid; a process that is gone is fine."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


@dataclass
class ShimRun:
    """A run whose shim was started directly, without launch and monitor."""

    path: Path
    run: str = "test-run"
    started: subprocess.Popen[bytes] | None = None

    def start(
        self,
        argvs: list[list[str]],
        *,
        env: dict[str, str] | None = None,
        prefix: tuple[str, ...] = (),
        **specification: Any,
    ) -> ShimRun:
        """Starts the shim with one rank for each argv; returns when the specification is handed over."""
        for folder in ("control", "ranks"):
            (self.path / folder).mkdir(parents=True, exist_ok=True)
        starts = [
            {
                "member": str(rank),
                "rank": rank,
                "role": "rank",
                "argv": argv,
                "cwd": "/tmp",
                "env": {procfs.RUN_MARK: self.run, procfs.MEMBER_MARK: str(rank)},
            }
            for rank, argv in enumerate(argvs)
        ]
        document = {"run": self.run, "node": "node-0", "env": {**os.environ, **(env or {})}, "starts": starts}
        return self.hand_over({**document, **specification}, prefix=prefix)

    def hand_over(self, document: dict[str, Any], *, prefix: tuple[str, ...] = ()) -> ShimRun:
        """Starts the shim with this specification; `prefix` are words in front of the interpreter."""
        with (self.path / "shim.err").open("ab") as stderr:
            self.started = subprocess.Popen(
                [*prefix, sys.executable, "-I", "-S", SHIM, str(self.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                start_new_session=True,
            )
        self.started.communicate(json.dumps(document).encode(), timeout=20)
        return self

    @property
    def records(self) -> list[dict[str, Any]]:
        return records(self.path / "ranks.jsonl")

    def of(self, *kinds: str) -> list[dict[str, Any]]:
        """Records of these kinds."""
        return [r for r in self.records if r.get("ev") in kinds]

    def wait_for(self, kind: str, *, count: int = 1, seconds: float = 20.0) -> list[dict[str, Any]]:
        """Waits until that many records of the kind are there."""
        return wait_until(
            lambda: found if len(found := self.of(kind)) >= count else [],
            seconds=seconds,
            what=f"{count} {kind} records in {self.path}: {[r['ev'] for r in self.records]}",
        )

    def wait_done(self, seconds: float = 30.0) -> list[dict[str, Any]]:
        """Waits for `done` and the end of both shim processes; returns all records."""
        self.wait_for("done", seconds=seconds)
        wait_until(lambda: not self.shim_pids(), what="the shim's end")
        return self.records

    def ends(self) -> dict[int, tuple[Any, ...]]:
        """Rank → (how, code or signal); fails when a rank has two records."""
        exits = self.of("exit")
        assert len({e["member"] for e in exits}) == len(exits), f"doubled: {exits}"
        return {e["rank"]: (e["how"], e["signal"] or e["code"]) for e in exits}

    def shim_pids(self) -> list[int]:
        """Guard and worker, as far as they live."""
        named = [(r.get(n), r.get(f"{n}_start")) for r in self.of("shim", "takeover") for n in ("guard", "worker")]
        return [pid for pid, start in dict(named).items() if pid and start and procfs.is_alive(pid, start)]

    @property
    def worker(self) -> int:
        return int(self.wait_for("shim")[-1]["worker"])

    @property
    def guard(self) -> int:
        return int(self.wait_for("shim")[-1]["guard"])

    def pid(self, rank: int) -> int:
        """Pid of the rank's latest process."""
        return int([r for r in self.of("spawned") if r["rank"] == rank][-1]["pid"])

    def exit_of(self, rank: int) -> dict[str, Any]:
        """The one exit record of that rank."""
        (found,) = [r for r in self.of("exit") if r["rank"] == rank]
        return found

    def exit_of_member(self, name: str) -> dict[str, Any]:
        """The one exit record of that member."""
        (found,) = [r for r in self.of("exit") if r["member"] == name]
        return found

    def request(self, what: str, **fields: object) -> None:
        """Hands the shim a request, as a client does."""
        name = f"{time.time_ns():020d}"
        temporary = self.path / "control" / f".{name}.tmp"
        temporary.write_text(json.dumps({"what": what, **fields}))
        temporary.rename(self.path / "control" / f"{name}.json")
        for pid in self.shim_pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGUSR1)

    def kill_both(self) -> None:
        """SIGKILL of worker and guard, so that the guard has no chance to take over."""
        shim = self.wait_for("shim")[-1]
        for pid, number in ((shim["guard"], signal.SIGSTOP), (shim["worker"], signal.SIGKILL)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        kill(shim["guard"])
        wait_until(lambda: not self.shim_pids(), what="the end of both shim processes")

    def adopt(self, **specification: Any) -> ShimRun:
        """Starts a shim that takes over what a dead one left; returns when it has looked at everything."""
        before = len(self.of("shim"))
        self.hand_over({"run": self.run, "node": "node-0", "adopt": True, **specification})
        self.wait_for("shim", count=before + 1)
        return self

    def check(self) -> None:
        """What must be true of every record: an order without gaps, and exactly one end for each start."""
        found = self.records
        assert [r["seq"] for r in found] == list(range(1, len(found) + 1))
        assert [r["ev"] for r in found].count("header") == 1, "one header"
        assert found[0]["ev"] == "header"
        starts = [(r["member"], r["pid"], r["start"]) for r in found if r["ev"] == "spawned"]
        assert len({s[0] for s in starts}) == len(starts), f"started twice: {starts}"
        ended = ("exit", "lost", "not_observable")
        ends = [(r["member"], r["pid"], r["start"]) for r in found if r["ev"] in ended and r["pid"] is not None]
        assert sorted(ends) == sorted(starts), "one end for each start"
        for one_start in starts:
            kinds = [r["ev"] for r in found if (r.get("member"), r.get("pid"), r.get("start")) == one_start]
            kinds = [kind for kind in kinds if kind not in ("first_failure", "rusage")]
            assert kinds[0] == "spawned", kinds
            assert kinds[1] in ended, kinds

    def clean(self) -> None:
        """Ends everything of the run: shim first, so that nothing is recorded or restarted."""
        for pid in self.shim_pids():
            kill(pid)
        wait_until(lambda: not self._kill_marked(), seconds=10, what="the end of the run's processes")
        if self.started is not None and self.started.poll() is None:
            self.started.kill()

    def _kill_marked(self) -> list[int]:
        """Kills what carries the run's mark; those that were still there."""
        found = [pid for pid in procfs.marked(self.run) if procfs.is_running(pid)]
        for pid in found:
            kill(pid)
        return found


@dataclass
class Home:
    """A state root with the runs that a test launches through the command line."""

    path: Path
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "GRPOTUI_HOME": str(self.path)}

    def profile(self, text: str, name: str = "test.toml") -> str:
        """Writes a profile beside the state root; returns its path."""
        path = self.path.parent / name
        path.write_text(text)
        return str(path)

    def ranks_profile(self, *modes: str, launch: str = "", more: str = "", grace: float = 0.5) -> str:
        """A profile whose ranks end as the modes say (by rank), with test-sized times."""
        argv = json.dumps(["{grpotui_python}", "-I", "-S", CHOOSER, *modes])
        return self.profile(
            f'name = "test"\n[launch]\nmode = "ranks"\nnproc = {len(modes)}\nargv = {argv}\n'
            f"grace_seconds = {grace}\n"
            "terminate_seconds = 0.5\ninterrupt_seconds = 0.5\nleftover_grace_seconds = 0.5\n"
            f"{launch}\n{more}"
        )

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-W", "error", "-m", "grpotui", *words]

    def run(self, *words: str, timeout: float = 60, **options: Any) -> subprocess.CompletedProcess[str]:
        """`grpotui WORDS`, to its end."""
        env = {**self.environment, **options.pop("env", {})}
        return subprocess.run(
            self.command(*words), env=env, capture_output=True, text=True, timeout=timeout, check=False, **options
        )

    def start(self, *words: str, **options: Any) -> subprocess.Popen[str]:
        """`grpotui WORDS`, in the background."""
        env = {**self.environment, **options.pop("env", {})}
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        process = subprocess.Popen(self.command(*words), env=env, text=True, **streams)
        self.processes.append(process)
        return process

    def launch(self, profile: str, *words: str) -> str:
        """`launch --detach`; returns the run id."""
        done = self.run("launch", profile, "--detach", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def status(self, run: str | None = None) -> dict[str, Any]:
        """`status --json`."""
        done = self.run("status", *([run] if run else []), "--json")
        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout)
        assert isinstance(document, dict)
        return document

    def wait_for_state(self, run: str, state: str, seconds: float = 30) -> dict[str, Any]:
        """Waits until `status` shows the run in that state; of an ended one also until its monitor has written all."""

        def reached() -> dict[str, Any] | None:
            found = self.status(run)
            is_whole = state != "ended" or not found["monitor"]["alive"]
            return found if found["state"] == state and is_whole else None

        return wait_until(reached, seconds=seconds, what=state)

    def directory(self, run: str) -> Path:
        return self.path / "runs" / run

    def records(self, run: str, file: str = "ranks") -> list[dict[str, Any]]:
        return records(self.directory(run) / f"{file}.jsonl")

    def clean(self) -> None:
        """Ends every process that a run of this home left, by pid."""
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.communicate()
        for directory in (self.path / "runs").glob("*"):
            ShimRun(directory, run=directory.name).clean()
            for pid in procfs.pids():  # a monitor on a full disk is on no record: its run directory names it
                if str(directory) in _command_line(pid):
                    kill(pid)


def demo(home: Home, fault: str, *, steps: int = 8) -> str:
    """Launches the demo, quick and short; the run's id."""
    argv = ["{python}", "{profile_dir}/demo_grpo.py", "--steps", str(steps), "--prompts", "16"]
    settings = [
        f"launch.argv={[*argv, '--checkpoint', str(home.path / 'checkpoints')]}",
        "launch.grace_seconds=1",
        "launch.leftover_grace_seconds=0.5",
        f"expect.steps={steps}",
    ]
    if fault:
        settings += [f"launch.env.GRPOTUI_DEMO_FAULT={fault}", 'launch.env.GRPOTUI_DEMO_FAULT_STEP="6"']
    return home.launch("demo", *[word for setting in settings for word in ("--set", setting)])
