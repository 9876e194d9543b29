"""The score on MultiChallenge, counted as its authors count it (arXiv 2501.17399).

An answer without a verdict has failed, on an axis beside those of the conversations. A conversation to which the file
of answers has none fails on its own axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from engine.events import ConversationAnswered
from engine.slsm.judges.verdicts import FAILED_WITHOUT_VERDICT
from engine.slsm.published_answers import NO_FURTHER_ATTEMPT

AXES = frozenset(("INFERENCE_MEMORY", "INSTRUCTION_RETENTION", "SELF_COHERENCE", "RELIABLE_VERSION_EDITING"))
UNJUDGED_AXIS = "NA"
"""The axis of answers without a verdict: the macro mean then goes over one axis more."""


def score_as_published(answers: Sequence[ConversationAnswered]) -> float | None:
    """The authors' aggregate: the macro mean over axes of conversations of which any attempt on that axis passes. An
    attempt without a verdict has failed on the axis `UNJUDGED_AXIS`; one that a file of answers does not have counts
    nowhere; None where there is no other."""
    passed: dict[str, dict[str, bool]] = {}
    for one in answers:
        if one.failure != NO_FURTHER_ATTEMPT:
            unjudged = one.passed is None or one.verdict.startswith(FAILED_WITHOUT_VERDICT)
            axis = passed.setdefault(UNJUDGED_AXIS if unjudged else one.axis, {})
            axis[one.conversation_id] = axis.get(one.conversation_id, False) or one.passed is True
    return fmean(fmean(axis.values()) for axis in passed.values()) if passed else None
