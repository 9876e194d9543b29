"""Reads exact checks of answers from instructions in English."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from engine.slsm.checks import measures
from engine.slsm.checks.measures import size_of


@dataclass(frozen=True)
class Check:
    """A check of an answer. `family` (end, case, language, ...): two checks of one family exclude each other; `holds`:
    whether an answer keeps it; `fault`, `opposite`: what an answer does that breaks it, or keeps it; `holds_opposite`:
    whether an answer keeps the opposite, None where that is `not holds`."""

    family: str
    value: str
    holds: Callable[[str], bool]
    fault: str
    opposite: str = ""
    holds_opposite: Callable[[str], bool] | None = None


@lru_cache(maxsize=4096)
def parse_check(text: str) -> Check | None:
    """The check of an instruction in English; None if it has no exact check, or is a question, a statement or too
    long."""
    if len(text) > _LONGEST:
        return None
    body = _OPENING.sub("", " ".join(text.strip().rstrip(".!").replace("’", "'").split()))
    if body.endswith("?") or _RELEASES.search(body) or (_TELLS.match(body) and not _WISHES.match(body)):
        return None
    body = _FORGET.sub("", body)
    for pattern, make in _PATTERNS:
        match = pattern.search(body)
        if match is None or (check := make(match)) is None:
            continue
        before = re.split(r"[,;:]|\bbut\b", body[: match.start("what")])[-1]
        return _opposite(check) if _NEGATION.search(before) else check
    return None


def _opposite(check: Check) -> Check:
    """The check that forbids what `check` demands. Each is a family of its own, as any number of things can be
    forbidden at once; a word is used or avoided."""
    holds, holds_opposite = check.holds, check.holds_opposite
    family = check.family if check.value == "use" else _forbidding(check)
    value = "avoid" if check.value == "use" else f"not {check.value}"
    forbids = holds_opposite or (lambda answer: not holds(answer))
    return Check(
        family, value, forbids, check.opposite, check.fault, holds_opposite=holds if holds_opposite else None
    )


def exclude(first: Check, second: Check) -> bool:
    """Whether two checks exclude each other: they are of one family, or one forbids what the other demands."""
    return first.family in (second.family, _forbidding(second)) or second.family == _forbidding(first)


def _forbidding(check: Check) -> str:
    return f"not {check.family} {check.value}"


# ---------------------------------------------------------------- texts that are no instruction

_LONGEST = 300
"""Characters of the longest instruction."""
_OPENING = re.compile(r"^(?:(?:(?:and|also|but|so|oh|ok|okay|well|by the way),?|yes,|no,) )+", re.I)
_TELLS = re.compile(r"(?:I|we|he|she|they|it|my|our|his|her|their|there|someone|somebody)\b", re.I)
_WISHES = re.compile(
    r"(?:I|I'd|we|we'd) (?:[a-z]+ )?(?:want|need|like|prefer|expect|ask|asked|told|said)\b.*"
    r"\b(?:you|your|every|all|answers?|repl(?:y|ies)|responses?)\b", re.I,
)  # fmt: skip
_RELEASES = re.compile(
    r"\b(?:no need to|(?:no longer|not|don't) (?:need|have) to|(?:can|may) stop|not necessarily)\b", re.I
)
_FORGET = re.compile(r"\b(?:never|don't|do not) (?:forget|fail|hesitate) to ", re.I)
_NEGATION = re.compile(
    r"\b(?:never|not|don't|doesn't|mustn't|shouldn't|won't|cannot|can't|no|avoid|without|stop|refrain)\b",
    re.I,
)

# ---------------------------------------------------------------- words

_QUOTED = r"(?:\"[^\"]+\"|“[^”]+”|‘[^']+'|\*+[^*]+\*+|'(?:[^']|'(?=\w))+')"
_STOPS = (
    r"(?=,? (?:in|from|at|for|to|when|if|as|again|ever|anymore|any more|please|always|during|unless|because)\b"
    r"|[,;]|$)"
)
_NAMED = re.compile(
    r"(?:the |this |these |any of the )?(?:following )?"
    r"(?P<kind>word|keyword|phrase|sentence|term|expression|text)s?:? ",
    re.I,
)
_MARKS = {"question": "?", "question mark": "?", "exclamation mark": "!", "exclamation point": "!",
          "period": ".", "full stop": "."}  # fmt: skip
_UNQUOTED_KIND = re.compile(r"(?:an?|the|your|my|our|some|any|no|this|that|what|how|one|two|three)\b", re.I)


def _words_in(rest: str) -> list[str]:
    """The words or phrases that an instruction names, quoted or not."""
    named = _NAMED.match(rest)
    rest = rest[named.end() :] if named else rest
    if quoted := re.match(rf"{_QUOTED}(?:(?:,| and| or|, and|, or) {_QUOTED})*", rest):
        return [word.strip("\"“”‘’'* ") for word in re.findall(_QUOTED, quoted[0])]
    if named and named["kind"].casefold() in ("word", "keyword", "term"):
        listed = re.match(r"[\w'-]+(?:(?:, (?:and |or )?| and | or )[\w'-]+)*", rest)
        single = re.match(r"[\w'-]+|\S+", rest)
        plural = named[0].rstrip(": ").endswith("s")
        match = listed if plural else single
        return re.split(r", (?:and |or )?| and | or ", match[0]) if match else []
    bare = re.match(rf"(.+?){_STOPS}", rest)
    return [bare[1]] if bare and (named or not _UNQUOTED_KIND.match(rest)) else []


def _edge(family: str, verb: str) -> Callable[[re.Match[str]], Check | None]:
    """Makes checks of an answer's edge. `family`: end or begin."""

    def make(match: re.Match[str]) -> Check | None:
        mark = re.match(rf"an? ([a-z ]+?){_STOPS}", match["rest"], re.I)
        words = _words_in(match["rest"])
        if mark and family == "end" and mark[1].casefold() in _MARKS:
            words = [_MARKS[mark[1].casefold()]]
        if len(words) != 1 or re.search(r"^\S* or\b", match["rest"].removeprefix(words[0])):
            return None
        word = words[0]
        at = measures.ends_with if family == "end" else measures.begins_with
        return Check(
            family, word, lambda answer: at(answer, word), f"does not {verb} with “{word}”",
            f"{verb}s with “{word}”",
        )  # fmt: skip

    return make


