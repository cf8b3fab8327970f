"""A profile: what to start, how to end it, and what the run is held to. Values only.

The checks that a type cannot say are in `profile_rules`; reading a file is `grpotui_supervisor.profiles`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from grpotui_supervisor.model.checking import bounds

Framework = Literal[
    "auto",
    "verl",
    "trl",
    "ms-swift",
    "unsloth",
    "axolotl",
    "llama-factory",
    "verl-agent",
    "ragen",
    "tinyzero",
    "logic-rl",
    "rllm",
    "slime",
    "miles",
    "openrlhf",
    "easyr1",
    "prime-rl",
    "nemo-rl",
    "areal",
    "roll",
    "skyrl",
    "open-instruct",
    "torchtune",
    "torchforge",
    "oat",
    "minimind",
]
Mode = Literal["ranks", "command"]
Leftovers = Literal["stop", "keep"]
Busy = Literal["warn", "refuse"]

_SPAN = re.compile(r"([1-9][0-9]{0,5})([smh])")
_UNITS = MappingProxyType({"s": 1.0, "m": 60.0, "h": 3600.0})
# Far above the GPUs of any machine: a number put in the wrong place must not become that many processes.
_MOST_RANKS = 1024


def span_seconds(text: str) -> float | None:
    """Seconds of `90s`, `30m` or `2h`; None: it is none of these."""
    found = _SPAN.fullmatch(text)
    return None if found is None else int(found[1]) * _UNITS[found[2]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How the job starts and how it is brought to an end. All times are in seconds."""

    mode: Mode
    """`ranks`: grpotui starts `nproc` processes; `command`: one driver, which starts its own workers."""
    argv: tuple[str, ...] = field(metadata=bounds(filled=True))
    """The words of one rank or of the driver, with placeholders (`placeholders.NAMES`)."""
    nproc: int | None = field(default=None, metadata=bounds(minimum=1, maximum=_MOST_RANKS))
    """Number of ranks; set exactly when `mode` is `ranks`."""
    python: tuple[str, ...] = field(default=("python",), metadata=bounds(filled=True, one_word=True))
    """The words that start the training interpreter; may hold `{grpotui_python}` and `{profile_dir}`."""
    cwd: str | None = field(default=None, metadata=bounds(filled=True))
    """Working directory of the job; None: that of the `launch` command."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment variables added to those of the `launch` command."""
    grace_seconds: float = field(default=10.0, metadata=bounds(minimum=0))
    """Seconds that the other ranks get to end by themselves after a failure."""
    teardown_grace_seconds: float = field(default=300.0, metadata=bounds(minimum=0))
    """Longest time in seconds that a peer still saving after complete training is spared."""
    leftover_grace_seconds: float = field(default=30.0, metadata=bounds(minimum=0))
    """Seconds that other processes of the run may outlive its ranks."""
    leftovers: Leftovers = "stop"
    """What happens to them then: `stop` ends them, `keep` lists and watches them."""
    interrupt_seconds: float = field(default=10.0, metadata=bounds(minimum=0))
    """Seconds from INT to TERM in a stop that was asked for."""
    terminate_seconds: float = field(default=10.0, metadata=bounds(minimum=0))
    """Seconds from TERM to KILL in every stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Companion:
    """A helper process with its own lifetime, such as an inference or reward server."""

    argv: tuple[str, ...] = field(metadata=bounds(filled=True))
    """Its words, with placeholders."""
    cwd: str | None = field(default=None, metadata=bounds(filled=True))
    """Working directory; None: that of the `launch` command."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment variables added to those of the `launch` command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect:
    """What the finished run is held to."""

    steps: int | None = field(default=None, metadata=bounds(minimum=1))
    """Optimizer steps that the log must show; None: not asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpus:
    """Which devices belong to the run."""

    devices: tuple[int | str, ...] | None = None
    """NVML indices, or UUIDs, or beginnings of them; None: those of CUDA_VISIBLE_DEVICES, else all; empty: none."""
    busy: Busy = "warn"
    """What happens when one of them is not idle, or a live run's: `warn` says so, `refuse` starts nothing."""
    wait: str | None = None
    """How long the start waits until all of them are idle and no live run's: `90s`, `30m`, `2h`; None: not at all."""
    cards: str | None = field(default=None, metadata=bounds(filled=True))
    """The cards that the profile is made for, `4x32GB`: what it is planned for away from them."""
    host: str | None = field(default=None, metadata=bounds(filled=True))
    """Memory of their host: `128GB`."""

    @property
    def wait_seconds(self) -> float | None:
        """`wait` in seconds."""
        return None if self.wait is None else span_seconds(self.wait)


