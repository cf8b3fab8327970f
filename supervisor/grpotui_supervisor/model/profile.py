"""A profile: what to start, how to end it, and what the run is held to. Values only.

The checks that a type cannot say are in `profile_rules`; reading a file is `grpotui_supervisor.profiles`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
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

# Far above the GPUs of any machine: a number put in the wrong place must not become that many processes.
_MOST_RANKS = 1024


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
    """NVML indices or UUIDs to take the idle baseline of; None: all visible ones; empty: none."""


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
    model: Mapping[str, object] = field(default_factory=dict)
    """As in the file; preflight and plan check what they use of it. So are the two below."""
    training: Mapping[str, object] = field(default_factory=dict)
    rollout: Mapping[str, object] = field(default_factory=dict)
