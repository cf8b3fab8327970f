from support.log_oracle import Rows, read, rows_of

OLD = "\rTrain epoch [1/1]: 100%|██| 2/2 [00:03<00:00,  1.5s/it, pg=0.5, rm=0.25, glen=126]\n"


def rows(text: str) -> Rows:
    return rows_of(read("openrlhf", ("stdout", text.encode())).columns)


def test_bars_count_only_where_no_step_is_printed() -> None:
    assert rows(OLD) == [(-1, {"pg": 0.5, "rm": 0.25, "glen": 126.0})]
    assert rows(OLD + "Global step 1: {'kl': 1.5}\n" + OLD) == [(1, {"kl": 1.5})]


def test_the_bars_of_new_versions_are_no_records() -> None:
    assert rows("Train epoch [1/1]: 100%|██| 2/2 [00:03<00:00, act_loss=0.5, reward=0.25, gen_len=126]\n") == []
    assert rows("Generate: 100%|██| 2/2 [00:03<00:00, pg=0.5, rm=0.25]\n") == []


def test_a_shortened_dictionary_gives_what_is_left_of_it() -> None:
    assert rows("(PPOTrainer) ✨ Global step 2: {'kl': 0.5, 'actor_lr': 5.0e-07, ...}\n") == [
        (2, {"kl": 0.5, "actor_lr": 5e-07})
    ]


def test_a_replayed_step_and_one_without_an_end() -> None:
    assert rows("Global step 2 [replay]: {'kl': 0.5}\n") == [(2, {"kl": 0.5})]
    assert rows("Global step 2: {'kl': 0.5\nGlobal step 3: done\nGlobal step 4: {}\n") == []


def test_values_that_are_no_numbers_are_left_out() -> None:
    assert rows("Global step 2: {'kl': 0.5, 'note': 'a, b: c', 'ids': [1, 2]}\n") == [(2, {"kl": 0.5})]