def _mention(match: re.Match[str]) -> Check | None:
    """The check that an answer has all of the named words, or any of those joined by "or" (forbidden: none of them)."""
    words = _words_in(match["rest"])
    if not words:
        return None
    enough = any if re.search(r"\bor\b", re.sub(_QUOTED, "", match["rest"])) else all
    joint = " or " if enough is any else " and "
    family = f"word {words[0].casefold()}" if len(words) == 1 else f"words {', '.join(words).casefold()}"
    return Check(
        family, "use", lambda answer: enough(measures.contains(answer, word) for word in words),
        f"does not say {joint.join(f'“{word}”' for word in words)}",
        f"says {' or '.join(f'“{word}”' for word in words)}",
        holds_opposite=lambda answer: not any(measures.contains(answer, word) for word in words),
    )  # fmt: skip


def _frequency(match: re.Match[str]) -> Check | None:
    """The check of how often an answer has a word."""
    words = _words_in(match["rest"])
    if len(words) != 1:
        return None
    bound, number, word = match["bound"].casefold(), _count(match["number"]), words[0]
    number += _STRICT.get(bound, 0)
    times = "1 time" if number == 1 else f"{number} times"
    if bound in _AT_LEAST:
        return Check(
            f"times {word.casefold()}", f"at least {number}", lambda answer: measures.count(answer, word) >= number,
            f"does not say “{word}” {times}", f"says “{word}” {times}",
        )  # fmt: skip
    return Check(
        f"times {word.casefold()}", f"at most {number}", lambda answer: measures.count(answer, word) <= number,
        f"says “{word}” more than {times}", f"says “{word}” at most {times}",
    )  # fmt: skip


