"""What keeps a score on MultiChallenge from standing beside the published ones, and the score counted as theirs is.

The authors' evaluation (arXiv 2501.17399): gpt-4o-2024-08-06 as judge at temperature 0 with up to 4,096 tokens, all 273
conversations, one attempt, and an answer without a verdict has failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from engine.config.slsm import SLSMSection
from engine.events import ConversationAnswered
from engine.slsm.judges.scoring import outcomes_of
from engine.slsm.multichallenge import Dialogues

AXES = frozenset(("INFERENCE_MEMORY", "INSTRUCTION_RETENTION", "SELF_COHERENCE", "RELIABLE_VERSION_EDITING"))
_JUDGE, _TOKENS, _CONVERSATIONS = "gpt-4o-2024-08-06", 4096, 273


def differences(section: SLSMSection, dialogues: Dialogues, cut: int) -> list[str]:
    """What differs from the authors' evaluation; none for other data."""
    if section.data.path is None or not set(dialogues.axes) <= AXES:
        return []
    judge, found = section.judge, []
    if judge.kind != "openai":
        found.append(f"the judge is `{judge.kind}`, not {_JUDGE}")
    else:
        if judge.openai.model != _JUDGE:
            found.append(f"the judge is {judge.openai.model}, not {_JUDGE}")
        if judge.openai.temperature:
            found.append(f"the judge's temperature is {judge.openai.temperature:g}, not 0")
        if judge.openai.max_tokens < _TOKENS:
            found.append(f"the judge has {judge.openai.max_tokens} tokens, not {_TOKENS}")
        found.append("the judge's prompt says the same in other words")
    if len(dialogues.conversations) != _CONVERSATIONS:
        found.append(f"{len(dialogues.conversations)} conversations, not {_CONVERSATIONS}")
    if section.attempts > 1:
        found.append(f"the best of {section.attempts} attempts, not one")
    if cut:
        found.append(f"{cut} answers are cut at {section.answer_tokens} tokens")
    return found


def score_with_failures(answers: Sequence[ConversationAnswered]) -> float:
    """The macro mean over axes, where an answer without a verdict has failed."""
    outcomes = outcomes_of(answers).values()
    axes = dict.fromkeys(outcome.axis for outcome in outcomes)
    return fmean(
        fmean(outcome.passed is True for outcome in outcomes if outcome.axis == axis) for axis in axes
    )
