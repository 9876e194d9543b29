"""What the pool's stages say word for word, the edges of their rules, and the generated data that published figures
rest on."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.config.config import Config
from engine.errors import DataError
from engine.events import SelectorCompared, SelectorStep
from engine.pool import improve, layout
from engine.pool.data import digits_rl_data
from engine.pool.data.dataset import majority, training_queries
from engine.pool.data.digits import DigitsDataset, answer_of
from engine.pool.data.embedding_table import read_embeddings
from engine.pool.data.image_url import enlarged, image_url
from engine.pool.data.records import (
    RLQueryData,
    TrajectoryData,
    global_to_local,
    local_to_global,
    parse_query,
    query_record,
)
from engine.pool.data.shown_query import pixels, shown_query
from engine.pool.global_positive_miner import by_worth, ranked_pairs
from engine.pool.improve import oracle, transferred
from engine.pool.pool_stage import PoolJob
from engine.pool.pool_work import DecisionLine, _warning, make_controller
from engine.pool.selector import layout as selector_layout
from engine.pool.selector.selector_stage import _pick, _SelectorRun
from engine.pool.trajectory_quality_controller import TrajectoryQualityController, is_partial, is_positive
from engine.pool.verdicts import pool_verdict, selector_verdict
from engine.pool.vqa.digits_vqa import DigitsVQA
from engine.pool.vqa.evaluated_pairs import EvaluatedPair
from engine.pool.vqa.openai_vqa import _read
from engine.pool.vqa.vqa import BareAsk, VQAAsk, VQAReply
from engine.pool.what_if import WhatIf
from engine.servers.completion import Reply
from engine.servers.spent import Spent
from tests.exactly import exactly

FIX_IT = "correct the file, or leave the query out"


def test_files_have_the_names_that_the_pages_give() -> None:
    run = Path("r")
    mine = (layout.initial, layout.initial_evaluated, layout.evaluated, layout.decisions, layout.rl_data,
            layout.heldout, layout.oracle, layout.report)  # fmt: skip
    assert [str(of(run)) for of in mine] == [
        "r/pool/initial.json", "r/pool/initial_evaluated.jsonl", "r/pool/evaluated.jsonl", "r/pool/decisions.jsonl",
        "r/pool/rl_data.json", "r/pool/heldout.json", "r/pool/oracle.csv", "r/pool/report.json",
    ]  # fmt: skip
    theirs = (selector_layout.checkpoint, selector_layout.training_log, selector_layout.picks,
              selector_layout.comparison)  # fmt: skip
    assert [str(of(run)) for of in theirs] == [
        "r/selector/selector.pt", "r/selector/training.jsonl", "r/selector/picks.jsonl", "r/selector/comparison.csv",
    ]  # fmt: skip


def test_places_and_rows_that_are_not_there() -> None:
    with pytest.raises(DataError, match=exactly(f"place 4 is not in a pool of 3: {FIX_IT}")):
        local_to_global(4, [7, 8, 9])
    with pytest.raises(DataError, match=exactly(f"place -1 is not in a pool of 3: {FIX_IT}")):
        local_to_global(-1, [7, 8, 9])
    with pytest.raises(DataError, match=exactly(f"place 3 is not in a pool of 3: {FIX_IT}")):
        local_to_global(3, [7, 8, 9])
    with pytest.raises(DataError, match=exactly(f"row 5 is not in the pool: {FIX_IT}")):
        global_to_local(5, [7, 8, 9])
    assert (local_to_global(2, [7, 8, 9]), global_to_local(9, [7, 8, 9])) == (9, 2)
    bare = TrajectoryData(pointer=[0, 1], vqa_correct=0, vqa_acc_score=0.0, gen_method="beam")
    with pytest.raises(ValueError, match=exactly("the query is not normalised")):
        _ = bare.rows


@pytest.mark.parametrize(
    ("changes", "where", "what"),
    [
        ({"pointer": [0, 3]}, ", trajectory 0", "pointer [0, 3] leaves the pool of 3"),
        ({"pointer_global": [12, 11]}, ", trajectory 0",
         "pointer [1, 2] leads to rows [12, 13], but pointer_global is [12, 11]"),
        ({"table": 13}, "", "a row of the pool is 13, but the embedding table has 13 rows"),
        ({"other": [1]}, "", "candidate_pool_indices and candidate_pool_ids are not the same"),
        ({"key": "r"}, "", "query_id is 'q', its key is 'r'"),
    ],
)  # fmt: skip
def test_what_a_query_may_not_be(changes: dict[str, Any], where: str, what: str) -> None:
    beam = {"pointer": [1, 2], "vqa_correct": 1, "vqa_acc_score": 0.6, "gen_method": "beam", "mine": 1}
    record: dict[str, Any] = {"query_id": "q", "candidate_pool_indices": [11, 12, 13], "note": "kept"}
    if "other" in changes:
        record["candidate_pool_ids"] = changes["other"]
    moved = {name: changes[name] for name in ("pointer", "pointer_global") if name in changes}
    record["pointer_candidates"] = [beam | moved]
    hint = "give the embeddings this file was made with" if "table" in changes else FIX_IT
    with pytest.raises(DataError, match=exactly(f"{what} (f.json: query q{where}): {hint}")):
        parse_query(changes.get("key", "q"), record, "f.json", changes.get("table"))
    good = record | {"pointer_candidates": [beam]}
    good.pop("candidate_pool_ids", None)
    assert query_record(parse_query("q", good, "f.json", 14)) == good


def test_scores_at_their_edges() -> None:
    near, far = 1 - 1e-10, 1 - 1e-8
    assert [is_positive(score) for score in (1.0, near, far)] == [True, True, False]
    assert [is_partial(score) for score in (0.0, 1e-10, 1e-8, 0.6, far, near)] == [
        False,
        False,
        True,
        True,
        True,
        False,
    ]
    assert [majority(answers) for answers in ("abb", "ba", "c")] == ["b", "a", "c"]
    assert [answer_of(digit, 3) for digit in (4, 5)] == ["no", "yes"]
    assert [answer_of(3, 0), answer_of(9, 1), answer_of(4, 2), answer_of(5, 2)] == ["3", "10", "yes", "no"]
    assert pixels(np.array([[0, 15], [16, 255]], np.uint8)) == "001f" and pixels(None) == ""
    assert oracle([1, 2, 3], {(1, 2): 0.3, (2, 4): 1.0}) == 0.3 and oracle([], {(1, 2): 1.0}) == 0.0
    mined = transferred((4, 5), 0.6)
    assert (mined.rows, mined.vqa_correct, mined.gen_method) == ((4, 5), 0, "global_positive_transfer")
    assert (transferred((4, 5), 1.0).vqa_correct, mined.pointer) == (1, [])


def test_which_pairs_come_first() -> None:
    """Of equal sums the first in the order of the rows; of equal scores those with fewer new rows."""
    assert ranked_pairs([7, 8, 9], [0.9, 0.5, 0.4], 3, frozenset()) == [(8, 7), (9, 7), (9, 8)]
    assert ranked_pairs([7, 8, 9], [0.9, 0.5, 0.4], 2, frozenset({(8, 7)})) == [(9, 7), (9, 8)]
    assert ranked_pairs([7, 8, 9], [0.5, 0.5, 0.5], 1, frozenset()) == [(8, 7)]

    def pair(rows: tuple[int, int], score: float | None) -> EvaluatedPair:
        return EvaluatedPair(query_id="q", pair=rows, model="m", answer="x", score=score)

    found = by_worth([pair((1, 2), 0.3), pair((1, 9), 0.3), pair((8, 9), 1.0), pair((3, 4), None)], [1, 9])
    assert found == [((8, 9), 1.0), ((1, 9), 0.3), ((1, 2), 0.3)]


def test_the_rules_and_the_order_of_the_final_selection() -> None:
    def given(score: float, rows: int = 0, failed: bool = False) -> TrajectoryData:
        extra = {"eval_failed": True} if failed else {}
        return TrajectoryData(
            pointer=[0, 1],
            pointer_global=[rows, 1],
            vqa_correct=0,
            vqa_acc_score=score,
            gen_method="x",
            extra=extra,
        )

    one = TrajectoryQualityController(6, 1, 1)
    assert one.rule([given(0.3)], given(0.6)) == "higher maximum"
    assert one.rule([given(0.6)], given(0.3)) == "new score"
    assert (
        one.rule([given(0.6)], given(0.6)) == "no improvement" == one.rule([given(0.6)], given(0.6 + 1e-10))
    )
    assert one.rule([], given(0.0)) == "new score" and one.rule([], given(1.0, failed=True)) == "never scored"
    assert one.should_commit([given(0.3)], given(0.6)) and not one.should_commit([given(0.6)], given(0.6))
    many = [given(0.3, 1), given(1.0, 2), given(0.0, 3), given(1.0, 4), given(0.3, 5), given(0.6, 6)]
    order = [trajectory.rows[0] for trajectory in one.ranked(many)]
    assert order == [2, 6, 3, 4, 1, 5], (
        "one right, one partly right, wrong ones, the rest by score, each once first"
    )
    chosen = one.select_final_trajectories(many[:2], [given(0.9, 9)])
    assert [(c.rows[0], c.extra) for c in chosen[:3]] == [(2, {}), (1, {}), (2, {"repeated": True})]
    filling = TrajectoryQualityController(3, 1, 1, fill_with_refused=True)
    assert [c.rows[0] for c in filling.select_final_trajectories(many[:2], [given(0.9, 9)])] == [2, 1, 9]
    assert one.select_final_trajectories([]) == []
    fields = {
        "target_trajectory_count": 9,
        "positive_quota": 3,
        "partial_quota": 2,
        "fill_with_refused": False,
    }
    made = make_controller(Config.model_validate({"pool": fields}).pool)
    assert made == TrajectoryQualityController(9, 3, 2, fill_with_refused=False)


def test_what_is_warned_of() -> None:
    def outcome(injected: tuple[int, ...], before: float, after: float) -> str:
        made: Any = SimpleNamespace(
            injection=SimpleNamespace(injected=injected), oracle_before=before, oracle_after=after
        )
        return _warning(made)

    assert outcome((4,), 0.3, 0.3) == "injection did not raise oracle@64"
    assert outcome((), 0.3, 0.3) == "no pair is known that is fully right" == outcome((4,), 0.3, 0.6)
    assert outcome((), 1.0, 1.0) == outcome((4,), 0.3, 1.0) == ""
    assert (improve.NO_PLACE, improve.NOT_IN_POOL, improve.LOST) == (
        "no place left", "wrong, and not in the pool", "its candidate was replaced",
    )  # fmt: skip


def test_data_of_which_nothing_can_be_used(tmp_path: Path) -> None:
    lost = (
        "no query of the RL data can be trained on: of 3, 1 are held out and 2 are not among the questions "
        "(pool.rl_data): give RL data about questions that are not held out, or name other `pool.files.heldout`"
    )
    with pytest.raises(DataError, match=exactly(lost)):
        training_queries(["a", "b", "h"], {"train": ["c"], "heldout": ["h"]})
    assert training_queries(["a", "h", "c"], {"train": ["c"], "heldout": ["h"]}) == ["a", "c"]
    job = object.__new__(PoolJob)
    job.context = SimpleNamespace(run_dir=tmp_path)  # type: ignore[assignment]
    none = (
        "every query of the RL data was left out (embedding not finite, unknown to the data set) (pool.rl_data): "
        "check that data, embeddings and questions belong together"
    )
    reasons = ("unknown to the data set", "embedding not finite", "unknown to the data set")
    with pytest.raises(DataError, match=exactly(none)):
        job._finish([DecisionLine(query_id=str(n), left_out=why) for n, why in enumerate(reasons)])
    np.save(tmp_path / "t.npy", np.zeros((1, 2), np.float32))
    (tmp_path / "t.ids.json").write_text('{"no": "list"}')
    with pytest.raises(DataError) as caught:
        read_embeddings(tmp_path / "t.npy", [])
    assert (caught.value.hint, caught.value.what[:8]) == ("give a list of ids", "no ids: ")


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"\xff\xd8\xff", "jpeg"),
        (b"\x89PNG\r\n\x1a\n", "png"),
        (b"GIF8", "gif"),
        (b"RIFF", "webp"),
        (b"BM", ""),
    ],
)
def test_pictures_by_their_first_bytes(tmp_path: Path, head: bytes, kind: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(head + b"\0")
    if kind:
        assert image_url(path).startswith(f"data:image/{kind};base64,")
        return
    with pytest.raises(
        DataError, match=exactly(f"neither JPEG, PNG, GIF nor WebP ({path}): convert the image")
    ):
        image_url(path)
    wrong = "an image of shape [3] and type uint8: give greyscale [h, w] of type uint8"
    with pytest.raises(DataError, match=exactly(wrong)):
        enlarged(np.zeros(3, np.uint8))
    sides = [enlarged(np.zeros(shape, np.uint8)).shape for shape in ((8, 9), (128, 200), (127, 300))]
    assert sides == [(128, 144), (128, 200), (254, 600)]


@pytest.mark.parametrize(
    ("reply", "read"),
    [
        (Reply("\n red. \nblue", "stop"), VQAReply("red", None)),
        (Reply("x", "stop", "no " * 100), VQAReply(None, f"the model refused: {('no ' * 100)[:200]}")),
        (Reply("a long", "length"), VQAReply(None, "the answer was cut off at the token limit")),
        (Reply("\na long \n", "length"), VQAReply(None, "the answer was cut off at the token limit")),
        (Reply("red\nand so", "length"), VQAReply("red", None)),
        (
            Reply("x", "content_filter"),
            VQAReply(None, "the answer was held back by the server's content filter"),
        ),
        (Reply(" \n", "stop"), VQAReply(None, "the answer is empty")),
    ],
)
def test_an_answer_in_a_reply(reply: Reply, read: VQAReply) -> None:
    assert _read(reply) == read


def test_rows_that_show_the_query_are_named() -> None:
    tried = object.__new__(WhatIf)
    tried._context = SimpleNamespace(run_dir=Path("r"))  # type: ignore[assignment]
    tried._dataset = SimpleNamespace(excluded=lambda query: [5, 2], embeddings=range(9))  # type: ignore[assignment]
    words = "rows 5 and 1 are not demonstrations for q (r/pool): choose two different rows of 0 to 8, none of 2, 5, " \
            "which show the query"  # fmt: skip
    with pytest.raises(DataError, match=exactly(words)):
        tried._pair("q", [5, 1])
    assert tried._pair("q", [8, 0]) == (8, 0)
    with pytest.raises(DataError):
        tried._pair("q", [9, 0])
    pair = EvaluatedPair(query_id="q", pair=(7, 3), model="m", answer=None, score=0.6)
    pick = _pick("rices", pair, [3, 5, 7], 0.25)
    assert (pick.method, pick.pointer, pick.pair, pick.answer) == ("rices", [2, 0], [7, 3], "")
    assert (pick.score, pick.probability) == (0.6, 0.25)


def test_verdicts_on_pools_and_the_selector() -> None:
    """Two queries are better off by 0.7 and 0.4; the selector's mean is 0.75 beside 0 and chance's 1."""
    pool = pool_verdict([0.3, 0.6, 1.0], [1.0, 1.0, 1.0], 0, 0.0)
    assert (pool.method, pool.baseline, pool.metric, pool.items) == ("pool", "given", "oracle", "queries")
    assert (pool.value, pool.baseline_value, pool.n) == (1.0, pytest.approx(1.9 / 3), 3) and pool.cost is None
    assert pool.graded and pool_verdict([0.3], [1.0], 0, 0.5).cost == 0.5
    by_method = {"random": np.ones(40), "rices": np.zeros(40), "selector": np.array([1.0, 0.5] * 20)}
    verdict = selector_verdict(by_method, "selector", "rices", 0, 0.25, [0.5, 0.6])
    assert (verdict.method, verdict.baseline, verdict.metric) == ("selector", "rices", "vqa_accuracy")
    assert (verdict.value, verdict.baseline_value, verdict.items) == (0.75, 0.0, "held-out queries")
    assert verdict.closest is not None and verdict.closest.method == "random" and verdict.cost == 0.25
    assert list(verdict.curve) == [0.5, 0.6]


# ------------------------------------------------------------ generated data


@pytest.fixture(scope="module")
def digits() -> DigitsDataset:
    return DigitsDataset(0, demonstrations=8, train=3, heldout=2)


def test_photos_people_and_embeddings_of_seed_0(digits: DigitsDataset) -> None:
    """As they were when the published figures were made."""
    first, last = digits.digit_question("train-0000"), digits.digit_question("heldout-0001")
    assert first.photo[0].tolist() == [121, 104, 144, 192, 208, 155, 95, 77] and first.photo.sum() == 6734
    assert last.photo[0].tolist() == [73, 89, 111, 214, 236, 148, 150, 180] and last.photo.sum() == 10114
    assert (first.question, first.majority, last.question, last.majority) == (2, "no", 0, "6")
    second = digits.digit_question("train-0001")
    assert (second.annotations.index("no"), second.annotations.count("no"), second.majority) == (6, 2, "yes")
    row = digits.digit_demonstration(4)
    assert row.photo[3].tolist() == [92, 79, 124, 102, 36, 68, 74, 0]
    assert row.annotations == ("4", "4", "1", *["4"] * 7) and digits.demonstration(4) == (
        "Which digit is this?",
        "4",
    )
    assert digits.embeddings[:3, [5, 63, 64]].ravel().tolist() == pytest.approx(
        [0.0361, 0.0877, 0.0648, 0.0361, 0.0877, -0.0611, 0.0361, 0.0877, 0.0], abs=1e-4
    )
    assert digits.splits == {
        "train": ["train-0000", "train-0001", "train-0002"],
        "heldout": ["heldout-0000", "heldout-0001"],
    }
    with pytest.raises(ValueError, match=exactly("from 2 to 3600 demonstrations")):
        DigitsDataset(0, demonstrations=1)


def test_votes_of_the_offline_model(digits: DigitsDataset) -> None:
    model = DigitsVQA(digits)
    asks = [
        BareAsk("train-0000"),
        VQAAsk("train-0000", (0, 4)),
        VQAAsk("train-0001", (3, 6)),
        VQAAsk("heldout-0001", (1, 2)),
    ]
    votes = model._votes(asks)
    at = {answer: place for place, answer in enumerate(model._answers)}
    assert [votes[1, at["4"]], votes[2, at["no"]], votes[2, at["yes"]]] == pytest.approx(
        [0.681, 0.3176, 1.6074], abs=1e-4
    )
    assert [votes[3, at["4"]], votes[3, at["5"]], votes[3, at["yes"]]] == pytest.approx(
        [0.8, 0.3838, 0.5217], abs=1e-4
    )
    assert votes[0, at["yes"]] == pytest.approx(0.8) and model._means[3, 0] == 1e3
    replies: dict[int, VQAReply] = {}
    model.answer(asks, lambda: None, replies.__setitem__)
    assert [replies[number].answer for number in range(4)] == ["yes", "yes", "yes", "4"]
    assert replies[0].spent == Spent(1)


def test_pools_and_trajectories_of_seed_0() -> None:
    digits = DigitsDataset(0, demonstrations=400, train=3, heldout=2)
    pools = [digits_rl_data._pool(digits, name, 0, name.startswith("train")) for name in digits.query_ids]
    assert [(len(pool), pool[0]) for pool in pools] == [(17, 221), (99, 143), (11, 45), (70, 334), (17, 127)]
    drawn = list(digits_rl_data._trajectories(digits, "train-0000", 0, pools[0]))
    assert [(one.gen_method, one.pointer) for one in drawn] == [
        ("beam", [1, 12]), ("beam", [12, 1]), ("beam", [16, 12]), ("beam", [12, 16]), ("sample", [12, 1]),
        ("sample", [12, 16]), ("sample", [15, 12]), ("sample", [6, 12]), ("random", [1, 8]), ("random", [4, 15]),
        ("random", [10, 13]), ("random", [6, 2]),
    ]  # fmt: skip
    assert drawn[0].extra["beam_score"] == pytest.approx(1.78389, abs=1e-5)
    assert drawn[4].extra["logprob_score"] == pytest.approx(-0.67964, abs=1e-4)
    made = digits_rl_data.initial_rl_data(
        digits, lambda asks: [EvaluatedPair(query_id=a.query_id, pair=a.demonstrations, model="m", answer="x",
                                            score=None if n == 1 else n % 2) for n, a in enumerate(asks)], "vote", 0,
    )  # fmt: skip
    assert made.notes == {"_made_by": "vote, seed 0"} and len(made) == 5
    first = made["train-0000"].pointer_candidates
    assert [(one.vqa_correct, one.failed) for one in first[:4]] == [
        (0, False),
        (0, True),
        (0, False),
        (1, False),
    ]
    assert isinstance(made["heldout-0000"], RLQueryData) and not made["heldout-0000"].pointer_candidates


def test_what_events_show_of_a_query(digits: DigitsDataset) -> None:
    shown = shown_query(digits, "train-0001")
    assert shown.keys() == {"query_id", "question", "answers", "picture"}
    assert (shown["query_id"], shown["question"]) == ("train-0001", "Is this digit even?")
    assert shown["answers"] == {"yes": 8, "no": 2} and list(shown["answers"]) == ["yes", "no"]
    assert shown["picture"][:8] == "10118200", "29, 13, 23, 28, 140, 38, 3 and 0, each by sixteen"


def test_how_far_the_stages_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Any] = []
    job = object.__new__(PoolJob)
    context: Any = SimpleNamespace(
        run_dir=tmp_path, checkpoint=lambda: None, start=lambda *of, **more: done.append((*of, more)),
        progress=lambda *of, **more: done.append((*of, more)), config=None,
    )  # fmt: skip
    job.context, job.training, job.nearest = context, ["a", "b", "c"], {}
    job.dataset, job.model, job.evaluator, job.data = None, None, None, {"b": "B", "c": "C"}  # type: ignore[assignment]
    layout.decisions(tmp_path).parent.mkdir(parents=True)
    layout.decisions(tmp_path).write_text('{"query_id": "a"}\n')
    settle = SimpleNamespace(settle=lambda data, nearest: DecisionLine(query_id=data.lower(), left_out="x"))
    monkeypatch.setattr("engine.pool.pool_stage.QueryMiner", lambda *_: settle)
    monkeypatch.setattr(job, "_search", lambda: None, raising=False)
    monkeypatch.setattr(job, "_finish", lambda lines: [line.query_id for line in lines], raising=False)
    assert job.run() == ["a", "b", "c"]
    assert done == [(3, 1, {"unit": "queries"}), (2, 3, {"note": "b"}), (3, 3, {"note": "c"})]


def test_what_the_selector_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Any] = []
    job = object.__new__(_SelectorRun)
    context: Any = SimpleNamespace(
        emit=lambda event: None, progress=lambda *of, **more: done.append((*of, more))
    )
    job.context = context
    job.log = tmp_path / "training.jsonl"
    job.evaluator = SimpleNamespace(all=lambda: [SimpleNamespace(cost=0.25), SimpleNamespace(cost=0.123456)])  # type: ignore[assignment]
    monkeypatch.setattr(job, "_looks_at_heldout", lambda step: False, raising=False)
    job._report(
        SelectorStep(
            step=3,
            steps=9,
            phase="policy_gradient",
            loss=0.5,
            expected_score=0.12345,
            gradient_norm=1.0,
            pairs=4,
        )
    )
    assert done == [(3, 9, {"note": "policy gradient: expected score 0.123"})]
    rows = [SelectorCompared(method=name, n=7, accuracy=value, low=0.0, high=1.0, asked=7, failed=0) for name, value in
            (("random", 0.11111), ("rices", 0.22222))]  # fmt: skip
    rows.append(SelectorCompared(method="selector", n=7, accuracy=0.33333, low=0.0, high=1.0, asked=7, failed=0,
                                 difference=0.11111, difference_low=-0.05556, difference_high=0.27777))  # fmt: skip
    assert job._summary(rows) == {
        "random": 0.1111, "rices": 0.2222, "selector": 0.3333, "selector_minus_rices": 0.1111, "low": -0.0556,
        "high": 0.2778, "heldout": 7, "cost": 0.3735,
    }  # fmt: skip
