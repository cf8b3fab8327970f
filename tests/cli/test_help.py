"""Help: quick, complete, with an example for each command; and what a shell completes."""

from __future__ import annotations

import resource
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support.commands import refused

from grpotui.cli import COMMANDS

if TYPE_CHECKING:
    from support.runs import Home

NAMES = [name for name, _ in COMMANDS]
LOADED = """
import sys
from grpotui.cli import main
try:
    main()
except SystemExit:
    print("\\n".join(sorted(sys.modules)), file=sys.stderr)
"""


@pytest.mark.parametrize("words", [("--help",), ("--version",), ()])
def test_help_loads_no_command_and_nothing_heavy(words: tuple[str, ...]) -> None:
    done = subprocess.run([sys.executable, "-c", LOADED, *words], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert "grpotui.cli" in loaded
    assert not loaded & {"msgspec", "psutil", "jsonschema", "textual", "rich", "asyncio", "subprocess", "json"}
    assert not loaded & {f"grpotui.cli.{name}" for name in NAMES}


def test_help_is_quick(home: Home) -> None:
    """45 ms of CPU on an idle machine, 60 are allowed; a loaded one gets slack."""
    times = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        home.run("--help")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(times) < 0.12, times


def test_the_front_page(home: Home) -> None:
    text = home.run("--help").stdout
    assert home.run("-h").stdout == text
    assert text.startswith("Usage: grpotui ")
    for name, words in COMMANDS:
        assert f"\n  {name} " in text
        assert words in text
    assert "\n    grpotui launch demo " in text
    assert home.run().returncode == 2  # no command: the same page, as an error
    assert home.run("--version").stdout.startswith("grpotui, version ")


@pytest.mark.parametrize("name", NAMES)
def test_each_command_has_help_and_an_example(home: Home, name: str) -> None:
    done = home.run(name, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"Usage: grpotui {name} [OPTIONS]")
    examples = done.stdout.partition("Examples:\n")[2].splitlines()
    assert examples
    assert all(line.startswith(f"    grpotui {name}") for line in examples if line.strip())
    for line in done.stdout.splitlines():
        assert not line.startswith("  --") or len(line.split()) > 1  # every option says what it does


def test_an_unknown_command_gets_a_suggestion(home: Home) -> None:
    refused(home.run("lunch"), 2, "No such command 'lunch'", "Did you mean 'launch'?")
    refused(home.run("frobnicate"), 2, "No such command 'frobnicate'", "grpotui --help")
    refused(home.run("status", "--jsn"), 2, "--jsn", "--json")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("grpotui st", ["status", "stop"]),
        ("grpotui launch d", ["demo"]),
        ("grpotui launch --de", ["--detach"]),
        ("grpotui status test-", ["test-"]),
        ("grpotui stop --n", ["--now"]),
    ],
)
def test_shell_completion(home: Home, words: str, expected: list[str]) -> None:
    if "test-" in words:
        home.launch(home.ranks_profile("exit0"))
    env = {"_GRPOTUI_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = home.run(env=env, cwd="/")
    found = [line.split(",")[1] for line in done.stdout.splitlines() if line.startswith("plain,")]
    assert [word[: len(want)] for word, want in zip(found, expected, strict=True)] == expected
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script(home: Home, shell: str) -> None:
    assert "_GRPOTUI_COMPLETE" in home.run(env={"_GRPOTUI_COMPLETE": f"{shell}_source"}).stdout
