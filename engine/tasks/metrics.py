"""Whether a predicted answer is right (spec ESM 7.1)."""

from __future__ import annotations

from engine.tasks.extractors import plain_number

_LONGEST = 200


def is_correct(dataset: str, pred: str, gold: str) -> bool:
    """Exact match after normalisation; math answers also by math-verify over SymPy. Never raises."""
    if not pred:
        return False
    if dataset == "exact":
        return _words(pred) == _words(gold)
    if dataset in ("math500", "aime"):
        return _normal(pred) == _normal(gold) or _equivalent(pred, gold)
    return plain_number(pred) == plain_number(gold)


def _words(text: str) -> str:
    """Spacing, case, and marks around the answer do not count."""
    return " ".join(text.split()).strip(" .,;:!*_`\"'()").casefold()


def _normal(text: str) -> str:
    squeezed = "".join(text.split())
    for command in ("\\left", "\\right", "\\!", "\\,", "$"):
        squeezed = squeezed.replace(command, "")
    return squeezed.replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac").rstrip(".")


def _equivalent(pred: str, gold: str) -> bool:
    """Whether math-verify finds both equal. False for long answers, which are none."""
    if max(len(pred), len(gold)) > _LONGEST:
        return False
    from engine.tasks.equivalence import equivalent

    return equivalent(gold, pred)
