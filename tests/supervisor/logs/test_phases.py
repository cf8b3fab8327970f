"""Which lines and titles tell of a phase, and that nothing else does."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.log_data import DATA

from grpotui_supervisor.logs.phases import STARTING_WORDS, WORDS, Mark, bar_mark, mark_of, title_phase
from grpotui_supervisor.logs.reader import plain

LINES = [
    ("Loading checkpoint shards:  50%|█████     | 2/4 [00:03<00:03,  1.55s/it]", Mark("load_model")),
    ("(WorkerDict pid=9) Loading checkpoint shards: 100%|██████████| 4/4 [00:06<00:00, 1.55s/it]", Mark(None)),
    ("Loading weights:   0%|          | 0/310 [00:00<?, ?it/s]", Mark("load_model")),
    ("Loading safetensors checkpoint shards:  25% Completed | 1/4 [00:02<00:06,  2.1s/it]", Mark("load_model")),
    ("INFO 04-09 13:03:49 model_runner.py:1110] Starting to load model some/model...", Mark("load_model")),
    ("(W pid=2) INFO 07-12 10:15:07 [model_runner.py:1347] Model loading took 14.2 GiB and 8", Mark(None)),
    ("INFO 06-30 14:41:14 [core.py:70] Initializing a V1 LLM engine (v0.8.5) with config: ", Mark("start_engine")),
    ("(a pid=4) INFO:2026-03-26 21:59:06,589:Initializing a V1 LLM engine with config: m", Mark("start_engine")),
    ("(EngineCore) [core.py:355] init engine (profile, create kv cache, warmup model) took 81.75 s", Mark(None)),
    ("(VllmWorker rank=6 pid=2) Capturing CUDA graph shapes:  16%|█    | 1/6 [00:19<", Mark("capture_graphs")),
    ("Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):   3%|█   | 2/67 [00:00<", Mark("capture_graphs")),
    ("Capturing batches (bs=160 avail_mem=5.40 GB):   0%|          | 0/23 [00:00<?, ?it/s]", Mark("capture_graphs")),
    ("[2026-07-20 17:53:16 TP0] Load weight begin. avail mem=78.58 GB", Mark("load_model")),
    ("[2026-07-20 17:53:16 TP0] Capture cuda graph begin. This can take minutes.", Mark("capture_graphs")),
    ("[2026-07-20 17:53:46 TP0] Capture cuda graph end. Time elapsed: 30.01 s.", Mark(None)),
    ("(T pid=1) INFO 07-12 10:15:40 [runner.py:20] Graph capturing finished in 22 secs, took", Mark(None)),
    ("(TaskRunner pid=7) Load from checkpoint folder: /c/global_step_20", Mark("load_checkpoint", "verl")),
    ("(TaskRunner pid=7) test_gen_batch meta info: {'eos_token_id': 2, 'validate': True}", Mark("validate", "verl")),
    ("(TaskRunner pid=7) (\"Initial validation metrics: {'val/x': \"", Mark(None, "verl")),
    ("(TaskRunner pid=7) local_global_step_folder: /c/global_step_20", Mark("save", "verl")),
    ("Saving model checkpoint to /c/checkpoint-20", Mark("save", "trl")),
    ("[INFO|trainer.py:3978] 2025-04-26 23:14:40,943 >> Saving model checkpoint to /c/hf", Mark("save", "trl")),
    ("[INFO:swift] Saving model checkpoint to /c/checkpoint-75", Mark("save", "trl")),
    ("***** Running Evaluation *****", Mark("validate", "trl")),
]  # fmt: skip

PROSE = [
    "the run hangs at Loading checkpoint shards:  50%|█████     | 2/4 [00:03<00:03,  1.55s/it]",
    "Loading weights: 45% of the students said that 2/4 [",
    "[prompt] user: what does 'Initializing a V1 LLM engine with config: ' mean?",
    '  File "trainer.py", line 9, in save: logger.info(f"Saving model checkpoint to {output_dir}")',
    "  print(f'local_global_step_folder: {local_global_step_folder}')",
    "#### validation metrics: {'a': 1}",
    "I was Saving model checkpoint to /c/checkpoint-20",
    "Traceback (most recent call last): Capture cuda graph begin. failed",
    "RuntimeError: test_gen_batch meta info: {'eos'}",
    "Capturing CUDA graphs is slow: 100%|x| 4/4",
    "",
]


@pytest.mark.parametrize(("line", "mark"), LINES)
def test_lines_that_tell(line: str, mark: Mark) -> None:
    assert mark_of(line, starting=True) == mark
    words = {word for table in WORDS.values() for word in table} | set(STARTING_WORDS)
    assert any(word in line.encode() for word in words)  # else nobody would look at it


@pytest.mark.parametrize("line", PROSE)
def test_the_same_words_in_prose_tell_nothing(line: str) -> None:
    assert mark_of(line, starting=True) is None


def test_start_up_ends_with_the_first_record() -> None:
    starting = {line for line, mark in LINES if mark_of(line, starting=False) is None}
    assert len(starting) == 17
    assert not any("Saving" in line or "validation" in line for line in starting)


@given(st.text(max_size=300))
def test_no_text_raises(text: str) -> None:
    mark_of(text, starting=True)
    bar_mark(text)
    title_phase([text, f"ray::{text}", f"ray::A.{text}"])


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "piece", ["(a pid=1) ", "(", "Loading weights: 1%|", "INFO ", "[", "Capturing batches (", "'Initial "]
)
def test_a_long_hostile_line_takes_no_time(piece: str) -> None:
    mark_of(piece * (200_000 // len(piece)), starting=True)
    mark_of("(" * 3 + piece * 20_000 + "Saving model checkpoint to ", starting=True)


@pytest.mark.parametrize(
    ("titles", "phase"),
    [
        (["ray::WorkerDict.actor_rollout_generate_sequences", "ray::TaskRunner.run", "ray::IDLE"], "generate"),
        (["ray::WorkerDict.actor_rollout_update_actor()"], "update"),
        (["ray::WorkerDict.ref_compute_ref_log_prob", "ray::WorkerDict"], "reference"),
        (["ray::WorkerDict.actor_rollout_compute_log_prob"], "logprob"),
        (["ray::WorkerDict.actor_rollout_save_checkpoint"], "save"),
        (["ray::AgentLoopWorker.generate_sequences", "ray::WorkerDict.actor_update_actor"], "generate + update"),
        (["ray::RewardLoopWorker.compute_score"], "reward"),
        (["ray::WorkerDict.execute_method", "ray::WorkerGroupRegisterCenter", "ray::score", "python3"], None),
        (["x ray::WorkerDict.update_actor", "ray::WorkerDict.not_update_actors"], None),
        ([], None),
    ],
)
def test_titles_of_ray_s_workers(titles: list[str], phase: str | None) -> None:
    assert title_phase(titles) == phase


@pytest.mark.skipif(not DATA.exists(), reason="the captured logs are not beside this checkout")
@pytest.mark.parametrize("name", ["normal", "healthy", "driverkill"])
def test_titles_of_a_real_run(name: str) -> None:
    text = (DATA / f"verl-h200x2/{name}-ps-mid.txt").read_text()
    assert title_phase(re.findall(r"'(ray::[\w.]+) *'\)", text)) == "generate"


@pytest.mark.skipif(not DATA.exists(), reason="the captured logs are not beside this checkout")
def test_no_phase_in_texts_about_failures() -> None:
    """Excerpts, tracebacks and prose: what is found in them is looked at by eye, and is no more than this."""
    found: dict[str, set[str]] = {}
    for path in sorted(Path(DATA / "cases").glob("*.log")):
        for line in re.split(r"[\r\n]+", path.read_text(errors="replace")):
            mark = mark_of(plain(line), starting=True)
            if mark is not None and mark.phase is not None:
                found.setdefault(mark.phase, set()).add(path.name[:3])
    assert found == {
        "capture_graphs": {"014"},
        "load_model": {"011"},
        "save": {"097", "099", "227"},
        "start_engine": {"009", "019", "021"},
    }
