"""Reads instructions, facts, lists and their edits from English sentences, by rules.

Each reading is the canonical sentence for the state, and its quote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from engine.slsm.checks.checks import Check, parse_check


@dataclass(frozen=True)
class Reading:
    """A sentence for the list `kind` of the state, and the user's or assistant's words that it comes from."""

    kind: str
    text: str
    quote: str


def sentences(text: str) -> list[str]:
    """The sentences of a message, with their punctuation, except those too long for any rule. What stands between
    quotation marks of one line is not divided."""
    stripped = (sentence.strip() for line in text.split("\n") for sentence in _sentences_of_line(line))
    return [sentence for sentence in stripped if 0 < len(sentence) <= _LONGEST]


def _sentences_of_line(line: str) -> Iterator[str]:
    parts = re.split(r"(?<=[.!?])(\s+)", line)
    closes = line.count('"') % 2 == 0
    held: list[str] = []
    quoted = False
    for part, space in zip(parts[::2], [*parts[1::2], ""], strict=True):
        quoted ^= part.count('"') % 2 == 1
        held.append(part)
        if quoted and closes:
            held.append(space)
        else:
            yield "".join(held)
            held = []


def read_user(sentence: str) -> Iterator[Reading]:
    """Readings of a sentence of the user; none of a question."""
    if sentence.endswith("?"):
        return
    body = sentence.rstrip(".!").strip()
    check = parse_check(body)
    if check is not None and _standing(body):
        yield Reading("constraints", canonical(check, body), sentence)
        return
    if check is None and _INSTRUCTION.search(body) and not _NO_INSTRUCTION.search(body):
        yield Reading("constraints", _upper_first(_without_opening(body)), sentence)
        return
    if match := _LIST.search(body):
        items = [item.strip() for item in re.split(r",|\band\b", match["items"]) if item.strip()]
        yield Reading("edits", list_text(items), sentence)
        return
    for clause in re.split(r",? (?:and|but) (?=I |I'm |I've |my )|, so ", body):
        yield from _facts(clause, sentence)


def read_assistant(sentence: str) -> Iterator[Reading]:
    """The assistant's commitment in a sentence: a name that it agrees to."""
    if sentence.endswith("?"):
        return
    body = sentence.rstrip(".!").strip()
    if match := _OURS.search(body):
        yield _called(match["thing"].casefold(), match["value"], sentence)


def read_edit(sentence: str, items: list[str]) -> list[str] | None:
    """The new list if the sentence edits `items`, else None."""
    body = sentence.rstrip(".!").strip()
    for pattern in _REPLACE:
        if match := pattern.search(body):
            old, new = match["old"].strip(), match["new"].strip()
            if old in items:
                return [new if item == old else item for item in items]
    if (match := _REMOVE.search(body)) and match["old"].strip() in items:
        return [item for item in items if item != match["old"].strip()]
    if (match := _ADD.search(body)) and match["new"].strip() not in items:
        return [*items, match["new"].strip()]
    return None


def read_revocation(sentence: str) -> str | None:
    """The instruction that a sentence revokes, in the user's words, or None."""
    body = sentence.rstrip(".!")
    match = _AGAIN.search(body) or _REVOKED.search(body)
    return match["what"].strip().casefold() if match else None


def list_text(items: list[str]) -> str:
    """A list as a sentence of the state."""
    return f"The list is {', '.join(items)}"


def list_items(text: str) -> list[str]:
    """The items of a sentence that `list_text` wrote."""
    return text.removeprefix("The list is ").split(", ")


def canonical(check: Check, body: str) -> str:
    """An instruction in few words, or in the user's words where it has no shorter form."""
    match check.family, check.value:
        case "end", word:
            return f"End every answer with {_quoted(word)}"
        case "begin", word:
            return f"Begin every answer with {_quoted(word)}"
        case "case", "upper":
            return "Write in capital letters"
        case "case", "lower":
            return "Write in lowercase"
    word = re.sub(r"^word ", "", check.family)
    if word != check.family:
        spelled = re.search(re.escape(word), body, re.I)
        return f"{'Never' if check.value == 'avoid' else 'Always'} use the word {spelled[0] if spelled else word}"
    return _upper_first(_without_opening(body))


