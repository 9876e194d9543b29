"""How a method's setting is chosen on validation."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from engine.gflownet.evaluation.evaluator import Evaluation, Evaluator

FOUND = {
    # recall of each question, distinct paths that meet an answer
    1.0: ([1, 1, 1, 0.8], 3.0),
    2.0: ([1, 1, 1, 0.78], 5.0),
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
def test_more_paths_win_among_settings_of_about_the_same_recall(settings: tuple[float, ...], chosen: float):
    """The standard error of the best recall is 0.043: 2 is as good as 1, and 3 is not."""
    evaluator = Evaluator(
        SimpleNamespace(section=SimpleNamespace(num_eval_rollouts=4)), None, 0, lambda: None
    )  # type: ignore[arg-type]
    assert evaluator.best(evaluate, settings) == chosen
