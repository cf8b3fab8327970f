import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.log_oracle import cut

from grpotui_supervisor.samples.sample import Sample
from grpotui_supervisor.samples.verl_console import LINE_LIMIT, TEXT_LIMIT, ConsoleReader

RAY = "\x1b[36m(TaskRunner pid=42)\x1b[0m "
SAMPLE = "[prompt] user\n1+1=?\nassistant\n\n[response] It is\n\n2\n[ground_truth] 2\n[score] 1.0\n"


def ray(text: str, prefix: str = RAY) -> str:
    return "".join(prefix + line for line in text.splitlines(keepends=True))


def read(*blocks: bytes) -> list[Sample]:
    reader = ConsoleReader()
    found = [sample for block in blocks for sample in reader.feed(block)]
    return [*found, *reader.finish()]


@pytest.mark.parametrize("prefix", [RAY, "(main_task pid=1) ", "(WorkerDict pid=7, ip=10.0.0.1) ", "(pid=3) ", ""])
def test_what_a_reward_manager_prints(prefix: str) -> None:
    text = ray(SAMPLE + "len reward_extra_infos_dict['reward']: 8\nstep:4 - val/x:1\n", prefix)
    assert read(text.encode()) == [
        Sample(4, 0, "user\n1+1=?\nassistant\n", "It is\n\n2", {"score": 1.0}, None, None, None, "console")
    ]


def test_a_reward_of_several_parts() -> None:
    text = ray(SAMPLE.replace("[score] 1.0\n", "[score] -1.0\n[acc] False\n[pred] [INVALID]\n") + "step:1 - x:1\n")
    (sample,) = read(text.encode())
    assert sample.rewards == {"score": -1.0, "acc": 0.0}


def test_the_step_is_told_behind_the_samples() -> None:
    """Validation before training is step 0; what the log ends with has no step."""
    text = ray(SAMPLE + "step:0 - x:1\n" + SAMPLE * 2 + "training/global_step:9 - \nstep:1 - x:1\n" + SAMPLE)
    assert [(sample.step, sample.group) for sample in read(text.encode())] == [(0, 0), (1, 0), (1, 0), (None, 0)]


def test_two_processes_print_at_once() -> None:
    one, two = ray(SAMPLE, "(A pid=1) ").splitlines(True), ray(SAMPLE.replace("2", "3"), "(A pid=2) ").splitlines(True)
    text = "".join(line for pair in zip(one, two, strict=True) for line in pair) + "step:1 - x:1\n"
    assert sorted(sample.answer for sample in read(text.encode())) == ["It is\n\n2", "It is\n\n3"]


@pytest.mark.parametrize(
    "text", ["[prompt] a\n[response] b\n", "[prompt] a\n[score] 1\n", "[response] b\n[score] 1\n", "[score] 1\n"]
)
def test_what_is_not_whole_is_no_sample(text: str) -> None:
    assert read((text + "Traceback\nstep:1 - x:1\n").encode()) == []


def test_a_sample_that_is_cut_off_does_not_take_the_next_one_with_it() -> None:
    text = "[prompt] a\n[response] b\n" + SAMPLE + "step:1 - x:1\n"
    assert [sample.prompt for sample in read(ray(text).encode())] == ["user\n1+1=?\nassistant\n"]


def test_numbers_in_brackets_are_part_of_an_answer() -> None:
    text = "[prompt] a\n[response] [1] 5\n[x] 6\n[ground_truth] 2\n[score] 0\nstep:1 - x:1\n"
    (sample,) = read(text.encode())
    assert (sample.answer, sample.rewards) == ("[1] 5\n[x] 6", {"score": 0.0})


@given(places=st.lists(st.integers(0, 999), max_size=8))
def test_cutting_does_not_matter(places: list[int]) -> None:
    data = (ray(SAMPLE) + "step:1 - x:1\n" + ray(SAMPLE)).encode()
    assert read(*cut(data, places)) == read(data)


PIECES = [
    "[prompt] ",
    "[response] ",
    "[ground_truth] ",
    "[score] ",
    "1.0",
    "[acc] 1",
    "step:3 - ",
    RAY,
    "(A pid=1) ",
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
    reader = ConsoleReader()
    line = b"[response] " + b"x" * 1000 + b"\n"
    list(reader.feed(b"[prompt] a\n[response] b\n" + line * (3 * TEXT_LIMIT // 1000)))
    assert all(sum(map(len, so_far.texts["response"])) <= 2 * TEXT_LIMIT for so_far in reader._unfinished.values())
    for _ in range(3):
        list(reader.feed(b"x" * LINE_LIMIT))
    assert len(reader._open) <= LINE_LIMIT + 1
