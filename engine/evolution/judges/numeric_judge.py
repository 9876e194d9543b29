"""The offline judge: it compares figures, yes or no, and the direction of a change, and says where it cannot tell."""

from __future__ import annotations

from collections.abc import Sequence

from engine.evolution.judges.judge import Verdict
from engine.evolution.judges.kind import Gold, read_gold
from engine.evolution.judges.polarity import direction_of, direction_of_answer, polarity_of, polarity_of_gold
from engine.evolution.judges.quantities import same
from engine.evolution.judges.refusal import refuses
from engine.evolution.judges.stated import stated

_WAYS = {1: "up", -1: "down", 0: "neither up nor down"}


class NumericJudge:
    """Offline. It reads figures and words, not meaning.

    Figures of the gold answer have to be those that the answer comes to, within `tolerance` (relative; absolute
    where the figure is 0) or rounded to the gold answer's decimals. A gold answer that begins with yes or no is
    compared with what the answer says to the question; one that says only "rose" or the like with the answer's
    direction. Any other gold answer is a text: this judge cannot tell.
    """

    name = "numeric (offline)"

    def __init__(self, tolerance: float) -> None:
        self.tolerance = tolerance

    def judge(self, question: str, golds: Sequence[str], answer: str) -> Verdict:
        """Right if the answer meets any gold answer."""
        if reason := self.cannot_tell(question, golds):
            return Verdict(None, reason)
        verdicts = [self._against(question, read_gold(question, gold), answer) for gold in golds]
        return next((verdict for verdict in verdicts if verdict.correct), verdicts[0])

    def cannot_tell(self, question: str, golds: Sequence[str]) -> str:
        """Why this judge cannot judge answers to a question; empty where it can. It depends on no answer."""
        if all(read_gold(question, gold).kind != "text" for gold in golds):
            return ""
        return "cannot tell: the gold answer is neither figures, nor yes or no, nor a direction, but a text"

    def _against(self, question: str, gold: Gold, answer: str) -> Verdict:
        if gold.kind == "figures":
            return self._figures(gold, answer)
        if refuses(answer):
            return Verdict(False, "the answer says that it does not know")
        if gold.kind == "direction":
            return _direction(gold.text, answer)
        want, answered = polarity_of_gold(gold.text), polarity_of(question, answer)
        return Verdict(
            answered == want, f"the answer says {answered or 'neither yes nor no'}, the gold answer {want}"
        )

    def _figures(self, gold: Gold, answer: str) -> Verdict:
        given = stated(answer, gold.figures)
        missing = [
            want for want in gold.figures if not any(same(want, number, self.tolerance) for number in given)
        ]
        if missing:
            shown = ", ".join(number.text for number in given) or "no number"
            return Verdict(False, f"{missing[0].text} is not what was answered: {shown}")
        met = ", ".join(want.text for want in gold.figures)
        return Verdict(True, f"answered {met} within {self.tolerance:.2%}")


def _direction(gold: str, answer: str) -> Verdict:
    want, answered = direction_of(gold), direction_of_answer(answer)
    return Verdict(answered == want, f"the answer points {_WAYS[answered]}, the gold answer {_WAYS[want]}")
