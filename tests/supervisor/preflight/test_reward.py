"""The reward function is really called, in the job's interpreter, by the signatures of both frameworks."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from support.preflight_jobs import VERL, job_of

from grpotui_supervisor.preflight import reward
from grpotui_supervisor.preflight.child import MARK
from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from pathlib import Path

    from grpotui_supervisor.preflight.check import Result

MATCH = """
def compute_score(data_source, solution_str, ground_truth, extra_info=None, bonus=0.0):
    assert data_source == "math", data_source
    return (1.0 if solution_str.endswith(ground_truth) else 0.0) + bonus
"""
SAMPLES = """
[[reward.samples]]
answer = "so it is #### 4"
ground_truth = "4"
data_source = "math"
expected = 1.0
[[reward.samples]]
answer = "so it is 5"
ground_truth = "4"
data_source = "math"
expected = 0
"""


def tried(
    folder: Path, code: str, *words: str, table: str = "path = 'r.py'", samples: str = SAMPLES, **more: Any
) -> Result:
    (folder / "r.py").write_text(code)
    found = reward.CHECK.run(job_of(folder, *(words or ("t.py",)), more=f"[reward]\n{table}\n{samples}", **more))
    assert not [pid for pid in procfs.pids() if procfs.environment(pid).get(MARK, "").startswith(f"{os.getpid()}-")]
    return found


def told(result: Result) -> str:
    return "\n".join([result.evidence, *result.details])


def test_a_function_of_verl(tmp_path: Path) -> None:
    found = tried(tmp_path, MATCH)
    assert (found.outcome, found.evidence) == ("passed", "compute_score of r.py gives 1, 0")
    assert found.data == {"kind": "verl", "scores": [1.0, 0.0], "error": None}


def test_the_commands_function_with_its_arguments(tmp_path: Path) -> None:
    words = (*VERL, "custom_reward_function.path=r.py", "custom_reward_function.reward_kwargs.bonus=0.5")
    found = tried(tmp_path, MATCH, *words, table="")
    assert found.data["scores"] == [1.5, 0.5]
    assert (found.outcome, "answer 1 should get 1 and gets 1.5" in told(found)) == ("warning", True)
    newer = tried(tmp_path, MATCH.replace("compute_score", "mine"), *VERL, "reward.custom_reward_function.path=r.py",
                  "reward.custom_reward_function.name=mine", table="")  # fmt: skip
    assert newer.data["scores"] == [1.0, 0.0]


@pytest.mark.parametrize(
    "code",
    [
        "def f(solution_strs, **rest): return [float(s.endswith('4')) for s in solution_strs]",
        "def f(solution_str, **rest): return {'score': solution_str.endswith('4'), 'acc': 1}",
        "async def f(solution_str, **rest): return float(solution_str.endswith('4'))",
        "def f(completions, solution, **rest): return [float(c.endswith(s)) for c, s in zip(completions, solution)]",
        "def f(completions, ground_truth): return [float(c.endswith(s)) for c, s in zip(completions, ground_truth)]",
        "async def f(prompts, completions, **rest): return [float(c.endswith('4')) for c in completions]",
    ],
)
def test_signatures(tmp_path: Path, code: str) -> None:
    found = tried(tmp_path, code, table="path = 'r.py'\nname = 'f'")
    assert (found.outcome, found.data["scores"]) == ("passed", [1.0, 0.0]), found


def test_messages_and_columns_of_trl(tmp_path: Path) -> None:
    code = "def f(completions, level, **rest): return [len(c[0]['content']) + n for c, n in zip(completions, level)]"
    samples = "".join(
        f"[[reward.samples]]\nanswer = '{a}'\ncolumns.level = {n}\n" for a, n in (("ab", 10), ("abc", 20))
    )
    found = tried(tmp_path, code, table="path = 'r.py'\nname = 'f'\nchat = true", samples=samples)
    assert found.data["scores"] == [12.0, 23.0]


def test_it_sees_no_gpu(tmp_path: Path) -> None:
    code = "import os\ndef compute_score(solution_str, **rest): return len(os.environ['CUDA_VISIBLE_DEVICES'])"
    found = tried(tmp_path, code, env={"CUDA_VISIBLE_DEVICES": "0,1"})
    assert found.data["scores"] == [0.0, 0.0]


def test_a_module_and_a_chatty_function(tmp_path: Path) -> None:
    """Found from the job's working directory, as with `python -m`."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/scores.py").write_text(
        "print('loading…')\n" + MATCH.replace("    assert", "    print('x' * 99)\n    assert")
    )
    found = tried(tmp_path, "", table="path = 'mine.scores'")
    assert found.data["scores"] == [1.0, 0.0]


