"""Extract the predicted answer from a text (spec ESM 7.1); "" where there is none."""

from __future__ import annotations

import re

_MARKED = re.compile(r"####\s*(-?\s*\\?\$?\s*-?[\d,]*\.?\d+)")
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_BOX = re.compile(r"\\(?:boxed|fbox)(?:\s*\{|\s+([^\s{}$\\.,]+))")
_LETTER = re.compile(r"\b([A-E])\b")
# A small letter only in brackets: "the answer is a magnet" names no choice.
_NAMED = re.compile(r"(?i:answer(?:\s+is)?)[\s:*_`]*(?:\(([A-Ea-e])\)|([A-E])\b)")


def extract_pred(dataset: str, text: str) -> str:
    """The predicted answer. `generated`, `gsm8k`: the last `#### n`, for gsm8k else the last number; `math500`,
    `aime`: the last balanced box; `arc-c`: the last letter after the word "answer", else the last letter."""
    if dataset in ("math500", "aime"):
        return last_box(text)
    if dataset == "arc-c":
        letters = [match[1] or match[2] for match in _NAMED.finditer(text)] or _LETTER.findall(text)
        return letters[-1].upper() if letters else ""
    marked = _MARKED.findall(text) or (_NUMBER.findall(text) if dataset == "gsm8k" else [])
    return plain_number(marked[-1]) if marked else ""


def plain_number(text: str) -> str:
    """The number without currency, thousands separators and trailing zeros, with a digit before the point."""
    digits = re.sub(r"[\s,$\\]", "", text)
    digits = re.sub(r"^(-?)\.", r"\g<1>0.", digits)
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def last_box(text: str) -> str:
    r"""Content of the last \boxed{...} or \fbox{...} whose braces balance; of `\boxed 9`, as TeX reads it, the 9."""
    for match in reversed(list(_BOX.finditer(text))):
        if match[1]:
            return match[1]
        depth = 1
        for position in range(match.end(), len(text)):
            depth += {"{": 1, "}": -1}.get(text[position], 0)
            if depth == 0:
                return text[match.end() : position].strip()
    return ""
