"""The offline data set, its model and its RL data: drawn, scored and split as they say."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from engine.pool.data.digits import (
    MOST_DEMONSTRATIONS,
    PICTURES,
    QUESTIONS,
    DigitsDataset,
    _source,
    answer_of,
)
from engine.pool.data.digits_rl_data import LARGEST_POOL, SMALLEST_POOL, initial_rl_data
from engine.pool.data.records import RLData, read_rl_data, write_rl_data
from engine.pool.vqa.digits_vqa import DigitsVQA
from engine.pool.vqa.evaluated_pairs import PairEvaluator
from engine.pool.vqa.vqa import VQAAsk, official_vqa_accuracy
from tests.engine.pool.vqa_models import TableModel, replies_of
from tests.exactly import exactly


@pytest.fixture(scope="module")
def dataset() -> DigitsDataset:
    return DigitsDataset(seed=3, demonstrations=800, train=60, heldout=40)


@pytest.fixture(scope="module")
def model(dataset: DigitsDataset) -> DigitsVQA:
    return DigitsVQA(dataset)


@pytest.fixture(scope="module")
def data(dataset: DigitsDataset, model: DigitsVQA, tmp_path_factory: pytest.TempPathFactory) -> RLData:
    path = tmp_path_factory.mktemp("initial") / "evaluated.jsonl"
    evaluator = PairEvaluator(path, model, dataset.annotations)
    return initial_rl_data(dataset, lambda asks: evaluator.evaluate(asks, checkpoint), model.name, 3)


def checkpoint() -> None:
    """Nobody stops."""


def scores(dataset: DigitsDataset, model: DigitsVQA, name: str, pairs: list[tuple[int, int]]) -> list[float]:
    replies = replies_of(model, [VQAAsk(name, pair) for pair in pairs])
    return [official_vqa_accuracy(str(reply.answer), dataset.annotations(name)) for reply in replies]


# ---------------------------------------------------------------- the data set


@pytest.mark.parametrize(
    ("digit", "answers"), [(0, "0 1 yes no"), (4, "4 5 yes no"), (5, "5 6 no yes"), (9, "9 10 no yes")]
)
def test_the_four_questions(digit: int, answers: str) -> None:
    assert [answer_of(digit, question) for question in range(len(QUESTIONS))] == answers.split()


def test_pictures_of_the_splits_are_different_ones() -> None:
    places = [place for pictures in PICTURES.values() for place in pictures]
    assert len(places) == len(set(places)) == 1797


def test_a_query_is_the_same_whatever_else_is_made(dataset: DigitsDataset) -> None:
    """Only the seed and its own name decide; another seed makes another one."""
    fewer = DigitsDataset(seed=3, demonstrations=400, train=7, heldout=5)
    other = DigitsDataset(seed=4, demonstrations=400, train=7, heldout=5)
    for name in fewer.query_ids:
        assert fewer.annotations(name) == dataset.annotations(name)
        assert fewer.question(name) == dataset.question(name)
        assert np.array_equal(fewer.query_embedding(name), dataset.query_embedding(name))
    assert np.array_equal(fewer.embeddings, dataset.embeddings[:400])
    assert not np.array_equal(other.embeddings, fewer.embeddings)


def test_embeddings_average_the_similarity_of_photo_and_question(dataset: DigitsDataset) -> None:
    rows = dataset.embeddings
    assert rows.shape == (800, 96) and rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    assert np.array_equal(dataset.image(4), dataset.image(7)) and not np.array_equal(
        dataset.image(3), dataset.image(4)
    )
    first, second = (dataset.image(row).astype(float).ravel() for row in (0, 4))
    cosine = first @ second / np.linalg.norm(first) / np.linalg.norm(second)
    assert rows[0] @ rows[4] == pytest.approx((cosine + 1) / 2, abs=1e-6)
    assert rows[0] @ rows[1] < 1 - 0.1, "the same photo under another question"


def test_careless_readings_are_of_digits_that_look_alike() -> None:
    """Four of five readings are right; of the others a digit is the likelier, the nearer its mean picture is."""
    images, digits, chances = _source()
    means = np.stack([images[digits == digit].mean(axis=0) for digit in range(10)])
    assert np.allclose(chances.sum(axis=1), 1)
    for place in range(0, len(digits), 150):
        distances = np.square(images[place] - means).sum(axis=(1, 2))
        others = [int(digit) for digit in np.argsort(distances) if digit != digits[place]]
        assert chances[place, digits[place]] >= 0.8
        assert [*chances[place, others]] == sorted(chances[place, others], reverse=True)


def test_annotators_mostly_agree_and_leave_partial_scores(dataset: DigitsDataset) -> None:
    partial, agreed = 0, 0
    for name in dataset.query_ids:
        given = dataset.annotations(name)
        assert len(given) == 10
        kinds = {official_vqa_accuracy(answer, given) for answer in given}
        partial += any(0 < score < 1 for score in kinds)
        agreed += max(kinds) == 1
    assert agreed >= 0.98 * len(dataset.query_ids)
    assert partial >= 0.3 * len(dataset.query_ids)


def test_a_demonstration_answers_as_most_of_its_annotators(dataset: DigitsDataset) -> None:
    for row in range(0, 800, 37):
        question, answer = dataset.demonstration(row)
        counts = Counter(dataset.digit_demonstration(row).annotations)
        assert question == QUESTIONS[row % 4] and counts[answer] == max(counts.values())


@pytest.mark.parametrize("count", [1, MOST_DEMONSTRATIONS + 1])
def test_there_are_no_more_pictures(count: int) -> None:
    with pytest.raises(ValueError, match=exactly("from 2 to 3600 demonstrations")):
        DigitsDataset(0, demonstrations=count)


# ---------------------------------------------------------------- the model


def test_a_reply_does_not_depend_on_what_is_asked_with_it(dataset: DigitsDataset, model: DigitsVQA) -> None:
    draws = np.random.default_rng(1)
    asks = [
        VQAAsk(str(draws.choice(dataset.query_ids)), (int(first), int(second)))
        for first, second in draws.integers(0, 800, (5000, 2))
    ]
    together = replies_of(model, asks)
    assert [replies_of(model, [ask])[0] for ask in asks[::97]] == together[::97]


def test_two_demonstrations_that_agree_are_copied(dataset: DigitsDataset, model: DigitsVQA) -> None:
    """Whatever the model reads itself, two similar demonstrations outvote it; also where they answer another
    question."""
    copied = 0
    names = dataset.query_ids
    for name in names:
        order = np.argsort(-(dataset.embeddings @ dataset.query_embedding(name)))[:60].tolist()
        answer = dataset.demonstration(order[0])[1]
        other = next(row for row in order[1:] if dataset.demonstration(row)[1] == answer)
        reply = replies_of(model, [VQAAsk(name, (other, order[0]))])[0]
        copied += reply.answer == answer
    assert copied >= 0.95 * len(names)


def test_the_later_of_two_equally_similar_demonstrations_wins(
    dataset: DigitsDataset, model: DigitsVQA
) -> None:
    """Order matters, as it does for language models: over many pairs that disagree, the second is heard more."""
    draws = np.random.default_rng(2)
    first_wins = last_wins = 0
    for name in dataset.query_ids:
        near = np.argsort(-(dataset.embeddings @ dataset.query_embedding(name)))[:50].tolist()
        for one, two in pairwise(draws.permutation(near).tolist()):
            said = [dataset.demonstration(row)[1] for row in (one, two)]
            if said[0] != said[1]:
                answer = replies_of(model, [VQAAsk(name, (one, two))])[0].answer
                first_wins += answer == said[0]
                last_wins += answer == said[1]
    assert last_wins > 1.5 * first_wins > 0


def test_its_own_reading_is_weak_and_better_than_none(dataset: DigitsDataset, model: DigitsVQA) -> None:
    asked = [name for name in dataset.query_ids if dataset.question(name) == QUESTIONS[0]]
    read = [model._answers[int(votes.argmax())] for votes in model._reading_votes(asked)]
    right = sum(
        official_vqa_accuracy(answer, dataset.annotations(name)) == 1
        for answer, name in zip(read, asked, strict=True)
    )
    assert 0.15 < right / len(asked) < 0.5


def test_right_demonstrations_help_and_any_two_do_not(dataset: DigitsDataset, model: DigitsVQA) -> None:
    draws = np.random.default_rng(5)
    chance, helped = [], []
    for name in dataset.query_ids:
        chance += scores(
            dataset, model, name, [tuple(pair) for pair in draws.integers(0, 800, (5, 2)).tolist()]
        )
        majority = dataset.digit_question(name).majority
        right = [
            row for row in range(800) if dataset.demonstration(row) == (dataset.question(name), majority)
        ]
        helped += scores(dataset, model, name, [(right[0], right[1])])
    assert np.mean(helped) > 0.95 and 0.2 < np.mean(chance) < 0.5


# ---------------------------------------------------------------- RL data


def test_pools_vary_in_size_and_hold_no_row_twice(dataset: DigitsDataset, data: RLData) -> None:
    sizes = [len(query.candidate_pool_indices) for query in data.values()]
    assert SMALLEST_POOL <= min(sizes) < 20 and 64 < max(sizes) <= LARGEST_POOL
    for query in data.values():
        pool = query.candidate_pool_indices
        assert len(set(pool)) == len(pool) and max(pool) < len(dataset.embeddings)


def test_trajectories_are_scored_by_the_model(dataset: DigitsDataset, model: DigitsVQA, data: RLData) -> None:
    seen = Counter(t.vqa_acc_score for query in data.values() for t in query.pointer_candidates)
    assert {0.0, 0.3, 1.0} <= set(seen)
    for name in dataset.splits["train"][:20]:
        found = data[name].pointer_candidates
        assert Counter(t.gen_method for t in found) == {"beam": 4, "sample": 4, "random": 4}
        again = scores(dataset, model, name, [data[name].pair(trajectory) for trajectory in found])
        assert [trajectory.vqa_acc_score for trajectory in found] == again
        assert [trajectory.vqa_correct for trajectory in found] == [int(score == 1) for score in again]


def test_beams_and_samples_are_scored_by_similarity(dataset: DigitsDataset, data: RLData) -> None:
    """A beam by the sum of both similarities; a sample by the chance of its first row, then of its second "
    "without it."""
    name = dataset.splits["train"][0]
    query = data[name]
    similarity = (dataset.embeddings @ dataset.query_embedding(name))[query.candidate_pool_indices].tolist()
    weights = [math.exp((one - max(similarity)) / 0.02) for one in similarity]
    best = sorted(similarity)[-2:]
    beams = [t for t in query.pointer_candidates if t.gen_method == "beam"]
    assert beams[0].extra["beam_score"] == pytest.approx(sum(best), rel=1e-5)
    for trajectory in query.pointer_candidates:
        first, last = trajectory.pointer
        if trajectory.gen_method == "beam":
            assert trajectory.extra["beam_score"] == pytest.approx(
                similarity[first] + similarity[last], rel=1e-5
            )
        if trajectory.gen_method == "sample":
            chance = weights[first] / sum(weights) * weights[last] / (sum(weights) - weights[first])
            assert trajectory.extra["logprob_score"] == pytest.approx(math.log(chance), rel=1e-4)


