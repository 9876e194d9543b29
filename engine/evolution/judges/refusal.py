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
    rf"\b{_ABLE} (?:\w+ ){{0,2}}(?:be )?{_DO}"
    r"|\bi (?:do not|don['’]t) (?:\w+ )?(?:have|know|see)\b"
    rf"|\bno (?:\w+ ){{0,3}}{_SOURCE}\b"
    rf"|\b{_SOURCE}\b.{{0,80}}?\b(?:do|does|did)(?: not|n['’]t) (?:\w+ )?"
    r"(?:provide|contain|include|mention|specify|state|give|disclose|detail|list|offer|have|indicate)",
    re.IGNORECASE,
)


def refuses(answer: str) -> bool:
    """Whether what the answer comes to is that it does not know, by the sentence that concludes, else by the first: a
    caveat at the end does not make a refusal."""
    parts = sentences(answer)
    deciding = conclusion(parts) or parts
    return not deciding or _REFUSALS.search(deciding[0]) is not None
