import dataclasses
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.toml_documents import Document, documents, short_strings

from grpotui_supervisor import profiles
from grpotui_supervisor.errors import ProfileError, UsageError
from grpotui_supervisor.profiles import find_profile, load_profile, shipped_profiles

GOOD = """\
# A run of two ranks.
name = "p"
framework = "trl"

[launch]
mode = "ranks"
nproc = 2
argv = ["{python}", "{profile_dir}/t.py"]

[launch.env]
OMP_NUM_THREADS = "1"
"""

Write = Callable[[str | bytes], str]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a profile `p.toml` into the working directory and return its name."""
    monkeypatch.chdir(tmp_path)

    def writing(content: str | bytes) -> str:
        Path("p.toml").write_bytes(content if isinstance(content, bytes) else content.encode())
        return "p.toml"

    return writing


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout of two shipped profiles, in a working directory without any."""
    for folder, names in (("checkout", ["demo", "trl-tiny"]), ("packaged", ["demo", "packaged"]), ("empty", [])):
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / f"{name}.toml").write_text(GOOD)
    (tmp_path / "checkout" / "trainer.py").touch()
    monkeypatch.setattr(profiles, "_CHECKOUT", str(tmp_path / "checkout"))
    monkeypatch.setattr(profiles, "_PACKAGED", str(tmp_path / "packaged"))
    monkeypatch.chdir(tmp_path / "empty")
    return tmp_path


def refused(word: str, *settings: str) -> list[str]:
    with pytest.raises(ProfileError) as raised:
        load_profile(word, settings=settings)
    found = list(raised.value.problems)
    assert str(raised.value) == f"{word}: {len(found)} problem{'s' if len(found) != 1 else ''}"
    return found


def test_a_good_profile_is_loaded_with_its_path_text_and_document(write: Write) -> None:
    loaded = load_profile(write(GOOD), settings=["launch.nproc=4"])
    assert loaded.profile.launch.nproc == 4
    assert loaded.path == os.path.abspath("p.toml")
    assert loaded.source == GOOD
    assert loaded.document == {
        "name": "p",
        "framework": "trl",
        "launch": {
            "mode": "ranks",
            "nproc": 4,
            "argv": ["{python}", "{profile_dir}/t.py"],
            "env": {"OMP_NUM_THREADS": "1"},
        },
    }


def test_many_mistakes_are_shown_at_once_in_the_order_of_the_file(write: Write) -> None:
    text = """\
framwork = "trl"
name = "My run"
expect = { steps = "20" }

[launch]
mode = "rank"
# The next one is not a process at all.
nproc = 0

[launch.env]
OMP_NUM_THREADS = 1
"A B" = ""

[companions.1]
argv = [
  "python",
  3,
]
"""
    assert "\n".join(refused(write(text))) == (
        """\
p.toml:1:1: framwork: unknown key; did you mean 'framework'?
  1 | framwork = "trl"
    | ^^^^^^^^
p.toml:2:1: name: must be 1 to 64 characters of a-z, 0-9, '.', '_', '-', the first a letter or digit, got 'My run'
  2 | name = "My run"
    | ^^^^
p.toml:3:12: expect.steps: expected an integer, got the string '20'
  3 | expect = { steps = "20" }
    |            ^^^^^
p.toml:5:2: launch.argv: required key is missing
  5 | [launch]
    |  ^^^^^^
p.toml:6:1: launch.mode: expected one of 'ranks', 'command', got the string 'rank'; did you mean 'ranks'?
  6 | mode = "rank"
    | ^^^^
p.toml:8:1: launch.nproc: must be at least 1, got 0
  8 | nproc = 0
    | ^^^^^
p.toml:11:1: launch.env.OMP_NUM_THREADS: expected a string, got the integer 1; quote it: "1"
  11 | OMP_NUM_THREADS = 1
     | ^^^^^^^^^^^^^^^
p.toml:12:1: launch.env.'A B': not a name for an environment variable: use A-Z, a-z, 0-9 and _
  12 | "A B" = ""
     | ^^^^^
p.toml:14:13: companions.1: a companion's name must not be a number: its logs would be taken for those of a rank
  14 | [companions.1]
     |             ^
p.toml:15:1: companions.1.argv[1]: expected a string, got the integer 3; quote it: "3"
  15 | argv = [
     | ^^^^"""
    )


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("", ["p.toml:1:1: name: required key is missing", "p.toml:1:1: launch: required key is missing"]),
        (
            GOOD.replace("nproc = 2", "nproc = 2\nframework = 'verl'"),
            [
                "p.toml:8:1: launch.framework: unknown key here; it belongs above all tables\n  8 | framework",
            ],
        ),
        (
            "a = [1,\nb = 2",
            ["p.toml:2:1: not valid TOML: invalid value\n  2 | b = 2\n    | ^"],
        ),
        (
            GOOD.replace('= "p"', "= p"),
            ["p.toml:2:8: not valid TOML: invalid value\n  2 | name = p\n    |        ^"],
        ),
        (
            GOOD + "X = [1\n\n",
            ["p.toml:12:7: not valid TOML: unclosed array\n  12 | X = [1\n     |       ^"],
        ),
        ("x = ", ["p.toml:1:4: not valid TOML: invalid value\n  1 | x =\n    |    ^"]),
        ('x = "', ['p.toml:1:6: not valid TOML: unterminated string\n  1 | x = "\n    |      ^']),
        (
            "name = 'p'\nname = 'q'",
            ["p.toml:2:11: not valid TOML: cannot overwrite a value\n  2 | name = 'q'\n    |           ^"],
        ),
        ("x = 1\ry = 2", ["p.toml:1:6: not valid TOML: expected newline or end of document after a statement"]),
        ("x = \x1b[2J", ["p.toml:1:5: not valid TOML: invalid value\n  1 | x = \ufffd[2J\n    |     ^"]),
        ("x = " + "[" * 5000, ["p.toml: not readable: arrays or tables are nested too deeply"]),
        ("x = " + "9" * 5000, ["p.toml: not readable: Exceeds the limit (4300 digits)"]),
    ],
)
def test_problem_blocks(write: Write, text: str, blocks: list[str]) -> None:
    found = refused(write(text))
    assert len(found) == len(blocks)
    for block, start in zip(found, blocks, strict=True):
        assert block.startswith(start)


