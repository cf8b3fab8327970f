"""Who may import whom, at run time: the static check cannot see an import inside a function."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import grpotui
import grpotui_supervisor

PACKAGE = Path(grpotui_supervisor.__file__).parent
CHECKOUT = PACKAGE.parent.parent
FRONT = Path(grpotui.__file__).parent
FILES = {
    ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for package in (PACKAGE, FRONT)
    for path in package.rglob("*.py")
    if "_profiles" not in path.parts
}
MODULES = sorted(name for name in FILES if name.startswith("grpotui_supervisor"))
SHIM = [module for module in MODULES if module.startswith("grpotui_supervisor.shim")]

LOADED = """
import importlib, sys
sys.path[:0] = sys.argv[2:]
for name in sys.argv[1].split():
    importlib.import_module(name)
print(" ".join(sys.modules))
"""


def loaded(modules: list[str], *flags: str) -> set[str]:
    """Everything that is in `sys.modules` after these imports in a fresh interpreter."""
    command = [sys.executable, *flags, "-c", LOADED, " ".join(modules), str(PACKAGE.parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_the_folder_supervisor_is_no_package() -> None:
    """PyPI's supervisord owns that name; with an `__init__.py` the checkout would hide it."""
    if (CHECKOUT / "pyproject.toml").exists():
        assert PACKAGE.parent.name == "supervisor"
        assert not (PACKAGE.parent / "__init__.py").exists()


def test_the_supervisor_knows_no_front_end() -> None:
    tops = {name.partition(".")[0] for name in loaded(MODULES)}
    assert "grpotui_supervisor" in tops
    assert not tops & {"grpotui", "click", "textual", "rich", "torch", "trl", "verl", "ray", "vllm", "numpy"}


def test_the_shim_needs_the_standard_library_only() -> None:
    """It must start in 10 ms, stay small, and run where nothing but Python is installed: `-S` hides site-packages."""
    found = loaded(SHIM, "-I", "-S")
    own = {name for name in found if name.startswith("grpotui_supervisor")}
    assert own == {"grpotui_supervisor", *SHIM}
    tops = {name.partition(".")[0] for name in found - own}
    assert tops <= sys.stdlib_module_names | {"__main__"}
    assert not tops & {"socket", "subprocess", "threading", "asyncio", "typing", "dataclasses", "pathlib"}


def test_what_runs_in_the_job_needs_the_standard_library_only() -> None:
    for path in (PACKAGE / "probes").glob("*.py"):
        if path.name in ("__init__.py", "kernel.py"):
            continue
        code = f"import runpy, sys; runpy.run_path({str(path)!r}); print(*sys.modules)"
        done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert {name.partition(".")[0] for name in done.stdout.split()} <= sys.stdlib_module_names | {"__main__"}


PROGRAMS = sorted((PACKAGE / "preflight/programs").glob("[a-z]*.py"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_what_checks_the_training_interpreter_is_old_python_and_imports_nothing(path: Path) -> None:
    """At its top: what it probes it imports later, by name, so that a failure is its answer."""
    tree = ast.parse(path.read_text(), feature_version=(3, 8))
    own = "grpotui_supervisor.preflight.programs.base"
    names = [node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)]
    names += [alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names]
    assert {name.partition(".")[0] for name in names if name != own} <= sys.stdlib_module_names
    assert any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)


def test_no_module_imports_itself_by_a_detour() -> None:
    """A cycle of imports shows at run time only from some of its ends, so it is looked for in the text."""
    graph = {name: _imported(path) for name, path in FILES.items()}
    for start, imported in graph.items():
        seen: set[str] = set()
        todo = list(imported)
        while todo:
            name = todo.pop()
            assert name != start, f"{start} imports itself"
            if name not in seen:
                seen.add(name)
                todo += graph[name]


def _imported(path: Path) -> set[str]:
    """Our modules that are imported at the top of this one, those for type checking excepted."""
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inner & FILES.keys() or {node.module}
    return found & FILES.keys()


def test_the_layers() -> None:
    """`lint-imports` as CI runs it, where it is installed."""
    program = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    if program is None or not (CHECKOUT / "pyproject.toml").exists():
        pytest.skip("import-linter is not installed here")
    done = subprocess.run([program, "--no-cache"], cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
