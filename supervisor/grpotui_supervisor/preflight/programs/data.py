"""Rows of data files: how many, which columns, and what is wrong with prompts and right answers."""

from __future__ import annotations

import csv
import json
import os
import re
import sys

from grpotui_supervisor.preflight.programs.base import answer, failure, tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

_FULL_WIDTH = re.compile("[\uff10-\uff19\uff0b-\uff0f\uff05\uff1d\u3000]")
_HALF_WIDTH = re.compile("[0-9]")
_CHARACTERS_A_TOKEN = 4
_SHOWN = 60


class Prompts:
    """Lengths and empty ones."""

    def __init__(self, limit: int | None, length: Callable[[str], int]) -> None:
        self.empty = self.over = self.longest = self.known = 0
        self._limit = limit
        self._length = length

    def add(self, value: Any) -> None:  # noqa: ANN401
        """One row's."""
        text = _text(value)
        if text is None or not text.strip():
            self.empty += 1
            return
        self.known += 1
        length = self._length(text)
        self.longest = max(self.longest, length)
        self.over += self._limit is not None and length > self._limit


class Answers:
    """Right answers: empty ones, how many differ, and the width of their digits."""

    def __init__(self) -> None:
        self.empty = self.full = self.half = self.known = 0
        self.example: str | None = None
        self.seen: set[int] = set()

    def add(self, value: Any) -> None:  # noqa: ANN401
        """One row's."""
        text = _text(value)
        if text is None or not text.strip():
            self.empty += 1
            return
        self.known += 1
        self.seen.add(hash(text))
        self.half += bool(_HALF_WIDTH.search(text))
        if _FULL_WIDTH.search(text):
            self.full += 1
            self.example = self.example or text[:_SHOWN]


class Look:
    """All files, one after the other; the first so many rows are looked at, the others counted."""

    def __init__(self, wanted: dict[str, Any], length: Callable[[str], int]) -> None:
        self.prompts, self.answers = Prompts(wanted["limit"], length), Answers()
        self.columns: dict[str, str | None] = {"prompt": None, "answer": None}
        self.looked = 0
        self._wanted = wanted

    def file(self, path: str) -> dict[str, Any]:
        """What is told of it; whatever a library raises over a broken one is its error."""
        told: dict[str, Any] = {"path": path, "rows": None, "columns": [], "error": None}
        try:
            rows, total = _rows(path)
            counted = 0
            for row in rows:
                if not isinstance(row, dict):
                    raise ValueError("a row is no object with columns")  # noqa: TRY301, TRY004
                told["columns"] = told["columns"] or self._found(row)
                counted += 1
                if self.looked < self._wanted["rows"]:
                    self._row(row)
                elif total is not None:
                    break
            told["rows"] = counted if total is None else total
        except Exception as error:  # noqa: BLE001
            told["error"] = failure(error)
        return told

    def _found(self, row: dict[str, Any]) -> list[str]:
        for kind in self.columns:
            self.columns[kind] = self.columns[kind] or _column(row, self._wanted[kind])
        return list(row)

    def _row(self, row: dict[str, Any]) -> None:
        self.looked += 1
        prompt, right = self.columns["prompt"], self.columns["answer"]
        if prompt is not None:
            self.prompts.add(_at(row, prompt))
        if right is not None:
            self.answers.add(_at(row, right))


def main(wanted: dict[str, Any]) -> None:
    """`wanted`: files, columns to look for, the limit of prompts, a tokenizer, and how many rows are looked at."""
    length, unit = _measure(wanted["tokenizer"])
    look, files = Look(wanted, length), []
    for path in wanted["files"]:
        files.append(look.file(path))
        tell(files=files)
    prompts, answers = look.prompts, look.answers
    answer(
        looked=look.looked,
        unit=unit,
        columns=look.columns,
        prompts={"empty": prompts.empty, "over": prompts.over, "longest": prompts.longest, "known": prompts.known},
        answers={
            "empty": answers.empty, "distinct": len(answers.seen), "known": answers.known,
            "full_width": answers.full, "half_width": answers.half, "example": answers.example,
        },
    )  # fmt: skip


def _measure(tokenizer: str | None) -> tuple[Callable[[str], int], str]:
    """How long a text is, and in what: tokens where there is a tokenizer, else a quarter of its characters."""
    if tokenizer is not None:
        try:
            from tokenizers import Tokenizer  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415

            known = Tokenizer.from_file(tokenizer)
        except Exception as error:  # noqa: BLE001
            tell(tokenizer_error=failure(error))
        else:
            return (lambda text: len(known.encode(text, add_special_tokens=False).ids)), "tokens"
    return (lambda text: -(-len(text) // _CHARACTERS_A_TOKEN)), "characters / 4"


def _rows(path: str) -> tuple[Iterator[dict[str, Any]], int | None]:
    """The rows, and how many there are where that is known beforehand."""
    kind = os.path.splitext(path)[1].lower()
    if kind == ".parquet":
        return _parquet(path)
    if kind == ".jsonl":
        return _json_lines(path), None
    if kind == ".json":
        return _json(path)
    if kind in (".csv", ".tsv"):
        return _table(path, "\t" if kind == ".tsv" else ","), None
    raise ValueError("no .parquet, .jsonl, .json, .csv or .tsv file")


def _parquet(path: str) -> tuple[Iterator[dict[str, Any]], int]:
    try:
        import pyarrow.parquet as parquet  # noqa: PLC0415, PLR0402
    except ImportError as error:
        raise RuntimeError(f"pyarrow is not installed in this interpreter ({error})") from error
    file = parquet.ParquetFile(path)
    return (row for batch in file.iter_batches(256) for row in batch.to_pylist()), file.metadata.num_rows


def _json_lines(path: str) -> Iterator[dict[str, Any]]:
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                try:
                    yield json.loads(line)
                except ValueError as error:
                    raise ValueError(f"line {number} is no JSON: {error}") from error


def _json(path: str) -> tuple[Iterator[dict[str, Any]], int | None]:
    """An array of rows, an object that holds one, or one row a line as many call it all the same."""
    with open(path, encoding="utf-8") as file:
        try:
            found = json.load(file)
        except ValueError:
            return _json_lines(path), None
    if isinstance(found, dict):
        found = next((value for value in found.values() if isinstance(value, list)), [found])
    return iter(found), len(found)


def _table(path: str, between: str) -> Iterator[dict[str, Any]]:
    csv.field_size_limit(1 << 24)
    with open(path, encoding="utf-8-sig", newline="") as file:
        yield from csv.DictReader(file, delimiter=between)


def _column(row: dict[str, Any], names: Sequence[str]) -> str | None:
    return next((name for name in names if _has(row, name)), None)


def _has(row: Any, name: str) -> bool:  # noqa: ANN401
    for part in _path(row, name):
        if not isinstance(row, dict) or part not in row:
            return False
        row = row[part]
    return True


def _at(row: Any, name: str) -> Any:  # noqa: ANN401
    for part in _path(row, name):
        row = row.get(part) if isinstance(row, dict) else None
    return row


def _path(row: Any, name: str) -> list[str]:  # noqa: ANN401
    """A column whose name holds dots goes before the way into one."""
    return [name] if isinstance(row, dict) and name in row else name.split(".")


def _text(value: Any) -> str | None:  # noqa: ANN401
    """What a person reads of it: of messages their contents; of other values how they are written."""
    if value is None:
        return None
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        return "\n".join(str(one.get("content") or "") for one in value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