@pytest.mark.parametrize(
    ("content", "block"),
    [
        (b"\xff\xfen\0a\0", "p.toml: a binary file, not a TOML text"),
        (b"\x7fELF\0", "p.toml: a binary file, not a TOML text"),
        (b"\xff", "p.toml:1:1: not UTF-8 text (byte 0xff); save it as UTF-8"),
        ("# é\nname = 'é'".encode("latin-1"), "p.toml:1:3: not UTF-8 text (byte 0xe9); save it as UTF-8"),
        (b"\xef\xbb\xbf# \xc3\xa9\n# \xc3\xa9\xff", "p.toml:2:4: not UTF-8 text (byte 0xff); save it as UTF-8"),
        (b"# " + b"x" * (1 << 20), "p.toml: larger than 1 MiB, so it is not a profile"),
    ],
)
def test_a_file_that_is_no_text_is_said_to_be_none(write: Write, content: bytes, block: str) -> None:
    assert refused(write(content)) == [block]


def test_byte_order_mark_and_carriage_returns_change_nothing(write: Write) -> None:
    plain = load_profile(write(GOOD))
    assert load_profile(write(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())) == plain
    broken = GOOD.replace("= 2", "= 0")
    assert refused(write(b"\xef\xbb\xbf" + broken.replace("\n", "\r\n").encode())) == refused(write(broken))


def test_a_file_of_one_mebibyte_is_read(write: Write) -> None:
    assert load_profile(write(GOOD + "#" * ((1 << 20) - len(GOOD)))).profile.name == "p"


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("launch.nproc=4", {"nproc": 4}),
        ("launch.python=/opt/venv/bin/python", {"python": ("/opt/venv/bin/python",)}),
        ("launch.python='/opt/venv/bin/python'", {"python": ("/opt/venv/bin/python",)}),
        ('launch.python=["uv", "run", "python"]', {"python": ("uv", "run", "python")}),
        ('launch.argv=["a","b"]', {"argv": ("a", "b")}),
        ("launch.cwd=some where", {"cwd": "some where"}),
        ("launch.grace_seconds=1.5", {"grace_seconds": 1.5}),
        ('launch.env.X="4"', {"env": {"OMP_NUM_THREADS": "1", "X": "4"}}),
        ("launch.env.X=a=b", {"env": {"OMP_NUM_THREADS": "1", "X": "a=b"}}),
        ('launch.env={ Y = "1" }', {"env": {"Y": "1"}}),
    ],
)
def test_a_setting_changes_one_value(write: Write, setting: str, value: dict[str, Any]) -> None:
    plain, changed = load_profile(write(GOOD)), load_profile(write(GOOD), settings=[setting])
    assert changed.profile.launch == dataclasses.replace(plain.profile.launch, **value)


