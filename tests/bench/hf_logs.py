"""Speed of the reader of TRL logs: a whole log of 100 MB, and one that grows by 50 000 lines a second."""

from __future__ import annotations

import ast
import random
import re
import statistics
import time
from typing import TYPE_CHECKING

from bench.measures import Row
from grpotui_supervisor.logs import reader_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MEGABYTE = 1_000_000
KEYS = (
    *("loss", "grad_norm", "learning_rate", "num_tokens", "completions/mean_length", "completions/min_length"),
    *("completions/max_length", "completions/clipped_ratio", "completions/mean_terminated_length"),
    *("rewards/accuracy/mean", "rewards/accuracy/std", "rewards/format/mean", "rewards/format/std", "reward"),
    *("reward_std", "frac_reward_zero_std", "kl", "entropy", "clip_ratio/low_mean", "clip_ratio/low_min"),
    *("clip_ratio/high_mean", "clip_ratio/high_max", "clip_ratio/region_mean", "step_time"),
)
ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
BAR = re.compile(r"(\d+)/(\d+) \[")
DICT = re.compile(r"\{'.*?\}")


def log(size: int, *, quoted: bool, every: int = 1) -> Iterator[bytes]:
    """A merged log as TRL, vLLM and a talkative reward function write it, a block a step.

    `quoted`: the way of transformers 5. With a dict at each step, one byte in three belongs to one.
    """
    rng = random.Random(7)
    written, step = 0, 0
    while written < size:
        step += 1
        block = one_step(rng, step, quoted=quoted, with_dict=step % every == 0).encode()
        written += len(block)
        yield block


def one_step(rng: random.Random, step: int, *, quoted: bool, with_dict: bool) -> str:
    bar = f"\r{step % 100:3d}%|██████▌   | {step}/900000 [03:00<1:04:17, 20.20s/it]"
    info = "".join(
        f"INFO 08-02 23:48:{second:02d} [executor_base.py:227] It took {rng.random():.6f} seconds to wake up.\n"
        for second in range(4)
    )
    words = " ".join(rng.choice(("so", "the sum is", "{x}", "12 + 7", "'quoted'", "50%", "we get")) for _ in range(120))
    answer = (
        f"-------------------- Question:\n{words}\nAnswer:\n42 \nResponse:\n{words}\nExtracted:\n{{'answer': '42'}}\n"
    )
    if not with_dict:
        return f"{info}{answer}{bar}"
    return f"{info}{answer}{bar}\r{' ' * 60}\r{one_dict(rng, step, quoted=quoted)}\n{bar}"


def one_dict(rng: random.Random, step: int, *, quoted: bool) -> str:
    values = {key: rng.random() for key in KEYS} | {"epoch": step / 900000}
    return str({key: f"{value:.4g}" for key, value in values.items()} if quoted else values)


def plain(blocks: list[bytes]) -> list[dict[str, float]]:
    """The obvious parser: line by line, without colours, `literal_eval` of what looks like a dict."""
    rows: list[dict[str, float]] = []
    step = 0
    for line in b"".join(blocks).decode("utf-8", "replace").replace("\r", "\n").split("\n"):
        text = ANSI.sub("", line)
        found = DICT.search(text)
        if found and "'loss'" in found[0]:
            values = ast.literal_eval(found[0].replace(": nan", ": None"))
            rows.append({key: float(value) for key, value in values.items() if value is not None} | {"step": step})
        elif bar := BAR.search(text):
            step = int(bar[1])
    return rows


def pairs(blocks: list[bytes]) -> list[dict[str, float]]:
    """The same with a regular expression for each pair, which also reads nan."""
    pair = re.compile(r"'([^']+)': '?([^,'}]+)")
    rows: list[dict[str, float]] = []
    step = 0
    for line in b"".join(blocks).decode("utf-8", "replace").replace("\r", "\n").split("\n"):
        text = ANSI.sub("", line)
        if "'loss'" in text:
            rows.append({key: float(value) for key, value in pair.findall(text) if value != "None"} | {"step": step})
        elif bar := BAR.search(text):
            step = int(bar[1])
    return rows


def ours(blocks: list[bytes]) -> int:
    reader = reader_for("trl")
    assert reader is not None
    whole = b"".join(blocks)
    for start in range(0, len(whole), 1 << 20):
        reader.feed(whole[start : start + (1 << 20)])
    return len(reader.columns)


def hf_log_speed() -> list[Row]:
    """100 MB, both ways of transformers; the peers are two obvious parsers, in the same run."""
    rows = []
    for name, quoted, every in (("4", False, 1), ("5", True, 1), ("5, logging_steps 10", True, 10)):
        blocks = list(log(100 * MEGABYTE, quoted=quoted, every=every))
        size = sum(map(len, blocks)) / MEGABYTE
        spent = {work.__name__: seconds(work, blocks) for work in (ours, plain, pairs)}
        ratio, other = spent["plain"] / spent["ours"], spent["pairs"] / spent["ours"]
        measured = f"{size / spent['ours']:.0f} MB/s, {ratio:.1f} times literal_eval, {other:.1f} times a regex a pair"
        rows.append(Row(f"TRL log of {size:.0f} MB, transformers {name}", measured, "≥ 4 times the plain", ratio >= 4))
    return rows


def seconds(work: Callable[[list[bytes]], object], blocks: list[bytes]) -> float:
    spent = []
    for _ in range(3):
        began = time.process_time()
        work(blocks)
        spent.append(time.process_time() - began)
    return statistics.median(spent)


def hf_log_follow() -> list[Row]:
    """A log that grows by 50 000 lines a second, read ten times a second."""
    blocks = list(log(8 * MEGABYTE, quoted=True))
    lines = b"".join(blocks).splitlines(keepends=True)
    reader = reader_for("trl")
    assert reader is not None
    spent, fed = 0.0, 0
    while fed < 300_000:
        start = fed % (len(lines) - 5_000)
        block = b"".join(lines[start : start + 5_000])
        began = time.process_time()
        reader.feed(block)
        spent += time.process_time() - began
        fed += 5_000
    share = spent / (fed / 50_000) * 100
    return [Row("following 50 000 lines a second", f"{share:.0f} % of a core", "< 60 %", share < 60)]
