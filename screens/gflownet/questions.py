"""The held-out questions: each with the paths that were sampled for it, and the prompt they make."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.style import Style
from rich.text import Text

from app.runs.what_if import WhatIfProcess
from app.state.columns import Grow
from app.state.gflownet import QuestionRow
from app.state.run import RunState
from app.text import counted
from engine.errors import SteerError
from engine.events import PathsTried, QuestionSampled
from screens.gflownet.paths import LEGEND, draw_path
from screens.panes.list_pane import ListPane
from screens.run_session import Session
from screens.what_if.screen import WhatIfScreen
from screens.widgets.figures import fixed
from screens.widgets.links import Target, link
from screens.widgets.model_text import clean, one_line
from screens.widgets.rows import Cell, ListColumn, ListSource

_EMPTY = """No paths have been sampled yet.

When the sampler is trained, every held-out question gets a row here, with its paths below it:
distinct ones by probability, independent samples by how often each came up."""


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

    def __init__(self, session: Session, *, id: str | None = None) -> None:
        super().__init__(session, ListSource(COLUMNS, "questions"), _EMPTY, id=id)

    def items(self, state: RunState) -> Grow[QuestionRow]:
        return state.gflownet.questions

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


def _drawn(event: QuestionSampled) -> str:
    if event.distinct:
        return (
            f"{counted(event.samples, 'paths')} drawn without replacement from P_F, the most probable first"
        )
    return f"{counted(event.samples, 'independent samples')} of P_F, the most frequent path first"