@pytest.mark.parametrize(
    ("settings", "blocks"),
    [
        (["launch.nproc=0"], ["--set launch.nproc=0: must be at least 1, got 0"]),
        (["launch.nproc=four"], ["--set launch.nproc=four: expected an integer, got the string 'four'"]),
        (["launch.nprocs=4"], ["--set launch.nprocs=4: unknown key; did you mean 'nproc'?"]),
        (["launch.nproc=0", "launch.nproc=1"], []),
        (["launch.nproc=1", "launch.nproc=0"], ["--set launch.nproc=0: must be at least 1, got 0"]),
        (
            ["launch.env.X=4"],
            ["--set launch.env.X=4: expected a string, got the integer 4; quote it: --set 'launch.env.X=\"4\"'"],
        ),
        (
            ['launch.argv=["a", 3]'],
            ['--set launch.argv=["a", 3]: launch.argv[1]: expected a string, got the integer 3; quote it: "3"'],
        ),
        (["expct.steps=3"], ["--set expct.steps=3: expct: unknown key; did you mean 'expect'?"]),
        (["name.x=1"], ["--set name.x=1: name is the string 'p', not a table"]),
        (["launch.argv.0=x"], ["--set launch.argv.0=x: launch.argv is an array, not a table"]),
        (["launch.nproc"], ["--set launch.nproc: expected KEY=VALUE, found no '='"]),
        (["=1"], ["--set =1: expected KEY=VALUE, the key is empty"]),
        (["\x1b[2J"], ["--set \ufffd[2J: expected KEY=VALUE, found no '='"]),
        (
            ["launch={}"],
            [
                "--set launch={}: launch.mode: required key is missing",
                "--set launch={}: launch.argv: required key is missing",
            ],
        ),
        (["launch=3"], ["--set launch=3: expected a table, got the integer 3"]),
        (
            ["launch.mode=command"],
            [
                """\
p.toml:7:1: launch.nproc: only for mode 'ranks': in mode 'command' the driver starts its own workers
  7 | nproc = 2
    | ^^^^^""",
            ],
        ),
        (
            ["launch.nproc=0", "x", "expect.steps=0", "name.y=1"],
            [
                "--set launch.nproc=0: must be at least 1, got 0",
                "--set expect.steps=0: must be at least 1, got 0",
                "--set x: expected KEY=VALUE, found no '='",
                "--set name.y=1: name is the string 'p', not a table",
            ],
        ),
    ],
)
def test_a_mistake_in_a_setting_is_shown_with_its_word(write: Write, settings: list[str], blocks: list[str]) -> None:
    file = write(GOOD)
    if blocks:
        assert refused(file, *settings) == blocks
    else:
        load_profile(file, settings=settings)


def test_mistakes_of_the_file_come_before_those_of_settings(write: Write) -> None:
    blocks = refused(write(GOOD.replace("= 2", "= 0")), "expect.steps=0", "x")
    assert [block.split(" ")[0] for block in blocks] == ["p.toml:7:1:", "--set", "--set"]
    assert len(refused(write("x = ["), "expect.steps=0", "x")) == 2


def test_a_shipped_profile_is_found_by_its_name(shipped: Path) -> None:
    assert find_profile("demo") == str(shipped / "checkout" / "demo.toml")
    assert find_profile("demo.toml") == str(shipped / "checkout" / "demo.toml")
    assert list(shipped_profiles()) == ["demo", "trl-tiny"]
    assert load_profile("demo").path == str(shipped / "checkout" / "demo.toml")


def test_the_packaged_profiles_serve_where_there_is_no_checkout(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiles, "_CHECKOUT", str(shipped / "gone"))
    assert list(shipped_profiles()) == ["demo", "packaged"]
    assert find_profile("packaged") == str(shipped / "packaged" / "packaged.toml")


@pytest.mark.usefixtures("shipped")
def test_a_file_comes_before_a_shipped_name_and_a_directory_after_it() -> None:
    Path("demo.toml").write_text(GOOD)
    Path("trl-tiny").mkdir()
    assert find_profile("demo.toml") == "demo.toml"
    assert find_profile("trl-tiny").endswith("checkout/trl-tiny.toml")


def test_the_profiles_of_this_checkout_are_the_shipped_ones() -> None:
    root = Path(__file__).parents[2]
    assert set(shipped_profiles().values()) == {str(path) for path in (root / "profiles").glob("*.toml")}


