"""Mistakes in a profile or on the command line of `launch`: said at once, before anything is made or started."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest
from support.commands import of_home, refused

if TYPE_CHECKING:
    from pathlib import Path

    from support.runs import Home

GOOD = 'name = "x"\n[launch]\nmode = "ranks"\nnproc = 1\nargv = ["true"]\n'


def nothing_was_made(home: Home) -> None:
    assert not home.path.exists()
    assert not of_home(home)


def test_a_missing_profile_is_named_with_its_near_match(home: Home) -> None:
    refused(home.run("launch", "dmo"), 2, "'dmo'", "Did you mean 'demo'?")
    refused(home.run("launch", "./no/such.toml"), 2, "no/such.toml", "Shipped profiles: demo")
    nothing_was_made(home)


def test_a_directory_is_no_profile(home: Home, tmp_path: Path) -> None:
    refused(home.run("launch", str(tmp_path)), 2, "is a directory")


def test_bad_toml_is_shown_at_its_place(home: Home) -> None:
    path = home.profile('name = "x"\n[launch\nmode = "ranks"\n')
    refused(home.run("launch", path), 2, f"{path}:2:8: not valid TOML", "[launch", "^")
    nothing_was_made(home)


def test_every_mistake_at_once(home: Home) -> None:
    path = home.profile('name = "X Y"\n[launch]\nmode = "rank"\nnproc = "2"\nagrv = ["true"]\ngrace_seconds = -1\n')
    done = home.run("launch", path)
    refused(done, 2, "6 problems", "did you mean 'argv'?", "did you mean 'ranks'?")
    for place in ("1:", "3:", "4:", "5:", "6:"):
        assert f"\n{path}:{place}" in done.stderr
    nothing_was_made(home)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (("launch.nproc=0",), ("launch.nproc=0", "at least 1, got 0")),
        (("launch.nproc=-3",), ("at least 1, got -3",)),
        (("launch.nprocs=2",), ("unknown key", "did you mean 'nproc'?")),
        (("nproc",), ("expected KEY=VALUE",)),
        (("launch.argv=[]", "name=../x"), ("2 problems", "must not be empty", "../x")),
    ],
)
def test_bad_settings(home: Home, settings: tuple[str, ...], words: tuple[str, ...]) -> None:
    done = home.run("launch", home.profile(GOOD), *(word for setting in settings for word in ("--set", setting)))
    refused(done, 2, *words)
    nothing_was_made(home)


def test_a_port_in_use(home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        done = home.run("launch", home.profile(f'{GOOD}[launch.env]\nMASTER_PORT = "{port}"\n'))
    refused(done, 2, f"MASTER_PORT {port}", "in use", "leave MASTER_PORT out")
    nothing_was_made(home)


@pytest.mark.parametrize("where", ["launch", "companions.judge"])
def test_a_missing_cwd(home: Home, where: str) -> None:
    more = '[companions.judge]\nargv = ["true"]\n' if where != "launch" else ""
    done = home.run("launch", home.profile(GOOD + more), "--set", f"{where}.cwd=no/such")
    refused(done, 2, f"{home.path.parent}/no/such", "cwd", "make it")
    nothing_was_made(home)


def test_the_working_directory_is_gone(home: Home, tmp_path: Path) -> None:
    gone, path = tmp_path / "gone", home.profile(GOOD)
    gone.mkdir()

    def enter_and_remove() -> None:
        os.chdir(gone)
        gone.rmdir()

    done = home.run("launch", path, preexec_fn=enter_and_remove)
    refused(done, 2, "working directory is gone", "cd to one that exists")
    nothing_was_made(home)


@pytest.mark.parametrize("options", [("--plain", "--json"), ("--detach", "--json")])
@pytest.mark.parametrize("command", ["launch", "attach"])
def test_options_that_exclude_each_other(home: Home, command: str, options: tuple[str, ...]) -> None:
    if command == "attach" and "--detach" in options:
        refused(home.run("attach", *options), 2, "No such option")
    else:
        words = (home.profile(GOOD),) if command == "launch" else ()
        refused(home.run(command, *words, *options), 2, " and ".join(options), "exclude each other")
    nothing_was_made(home)