def _quoted(words: str) -> str:
    """One word as `the word maple`; anything else in quotation marks."""
    return f"the word {words}" if re.fullmatch(r"[\w'-]+", words) else f'"{words}"'


def mentioned_subjects(message: str) -> list[str]:
    """Subjects that a message mentions: `user's dog` for “my dog”, `our boat`, `list`."""
    subjects = [
        _owned(whose, thing)
        for whose, noun, more in re.findall(r"\b(my|our) ([a-z]+(?:'s [a-z]+)?)(?: ([a-z]+))?", message, re.I)
        for thing in ([noun, f"{noun} {more}"] if more else [noun])
    ]
    subjects += [
        _owned("my", thing) for thing in re.findall(r"\b(?:which|what) ([a-z]+) is mine\b", message, re.I)
    ]
    if re.search(r"\b(?:my|our|the) (?:[a-z]+ )?(?:list|items)\b", message, re.I):
        subjects.append("list")
    if re.search(r"\bwho am i\b", message, re.I):
        subjects.append("user's name")
    return list(dict.fromkeys(subjects))


def requested_subjects(message: str) -> list[str]:
    """Subjects whose value a message asks for: “What is my dog called?”, not “What does my dog eat?”."""
    mentioned = mentioned_subjects(message)
    subjects = [s for s in ("list", "user's name") if s in mentioned and is_request(message)]
    requests = [match for sentence in sentences(message) if (match := _BACK.search(sentence))]
    subjects += [_owned(match["whose"], match["thing"]) for match in requests]
    if match := re.search(r"\b(?:which|what) (?P<thing>[a-z]+) is mine\b", message, re.I):
        subjects.append(_owned("my", match["thing"]))
    return list(dict.fromkeys(subject for subject in subjects if not subject.endswith(" list")))


def _owned(whose: str, thing: str) -> str:
    return f"{'user' + chr(39) + 's' if whose.casefold() == 'my' else 'our'} {thing.casefold()}"


def is_request(message: str) -> bool:
    """Whether a message asks for information."""
    return any(_REQUEST.search(sentence) for sentence in sentences(message))


# ---------------------------------------------------------------- patterns

