"""All runs of this machine and its GPUs, looked at by one thread, once a second.

What has ended is read once. Its log is read too, unless it is long: newest first, and for half of the time at most.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from grpotui.monitoring import keep_monitored
from grpotui.tui.feed.run_row import RunRow, row_of, unreadable
from grpotui_supervisor import rundir
from grpotui_supervisor.errors import GpuUnavailable, GrpotuiError
from grpotui_supervisor.gpu.baseline import Looker
from grpotui_supervisor.gpu_usage import usage_of
from grpotui_supervisor.source.now import look_now
from grpotui_supervisor.source.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from grpotui_supervisor.rundir import RunDirectory

_PERIOD_S: Final = 1.0
_LOOK_S: Final = 0.5
"""How often what is found so far is shown while there is more to read."""
_CARE_S: Final = 5.0
_NVML_S: Final = 1.0
_LONG: Final = 64 << 20
"""Bytes of a log of an ended run from which on it is read only when the run is opened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFrame:
    """What the start screen shows."""

    root: str
    runs: tuple[RunRow, ...] = ()
    """Live ones first, then the newest."""
    gpus: Mapping[str, Any] | None = None
    """The document of `grpotui gpus`; None before the first look, and where they cannot be read."""
    gpu_reason: str | None = None
    problem: str | None = None
    """Why the runs cannot be listed."""
    unread: int | None = None
    """Runs that were not looked at yet; None before the first look."""


class Closed(Exception):  # noqa: N818  (no error: the way out of a long piece of reading)
    """Nobody looks any more."""


