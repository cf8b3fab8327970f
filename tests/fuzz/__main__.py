"""`python -m tests.fuzz [SECONDS [TARGET…]]`: coverage-guided, until the time is over or something is found.

atheris is wanted for it alone (`pip install atheris`). What was found is written as `crash-…` into the present folder;
its first byte chooses the target, the next three the cuts.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "supervisor"), str(HERE.parents[1])]

import atheris  # noqa: E402

with atheris.instrument_imports(include=["grpotui_supervisor"]):
    from fuzz.targets import TARGETS, check

from support.engine_samples import LINES  # noqa: E402
from support.event_files import training  # noqa: E402
from support.fragments import FRAGMENTS  # noqa: E402
from support.framework_samples import SAMPLES  # noqa: E402
from support.log_oracle import EXCERPTS  # noqa: E402

LONGEST = 1500
PIECES = 4
"""Of each of our own logs so many pieces are seeds."""


def seeds() -> list[tuple[str, bytes]]:
    """Texts, each with the target that reads it."""
    found = [(sample.framework, sample.log.encode()[:LONGEST]) for sample in SAMPLES]
    for path in sorted(EXCERPTS.glob("*/*.log")):
        log, size = path.read_bytes(), LONGEST // 2
        found += [(path.parent.name, log[at : at + size]) for at in range(0, min(len(log), PIECES * size), size)]
    found.append(("tensorboard", training(["a/b", "c"], range(1, 6))[:LONGEST]))
    found += [("engine", f"{line}\n".encode()) for line, _, _ in LINES]
    return [*found, *(("auto", log) for _, log in found)]


def main() -> None:
    seconds, names = int((sys.argv[1:] or ["600"])[0]), sys.argv[2:] or list(TARGETS)

    def one(data: bytes) -> None:
        if len(data) > 4:
            check(names[data[0] % len(names)], data[4:], [data[1] * 6 + data[2] % 6, data[2] * 7, data[3] * 31])

    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus"
        corpus.mkdir()
        for number, (name, seed) in enumerate(seeds()):
            at = names.index(name) if name in names else number % len(names)
            (corpus / str(number)).write_bytes(bytes([at, 3, 5, 7]) + seed)
        words = Path(folder) / "words"
        quoted = ("".join(f"\\x{byte:02x}" for byte in word.encode()) for word in FRAGMENTS)
        words.write_text("".join(f'"{word}"\n' for word in quoted))
        options = [f"-max_total_time={seconds}", f"-max_len={LONGEST + 4}", f"-dict={words}", "-print_final_stats=1"]
        atheris.Setup([sys.argv[0], *options, str(corpus)], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
