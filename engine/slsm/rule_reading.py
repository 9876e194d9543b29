"""What a sentence of a conversation says, by rules of English: instructions, facts, lists and their edits.

Each reading is the canonical sentence that goes into the state, and the quote it rests on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from engine.slsm.checks import Check, parse_check


@dataclass(frozen=True)
class Reading:
    """`kind`: the state's list. `subject`: what two readings of the same replace each other in ("user's dog");
    `value`: what is said of it."""

    kind: str
    text: str
    quote: str
    subject: str
    value: str = ""


def sentences(text: str) -> list[str]:
    """The sentences of a message, with what ends them."""
    return [part.strip() for part in re.split(r"(?<=[.!?])\s+|\n+", text) if part.strip()]


def read_user(sentence: str) -> Iterator[Reading]:
    """What the user says in one sentence. Questions say nothing."""
    if sentence.endswith("?"):
        return
    body = sentence.rstrip(".!").strip()
    check = parse_check(body)
    if check is not None and _standing(body):
        yield Reading("constraints", canonical(check, body), sentence, check.family, check.value)
        return
    if check is None and _INSTRUCTION.search(body):
        yield Reading(
            "constraints", _upper_first(_opening_off(body)), sentence, f"instruction {body.casefold()}"
        )
        return
    if found := _LIST.search(body):
        items = [part.strip() for part in re.split(r",|\band\b", found["items"]) if part.strip()]
        yield Reading("edits", list_text(items), sentence, "list", ", ".join(items))
        return
    if found := _SUPPOSED.search(body):
        yield Reading(
            "assumptions", _upper_first(found["what"]), sentence, f"assumption {found['what'].casefold()}"
        )
        return
    yield from _facts(body, sentence, "user")


def read_assistant(sentence: str) -> Iterator[Reading]:
    """What the assistant commits itself to in one sentence: what something is called, picked or agreed to be."""
    if sentence.endswith("?"):
        return
    body = sentence.rstrip(".!").strip()
    if found := _OURS.search(body):
        thing, value = found["thing"].casefold(), found["value"]
        yield Reading("facts", f"Our {thing} is called {value}", sentence, f"our {thing}", value)
    elif found := _PICKED.search(body):
        thing, value = found["thing"].casefold(), found["value"]
        yield Reading("facts", f"The {thing} is {value}", sentence, f"the {thing}", value)


def read_edit(sentence: str, items: list[str]) -> tuple[list[str], str] | None:
    """(the list after it, what was done) if the sentence edits `items`."""
    body = sentence.rstrip(".!").strip()
    for pattern in _REPLACE:
        if found := pattern.search(body):
            old, new = found["old"].strip(), found["new"].strip()
            if old in items:
                return [new if item == old else item for item in items], f"{old} became {new}"
    if (found := _REMOVE.search(body)) and found["old"].strip() in items:
        return [item for item in items if item != found["old"].strip()], f"{found['old'].strip()} removed"
    if (found := _ADD.search(body)) and found["new"].strip() not in items:
        return [*items, found["new"].strip()], f"{found['new'].strip()} added"
    return None


def read_revocation(sentence: str) -> str | None:
    """What no longer holds, in the user's words."""
    found = _REVOKED.search(sentence.rstrip(".!"))
    return found["what"].strip().casefold() if found else None


def list_text(items: list[str]) -> str:
    """A list as the state keeps it."""
    return f"The list is {', '.join(items)}"


def list_items(text: str) -> list[str]:
    """The items of what `list_text` wrote."""
    return text.removeprefix("The list is ").split(", ")


def canonical(check: Check, body: str) -> str:
    """An instruction in few words; as it was said where it has no shorter form."""
    match check.family, check.value:
        case "end", word:
            return f"End every answer with the word {word}"
        case "begin", word:
            return f"Begin every answer with the word {word}"
        case "case", "upper":
            return "Write in capital letters"
        case "case", "lower":
            return "Write in lowercase"
    word = re.sub(r"^word ", "", check.family)
    if word != check.family:
        said = re.search(re.escape(word), body, re.I)
        return f"{'Never' if check.value == 'avoid' else 'Always'} use the word {said[0] if said else word}"
    return _upper_first(_opening_off(body))


def asked_about(message: str) -> list[str]:
    """Subjects a message asks for: `user's dog` for “my dog”, `our boat`, `list`."""
    found = [
        f"user's {thing.casefold()}" if whose.casefold() == "my" else f"our {thing.casefold()}"
        for whose, thing in re.findall(r"\b(my|our) ([a-z]+)", message, re.I)
    ]
    found += [
        f"user's {thing.casefold()}"
        for thing in re.findall(r"\b(?:which|what) ([a-z]+) is mine\b", message, re.I)
    ]
    named = [subject for subject in found if not subject.endswith((" list", " name"))]
    if re.search(r"\b(?:list|items)\b", message, re.I):
        named.append("list")
    if re.search(r"\bmy name\b|\bwho am i\b", message, re.I):
        named.append("user's name")
    return list(dict.fromkeys(named))


def is_request(message: str) -> bool:
    """Whether a message asks for something to be told."""
    return bool(
        message.rstrip().endswith("?")
        or re.match(r"(?:please |can you |could you )*(?:tell|say|show|remind|repeat|read|give|what|which|who|name)\b",
                    message.strip(), re.I)
    )  # fmt: skip


