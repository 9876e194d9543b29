"""What a run on MultiChallenge says of its score beside the published ones."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from engine.config.slsm import SLSMSection
from engine.events import ConversationAnswered, Notice
from engine.slsm import layout
from engine.slsm.judges.published_board import differences, score_with_failures
from engine.slsm.multichallenge import Dialogues, parse_dialogues
from tests.engine.slsm.test_published_answers import right, run

AXES = ("INFERENCE_MEMORY", "INSTRUCTION_RETENTION", "SELF_COHERENCE", "RELIABLE_VERSION_EDITING")
THEIRS: dict[str, Any] = {"kind": "openai", "openai": {"model": "gpt-4o-2024-08-06", "max_tokens": 4096}}


def dialogues(count: int, axes: tuple[str, ...] = AXES) -> Dialogues:
    records = [
        {
            "QUESTION_ID": str(number), "AXIS": axes[number % len(axes)], "TARGET_QUESTION": "Is it?",
            "PASS_CRITERIA": "YES", "CONVERSATION": [{"role": "user", "content": "Hi"}],
        }
        for number in range(count)
    ]  # fmt: skip
    return parse_dialogues("\n".join(map(json.dumps, records)).encode(), "x", "x", None)


def section(**changes: Any) -> SLSMSection:
    return SLSMSection.model_validate({"data": {"path": "x"}, "judge": THEIRS} | changes)


def test_their_setting_differs_in_the_words_of_the_prompt_alone() -> None:
    assert differences(section(), dialogues(273), 0) == ["the judge's prompt says the same in other words"]


@pytest.mark.parametrize(
    ("changes", "count", "cut", "said"),
    (
        ({"judge": {"kind": "exact"}}, 273, 0, "the judge is `exact`, not gpt-4o-2024-08-06"),
        ({"judge": {"kind": "openai", "openai": {"max_tokens": 4096}}}, 273, 0, "the judge is gpt-4o, not"),
        ({"judge": {"kind": "openai", "openai": THEIRS["openai"] | {"max_tokens": 99}}}, 273, 0, "has 99 tokens"),
        ({"judge": {"kind": "openai", "openai": THEIRS["openai"] | {"temperature": 1.0}}}, 273, 0, "temperature is 1"),
        ({"attempts": 3}, 273, 0, "the best of 3 attempts, not one"),
        ({}, 100, 0, "100 conversations, not 273"),
        ({"max_new_tokens": 7}, 273, 5, "5 answers are cut at 7 tokens"),
    ),
)  # fmt: skip
def test_each_difference_is_said(changes: dict[str, Any], count: int, cut: int, said: str) -> None:
    assert any(said in one for one in differences(section(**changes), dialogues(count), cut))


def test_other_data_is_not_compared() -> None:
    assert differences(section(), dialogues(273, ("OTHER",)), 0) == []
    assert differences(section(data={}), dialogues(273), 0) == [], "generated conversations"


def answered(key: str, axis: str, passed: bool | None) -> ConversationAnswered:
    return ConversationAnswered(
        conversation_id=key, axis=axis, mode="baseline", memory_mode="none", attempt=0, answer="x", injected=False,
        reason="", passed=passed,
    )  # fmt: skip


def test_an_answer_without_a_verdict_counts_as_failed_their_way() -> None:
    given = [
        answered("a", "A", True),
        answered("b", "A", None),
        answered("c", "B", True),
        answered("d", "B", True),
    ]
    assert score_with_failures(given) == pytest.approx((1 / 2 + 1) / 2)


def test_a_run_says_it_once_and_in_its_summary(tmp_path: Path) -> None:
    """The generated dialogues have MultiChallenge's axes."""
    records = right()
    records[0]["RESPONSE"] = "Nothing."
    events = run(tmp_path, records)
    about = json.loads(layout.summary(tmp_path).read_text())
    assert "12 conversations, not 273" in about["differs_from_published"]
    assert about["score_failures_fail_baseline_none"] == about["score_baseline_none"]
    assert sum("beside published scores" in one.text for one in events if isinstance(one, Notice)) == 1
    assert list(csv.DictReader(layout.pairs(tmp_path).open())) == [], "one mode makes no pair"