def _taboo(match: re.Match[str]) -> Check | None:
    check = _mention(match)
    return None if check is None else _opposite(check)


# ---------------------------------------------------------------- form


def _form(
    family: str, value: str, holds: Callable[[str], bool], fault: str, opposite: str
) -> Callable[..., Check]:
    return lambda match: Check(family, value, holds, fault, opposite)


_UPPER = _form(
    "case", "upper", lambda answer: answer == answer.upper(), "is not in capital letters only", "is in capital letters"
)  # fmt: skip
_LOWER = _form(
    "case", "lower", lambda answer: answer == answer.lower(), "has capital letters", "has no capital letters"
)


_SIGNS = {
    "exclamation mark": "!", "exclamation point": "!", "question mark": "?", "comma": ",", "semicolon": ";",
    "colon": ":", "em dash": "—", "em-dash": "—", "parenthes": "()", "bracket": "()[]", "digit": "0123456789",
    "asterisk": "*", "hashtag": "#",
}  # fmt: skip


def _sign(match: re.Match[str]) -> Check:
    name = match["what"].casefold()
    signs = next(signs for sign, signs in _SIGNS.items() if name.startswith(sign))
    return Check(
        f"sign {name}",
        name,
        lambda answer: any(sign in answer for sign in signs),
        f"has no {name}",
        f"has {name}",
    )


def _language(match: re.Match[str]) -> Check:
    name = match["language"].title()
    code = measures.LANGUAGES[name.casefold()]
    return Check(
        "language",
        code,
        lambda answer: measures.may_be_in(answer, code),
        f"is not in {name}",
        f"is in {name}",
    )


# ---------------------------------------------------------------- length

_NUMBERS = {
    "a single": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50,
    "sixty": 60, "a hundred": 100, "one hundred": 100, "hundred": 100,
}  # fmt: skip
_NUMBER = rf"\d+|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))}"
_UNIT = (
    r"(?P<unit>word|sentence|paragraph|line|character|bullet point|bullet|item)s?"
    r"(?! (?:from (?!now)|(?:of|on|that|which|you|I)\b))"
)
_AT_LEAST = ("at least", "more than", "over", "minimum", "longer than", "exceed")
_EXACTLY = ("exactly", "in", "with", "use", "only", "just", "be")
_STRICT = {"under": -1, "less than": -1, "fewer than": -1, "below": -1, "shorter than": -1, "more than": 1, "over": 1,
           "longer than": 1, "exceed": 1}  # fmt: skip
_BOUND = "|".join((
    "at least", "more than", "longer than", "shorter than", "at most", "under", "less than", "fewer than", "below",
    "over", "exactly", "exceed", "within", "up to", "maximum", "minimum", "(?:limit|keep|restrict|cap)[^,;]*? to", "in",
    "with", "use", "only", "just", "be",
))  # fmt: skip


def _length(match: re.Match[str]) -> Check:
    bound, after = match["bound"].casefold(), (match["after"] or "").casefold()
    number = _count(match["number"])
    low = high = number + _STRICT.get(bound, 0)
    if match["top"]:
        high = _count(match["top"])
    elif bound in _AT_LEAST or after in ("or more", "minimum"):
        return _range(match["unit"], None, low - 1) if match["not"] else _range(match["unit"], low, None)
    elif bound not in _EXACTLY or after:
        return _range(match["unit"], high + 1, None) if match["not"] else _range(match["unit"], None, high)
    exact = _range(match["unit"], low, high)
    return _opposite(exact) if match["not"] else exact


