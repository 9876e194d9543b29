"""What if: a query answered with other demonstrations, or with none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from app.blocks.model_text import one_line
from app.methods.pool.picks import in_order
from app.methods.pool.scores import answers_line, score_cell
from app.methods.source import CaseSource
from app.runs.what_if import WhatIfProcess
from engine.events import AnswerTried, OtherAnswer, PoolQueryDone, SelectorPicked
from screens.what_if.answer import AnswerWhatIf
from screens.what_if.fields import Field, chosen
from screens.what_if.screen import Palette

_HINT = "numbers of the list, or two rows such as 12+340"


@dataclass(frozen=True)
class KnownPair:
    """Two demonstrations whose answer the run knows: `rows` of the table, in the prompt's order; `words`: where they
    come from."""

    rows: tuple[int, int]
    words: str
    score: float | None
    answer: str

    @property
    def name(self) -> str:
        """As it is typed."""
        return f"{self.rows[0]}+{self.rows[1]}"


class DemonstrationsWhatIf(AnswerWhatIf):
    """A query with other demonstrations. The first of the known pairs is the one that others are held against."""

    SYSTEM = "pool"
    STRIP = "pair"
    HELP = """\
# What if: other demonstrations

Asks the model the query again with other demonstrations, and with none. `enter` tries what the field says: numbers of
the list below, or two rows of the table in the prompt's order, such as `12+340`; several pairs, separated by spaces,
are tried at once. Three answers stand side by side: with the pair of the run (*committed*), with *no demonstration*,
and with *yours*.

The line on top says whether the pair of the run gives the recorded answer again; a model behind a server need not.
Every try is kept in `pool/what_if.jsonl` of the run; its figures stay as they are.
"""

    def __init__(
        self,
        process: WhatIfProcess,
        query: str,
        question: str,
        said: dict[str, int],
        pairs: Sequence[KnownPair],
    ) -> None:
        super().__init__(process)
        self._query, self._question, self._said, self._pairs = query, question, said, pairs

    def heading(self) -> Text:
        pair = self._pairs[0]
        return Text.assemble(
            f"What if · {self._query} · {pair.words}: rows {pair.rows[0]} and {pair.rows[1]}\n",
            one_line(self._question),
            f"\npeople answered {answers_line(self._said)}",
        )

    def rows(self) -> Sequence[Sequence[Field]]:
        return [[Field("pairs", "demonstrations", "2" if len(self._pairs) > 1 else "", _HINT, 0)]]

    def wanted(self, sweep: bool) -> dict[str, Any]:
        text = self.value("pairs")
        if not text:
            raise ValueError(f"demonstrations: {_HINT}")
        names = [pair.name for pair in self._pairs]
        return {
            "query": self._query,
            "recorded": list(self._pairs[0].rows),
            "pairs": [_rows(word) for word in chosen(text, "demonstrations", names, lambda word: word)],
        }

    def short(self, answer: OtherAnswer, tried: AnswerTried) -> str:
        return answer.text

    def about(self, answer: OtherAnswer, tried: AnswerTried, palette: Palette) -> Sequence[Text]:
        shown, tone = score_cell(answer.score)
        return [Text.assemble((shown, palette.get(tone, "")), ("  VQA accuracy", palette["dim"]))] + (
            [Text(one_line(answer.verdict), palette["warn"])] if answer.verdict else []
        )

    def draw_choices(self, palette: Palette, width: int) -> RenderableType:
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=palette["heading"])
        for name in ("no", "rows", "score", "answer", "from"):
            table.add_column(
                name, justify="right" if name == "no" else "left", no_wrap=True, overflow="ellipsis"
            )
        for number, pair in enumerate(self._pairs, 1):
            shown, tone = score_cell(pair.score)
            table.add_row(
                str(number), f"{pair.rows[0]} {pair.rows[1]}", Text(shown, palette.get(tone, "")),
                one_line(pair.answer), Text(pair.words, palette["dim"]),
            )  # fmt: skip
        return table


def of_query(process: WhatIfProcess, event: PoolQueryDone, source: CaseSource) -> DemonstrationsWhatIf:
    """A training query; the best pair that was asked is held against the others."""
    asked = [t for t in event.trajectories if t.verdict != "given"] or event.trajectories
    best = max(asked, key=lambda t: -1.0 if t.score is None else t.score)
    others = [t for t in event.trajectories if t is not best]
    pairs = [KnownPair(t.pair, t.rule or t.verdict, t.score, t.answer) for t in (best, *others)]
    return DemonstrationsWhatIf(process, event.query_id, event.question, event.answers, pairs)


def of_picks(process: WhatIfProcess, event: SelectorPicked, source: CaseSource) -> DemonstrationsWhatIf | str:
    """A held-out query; the selector's pick is held against the others."""
    pairs = [
        KnownPair((p.pair[0], p.pair[1]), f"the pick of {p.method}", p.score, p.answer)
        for p in in_order(event.picks)
    ]
    if not pairs:
        return "No method picked a pair for this query."
    return DemonstrationsWhatIf(process, event.query_id, event.question, event.answers, pairs)


def _rows(word: str) -> list[int]:
    first, sign, second = word.partition("+")
    if not (sign and first.isdecimal() and second.isdecimal()):
        raise ValueError(f"demonstrations: {_HINT}; found {word!r}")
    return [int(first), int(second)]
