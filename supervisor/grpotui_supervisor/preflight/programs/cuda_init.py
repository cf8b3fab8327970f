"""`cuInit(0)` in this very environment, and which libcuda it was that answered. Neither torch nor a context is made."""

from __future__ import annotations

import ctypes
import glob
import json
import os
import re
import struct
import subprocess
import sys

from grpotui_supervisor.preflight.programs.base import answer, failure, mapped, tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "libcuda.so.1"
_PLACES = (
    "/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/usr/lib64", "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu", "/usr/lib/wsl/lib", "/run/opengl-driver/lib", "/.singularity.d/libs",
    "/usr/local/cuda*/compat", "/usr/local/cuda*/compat/lib.real",
)  # fmt: skip
_NOTE = b".note.cuda.fwd_compatibility"


def main(version_file: str) -> None:
    """`version_file`: where the kernel's module tells its version."""
    tell(
        kernel_module=_module(version_file),
        device_nodes=sorted(glob.glob("/dev/nvidia*") + glob.glob("/dev/dxg")),
        candidates=candidates(os.environ.get("LD_LIBRARY_PATH", ""), cache()),
        stage="loading " + NAME,
    )
    try:
        library = ctypes.CDLL(NAME)
    except OSError as error:
        answer(missing=str(error), libraries=[])
        return
    tell(libraries=[_library(path) for path in mapped("libcuda.so")], stage="cuInit")
    code = library.cuInit(0)
    tell(code=code, name=_text(library, "cuGetErrorName", code), stage="cuDriverGetVersion")
    version, count = ctypes.c_int(-1), ctypes.c_int(-1)
    if library.cuDriverGetVersion(ctypes.byref(version)) == 0:
        tell(cuda=version.value)
    if code == 0 and library.cuDeviceGetCount(ctypes.byref(count)) == 0:
        tell(device_count=count.value)
    answer(libraries=[_library(path) for path in mapped("libcuda.so")])


def _text(library: ctypes.CDLL, function: str, code: int) -> str | None:
    pointer = ctypes.c_char_p()
    try:
        getattr(library, function)(code, ctypes.byref(pointer))
    except AttributeError:
        return None
    return pointer.value.decode("utf-8", "replace") if pointer.value else None


def _module(path: str) -> str | None:
    """The version of the loaded kernel module: it is told even where NVML is broken."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            found = re.search(r"\s(\d{3,}\.\d+(?:\.\d+)?)\s", file.read())
    except OSError:
        return None
    return found.group(1) if found else None


def cache() -> list[str]:
    """What the loader's cache would give; LD_LIBRARY_PATH comes before it."""
    for program in ("/sbin/ldconfig", "/usr/sbin/ldconfig", "ldconfig"):
        try:
            done = subprocess.run(
                [program, "-p"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=5, check=False
            )
        except (OSError, subprocess.SubprocessError):
            continue
        lines = done.stdout.decode("utf-8", "replace").splitlines()
        return [line.split("=>")[-1].strip() for line in lines if line.strip().startswith(NAME + " ") and "=>" in line]
    return []


def candidates(search_path: str, cached: list[str]) -> list[str]:
    """Directories with a libcuda, each file once, in the order of the search."""
    places = [part for part in search_path.split(":") if part] + [os.path.dirname(path) for path in cached]
    for pattern in _PLACES:
        places += sorted(glob.glob(pattern))
    found, files = [], set()
    for place in places:
        real = os.path.realpath(os.path.join(place, NAME))
        if os.path.isfile(real) and real not in files:
            files.add(real)
            found.append(place)
    return found


def _library(path: str) -> dict[str, Any]:
    """A mapped libcuda: the version is in the name of the file that the link led to."""
    found = re.search(r"\.so\.(\d+\.\d+(?:\.\d+)?)$", os.path.basename(path))
    note = forward_note(path)
    return {
        "path": path,
        "version": found.group(1) if found else None,
        "stub": "/stubs/" in path,
        "marked": note is not None or "/compat/" in path,
        "note": note,
    }


def forward_note(path: str) -> dict[str, Any] | None:
    """The ELF note of NVIDIA's forward-compatibility library, as the container toolkit reads it; None: no such note."""
    try:
        with open(path, "rb") as file:
            head = file.read(64)
            if head[:4] != b"\x7fELF" or head[4] != 2:  # 2: of 64 bits
                return None
            (offset,) = struct.unpack_from("<Q", head, 40)
            size, count, names_at = struct.unpack_from("<HHH", head, 58)
            file.seek(offset)
            table = file.read(size * count)
            sections = [struct.unpack_from("<IIQQQQIIQQ", table, at * size) for at in range(count)]
            file.seek(sections[names_at][4])
            names = file.read(sections[names_at][5])
            for section in sections:
                if names[section[0] : names.index(b"\0", section[0])] == _NOTE:
                    file.seek(section[4])
                    return _described(file.read(section[5]), section[8] or 4)
    except (OSError, ValueError, IndexError, struct.error) as error:
        return {"unreadable": failure(error)}
    return None


def _described(note: bytes, align: int) -> dict[str, Any]:
    name_size, size, _ = struct.unpack_from("<III", note)
    at = 12 + (name_size + align - 1) // align * align
    found = json.loads(note[at : at + size].rstrip(b"\0").decode())
    return found if isinstance(found, dict) else {"unreadable": "no object"}


if __name__ == "__main__":
    main(sys.argv[1])
