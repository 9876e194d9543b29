"""An answer of the evolution under other deltas: nothing but the deltas is new."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from engine.config.config import Config
from engine.config.evolution import ClustersSection, EvolutionSection
from engine.config.models.model import ModelSection
from engine.config.run import RunSection
from engine.errors import DataError
from engine.events import AnswerTried, OtherAnswer
from engine.evolution import layout
from engine.evolution.answers import AnswerRecord
from engine.evolution.clusters.clusters_stage import BuildClusters
from engine.evolution.evolve_stage import Evolve
from engine.evolution.history import History, read_history, write_history
from engine.evolution.questions import ask
from engine.evolution.splits import BASELINE, VALIDATION
from engine.evolution.what_if import WhatIf, WhatIfRequest
from engine.files import read_jsonl
from engine.lm.loading.load import load_model
from engine.lm.model_server import ModelAnswer, ModelQuestion
from engine.run.stage import StageContext
from tests.engine.evolution.test_split_evaluator import ByHand, iteration, record, tokens_of
from tests.exactly import exactly
from tests.offline_evolution import offline
from tests.run_stage import run_stage

pytestmark = pytest.mark.usefixtures("unchecked_processors")

MODEL = ModelSection(device="cpu", path="statements")
CONFIG = Config(
    run=RunSection(stages=["clusters", "evolve"]),
    model=MODEL,
    clusters=ClustersSection(embedder="hashed", k=6, frequency_texts=4),
    evolution=EvolutionSection(
        **offline(
            {
                "iterations": 2, "minibatch_size": 2, "best_by": "validation", "validation_size": 2, "test_size": 1,
                "pool_size": 12, "batch_size": 4, "max_new_tokens": 24, "brief_prompts": ["Be brief."],
                "temperature": 0.8,
            }
        )
    ),
)  # fmt: skip
"""Sampled answers: they come again only from their own seeds."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    model = load_model(MODEL)
    for stage in (BuildClusters(), Evolve()):
        run_stage(stage, CONFIG, folder, model)
    return folder


@pytest.fixture(scope="module")
def what_if(run: Path) -> WhatIf:
    context = StageContext("evolve", CONFIG, run, lambda event: None, lambda: None, load_model)
    return WhatIf(context)


def answers(run: Path) -> list[dict[str, Any]]:
    return read_jsonl(layout.answers(run))


def of(line: dict[str, Any], **more: Any) -> WhatIfRequest:
    return WhatIfRequest(iteration=line["iteration"], split=line["split"], example=line["example_id"], **more)


def test_every_answer_comes_again(run: Path, what_if: WhatIf) -> None:
    """In each split: under deltas, without, and after a request for a short answer."""
    lines = {(line["split"], line["iteration"]): line for line in answers(run)}
    splits = {"minibatch", "validation", "baseline", "test", "test_plain", "test_brief", "brief_1"}
    assert {split for split, _ in lines} == splits
    for line in lines.values():
        tried = what_if.tried(of(line))
        assert tried.exact, (line["split"], tried.difference)
        assert tried.committed.text == line["answer"] and tried.committed.right == line["correct"]
        assert tried.committed.tokens == len(line["token_ids"])


def test_the_deltas_are_those_asked_for(run: Path, what_if: WhatIf) -> None:
    first, second = read_history(layout.history(run)).iterations[:2]
    assert first.deltas != second.deltas
    line = next(line for line in answers(run) if (line["iteration"], line["split"]) == (1, "minibatch"))
    tried = what_if.tried(of(line, scales=[0.0, 1.0, 2.0]))
    nothing, own, double = tried.yours
    assert nothing.text == tried.none.text and own.text == tried.committed.text
    assert double.deltas == {name: 2 * delta for name, delta in second.deltas.items()}
    other = what_if.tried(of(line, of=0, put={"1": 0.0, "0": 50.0})).yours[0]
    assert other.deltas == first.deltas | {"1": 0.0, "0": 50.0}
    assert other.given == "deltas of iteration 0, +0 on cluster 1, +50 on cluster 0"
    assert other.text == "", "the end of text is in cluster 0, which decides alone"


def test_another_iterations_deltas_give_its_answer(run: Path, what_if: WhatIf) -> None:
    """The question of a first answer under the deltas of the second iteration, with the seed of the first."""
    line = next(line for line in answers(run) if (line["iteration"], line["split"]) == (0, "minibatch"))
    tried = what_if.tried(of(line, of=1))
    second = read_history(layout.history(run)).iterations[1].deltas
    assert tried.yours[0].deltas == second
    assert tried.yours[0].text == what_if.tried(of(line, put=second)).yours[0].text


