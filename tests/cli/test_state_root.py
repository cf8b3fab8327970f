"""Where runs are kept: a place that others can reach is refused, and one that cannot be written is named."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import of_home, refused
from support.mounts import tmpfs
from support.runs import Home
from support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOBODY = 65534
ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not ROOT, reason="another user's files and mounts need root")
PROFILE = 'name = "x"\n[launch]\nmode = "ranks"\nnproc = 1\nargv = ["true"]\n'


def launch(home: Home, **options: Any) -> subprocess.CompletedProcess[str]:
    return home.run("launch", home.profile(PROFILE), **options)


def refused_everywhere(home: Home, *words: str) -> None:
    """Neither starting nor reading nor stopping: a foreign root could say anything."""
    refused(launch(home), 2, *words)
    for command in ("status", "stop"):
        refused(home.run(command), 2, *words)
    assert not of_home(home)


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Any]:
    """Mounts a tmpfs with the options that it is called with, and returns its path."""
    with ExitStack() as stack:
        yield lambda options: stack.enter_context(tmpfs(tmp_path / "mount", options))


def test_a_file(home: Home) -> None:
    home.path.write_text("")
    refused_everywhere(home, f"{home.path} is not a directory", "GRPOTUI_HOME")


@pytest.mark.parametrize("inner", ["", "runs"])
def test_a_symbolic_link(home: Home, tmp_path: Path, inner: str) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    link = home.path / inner
    link.parent.mkdir(exist_ok=True, mode=0o700)
    link.symlink_to(tmp_path / "elsewhere")
    refused_everywhere(home, f"{str(link).rstrip('/')} is a symbolic link", "GRPOTUI_HOME")
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize(("mode", "inner"), [(0o770, ""), (0o702, "runs")])
def test_writable_for_others(home: Home, mode: int, inner: str) -> None:
    (home.path / "runs").mkdir(parents=True, mode=0o700)
    home.path.chmod(0o700)
    (home.path / inner).chmod(mode)
    refused_everywhere(home, "can be written by others", f"{mode:04o}", "chmod go-w")


@needs_root
@pytest.mark.parametrize("inner", ["", "runs"])
def test_of_another_user(home: Home, inner: str) -> None:
    (home.path / "runs").mkdir(parents=True, mode=0o700)
    os.chown(home.path / inner, NOBODY, NOBODY)
    refused_everywhere(home, f"belongs to uid {NOBODY}", "you are uid 0")


@pytest.mark.parametrize("umask", [0o002, 0o000])
def test_the_umask_does_not_matter(home: Home, umask: int) -> None:
    """With 002, the default of many distributions, a root made by makedirs would be refused by its own maker."""
    deep = Home(home.path / "a" / "b")
    deep.path.parent.parent.mkdir()
    words = ["launch", home.profile(PROFILE)]
    done = home.run(*words, env={"GRPOTUI_HOME": str(deep.path)}, umask=umask)
    assert done.returncode == 0, done.stderr
    for path in [deep.path, *deep.path.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


@needs_root
def test_read_only(home: Home, mounted: Any) -> None:
    point = mounted("size=1m")
    full = Home(point / "home")
    run = Home.launch(full, home.profile(PROFILE))
    full.wait_for_state(run, "ended")
    wait_until(lambda: not of_home(full), what="an end of everything")
    subprocess.run(["mount", "-o", "remount,ro", point], check=True)
    done = home.run("launch", home.profile(PROFILE), env={"GRPOTUI_HOME": str(full.path)})
    refused(done, 2, f"cannot write {full.path}/runs/x-", "Read-only file system", "GRPOTUI_HOME")
    assert full.status()["verdict"] == "passed"  # reading needs no writing
    new = home.run("launch", home.profile(PROFILE), env={"GRPOTUI_HOME": str(point / "new")})
    refused(new, 2, f"cannot write {point}/new", "Read-only file system")


@needs_root
@pytest.mark.parametrize(("options", "words"), [("size=64k", "KiB are free"), ("size=8m,nr_inodes=20", "inodes")])
def test_a_full_disk(home: Home, mounted: Any, options: str, words: str) -> None:
    small = Home(mounted(options) / "home")
    done = home.run("launch", home.profile(PROFILE), env={"GRPOTUI_HOME": str(small.path)})
    refused(done, 2, words, str(small.path), "free some space")
    assert not list((small.path / "runs").iterdir())
    assert not of_home(small)


@needs_root
@pytest.mark.parametrize("blocks", [1, 2, 4])
def test_a_quota_that_ends_in_the_middle_of_a_start(home: Home, mounted: Any, blocks: int) -> None:
    """What `statvfs` does not tell: the disk ends somewhere between run.json and the ranks' logs."""
    small = Home(mounted("size=1m") / "home")
    (small.path / "runs").mkdir(parents=True, mode=0o700)
    small.path.chmod(0o700)
    filler = small.path.parent / "filler"
    with filler.open("wb", buffering=0) as file:
        while os.statvfs(small.path).f_bavail > blocks:
            file.write(b"x" * 4096)
    script = "from grpotui_supervisor import launch, rundir; rundir._ROOM_BYTES = 0; launch._RECORD_SECONDS = 0.5"
    script += "; from grpotui.cli import main; main()"
    env = {**home.environment, "GRPOTUI_HOME": str(small.path)}
    words = [sys.executable, "-c", script, "launch", home.profile(PROFILE), "--detach"]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in (0, 2, 125, 126), done.stderr
    if done.returncode:
        assert done.stderr.startswith("grpotui:"), done.stderr
        assert os.strerror(28) in done.stderr, done.stderr
    filler.unlink()  # whatever waits for the disk ends now
    wait_until(lambda: not of_home(small), seconds=30, what="an end of everything")


