"""What the training interpreter is and has installed; imports none of it."""

from __future__ import annotations

import os
import platform
import re
import sys

from grpotui_supervisor.preflight.programs.base import answer

_TORCH_FIELD = re.compile(r"^(cuda|hip|__version__)(?:\s*:[^=]*)?\s*=\s*['\"]([^'\"]*)['\"]", re.MULTILINE)
_IMAGE_WORDS = (
    "CUDA_VERSION", "NV_CUDA_LIB_VERSION", "NVIDIA_PYTORCH_VERSION", "NVIDIA_BUILD_ID", "NVIDIA_PRODUCT_NAME",
    "PYTORCH_VERSION",
)  # fmt: skip


def main(wanted: list[str]) -> None:
    """`wanted`: names of distributions."""
    from importlib import metadata  # noqa: PLC0415  (30 ms)

    packages = {}
    requires = {}
    for name in wanted:
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        packages[name] = found.version
        requires[name] = [line for line in found.requires or () if _distribution(line) in wanted]
    answer(
        version=platform.python_version(),
        implementation=platform.python_implementation(),
        prefix=sys.prefix,
        packages=packages,
        requires=requires,
        torch=_torch(),
        image=_image(),
    )


def _distribution(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    return re.sub(r"[-_.]+", "-", found.group()).lower() if found else ""


def _torch() -> dict[str, str | None] | None:
    """Which CUDA it was built for, as torch/version.py says: importing torch would take seconds."""
    from importlib.util import find_spec  # noqa: PLC0415

    try:
        spec = find_spec("torch")
    except (ImportError, ValueError):
        return None
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        try:
            with open(os.path.join(folder, "version.py"), encoding="utf-8") as file:
                fields = dict(_TORCH_FIELD.findall(file.read()))
        except (OSError, ValueError):
            continue
        return {"version": fields.get("__version__"), "cuda": fields.get("cuda"), "hip": fields.get("hip")}
    return None


def _image() -> dict[str, object] | None:
    """The container that this is in, as far as it can be known from inside: Docker does not tell its image's name."""
    names = [os.environ.get(name) for name in ("APPTAINER_CONTAINER", "SINGULARITY_CONTAINER")]
    name = next((known for known in names if known), None) or _of_podman()
    kind = _kind()
    if kind is None and name is None:
        return None
    words = {word: os.environ[word] for word in _IMAGE_WORDS if word in os.environ}
    return {"kind": kind, "name": name, "environment": words}


def _kind() -> str | None:
    if os.environ.get("APPTAINER_CONTAINER") or os.environ.get("SINGULARITY_CONTAINER"):
        return "apptainer"
    if os.path.exists("/run/.containerenv"):
        return "podman"
    if os.path.exists("/.dockerenv"):
        return "docker"
    return "kubernetes" if "KUBERNETES_SERVICE_HOST" in os.environ else None


def _of_podman() -> str | None:
    try:
        with open("/run/.containerenv", encoding="utf-8") as file:
            found = re.search(r'^image="(.*)"$', file.read(), re.MULTILINE)
    except (OSError, ValueError):
        return None
    return found.group(1) if found else None


if __name__ == "__main__":
    main(sys.argv[1:])