# ---------------------------------------------------------------- what they look like

_WHOSE = r"(?P<thing>[a-z]+(?: [a-z]+)?)"
_VALUE = r"(?P<value>[^,;]+?)"
_NAME = re.compile(rf"\bthe name of my {_WHOSE} is {_VALUE}$", re.I)
_NUMBERED = re.compile(r"\bmy (?P<thing>[a-z]+) (?:is )?number (?:is )?(?P<value>\d+)$", re.I)
_GIVEN = re.compile(
    r"\b(?:I have|They gave me|I am in|I was given) (?P<thing>[a-z]+)(?: number)? (?P<value>\d+)$", re.I
)
_MINE = re.compile(rf"\bmy {_WHOSE} (?:is called|has the name|is named|is|are) {_VALUE}$", re.I)
_ABOUT_ME = re.compile(
    r"^(?:also,? |and |by the way,? |well,? )*(?:I am|I'm|I live|I work|I was born|I have|I've|I own|I like|I love|"
    r"I prefer|I hate|I dislike|I can't|I cannot|I don't|I do not|I never|I always|I need|I want|Call me)\b.+", re.I,
)  # fmt: skip
_OURS = re.compile(
    r"\bour (?P<thing>[a-z]+) (?:is|will be|shall be) (?:called|named) (?P<value>[^,;.]+)$", re.I
)
_PICKED = re.compile(
    r"\b(?:I (?:pick|picked|choose|chose|suggest|recommend|set)|let's (?:pick|use|go with)) (?P<value>[^,;.]+?) "
    r"(?:for|as) (?:the|our|your) (?P<thing>[a-z]+)$", re.I,
)  # fmt: skip
_LIST = re.compile(r"\blist(?: is| has)?:? (?P<items>(?!to\b)[^.:]+,[^.:]+)$", re.I)
_REPLACE = tuple(re.compile(pattern, re.I) for pattern in (
    r"\b(?:replace|swap|exchange) (?P<old>.+?) (?:with|for|by) (?P<new>.+)$",
    r"\bchange (?P<old>.+?) (?:to|into) (?P<new>.+)$",
    r"\binstead of (?P<old>.+?),? put (?P<new>.+)$", r"\bput in place of (?P<old>.+?) now (?P<new>.+)$",
    r"\btake (?P<old>.+?) out and put (?P<new>.+) in$",
))  # fmt: skip
_REMOVE = re.compile(r"\b(?:remove|delete|drop|take) (?P<old>.+?)(?: (?:off|from) the list)?$", re.I)
_ADD = re.compile(r"\b(?:add|put) (?P<new>.+?)(?: (?:on|to|onto) the list)?$", re.I)
_REVOKED = re.compile(
    r"\b(?:you (?:can|may) stop|no need to|you (?:no longer|don't) (?:need|have) to|forget about|ignore|"
    r"never mind) (?P<what>.+)$", re.I,
)  # fmt: skip
_SUPPOSED = re.compile(
    r"^(?:let us |let's )?(?:assume|suppose|say) (?:that )?(?P<what>(?:we|I|the|my|it|there)\b.+)$", re.I
)
_INSTRUCTION = re.compile(
    r"^(?:please |from now on,? |for this chat,? )*(?:always|never|don't ever|do not ever|make sure|remember to|"
    r"be sure to)\b", re.I,
)  # fmt: skip
_LASTING = re.compile(
    r"\b(?:from now on|for this (?:chat|conversation)|always|never|every|each|all|any|do not|don't|avoid|keep|only|"
    r"throughout|answers?|replies|responses|reply|respond|write)\b", re.I,
)  # fmt: skip
_OPENING = re.compile(
    r"^(?:(?:also|and|oh|well|please|from now on|for this (?:chat|conversation)|by the way),? )+", re.I
)


def _standing(body: str) -> bool:
    return bool(_LASTING.search(body))


def _facts(body: str, sentence: str, whose: str) -> Iterator[Reading]:
    for pattern in (_NAME, _NUMBERED, _GIVEN, _MINE):
        if found := pattern.search(body):
            thing, value = found["thing"].casefold(), found["value"].strip()
            yield Reading("facts", f"The {whose}'s {thing} is {value}", sentence, f"{whose}'s {thing}", value)
            return
    if _ABOUT_ME.search(body):
        yield Reading("facts", _third_person(_opening_off(body)), sentence, f"about {body.casefold()}")


def _third_person(body: str) -> str:
    for first, third in ((r"^I am|^I'm", "The user is"), (r"^I have|^I've", "The user has"),
                         (r"^I (?:don't|do not)", "The user does not"), (r"^I (?:can't|cannot)", "The user cannot"),
                         (r"^Call me", "The user wants to be called")):  # fmt: skip
        if re.match(first, body, re.I):
            return re.sub(first, third, body, count=1, flags=re.I)
    found = re.match(r"^I (never |always )?(was|\w+)", body, re.I)
    if found is None:
        return body
    verb = found[2] if found[2].casefold() == "was" else f"{found[2]}s"
    return f"The user {found[1] or ''}{verb}{body[found.end() :]}"


def _opening_off(body: str) -> str:
    return _OPENING.sub("", body) or body


def _upper_first(text: str) -> str:
    return text[0].upper() + text[1:]
