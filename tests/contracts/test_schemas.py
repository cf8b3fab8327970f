"""Everything that the program writes and prints is what the schema files say, to the last key."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator, ValidationError  # type: ignore[import-untyped]
from support import schemas
from support.runs import Home, kill
from support.schemas import check, check_directory, check_lines
from support.waiting import wait_until

from grpotui_supervisor.model import run_state
from grpotui_supervisor.probes.kernel import can_see_foreign_exits
from grpotui_supervisor.rundir import RunDirectory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

STEPS = os.path.join(os.path.dirname(schemas.__file__), "steps.py")
SHORT = "grace_seconds = 0.3\nterminate_seconds = 0.3\ninterrupt_seconds = 0.3\nleftover_grace_seconds = 0.3\n"
DRIVER = 'RANK=0 WORLD_SIZE=1 "$@" & wait $!'
RAY = """
mkdir -p "$0"; echo "local_global_step_folder: $0/global_step_7"; printf 7 > "$0/latest_checkpointed_iteration.txt"
(exec -a ray::WorkerDict.actor_rollout_update_actor sleep 99) & until [ -e "$0/end" ]; do sleep 0.1; done; kill $!
"""
EARLY = f"""
import os, sys
if os.environ["RANK"] == "1":
    sys.exit()
os.execv(sys.executable, [sys.executable, {STEPS!r}, "999", "0.05"])
"""


@dataclass
class Gallery:
    """One home with a run for each way to go, and what was printed of each while it went on."""

    home: Home
    runs: dict[str, str] = field(default_factory=dict)
    live: dict[str, dict[str, Any]] = field(default_factory=dict)
    stop_lines: list[str] = field(default_factory=list)

    def launch(self, name: str, launch: str, argv: list[str], more: str = "") -> None:
        text = f'name = "{name}"\nframework = "verl"\n[launch]\n{launch}\nargv = {json.dumps(argv)}\n{SHORT}{more}\n'
        done = self.home.run("launch", self.home.profile(text, f"{name}.toml"), "--detach")
        self.runs[name] = done.stdout.strip()

    def ranks(self, name: str, *modes: str, launch: str = "", more: str = "") -> None:
        self.runs[name] = self.home.launch(self.home.ranks_profile(*modes, launch=launch, more=more))

    def look(self, name: str, fits: Callable[[dict[str, Any]], object]) -> None:
        """Keeps the status of a moment at which it fits."""
        run = self.runs[name]
        self.live[name] = wait_until(
            lambda: s if fits(s := self.home.status(run)) else {}, what=f"{name} to fit", seconds=60
        )


def python(*words: str) -> list[str]:
    return ["{grpotui_python}", "-I", "-S", *words]


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gallery]:
    """Whatever a test breaks in it is ended with it."""
    found = Gallery(Home(tmp_path_factory.mktemp("schemas") / "home"))
    try:
        fill(found)
        yield found
    finally:
        found.home.clean()


def fill(found: Gallery) -> None:
    """All runs are started before any of them is waited for."""
    found.launch("passed", 'mode = "ranks"\nnproc = 1', python(STEPS, "3", "0.02"))
    found.launch("early", 'mode = "ranks"\nnproc = 2', python("-c", EARLY))
    found.launch("unstarted", 'mode = "ranks"\nnproc = 2', ["no-such-command"])
    found.launch(
        "driver", 'mode = "command"', ["sh", "-c", DRIVER, "sh", "{wrapper}", "sh", "-c", "sleep 2; exit 3"],
        '[companions.judge]\nargv = ["sleep", "1000"]\n',
    )  # fmt: skip
    found.launch("ray", 'mode = "command"', ["bash", "-c", RAY, f"{found.home.path}/checkpoints"])
    found.ranks("killed", "kill", "sleep", "orphan")
    found.ranks("stopped", "sleep", "stubborn")
    found.ranks(
        "kept", "orphan-stubborn", launch='leftovers = "keep"', more="[expect]\nsteps = 3\n[training]\nlr = nan\n"
    )
    found.ranks("unsupervised", "sleep", "sleep")
    found.ranks("taken-over", f"exit0 {time.monotonic() + 8}")
    kill(shim(found, "taken-over")["worker"])
    found.look("driver", lambda s: any(not m["owned"] for m in s["ranks"]))
    found.look("stopped", lambda s: s["state"] == "running")
    found.stop_lines = found.home.run("stop", found.runs["stopped"], "--json").stdout.splitlines()
    lose_the_shim(found, "unsupervised")
    found.look("ray", lambda s: s["phase_from"] == "process title" and s["disk"] and s["checkpoints"][0]["complete"])
    (found.home.path / "checkpoints/end").touch()
    found.look("kept", lambda s: s["leftovers"])
    for name in ("passed", "early", "unstarted", "driver", "killed", "taken-over"):
        found.look(name, lambda s: s["state"] == "ended")
    found.home.run("stop", found.runs["kept"], "--now")


def shim(gallery: Gallery, name: str) -> dict[str, Any]:
    return next(r for r in gallery.home.records(gallery.runs[name]) if r["ev"] == "shim")


def lose_the_shim(gallery: Gallery, name: str) -> None:
    """Both at once; then one rank is killed under the monitor's eyes, and the other goes on."""
    record = shim(gallery, name)
    os.kill(record["guard"], signal.SIGSTOP)
    kill(record["worker"])
    kill(record["guard"])
    gallery.look(name, lambda s: s["state"] == "unsupervised")
    wait_until(lambda: [r for r in gallery.home.records(gallery.runs[name], "host") if r["ev"] == "unsupervised"])
    kill(gallery.live[name]["ranks"][0]["pid"])
    gallery.look(name, lambda s: s["ranks"][0]["state"] != "running")
    wait_until(lambda: [r for r in gallery.home.records(gallery.runs[name], "host") if r["ev"] in ("exit", "lost")])


