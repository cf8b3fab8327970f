"""`grpotui export`."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

import click

from grpotui.cli.options import examples, source_argument
from grpotui.export import samples as answers
from grpotui.export import tables, tensorboard
from grpotui.landing import check_free, landing
from grpotui.output import say
from grpotui.progress import Progress
from grpotui_supervisor import rundir
from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.source.file_source import FileSource
from grpotui_supervisor.source.opening import open_source
from grpotui_supervisor.source.reading import read_log, read_run
from grpotui_supervisor.source.samples import samples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpotui_supervisor.source.source import Source

_TENSORBOARD = "tensorboard"
_FORMATS = (*(name for name, _ in tables.FORMATS), _TENSORBOARD)
_EXAMPLES = examples(
    "grpotui export train.log --to csv --output train.csv",
    "grpotui export --to jsonl | jq .metrics",
    "grpotui export --to tensorboard --output runs/mine",
    "grpotui export rollouts/ --samples --to jsonl > samples.jsonl",
)


@click.command(epilog=_EXAMPLES)
@source_argument
@click.option("--to", "form", type=click.Choice(_FORMATS), required=True, help="The format.")
@click.option(
    "--output", "-o", "path", metavar="FILE|DIR", help="Write to FILE, which must not exist; a DIR for tensorboard."
)
@click.option("--samples", "of_samples", is_flag=True, help="Prompts and answers with their rewards, not the metrics.")
def command(source: str | None, form: str, path: str | None, *, of_samples: bool) -> int:
    """Write all metrics of SOURCE, or its samples, in another program's format.

    SOURCE is what `grpotui replay` takes (the newest run by default); for samples also verl's rollout or validation
    dumps and TRL's completions, a file or a folder of them. Canonical names come first, the framework's own keys beside
    them. A metric that a step did not print is absent.

    For tensorboard DIR gets one event file: canonical names are its tags, the framework's keys stand under raw/. Values
    are in single precision, as TensorBoard has them; jsonl, csv and parquet hold every digit. Its times are those on
    record; where there are none (a bare log has none) they are left out, and TensorBoard shows 1970. A row of unknown
    step is left out and counted.
    """
    opened = open_source(source, rundir.root(os.environ))
    _check_output(path, form, of_samples=of_samples)
    if of_samples:
        _export_samples(opened, form, path)
        return 0
    with Progress("reading", _name(opened)) as progress:
        times = read_log(opened, progress) if isinstance(opened, FileSource) else read_run(opened, progress)
    for note in opened.notes if isinstance(opened, FileSource) else ():
        say(note)
    if not opened.logs.steps:
        hint = "grpotui replay shows what is there; --samples exports prompts and answers"
        raise UsageError("there are no metrics in it to export", hint=hint)
    with Progress("writing", show=lambda rows: f"{rows} rows") as progress:
        if form == _TENSORBOARD:
            written, counts = tensorboard.write(opened.logs, times, str(path), progress)
            say("\n".join([written, *(f"{words}: {count}" for words, count in counts.items())]))
            return 0
        with _open(path) as out:
            dict(tables.FORMATS)[form](opened.logs, out, progress)
    return 0


def _export_samples(opened: Source | FileSource, form: str, path: str | None) -> None:
    summary, notes = answers.Summary(), list[str]()
    if not isinstance(opened, FileSource):
        with Progress("reading", _name(opened)) as progress:
            read_run(opened, progress)
    with Progress("reading", _name(opened)) as progress, _open(path) as out:
        dict(answers.FORMATS)[form](summary.of(samples(opened, progress, notes.append)), out)
        if not summary.count:
            raise UsageError(
                "there are no samples in it",
                hint="TRL prints them with log_completions, verl dumps them to trainer.rollout_data_dir;\n"
                "  name a dump, or its folder in the profile: [logs] samples",
            )
    for words in (*notes, summary.text()):
        say(words)


def _name(opened: Source | FileSource) -> str:
    return opened.path if isinstance(opened, FileSource) else opened.directory.run_id


def _check_output(path: str | None, form: str, *, of_samples: bool) -> None:
    """Before a long log is read."""
    if of_samples and form == _TENSORBOARD:
        raise UsageError("samples are no scalars for TensorBoard", hint="--to jsonl, csv or parquet")
    if form == _TENSORBOARD:
        if path is None:
            raise UsageError("tensorboard needs a folder to write to", hint="name one: --output DIR")
        tensorboard.check_folder(path)
    elif path is not None:
        check_free(path)
    elif sys.stdout.isatty() and (form == "parquet" or (of_samples and form == "csv")):
        why = "parquet is no text" if form == "parquet" else "what a model wrote is no text"
        raise UsageError(f"{why} for a terminal", hint="name a file: --output FILE")


@contextmanager
def _open(path: str | None) -> Iterator[BinaryIO]:
    if path is None:
        with open(sys.stdout.fileno(), "wb", closefd=False) as out:
            yield out
    else:
        with landing(path) as out:
            yield out
