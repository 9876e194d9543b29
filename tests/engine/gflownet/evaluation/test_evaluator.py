"""How a method's setting is chosen on validation."""

from __future__ import annotations

import pytest

from engine.gflownet.evaluation.evaluator import Evaluation, best_setting

FOUND = {
    # recall of each question, distinct paths that meet an answer
    1.0: ([1, 1, 1, 0.8], 3.0),
    2.0: ([1, 1, 0.8, 1], 5.0),
    3.0: ([1, 0.8, 0.8, 0.4], 9.0),
}


def evaluate(setting: float) -> Evaluation:
    recall, hits = FOUND[setting]
    figures = {
        "answer_recall_union@4": [float(value) for value in recall],
        "unique_success_paths@4": [hits] * 4,
    }
    return Evaluation("beam", 4, figures=figures)


@pytest.mark.parametrize(("settings", "chosen"), [((1.0, 2.0, 3.0), 2.0), ((1.0, 3.0), 1.0), ((3.0,), 3.0)])
def test_recall_decides_and_then_the_paths_that_meet_an_answer(settings: tuple[float, ...], chosen: float):
    assert best_setting(evaluate, settings) == chosen