def test_some_training_pools_missed_every_positive(dataset: DigitsDataset, data: RLData) -> None:
    """Held-out pools are drawn without a look at the answers: they miss no more than chance makes them."""

    def missed(split: str) -> float:
        found = [
            all(
                official_vqa_accuracy(dataset.demonstration(row)[1], dataset.annotations(name)) < 1
                for row in data[name].candidate_pool_indices
            )
            for name in dataset.splits[split]
        ]
        return sum(found) / len(found)

    assert 0.25 < missed("train") < 0.6
    assert missed("heldout") < missed("train") - 0.15
    assert not any(data[name].pointer_candidates for name in dataset.splits["heldout"])


def test_what_the_model_failed_on_is_marked(dataset: DigitsDataset, tmp_path: Path) -> None:
    failing = TableModel(lambda name, pair: None if sum(pair) % 3 else "1")
    evaluator = PairEvaluator(tmp_path / "evaluated.jsonl", failing, dataset.annotations)
    found = initial_rl_data(dataset, lambda asks: evaluator.evaluate(asks, checkpoint), "table", 3)
    for name in dataset.splits["train"]:
        for trajectory in found[name].pointer_candidates:
            assert trajectory.failed == bool(sum(found[name].pair(trajectory)) % 3)
            assert not trajectory.failed or trajectory.vqa_acc_score == trajectory.vqa_correct == 0


def test_the_file_holds_what_was_made(data: RLData, tmp_path: Path) -> None:
    path = tmp_path / "rl_data.json"
    write_rl_data(path, data)
    read = read_rl_data(path, table_size=800)
    assert dict(read) == dict(data) and read.notes == data.notes
