"""A cluster, described by a few of its tokens."""

from __future__ import annotations

from app.blocks.model_text import clean
from app.state.evolution import EvolutionState

_SPECIAL = {"0": "end of text", "1": "digits and symbols"}
"""The two clusters that never go through k-means."""
_BLANK = {" ": "(space)", "\n": "(new line)", "\t": "(tab)", "\r": "(return)"}


def cluster_words(state: EvolutionState, name: str, most: int = 8) -> str:
    """The most frequent tokens of a cluster, as a line of text."""
    if name in _SPECIAL:
        return _SPECIAL[name]
    cluster = state.clusters.get(name)
    if cluster is None:
        return ""
    tokens = cluster.frequent_tokens or cluster.central_tokens
    shown = " ".join(token.strip() or _BLANK.get(token, repr(token)) for token in tokens[:most])
    return clean(shown).replace("\n", "⏎").strip() or cluster.description
