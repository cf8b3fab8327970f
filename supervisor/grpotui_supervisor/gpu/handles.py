"""Where the devices are: their handles, kept, and looked for anew when a device was lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grpotui_supervisor.errors import GpuUnavailable
from grpotui_supervisor.gpu.binding import LOST, NO_PERMISSION, Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpotui_supervisor.gpu.binding import Binding


@dataclass(frozen=True, slots=True)
class Place:
    """A device, or a MIG instance of it, as NVML counts them."""

    index: int
    instance: int | None = None
    parent: str | None = None
    """UUID of the device that a MIG instance is a part of."""
    mig: bool = False
    """The device is split into MIG instances."""

    @property
    def key(self) -> str:
        """As `Device.key`."""
        return str(self.index) if self.instance is None else f"{self.index}:{self.instance}"


class Handles:
    """The handle of each device by its key. Handles are never None: some drivers fall over one."""

    def __init__(self, binding: Binding) -> None:
        """Counts the devices.

        Raises:
            GpuUnavailable: the driver cannot tell how many there are.
        """
        self._binding = binding
        self._kept: dict[str, Any] = {}
        self._uuids: dict[str, str] = {}
        self._places: dict[str, Place] = {}
        try:
            self._count = self._counted()
        except Fault as fault:
            raise GpuUnavailable(f"NVML does not tell how many devices there are: {fault}") from fault

    def places(self) -> list[Place]:
        """All devices by index, MIG instances behind their parent; one that does not answer never hides the next."""
        self._count = self._binding.or_none(self._counted) or self._count  # lost devices are counted, too
        places = [place for index in range(self._count) for place in self._at(index)]
        self._places = {place.key: place for place in places}
        return places

    def of(self, key: str) -> Any:  # noqa: ANN401
        """The handle.

        Raises:
            Fault: there is none now.
        """
        if key not in self._kept:
            place = self._places.get(key)
            if place is None:
                raise Fault(None, "no such device")
            self._kept[key] = self._sought(place)
        return self._kept[key]

    def uuid(self, key: str) -> str | None:
        """The UUID, once the device has told it."""
        if key not in self._uuids and key in self._kept:
            found = self._binding.or_none(lambda: self._binding.text("nvmlDeviceGetUUID", self._kept[key]))
            if found is not None:
                self._uuids[key] = found
        return self._uuids.get(key)

    def kept(self, key: str) -> Any:  # noqa: ANN401
        """The handle that is known; None: there is none, or it was lost."""
        return self._kept.get(key)

    def forget(self, key: str) -> None:
        """The device was lost: its handle may be void when it comes back."""
        self._kept.pop(key, None)

    def forget_all(self) -> None:
        """The library was opened anew."""
        self._kept.clear()

    def _counted(self) -> int:
        return int(self._binding.call("nvmlDeviceGetCount"))

    def _at(self, index: int) -> Iterator[Place]:
        whole = Place(index)
        self._places[whole.key] = whole
        try:
            handle = self.of(whole.key)
            mig = self._binding.call("nvmlDeviceGetMigMode", handle)[0] == 1
        except Fault:  # it does not answer, or such devices cannot be split
            yield whole
            return
        yield Place(index, mig=mig)
        if mig:
            yield from self._instances(index, handle)

    def _instances(self, index: int, handle: Any) -> Iterator[Place]:  # noqa: ANN401
        most = self._binding.or_none(lambda: self._binding.call("nvmlDeviceGetMaxMigDeviceCount", handle)) or 0
        for number in range(most):
            place = Place(index, number, parent=self.uuid(str(index)))
            self._uuids.pop(place.key, None)  # instances are made anew while the driver runs
            try:
                self._kept[place.key] = self._binding.call("nvmlDeviceGetMigDeviceHandleByIndex", handle, number)
            except Fault as fault:
                self.forget(place.key)
                if fault.number not in LOST and fault.number != NO_PERMISSION:
                    continue  # no instance has this number
            yield place

    def _sought(self, place: Place) -> Any:  # noqa: ANN401
        """By its UUID: after a reset another device may have its number. By number where no UUID was ever known."""
        call, uuid = self._binding.call, self._uuids.get(place.key)
        if uuid is not None:
            return call("nvmlDeviceGetHandleByUUID", uuid.encode())
        if place.instance is None:
            return call("nvmlDeviceGetHandleByIndex", place.index)
        return call("nvmlDeviceGetMigDeviceHandleByIndex", self.of(str(place.index)), place.instance)
