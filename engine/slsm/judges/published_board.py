"""What makes a score on MultiChallenge comparable with the published ones or not, and the score counted as theirs is.

The authors' evaluation (arXiv 2501.17399): gpt-4o-2024-08-06 as judge at temperature 0 with up to 4,096 tokens, all 273
conversations and one attempt. An answer without a verdict has failed, on an axis beside those of the conversations. A
conversation to which the file of answers has none fails on its own axis.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from statistics import fmean

from engine.config.slsm import BOARD_JUDGE, BOARD_TOKENS, SLSMSection
from engine.events import BoardPoint, ConversationAnswered
from engine.slsm.judges.verdicts import FAILED_WITHOUT_VERDICT
from engine.slsm.multichallenge import Dialogues
from engine.slsm.published_answers import NO_FURTHER_ATTEMPT

AXES = frozenset(("INFERENCE_MEMORY", "INSTRUCTION_RETENTION", "SELF_COHERENCE", "RELIABLE_VERSION_EDITING"))
CONVERSATIONS = 273
UNJUDGED_AXIS = "NA"
"""The axis of answers without a verdict: the macro mean then goes over one axis more."""
FIRST_PUBLISHED = "df059db983248ef9c94a1b92bc1ca2340c61966068675ae95384dc11e5e95e6e"
"""Content of data/benchmark_questions.jsonl as published with the paper in 2025."""


def board_points(
    section: SLSMSection, dialogues: Dialogues, cut: int, unjudged: int, attempts: int
) -> list[BoardPoint]:
    """Each setting of the evaluation beside the authors' own; none for other data. `attempts`: at each conversation."""
    if section.data.path is None or not set(dialogues.axes) <= AXES:
        return []
    count, content = len(dialogues.conversations), content_of(dialogues)
    known = content == FIRST_PUBLISHED
    answers = f"{cut} cut at {section.answer_tokens} tokens" if cut else "whole"
    data = "first published (2025)" if known else f"another or a part, content {content[:12]}"
    return [
        *_judge_points(section, unjudged),
        BoardPoint(
            what="conversations", here=str(count), board=str(CONVERSATIONS), same=count == CONVERSATIONS
        ),
        BoardPoint(what="data", here=data, board="first published (2025)", same=known),
        BoardPoint(what="attempts", here=str(attempts), board="1", same=attempts == 1),
        BoardPoint(what="answers", here=answers, board="whole", same=not cut),
    ]


def _judge_points(section: SLSMSection, unjudged: int) -> list[BoardPoint]:
    judge, openai = section.judge, section.judge.openai
    if judge.kind != "openai":
        points = [("judge", judge.kind, BOARD_JUDGE)]
    else:
        points = [
            ("judge", openai.model, BOARD_JUDGE),
            ("prompt", judge.prompt, "multichallenge"),
            ("temperature", f"{openai.temperature:g}", "0"),
            ("judge's tokens", str(openai.max_tokens), str(BOARD_TOKENS)),
        ]
    here = f"{unjudged}, {'failed' if judge.failures_fail else 'left out'}" if unjudged else "0"
    board = f"failed on an axis of their own, {UNJUDGED_AXIS}"
    return [
        *(BoardPoint(what=what, here=here, board=board, same=here == board) for what, here, board in points),
        BoardPoint(what="answers without a verdict", here=here, board=board, same=not unjudged),
    ]


def content_of(dialogues: Dialogues) -> str:
    """SHA-256 of what the conversations say and ask, whatever form and order of lines the file has."""
    rows = [
        [
            one.id, one.axis, [[turn.user, turn.assistant] for turn in one.turns],
            *((asked.target_question, asked.pass_criteria) if (asked := dialogues.criteria.get(one.id)) else ()),
        ]
        for one in dialogues.conversations
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(sorted(rows, key=lambda row: str(row[0]))).encode()).hexdigest()


def score_as_published(answers: Sequence[ConversationAnswered]) -> float:
    """The authors' aggregate: the macro mean over axes of conversations of which any attempt on that axis passes. An
    attempt without a verdict has failed on the axis `UNJUDGED_AXIS`; one that a file of answers does not have counts
    nowhere."""
    passed: dict[str, dict[str, bool]] = {}
    for one in answers:
        if one.failure != NO_FURTHER_ATTEMPT:
            unjudged = one.passed is None or one.verdict.startswith(FAILED_WITHOUT_VERDICT)
            axis = passed.setdefault(UNJUDGED_AXIS if unjudged else one.axis, {})
            axis[one.conversation_id] = axis.get(one.conversation_id, False) or one.passed is True
    return fmean(fmean(axis.values()) for axis in passed.values())
