"""A query with other demonstrations: nothing but the demonstrations is new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.errors import DataError
from engine.events import OtherAnswer
from engine.files import read_records
from engine.pool import layout
from engine.pool.data.digits import DigitsDataset
from engine.pool.vqa.evaluated_pairs import EvaluatedPair
from engine.pool.vqa.vqa import Ask, BareAsk, OnAnswer, VQAAsk, VQAReply
from engine.pool.what_if import WhatIf, WhatIfRequest
from tests.engine.pool.small_run import context_of, run_pool
from tests.engine.pool.vqa_models import replies_of
from tests.exactly import exactly


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    run_pool(folder, max_eval_pairs=4)
    return folder


@pytest.fixture(scope="module")
def what_if(run: Path) -> WhatIf:
    return WhatIf(context_of(run, lambda event: None, lambda: None, max_eval_pairs=4))


def recorded(run: Path) -> list[EvaluatedPair]:
    return read_records(layout.evaluated(run), EvaluatedPair)


def test_recorded_pairs_give_their_answers_again(run: Path, what_if: WhatIf) -> None:
    """Also as the other pair of a what-if: then they are what a run with that choice has."""
    pairs = recorded(run)[:24]
    assert len({pair.answer for pair in pairs}) > 1
    for first, second in pairwise(pairs):
        if first.query_id != second.query_id:
            continue
        tried = what_if.tried(
            WhatIfRequest(query=first.query_id, recorded=list(first.pair), pairs=[list(second.pair)])
        )
        assert tried.exact, tried.difference
        assert (tried.committed.text, tried.committed.score) == (first.answer, first.score)
        assert (tried.yours[0].text, tried.yours[0].score) == (second.answer, second.score)
        assert tried.yours[0].rows == list(second.pair)


def test_pairs_that_scored_the_generated_rl_data_have_their_answers(run: Path, what_if: WhatIf) -> None:
    first = read_records(layout.initial_evaluated(run), EvaluatedPair)[0]
    assert first.pair not in {pair.pair for pair in recorded(run) if pair.query_id == first.query_id}
    tried = what_if.tried(WhatIfRequest(query=first.query_id, recorded=list(first.pair)))
    assert (tried.difference, tried.exact, tried.committed.text) == ("", True, first.answer)


def test_without_a_demonstration_the_company_changes_nothing(run: Path, what_if: WhatIf) -> None:
    """The model's own reading, beside asks with demonstrations and alone."""
    queries = list(dict.fromkeys(pair.query_id for pair in recorded(run)))
    model = what_if._model
    pairs = {pair.query_id: pair.pair for pair in recorded(run)}
    alone = [replies_of(model, [BareAsk(query)])[0] for query in queries]
    mixed = replies_of(model, [ask for q in queries for ask in (VQAAsk(q, pairs[q]), BareAsk(q))])
    assert mixed[1::2] == alone
    assert [reply.answer for reply in mixed[::2]] != [reply.answer for reply in alone]
    tried = what_if.tried(WhatIfRequest(query=queries[0], recorded=list(pairs[queries[0]])))
    assert tried.none.text == alone[0].answer and tried.yours == [tried.none]


def test_a_pair_of_the_rl_data_has_no_recorded_answer(run: Path, what_if: WhatIf) -> None:
    known = {pair.pair for pair in recorded(run) if pair.query_id == "train-0000"}
    other = next([3, row] for row in range(4, 99) if (3, row) not in known)
    tried = what_if.tried(WhatIfRequest(query="train-0000", recorded=other))
    assert not tried.exact and tried.difference == (
        "this pair came with the RL data: the run holds its score, not an answer"
    )


def test_a_recorded_failure_that_fails_again_is_the_same_answer(run: Path) -> None:
    what_if = WhatIf(context_of(run, lambda event: None, lambda: None))
    failed = EvaluatedPair(query_id="train-0000", pair=(3, 4), model="digits", answer=None, score=None)
    what_if._known["train-0000", (3, 4)] = failed
    assert what_if._difference("train-0000", [3, 4], OtherAnswer(given="rows 3 and 4", text="")) == ""


