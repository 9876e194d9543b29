"""The held-out questions: each with the paths that were sampled for it, and the prompt they make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

from rich.console import Group, RenderableType
from rich.style import Style
from rich.text import Text
from textual.binding import BindingType

from app.blocks.block import Target
from app.blocks.model_text import clean, one_line
from app.blocks.terminal import link
from app.figures import fixed
from app.runs.what_if import WhatIfProcess
from app.state.columns import Grow
from app.state.gflownet import QuestionRow
from app.state.run import RunState
from app.table.column import Cell, ListColumn
from app.text import counted
from engine.errors import SteerError
from engine.events import PathsTried, QuestionSampled, SampledPath
from screens.gflownet.paths import LEGEND, draw_path, left_at
from screens.panes.list_pane import ListPane, telling_keys
from screens.run_session import Session
from screens.what_if.screen import WhatIfScreen
from screens.widgets.rows import ListSource

_EMPTY = """No paths have been sampled yet.

When the sampler is trained, every held-out question gets a row here, with its paths below it:
distinct ones by probability, independent samples by how often each came up."""


_MOST_WAYS = 4
"""How many of the ways in which paths went wrong are told."""


def _first_hit(rank: int | None) -> Cell:
    return Cell("–", "bad") if rank is None else Cell(str(rank), "good" if rank == 1 else "")


COLUMNS: Sequence[ListColumn[QuestionRow]] = (
    ListColumn("hit", "hit", 3, "right", 0, help="rank of the first path that meets an answer; – none does",
               value=lambda q: q.first_hit, show=_first_hit),
    ListColumn("question", "question", 26, flex=True, value=lambda q: q.question, show=one_line),
    ListColumn("success", "success", 7, "right", 1, help="share of the drawn paths that meet an answer",
               value=lambda q: q.success, show=lambda v: fixed(v, 2)),
    ListColumn("met", "answers", 7, "right", 2, help="answers met, of those in the graph",
               value=lambda q: (q.met, q.answers), show=lambda pair: f"{pair[0]}/{pair[1]}"),
    ListColumn("unique", "paths", 5, "right", 3, help="distinct paths", value=lambda q: q.unique),
    ListColumn("edges", "edges", 6, "right", 5, help="edges of the agent graph", value=lambda q: q.edges),
    ListColumn("sample_id", "id", 12, priority=6, name=True, value=lambda q: q.sample_id),
)  # fmt: skip


class QuestionsPane(ListPane):
    """Questions and their paths."""

    LINKS = True
    BINDINGS: ClassVar[list[BindingType]] = telling_keys(
        "missed", "question of which no path meets an answer, in Paths"
    )

    def __init__(self, session: Session, *, id: str | None = None) -> None:
        super().__init__(session, ListSource(COLUMNS, "questions"), _EMPTY, id=id)

    def items(self, state: RunState) -> Grow[QuestionRow]:
        return state.gflownet.questions

    def telling(self, item: QuestionRow) -> bool:
        return bool(item.answers) and not item.met

    def remark(self) -> str:
        questions = self.session.state.gflownet.questions
        missed = sum(self.telling(question) for question in questions)
        return f"{missed:,} missed: no path meets an answer" if missed else ""

    def draw(self, item: QuestionRow, palette: dict[str, Style], width: int) -> RenderableType:
        try:
            event = self.session.read(*item.place)
        except (OSError, SteerError) as error:
            return Text(str(error), palette["bad"])
        assert isinstance(event, QuestionSampled)
        return draw_question(event, palette)

    def what_if(self, process: WhatIfProcess) -> WhatIfScreen[PathsTried] | str:
        """The screen for drawing the question's paths again, or why there is none."""
        from screens.gflownet.what_if import PathsWhatIf  # only those who ask need it

        try:
            event = self.read_row()
        except (OSError, SteerError) as error:
            return str(error)
        return PathsWhatIf(process, event) if isinstance(event, QuestionSampled) else "No question is shown."


def draw_question(event: QuestionSampled, palette: dict[str, Style]) -> RenderableType:
    """The question, its paths, the prompt."""
    parts: list[RenderableType] = [
        Text(clean(event.question), palette["strong"]),
        Text.assemble(("from ", palette["dim"]), clean(", ".join(event.starts))),
        Text.assemble(("to   ", palette["dim"]), clean(", ".join(event.answers))),
        _said(event, palette),
        link(
            "what the reader answered from these paths",
            Target("evidence", event.sample_id),
            palette["accent"],
        ),
        Text(
            f"{counted(event.nodes, 'nodes')}, {counted(event.edges, 'edges')}   "
            f"temperature {event.temperature:g}, prior α {event.prior_alpha:.2f}, log Z {fixed(event.log_z, 2)}",
            palette["dim"],
        ),
        Text(_drawn(event), palette["dim"]),
    ]
    parts += [Text(), Text(LEGEND, palette["dim"])]
    parts += [draw_path(rank, path, event, palette) for rank, path in enumerate(event.paths, 1)]
    if event.prompt:
        heading = Text("what the language model gets", palette["heading"])
        parts += [Text(), heading, Text(clean(event.prompt), palette["dim"])]
    return Group(*parts)


def _said(event: QuestionSampled, palette: dict[str, Style]) -> Text:
    """How many paths meet an answer; where none does, where they went wrong."""
    meeting = sum(bool(path.answers) for path in event.paths)
    met = len({answer for path in event.paths for answer in path.answers})
    if meeting:
        paths, answers = counted(len(event.paths), "paths"), counted(len(event.answers), "answers")
        return Text(f"✓ {meeting} of {paths} meet an answer; {met} of {answers} met", palette["good"])
    text = Text(f"✗ none of {counted(len(event.paths), 'paths')} meets an answer", palette["bad"])
    left = Counter(_left(path) for path in event.paths)
    for (step, relation), count in left.most_common(_MOST_WAYS):
        where = (
            f"left the shortest paths at step {step} by {relation}" if step else "stopped before an answer"
        )
        text.append(f"\n  {count} {where}", palette["dim"])
    return text


def _left(path: SampledPath) -> tuple[int, str]:
    """Where a path leaves the shortest ones, and by which relation; 0 where it does not."""
    step = left_at(path)
    return step, clean(path.steps[step - 1].relation) if step else ""


def _drawn(event: QuestionSampled) -> str:
    if event.distinct:
        return (
            f"{counted(event.samples, 'paths')} drawn without replacement from P_F, the most probable first"
        )
    return f"{counted(event.samples, 'independent samples')} of P_F, the most frequent path first"
