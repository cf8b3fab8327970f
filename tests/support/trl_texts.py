"""Pieces of a TRL log, as tqdm and rich draw them."""

from grpotui_supervisor.logs.trl import TrlReader
from support.log_oracle import read

TOTAL = 20


def bar(done: int, total: int = TOTAL) -> str:
    """As tqdm redraws it: a carriage return in front, no line end behind."""
    return f"\r{done * 100 // total:3d}%|███▌      | {done}/{total} [00:01<00:03,  4.05it/s]"


BAR = bar(7)
CLEAR = "\r" + " " * 46 + "\r"


def written(text: str, done: int, total: int = TOTAL) -> str:
    """What `tqdm.write` leaves in one stream: the bar cleared, the text, the bar again."""
    return f"{CLEAR}{text}\n{bar(done, total)}"


def redrawn(done: int, total: int = TOTAL) -> str:
    """The same where the text goes to another stream."""
    return f"{CLEAR}{bar(done, total)}"


def read_trl(*blocks: tuple[str, str], logging_steps: int | None = None) -> TrlReader:
    """Feed texts of (stream, text) to a new reader."""
    reader = read("trl", *((stream, text.encode()) for stream, text in blocks), logging_steps=logging_steps)
    assert isinstance(reader, TrlReader)
    return reader
