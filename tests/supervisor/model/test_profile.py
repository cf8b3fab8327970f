import dataclasses
import tomllib

import pytest

from grpotui_supervisor.model.checking import check
from grpotui_supervisor.model.positions import spelled
from grpotui_supervisor.model.profile import (
    Companion,
    Data,
    Expect,
    Gpus,
    Launch,
    Logs,
    Model,
    Profile,
    RewardSample,
)
from grpotui_supervisor.model.profile_rules import RULES

RANKS = 'name = "p"\nlaunch.mode = "ranks"\nlaunch.nproc = 2\nlaunch.argv = ["{python}", "t.py"]\n'
COMMAND = 'name = "p"\nlaunch.mode = "command"\nlaunch.argv = ["{python}", "t.py"]\n'
NAME_FORM = "must be 1 to 64 characters of a-z, 0-9, '.', '_', '-', the first a letter or digit"


def problems(text: str) -> list[str]:
    profile, found = check(Profile, tomllib.loads(text), rules=RULES)
    assert (profile is None) == bool(found)
    return [f"{spelled(problem.path)}: {problem.message}" for problem in found]


def test_the_smallest_profile_has_these_defaults() -> None:
    profile, found = check(Profile, tomllib.loads(RANKS), rules=RULES)
    assert not found
    assert profile == Profile(
        name="p",
        framework="auto",
        launch=Launch(
            mode="ranks",
            argv=("{python}", "t.py"),
            nproc=2,
            python=("python",),
            cwd=None,
            env={},
            grace_seconds=10.0,
            teardown_grace_seconds=300.0,
            leftover_grace_seconds=30.0,
            leftovers="stop",
            interrupt_seconds=10.0,
            terminate_seconds=10.0,
        ),
        companions={},
        expect=Expect(steps=None),
        gpus=Gpus(devices=None, busy="warn", wait=None),
        logs=Logs(logging_steps=None),
        model=Model(path=None, parameters=None, thinking=None),
        training={},
        rollout={},
    )


def test_a_full_profile_is_kept_as_written() -> None:
    text = """
        name = "full.p_1-a"
        framework = "verl"
        launch = { mode = "command", argv = ["{python}", "a={b}"], python = ["uv", "run", "python"], cwd = "w" }
        companions.judge-1 = { argv = ["{python}", "serve"], cwd = "j", env = { RANK = "0" } }
        expect.steps = 2
        gpus.devices = [0, "GPU-1"]
        logs.logging_steps = 5
        gpus.cards = "4 x 32GB"
        gpus.host = "128GiB"
        model = { path = "Qwen/Qwen3-4B", parameters = "4B", thinking = true }
        data = { train = "a.parquet", answer = "reward_model.ground_truth", rows = 7473 }
        reward = { path = "r.py", name = "score", samples = [{ answer = "4", ground_truth = "4", expected = 1 }] }
        versions = { trl = "0.26.0" }
        training.any = 1
        rollout.thing = "x"
    """
    profile, found = check(Profile, tomllib.loads(text), rules=RULES)
    assert not found
    assert profile is not None
    assert profile.launch.python == ("uv", "run", "python")
    assert profile.companions == {
        "judge-1": Companion(argv=("{python}", "serve"), cwd="j", env={"RANK": "0"}),
    }
    assert profile.gpus.devices == (0, "GPU-1")
    assert (profile.gpus.cards, profile.gpus.host) == ("4 x 32GB", "128GiB")
    assert profile.model == Model(path="Qwen/Qwen3-4B", parameters="4B", thinking=True)
    assert profile.data == Data(train=("a.parquet",), answer="reward_model.ground_truth", rows=7473)
    assert profile.reward.samples == (RewardSample(answer="4", ground_truth="4", expected=1.0),)
    assert profile.versions == {"trl": "0.26.0"}
    assert (profile.training, profile.rollout) == ({"any": 1}, {"thing": "x"})


def test_a_profile_cannot_be_changed() -> None:
    profile, _ = check(Profile, tomllib.loads(RANKS), rules=RULES)
    assert profile is not None
    with pytest.raises(dataclasses.FrozenInstanceError):
        profile.launch.nproc = 3  # type: ignore[misc]


@pytest.mark.parametrize("name", ["a", "0", "a" * 64, "qwen2.5-7b_x"])
def test_a_name_that_can_be_a_directory(name: str) -> None:
    assert problems(RANKS.replace('"p"', f'"{name}"')) == []


