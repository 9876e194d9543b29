"""Whether an answer declines to answer: it says that it cannot tell, or that the text does not say."""

from __future__ import annotations

import re

from engine.evolution.judges.sentences import conclusion, sentences

_ABLE = (
    r"(?:can(?:no|['’]?)t|could ?n[o'’]t|unable to|not able to|not possible to|impossible to|difficult to)"
)
_DO = r"(?:answer|provide|determine|tell|say|find|calculate|compute|confirm|assess|identify|give|state|conclude|see)"
_SOURCE = r"(?:information|context|evidence|text|document|filing|excerpts?|report|data|passage|statements?|details?)"
_REFUSALS = re.compile(
    "|".join(
        [
            rf"\b{_ABLE} (?:\w+ ){{0,2}}(?:be )?{_DO}",
            r"\bi(?: a|['’])m sorry|\bi apologi[sz]e|\bas an ai\b",
            r"\bi (?:do not|don['’]t) (?:\w+ )?(?:have|know|see)\b",
            rf"\b{_SOURCE}\b.{{0,80}}?\b(?:does|do|did) (?:not|n['’]t) (?:\w+ )?"
            r"(?:provide|contain|include|mention|specify|state|give|disclose|detail|list|offer|have|indicate)",
            rf"\b{_SOURCE}\b.{{0,80}}?\bdoesn['’]t (?:\w+ )?(?:provide|contain|include|mention|specify|state|give)",
            rf"\bno (?:\w+ ){{0,3}}(?:{_SOURCE}|mention|reference)\b",
            r"\b(?:is|are|was|were) not (?:\w+ ){0,2}(?:stated|provided|mentioned|specified|given|disclosed|available"
            r"|included|detailed|listed|reported|found)",
            rf"\b(?:without|insufficient|not (?:have )?enough|lacks?) (?:\w+ ){{0,4}}{_SOURCE}",
            rf"\bwould need\b|\bneed (?:\w+ ){{0,3}}(?:access|{_SOURCE})|\bhave(?:n['’]t| not) provided\b",
            r"^hello\b|^how (?:may|can) i help",
        ]
    ),
    re.IGNORECASE,
)


def refuses(answer: str) -> bool:
    """Whether what the answer comes to is that it does not know.

    A sentence that concludes decides; without one, a first sentence that refuses, or two that do: a single caveat
    at the end does not make a refusal.
    """
    parts = sentences(answer)
    if not parts:
        return True
    ends = conclusion(parts)
    if ends:
        return _refusal(ends[0])
    return _refusal(parts[0]) or sum(map(_refusal, parts)) > 1


def _refusal(sentence: str) -> bool:
    return _REFUSALS.search(sentence) is not None
