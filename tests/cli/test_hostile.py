"""Nothing that a terminal would obey reaches it: from logs, keys, names, titles, words, by any front end."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import termios
import threading
from typing import TYPE_CHECKING

import pytest
from support.commands import of_home
from support.event_files import training
from support.hostile import HOSTILE, harmless
from support.waiting import wait_until

from grpotui.text import inert, inert_lines

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.runs import Home

ALL = b" ".join(HOSTILE.values())
TEXTS = {name: piece.decode("utf-8", "replace") for name, piece in HOSTILE.items()}
KEYS = [piece for piece in HOSTILE.values() if len(piece) < 1000]
TITLES = [piece for piece in KEYS if b"\0" not in piece]


def on_terminal(home: Home, *words: str | bytes) -> tuple[int, str]:
    """Exit code and all that `grpotui WORDS` writes to a terminal."""
    master, slave = pty.openpty()
    attributes = termios.tcgetattr(slave)
    attributes[1] &= ~termios.OPOST  # newlines as they are written
    termios.tcsetattr(slave, termios.TCSANOW, attributes)
    written = bytearray()

    def read() -> None:
        try:
            while block := os.read(master, 1 << 16):
                written.extend(block)
        except OSError:  # the end of a terminal that nobody holds any more
            return

    reader = threading.Thread(target=read)
    reader.start()
    try:
        command = [*home.command(), *words]
        code = subprocess.run(
            command, env=home.environment, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, timeout=60, check=False
        ).returncode
    finally:
        os.close(slave)
        reader.join(20)
        os.close(master)
    return code, written.decode()


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_line_is_made_harmless(text: str) -> None:
    assert inert(text).isprintable()
    assert len(inert(text)) == len(text)
    assert inert_lines(f"{text}\n{text}") == f"{inert(text)}\n{inert(text)}"


def verl() -> bytes:
    keys = (b"actor/%b/x:0.5" % piece for piece in HOSTILE.values())
    lines = (b"%b step:%d - actor/lr:1e-06 - %b\n" % (piece, at, piece) for at, piece in enumerate(HOSTILE.values()))
    return ALL + b"\nstep:1 - critic/rewards/mean:0.5 - " + b" - ".join(keys) + b"\n" + b"".join(lines)


def verl_rows() -> bytes:
    data = {"actor/lr": 0.5, **{f"actor/{text}": 0.5 for text in TEXTS.values()}}
    return json.dumps({"step": 1, "data": data}).encode() + b"\n"


def trl() -> bytes:
    keys = b", ".join(b"'rewards/%b/mean': 0.5" % piece for piece in KEYS if b"\r" not in piece)
    return ALL + b"\n{'loss': 0.5, 'reward': 0.5, %b, 'epoch': 1.0}\n" % keys


def trainer_state() -> bytes:
    entry = {"loss": 0.5, "step": 1, **{f"rewards/{piece.decode(errors='replace')}/mean": 0.5 for piece in KEYS}}
    return json.dumps({"global_step": 1, "max_steps": 2, "log_history": [entry]}, indent=1).encode()


def events() -> bytes:
    return training(["train/loss", *(f"a/{text[:1000]}" for text in TEXTS.values())], range(1, 4))


def easyr1_rows() -> bytes:
    return json.dumps({"step": 1, "reward": {"overall": 0.5, **dict.fromkeys(TEXTS.values(), 0.5)}}).encode() + b"\n"


def unknown() -> bytes:
    return ALL + b"\n"


SOURCES: dict[str, Callable[[], bytes]] = {
    "verl.log": verl,
    "verl.jsonl": verl_rows,
    "trl.log": trl,
    "trainer_state.json": trainer_state,
    "events.out.tfevents.1": events,
    "easyr1.jsonl": easyr1_rows,
    "unknown.log": unknown,
}
COMMANDS = (
    ("replay",),
    ("replay", "--plain"),
    ("replay", "--json"),
    ("replay", "--at", "1"),
    ("export", "--to", "jsonl"),
    ("export", "--to", "csv"),
)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("name", SOURCES)
def test_a_log(home: Home, tmp_path: Path, name: str, words: tuple[str, ...]) -> None:
    """Records, keys, what it begins with; and its own name."""
    folder = os.fsencode(tmp_path) + b"/" + b" ".join(TITLES).replace(b"/", b"")[:200]
    os.mkdir(folder)
    path = folder + b"/" + name.encode()
    with open(path, "wb") as file:
        file.write(SOURCES[name]())
    code, text = on_terminal(home, words[0], path, *words[1:])
    assert harmless(text.replace("\r\n", "\n") if "csv" in words else text)
    assert "Traceback" not in text
    if name == "unknown.log" or (name == "trl.log" and "--at" in words):  # no records, or none that tells its step
        assert code == (2 if words[0] == "export" or "--at" in words else 0)
        return
    assert code == 0, text[:2000]
    if words[0] == "export":
        assert "0.5" in text or "loss" in text


LEAVE = """
import ctypes, os, sys
pieces = [bytes.fromhex(word) for word in open(sys.argv[1]).read().split()]
titles = [piece for piece in pieces if b"\\0" not in piece and len(piece) < 1000]
for number, title in enumerate(titles):
    if os.fork() == 0:
        os.setsid()
        os.execv("/bin/sleep", [title + b"\\nrank 0 exited 0", b"1000"])