_LONGEST = 400
"""Characters of the longest sentence that the rules read."""
_WHOSE = (
    r"(?P<thing>(?!(?:point|question|guess|bad|problem|idea|turn|fault|mistake|hope|concern|request)\b)"
    r"[a-z]+(?:'s)?(?: [a-z]+)?)"
)
_VALUE = r"(?P<value>[^,;]+?)(?:,? (?:now|again|though|too|as well|by the way|actually))*"
_NAME = re.compile(rf"\bthe name of my {_WHOSE} is {_VALUE}$", re.I)
_NUMBERED = re.compile(r"\bmy (?P<thing>[a-z]+) (?:is )?number (?:is )?(?P<value>\d+)$", re.I)
_GIVEN = re.compile(
    r"\b(?:I have|They gave me|I am in|I was given) (?P<thing>[a-z]+)(?: number)? (?P<value>\d+)$", re.I
)
_OF_NAME = re.compile(rf"\bmy (?P<thing>[a-z]+)'s name is {_VALUE}$", re.I)
_MINE = re.compile(
    rf"\bmy {_WHOSE} (?:is called|has the name|is named|is now|is|are) (?:at |on )?{_VALUE}$", re.I
)
_SHARED = re.compile(rf"^our {_WHOSE} (?:is now|is|are) {_VALUE}$", re.I)
_ABOUT_ME = re.compile(
    r"^(?:I am|I'm|I live|I work|I was born|I have|I've|I own|I like|I love|I prefer|I hate|I dislike|I can't|I cannot|"
    r"I don't|I do not|I never|I always|I need|I want|We are|We have|Call me)\b.+", re.I,
)  # fmt: skip
_PASSING = re.compile(
    r"^(?:(?:I am|I'm|We are) (?:not )?(?:so |very |really |just |still |quite )*(?:sure|sorry|fine|good|great|ok|okay|"
    r"glad|happy|curious|confused|back|here|done|ready|afraid|wondering|asking|talking|thinking|trying|saying|interested|right|"
    r"wrong|impressed|all)\b"
    r"|I (?:like|love|hate|prefer|need|want) (?:it|that|this|them|these|those|you|your|how|what|to|help|more|some|"
    r"another|one|an?|the|advice)\b"
    r"|(?:I have|I've|We have) (?:(?:an?|another|one|some|no) (?:more |last |quick |other )?(?:questions?|ideas?|"
    r"problems?|requests?|favor|feeling)|to|been|heard|read|got to|never|no)\b"
    r"|I (?:don't|do not|can't|cannot) (?:know|understand|think|believe|see|remember|get|mind|care|agree|want to|tell|"
    r"say|wait|find|need|really know|quite)\b"
    r"|I (?:never|always) (?:said|told|meant|asked|knew|thought|wanted|[a-z]+ed)\b)", re.I,
)  # fmt: skip
_OURS = re.compile(
    r"\bour (?P<thing>[a-z]+) (?:is|will be|shall be) (?:called|named) (?P<value>[^,;.]+)$", re.I
)
_LIST = re.compile(r"\blist(?: is| has)?:? (?P<items>(?!to\b)[^.:]+,[^.:]+)$", re.I)
_REPLACE = tuple(re.compile(pattern, re.I) for pattern in (
    r"\b(?:replace|swap|exchange) (?P<old>.+?) (?:with|for|by) (?P<new>.+)$",
    r"\bchange (?P<old>.+?) (?:to|into) (?P<new>.+)$",
    r"\binstead of (?P<old>.+?),? put (?P<new>.+)$", r"\bput in place of (?P<old>.+?) now (?P<new>.+)$",
    r"\btake (?P<old>.+?) out and put (?P<new>.+) in$",
))  # fmt: skip
_REMOVE = re.compile(r"\b(?:remove|delete|drop|take) (?P<old>.+?)(?: (?:off|from) the list)?$", re.I)
_ADD = re.compile(r"\b(?:add|put) (?P<new>.+?)(?: (?:on|to|onto) the list)?$", re.I)
_AGAIN = re.compile(r"\byou (?:can|may) (?:now )?(?P<what>.+?) again$", re.I)
_REVOKED = re.compile(
    r"\b(?:you (?:can|may) stop|no need to|you (?:no longer|don't) (?:need|have) to|forget about|ignore|"
    r"never mind) (?P<what>.+)$", re.I,
)  # fmt: skip
_INSTRUCTION = re.compile(
    r"^(?:please |from now on,? |for this chat,? )*(?:always|never|don't|do not|avoid|stop|make sure|remember to|be "
    r"sure to)\b|\b(?:in|for|with|to|at the end of) (?:every|each|all|any) (?:of |your |the )*"
    r"(?:answers?|repl(?:y|ies)|responses?|messages?)\b", re.I,
)  # fmt: skip
_NO_INSTRUCTION = re.compile(
    r"^(?:never mind$|always a |(?:do not|don't) (?:worry|bother|mind|you|get me wrong|be sorry)\b)", re.I
)
_LASTING = re.compile(
    r"\b(?:from now on|for (?:this|the rest of (?:this|the|our)) (?:chat|conversation)|always|never|every|each|all|any|"
    r"do not|don't|no|avoid|throughout|answers|replies|responses)\b", re.I,
)  # fmt: skip
_ANSWERING = re.compile(r"\b(?:answer|reply|respond|write|speak|talk|only|keep|use)\b", re.I)
_ONCE = re.compile(
    r"\b(?:(?:write|make|draft|answer|compose|keep|use) (?:me |us |down )?(?:an?|the|one|some|two|three|this|that|it)"
    r"|this time|once|just now)\b(?! (?:bullet|numbered|single|list))", re.I,
)  # fmt: skip
_OPENING = re.compile(
    r"^(?:(?:also|and|oh|well|please|actually|from now on|for this (?:chat|conversation)|by the way|as you know|"
    r"just so you know|remember(?! to\b)(?: that)?|note that|keep in mind that|you should know(?: that)?|"
    r"I should say that|for the rest of (?:this|the|our) (?:chat|conversation)|I(?:'d| would) like you to|"
    r"I want you to),? )+",
    re.I,
)
_REQUEST = re.compile(
    r"\?$|^(?:please |can you |could you )*(?:tell|say|show|remind|repeat|read|give|what|which|who|name)\b",
    re.I,
)
_BACK = re.compile(
    r"\b(?:(?:what|who|which|where|when)(?: is|'s| are| was| were)|(?:tell|remind|give|show|read|repeat|say)(?: to)?"
    r"(?: me)?(?: again)?(?: of| about)?(?: what| who| where| when)?|(?:know|remember|recall)(?: what| who| where|"
    r" when)?|what did (?:I (?:say|tell you|call)(?: that)?|(?:we|you) (?:name|call))|how did (?:we|you) (?:name|call)|"
    r"which name did)(?: the name of)? (?P<whose>my|our) (?P<thing>[a-z]+(?:'s)?(?: (?!to\b)[a-z]+){0,2}?)"
    r"(?: is| are| was| get)?(?: to me| called| named| again| now| please)*[ .?!]*$",
    re.I,
)


