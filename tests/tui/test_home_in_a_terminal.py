"""The start screen as a person gets it: by the command alone, in a real terminal, with the GPUs of the machine."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

import pytest
from support.fake_gpus import gpu
from support.gpu_machine import GpuMachine
from support.machine import state_root
from support.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COMMAND = [sys.executable, "-m", "grpotui"]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[GpuMachine]:
    found = GpuMachine(tmp_path / "machine", count=3)
    yield found
    found.clean()


def test_the_command_alone_opens_it_and_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    root = state_root(tmp_path / "home", ["sigkill"])
    with Terminal(COMMAND, {"GRPOTUI_HOME": str(root)}) as terminal:
        terminal.wait_for("sigkill", "✖ failed", "no NVIDIA driver library")
        terminal.press("\r")
        terminal.wait_for("reward/mean", "replay")
        terminal.press("q")
        terminal.wait_for("1 ended")
        terminal.press("q")
        assert terminal.wait_end() == 0
        assert terminal.emulator.foreign == []
        assert terminal.emulator.modes == {**terminal.emulator.modes, 1049: False, 25: True, 1003: False}


def test_a_terminal_that_cannot_be_drawn_on_gets_the_help(tmp_path: Path) -> None:
    with Terminal(COMMAND, {"GRPOTUI_HOME": str(tmp_path), "TERM": "dumb"}) as terminal:
        terminal.wait_for("Usage: grpotui")
        assert terminal.wait_end() == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_gives_the_terminal_back(tmp_path: Path, number: signal.Signals) -> None:
    with Terminal(COMMAND, {"GRPOTUI_HOME": str(state_root(tmp_path / "home", ["sigkill"]))}) as terminal:
        terminal.wait_for("1 ended")
        terminal.process.send_signal(number)
        assert terminal.wait_end() == -number
        assert terminal.emulator.modes[1049] is False


def test_the_gpus_say_who_is_on_them(tmp_path: Path, machine: GpuMachine) -> None:
    pid = machine.hold(1, "20GiB")
    machine.change(2, ret=15)  # lost
    with Terminal(COMMAND, {"GRPOTUI_HOME": str(tmp_path / "none"), **machine.env}, size=(140, 40)) as terminal:
        text = terminal.wait_for("H100", "held", "(python", "lost")
        lines = [line for line in text.split("\n") if "/79.6" in line or "lost" in line]
        assert "idle" in lines[0]
        assert "20." in lines[1]
        assert "held" in lines[1]
        assert "python" in lines[1]
        machine.end(pid)
        terminal.wait_gone("held")
        terminal.press("q")
        terminal.wait_end()


def test_a_gpu_that_comes_and_goes_is_no_reason_to_end(tmp_path: Path, machine: GpuMachine) -> None:
    with Terminal(COMMAND, {"GRPOTUI_HOME": str(tmp_path / "none"), **machine.env}) as terminal:
        terminal.wait_for("idle")
        machine.fake.write([])
        terminal.press("r")
        terminal.wait_for("it has none")
        machine.fake.write([gpu(0)])
        terminal.press("r")
        terminal.wait_for("idle")
        terminal.press("q")
        assert terminal.wait_end() == 0
