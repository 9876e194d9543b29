"""What can be measured of an answer: its words, sentences, items, case, language and form."""

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
"""Languages that are told apart, with their two-letter codes."""
_FEWEST = 4
"""Words below which a text's language is a guess."""
_EMOJI = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf\U0001f1e6-\U0001f1ff]")
_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
_BULLET, _ORDINAL = r"^\s*[-*•]\s+(\S.*)$", r"^\s*\d+[.)]\s+(\S.*)$"


def words_of(text: str) -> list[str]:
    """Its words, in one case; hyphens and apostrophes stay inside."""
    return re.findall(r"\w+(?:[-'’]\w+)*", text.casefold())


def sentences_of(text: str) -> list[str]:
    """Its sentences, roughly: what ends in a full stop, a question or an exclamation mark."""
    return [part for part in re.split(r"(?<=[.!?。！？])\s+|\n+", text.strip()) if re.search(r"\w", part)]


def items_of(text: str) -> list[str]:
    """Lines that begin with a bullet or a number."""
    return re.findall(_BULLET, text, re.M) + re.findall(_ORDINAL, text, re.M)


def size_of(text: str, unit: str) -> int:
    """How many of `unit` (word, sentence, paragraph, line, character, item, bullet) it has."""
    match unit:
        case "word":
            return len(words_of(text))
        case "sentence":
            return len(sentences_of(text))
        case "paragraph":
            return len([part for part in re.split(r"\n\s*\n", text) if part.strip()])
        case "line":
            return len([line for line in text.splitlines() if line.strip()])
        case "character":
            return len(text.strip())
    return len(items_of(text))


def begins_with(text: str, word: str) -> bool:
    """Whether its first words are those of `word`."""
    wanted = _units(word, word)
    return bool(wanted) and _units(text, word)[: len(wanted)] == wanted


def ends_with(text: str, word: str) -> bool:
    """Whether its last words are those of `word`."""
    wanted = _units(word, word)
    return bool(wanted) and _units(text, word)[-len(wanted) :] == wanted


def contains(text: str, word: str) -> bool:
    """Whether the words of `word` stand in it, one after the other."""
    said, wanted = _units(text, word), _units(word, word)
    width = len(wanted)
    return width > 0 and any(said[at : at + width] == wanted for at in range(len(said) - width + 1))


def _units(text: str, word: str) -> list[str]:
    """What `text` is compared in with `word`: words; letters, in a script without spaces; characters, if `word` is
    nothing but signs."""
    if _UNSPACED.search(word):
        return re.findall(r"\w", text.casefold())
    return words_of(text) if words_of(word) else list(text.strip())


def has_emoji(text: str) -> bool:
    """Whether there is a picture in it."""
    return _EMOJI.search(text) is not None


def has_bullets(text: str) -> bool:
    """Whether a line begins with a bullet."""
    return re.search(_BULLET, text, re.M) is not None


def has_numbers(text: str) -> bool:
    """Whether a line begins with its number."""
    return re.search(_ORDINAL, text, re.M) is not None


def is_json(text: str) -> bool:
    """Whether it is JSON and nothing else."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def may_be_in(text: str, code: str) -> bool:
    """Whether it is in this language, or too short to tell."""
    few = len(words_of(text)) < _FEWEST and not _UNSPACED.search(text)
    return few or language_of(text) == code


@lru_cache(maxsize=1024)
def language_of(text: str) -> str:
    """Its likeliest language among LANGUAGES, as a two-letter code."""
    return str(_identifier().classify(text)[0])


@cache
def _identifier() -> Any:
    from py3langid import langid  # loads a model: only who checks languages waits for it

    found = langid.LanguageIdentifier.from_pickled_model(langid.MODEL_FILE)
    found.set_languages(sorted(LANGUAGES.values()))
    return found
