"""Every error that a user can cause, and the exit code it ends a command with.

```
GrpotuiError                  1
├── UsageError                2   a wrong command line, profile, run id or directory
│   ├── ProfileError          2   every mistake of a profile at once, each with its place
│   └── PlanError             2   what cannot be computed of a model or a machine, and what is missing for it
├── RunDirectoryError         2   a root or run directory that must not be used
├── PreflightError            3   what the run needs is not there, so nothing was started
├── StartError              125   the shim could not be brought up: nothing of the job was started
├── SchemaError               2   a record written by a newer grpotui
└── GpuUnavailable            1   GPUs cannot be read, and why
```

A message says what was tried and what was found; `hint` says what to do next. One place prints both:
`grpotui.cli`.
"""


class GrpotuiError(Exception):
    """Base of all errors that are shown as one message, never as a traceback."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(GrpotuiError):
    """What the user named does not exist, is ambiguous, or cannot be meant."""

    exit_code = 2


class ProfileError(UsageError):
    """All mistakes of one profile; `problems` holds one printable block for each."""

    def __init__(self, message: str, *, problems: tuple[str, ...] = (), hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.problems = problems


class PlanError(UsageError):
    """A model or a machine of which something cannot be computed: nothing is guessed in its place."""


class RunDirectoryError(GrpotuiError):
    """A state root or run directory is unsafe (foreign, symlinked, group-writable) or cannot be written."""

    exit_code = 2


class PreflightError(GrpotuiError):
    """What the run needs is not there, such as its GPUs: nothing of it was started."""

    exit_code = 3


class StartError(GrpotuiError):
    """The shim did not come up, so no process of the job was started."""

    exit_code = 125


class SchemaError(GrpotuiError):
    """A record's schema is higher than this version can read."""

    exit_code = 2


class GpuUnavailable(GrpotuiError):  # noqa: N818  (a state of the machine that most callers record)
    """The driver's library is missing, does not fit the driver, or does not answer.

    `may_pass`: the same process could succeed later, as when the driver's module is loaded.
    """

    def __init__(self, message: str, *, hint: str | None = None, may_pass: bool = True) -> None:
        super().__init__(message, hint=hint)
        self.may_pass = may_pass
