"""The questions of a split, which a stage cannot do without, and the paths of one that are drawn from a list."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from engine.config.gflownet import GFlowNetSection
from engine.errors import DataError
from engine.gflownet.evaluation import questions
from engine.gflownet.evaluation.questions import QuestionBatches
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.module import GFlowNetModule
from tests.engine.gflownet.small_graphs import WIDTH, SmallGraph, small_batch
from tests.exactly import exactly


def test_a_split_without_questions_is_told_with_what_keeps_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing: Any = None
    monkeypatch.setattr(questions, "GAgentPyGDataset", lambda path: [])
    monkeypatch.setattr(questions, "QuestionBatches", lambda data, tables, module: data)
    told = (
        "no validation question has an answer its agent graph reaches (…/gflownet/g_agent/validation.pt): see "
        "dropped.json; a larger agent_graphs.anchor_top_k keeps more"
    )
    with pytest.raises(DataError, match=exactly(told)):
        questions.load_questions(tmp_path, "validation", nothing, nothing)


class OneQuestion(QuestionBatches):
    """0 leads to 1, to the answer 2, and over 1 to the answer 3."""

    def whole(self, number: int) -> tuple[GraphBatch, Any]:
        graph = SmallGraph("listed", ((0, 0, 1), (0, 1, 2), (1, 0, 3)), (0,), (2, 3), (1,))
        return small_batch([graph], dtype=torch.float32), SimpleNamespace(sample_id="q")


def one_question() -> OneQuestion:
    nothing: Any = None
    return OneQuestion(nothing, nothing, GFlowNetModule(WIDTH, GFlowNetSection()))


def test_all_paths_of_a_question_are_listed_with_the_sum_of_their_shares_of_the_reward() -> None:
    """No edge and the one to 1 are worth 0.001, the one to 2 and the two to 3 are worth 1: 2.002 together."""
    listed = one_question().listed(0)
    assert listed is not None and listed.edges.dtype == torch.int32
    assert listed.edges.tolist() == [[-1] * 3, [0, -1, -1], [1, -1, -1], [0, 2, -1]]
    assert listed.cumulative == pytest.approx([1 / 2002, 2 / 2002, 1002 / 2002, 1.0], abs=1e-12)
    uniform = np.array([0.0, 1 / 2003, 1 / 2001, 3 / 2002, 1001 / 2002, 1003 / 2002, 1.0])
    assert listed.drawn(uniform).tolist() == [listed.edges[place].tolist() for place in (0, 0, 1, 2, 2, 3, 3)]


def test_a_draw_on_a_border_is_the_path_behind_it_and_the_last_at_the_end() -> None:
    listed = questions.ListedPaths(
        torch.tensor([[0], [1], [2]], dtype=torch.int32), np.array([0.25, 0.75, 0.99])
    )
    assert listed.drawn(np.array([0.25, 0.75, 0.995])).tolist() == [[1], [2], [2]]


def test_a_question_of_more_paths_than_are_listed_has_no_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "MOST_PATHS", 4)
    assert one_question().listed(0) is not None
    monkeypatch.setattr(questions, "MOST_PATHS", 3)
    assert one_question().listed(0) is None
