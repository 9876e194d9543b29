"""Clusters of tokens, described by a few of their tokens, and the deltas that are added to their logits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.blocks.block import Block, Span, Table, Words
from app.blocks.model_text import clean
from app.state.evolution import EvolutionState, IterationState
from app.table.column import Tone
from app.wording.figures import share, signed

_SPECIAL = {"0": "end of text", "1": "digits and symbols"}
"""The two clusters that never go through k-means."""
_BLANK = {" ": "(space)", "\n": "(new line)", "\t": "(tab)", "\r": "(return)"}
_LEVELS = "▁▂▃▄▅▆▇█"
_MOST_ITERATIONS = 30
_MOST_TOKENS = 6
"""That describe a cluster."""
WORDS_HEAD = "tokens such as"


def cluster_words(state: EvolutionState, name: str) -> str:
    """The most frequent tokens of a cluster, or where none were counted those nearest to its mean, as a line of
    text."""
    if name in _SPECIAL:
        return _SPECIAL[name]
    cluster = state.clusters.get(name)
    if cluster is None:
        return ""
    tokens = cluster.frequent_tokens or cluster.central_tokens
    shown = " ".join(token.strip() or _BLANK.get(token, repr(token)) for token in tokens[:_MOST_TOKENS])
    return clean(shown).replace("\n", "⏎").strip() or cluster.description


def delta_table(state: EvolutionState, item: IterationState) -> list[Table]:
    """The deltas of an iteration beside those before, the most changed first."""
    earlier = state.iterations.get(item.iteration - 1)
    before = {} if earlier is None else earlier.deltas
    changes = {name: value - before.get(name, value) for name, value in item.deltas.items()}
    rows = [
        (
            cluster_words(state, name), name, signed(before.get(name), 2), signed(item.deltas[name], 2),
            Span(signed(change, 2), "good" if change > 0 else "bad") if change else Span("·", "dim"),
        )
        for name, change in sorted(changes.items(), key=lambda pair: -abs(pair[1]))
    ]  # fmt: skip
    header = (WORDS_HEAD, "cluster", "before", "here", "here − before")
    notes = ["added to the logits of every token of the cluster, in nats: below 0 its tokens become rarer"]
    title = f"Deltas of iteration {item.iteration}"
    return [Table(header, rows, 4, title, notes, priority=(0, 0, 4, 0, 1))] if rows else []


def delta_map(state: EvolutionState) -> list[Block]:
    """A row for each cluster, a column for each iteration. Every cell has its number and a block as high as the delta
    is strong, so that it reads in any number of colours. Where there is no room the oldest iterations are left out,
    never the best one."""
    columns = _iterations(state)
    if not columns:
        return []
    best = None if state.best is None else state.best.iteration
    most = max(abs(value) for _, deltas in columns for value in deltas.values())
    rows: list[Sequence[Words]] = [
        (cluster_words(state, name), name, *(_block(deltas.get(name, 0.0), most) for _, deltas in columns))
        for name in columns[-1][1]
    ]
    header = [WORDS_HEAD, "cluster", *(f"★{n}" if n == best else str(n) for n, _ in columns)]
    priority = [0, 0, *(0 if n == best else len(columns) - at for at, (n, _) in enumerate(columns))]
    notes = [
        "added to the logits of every token of the cluster, in nats; ▁ to █: how strong",
        f"★ best: the highest composite on {state.decided_on}; older iterations are left out where there is no room",
    ]
    return [Table(header, rows, len(columns) + 1, "Deltas by iteration", notes, priority=priority)]


def _iterations(state: EvolutionState) -> list[tuple[int, Mapping[str, float]]]:
    """Numbers and deltas of the best iteration and the newest ones. What the reflector replied last is none: it may
    never be tried."""
    columns = [(item.iteration, item.deltas) for item in state.iterations.values() if item.deltas]
    older, newest = columns[:-_MOST_ITERATIONS], columns[-_MOST_ITERATIONS:]
    return [*(c for c in older if state.best is not None and c[0] == state.best.iteration), *newest]


def _block(value: float, most: float) -> Span:
    if not value:
        return Span("· ", "dim")
    level = _LEVELS[min(len(_LEVELS) - 1, int(abs(value) / most * len(_LEVELS)))]
    tone: Tone = "good" if value > 0 else "bad"
    return Span(f"{signed(value, 2)}{level}", tone)


def cluster_table(state: EvolutionState) -> list[Table]:
    """What the vocabulary was divided into."""
    counted = any(cluster.share for cluster in state.clusters.values())
    rows = [
        (cluster_words(state, name), name, f"{cluster.size:,}", share(cluster.share if counted else None))
        for name, cluster in state.clusters.items()
    ]
    header = (WORDS_HEAD, "cluster", "tokens", "share")
    notes = ["tokens: of the vocabulary; share: of all tokens that were counted"]
    return [Table(header, rows, 3, "Clusters of the vocabulary", notes)] if rows else []
