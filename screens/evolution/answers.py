"""The answers of the evolution: longest first, and the answer under the cursor with its tokens by cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text
from textual.binding import BindingType

from app.blocks.block import Target
from app.blocks.model_text import clean, one_line
from app.blocks.terminal import link
from app.figures import outcome, signed
from app.runs.what_if import WhatIfProcess
from app.state.evolution import UNDER_DELTAS, AnswerRow, EvolutionState
from app.state.run import RunState
from app.table.column import Cell, ListColumn
from app.text import counted
from engine.errors import SteerError
from engine.events import AnswerJudged, AnswerTried
from screens.evolution.cluster_words import cluster_words
from screens.panes.list_pane import ListPane, telling_keys
from screens.run_session import Session
from screens.what_if.screen import WhatIfScreen
from screens.widgets.rows import ListSource

_EMPTY = """There are no answers yet.

The answers of the iteration under the cursor in the tab Iterations appear here with the
judge's verdict, longest first."""

# Twelve colours that differ in lightness too; the table below has the number of each cluster.
_COLOURS = (
    "bright_black", "bright_cyan", "bright_yellow", "bright_magenta", "bright_green", "bright_red", "bright_blue",
    "cyan", "yellow", "magenta", "green", "red", "blue",
)  # fmt: skip


def _correct(correct: bool | None) -> Cell:
    return Cell(outcome(correct), "dim" if correct is None else "good" if correct else "bad")


COLUMNS: Sequence[ListColumn[AnswerRow]] = (
    ListColumn("iteration", "#", 3, "right", 1, help="iteration", value=lambda a: a.iteration),
    ListColumn(
        "split",
        "split",
        10,
        priority=2,
        help="minibatch, validation, test; no processor: baseline, test_plain; asked to be brief: brief_1, test_brief",
        value=lambda a: a.split,
    ),
    ListColumn("tokens", "tokens", 6, "right", 0, help="length of the answer", value=lambda a: a.tokens),
    ListColumn(
        "correct",
        "✓",
        1,
        help="✓ right, ✗ wrong, · not judged",
        value=lambda a: a.correct,
        show=_correct,
    ),
    ListColumn("question", "question", 22, flex=True, priority=3, value=lambda a: a.question),
    ListColumn("gold", "gold", 13, flex=True, priority=4, help="the right answer", value=lambda a: a.gold),
    ListColumn("example", "example", 12, priority=5, name=True, value=lambda a: a.example),
)


class AnswersPane(ListPane):
    """The answers of one iteration, longest first: `selected` gives its number; None: all iterations."""

    LINKS = True
    BINDINGS: ClassVar[list[BindingType]] = telling_keys("wrong", "answer that is wrong, in Answers")

    def __init__(
        self, session: Session, selected: Callable[[], int | None], *, id: str | None = None
    ) -> None:
        super().__init__(session, ListSource(COLUMNS, "answers"), _EMPTY, id=id)
        self._selected = selected

    def on_mount(self) -> None:
        self.table.sort_by("tokens", reverse=True)

    def items(self, state: RunState) -> Sequence[AnswerRow]:
        iteration = self._selected()
        answers = state.evolution.answers
        return [row for row in answers if iteration is None or row.iteration == iteration]

    def telling(self, item: AnswerRow) -> bool:
        return item.correct is False

    def draw(self, item: AnswerRow, palette: dict[str, Style], width: int) -> RenderableType:
        try:
            event = self.session.read(*item.place)
        except (OSError, SteerError) as error:
            return Text(str(error), palette["bad"])
        assert isinstance(event, AnswerJudged)
        return draw_answer(event, self.session.state.evolution, palette)

    def what_if(self, process: WhatIfProcess) -> WhatIfScreen[AnswerTried] | str:
        """The screen for this answer under other deltas, or why there is none."""
        from screens.evolution.what_if import DeltasWhatIf  # only those who ask need it

        try:
            event = self.read_row()
        except (OSError, SteerError) as error:
            return str(error)
        if not isinstance(event, AnswerJudged):
            return "No answer is shown."
        return DeltasWhatIf(process, event, self.session.state.evolution)


def draw_answer(event: AnswerJudged, state: EvolutionState, palette: dict[str, Style]) -> RenderableType:
    """Verdict, text, and which clusters its tokens lie in."""
    word, tone = {True: ("✓ right", "good"), False: ("✗ wrong", "bad"), None: ("· not judged", "warn")}[
        event.correct
    ]
    if event.cannot_tell:
        word, tone = "· the judge cannot tell", "dim"
    title = Text.assemble(
        (event.example, palette["strong"]), "  ",
        link(f"iteration {event.iteration}", Target("iteration", str(event.iteration)), palette["accent"]),
        f", {event.split}   ",
        (word, palette[tone]), f"   {counted(event.tokens, 'tokens')}",
    )  # fmt: skip
    judge = Text.assemble(("judge  ", palette["dim"]), one_line(event.reasoning))
    asked = Text.assemble(
        ("question  ", palette["dim"]), one_line(event.question), ("   gold  ", palette["dim"]), event.gold
    )
    return Group(title, judge, asked, Text(), _coloured(event), Text(), _by_cluster(event, state, palette))


def _coloured(event: AnswerJudged) -> Text:
    if not event.pieces:
        return Text(clean(event.answer))
    text = Text()
    for piece, cluster in zip(event.pieces, event.clusters, strict=False):
        text.append(clean(piece), _style(cluster))
    return text


def _style(cluster: int) -> Style:
    return Style() if cluster == 255 else Style(color=_COLOURS[cluster % len(_COLOURS)])


def _by_cluster(event: AnswerJudged, state: EvolutionState, palette: dict[str, Style]) -> RenderableType:
    """How many of the tokens lie in each cluster, and what is added to them now."""
    item = state.iterations.get(event.iteration)
    deltas = item.deltas if item is not None and event.split in UNDER_DELTAS else {}
    counts: dict[int, int] = {}
    for cluster in event.clusters:
        counts[cluster] = counts.get(cluster, 0) + 1
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=palette["heading"])
    for name, least in (("cluster", 7), ("tokens", 6), ("delta", 5)):
        table.add_column(name, justify="right", no_wrap=True, min_width=least)
    table.add_column("most frequent tokens", no_wrap=True, overflow="ellipsis", ratio=1)
    for cluster, count in sorted(counts.items(), key=lambda pair: -pair[1]):
        name = str(cluster)
        delta = deltas.get(name)
        table.add_row(
            Text("none" if cluster == 255 else f"■ {name}", _style(cluster)), str(count),
            signed(delta, 2) if delta is not None else "·", Text(cluster_words(state, name), palette["dim"]),
        )  # fmt: skip
    return table