def _standing(body: str) -> bool:
    """Whether an instruction holds for more than the next answer."""
    return bool(_LASTING.search(body) or (_ANSWERING.search(body) and not _ONCE.search(body)))


def _facts(clause: str, sentence: str) -> Iterator[Reading]:
    for pattern in (_NAME, _NUMBERED, _GIVEN, _OF_NAME, _MINE):
        if match := pattern.search(clause):
            yield Reading("facts", f"The user's {match['thing']} is {match['value'].strip()}", sentence)
            return
    body = _without_opening(clause)
    if match := _OURS.search(body):
        yield _called(match["thing"], match["value"], sentence)
    elif match := _SHARED.search(body):
        yield Reading("facts", f"Our {match['thing']} is {match['value']}", sentence)
    elif _ABOUT_ME.search(body) and not _PASSING.search(body):
        yield Reading("facts", _third_person(body), sentence)


def _called(thing: str, value: str, sentence: str) -> Reading:
    return Reading("facts", f"Our {thing} is called {value}", sentence)


def _third_person(body: str) -> str:
    body = re.sub(r"\bmy\b", "their", re.sub(r",? from now on$", "", body), flags=re.I)
    for first, third in ((r"^I am|^I'm", "The user is"), (r"^I have|^I've", "The user has"),
                         (r"^We are", "The user and others are"), (r"^We have", "The user and others have"),
                         (r"^I (?:don't|do not)", "The user does not"), (r"^I (?:can't|cannot)", "The user cannot"),
                         (r"^Call me", "The user wants to be called")):  # fmt: skip
        if re.match(first, body, re.I):
            return re.sub(first, third, body, count=1, flags=re.I)
    match = re.match(r"^I (never |always )?(\w+)", body, re.I)
    if match is None:
        return body
    return f"The user {match[1] or ''}{_with_s(match[2])}{body[match.end() :]}"


def _with_s(verb: str) -> str:
    if verb.casefold() == "was":
        return verb
    if re.search(r"[^aeiou]y$", verb):
        return f"{verb[:-1]}ies"
    return f"{verb}es" if re.search(r"(?:s|x|z|ch|sh|o)$", verb) else f"{verb}s"


def _without_opening(body: str) -> str:
    return _OPENING.sub("", body) or body


def _upper_first(text: str) -> str:
    return text[0].upper() + text[1:]