def test_a_function_that_is_constant(tmp_path: Path) -> None:
    found = tried(tmp_path, "def compute_score(solution_str, **rest): return 0.0")
    assert found.outcome == "warning"
    assert "gives all 2 answers 0: every advantage is 0" in told(found)
    assert "answer 1 should get 1 and gets 0" in told(found)


def test_a_function_that_fails(tmp_path: Path) -> None:
    found = tried(tmp_path, MATCH.replace('"math"', '"gsm8k"'))
    assert found.outcome == "warning"
    assert "fails on 2 of 2 answers: AssertionError: math (" in found.evidence
    assert f"{tmp_path}/r.py:3 in compute_score" in found.evidence
    assert "take a failure for the score 0" in str(found.next)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("x = 1", "has no attribute 'compute_score'"),
        ("compute_score = 1", "TypeError: compute_score is no function"),
        ("raise SystemExit(3)", "SystemExit: 3"),
    ],
)
def test_a_function_that_cannot_be_loaded(tmp_path: Path, code: str, words: str) -> None:
    found = tried(tmp_path, code)
    assert found.outcome == "failed"
    assert words in found.evidence


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    found = tried(tmp_path, "", table="path = 'none.py'")
    assert (found.outcome, "none.py" in found.evidence) == ("failed", True)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("float('nan')", "the score is nan"),
        ("'yes'", "str is no number"),
        ("{'acc': 1}", "a dict without 'score'"),
        ("[1.0, 2.0]", "2 scores for 1 answers"),
    ],
)
def test_what_is_no_score(tmp_path: Path, value: str, words: str) -> None:
    found = tried(tmp_path, f"def compute_score(solution_str, **rest): return {value}")
    assert found.outcome == "warning"
    assert words in found.evidence


def test_a_time_limit_by_signal_works_in_the_main_thread_only(tmp_path: Path) -> None:
    """As math_verify's: swallowed in verl's thread, and every right answer counts as wrong."""
    code = """
import signal
def compute_score(solution_str, ground_truth, **rest):
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    except ValueError:
        return 0.0
    return float(solution_str.endswith(ground_truth))
"""
    found = tried(tmp_path, code)
    assert found.outcome == "warning"
    assert "gives 1.0 in the main thread and 0.0 in another" in found.evidence


def test_one_that_hangs_is_ended_with_what_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reward, "_LIMIT_S", 2.0)
    code = "import subprocess\ndef compute_score(solution_str, **rest): subprocess.run(['sleep', '600'])"
    began = time.monotonic()
    found = tried(tmp_path, code)
    assert time.monotonic() - began < 20
    assert found.outcome == "warning"
    assert "did not return after 2 s" in found.evidence
    assert "while calling it" in found.evidence


def test_it_is_ended_when_the_preflight_is_given_up(tmp_path: Path) -> None:
    stopping = threading.Event()
    code = "import os, time\nopen('here', 'w').close()\nos.fork() or time.sleep(600)\ntime.sleep(600)"

    def give_up() -> None:
        deadline = time.monotonic() + 20
        while not (tmp_path / "here").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        stopping.set()

    threading.Thread(target=give_up).start()
    found = tried(tmp_path, code, stopping=stopping)
    assert found.outcome == "unchecked"
    assert "given up" in found.evidence


def test_one_that_crashes(tmp_path: Path) -> None:
    found = tried(tmp_path, "import os\ndef compute_score(solution_str, **rest): os.abort()")
    assert (found.outcome, "SIGABRT while calling it" in found.evidence) == ("warning", True)


def test_without_samples_or_function(tmp_path: Path) -> None:
    only = tried(tmp_path, MATCH, samples="")
    assert only.outcome == "unchecked"
    assert "(data_source, solution_str, ground_truth, extra_info=None, bonus=0.0) is loaded (verl)" in only.evidence
    assert tried(tmp_path, "", "t.py", table="").outcome == "unchecked"
    assert tried(tmp_path, "", "t.py", table="", samples="").outcome == "not_applicable"
    ours = tried(tmp_path, "", *VERL, "data.train_batch_size=8", table="")
    assert ours.outcome == "failed"
    assert "No module named 'verl'" in ours.evidence
