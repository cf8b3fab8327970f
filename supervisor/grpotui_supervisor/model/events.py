"""What rules see: recorded facts, in the order and with the times of the record."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """The limits of the run, before anything else."""

    grace_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberStarted:
    """A rank or the driver was started."""

    m: int
    member: str
    rank: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberEnded:
    """A rank or the driver ended; `clean`: with exit code 0."""

    m: int
    member: str
    clean: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What the log says of how far training is; None: it does not say."""

    m: int
    step: int | None
    steps_total: int | None
    training_complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StopAsked:
    """A person asked for the end of the run."""

    m: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Nothing happened until then."""

    m: int


Event = Launched | MemberStarted | MemberEnded | Progress | StopAsked | Clock
