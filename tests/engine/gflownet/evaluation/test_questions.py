"""The questions of a split, which a stage cannot do without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.errors import DataError
from engine.gflownet.evaluation import questions
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
