"""The fuzzer's targets for a few seconds; for longer, and guided by coverage: `python -m tests.fuzz 600`."""

import pytest
from fuzz.targets import TARGETS, check
from hypothesis import given, settings
from hypothesis import strategies as st
from support.fragments import FRAGMENTS
from support.framework_samples import SAMPLES

WORDS = st.sampled_from([part.encode() for part in FRAGMENTS])
LOGS = st.sampled_from([sample.log.encode() for sample in SAMPLES])
TEXTS = st.one_of(
    st.lists(st.one_of(WORDS, st.binary(max_size=4)), max_size=40).map(b"".join),
    st.tuples(LOGS, st.integers(0, 3000), st.lists(WORDS, max_size=3).map(b"".join), st.integers(0, 30)).map(
        lambda made: made[0][: made[1]] + made[2] + made[0][made[1] + made[3] :]
    ),
)
PLACES = st.lists(st.integers(0, 4000), max_size=6)


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=60, deadline=None)
@given(text=TEXTS, places=PLACES)
def test_no_text_raises_and_cuts_do_not_matter(name: str, text: bytes, places: list[int]) -> None:
    check(name, text, places)
