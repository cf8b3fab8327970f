"""Phases, checkpoints and engine numbers of a log in their order, however it is cut into blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.log_data import DATA
from support.log_oracle import cut

from grpotui_supervisor.logs import reader_for
from grpotui_supervisor.logs.engine import EngineReader
from grpotui_supervisor.logs.reader import plain
from grpotui_supervisor.source.engines import NAMELESS
from grpotui_supervisor.source.metrics import Metrics

if TYPE_CHECKING:
    from collections.abc import Iterable

ENGINE = (
    "(vLLMHttpServer pid={}) INFO 11-29 16:05:57 [loggers.py:118] Engine 000: Avg prompt throughput: 1.0 tokens/s, \
Avg generation throughput: {}.0 tokens/s, Running: 5 reqs, Waiting: 0 reqs, GPU KV cache usage: {}.0%"
)
RUN = """\
(WorkerDict pid=9) Loading checkpoint shards:   0%|          | 0/4 [00:00<?, ?it/s]
(WorkerDict pid=9) Loading checkpoint shards: 100%|##########| 4/4 [00:06<00:00, 1.55s/it]
(WorkerDict pid=9) INFO 11-29 16:04:01 [kv_cache_utils.py:634] GPU KV cache size: 1,000 tokens
(WorkerDict pid=9) Capturing CUDA graph shapes:  16%|#         | 11/67 [00:19<01:38,  1.76s/it]
(TaskRunner pid=1) Total training steps: 4
(TaskRunner pid=1) test_gen_batch meta info: {'validate': True}
(TaskRunner pid=1) ("Initial validation metrics: {'val/x': 0.5}")
(TaskRunner pid=1) step:0 - val/x:0.5
(TaskRunner pid=1) Training Progress:   0%|          | 0/4 [00:00<?, ?it/s]
{e1}
(TaskRunner pid=1) step:1 - actor/entropy:0.5 - timing_s/step:3.0
{e2}
(WorkerDict pid=9) INFO 11-29 16:04:01 [kv_cache_utils.py:634] GPU KV cache size: 2,000 tokens
(TaskRunner pid=1) local_global_step_folder: /c/global_step_2
(WorkerDict pid=9) [Rank 0] Saved model to /c/global_step_2/actor/model_world_size_1_rank_0.pt
(TaskRunner pid=1) step:2 - actor/entropy:0.4 - timing_s/step:3.5
{e3}
(TaskRunner pid=1) test_gen_batch meta info: {'validate': True}
(TaskRunner pid=1) step:3 - actor/entropy:0.3 - timing_s/step:3.0
(TaskRunner pid=1) local_global_step_folder: /c/global_step_4
""".replace("{e1}", ENGINE.format(7, 10, 50)).replace("{e2}", ENGINE.format(7, 20, 60)).replace(
    "{e3}", ENGINE.format(8, 30, 70)
)  # fmt: skip


def read(blocks: Iterable[bytes], framework: str = "verl", *, stream: str = "stdout") -> Metrics:
    found = Metrics(reader_for(framework))
    for moment, block in enumerate(blocks):
        found.feed(block, stream=stream, moment=moment)
    return found


def told(metrics: Metrics) -> object:
    engines = {name: (one.step, one.values) for name, one in metrics.engines.latest.items()}
    checkpoints = [(c.path, c.step, c.rows, c.parts, c.evidence) for c in metrics.checkpoints.found]
    rows = [metrics.metrics(row) for row in range(metrics.steps)]
    return metrics.phase and metrics.phase.name, engines, checkpoints, rows, metrics.latest_metrics()


def phases_of(text: str, framework: str = "verl") -> list[str | None]:
    """What is told after each line, without repetitions."""
    metrics = Metrics(reader_for(framework))
    seen: list[str | None] = []
    for line in text.splitlines(keepends=True):
        metrics.feed(line.encode())
        name = metrics.phase.name if metrics.phase else None
        if not seen or seen[-1] != name:
            seen.append(name)
    return seen


def test_the_phases_of_a_run_in_their_order() -> None:
    assert phases_of(RUN) == [
        "load_model", None, "capture_graphs", "validate", None, "first_step", None, "save", None, "validate", None,
        "save",
    ]  # fmt: skip


def test_checkpoints_and_their_evidence() -> None:
    done, under_way = read([RUN.encode()]).checkpoints.found
    assert (done.step, done.parts) == (2, {"actor/model_world_size_1_rank_0"})
    assert done.evidence == "the record of step 2 was printed after it"
    assert (under_way.step, under_way.evidence) == (4, None)


def test_engines_are_told_apart_and_never_mixed() -> None:
    metrics = read([RUN.encode()])
    assert list(metrics.engines.latest) == ["WorkerDict pid=9", "vLLMHttpServer pid=7 Engine 000",
                                            "vLLMHttpServer pid=8 Engine 000"]  # fmt: skip
    tokens = [metrics.metrics(row).get("engine/tokens_per_s") for row in range(metrics.steps)]
    assert tokens == [None, 10.0, 20.0, None]  # then a second engine speaks, and one number would be of neither
    assert metrics.metrics(3)["engine/kv_cache_tokens"] == 1000.0
    assert "engine/tokens_per_s" not in metrics.latest_metrics()
    assert metrics.latest_metrics(2)["engine/kv_cache"] == 0.5
    series = [
        (one.step, one.values["engine/kv_cache"]) for one in metrics.engines.series("vLLMHttpServer pid=7 Engine 000")
    ]
    assert series == [(0, 0.5), (1, 0.6)]


FORMS = (
    ENGINE.format(7, 10, 50),
    "\x1b[36m(vLLMHttpServer pid=7, ip=10.0.0.7)\x1b[0m " + ENGINE.format(7, 10, 50).partition(") ")[2],
    ENGINE.format(7, 10, 50).partition(") ")[2],
    ENGINE.format(7, 10, 50) + ", Prefix cache hit rate: 12.5%",
    ENGINE.format(7, 10, 50).replace("Engine 000: ", "").replace("50.0%", "50.7%"),
)


@pytest.mark.parametrize("form", FORMS)
def test_statistics_are_read_by_one_pattern_and_come_to_what_the_text_says(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted, not timed: one line of twelve is such a line, and read as text it costs more than all others."""
    slow, text = EngineReader(), form
    for _ in range(600):
        slow.read(plain(text))
    lines: list[str] = []

    def counted(_self: EngineReader, line: str, _origin: str = "") -> dict[str, float]:
        lines.append(line)
        return {}

    monkeypatch.setattr(EngineReader, "read", counted)
    quick = Metrics(reader_for("verl"))
    quick.feed(f"step:1 - a/b:0.5\n{text}\n".encode() + f"{text}\n".encode() * 599)
    assert lines == []
    ((name, latest),) = quick.engines.latest.items()
    assert name == (slow.engines[-1] or NAMELESS)
    assert latest.values == slow.columns.row(-1)
    assert [one.values for one in quick.engines.series(name)] == [slow.columns.row(row) for row in range(600)]


