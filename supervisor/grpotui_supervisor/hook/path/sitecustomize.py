"""Waits for the trainer's modules to be imported, and loads the hook's other files then; see the package's docstring.

Another sitecustomize further along the path runs as if this one were not there, and this folder is gone from sys.path
before the job's first line. A process that imports no trainer pays for one look-up in a table an import.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_PARTS = os.path.dirname(_FOLDER)
_PACKAGE = "_grpotui_hook"
_TARGETS = {
    "trl.extras.profiling": ("sections", "patch_profiling"),
    "transformers.trainer_callback": ("callbacks", "patch_handler"),
    "transformers.trainer": ("callbacks", "patch_trainer"),
}
"""Modules to patch once they have run, and the file and function that do it."""


class _Finder:
    """First on sys.meta_path: lets the others find the modules of `_TARGETS`."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:  # noqa: ANN401
        """What the first of the other finders knows."""
        if name not in _TARGETS:
            return None
        for finder in list(sys.meta_path):
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = None if find is None else find(name, path, target)
            if spec is not None:
                _patch_after(spec.loader, name)
                return spec
        return None


def _patch_after(loader: Any, name: str) -> None:  # noqa: ANN401
    try:
        execute: Callable[[ModuleType], None] = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            loader.__dict__.pop("exec_module", None)
            execute(module)
            _patch(name, module)

        loader.exec_module = exec_module
    except Exception:  # noqa: BLE001, S110  (a loader of an unknown kind: the module is left as it is)
        pass


def _patch(name: str, module: ModuleType) -> None:
    try:
        file, function = _TARGETS[name]
        getattr(_part(file), function)(module)
    except Exception:  # noqa: BLE001, S110  (whatever goes wrong in here must not reach the job)
        pass


def _part(file: str) -> ModuleType:
    """A file of the folder above, as a module of a package that no job can have."""
    import importlib.util  # noqa: PLC0415  (a process without a trainer is spared it)

    if _PACKAGE not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            _PACKAGE, os.path.join(_PARTS, "__init__.py"), submodule_search_locations=[_PARTS]
        )
        assert spec is not None  # noqa: S101
        sys.modules[_PACKAGE] = importlib.util.module_from_spec(spec)
    return importlib.import_module(_PACKAGE + "." + file)


def _install() -> None:
    if not all(os.environ.get(name) for name in ("GRPOTUI_HOOK", "GRPOTUI_RUN_DIR", "GRPOTUI_RANK")):
        return
    sys.meta_path.insert(0, _Finder())
    for name in _TARGETS:
        if name in sys.modules:
            _patch(name, sys.modules[name])


def _make_way() -> None:
    """Runs the sitecustomize that would have been found without this one; its errors are its own."""
    own = sys.modules[__name__]
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _FOLDER]
    del sys.modules[__name__]
    try:
        __import__(__name__)
    except ImportError as error:
        if error.name != __name__:
            raise
    finally:
        sys.modules.setdefault(__name__, own)


if __name__ == "sitecustomize":
    _install()
    _make_way()
