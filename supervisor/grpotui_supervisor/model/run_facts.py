"""The types of what readers rely on in run.json. What is not named here may hold anything."""

from typing import Annotated, Literal

import msgspec


class _Launch(msgspec.Struct):
    mode: str = "ranks"
    grace_seconds: float = 10.0


class _Expect(msgspec.Struct):
    steps: int | None = None


class _Logs(msgspec.Struct):
    logging_steps: int | None = None
    samples: list[str] = msgspec.field(default_factory=list)


class _Profile(msgspec.Struct):
    framework: str = "auto"
    launch: _Launch = msgspec.field(default_factory=_Launch)
    expect: _Expect = msgspec.field(default_factory=_Expect)
    logs: _Logs = msgspec.field(default_factory=_Logs)


class _Host(msgspec.Struct):
    hostname: str = ""
    boot: str = ""
    pidns: str = ""


class _Log(msgspec.Struct):
    path: str
    member: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]+$")]
    stream: Literal["stdout", "stderr"]
    packed: bool


class _Attached(msgspec.Struct):
    logs: list[_Log]
    quiet_seconds: float = 86400.0


class _Member(msgspec.Struct):
    member: str
    rank: int | None
    role: str
    cwd: str | None = None


class _Facts(msgspec.Struct):
    schema: int
    node: str = "node-0"
    cwd: str | None = None
    profile_path: str = ""
    wrapped: bool = False
    host: _Host = msgspec.field(default_factory=_Host)
    members: list[_Member] = msgspec.field(default_factory=list)
    profile: _Profile = msgspec.field(default_factory=_Profile)
    attached: _Attached | msgspec.UnsetType = msgspec.UNSET
    metrics_members: list[str] | msgspec.UnsetType = msgspec.UNSET


def fault(document: object) -> str | None:
    """Why the document cannot be read as a run's facts, with the place in it; None: it can."""
    try:
        msgspec.convert(document, _Facts)
    except msgspec.ValidationError as error:
        return str(error)
    return None
