"""Measures of an answer: its words, sentences, items, case, language and form."""

from __future__ import annotations

import json
import re
from functools import cache, lru_cache
from typing import Any

LANGUAGES = {
    "english": "en", "french": "fr", "german": "de", "spanish": "es", "italian": "it", "portuguese": "pt",
    "dutch": "nl", "polish": "pl", "russian": "ru", "chinese": "zh", "japanese": "ja", "korean": "ko",
    "arabic": "ar", "turkish": "tr", "swedish": "sv", "greek": "el", "czech": "cs", "hindi": "hi",
}  # fmt: skip
"""Languages that checks distinguish, with their two-letter codes."""
_FEWEST = 4
"""Words below which a text's language is a guess."""
_EMOJI = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf\U0001f1e6-\U0001f1ff]")
_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
_DECORATION = " \t\n\"'”’*_`)"
"""What may stand behind the end of a text."""
_BULLET, _ORDINAL = r"^\s*[-*•][^\S\n]+(\S.*)$", r"^\s*\d+[.)][^\S\n]+(\S.*)$"


def words_of(text: str) -> list[str]:
    """Words of a text, case-folded; hyphens and apostrophes inside a word stay."""
    return re.findall(r"\w+(?:[-'’]\w+)*", text.casefold())


def sentences_of(text: str) -> list[str]:
    """Sentences of a text, split after a full stop, a question or an exclamation mark."""
    sentences = re.split(r"(?<=[.!?。！？])\s+|\n+", text.strip())
    return [sentence for sentence in sentences if re.search(r"\w", sentence)]


def items_of(text: str) -> list[str]:
    """Lines of a text that begin with a bullet or a number."""
    return re.findall(_BULLET, text, re.M) + re.findall(_ORDINAL, text, re.M)


def size_of(text: str, unit: str) -> int:
    """The length of a text in `unit`: word, sentence, paragraph, line, character, item, bullet or bullet point."""
    match unit:
        case "word":
            return len(words_of(text))
        case "sentence":
            return len(sentences_of(text))
        case "paragraph":
            return len([block for block in re.split(r"\n\s*\n", text) if block.strip()])
        case "line":
            return len([line for line in text.splitlines() if line.strip()])
        case "character":
            return len(text.strip())
        case "item":
            return len(items_of(text))
    return len(re.findall(_BULLET, text, re.M))


def begins_with(text: str, word: str) -> bool:
    """Whether the text begins with the words of `word`."""
    target = _units(word, word)
    return bool(target) and _units(text, word)[: len(target)] == target


def ends_with(text: str, word: str) -> bool:
    """Whether the text ends with the words of `word`, and with its last mark: ! or ?, or the full stop of a phrase."""
    target = _units(word, word)
    mark = word.strip()[-1:]
    marked = mark in "!?" or (mark == "." and len(target) > 1)
    if words_of(word) and marked and not text.rstrip(_DECORATION).endswith(mark):
        return False
    return _units(text, word)[-len(target) :] == target


def contains(text: str, word: str) -> bool:
    """Whether the words of `word` occur in the text, one after the other."""
    return count(text, word) > 0


def count(text: str, word: str) -> int:
    """How often the words of `word` occur in the text, one after the other."""
    units, target = _units(text, word), _units(word, word)
    width = len(target)
    return sum(units[at : at + width] == target for at in range(len(units) - width + 1)) if width else 0


def gives_list(text: str, items: str) -> bool:
    """Whether the text gives exactly the list `items` (`a, b, c`), with no further item before or behind it."""
    return bool(re.search(rf"(?<!, )\b{re.escape(items)}\b(?!,| and )", text, re.I))


def _units(text: str, word: str) -> list[str]:
    """`text` in the units that suit `word`: words; letters, for a script without spaces; characters, for signs."""
    if _UNSPACED.search(word):
        return re.findall(r"\w", text.casefold())
    return words_of(text) if words_of(word) else list(text.strip())


def has_emoji(text: str) -> bool:
    """Whether the text has an emoji."""
    return _EMOJI.search(text) is not None


def has_bullets(text: str) -> bool:
    """Whether a line begins with a bullet."""
    return re.search(_BULLET, text, re.M) is not None


def has_numbers(text: str) -> bool:
    """Whether a line begins with a number."""
    return re.search(_ORDINAL, text, re.M) is not None


def is_quoted(text: str) -> bool:
    """Whether the whole text is in double quotation marks."""
    bare = text.strip()
    return len(bare) > 2 and bare[0] in '"“' and bare[-1] in '"”'


def has_title(text: str) -> bool:
    """Whether the text has a title in double angular brackets: <<title>>."""
    return re.search(r"<<[^\n<>]*\w[^\n<>]*>>", text) is not None


def is_json(text: str) -> bool:
    """Whether the text is JSON and nothing else; one Markdown fence around it is no matter."""
    fenced = re.fullmatch(r"```(?:json)?[ \t]*\n(.*?)\n?```", text.strip(), re.S | re.I)
    try:
        json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        return False
    return True


def may_be_in(text: str, code: str) -> bool:
    """Whether the text is in the language `code`, or too short to decide."""
    few = len(words_of(text)) < _FEWEST and not _UNSPACED.search(text)
    return few or language_of(text) == code


@lru_cache(maxsize=1024)
def language_of(text: str) -> str:
    """The likeliest language of a text among LANGUAGES, as a two-letter code."""
    return str(_identifier().classify(text)[0])


@cache
def _identifier() -> Any:
    from py3langid import langid  # slow: it loads a model

    identifier = langid.LanguageIdentifier.from_pickled_model(langid.MODEL_FILE)
    identifier.set_languages(sorted(LANGUAGES.values()))
    return identifier
