"""Sampled paths in the prompt of a served question."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.config.config import Config
from engine.config.gflownet import AnswerSection
from engine.events import PathStep, QuestionSampled, SampledPath, logged_without_envelope
from engine.files import write_jsonl
from engine.gflownet import layout
from engine.gflownet.answer.readers import SYSTEM
from engine.levers.evidence_lever import EvidenceLever


@pytest.mark.parametrize(("system", "sent"), [(None, SYSTEM), ("Name one.", "Name one.")])
def test_the_message_is_that_of_the_stage_answer(tmp_path: Path, system: str | None, sent: str) -> None:
    path = SampledPath(
        steps=[PathStep(head="ann", relation="leads", tail="bo", score=1.0)],
        count=1,
        probability=1.0,
        reward=1.0,
    )
    question = QuestionSampled(
        sample_id="q", question="who?", starts=["ann"], answers=["bo"], nodes=2, edges=1, samples=1, log_z=0.0,
        temperature=1.0, prior_alpha=0.0, paths=[path],
    )  # fmt: skip
    layout.sampled_paths(tmp_path).parent.mkdir(parents=True)
    write_jsonl(layout.sampled_paths(tmp_path), [logged_without_envelope(question)])
    lever = EvidenceLever(tmp_path, Config(answer=AnswerSection(system=system)))
    assert lever.add([{"role": "user", "content": "Who?"}], len).messages == [
        {"role": "system", "content": sent},
        {"role": "user", "content": "Triplets:\n(ann,leads,bo)\n\nQuestion:\nWho?"},
    ]