def _range(unit: str, low: int | None, high: int | None) -> Check:
    unit = unit.casefold()
    if low is not None and low == high:
        expected = f"exactly {low}"
    elif low is not None and high is not None:
        expected = f"{low} to {high}"
    else:
        expected = f"at most {high}" if low is None else f"at least {low}"
    top = float("inf") if high is None else high
    length = f"{expected} {unit}" if expected.endswith(" 1") else f"{expected} {unit}s"
    return Check(
        f"{unit}s", expected, lambda answer: (low or 0) <= size_of(answer, unit) <= top,
        f"has not {length}", f"has {length}",
    )  # fmt: skip


def _count(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBERS[text.casefold()]


# ---------------------------------------------------------------- patterns

_ANSWER = r"(?:answers?|repl(?:y|ies)|responses?|messages?|outputs?|posts?)"
_SAYS = rf"(?:{_ANSWER}|respond|writ(?:e|ing)|type|speak|talk|text|everything|it)"
_END, _BEGIN = r"(?:end|finish|close|conclude|sign off)", r"(?:begin|start|open)"
_WITH = r"(?:with|on|by saying|by writing|using)"
_MUST = r"(?:(?:must|should|have to|has to|need to|needs to|shall|will|always|never|not|ever|all|to) )*"
_USE = r"(?:us(?:e|es|ing)|say(?:s|ing)?|writ(?:e|es|ing)|mention(?:s|ing)?|includ(?:e|es|ing)|contain(?:s|ing)?)"
_LANGUAGES = "|".join(measures.LANGUAGES)
_LANGUAGE = rf"(?P<language>{_LANGUAGES})\b(?! (?:and|or) (?:in )?(?:{_LANGUAGES})\b)"
_IN = rf"(?:\b{_SAYS}\b[^,;]*?\b(?:in|with|using)|\b(?:only|use|using)|^in)(?: only)?"
_NO = r"(?P<what>(?:never|not|don't|avoid|without|stop) (?:use|using)|no|without|avoid)(?: any)?"
_CAPITALS = r"(?P<what>(?:all )?(?:capital letters|capitals|upper ?case|caps))\b"
_EMOJI = _form("emoji", "emoji", measures.has_emoji, "has no emoji", "has an emoji")
_JSON = _form("form", "json", measures.is_json, "is not valid JSON", "is JSON")
_QUOTATION = _form(
    "quotation",
    "double",
    measures.is_quoted,
    "is not in double quotation marks",
    "is in double quotation marks",
)
_TITLE = _form("title", "angular", measures.has_title, "has no <<title>>", "has a <<title>>")
_BULLETS = _form("form", "bullets", measures.has_bullets, "has no bullet points", "has bullet points")
_NUMBERED = _form("form", "numbered", measures.has_numbers, "has no numbered list", "has a numbered list")
_ONE_LINE = _form(
    "form", "one line", lambda answer: "\n" not in answer.strip(), "has more than one line", "is one line"
)


def _edges(verb: str) -> tuple[str, ...]:
    return (
        rf"\b(?P<what>{verb})(?:ing)? (?:every|each|all|any|your|the|an?|both)\b[^\"“',;]*?\b{_ANSWER}\b[^\"“',;]*? ?"
        rf"\b{_WITH} (?P<rest>.+)$",
        rf"\b{_ANSWER} {_MUST}(?P<what>{verb})s? {_WITH} (?P<rest>.+)$",
        rf"\b(?:always|never|must|should|sure to|sure you|do not|don't) (?P<what>{verb}) {_WITH} (?P<rest>.+)$",
    )


_PATTERNS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Check | None]], ...] = tuple(
    (re.compile(pattern, re.I), make)
    for pattern, make in (
        *((pattern, _edge("end", "end")) for pattern in _edges(_END)),
        *((pattern, _edge("begin", "begin")) for pattern in _edges(_BEGIN)),
        (rf"\b(?:{_USE}) (?P<what>)(?P<rest>(?:the )?(?:(?:(?:key)?word |phrase |term )?{_QUOTED}|(?:key)?word "
         rf"[\w'-]+)) (?P<bound>at least|more than|"
         rf"at most|less than|fewer than) (?P<number>{_NUMBER}) times?\b", _frequency),
        (rf"\b(?:put|wrap|enclose)\b[^,;]*?\b{_ANSWER}\b[^,;]*? (?P<what>(?:in|with) double "
         r"(?:quotation marks|quotes))\b", _QUOTATION),
        (rf"\b(?P<what>double (?:quotation marks|quotes)) around\b[^,;]*?\b{_ANSWER}\b", _QUOTATION),
        (r"\b(?P<what>titles?)\b[^,;]*?,?[^,;]*? in double angular brackets\b", _TITLE),
        (rf"\b(?:{_USE}|no|avoid|without|with|add|put) (?:any |an |some )?(?P<what>emojis?)\b", _EMOJI),
        (rf"\b(?:{_USE}|no|avoid|without) (?:any |the )?(?P<what>(?:{'|'.join(_SIGNS)})(?:e?s)?)\b(?! \d)", _sign),
        (rf"\b(?:{_USE}|avoid)(?P<what>) (?P<rest>(?:any of )?(?:(?:the |this |these )(?:word|phrase|term|"
         r"expression)s?|(?:the |this |these )?(?:following )?keywords?)\b.+)$", _mention),
        (rf"\b(?:{_USE}|avoid)(?P<what>) (?P<rest>{_QUOTED}.*)$", _mention),
        (r"^(?P<what>)(?P<rest>(?:the |these )?(?:word|phrase|term)s?\b.+) (?:is|are) "
         r"(?:banned|forbidden|off[- ]limits|not allowed|taboo)$", _taboo),
        (rf"\b{_NO} (?:capital letters|capitals|upper ?case)\b", _LOWER),
        (rf"\b{_NO} (?:lower ?case|small letters)\b", _UPPER),
        (rf"{_IN} {_CAPITALS}", _UPPER),
        (rf"{_IN} (?P<what>(?:all )?(?:lower ?case|small letters))\b", _LOWER),
        (rf"\b(?:answer|reply|respond|write|speak|talk|{_ANSWER})\b[^,;]*?\b(?P<what>in) (?:[a-z]+ )?{_LANGUAGE}",
         _language),
        (rf"\b(?P<what>use|speak|switch to|stick to) (?:only )?{_LANGUAGE}(?: only)?(?=$|,| from now| in | for )",
         _language),
        (rf"(?P<what>(?P<not>{_NEGATION.pattern}[^,;]*?)?)\b(?P<bound>{_BOUND}|between)(?: of)? (?P<number>{_NUMBER})"
         rf"(?:(?: and | to |-)(?P<top>{_NUMBER}))?[ -](?:short |brief |full |complete )?{_UNIT}\b"
         r"(?: (?P<after>or less|or fewer|or more|max|maximum|minimum|at most))?", _length),
        (rf"\b(?:{_SAYS}\b[^,;]*?\b(?:in|as|with)|use|using|no|without|avoid) (?:valid |only )*(?P<what>json)\b",
         _JSON),
        (rf"\b(?:{_SAYS}\b[^,;]*?\b(?:in|as|with|using)|use|using|no|any|without|avoid) (?:a |only )*"
         r"(?P<what>bullet(?:ed)? (?:points?|lists?)|bullets)\b", _BULLETS),
        (rf"\b(?:{_SAYS}\b[^,;]*?\b(?:in|as|with|using)|use|using|no|any|without|avoid) (?:a |only )*"
         r"(?P<what>numbered lists?)\b", _NUMBERED),
        (rf"\b{_SAYS}\b[^,;]*?\b(?P<what>on) (?:a )?(?:single|one) line\b", _ONE_LINE),
    )
)  # fmt: skip