@pytest.mark.parametrize("name", ["", "a" * 65, "A", ".a", "-a", "..", "a/b", "a b", "é", "a\\n"])
def test_a_name_that_cannot_be_a_directory(name: str) -> None:
    shown = tomllib.loads(f'n = "{name}"')["n"]
    shown = repr(shown) if len(shown) < 60 else repr(shown)[:58] + "…'"
    assert problems(RANKS.replace('"p"', f'"{name}"')) == [f"name: {NAME_FORM}, got {shown}"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("launch.env.MASTER_ADDR = 'node-0'", None),
        ("launch.env.MASTER_PORT = '29500'", None),
        ("launch.env.GRPOTUI_DEMO_FAULT = 'nan'", None),
        ("launch.env._x1 = ''", None),
        ("launch.env.RANK = '0'", "launch.env.RANK: set by grpotui; remove it"),
        ("launch.env.LOCAL_RANK = '0'", "launch.env.LOCAL_RANK: set by grpotui; remove it"),
        ("launch.env.WORLD_SIZE = '0'", "launch.env.WORLD_SIZE: set by grpotui; remove it"),
        ("launch.env.LOCAL_WORLD_SIZE = '0'", "launch.env.LOCAL_WORLD_SIZE: set by grpotui; remove it"),
        ("launch.env.GRPOTUI_RUN = '0'", "launch.env.GRPOTUI_RUN: set by grpotui; remove it"),
        ("launch.env.MASTER_PORT = '0'", "launch.env.MASTER_PORT: must be a port from 1 to 65535, got '0'"),
        ("launch.env.MASTER_PORT = '65536'", "launch.env.MASTER_PORT: must be a port from 1 to 65535, got '65536'"),
        ("launch.env.MASTER_PORT = ' 1'", "launch.env.MASTER_PORT: must be a port from 1 to 65535, got ' 1'"),
        ("launch.env.MASTER_PORT = '１'", "launch.env.MASTER_PORT: must be a port from 1 to 65535, got '１'"),  # noqa: RUF001
        (
            "launch.env.'A-B' = '1'",
            "launch.env.A-B: not a name for an environment variable: use A-Z, a-z, 0-9 and _",
        ),
        ('launch.env.A = "\\u0000"', "launch.env.A: must not contain a NUL character"),
        ("launch.grace_seconds = -1", "launch.grace_seconds: must be at least 0, got -1"),
        ("launch.interrupt_seconds = nan", "launch.interrupt_seconds: must be a finite number, got nan"),
        (
            "launch.leftovers = 'kep'",
            "launch.leftovers: expected one of 'stop', 'keep', got the string 'kep'; did you mean 'keep'?",
        ),
        ("launch.cwd = ''", "launch.cwd: must not be empty"),
        ("launch.python = ''", "launch.python[0]: the first word names the program and must not be empty"),
        ("launch.python = []", "launch.python: must not be empty"),
        ("launch.python = ['env', '{python}']", "launch.python[1]: {python} cannot stand for itself"),
        ("launch.python = ['{grpotui_python}']", None),
        ("launch.python = '{profile_dir}/my venv/bin/python'", None),
        (
            "launch.python = 'uv run python'",
            'launch.python[0]: \'uv run python\' is one word, and no shell splits it: write "uv", "run", "python"',
        ),
        ("companions.judge.argv = []", "companions.judge.argv: must not be empty"),
        ("companions.judge = {}", "companions.judge.argv: required key is missing"),
        (
            "companions.judge.argv = ['']",
            "companions.judge.argv[0]: the first word names the program and must not be empty",
        ),
        ("companions.Judge.argv = ['a']", f"companions.Judge: a companion's name {NAME_FORM}"),
        ("companions.driver.argv = ['a']", "companions.driver: this name is taken by the driver of the job"),
        (
            "companions.0.argv = ['a']",
            "companions.0: a companion's name must not be a number: its logs would be taken for those of a rank",
        ),
        ("gpus.devices = []", None),
        ("gpus.devices = [0, -1]", "gpus.devices[1]: must be an index from 0 or a UUID, got -1"),
        ("gpus.devices = [0, 1, 0]", "gpus.devices[2]: 0 is listed twice"),
        ("gpus.busy = 'refuse'\ngpus.wait = '30m'", None),
        ("gpus.wait = '90s'", None),
        ("gpus.wait = '2h'", None),
        (
            "gpus.busy = 'refus'",
            "gpus.busy: expected one of 'warn', 'refuse', got the string 'refus'; did you mean 'refuse'?",
        ),
        ("gpus.wait = '0s'", 'gpus.wait: must be a time such as "90s", "30m" or "2h", got \'0s\''),
        ("gpus.wait = '30'", 'gpus.wait: must be a time such as "90s", "30m" or "2h", got \'30\''),
        ("gpus.wait = '1.5h'", 'gpus.wait: must be a time such as "90s", "30m" or "2h", got \'1.5h\''),
        ("gpus.wait = 30", "gpus.wait: expected a string, got the integer 30"),
        ("gpus.devices = [0.5, 0.5]", "gpus.devices[0]: expected an integer or a string, got the number 0.5"),
        ("gpus.cards = '8x80GB'\ngpus.host = '1TiB'", None),
        ("gpus.cards = '4'", 'gpus.cards: must be cards such as "4x32GB" or "8x80GiB", got \'4\''),
        ("gpus.cards = '0x32GB'", 'gpus.cards: must be cards such as "4x32GB" or "8x80GiB", got \'0x32GB\''),
        ("gpus.cards = '4x0GB'", 'gpus.cards: must be cards such as "4x32GB" or "8x80GiB", got \'4x0GB\''),
        ("gpus.card = '4x32GB'", "gpus.card: unknown key; did you mean 'cards'?"),
        ("gpus.host = 128", "gpus.host: expected a string, got the integer 128"),
        ("gpus.host = '128'", 'gpus.host: must be a size such as "128GB" or "128GiB", got \'128\''),
        ("model.paht = 'x'", "model.paht: unknown key; did you mean 'path'?"),
        ("model.parameters = '7'", 'model.parameters: must be a number such as "7.6B" or "600M", got \'7\''),
        ("data.train = 'a.jsonl'\ndata.validation = ['b', 'c']", None),
        ("data.row = 1", "data.row: unknown key; did you mean 'rows'?"),
        ("data.rows = 0", "data.rows: must be at least 1, got 0"),
        ("reward.name = 'my-score'", "reward.name: must be the name of a function, got 'my-score'"),
        ("reward.samples = [{}]", "reward.samples[0].answer: required key is missing"),
        (
            "reward.samples = [{ answer = '1', expects = 1 }]",
            "reward.samples[0].expects: unknown key; did you mean 'expected'?",
        ),
        ("versions.trl = 1", "versions.trl: expected a string, got the integer 1"),
        ("expect.steps = 0", "expect.steps: must be at least 1, got 0"),
        ("logs.logging_steps = 0", "logs.logging_steps: must be at least 1, got 0"),
    ],
)
def test_one_line_more(line: str, expected: str | None) -> None:
    assert problems(RANKS + line)[:1] == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (COMMAND, []),
        (COMMAND + "launch.env.RANK = '0'\nlaunch.env.GRPOTUI_X = '1'", []),
        (
            COMMAND + "launch.nproc = 2",
            ["launch.nproc: only for mode 'ranks': in mode 'command' the driver starts its own workers"],
        ),
        (
            RANKS.replace("launch.nproc = 2", ""),
            ["launch.nproc: required key is missing: mode 'ranks' needs the number of ranks"],
        ),
        (RANKS.replace("= 2", "= 0"), ["launch.nproc: must be at least 1, got 0"]),
        (RANKS.replace("= 2", "= 2000"), ["launch.nproc: must be at most 1024, got 2000"]),
        (RANKS.replace('["{python}", "t.py"]', "[]"), ["launch.argv: must not be empty"]),
        (
            RANKS.replace("{python}", "python t.py"),
            ['launch.argv[0]: \'python t.py\' is one word, and no shell splits it: write "python", "t.py"'],
        ),
        (
            RANKS.replace("t.py", "-x={python}") + "launch.python = ['uv', 'run']\ncompanions.c.argv = ['{python}x']",
            [
                "launch.argv[1]: {python} stands for 2 words (uv run) and cannot be a part of the word '-x={python}'",
            ],
        ),
        (
            RANKS + "launch.python = ['uv', 'run']\ncompanions.c.argv = ['a', '{python}x']",
            ["companions.c.argv[1]: {python} stands for 2 words (uv run) and cannot be a part of the word '{python}x'"],
        ),
        ("name = 'p'", ["launch: required key is missing"]),
        (
            "name = 'p'\n[launch]\nenv = { RANK = 1, 'x y' = 'z' }\nmode = 'ranks'\nnproc = 1\nargv = 'a'",
            [
                "launch.argv: expected an array of strings, got the string 'a'",
                "launch.env.RANK: expected a string, got the integer 1",
                "launch.env.'x y': not a name for an environment variable: use A-Z, a-z, 0-9 and _",
                "launch.env.RANK: set by grpotui; remove it",
            ],
        ),
    ],
)
def test_whole_profiles(text: str, expected: list[str]) -> None:
    assert problems(text) == expected


@pytest.mark.parametrize(
    ("wait", "seconds"), [("90s", 90.0), ("30m", 1800.0), ("2h", 7200.0), (None, None), ("999999h", 3599996400.0)]
)
def test_how_long_gpus_are_waited_for(wait: str | None, seconds: float | None) -> None:
    assert Gpus(wait=wait).wait_seconds == seconds
