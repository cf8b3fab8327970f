import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.log_oracle import cut

from grpotui_supervisor.samples.sample import Sample
from grpotui_supervisor.samples.trl_tables import LINE_LIMIT, TableReader

TABLE = """\
╭──────────────────────── Step 12 ────────────────────────╮
│ ┏━━━━━━━━┳━━━━━━━━━━━━━━━┳━━━━━━┳━━━━━━━━━━━┳━━━━━━━━━┓ │
│ ┃ Prompt ┃ Completion    ┃ accu ┃ Advantage ┃ source  ┃ │
│ ┃        ┃               ┃ racy ┃           ┃         ┃ │
│ ┡━━━━━━━━╇━━━━━━━━━━━━━━━╇━━━━━━╇━━━━━━━━━━━╇━━━━━━━━━┩ │
│ │ Say    │ One, two,     │ 0.24 │     -0.76 │ 1.00    │ │
│ │ three: │   three.      │      │           │         │ │
│ ├────────┼───────────────┼──────┼───────────┼─────────┤ │
│ │ Say    │ a │ b         │  nan │      0.76 │ b       │ │
│ │ three: │               │      │           │         │ │
│ └────────┴───────────────┴──────┴───────────┴─────────┘ │
╰─────────────────────────────────────────────────────────╯
"""


def read(*blocks: bytes) -> list[Sample]:
    reader = TableReader()
    found = [sample for block in blocks for sample in reader.feed(block)]
    return [*found, *reader.finish()]


def test_a_table() -> None:
    first, second = read(TABLE.encode())
    assert first == Sample(
        step=12, group=0, prompt="Say\nthree:", answer="One, two,\n  three.", rewards={"accuracy": 0.24},
        advantage=-0.76, length=None, ended=None, source="table",
    )  # fmt: skip
    assert (second.answer, second.advantage, second.group) == ("a │ b", 0.76, 0)
    assert second.rewards["accuracy"] != second.rewards["accuracy"]


def test_older_tables_have_no_advantage() -> None:
    lines = [
        "╭──── Step 3 ────╮",
        "│ ┃ Prompt ┃ Completion ┃ Reward ┃ │",
        "│ │ Say    │ One        │   0.24 │ │",
        "│ └────────┴────────────┴────────┘ │",
        "╰────────────────╯",
    ]
    (sample,) = read(("\n".join(lines) + "\n").encode())
    assert (sample.rewards, sample.advantage, sample.answer) == ({"Reward": 0.24}, None, "One")


@pytest.mark.parametrize("before", ["\r 5%|#| 1/20 [00:00<00:04,  4.38it/s]", "\x1b[1;37m", ""])
def test_a_title_is_glued_to_what_stands_before_it(before: str) -> None:
    assert len(read((before + TABLE).encode())) == 2


def test_a_title_inside_a_cell_opens_no_table() -> None:
    assert read(("│ " + TABLE).encode()) == []


def test_colours_of_a_terminal() -> None:
    coloured = TABLE.replace("│", "\x1b[1;37m│\x1b[0m").replace("┃", "\x1b[1m┃\x1b[0m").replace("\n", "\r\n")
    assert [each.answer for each in read(coloured.encode())] == ["One, two,\n  three.", "a │ b"]


def test_the_last_table_is_printed_twice() -> None:
    assert len(read((TABLE * 2).encode())) == 2
    assert len(read((TABLE + TABLE.replace("Step 12", "Step 13")).encode())) == 4


def test_equal_answers_in_one_table_are_all_there() -> None:
    row = TABLE.splitlines(keepends=True)[5:8]
    table = "".join([*TABLE.splitlines(keepends=True)[:5], *row, *row, *TABLE.splitlines(keepends=True)[5:]])
    assert len(read(table.encode())) == 4


def test_a_table_that_is_cut_off_ends_with_the_next_title() -> None:
    half = "".join(TABLE.splitlines(keepends=True)[:7])
    assert [sample.step for sample in read((half + "Traceback\n" + TABLE).encode())] == [12, 12]
    assert read(half.encode()) == []


@given(places=st.lists(st.integers(0, 3000), max_size=8))
def test_cutting_does_not_matter(places: list[int]) -> None:
    data = ("x\n" + TABLE + "y\n" + TABLE.replace("12", "13")).encode()
    assert repr(read(*cut(data, places))) == repr(read(data))


PIECES = [
    "╭─── Step 4 ───╮",
    "│ ┃ Prompt ┃ Completion ┃ r ┃ │",
    "│ │ a │ b │ 1 │ │",
    "│ ├─┤ │",
    "│ └─┘ │",
    "╰──╯",
    "│",
    "┃",
    "\n",
    "\r",
    "x",
]


@settings(max_examples=300, deadline=None)
@given(
    parts=st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=60),
    places=st.lists(st.integers(0, 999)),
)
def test_no_text_raises(parts: list[str], places: list[int]) -> None:
    data = "".join(parts).encode("utf-8", "surrogatepass")
    assert repr(read(*cut(data, places))) == repr(read(data))


def test_a_hostile_log_is_not_held() -> None:
    reader = TableReader()
    for _ in range(100):
        assert list(reader.feed(b"\xe2\x95\xad Step " + b"x" * 10_000)) == []
    assert len(reader._open) <= LINE_LIMIT + 1


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.tuples(
            st.text("abc é数│", min_size=1, max_size=12),
            st.text("xyz 1{}'", min_size=1, max_size=12),
            st.floats(-99, 99),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_what_rich_draws_is_read_back(rows: list[tuple[str, str, float]]) -> None:
    """As TRL draws it, on a console that is wide enough to fold nothing."""
    rich = pytest.importorskip("rich.console", reason="rich is not installed")
    table_module, panel_module = pytest.importorskip("rich.table"), pytest.importorskip("rich.panel")
    text_module = pytest.importorskip("rich.text")
    table = table_module.Table(show_header=True, header_style="bold white", expand=True)
    for name in ("Prompt", "Completion"):
        table.add_column(name)
    table.add_column("reward", justify="right")
    for prompt, answer, reward in rows:
        table.add_row(text_module.Text(prompt), text_module.Text(answer), f"{reward:.2f}")
        table.add_section()
    out = io.StringIO()
    rich.Console(file=out, width=120).print(panel_module.Panel(table, expand=False, title="Step 7"))
    found = read(out.getvalue().encode())
    plain = [(p, a, r) for p, a, r in rows if "│" not in p]
    if len(plain) == len(rows):
        assert [(s.prompt, s.answer, s.rewards["reward"]) for s in found] == [
            (p.rstrip(), a.rstrip(), float(f"{r:.2f}")) for p, a, r in rows
        ]
    assert len(found) == len(rows)