NAMES = ["passed", "early", "unstarted", "driver", "killed", "stopped", "kept", "unsupervised", "taken-over", "ray"]


@pytest.mark.parametrize("name", NAMES)
def test_a_run_in_every_form(gallery: Gallery, name: str) -> None:
    home, run = gallery.home, gallery.runs[name]
    check("status", gallery.live[name])
    check("status", json.loads(home.run("replay", run, "--json").stdout))
    check("status", home.status(run))
    check_directory(home.directory(run))
    if name != "unsupervised":  # which goes on
        lines = check_lines("stream", home.run("attach", run, "--json").stdout.splitlines())
        assert (lines[0]["ev"], lines[-1]["ev"]) == ("run", "end")


def test_the_runs_were_what_they_were_to_be(gallery: Gallery) -> None:
    """Else the test above would say little."""
    ends = {name: (d["state"], d["verdict"]) for name, d in gallery.live.items()}
    assert ends.items() >= {
        "passed": ("ended", "passed"), "early": ("ended", "failed"), "unstarted": ("ended", "failed"),
        "driver": ("ended", "failed"), "killed": ("ended", "failed"), "stopped": ("running", None),
        "taken-over": ("ended", "passed"), "unsupervised": ("unsupervised", None),
    }.items()  # fmt: skip
    failures = {name: gallery.live[name]["first_failure"]["how"] for name in ("early", "unstarted", "killed", "driver")}
    assert failures == {"early": "left_early", "unstarted": "failed_to_start", "killed": "killed", "driver": "exited"}
    assert gallery.live["early"]["findings"][0]["id"] == "left_early"
    assert gallery.live["passed"]["metrics"]["entropy"] == "nan"
    assert gallery.live["taken-over"]["supervision"]["takeovers"] == 1
    assert list(gallery.home.directory(gallery.runs["driver"]).glob("ranks/0/wrapper-*.jsonl"))
    seen = gallery.live["unsupervised"]["ranks"][0]["state"]
    assert seen == ("killed" if can_see_foreign_exits() else "lost")


