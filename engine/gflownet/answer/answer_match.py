"""Whether a reader's text holds an answer, as the benchmarks of the field compare them."""

from __future__ import annotations

import re
import string

_PUNCTUATION = str.maketrans("_", " ", string.punctuation.replace("_", ""))
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalise(text: str) -> str:
    """Lower case, without punctuation and articles, with single spaces (Rajpurkar et al. 2016, evaluation script), and
    with spaces for underscores, by which names of knowledge bases are joined."""
    plain = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", plain).split())


def named(golds: list[str], text: str) -> list[str]:
    """The gold answers whose normal form stands in that of `text`, as RoG and SubgraphRAG count a hit. One that has
    no normal form ("The", "?") has to stand there as it is written."""
    normal_text = normalise(text)

    def stands(gold: str) -> bool:
        short = normalise(gold)
        return short in normal_text if short else gold in text

    return [gold for gold in golds if stands(gold)]
