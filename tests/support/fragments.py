"""Pieces that logs are made of, to build hostile texts from."""

from grpotui_supervisor.logs import READERS

GENERAL = (
    *("step:", "1", "23", " - ", "x:", "actor/lr:1e-06", "np.float64(", "0.5", ")", "nan", "-inf", ":", "True"),
    *("(TaskRunner pid=1) ", "Final validation metrics", "Training Progress: ", "Total training steps: 9"),
    *("{'loss': ", "'0.5'", "'epoch': 1", "'kl': None", "{'train_runtime': 1, 'train_loss': 2}"),
    *("{", "}", "'", '"', ", ", " 35%|", "###", "| 7/20 [", " 0%| | 0/5 [", "100%| | 5/5 ["),
    *("\r", "\n", "\r\n", "\x1b[36m", "\x1b[", "\x1b]0;", "\x07", "é"),
)
"""Of verl and TRL, and of terminals."""

FRAGMENTS = (
    *GENERAL,
    *dict.fromkeys(mark.decode() for entry in READERS for mark in entry.marks),
    *('{"step": 1, "data": {', '"a/b": 0.5', "null", "NaN", "}}", '{"ev": "x", "m": 1}'),
    '{"ev": "header", "schema": 2',
    *("╭── Step 4 ──╮", "│ ", "┃", "├", "└", "╰", "[prompt] ", "[response] ", "[score] ", '{"input": "a", "output": '),
    *("Avg prompt throughput: 1.5 tokens/s", "Running: 3 reqs", "Decode batch. ", "#running-req: 2"),
    "took 1.5 seconds",
    *("!!binary |", "AAAAAAAA8D8=", "\u2500", "\u2503", "\u202e", "\ud7ff", "\ufeff", "\x00", "\x85", "\x9b"),
    *("'", "\\", "\\ud800", "1e999", "-0.0", "9" * 20, "1_000", "٣", "²"),
)
"""Of every framework, too."""