@dataclass(frozen=True, slots=True, kw_only=True)
class Logs:
    """What the log reader cannot learn from the log."""

    logging_steps: int | None = field(default=None, metadata=bounds(minimum=1))
    """Optimizer steps from one log line to the next; None: taken from the log."""
    samples: tuple[str, ...] = ()
    """Folders or files that the trainer dumps samples to, from the job's working directory; may hold `{run_dir}` and
    `{profile_dir}`."""
    verl_file_logger: bool = False
    """Whether verl's `file` logger is added to the job: full precision, and its own numbers of the steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """What the hook in the training interpreter records; without any of it the hook is not there at all."""

    phases: bool = False
    """TRL's timed sections, transformers' steps, metrics before they are rounded, checkpoints."""
    torch_memory: bool = False
    """What torch's allocator holds of each device."""
    parameters: bool = False
    """Digests of a few trainable parameters: whether the updates changed them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """What the command does not say of the model."""

    path: str | None = field(default=None, metadata=bounds(filled=True))
    """A config.json or its folder, from the profile's folder; a name on the hub; a size, `1.7B`; None: the command's.
    """
    parameters: str | None = field(default=None, metadata=bounds(filled=True))
    """Their number where it cannot be counted: `7.6B`."""
    thinking: bool | None = None
    """Whether it writes its thoughts before an answer, which takes a thousand tokens and more; None: told by its name.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """The data set, where the command does not say it."""

    train: tuple[str, ...] = field(default=(), metadata=bounds(one_word=True))
    """Files or folders, from the profile's folder; may hold `{profile_dir}`. Empty: those of the command."""
    validation: tuple[str, ...] = field(default=(), metadata=bounds(one_word=True))
    """The same, of the validation."""
    prompt: str | None = field(default=None, metadata=bounds(filled=True))
    """Column of the prompts; None: the framework's."""
    answer: str | None = field(default=None, metadata=bounds(filled=True))
    """Column of the right answers, `reward_model.ground_truth`; None: sought among the usual names."""
    rows: int | None = field(default=None, metadata=bounds(minimum=1))
    """Of the training data, for a plan where the files are not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardSample:
    """An answer to try the reward function on."""

    answer: str
    """What the model could write."""
    ground_truth: str | None = None
    """The right answer: verl's `ground_truth`; a column of this name, `solution` and `answer` for TRL."""
    prompt: str = ""
    data_source: str = ""
    """verl's."""
    columns: Mapping[str, object] = field(default_factory=dict)
    """Further columns of the data set, or verl's `extra_info`."""
    expected: float | None = None
    """The score that it should get; None: not said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reward:
    """The reward function, to be tried before the run."""

    path: str | None = field(default=None, metadata=bounds(filled=True))
    """Its file, from the profile's folder and with `{profile_dir}`, or a module: `trl.rewards`. None: the command's."""
    name: str | None = field(default=None, metadata=bounds(filled=True))
    """Of the function; None: the command's, else verl's `compute_score`."""
    chat: bool = False
    """Whether prompts and answers are lists of messages (TRL)."""
    samples: tuple[RewardSample, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One complete profile, free of mistakes."""

    name: str
    """Becomes a part of the run directory's name."""
    framework: Framework = "auto"
    """Whose log it is; `auto` is decided by the log itself."""
    launch: Launch
    companions: Mapping[str, Companion] = field(default_factory=dict)
    """By name; a name also names the companion's log directory."""
    expect: Expect = field(default_factory=Expect)
    gpus: Gpus = field(default_factory=Gpus)
    logs: Logs = field(default_factory=Logs)
    hook: Hook = field(default_factory=Hook)
    model: Model = field(default_factory=Model)
    training: Mapping[str, object] = field(default_factory=dict)
    """Settings in the framework's own words that the command does not hold: they are in a file, or in the script."""
    rollout: Mapping[str, object] = field(default_factory=dict)
    """The same, of the generation."""
    data: Data = field(default_factory=Data)
    reward: Reward = field(default_factory=Reward)
    versions: Mapping[str, str] = field(default_factory=dict)
    """By the name of a package, or `python`: the version that the profile was made with."""