def test_a_partly_right_answer_is_not_right(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    what_if = WhatIf(context_of(run, lambda event: None, lambda: None))
    monkeypatch.setattr(what_if._dataset, "annotations", lambda query: ["3"] * 8 + ["8"] * 2)
    found = [what_if._tried(BareAsk("train-0000"), VQAReply(answer)) for answer in ("3", "8", "5")]
    assert [(one.score, one.right) for one in found] == [
        (1.0, True),
        (pytest.approx(0.6), False),
        (0.0, False),
    ]


class Other:
    """A vision model that says something else than the run's."""

    name = "other"

    def answer(self, asks: Sequence[Ask], checkpoint: Any, answered: OnAnswer) -> None:
        for number, ask in enumerate(asks):
            answered(number, VQAReply("nothing") if ask.demonstrations else VQAReply(None, "no answer"))


@pytest.mark.parametrize(
    ("kind", "words"),
    [("digits", ""), ("openai", ": the model behind a server need not answer twice alike")],
)
def test_an_answer_that_is_not_the_run_s_says_which_that_was(
    run: Path, monkeypatch: pytest.MonkeyPatch, kind: str, words: str
) -> None:
    monkeypatch.setattr("engine.pool.what_if.make_vqa_model", lambda *_: Other())
    vqa = {"vqa": {"kind": kind}} if kind == "openai" else {}
    what_if = WhatIf(context_of(run, lambda event: None, lambda: None, **vqa))
    first = recorded(run)[0]
    tried = what_if.tried(WhatIfRequest(query=first.query_id, recorded=list(first.pair), pairs=[[3, 4]]))
    assert (tried.exact, tried.difference) == (False, f"the answer was {first.answer!r}{words}")
    assert (tried.none.given, tried.none.text, tried.none.right, tried.none.verdict) == (
        "no demonstration", "", None, "no answer",
    )  # fmt: skip
    assert (tried.committed.score, tried.committed.right, tried.committed.verdict) == (0.0, False, "")
    shown = DigitsDataset(0)
    (yours,) = tried.yours
    assert yours.given == f"rows 3 ({shown.demonstration(3)[1]}) and 4 ({shown.demonstration(4)[1]})"
    assert yours.rows == [3, 4] and tried.case == {"pair": f"{first.pair[0]}, {first.pair[1]}"}
    assert (tried.system, tried.example, tried.question) == (
        "pool",
        first.query_id,
        shown.question(first.query_id),
    )
    assert tried.gold == Counter(shown.annotations(first.query_id)).most_common(1)[0][0]


ROWS = "choose two different rows of 0 to 3599"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"query": "nobody"}, "the data set has no query 'nobody' (…/pool): choose a query of this run"),
        ({"pairs": [[3, 3]]}, f"rows 3 and 3 are not demonstrations for {{}} (…/pool): {ROWS}"),
        ({"pairs": [[3, 3600]]}, f"rows 3 and 3600 are not demonstrations for {{}} (…/pool): {ROWS}"),
    ],
)
def test_what_cannot_be_shown_is_refused(
    run: Path, what_if: WhatIf, change: dict[str, Any], words: str
) -> None:
    first = recorded(run)[0]
    wanted: dict[str, Any] = {"query": first.query_id, "recorded": list(first.pair)}
    with pytest.raises(DataError, match=exactly(words.format(first.query_id))):
        what_if.tried(WhatIfRequest(**wanted | change))


def test_no_row_that_shows_the_query_is_tried_in_either_place(tmp_path: Path) -> None:
    what_if: Any = WhatIf.__new__(WhatIf)
    what_if._dataset = SimpleNamespace(embeddings=[0.0] * 9, excluded=lambda query: [7])
    what_if._context = SimpleNamespace(run_dir=tmp_path)
    assert what_if._pair("q", [3, 4]) == (3, 4)
    for rows in ([7, 3], [3, 7]):
        with pytest.raises(DataError, match="none of 7, which show the query"):
            what_if._pair("q", rows)