def test_the_records_hold_nearly_every_event(gallery: Gallery) -> None:
    written = {
        name: {r["ev"] for run in gallery.runs.values() for r in gallery.home.records(run, name)}
        for name in schemas.RECORDS
    }
    named = {name: set(schemas.load(name)["properties"]["ev"]["enum"]) for name in schemas.RECORDS}
    assert named["ranks"] - written["ranks"] <= {"guard_lost", "lost", "not_observable", "hold", "unkillable"}
    attached = {"origin", "missing", "back", "missed", "read", "following_ended"}  # cli/test_attach.py has those
    assert named["host"] - written["host"] <= {"lost", "not_observable", "exit"} | attached
    assert named["timeline"] - written["timeline"] <= {"gap"} | attached
    assert named["findings"] - written["findings"] <= {"cleared"}
    known = set(run_state._HANDLERS)
    assert known <= named["ranks"] | named["host"]


def test_stop_and_lists(gallery: Gallery) -> None:
    lines = check_lines("stream", gallery.stop_lines)
    assert [line["signal"] for line in lines if line["ev"] == "signal"] == ["SIGINT", "SIGTERM", "SIGKILL"]
    home = gallery.home
    (home.path / "runs/broken").mkdir(mode=0o700)
    (home.path / "runs/broken/run.json").write_text("{}")
    document = json.loads(home.run("runs", "--json").stdout)
    shutil.rmtree(home.path / "runs/broken")
    check("runs", document)
    assert {row["run"] for row in document["runs"]} == {*gallery.runs.values(), "broken"}
    check("info", json.loads(home.run("info", "--json").stdout))


def test_requests(home: Home) -> None:
    """The shim is halted, so that the client's file stays where it put it."""
    run = home.launch(home.ranks_profile("sleep"))
    record = next(r for r in home.records(run) if r["ev"] == "shim")
    for pid in (record["guard"], record["worker"]):
        os.kill(pid, signal.SIGSTOP)
    client = home.start("stop", run)
    control = home.directory(run) / "control"
    (path,) = wait_until(lambda: list(control.glob("*.json")), what="the request")
    asked = json.loads(path.read_text())
    check("control", asked)
    assert asked == {"what": "stop", "why": "grpotui stop"}
    assert path.stat().st_mode & 0o777 == 0o600
    for pid in (record["worker"], record["guard"]):
        os.kill(pid, signal.SIGCONT)
    client.communicate(timeout=20)
    assert (client.returncode, list(control.iterdir())) == (0, [])


def test_the_monitor_s_requests(tmp_path: Path) -> None:
    (tmp_path / "control").mkdir()
    directory = RunDirectory(str(tmp_path))
    directory.request("hold", seconds=3.0, why="still writing: 0")
    directory.request("fail", member="1", rank=1, why="it left early")
    for path in (tmp_path / "control").iterdir():
        check("control", json.loads(path.read_text()))
    with pytest.raises(AssertionError):
        check("control", {"what": "hold"})


@pytest.mark.parametrize("name", schemas.names())
def test_the_file_is_a_schema_with_its_own_name(name: str) -> None:
    document = schemas.load(name)
    Draft202012Validator.check_schema(document)
    assert document["$id"] == f"{name}.schema.json"
    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert document["title"]


def test_the_strict_reading_refuses_what_is_not_named() -> None:
    line = {"ev": "done", "t": 1.0, "m": 1, "seq": 1}
    check("ranks", line)
    Draft202012Validator(schemas.load("ranks")).validate({**line, "new": 1})  # a later version's key is no error
    with pytest.raises(AssertionError, match="new"):
        check("ranks", {**line, "new": 1})
    with pytest.raises(ValidationError):
        Draft202012Validator(schemas.load("ranks")).validate({**line, "ev": "spawned"})
    with pytest.raises(AssertionError, match="signal"):
        check("stream", {"schema": 1, "ev": "signal", "plan": "stop", "why": ""})