os.write(2, b"\\n".join(pieces) + b"\\n")
for number, piece in enumerate(pieces, 1):
    os.write(1, piece + b" step:%d - critic/rewards/mean:0.5 - a/%b:0.5\\n" % (number, piece))
    os.write(1, b"step:%d - critic/rewards/mean:0.5 - a/%b:0.5\\n" % (number, piece[:300]))
os.write(2, b" ".join(pieces[-6:-1]))
os._exit(3)
"""


def test_a_run(home: Home) -> None:
    """Steps, last words, the titles of processes that it leaves behind, by every front end."""
    pieces = home.path.with_name("pieces")
    pieces.write_text(" ".join(piece.hex() for piece in HOSTILE.values()))
    argv = json.dumps(["{grpotui_python}", "-I", "-S", "-c", LEAVE, str(pieces)])
    profile = home.profile(
        f'name = "hostile"\nframework = "verl"\n[launch]\nmode = "ranks"\nnproc = 1\nargv = {argv}\n'
        'leftovers = "keep"\nleftover_grace_seconds = 0.3\n'
    )
    code, text = on_terminal(home, "launch", profile, "--plain")
    assert (code, harmless(text)) == (3, True)
    assert "step 1 " in text
    assert "end of" in text
    assert "rank 0 exited 0" not in text.splitlines()
    assert sum("still alive: pid" in line for line in text.splitlines()) >= len(TITLES)
    run = next(home.path.glob("runs/*")).name
    fronts: tuple[tuple[str, ...], ...] = (
        ("runs",), ("status", run), ("status", run, "--json"), ("attach", run, "--plain"), ("attach", run, "--json"),
        ("replay", run, "--plain"), ("replay", run, "--at", "1"), ("export", run, "--to", "jsonl"),
    )  # fmt: skip
    for words in fronts:
        _, text = on_terminal(home, *words)
        assert harmless(text), words
        assert "rank 0 exited 0" not in text.splitlines()
        assert "Traceback" not in text
    assert home.run("stop", run, "--now").returncode == 0
    wait_until(lambda: not of_home(home), what="an end of everything")


WORDS = (
    ("status", "{}"), ("launch", "{}"), ("replay", "{}"), ("export", "{}", "--to", "csv"), ("stop", "{}"),
    ("attach", "{}"), ("{}",), ("status", "--{}"), ("replay", "x", "--at", "{}"), ("launch", "demo", "--set", "{}"),
    ("launch", "demo", "--set", "{}=1"), ("export", "x", "--to", "{}"), ("runs", "-n", "{}"),
)  # fmt: skip


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_a_word_of_the_command_line(home: Home, words: tuple[str, ...]) -> None:
    hostile = b" ".join(TITLES)
    code, text = on_terminal(home, *(word.encode().replace(b"{}", hostile) for word in words))
    assert code == 2, text
    assert harmless(text)


def test_a_profile(home: Home) -> None:
    """Its mistakes are shown with the lines that they are in."""
    for piece in (piece.decode(errors="replace") for piece in KEYS[::3]):
        shown = json.dumps(piece)
        text = f'name = {shown}\nframework = {shown}\n{shown} = 1\n# {piece}\n[launch]\nmode = "{piece}"\n'
        code, said = on_terminal(home, "launch", home.profile(text))
        assert code == 2, said
        assert harmless(said)
