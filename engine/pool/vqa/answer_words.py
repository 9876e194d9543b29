"""The VQA evaluation's normal form of an answer: punctuation, number words, articles, contractions."""

from __future__ import annotations

import re
from functools import lru_cache

_PUNCTUATION = ';/[]"{}()=+\\_-><@`,?!'
_FULL_STOP = re.compile(r"\.(?!\d)")
_MOST_FULL_STOPS = 32
"""The script hands `re.UNICODE`, which is 32, to the place of a count."""
_COMMA_IN_NUMBER = re.compile(r"\d,\d")
_ARTICLES = frozenset({"a", "an", "the"})
_COUNTED = "zero one two three four five six seven eight nine ten"
_NUMBERS = {"none": "0"} | {word: str(value) for value, word in enumerate(_COUNTED.split())}
_CONTRACTED = """
ain't aren't can't could've couldn't couldn't've didn't doesn't don't hadn't hadn't've hasn't haven't he'd
he'd've he's how'd how'll how's isn't it'd it'd've it'll ma'am mightn't mightn't've might've mustn't must've
needn't not've o'clock oughtn't 'ow's'at shan't she'd've should've shouldn't shouldn't've somebody'd've
somebody'll somebody's someone'd someone'd've someone'll someone's something'd something'd've something'll
that's there'd there'd've there're there's they'd they'd've they'll they're they've 'twas wasn't we'd've
we've weren't what'll what're what's what've when's where'd where's where've who'd who'd've who'll who's
who've why'll why're why's won't would've wouldn't wouldn't've y'all y'all'll y'all'd've you'd you'd've
you'll you're you've
"""
# Spellings that lack a single apostrophe: `hed` and `he'dve`, not `hedve`.
_CONTRACTIONS = {
    word[:place] + word[place + 1 :]: word
    for word in _CONTRACTED.split()
    for place, sign in enumerate(word)
    if sign == "'"
} | {"somebody'd": "somebodyd"}  # the other way round in the script


@lru_cache(maxsize=4096)
def normalise_answer(text: str) -> str:
    """The form in which the official script (github.com/GT-Vision-Lab/VQA, vqaEval.py) compares answers."""
    words = [_NUMBERS.get(word, word) for word in _unpunctuated(in_one_line(text)).lower().split()]
    return " ".join(_CONTRACTIONS.get(word, word) for word in words if word not in _ARTICLES)


def in_one_line(text: str) -> str:
    """The text with spaces for line ends and tabs, without those around it."""
    return text.replace("\n", " ").replace("\t", " ").strip()


def _unpunctuated(text: str) -> str:
    """The text without punctuation; inside a word a sign becomes a space, unless a comma groups digits in the text."""
    grouped = _COMMA_IN_NUMBER.search(text) is not None
    plain = text
    for sign in _PUNCTUATION:
        at_edge = f"{sign} " in text or f" {sign}" in text
        plain = plain.replace(sign, "" if at_edge or grouped else " ")
    return _FULL_STOP.sub("", plain, count=_MOST_FULL_STOPS)
