"""A line of per_example.jsonl, letter by letter; and lines of earlier versions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.errors import DataError
from engine.esm.evaluation.answer_lines import append_answers, read_answers, recover_answers, step_of
from engine.events import Candidate, DecisionTaken
from engine.tasks.example import TaskExample
from tests.small_esm import answer_line

DECISION = DecisionTaken(
    method="esm", example="e", m=2, gate="chosen", memory_size=7, top_similarity=0.9, best_ahat=0.45, null_ahat=0.3,
    null_logprob=-1.5, null_score=0.25, null_probe="no text", chosen="a", layer=3, logprob=-1.25, delta_logprob=0.25,
    score=0.7, alpha=2.8, tokens_before=5, committed_tokens=4, probe_tokens=6, ended="delimiter", segment="no text",
    candidates=[
        Candidate(
            entry="a", name="A → B, step 1", kind="wrong", similarity=0.9, quality=0.5, ahat=0.45, probed=True,
            logprob=-1.25, score=0.7,
        ),
        Candidate(entry="b", kind="wrong", similarity=0.8, quality=0.5, ahat=0.4),
    ],
)  # fmt: skip
LINE = (
    '{"index": 3, "example_id": "e", "question": "wie viel?", "text": "t\\n\\nä", "pred": "1", "gold": "2", '
    '"correct": false, "correct_strict": true, "tokens_used": 9, "probe_tokens_used": 6, "budget_used": 15, '
    '"steered": 1, "steps": [{"m": 2, "phase": "segment", "gate": "chosen", "memory_size": 7, "top_similarity": 0.9, '
    '"best_ahat": 0.45, "null_ahat": 0.3, "chosen": "a", "layer": 3, "logprob": -1.25, "null_logprob": -1.5, '
    '"delta_logprob": 0.25, "score": 0.7, "null_score": 0.25, "alpha": 2.8, "committed_tokens": 4, "probe_tokens": 6, '
    '"probes": [{"entry": "a", "ahat": 0.45, "logprob": -1.25, "score": 0.7}]}]}\n'
)


def test_a_line_is_what_it_always_was(tmp_path: Path) -> None:
    line = answer_line(
        index=3, example_id="e", question="wie viel?", text="t\n\nä", pred="1", gold="2", correct_strict=True,
        tokens_used=9, probe_tokens_used=6, budget_used=15, steered=1, steps=[step_of(DECISION)],
    )  # fmt: skip
    path = tmp_path / "per_example.jsonl"
    append_answers(path, [line])
    assert path.read_text() == LINE
    append_answers(path, [line])
    assert read_answers(path) == [line, line]


def test_what_was_not_known_is_null() -> None:
    step = step_of(DecisionTaken(method="greedy", example="e", m=1, gate="no_memory"))
    assert (step.chosen, step.score, step.alpha, step.probes) == (None, None, 0.0, [])


def test_a_line_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    old = json.loads(LINE)
    del old["correct_strict"], old["steps"][0]["probes"], old["steps"][0]["logprob"]
    path = tmp_path / "per_example.jsonl"
    path.write_text(json.dumps(old | {"unknown": 1}) + "\n")
    (line,) = read_answers(path)
    assert line.correct_strict is None and line.steps[0].probes == [] and line.steps[0].logprob is None


def test_a_batch_that_is_not_whole_is_done_again(tmp_path: Path) -> None:
    path, examples = tmp_path / "per_example.jsonl", [TaskExample(f"e{n}", "", "") for n in range(5)]
    append_answers(path, [answer_line(example_id=f"e{n}", index=n) for n in range(3)])
    assert [line.index for line in recover_answers(path, 2, examples)] == [0, 1]
    assert path.read_text().count("\n") == 2
    with pytest.raises(DataError) as caught:
        recover_answers(path, 2, examples[1:])
    assert "the example at this place is 'e1'" in str(caught.value) and f"{path}:1" in str(caught.value)


def test_what_was_probed_is_a_probe_and_not_what_has_a_score() -> None:
    given = [
        Candidate(entry="a", kind="wrong", similarity=0.9, quality=0.5, ahat=0.45, probed=True),
        Candidate(entry="b", kind="wrong", similarity=0.8, quality=0.5, ahat=0.4, score=0.4),
    ]
    step = step_of(DecisionTaken(method="esm", example="e", m=1, gate="null_best", candidates=given))
    assert [probe.entry for probe in step.probes] == ["a"]
