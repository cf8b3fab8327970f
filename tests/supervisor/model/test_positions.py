import tomllib
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.toml_documents import Document, documents

from grpotui_supervisor.model.positions import KeyPath, nearest_place, positions, read_key, spelled


def leaves(value: object, path: KeyPath = ()) -> Iterator[KeyPath]:
    """Yield the path of each key below `value`, empty tables and array elements left out."""
    inner: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    for part, element in inner:
        if isinstance(part, str):
            yield (*path, part)
        yield from leaves(element, (*path, part))


@settings(deadline=None)
@given(documents())
def test_each_key_is_found_where_it_was_written(document: Document) -> None:
    places = positions(document.text)
    found = {path: (place.line, place.column) for path, place in places.items() if path in document.keys}
    assert found == {path: document.place(path) for path in document.keys}


@settings(deadline=None)
@given(documents())
def test_each_key_of_the_parsed_document_has_a_place_that_holds_its_text(document: Document) -> None:
    places = positions(document.text)
    lines = document.text.split("\n")
    for path in leaves(tomllib.loads(document.text)):
        place = places[path]
        key = lines[place.line - 1][place.column - 1 :][: place.width]
        assert list(tomllib.loads(f"{key} = 0")) == [path[-1]]


@settings(deadline=None)
@given(documents())
def test_carriage_returns_move_nothing(document: Document) -> None:
    assert positions(document.text.replace("\n", "\r\n")) == positions(document.text)


@settings(deadline=None)
@given(st.text(st.sampled_from("ab.=[]{},#\"'\\\n \t1"), max_size=60))
def test_a_text_that_is_no_toml_does_no_harm(text: str) -> None:
    lines = text.split("\n")
    for place in positions(text).values():
        assert lines[place.line - 1][place.column - 1 :][: place.width]


@pytest.mark.parametrize(
    "text", ["a=" + "[" * 50_000, "a=" + "[{a=" * 20_000, "[" * 50_000, "a." * 20_000 + "b=1", '"' * 50_001]
)
def test_depth_costs_neither_stack_nor_memory(text: str) -> None:
    assert len(positions(text)) <= 2000


@pytest.mark.parametrize(
    ("text", "path", "place"),
    [
        ("a = 1", ("a",), (1, 1)),
        ("  a.b = 1", ("a", "b"), (1, 5)),
        ("a.b = 1\na.c = 2", ("a",), (1, 1)),
        ("[a.b]\n[a]\nx = 1", ("a",), (2, 2)),
        ("[a]\n[a.b]", ("a",), (1, 2)),
        ('[ launch . "e n v" ]\nX = 1', ("launch", "e n v"), (1, 12)),
        ("[[t]]\nx = 1\n[[t]]\nx = 2", ("t",), (1, 3)),
        ("[[t]]\nx = 1\n[[t]]\nx = 2", ("t", 1), (3, 3)),
        ("[[t]]\nx = 1\n[[t]]\nx = 2", ("t", 1, "x"), (4, 1)),
        ("[[t]]\n[t.u]\n[[t]]\n[t.u]\nx = 1", ("t", 1, "u", "x"), (5, 1)),
        ("[[t]]\n[[t.u]]\n[[t.u]]\nx = 1", ("t", 0, "u", 1, "x"), (4, 1)),
        ("a = { b = 1, c.d = 2 }", ("a", "c", "d"), (1, 16)),
        ("a = [{ b = 1 }, 7, { b = 2 }]", ("a", 2, "b"), (1, 22)),
        ('a = """\nb = 1\n"""\nb = 2', ("b",), (4, 1)),
        ('a = """x""""\nb = 2', ("b",), (2, 1)),
        ("a = '''\n[b]\n'''\nb = 2", ("b",), (4, 1)),
        ("a = [\n  'b = 1', # b = 2\n]\nb = 3", ("b",), (4, 1)),
        ("# b = 1\nb = '#' # c", ("b",), (2, 1)),
        ('"\\u0061" = 1', ("a",), (1, 1)),
        ("x = '日本'\ny = 1", ("y",), (2, 1)),
    ],
)
def test_place_of(text: str, path: KeyPath, place: tuple[int, int]) -> None:
    tomllib.loads(text)
    found = positions(text)[path]
    assert (found.line, found.column) == place


def test_array_elements_and_missing_keys_are_at_the_closest_key_around_them() -> None:
    places = positions("[launch]\nargv = ['a', 'b']")
    assert nearest_place(places, ("launch", "argv", 1)) == places["launch", "argv"]
    assert nearest_place(places, ("launch", "nproc")) == places[("launch",)]
    assert nearest_place(places, ("name",)) is None


@pytest.mark.parametrize(
    ("text", "names", "rest"),
    [("a.b=1", ["a", "b"], "=1"), ("'a.b' . c = 1", ["a.b", "c"], " = 1"), ("a..b", ["a"], "..b"), ("=1", [], "=1")],
)
def test_read_key(text: str, names: list[str], rest: str) -> None:
    parts, end = read_key(text)
    assert [part.name for part in parts] == names
    assert text[end:] == rest


def test_a_path_is_spelled_as_a_person_would() -> None:
    assert spelled(("launch", "env", "A B", "x-1", 2)) == "launch.env.'A B'.x-1[2]"
