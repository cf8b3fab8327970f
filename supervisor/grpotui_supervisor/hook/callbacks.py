"""What transformers tells its callbacks: steps, metrics before they are rounded, checkpoints, the end."""

from __future__ import annotations

import functools
import os

from .parameters import look_at_parameters
from .record import WANTED, guarded, record
from .sections import time_method
from .torch_memory import look_at_memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_MOST_METRICS = 2000


def patch_trainer(module: Any) -> None:  # noqa: ANN401
    """`transformers.trainer`: what takes long outside of the steps."""
    for name in ("_save_checkpoint", "save_model", "evaluate"):
        guarded(time_method)(module.Trainer, name)


def patch_handler(module: Any) -> None:  # noqa: ANN401
    """`transformers.trainer_callback`: the one place through which every event goes, whatever callbacks there are."""
    for name, event in _EVENTS.items():
        guarded(_tell_first)(module.CallbackHandler, name, guarded(event))


def _tell_first(owner: type, name: str, event: Callable[..., None]) -> None:
    original = owner.__dict__[name]

    @functools.wraps(original)
    def told(self: Any, args: Any, state: Any, *more: Any, **named: Any) -> Any:  # noqa: ANN401
        event(self, args, state, *more, **named)
        return original(self, args, state, *more, **named)

    setattr(owner, name, told)


def _tell(ev: str, **fields: Any) -> None:  # noqa: ANN401
    if "phases" in WANTED:
        record.write(ev, fields)


def _train_begin(handler: Any, _args: Any, state: Any, *_: Any) -> None:  # noqa: ANN401
    _tell("train_begin", step=state.global_step, max_steps=state.max_steps, leads=bool(state.is_world_process_zero))
    look_at_parameters(handler.model, state.global_step, "train_begin")


def _step_begin(_handler: Any, _args: Any, state: Any, *_: Any) -> None:  # noqa: ANN401
    _tell("step_begin", step=state.global_step)


def _step_end(handler: Any, _args: Any, state: Any, *_: Any) -> None:  # noqa: ANN401
    _tell("step_end", step=state.global_step)
    look_at_memory()
    look_at_parameters(handler.model, state.global_step, "step_end")


def _log(_handler: Any, _args: Any, state: Any, _control: Any, logs: Any = None, **_: Any) -> None:  # noqa: ANN401
    if logs and state.is_world_process_zero:  # the others hold the same averages
        numbers = {str(key)[:200]: _number(value) for key, value in list(logs.items())[:_MOST_METRICS]}
        _tell("log", step=state.global_step, logs={key: value for key, value in numbers.items() if value != ""})


def _save(_handler: Any, args: Any, state: Any, *_: Any) -> None:  # noqa: ANN401
    path = os.path.abspath(os.path.join(str(args.output_dir), f"checkpoint-{state.global_step}"))
    _tell("save", step=state.global_step, path=path)


def _train_end(handler: Any, _args: Any, state: Any, *_: Any) -> None:  # noqa: ANN401
    _tell("train_end", step=state.global_step, max_steps=state.max_steps)
    look_at_parameters(handler.model, state.global_step, "train_end")


def _number(value: Any) -> float | str | None:  # noqa: ANN401
    """As JSON can say it: what is not finite is a word, and what is no number is empty."""
    if value is None:
        return None
    if not isinstance(value, (int, float)) and type(value).__module__ != "numpy":
        return ""
    number = float(value)
    return number if number - number == 0 else str(number)


_EVENTS: dict[str, Callable[..., None]] = {
    "on_train_begin": _train_begin,
    "on_step_begin": _step_begin,
    "on_step_end": _step_end,
    "on_log": _log,
    "on_save": _save,
    "on_train_end": _train_end,
}
