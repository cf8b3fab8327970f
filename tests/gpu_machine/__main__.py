"""`python -m tests.gpu_machine FOLDER [CASE…]`: real TRL runs on one or two GPUs, and a table of what grpotui observed.

Run it from the checkout, with an interpreter that has grpotui's dependencies; `GRPOTUI_TEST_TRAINER` names one with
torch and TRL (the same by default). FOLDER gets a directory for each run, and for each the status and output.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TRAINER = os.environ.get("GRPOTUI_TEST_TRAINER", sys.executable)
_MIB = 1 << 20


@dataclass(frozen=True)
class Case:
    """One run, and what must come of it."""

    name: str
    ranks: int
    fault: str
    code: int
    """Of `launch`."""
    settings: tuple[str, ...] = ()


CASES = (
    Case("one-gpu", 1, "none", 0),
    Case("one-gpu-orphan", 1, "orphan", 0, ("launch.leftover_grace_seconds=10",)),
    Case("normal", 2, "none", 0),
    Case("sigkill", 2, "kill", 137),
    Case("teardown", 2, "abort-teardown", 134),
    Case("orphan", 2, "orphan", 0, ("launch.leftover_grace_seconds=10",)),
)


def main() -> int:
    """Runs the cases that fit the machine; 1 when a code is not what it must be."""
    folder = Path(sys.argv[1]).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    devices = machine(folder)
    wanted = sys.argv[2:] or [case.name for case in CASES if case.ranks == min(2, devices)]
    rows = [run(case, folder) for case in CASES if case.name in wanted]
    print("\n".join(table(rows)), flush=True)
    return int(any(row["code"] != row["wanted"] for row in rows))


def grpotui(*words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """The command line of this checkout."""
    path = os.pathsep.join(filter(None, (str(ROOT / "supervisor"), str(ROOT), os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-m", "grpotui", *words]
    return subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, cwd=ROOT, text=True, check=False, **more)


def machine(folder: Path) -> int:
    """Notes driver, kernel and commit; how many GPUs there are."""
    listed = grpotui("gpus", "--json", capture_output=True)
    document = json.loads(listed.stdout)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    facts = {"kernel": os.uname().release, "commit": commit.stdout.strip() or os.environ.get("GRPOTUI_COMMIT")}
    (folder / "machine.json").write_text(json.dumps({**facts, "gpus": document}, indent=1))
    print(f"{facts} {len(document['gpus'])} GPUs", flush=True)
    return len(document["gpus"])


def run(case: Case, folder: Path) -> dict[str, Any]:
    """One run; its directory, status and output go into the folder."""
    own = folder / case.name
    home = folder / "home"
    argv = ["{python}", "{profile_dir}/trl_tiny.py", "--gpu", "--steps", "10"]
    fault_rank = min(1, case.ranks - 1) if case.fault != "orphan" else 0
    argv += ["--fault", case.fault, "--fault-rank", str(fault_rank), "--fault-step", "4"]
    settings = (f"launch.argv={json.dumps(argv)}", f"launch.python={TRAINER}", f"launch.nproc={case.ranks}")
    words = [word for setting in settings + case.settings for word in ("--set", setting)]
    os.environ["GRPOTUI_HOME"] = str(home)
    began = time.monotonic()
    done = grpotui("launch", "trl-tiny-gpu", "--plain", *words, capture_output=True, timeout=300)
    seconds = time.monotonic() - began
    status = grpotui("status", "--json", capture_output=True).stdout
    shown = grpotui("status", capture_output=True).stdout
    own.mkdir()
    (own / "launch.txt").write_text(f"{done.stdout}{done.stderr}exit code {done.returncode} after {seconds:.1f} s\n")
    (own / "status.json").write_text(status)
    (own / "status.txt").write_text(shown)
    document = json.loads(status)
    shutil.copytree(document["directory"], own / document["run"], symlinks=True)
    print(f"--- {case.name}\n{done.stdout}{done.stderr}{shown}", flush=True)
    return {"case": case.name, "code": done.returncode, "wanted": case.code, "seconds": seconds, "status": document}


def table(rows: list[dict[str, Any]]) -> list[str]:
    """What was observed, a line a case."""
    lines = ["| case | exit code | ranks | baseline | back after |", "|---|---|---|---|---|"]
    for row in rows:
        status = row["status"]
        ranks = ", ".join(f"{m['rank']}: {m.get('signal') or m.get('code')}" for m in status["ranks"])
        own = [gpu for gpu in status["gpus"] if gpu["in_run"]]
        baseline = ", ".join(amount(gpu["baseline_bytes"]) for gpu in own)
        back = ", ".join(f"{gpu['returned_s']} s" if gpu["returned"] else f"{gpu['reason']}" for gpu in own)
        lines.append(f"| {row['case']} | {row['code']} (wanted {row['wanted']}) | {ranks} | {baseline} | {back} |")
    return lines


def amount(count: int | None) -> str:
    """Bytes as MiB."""
    return "unknown" if count is None else f"{count / _MIB:.0f} MiB"


if __name__ == "__main__":
    sys.exit(main())
