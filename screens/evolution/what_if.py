"""What if: an answer of the evolution under other deltas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from app.blocks.model_text import one_line
from app.figures import signed
from app.methods.evolution.clusters import cluster_words
from app.methods.source import CaseSource
from app.runs.what_if import WhatIfProcess
from app.state.evolution import UNDER_DELTAS, EvolutionState
from app.text import counted
from engine.events import AnswerJudged, AnswerTried, OtherAnswer
from screens.what_if.answer import AnswerWhatIf, most_telling
from screens.what_if.drawing import draw_verdict
from screens.what_if.fields import Field, number, strengths, whole, words_of
from screens.what_if.screen import Palette


class DeltasWhatIf(AnswerWhatIf):
    """An answer under other deltas."""

    SYSTEM = "evolution"
    SWEEPS: ClassVar[bool] = True
    STRIP = "times"
    HELP = """\
# What if: other deltas

Answers the question again under other deltas. Random draws belong to a question and an iteration, so whatever is new in
the answer comes from the deltas. `enter` tries what the fields say, `F2` tries nine strengths, from no deltas to three
times as strong. Three answers stand side by side: as it was *committed*, under *no deltas*, and *yours*; each is dim as
far as it is the committed one's, and marked `≠` where it leaves it.

*deltas of iteration* empty: the answer's own. *times* multiplies all of them, one number or several. *without clusters*
takes numbers of the list below; their deltas are 0. *set* gives a cluster another delta: `3=-0.5`.

The line on top says whether the unchanged answer repeats the record. Every try is kept in `evolution/what_if.jsonl` of
the run; its figures stay as they are.
"""

    def __init__(self, process: WhatIfProcess, answer: AnswerJudged, state: EvolutionState) -> None:
        super().__init__(process)
        self._answer, self._state = answer, state
        self._under_deltas = answer.split in UNDER_DELTAS

    def heading(self) -> Text:
        a = self._answer
        own = "" if self._under_deltas else ", without deltas"
        return Text.assemble(
            f"What if · {a.example} · iteration {a.iteration}, {a.split}{own}\n",
            one_line(a.question),
            f"\nright answer {one_line(a.gold)}",
        )

    def rows(self) -> Sequence[Sequence[Field]]:
        best = self._state.best
        of = "" if self._under_deltas or best is None else str(best.iteration)
        return [
            [Field("of", "deltas of iteration", of, "own", 8), Field("scales", "times", "1", "", 20)],
            [
                Field("off", "without clusters", "", "such as 3 5", 18),
                Field("put", "set", "", "such as 3=-0.5 7=1", 0),
            ],
        ]

    def wanted(self, sweep: bool) -> dict[str, Any]:
        of, a = self.value("of"), self._answer
        if not of and not self._under_deltas:
            raise ValueError(
                "deltas of iteration: this answer was given without deltas, so name an iteration"
            )
        return {
            "iteration": a.iteration,
            "split": a.split,
            "example": a.example,
            "of": whole(of, "deltas of iteration") if of else None,
            "off": [self._cluster(word, "without clusters") for word in words_of(self.value("off"))],
            "put": dict(self._put(word) for word in words_of(self.value("put"))),
            "scales": strengths(self.value("scales"), "times", sweep),
        }

    def _put(self, word: str) -> tuple[str, float]:
        name, sign, text = word.partition("=")
        if not sign:
            raise ValueError(f"set: expected a cluster and its delta, such as 3=-0.5, found {word!r}")
        return self._cluster(name, "set"), number(text, "set", -100, 100)

    def _cluster(self, name: str, field: str) -> str:
        known = self._clusters
        if name not in known:
            raise ValueError(f"{field}: there is no cluster {name!r}; there are {known[0]} to {known[-1]}")
        return name

    @property
    def _clusters(self) -> list[str]:
        began = self._state.began
        return list(self._state.clusters) or (began.clusters if began is not None else [])

    def strengths(self, tried: AnswerTried) -> Sequence[float]:
        return self.asked["scales"]

    def short(self, answer: OtherAnswer, tried: AnswerTried) -> str:
        return str(answer.tokens)

    def about(self, answer: OtherAnswer, tried: AnswerTried, palette: Palette) -> Sequence[Text]:
        more = answer.tokens - tried.committed.tokens
        tokens = counted(answer.tokens, "tokens") + (f" ({signed(more, 0)})" if more else "")
        words = answer.verdict or ("right" if answer.right else "wrong")
        return [
            Text(tokens, palette["strong" if more else "dim"]),
            draw_verdict(answer.right, words, "", palette),
        ]

    def draw_choices(self, palette: Palette, width: int) -> RenderableType:
        """Each cluster with the answer's own delta, and what was tried last."""
        item = self._state.iterations.get(self._answer.iteration)
        own = item.deltas if item is not None and self._under_deltas else {}
        tried = most_telling(self._tried).deltas if self._tried is not None else {}
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=palette["heading"])
        for name, least in (("cluster", 7), ("own", 5), ("yours", 5)):
            table.add_column(name, justify="right", no_wrap=True, min_width=least)
        table.add_column("most frequent tokens", no_wrap=True, overflow="ellipsis", ratio=1)
        for name in self._clusters:
            mine = tried.get(name)
            changed = mine is not None and mine != own.get(name, 0.0)
            table.add_row(
                name,
                signed(own.get(name), 2),
                Text(signed(mine, 2), palette["strong" if changed else "dim"]),
                Text(cluster_words(self._state, name), palette["dim"]),
            )
        return table


def of_answer(process: WhatIfProcess, event: AnswerJudged, source: CaseSource) -> DeltasWhatIf:
    """An answer under other deltas."""
    return DeltasWhatIf(process, event, source.state.evolution)