class Machine:
    """Follows what runs there are; a frame that nobody has drawn yet is replaced by the next one.

    Attributes:
        error: what ended the thread before its time.
    """

    def __init__(self, root: str, *, readonly: bool = False) -> None:
        """`readonly`: a live run without a monitor is not given one."""
        self.root = root
        self.error: BaseException | None = None
        self._readonly = readonly
        self._frame = MachineFrame(root=root)
        self._told: Callable[[], object] | None = None
        self._thread: threading.Thread | None = None
        self._wakes = threading.Event()
        self._closing = threading.Event()
        self._anew = threading.Event()
        self._waiting = False
        self._lock = threading.Lock()
        self._rows: dict[str, RunRow] = {}
        self._live: dict[str, Source] = {}
        self._documents: dict[str, Mapping[str, Any]] = {}
        self._order: list[str] = []
        self._looker: Looker | None = None
        self._posted_at = self._cared_at = float("-inf")

    @property
    def frame(self) -> MachineFrame:
        """The newest one."""
        return self._frame

    def start(self, told: Callable[[], object]) -> None:
        """Starts looking. `told` is called in the thread when there is a frame that `take` was not asked for."""
        self._told = told
        self._thread = threading.Thread(target=self._work, name="machine", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the thread; one that hangs in a driver or on a disk is left to the end of the process."""
        self._closing.set()
        self._wakes.set()
        if self._thread is not None:
            self._thread.join(_PERIOD_S)

    def refresh(self) -> None:
        """Looks at everything again, now."""
        self._anew.set()
        self._wakes.set()

    def take(self) -> MachineFrame:
        """The newest frame."""
        with self._lock:
            self._waiting = False
            return self._frame

    # In the thread

    def _work(self) -> None:
        try:
            while not self._closing.is_set():
                self._round()
                self._wakes.wait(_PERIOD_S)
                self._wakes.clear()
        except Closed:
            pass
        except BaseException as error:  # noqa: BLE001  (told by the app, in its own thread)
            self.error = error
            if self._told is not None:
                self._told()
        finally:
            if self._looker is not None:
                self._looker.close()

    def _round(self) -> None:
        if self._anew.is_set():
            self._anew.clear()
            for known in (self._rows, self._live, self._documents):
                known.clear()
            self._close_looker()
        try:
            directories = list(rundir.runs(self.root))
        except GrpotuiError as error:
            hint = f"; {error.hint}" if error.hint else ""
            self._post(MachineFrame(root=self.root, problem=f"{error}{hint}", unread=0))
            return
        self._forget({directory.path for directory in directories})
        self._order = [directory.path for directory in directories]
        self._look_at(directories)
        self._show(self._look_at_gpus())
        self._read_logs(directories)

    def _forget(self, there: set[str]) -> None:
        for known in (self._rows, self._live, self._documents):
            for path in [path for path in known if path not in there]:
                del known[path]

    def _look_at(self, directories: list[RunDirectory]) -> None:
        """Those that somebody owns first: they are what is looked for."""
        fresh = [one for one in directories if one.path not in self._rows and one.path not in self._live]
        owned = [one for one in fresh if one.is_locked("shim.lock") or one.is_locked("monitor.lock")]
        for directory in [*owned, *(one for one in fresh if one not in owned)]:
            self._breathe()
            self._open(directory, is_owned=directory in owned)
            if time.monotonic() - self._posted_at > _LOOK_S:
                self._show()
        care = time.monotonic() - self._cared_at >= _CARE_S and not self._readonly
        self._cared_at = time.monotonic() if care else self._cared_at
        for path, source in list(self._live.items()):
            self._follow(path, source, care=care)

    def _open(self, directory: RunDirectory, *, is_owned: bool) -> None:
        """Whether an ended run has ended is told by its processes alone, which is quick."""
        try:
            source = Source(directory, with_logs=is_owned)
            if is_owned:
                source.logs.on_read = self._on_read
                self._live[directory.path] = source
                return
            document, _ = look_now(source)
            row = row_of(document, source.start_t, "its log was not read yet")
            if row.is_live:  # its supervisors are gone, or elsewhere
                self._live[directory.path] = again = Source(directory)
                again.logs.on_read = self._on_read
            else:
                self._rows[directory.path] = row
        except (GrpotuiError, OSError) as error:
            self._rows[directory.path] = unreadable(directory.run_id, directory.path, str(error))

    def _follow(self, path: str, source: Source, *, care: bool) -> None:
        """One look; a run that has ended, and whose monitor has, needs no other."""
        try:
            document, view = look_now(source)
        except (GrpotuiError, OSError) as error:
            self._rows[path] = unreadable(source.directory.run_id, path, str(error))
            self._leave(path)
            return
        row = row_of(document, source.start_t, None)
        self._rows[path], self._documents[path] = row, document
        if not row.is_live and not (view.shim_alive or view.monitor_alive):
            self._leave(path)
        elif care and row.can_stop:
            keep_monitored(source.directory, source, view)

    def _leave(self, path: str) -> None:
        self._live.pop(path)
        self._documents.pop(path, None)

    def _read_logs(self, directories: list[RunDirectory]) -> None:
        """Steps and rewards of those that have ended, newest first, as long as nobody waits for the next look."""
        until = time.monotonic() + _PERIOD_S
        for directory in directories:
            row = self._rows.get(directory.path)
            if row is None or row.logs is None or directory.path in self._live:
                continue
            size = _size_of_logs(directory)
            if size > _LONG:
                told = f"its log of {size >> 20} MiB is read when the run is opened"
                self._rows[directory.path] = replace(row, logs=told)
                continue
            self._read_log(directory, row)
            if time.monotonic() > until:
                return
        self._show()

    def _read_log(self, directory: RunDirectory, row: RunRow) -> None:
        began = time.monotonic()
        try:
            source = Source(directory)
            source.logs.on_read = self._on_read
            document, _ = look_now(source)
            self._rows[directory.path] = row_of(document, source.start_t, None)
        except (GrpotuiError, OSError) as error:
            self._rows[directory.path] = replace(row, logs=f"its log cannot be read: {error}")
        self._breathe(time.monotonic() - began)
        if time.monotonic() - self._posted_at > _LOOK_S:
            self._show()

    def _on_read(self, _: int) -> None:
        """Between two blocks of a log."""
        self._breathe(0.002)

    def _breathe(self, seconds: float = 0.0) -> None:
        """Lets the screen draw.

        Raises:
            Closed: reading on is for nobody.
        """
        if self._closing.wait(min(seconds, _LOOK_S)):
            raise Closed

    def _look_at_gpus(self) -> MachineFrame:
        """The frame with the devices as they are now."""
        self._looker = self._looker or Looker(_NVML_S)
        live = [(source, self._documents[path]) for path, source in self._live.items() if path in self._documents]
        try:
            snapshot = self._looker.look()
        except GpuUnavailable as reason:
            hint = f"; {reason.hint}" if reason.hint else ""
            return replace(self._frame, gpus=None, gpu_reason=f"{reason}{hint}")
        return replace(self._frame, gpus=usage_of(snapshot, live), gpu_reason=None)

    def _close_looker(self) -> None:
        if self._looker is not None:
            self._looker.close()
            self._looker = None

    def _show(self, frame: MachineFrame | None = None) -> None:
        known = [self._rows[path] for path in self._order if path in self._rows]
        runs = (*(row for row in known if row.is_live), *(row for row in known if not row.is_live))
        unread = sum(1 for path in self._order if path not in self._rows)
        self._post(replace(frame or self._frame, runs=runs, problem=None, unread=unread))

    def _post(self, frame: MachineFrame) -> None:
        self._posted_at = time.monotonic()
        with self._lock:
            if frame == self._frame:
                return
            fresh, self._waiting = not self._waiting, True
            self._frame = frame
        if fresh and self._told is not None and not self._closing.is_set():
            self._told()


def _size_of_logs(directory: RunDirectory) -> int:
    found = 0
    try:
        for folder in os.scandir(directory.file("ranks")):
            if folder.is_dir(follow_symlinks=False):
                found += sum(file.stat().st_size for file in os.scandir(folder.path) if file.is_file())
    except OSError:
        return found
    return found