@needs_root
def test_a_user_who_may_not_write_there(home: Home) -> None:
    home.path.parent.chmod(0o700)
    done = as_user(NOBODY, home, "launch", "demo", PATH=os.defpath)
    refused(done, 2, f"cannot write {home.path}", "Permission denied", "GRPOTUI_HOME")
    for command in ("status", "runs", "stop"):  # and not "no runs"
        done = as_user(NOBODY, home, command)
        refused(done, 2, f"cannot look at {home.path}", "Permission denied", "GRPOTUI_HOME")


@needs_root
def test_a_user_without_a_home(home: Home) -> None:
    uid = next(uid for uid in range(50000, 60000) if not known(uid))
    done = as_user(uid, home, "runs", HOME="", GRPOTUI_HOME="", XDG_STATE_HOME="")
    refused(done, 2, "HOME is not set", f"uid {uid} has no home directory", "GRPOTUI_HOME")


def known(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


AS_USER = """
import os, sys
import grpotui.cli, grpotui.cli.launch, grpotui.cli.status, grpotui.cli.runs, grpotui.following, grpotui.preflighting
os.setgroups([]); os.setgid(int(sys.argv[1])); os.setuid(int(sys.argv[1]))
sys.argv[1:2] = []
grpotui.cli.main()
"""
"""Everything is imported first: the checkout and the interpreter may lie where that user may not read."""


def as_user(uid: int, home: Home, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    env = {**home.environment, **variables}
    command = [sys.executable, "-c", AS_USER, str(uid), *words]
    return subprocess.run(command, env=env, cwd="/", capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"GRPOTUI_HOME": "{0}/mine"}, "{0}/mine"),
        ({"GRPOTUI_HOME": "", "XDG_STATE_HOME": "{0}/xdg"}, "{0}/xdg/grpotui"),
        ({"GRPOTUI_HOME": "", "XDG_STATE_HOME": "", "HOME": "{0}"}, "{0}/.local/state/grpotui"),
        ({"GRPOTUI_HOME": "", "XDG_STATE_HOME": "not/absolute", "HOME": "{0}"}, "{0}/.local/state/grpotui"),
    ],
)
def test_where_runs_are_kept(home: Home, tmp_path: Path, variables: dict[str, str], expected: str) -> None:
    env = {name: value.format(tmp_path) for name, value in variables.items()}
    document = json.loads(home.run("info", "--json", env=env).stdout)
    assert document["root"] == expected.format(tmp_path)


def test_without_home_the_user_database_is_asked(home: Home) -> None:
    env = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_STATE_HOME", "GRPOTUI_HOME")}
    done = subprocess.run(home.command("info", "--json"), env=env, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["root"] == f"{pwd.getpwuid(os.getuid()).pw_dir}/.local/state/grpotui"
