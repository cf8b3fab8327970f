"""Sections: what the trainer's own timers enclose, with begin and end, so that one under way is seen."""

from __future__ import annotations

import functools
import os
import sys
import threading
import time

from .record import WANTED, guarded, record
from .torch_memory import look_at_memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any, Tuple

    Token = Tuple[int, int, float]
    """Process, number of the line, and clock."""


@guarded
def begin(name: str, *, kind: str | None = None) -> Token | None:
    """Records that a section begins; returns what `end` needs."""
    number = 0
    if "phases" in WANTED:
        fields: dict[str, Any] = {"name": str(name)[:200]}
        if kind is not None:
            fields["kind"] = kind
        if threading.get_ident() != threading.main_thread().ident:
            fields["main"] = False
        number = record.write("begin", fields)
    return record.pid, number, time.perf_counter()


@guarded
def end(token: Token | None, error: type[BaseException] | None = None) -> None:
    """Records that it ends, and by which error if any."""
    if token is None or token[0] != os.getpid():  # begun in the parent of a fork, whose section it stays
        return
    if token[1]:
        fields: dict[str, Any] = {"begin": token[1], "s": round(time.perf_counter() - token[2], 9)}
        if error is not None:
            fields["error"] = error.__name__
        record.write("end", fields)
    look_at_memory()


def time_method(owner: type, name: str) -> None:
    """Makes a section of each call of a method, by the name that TRL would give it."""
    original = owner.__dict__[name]

    @functools.wraps(original)
    def timed(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        token = begin(f"{type(self).__name__}.{name}")
        try:
            result = original(self, *args, **kwargs)
        except BaseException as error:
            end(token, type(error))
            raise
        end(token)
        return result

    setattr(owner, name, timed)


def patch_profiling(module: ModuleType) -> None:
    """`trl.extras.profiling`: it times with a class since 0.27, with a generator function from 0.16 to 0.26."""
    context: Any = getattr(module, "ProfilingContext", None)
    if context is None:
        _patch_function(module)
        return
    enter, leave = context.__enter__, context.__exit__

    def entered(self: Any) -> Any:  # noqa: ANN401
        _entered(self)
        return enter(self)

    def left(self: Any, *error: Any) -> Any:  # noqa: ANN401
        _left(self, *error)
        return leave(self, *error)

    context.__enter__, context.__exit__ = entered, left


@guarded
def _entered(context: Any) -> None:  # noqa: ANN401
    context.__dict__["_grpotui"] = begin(context.name)


@guarded
def _left(context: Any, error: type[BaseException] | None = None, *_: object) -> None:  # noqa: ANN401
    end(context.__dict__.pop("_grpotui", None), error)


def _patch_function(module: Any) -> None:  # noqa: ANN401
    original = module.profiling_context

    @functools.wraps(original)
    def profiling_context(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        inner, named = original(*args, **kwargs), _named(*args, **kwargs)
        return inner if named is None else _Timed(inner, *named)

    for other in list(sys.modules.values()):  # also where it was imported before this
        if getattr(other, "__name__", "").startswith("trl") and other.__dict__.get("profiling_context") is original:
            other.__dict__["profiling_context"] = profiling_context
    module.profiling_context = profiling_context


@guarded
def _named(trainer: Any, name: str) -> tuple[str, str | None]:  # noqa: ANN401
    """The section as TRL names it, and whether it is a reward function: before 0.19 nothing else tells."""
    rewards = [getattr(function, "__name__", None) for function in getattr(trainer, "reward_funcs", ())]
    is_reward = name in rewards or name.startswith("reward ")
    return f"{type(trainer).__name__}.{name}", "reward" if is_reward else None


class _Timed:
    """A context manager of TRL's, with its begin and end on record; in all else it is that one."""

    def __init__(self, inner: Any, name: str, kind: str | None) -> None:  # noqa: ANN401
        self._inner, self._name, self._kind = inner, name, kind
        self._token: Token | None = None

    def __enter__(self) -> Any:  # noqa: ANN401
        self._token = begin(self._name, kind=self._kind)
        return self._inner.__enter__()

    def __exit__(self, *error: object) -> Any:  # noqa: ANN401
        end(self._token, error[0])
        return self._inner.__exit__(*error)

    def __call__(self, function: Callable[..., Any]) -> Any:  # noqa: ANN401
        return self._inner(function)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._inner, name)
