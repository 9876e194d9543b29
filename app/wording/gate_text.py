"""What each gate of the controller means, as a sentence about a decision."""

from __future__ import annotations

from app.wording.figures import fixed
from engine.esm.library.entry_names import candidate_name, chosen_name
from engine.events import DecisionTaken


def gate_sentence(decision: DecisionTaken) -> str:
    """Why the controller took this decision."""
    sentence = SENTENCES.get(decision.gate)
    if sentence is None:
        what = f"{chosen_name(decision)} was injected" if decision.chosen else "nothing was injected"
        return f"The rule “{decision.gate}” decided: {what}."
    text = sentence.format(
        chosen=chosen_name(decision),
        score=fixed(decision.score),
        null=fixed(decision.null_score),
        alpha=fixed(decision.alpha),
        layer="?" if decision.layer is None else decision.layer,
        sim=fixed(decision.top_similarity),
        best=_best(decision),
        size=decision.memory_size,
        m=decision.m,
        before=decision.m - 1,
    )
    return text[0].upper() + text[1:] if text.startswith("the ") else text


def _best(decision: DecisionTaken) -> str:
    """The strongest candidate for injection, with its score."""
    scored = [c for c in decision.candidates if c.score is not None]
    if not scored:
        return "the best entry"
    best = max(scored, key=lambda c: c.score or 0.0)
    return f"the best entry ({candidate_name(best)}, Score {fixed(best.score)})"


SENTENCES = {
    "chosen": "{chosen} scored highest ({score}, null {null}), so it was injected at layer {layer} with α {alpha}.",
    "always": "This method adds its one vector, as strongly as it is set: {chosen}, at layer {layer} with α {alpha}.",
    "first_segment": "The first segment has no control point before it, so nothing can be retrieved.",
    "tail": "After the last control point the rest is written in one piece, unsteered.",
    "no_memory": "This method has no memory: nothing was retrieved.",
    "tool_range": "Segment {m} lies outside min_tool_m … max_tool_m, where steering is allowed.",
    "min_entries": "The memory holds too few entries at control point {before} ({size}): fewer than min_entries.",
    "min_sim": "The nearest entry is too far away (similarity {sim}, below min_sim), so memory was not used.",
    "condition": "The state does not meet this method's condition, so its vector was not added.",
    "no_candidates": "Only right entries are near, and they speak for null, so there was nothing to inject.",
    "null_best": "Null scored highest ({null}): the state looks right as it is, and {best} did not beat it.",
    "tie": "Null and {best} scored the same: a tie goes to null.",
    "tau_null": "{best} beat null, but its Score lies below tau_null: too low to steer.",
}
