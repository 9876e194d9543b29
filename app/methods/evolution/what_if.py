"""What if: an answer of the evolution under other deltas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.blocks.block import Block, Paragraph, Span, Table
from app.blocks.model_text import one_line
from app.methods.evolution.clusters import WORDS_HEAD, cluster_words
from app.methods.source import CaseSource
from app.methods.what_if import (
    Answers,
    Choice,
    Field,
    WhatIf,
    answers_of,
    number,
    optional,
    strengths,
    verdict_of,
    whole,
    words_of,
)
from app.state.evolution import EvolutionState
from app.wording.figures import signed
from app.wording.text import counted
from engine.events import AnswerJudged, AnswerTried, OtherAnswer
from engine.evolution.splits import UNDER_DELTAS

_HELP = """\
# What if: other deltas

Answers the question again under other deltas. Random draws belong to a question and an iteration, so whatever is new in
the answer comes from the deltas. `enter` tries what the fields say, `F2` tries nine strengths, from no deltas to three
times as strong. Three answers stand side by side: as it was *committed*, under *no deltas*, and *yours*.

*deltas of iteration* empty: the answer's own. *times* multiplies all of them, one number or several. *set* gives
clusters of the list below other deltas: `3=-0.5 7=0`.
"""


def of_answer(event: AnswerJudged, source: CaseSource) -> Choice:
    """An answer under other deltas."""
    state = source.state.evolution
    under_deltas, best = event.split in UNDER_DELTAS, state.best
    of = "" if under_deltas or best is None else str(best.iteration)
    clusters = list(state.clusters) or (state.began.clusters if state.began is not None else [])
    iteration = state.iterations.get(event.iteration)
    recorded = iteration.deltas if iteration is not None and under_deltas else {}

    def request(values: dict[str, Any]) -> dict[str, Any]:
        if values["of"] is None and not under_deltas:
            raise ValueError(
                "deltas of iteration: this answer was given without deltas, so name an iteration"
            )
        return {"iteration": event.iteration, "split": event.split, "example": event.example, **values}

    return Choice(
        f"{event.example} · iteration {event.iteration}, {event.split}{'' if under_deltas else ', without deltas'}\n"
        f"right answer {one_line(event.gold)}\n{one_line(event.question)}",
        [
            [
                Field("of", "deltas of iteration", of, optional(whole()), "own", 8),
                Field("scales", "times", "1", strengths, width=20, is_swept=True),
            ],
            [Field("put", "set", "", lambda text: _put(text, clusters), "such as 3=-0.5 7=0", 0)],
        ],
        request,
        _answers,
        lambda tried: [_clusters(tried, state, clusters, recorded)],
    )


WHAT_IF = WhatIf("evolution", _HELP, {AnswerJudged: of_answer})


def _put(text: str, clusters: Sequence[str]) -> dict[str, float]:
    pairs = [(word, *word.partition("=")) for word in words_of(text)]
    if (wrong := next((word for word, _, sign, _ in pairs if not sign), None)) is not None:
        raise ValueError(f"expected a cluster and its delta, such as 3=-0.5, found {wrong!r}")
    return {_cluster(name, clusters): number(-100, 100)(delta) for _, name, _, delta in pairs}


def _cluster(name: str, clusters: Sequence[str]) -> str:
    if name not in clusters:
        there = f"there are {clusters[0]} to {clusters[-1]}" if clusters else "none are known"
        raise ValueError(f"there is no cluster {name!r}; {there}")
    return name


def _answers(tried: AnswerTried) -> Answers:
    def about(answer: OtherAnswer) -> list[Block]:
        more = answer.tokens - tried.committed.tokens
        tokens = counted(answer.tokens, "tokens") + (f" ({signed(more, 0)})" if more else "")
        return [Paragraph(tokens, "strong" if more else "dim"), verdict_of(answer)]

    return answers_of(tried, about, lambda answer: str(answer.tokens))


def _clusters(
    tried: AnswerTried | None, state: EvolutionState, clusters: Sequence[str], recorded: dict[str, float]
) -> Table:
    """Each cluster with the answer's own delta, and what was tried last."""
    last = tried.yours[_answers(tried).most_telling].deltas if tried is not None else {}
    rows = [
        (
            name,
            Span(cluster_words(state, name), "dim"),
            signed(recorded.get(name), 2),
            Span(signed(delta, 2), "dim" if delta in (None, recorded.get(name, 0.0)) else "strong"),
        )
        for name, delta in ((name, last.get(name)) for name in clusters)
    ]
    return Table(("cluster", WORDS_HEAD, "own", "yours"), rows, 2)
