"""The data set: files, rows, columns, prompts over the limit, empty or constant answers, and full-width digits.

It is read in the training interpreter, which has the libraries for it; where that does not start, in grpotui's own.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from grpotui_supervisor import hub_cache, planning
from grpotui_supervisor.preflight import data_files, said
from grpotui_supervisor.preflight.check import Result
from grpotui_supervisor.preflight.child import run_program
from grpotui_supervisor.preflight.finding import Finding, together

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grpotui_supervisor.planning import Command
    from grpotui_supervisor.preflight.check import Job
    from grpotui_supervisor.preflight.child import Answer

_ROWS: Final = 20_000
"""So many are looked at; the count is of all of them."""
_LIMIT_S: Final = 60.0
_PROMPTS: Final = ("prompt", "messages", "question", "problem")
_ANSWERS: Final = ("reward_model.ground_truth", "ground_truth", "solution", "answer", "label", "target")
_VERL_COLUMNS: Final = ("data_source", "reward_model")
_MANY: Final = 0.01
"""A share of prompts that are dropped which is worth a warning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is looked at."""

    files: tuple[str, ...]
    train: frozenset[str]
    """Those of them that are trained on."""
    rows: int | None
    """So many the profile says that these have."""
    prompt: tuple[str, ...]
    answer: tuple[str, ...]
    limit: int | None
    tokenizer: str | None

    def words(self) -> str:
        """For the program."""
        return json.dumps({
            "files": self.files, "prompt": self.prompt, "answer": self.answer, "limit": self.limit,
            "tokenizer": self.tokenizer, "rows": _ROWS,
        })  # fmt: skip


class _Data:
    name = "data"
    title = "Data"
    limit_s = _LIMIT_S + 10

    def run(self, job: Job) -> Result:
        """Training and validation files together; each is told by itself where it is not there or cannot be read."""
        command = said.command(job)
        train, others = data_files.named(job, command)
        if not train and not others:
            return Result(outcome="not_applicable", evidence="the job names no file of data here")
        findings = [
            Finding("failed", f"{path} is not there", "correct the path, or prepare the data first")
            for path in data_files.absent([*train, *others])
        ]
        files = data_files.files([*train, *others])
        if not files:
            return together(
                findings or [Finding("unchecked", "no file of a known kind: " + ", ".join(data_files.KINDS))]
            )
        wanted = Wanted(
            files=files,
            train=frozenset(data_files.files(train)),
            rows=job.loaded.profile.data.rows,
            prompt=_columns(job.loaded.profile.data.prompt or command.settings.text("data.prompt_key"), _PROMPTS),
            answer=_columns(job.loaded.profile.data.answer, _ANSWERS),
            limit=planning.spans(command)[0] if command.kind is not None else None,
            tokenizer=_tokenizer(job, command),
        )
        told, where = _read(job, wanted)
        if told.document is None or "looked" not in told.document:
            return together([*findings, Finding("unchecked", f"the program that reads the files {told.words}")])
        return together([*findings, *judged(told.document, wanted, command)], _kept(told.document, where))


def _columns(told: str | None, usual: tuple[str, ...]) -> tuple[str, ...]:
    return usual if told is None else (told,)


def _tokenizer(job: Job, command: Command) -> str | None:
    """The model's tokenizer.json, where the model lies here or in the hub's cache."""
    word = planning.model_of(job.loaded.profile, command)
    if word is None:
        return None
    folders = [os.path.join(folder, os.path.expanduser(word)) for folder in (job.cwd, said.folder(job))]
    cached = hub_cache.snapshot(job.environment, "models", word)
    found = (os.path.join(folder, "tokenizer.json") for folder in [*folders, *([] if cached is None else [cached])])
    return next((path for path in found if os.path.isfile(path)), None)


def _read(job: Job, wanted: Wanted) -> tuple[Answer, str]:
    """What the program told, and in whose interpreter it ran."""
    told = run_program("data", job, args=[wanted.words()], limit_s=_LIMIT_S)
    if told.outcome in ("answered", "timed_out", "stopped"):
        return told, "the training interpreter"
    own = replace(job, python=(sys.executable,))
    return run_program("data", own, args=[wanted.words()], limit_s=_LIMIT_S), "grpotui's interpreter"


def judged(told: Mapping[str, Any], wanted: Wanted, command: Command) -> Iterator[Finding]:
    """What the program told, against what the job needs."""
    for file in told["files"]:
        if file["error"] is not None:
            outcome = "unchecked" if "is not installed" in file["error"] else "failed"
            yield Finding(outcome, f"{file['path']}: {file['error']}")  # type: ignore[arg-type]
        elif not file["rows"]:
            yield Finding("failed", f"{file['path']} has no rows", "prepare the data again")
    good = [file for file in told["files"] if file["error"] is None and file["rows"]]
    if not good:
        return
    rows = ", ".join(f"{os.path.basename(file['path'])} {file['rows']} rows" for file in good)
    yield Finding("passed", f"{rows}; {_looked(told, good)}")
    yield from _counted(good, wanted)
    yield from _missing(told, good, wanted, command)
    if told["columns"]["prompt"] is not None:
        yield from _prompts(told, wanted, command)
    if told["columns"]["answer"] is not None:
        yield from _answers(told)


def _counted(good: Sequence[Mapping[str, Any]], wanted: Wanted) -> Iterator[Finding]:
    rows = {file["path"]: file["rows"] for file in good if file["path"] in wanted.train}
    if wanted.rows is not None and rows.keys() == wanted.train and sum(rows.values()) != wanted.rows:
        words = f"the files that are trained on have {sum(rows.values())} rows, and [data] rows says {wanted.rows}"
        yield Finding("warning", words, "correct it: steps an epoch are counted with it")


def _looked(told: Mapping[str, Any], good: Sequence[Mapping[str, Any]]) -> str:
    total = sum(file["rows"] for file in good)
    return "all looked at" if told["looked"] >= total else f"the first {told['looked']} looked at"


def _missing(
    told: Mapping[str, Any], good: Sequence[Mapping[str, Any]], wanted: Wanted, command: Command
) -> Iterator[Finding]:
    columns = ", ".join(good[0]["columns"])
    if told["columns"]["prompt"] is None:
        words = f"none of the columns {', '.join(wanted.prompt)} is there, but {columns}"
        yield Finding("failed" if command.kind == "verl" or len(wanted.prompt) == 1 else "unchecked", words,
                      '[data] prompt = "…", data.prompt_key=…, or prepare the data for the framework')  # fmt: skip
    if told["columns"]["answer"] is None:
        words = f"no column of right answers ({', '.join(wanted.answer)}) among {columns}"
        yield Finding("failed" if len(wanted.answer) == 1 else "unchecked", words, '[data] answer = "…"')
    if command.kind == "verl":
        for file in good:
            absent = [name for name in _VERL_COLUMNS if name not in file["columns"]]
            if absent:
                yield Finding("failed", f"{file['path']} has no column {' and '.join(absent)}, which verl reads",
                              "its preprocessing: examples/data_preprocess")  # fmt: skip


def _prompts(told: Mapping[str, Any], wanted: Wanted, command: Command) -> Iterator[Finding]:
    found, unit = told["prompts"], told["unit"]
    if found["empty"]:
        yield Finding("warning", f"{found['empty']} of {told['looked']} prompts are empty", "remove these rows")
    if not found["known"]:
        return
    exact = unit == "tokens"
    how = "in tokens, without the chat template" if exact else "by characters / 4, an estimate"
    if wanted.limit is None:
        yield Finding("passed", f"longest prompt {found['longest']} ({how})")
        return
    share = found["over"] / found["known"]
    words = f"{found['over']} of {found['known']} prompts ({share:.1%}) are over {wanted.limit} ({how})"
    dropped = command.kind == "verl" and command.settings.flag("data.filter_overlong_prompts", default=False)
    strict = command.kind == "verl" and command.settings.text("data.truncation", "error") == "error" and not dropped
    if not found["over"]:
        yield Finding("passed", f"longest prompt {found['longest']} of {wanted.limit} ({how})")
    elif strict:
        yield Finding("failed" if exact else "warning", f"{words}, and data.truncation=error stops at the first",
                      "data.filter_overlong_prompts=True, or a larger data.max_prompt_length")  # fmt: skip
    elif dropped:
        yield Finding("warning" if share > _MANY else "passed", f"{words} and will be left out",
                      "a larger data.max_prompt_length" if share > _MANY else None)  # fmt: skip
    else:
        yield Finding("warning", f"{words} and will be cut", "a larger limit, or without these rows")


def _answers(told: Mapping[str, Any]) -> Iterator[Finding]:
    found, column = told["answers"], told["columns"]["answer"]
    if found["empty"]:
        yield Finding("warning", f"{found['empty']} of {told['looked']} right answers ({column}) are empty",
                      "remove these rows: no answer can be right")  # fmt: skip
    if found["known"] > 1 and found["distinct"] == 1:
        yield Finding(
            "warning", f"all {found['known']} right answers ({column}) are the same", "is it the right column?"
        )
    elif found["known"]:
        yield Finding("passed", f"{found['distinct']} different right answers ({column})")
    if found["full_width"]:
        mixed = f", {found['half_width']} with half-width digits" if found["half_width"] else ""
        yield Finding(
            "warning", f"{found['full_width']} of {found['known']} right answers have full-width signs{mixed}: "
            f"{found['example']!r} is never equal to what a model writes", "normalise them (NFKC) in data and reward",
        )  # fmt: skip


def _kept(told: Mapping[str, Any], where: str) -> dict[str, Any]:
    """For run.json: numbers and names, no row."""
    answers = {key: value for key, value in told["answers"].items() if key != "example"}
    files = [{key: file[key] for key in ("path", "rows", "columns")} for file in told["files"]]
    return {"files": files, "looked": told["looked"], "unit": told["unit"], "columns": told["columns"],
            "prompts": told["prompts"], "answers": answers, "read_by": where}  # fmt: skip


CHECK = _Data()