def test_each_row_has_the_moment_of_its_block() -> None:
    lines = RUN.encode().splitlines(keepends=True)
    metrics = read(lines)
    assert [lines[m].split(b"step:")[1][:1] for m in metrics.moments] == [b"0", b"1", b"2", b"3"]
    assert list(read([RUN.encode()]).moments) == [0, 0, 0, 0]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(0, len(RUN.encode())), max_size=12), st.sampled_from(["verl", "auto"]))
def test_cutting_does_not_matter(places: list[int], framework: str) -> None:
    assert told(read(cut(RUN.encode(), places), framework)) == told(read([RUN.encode()], framework))


PIECES = sorted({word for line in RUN.splitlines() for word in line.split(" ")})


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from([*PIECES, *RUN.splitlines(), "\n", "\r"]) | st.text(max_size=5), max_size=60).map(
        " ".join
    ),
    st.lists(st.integers(0, 4000), max_size=6),
)
def test_hostile_text_is_read_the_same_in_any_cut(text: str, places: list[int]) -> None:
    raw = text.encode("utf-8", "surrogatepass") + b"\n"
    assert told(read(cut(raw, [p for p in places if p < len(raw)]))) == told(read([raw]))


def test_a_bar_is_seen_before_its_line_has_ended() -> None:
    """A large shard takes a minute, and the bar's line ends only when the next one is drawn."""
    metrics = read([b"\rLoading checkpoint shards:   0%|          | 0/4 [00:00<?, ?it/s]"], stream="stderr")
    assert metrics.phase is not None
    assert metrics.phase.name == "load_model"


def test_transformers() -> None:
    record = "{'loss': '0.1', 'grad_norm': '0.2', 'learning_rate': '1e-06', 'reward': '0.5', 'epoch': '0.1'}\n"
    text = (
        "Loading weights:   0%|          | 0/310 [00:00<?, ?it/s]\nLoading weights: 100%|####| 310/310 [00:00<\n"
        "  0%|          | 0/3 [00:00<?, ?it/s]\n" + record + " 33%|###       | 1/3 [00:01<00:03, 1.0it/s]\n"
        "Saving model checkpoint to /c/checkpoint-1\n" + record + " 66%|######    | 2/3 [00:02<00:03, 1.0it/s]\n"
        "***** Running Evaluation *****\n" + record + "100%|##########| 3/3 [00:03<00:00, 1.0it/s]\n"
        "{'train_runtime': '3.4', 'train_samples_per_second': '9', 'train_steps_per_second': '5', 'train_loss': '0.1', "
        "'epoch': '1.2'}\n"
    )  # fmt: skip
    assert phases_of(text, "trl") == [
        "load_model", None, "first_step", None, "save", None, "validate", None, "complete",
    ]  # fmt: skip
    assert [c.evidence for c in read([text.encode()], "trl").checkpoints.found] == [
        "the record of step 2 was printed after it"
    ]


@pytest.mark.skipif(not DATA.exists(), reason="the captured logs are not beside this checkout")
@pytest.mark.parametrize(
    ("name", "framework", "phases"),
    [
        ("verl-h200x2/healthy.log", "verl", ["load_model", "validate", "first_step", "complete"]),
        ("verl-h200x2/workerkill.log", "verl", ["load_model", "validate", "first_step"]),
        ("verl/gen/e2e-verl050-cpu-hf-success.log", "verl", ["load_model", "validate", "first_step", "complete"]),
        (
            "frameworks/complete/verl-uqcxu9-crash-699of700.log",
            "verl",
            ["load_model", "first_step", "save", "validate"],
        ),
        ("trl-h200x2/teardown-rank0.log", "trl", ["load_model", "first_step", "complete"]),
        ("trl/a_normal_single/rank0.stderr", "trl", ["load_model", "first_step"]),
    ],
)
def test_real_logs(name: str, framework: str, phases: list[str]) -> None:
    seen = phases_of((DATA / name).read_text(errors="replace").replace("\r", "\n"), framework)
    assert list(dict.fromkeys(filter(None, seen))) == phases
