import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.model.placeholders import NAMES, expand, misplaced

VALUES = {
    "python": ("uv", "run", "python"),
    "grpotui_python": ("/opt/grpotui/bin/python",),
    "profile_dir": ("/p",),
    "rank": ("3",),
    "wrapper": (),
}


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("{python}", ("uv", "run", "python")),
        ("{wrapper}", ()),
        ("{rank}", ("3",)),
        ("{profile_dir}/train_{rank}.py", ("/p/train_3.py",)),
        ("{{rank}}", ("{3}",)),
        ("", ("",)),
        ("{run_dir}", ("{run_dir}",)),
        ("{run_dir}/{rank}", ("{run_dir}/3",)),
        ("+a={b:1,c:{d:2}}", ("+a={b:1,c:{d:2}}",)),
        ("name=${rank}", ("name=${rank}",)),
        ("{Rank} { rank } {rank", ("{Rank} { rank } {rank",)),
        ("{rank}\n", ("3\n",)),
    ],
)
def test_expand_one_word(word: str, expected: tuple[str, ...]) -> None:
    assert expand([word], VALUES) == expected


def test_expand_keeps_the_order_of_words() -> None:
    assert expand(["{wrapper}", "{python}", "-u", "{profile_dir}/t.py"], VALUES) == (
        "uv",
        "run",
        "python",
        "-u",
        "/p/t.py",
    )


def test_what_was_put_in_is_not_read_again() -> None:
    assert expand(
        ["{profile_dir}/x", "{python}"], {"profile_dir": ("{rank}",), "python": ("{rank}",), "rank": ("3",)}
    ) == (
        "{rank}/x",
        "{rank}",
    )


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("--x={python}", "{python} stands for 3 words (uv run python) and cannot be a part of the word '--x={python}'"),
        ("{wrapper}x", "{wrapper} stands for no word here and cannot be a part of the word '{wrapper}x'"),
    ],
)
def test_several_words_do_not_fit_into_one(word: str, message: str) -> None:
    assert misplaced(["a", word], VALUES) == ((1, message),)
    with pytest.raises(UsageError) as raised:
        expand(["a", word], VALUES)
    assert str(raised.value) == message


@given(st.lists(st.text(st.sampled_from("ab{}$ ") | st.characters(codec="utf-8"))))
def test_words_without_placeholders_stay_as_they_are(words: list[str]) -> None:
    assert expand(words, dict.fromkeys(NAMES, ("x", "y"))) == tuple(words)