@pytest.mark.parametrize(
    ("word", "message", "hint"),
    [
        (
            "dmo",
            "no profile 'dmo': no such file, and no shipped profile of that name in {shipped}",
            "Did you mean 'demo'? Shipped profiles: demo, trl-tiny.",
        ),
        (
            "some/trl_tiny.toml",
            "no profile 'some/trl_tiny.toml': no such file, and no shipped profile of that name in {shipped}",
            "Did you mean 'trl-tiny'? Shipped profiles: demo, trl-tiny.",
        ),
        (
            "../checkout/x",
            "no profile '../checkout/x': no such file, and no shipped profile of that name in {shipped}",
            "Shipped profiles: demo, trl-tiny.",
        ),
        (
            "",
            "no profile '': no such file, and no shipped profile of that name in {shipped}",
            "Shipped profiles: demo, trl-tiny.",
        ),
        (
            "\0\udcff",
            "no profile '\\x00\\udcff': no such file, and no shipped profile of that name in {shipped}",
            "Shipped profiles: demo, trl-tiny.",
        ),
        ("..", ".. is a directory, not a profile", "Name the .toml file in it."),
        ("gone.toml", "cannot read the profile gone.toml: No such file or directory", None),
        ("/proc/self/mem", "cannot read the profile /proc/self/mem: Input/output error", None),
    ],
)
def test_what_cannot_be_found_or_read(shipped: Path, word: str, message: str, hint: str | None) -> None:
    Path("gone.toml").symlink_to("nowhere")
    with pytest.raises(UsageError) as raised:
        load_profile(word)
    assert not isinstance(raised.value, ProfileError)
    assert str(raised.value) == message.format(shipped=shipped / "checkout")
    assert raised.value.hint == hint


def test_without_any_shipped_profile_the_hint_asks_for_a_path(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiles, "_CHECKOUT", str(shipped / "gone"))
    monkeypatch.setattr(profiles, "_PACKAGED", str(shipped / "gone"))
    with pytest.raises(UsageError) as raised:
        find_profile("demo")
    assert raised.value.hint == "No profiles are shipped with this installation: give the path of a .toml file."


def test_a_profile_may_come_through_a_pipe(tmp_path: Path) -> None:
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    writer = threading.Thread(target=Path(pipe).write_text, args=(GOOD,))
    writer.start()
    assert load_profile(pipe).profile.name == "p"
    writer.join(timeout=10)


def test_an_endless_file_is_refused() -> None:
    assert refused("/dev/urandom") == ["/dev/urandom: larger than 1 MiB, so it is not a profile"]


@pytest.fixture(scope="module")
def any_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file that each example of a property test overwrites."""
    return tmp_path_factory.mktemp("any") / "p.toml"


def only_profile_errors(file: Path, content: bytes, *settings: str) -> None:
    file.write_bytes(content)
    problems: tuple[str, ...] = ()
    try:
        load_profile(str(file), settings=settings)
    except ProfileError as error:
        problems = error.problems or ("",)
    lines = [line for block in problems for line in block.split("\n")]
    assert all(line.replace("\t", "").replace("\u3000", "").replace("\xa0", "").isprintable() for line in lines)
    assert "" not in problems


@settings(deadline=None)
@given(content=st.binary())
def test_no_bytes_raise_anything_else(any_file: Path, content: bytes) -> None:
    only_profile_errors(any_file, content)


@settings(deadline=None)
@given(document=documents(), setting=st.text())
def test_no_document_raises_anything_else(any_file: Path, document: Document, setting: str) -> None:
    only_profile_errors(any_file, document.text.encode(), setting, f"launch={setting}", f"companions.a.argv={setting}")


_KEYS = st.sampled_from(
    [
        "name",
        "launch",
        "launch.mode",
        "launch.nproc",
        "launch.argv",
        "launch.python",
        "launch.env",
        "launch.env.RANK",
        "lauch.mode",
        "model",
        "companions",
        "companions.1.argv",
        "gpus.devices",
        "expect.steps",
    ]
)
_STRINGS = st.text(max_size=9).map(lambda text: short_strings(text)[0])
_VALUES = st.one_of(
    st.sampled_from(["0", "-1", "0x" + "f" * 9999, "nan", "true", "[]", "{}", "[{ a = 1 }]", "1979-05-27", "'ranks'"]),
    _STRINGS,
    st.lists(_STRINGS, max_size=3).map(lambda words: f"[{', '.join(words)}]"),
)


@settings(deadline=None)
@given(pairs=st.dictionaries(_KEYS, _VALUES), cut=st.integers(0, 400))
@example(pairs={"launch.argv": "['{python}']", "name": "'p'", "launch.mode": "'command'"}, cut=400)
def test_no_pairs_of_known_keys_raise_anything_else(any_file: Path, pairs: dict[str, str], cut: int) -> None:
    text = "\n".join(f"{key} = {value}" for key, value in pairs.items())
    only_profile_errors(
        any_file, text.encode("utf-8", "replace")[:cut], *(f"{key}={value}" for key, value in pairs.items())
    )


def test_loading_imports_nothing_large(write: Write) -> None:
    code = (
        "import sys; from grpotui_supervisor.profiles import load_profile; load_profile('p.toml'); print(*sys.modules)"
    )
    write(GOOD)
    environment = {"PYTHONPATH": str(Path(__file__).parents[2] / "supervisor")}
    result = subprocess.run(
        [sys.executable, "-S", "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert not {"difflib", "unicodedata", "json", "asyncio", "subprocess", "click", "msgspec"} & set(
        result.stdout.split()
    )