def test_a_difference_to_the_record_is_told(
    run: Path, what_if: WhatIf, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = next(line for line in answers(run) if line["split"] == "validation")
    monkeypatch.setattr(
        what_if, "_recorded_deltas", lambda request: dict.fromkeys(what_if._clusters.names, 0.0) | {"0": 50.0}
    )
    tried = what_if.tried(of(line))
    assert not tried.exact and "differ after" in tried.difference


@pytest.mark.parametrize(
    ("again", "said"),
    [
        ([5, 6, 7], ""),
        ([5, 9, 7], "the answers differ after 1 of 3 tokens"),
        ([5, 6], "the answers differ after 2 of 3 tokens"),
        ([5, 6, 7, 8], "the answers differ after 3 of 3 tokens"),
    ],
)
def test_where_answers_part(what_if: WhatIf, again: list[int], said: str) -> None:
    """Also where one only goes on after the other's end."""
    record = AnswerRecord(
        iteration=0, split="validation", example_id="e", answer="A", token_ids=[5, 6, 7], correct=True, reasoning=""
    )  # fmt: skip
    assert what_if._difference(record, ModelAnswer("A", again)) == said


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"example": "nobody"},
            "iteration … has no answer to 'nobody' in … (…/answers.jsonl): choose an answer of this run",
        ),
        ({"of": 7}, "iteration 7 is not finished (…/history.json): choose one of 0 to …"),
        ({"put": {"99": 0.0}}, "there is no cluster 99 (…/evolution): choose clusters of 0 to …"),
        (
            {"scales": [1000.0], "put": {"0": 1.0}},
            "these are not deltas: beyond ±100: … (the deltas to try): give one finite number for each of the "
            "clusters 0 to …",
        ),
    ],
)
def test_what_the_run_does_not_have_is_refused(
    run: Path, what_if: WhatIf, change: dict[str, Any], words: str
) -> None:
    wanted = of(answers(run)[0]).model_dump() | change
    with pytest.raises(DataError, match=exactly(words)):
        what_if.tried(WhatIfRequest(**wanted))


def test_an_answer_is_given_again_under_its_own_deltas_under_none_and_at_each_scale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is added to the first token's logit is what the model says, here: a right answer has a `c`."""
    evolution = ByHand(tmp_path, {})
    config = evolution.context.config
    write_history(layout.history(tmp_path), History(iterations=[iteration(0), iteration(1, 0.5)]))
    evolution.answers.add([record("v1", "c +0.5", iteration=1)])
    asked: list[tuple[Any, ModelQuestion]] = []

    def said(model: Any, questions: Sequence[ModelQuestion], processor: Any) -> list[ModelAnswer]:
        asked.append((model, questions[0]))
        added = None if processor is None else float(processor([[]], torch.zeros(1, 4))[0, 0])
        text = "no" if added is None else f"c {added:+g}"
        return [ModelAnswer(text, tokens_of(text))]

    monkeypatch.setattr("engine.evolution.what_if.answer_questions", said)
    one: Any = object.__new__(WhatIf)
    vars(one).update(
        _context=SimpleNamespace(load_model=lambda section: section), _config=config, _run_dir=tmp_path,
        _clusters=evolution.clusters, _examples=evolution.questions.by_id, _judge=evolution.judge,
    )  # fmt: skip
    request = WhatIfRequest(iteration=1, split=VALIDATION, example="v1", put={"1": 2.0}, scales=[1.0, 3.0])
    (example,) = (one for one in evolution.questions.validation if one.id == "v1")

    def other(given: str, text: str, deltas: dict[str, float]) -> OtherAnswer:
        return OtherAnswer(
            given=given, text=text, right="c" in text, verdict=f"read {text}", tokens=len(text), deltas=deltas
        )

    expected = AnswerTried(
        system="evolution", example="v1", case={"iteration": 1, "split": "validation"}, question="v1?", gold="c",
        committed=other("the deltas of iteration 1", "c +0.5", dict.fromkeys("012", 0.5)),
        none=other("no deltas", "no", {}),
        yours=[
            other("its own deltas, +2 on cluster 1", "c +0.5", {"0": 0.5, "1": 2.0, "2": 0.5}),
            other("its own deltas, +2 on cluster 1, times 3", "c +1.5", {"0": 1.5, "1": 6.0, "2": 1.5}),
        ],
        exact=True, difference="",
    )  # fmt: skip
    assert one.tried(request) == expected
    assert asked == [(config.evolution_model, ask(example, config, 1))] * 4
    evolution.answers.add([record("v1", "cb+0.5", iteration=1)])
    found = one.tried(request)
    assert (found.exact, found.difference) == (False, "the answers differ after 1 of 6 tokens")
    evolution.answers.add([record("v1", "no", iteration=1, split=BASELINE)])
    asked.clear()
    found = one.tried(request.model_copy(update={"split": BASELINE, "put": {}, "scales": [2.0], "of": 1}))
    assert (found.committed, found.exact) == (other("no deltas, as in the run", "no", {}), True)
    assert found.yours == [other("deltas of iteration 1, times 2", "c +1", dict.fromkeys("012", 1.0))]
    evolution.judge.dead = True
    evolution.judge.asked.clear()
    found = one.tried(request)
    assert [answer.right for answer in (found.committed, found.none, *found.yours)] == [None] * 4
    assert len(evolution.judge.asked) == 4 * 3, "each answer has as many attempts as in the run"
