"""Constraints that can be checked exactly: words to use or avoid, length, case, language, format, count."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class Check:
    """`family`: what two of the same cannot both be (end, case, language, ...); `holds`: whether an answer keeps it;
    `fault`: what one does that does not."""

    family: str
    value: str
    holds: Callable[[str], bool]
    fault: str


def parse_check(text: str) -> Check | None:
    """What `text`, an instruction in English, wants of every answer; None if that cannot be checked exactly."""
    told = " ".join(text.strip().rstrip(".!").split())
    for pattern, make in _PATTERNS:
        found = pattern.search(told)
        if found is not None and (check := make(found)) is not None:
            return check
    return None


def words_of(text: str) -> list[str]:
    """Its words, in one case; hyphens and apostrophes stay inside."""
    return re.findall(r"\w+(?:[-'’]\w+)*", text.casefold())


def sentences_of(text: str) -> list[str]:
    """Its sentences, roughly: what ends in a full stop, a question or an exclamation mark."""
    return [part for part in re.split(r"(?<=[.!?。！？])\s+|\n+", text.strip()) if re.search(r"\w", part)]


def items_of(text: str) -> list[str]:
    """Lines that begin with a bullet or a number."""
    return re.findall(r"^\s*(?:[-*•]|\d+[.)])\s+(.+)$", text, re.M)


@lru_cache(maxsize=1024)
def language_of(text: str) -> str:
    """Its language, as a two-letter code."""
    import py3langid  # loads a model: only who checks languages waits for it

    return str(py3langid.classify(text)[0])


# ---------------------------------------------------------------- what they look like

_EVERY = r"(?:every|each|all|any|your|the|my)\b[^\"']*?"
_WORD = r"(?:the |this )?(?:word|phrase|sentence|term)?s?:? ?[\"'“‘*]?(?P<word>[^\"'”’*]+?)[\"'”’*]?"
_NEVER = r"(?:never|do not|don't|must not|without|avoid|no longer|stop|refrain from)"
_TAIL = r"(?: (?:in|from|at|for) (?:any|every|all|each|this|your|the|now|future).*)?$"
_NUMBER = (
    r"(?P<number>\d+|one|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|fifty|hundred)"
)
_NUMBERS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "twelve": 12, "fifteen": 15, "twenty": 20, "fifty": 50, "hundred": 100,
}  # fmt: skip
_LANGUAGES = {
    "english": "en", "french": "fr", "german": "de", "spanish": "es", "italian": "it", "portuguese": "pt",
    "dutch": "nl", "polish": "pl", "russian": "ru", "chinese": "zh", "japanese": "ja", "korean": "ko",
    "arabic": "ar", "turkish": "tr", "swedish": "sv", "greek": "el", "czech": "cs", "hindi": "hi",
}  # fmt: skip
_EMOJI = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf\U0001f1e6-\U0001f1ff]")


def _ends(found: re.Match[str]) -> Check:
    word = found["word"].strip()
    wanted = words_of(word)
    return Check("end", word, lambda answer: bool(wanted) and words_of(answer)[-len(wanted) :] == wanted,
                 f"does not end with “{word}”")  # fmt: skip


def _begins(found: re.Match[str]) -> Check:
    word = found["word"].strip()
    wanted = words_of(word)
    return Check("begin", word, lambda answer: bool(wanted) and words_of(answer)[: len(wanted)] == wanted,
                 f"does not begin with “{word}”")  # fmt: skip


def _avoids(found: re.Match[str]) -> Check:
    word = found["word"].strip()
    return Check(
        f"word {word.casefold()}", "avoid", lambda answer: not _contains(answer, word), f"says “{word}”"
    )


def _uses(found: re.Match[str]) -> Check:
    word = found["word"].strip()
    return Check(
        f"word {word.casefold()}", "use", lambda answer: _contains(answer, word), f"does not say “{word}”"
    )


def _contains(answer: str, word: str) -> bool:
    said, wanted = words_of(answer), words_of(word)
    width = len(wanted)
    return width > 0 and any(said[at : at + width] == wanted for at in range(len(said) - width + 1))


def _upper(found: re.Match[str]) -> Check:
    return Check("case", "upper", lambda answer: answer == answer.upper() and answer != answer.lower(),
                 "is not in capital letters only")  # fmt: skip


def _lower(found: re.Match[str]) -> Check:
    return Check("case", "lower", lambda answer: answer == answer.lower(), "has capital letters")


def _language(found: re.Match[str]) -> Check | None:
    name = found["language"].casefold()
    code = _LANGUAGES.get(name)
    if code is None:
        return None
    return Check("language", code, lambda answer: language_of(answer) == code, f"is not in {name.title()}")


def _length(found: re.Match[str]) -> Check:
    number, unit = _count(found["number"]), found["unit"].casefold().rstrip("s")
    least = found["bound"].casefold() in ("at least", "more than", "minimum", "no fewer than")
    exactly = found["bound"].casefold() in ("exactly", "", "in", "use")
    strict = found["bound"].casefold() in ("under", "less than", "fewer than", "below")
    most = number - 1 if strict else number
    if found["bound"].casefold() == "more than":
        number += 1

    def size(answer: str) -> int:
        if unit == "word":
            return len(words_of(answer))
        if unit == "sentence":
            return len(sentences_of(answer))
        return len(items_of(answer))

    def holds(answer: str) -> bool:
        found_size = size(answer)
        return found_size == number if exactly else found_size >= number if least else found_size <= most

    wanted = f"exactly {number}" if exactly else f"at least {number}" if least else f"at most {most}"
    return Check(f"{unit}s", wanted, holds, f"has not {wanted} {unit}s")


def _count(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBERS[text.casefold()]


def _form(kind: str, holds: Callable[[str], bool], fault: str) -> Callable[[re.Match[str]], Check]:
    return lambda found: Check("emoji" if "emoji" in kind else "form", kind, holds, fault)


def _is_json(answer: str) -> bool:
    try:
        json.loads(answer)
    except (ValueError, RecursionError):
        return False
    return True


_BOUND = (
    r"(?P<bound>at least|more than|at most|no more than|not more than|under|less than|fewer than|below|exactly|in|use|"
    r"within|up to|maximum|minimum|)"
)
_PATTERNS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Check | None]], ...] = tuple(
    (re.compile(pattern, re.I), make)
    for pattern, make in (
        (rf"\b(?:end|finish|close|conclude)\b {_EVERY}\b(?:with|in|on|by saying) {_WORD}$", _ends),
        (rf"\b(?:begin|start|open)\b {_EVERY}\b(?:with|by saying) {_WORD}$", _begins),
        (rf"\b(?:{_NEVER}) (?:us\w+|say\w*|writ\w+|mention\w*|includ\w+) (?:any )?emojis?\b", _form(
            "no emoji", lambda answer: not _EMOJI.search(answer), "has an emoji")),
        (r"\bno emojis?\b|\bavoid emojis?\b", _form(
            "no emoji", lambda answer: not _EMOJI.search(answer), "has an emoji")),
        (rf"\b(?:{_NEVER}) (?:us\w+|say\w*|writ\w+|mention\w*) (?:the |this )(?:word|phrase|term)s? "
         rf"[\"'“‘*]?(?P<word>[^\"'”’*]+?)[\"'”’*]?{_TAIL}", _avoids),
        (r"\bavoid (?:the |this )(?:word|phrase|term) [\"'“‘*]?(?P<word>[^\"'”’*]+?)[\"'”’*]?" + _TAIL, _avoids),
        (rf"\b(?:{_NEVER}) (?:us\w+|say\w*|writ\w+) [\"'“‘](?P<word>[^\"'”’]+)[\"'”’]", _avoids),
        (r"\b(?:always |must )?(?:use|include|mention|say) (?:the |this )(?:word|phrase|term) "
         rf"[\"'“‘*]?(?P<word>[^\"'”’*]+?)[\"'”’*]?{_TAIL}", _uses),
        (r"\b(?:in|only|use|with) (?:all |only )?(?:capital letters|capitals|upper ?case|all caps|caps)\b", _upper),
        (r"\b(?:in|only|use|with) (?:all |only )?(?:lowercase|lower case|small letters)\b", _lower),
        (r"\b(?:answer|reply|respond|write|speak|talk)\b.*\bin (?P<language>[A-Za-z]+)\b", _language),
        (rf"\b{_BOUND} ?\b{_NUMBER} (?P<unit>words?|sentences?|bullet points?|bullets?|items?)\b", _length),
        (r"\b(?:in|as|use) (?:valid )?json\b", _form("json", _is_json, "is not valid JSON")),
        (r"\b(?:in|as|use) (?:a )?(?:bullet(?:ed)? (?:points|list)|bullets)\b", _form(
            "bullets", lambda answer: bool(re.findall(r"^\s*[-*•]\s+\S", answer, re.M)), "has no bullet points")),
        (r"\b(?:in|as|use) (?:a )?numbered list\b", _form(
            "numbered", lambda answer: bool(re.findall(r"^\s*\d+[.)]\s+\S", answer, re.M)), "has no numbered list")),
        (r"\b(?:on|in) (?:a )?(?:single|one) line\b", _form(
            "one line", lambda answer: "\n" not in answer.strip(), "has more than one line")),
    )
)  # fmt: skip
