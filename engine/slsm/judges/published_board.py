"""What makes a score on MultiChallenge comparable with the published ones or not, and the score counted as theirs is.

The authors' evaluation (arXiv 2501.17399): gpt-4o-2024-08-06 as judge at temperature 0 with up to 4,096 tokens, all 273
conversations, one attempt, and an answer without a verdict has failed. A conversation to which the file of answers has
none fails on an axis of its own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from statistics import fmean

import msgspec

from engine.config.slsm import BOARD_JUDGE, BOARD_TOKENS, SLSMSection
from engine.events import BoardPoint, ConversationAnswered
from engine.slsm.judges.scoring import outcomes_of
from engine.slsm.multichallenge import Dialogues
from engine.slsm.published_answers import NOT_IN_FILE

AXES = frozenset(("INFERENCE_MEMORY", "INSTRUCTION_RETENTION", "SELF_COHERENCE", "RELIABLE_VERSION_EDITING"))
CONVERSATIONS = 273
MISSING_AXIS = "NA"
"""The axis of conversations that were not answered: the macro mean then goes over one axis more."""
FIRST_PUBLISHED = "df059db983248ef9c94a1b92bc1ca2340c61966068675ae95384dc11e5e95e6e"
"""Content of data/benchmark_questions.jsonl as published with the paper in 2025."""


def board_points(
    section: SLSMSection, dialogues: Dialogues, cut: int, unjudged: int, attempts: int, missing: int = 0
) -> list[BoardPoint]:
    """Each setting of the evaluation beside the authors' own; none for other data. `attempts`: at each conversation;
    `missing`: conversations to which a file of answers has none."""
    if section.data.path is None or not set(dialogues.axes) <= AXES:
        return []
    count, content = len(dialogues.conversations), content_of(dialogues)
    known = content == FIRST_PUBLISHED
    problems = [f"{cut} cut at {section.answer_tokens} tokens"] if cut else []
    problems += [f"{missing} missing, failed on the axis of their conversation"] if missing else []
    data = "first published (2025)" if known else f"another or a part, content {content[:12]}"
    return [
        *_judge_points(section, unjudged),
        BoardPoint(what="conversations", here=str(count), board=str(CONVERSATIONS), same=count == CONVERSATIONS),
        BoardPoint(what="data", here=data, board="first published (2025)", same=known),
        BoardPoint(what="attempts", here=str(attempts), board="1", same=attempts == 1),
        BoardPoint(
            what="answers", here="; ".join(problems) or "whole",
            board=f"failed on an axis of their own, {MISSING_AXIS}" if missing else "whole", same=not problems,
        ),
    ]  # fmt: skip


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
    counted = not unjudged or judge.failures_fail
    here = f"{unjudged}, {'failed' if judge.failures_fail else 'left out'}" if unjudged else "0"
    return [
        *(BoardPoint(what=what, here=here, board=board, same=here == board) for what, here, board in points),
        BoardPoint(what="answers without a verdict", here=here, board="failed", same=counted),
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
    """The authors' aggregate: the macro mean over axes of conversations of which any attempt passes. An answer without
    a verdict has failed, and a conversation without an answer in the file on the axis `MISSING_AXIS`."""
    theirs = [
        msgspec.structs.replace(one, axis=MISSING_AXIS) if one.failure == NOT_IN_FILE else one
        for one in answers
    ]
    outcomes = outcomes_of(theirs).values()
    axes = dict.fromkeys(outcome.axis for outcome in outcomes)
    return fmean(
        fmean(outcome.passed is True for outcome in outcomes if outcome.axis == axis) for axis in axes
    )
