"""The schema files, and a strict reading of them: whatever they do not name is an error."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from referencing import Registry, Resource

import grpotui_supervisor

if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = Path(grpotui_supervisor.__file__).parent / "schemas"
RECORDS = ("ranks", "host", "timeline", "findings", "gpu")


def names() -> list[str]:
    return sorted(path.name.removesuffix(".schema.json") for path in FOLDER.glob("*.schema.json"))


def load(name: str) -> dict[str, Any]:
    document = json.loads((FOLDER / f"{name}.schema.json").read_text())
    assert isinstance(document, dict)
    return document


def closed(schema: Any) -> Any:
    """The schema with every door shut that it leaves open for later versions."""
    if isinstance(schema, dict):
        doors = ("additionalProperties", "unevaluatedProperties")
        return {key: False if key in doors and value is True else closed(value) for key, value in schema.items()}
    return [closed(item) for item in schema] if isinstance(schema, list) else schema


@cache
def validator(name: str) -> Draft202012Validator:
    documents = {f"{known}.schema.json": closed(load(known)) for known in names()}
    registry = Registry().with_resources((uri, Resource.from_contents(document)) for uri, document in documents.items())
    return Draft202012Validator(documents[f"{name}.schema.json"], registry=registry)


def check(name: str, document: object) -> None:
    """Fails with every place where the document is not what its schema says."""
    found = [
        f"{'/'.join(map(str, e.absolute_path)) or '(top)'}: {e.message}" for e in validator(name).iter_errors(document)
    ]
    assert not found, f"not a {name}: {document}\n" + "\n".join(found)


def check_lines(name: str, lines: Iterable[str | bytes]) -> list[dict[str, Any]]:
    """Every line is a document of its own."""
    documents = [json.loads(line) for line in lines]
    for document in documents:
        check(name, document)
    return documents


def check_directory(directory: Path) -> None:
    """Everything that a run directory holds."""
    check("run", json.loads((directory / "run.json").read_text()))
    for name in RECORDS:
        path = directory / f"{name}.jsonl"
        if path.exists():
            check_lines(name, path.read_bytes().splitlines())
    for name in ("wrapper", "probe"):
        for path in directory.glob(f"ranks/*/{name}-*.jsonl"):
            check_lines(name, path.read_bytes().splitlines())
