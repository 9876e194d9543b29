"""The GFlowNet screen, live or replayed: data, training, paths, figures, answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from app.blocks.block import Target
from app.commands import bindings
from app.methods.place import Place
from screens.gflownet.evidence import EvidencePane
from screens.gflownet.evidence_answers import EvidenceAnswersPane
from screens.gflownet.methods import MethodsPane
from screens.gflownet.questions import QuestionsPane
from screens.gflownet.steps import StepsPane
from screens.panes.files import FilesPane
from screens.tabbed_screen import STYLES, TabbedScreen, tab_commands
from screens.widgets.tab_line import Tab

TABS = [
    Tab("evidence-pane", "Data"),
    Tab("steps-pane", "Training"),
    Tab("questions-pane", "Paths"),
    Tab("methods-pane", "Figures"),
    Tab("evidence-answers-pane", "Answers"),
    Tab("gflownet-files-pane", "Files"),
]


class GFlowNetScreen(TabbedScreen):
    """The GFlowNet screen of one run."""

    CSS_PATH = [STYLES, "screen.tcss"]
    TITLE_WORD = "GFlowNet"
    TABS = TABS
    STAGE_TABS = {
        "graphs": "evidence-pane",
        "retriever": "evidence-pane",
        "agent-graphs": "evidence-pane",
        "gflownet": "steps-pane",
        "answer": "evidence-answers-pane",
    }
    BINDINGS: ClassVar[list[BindingType]] = bindings(tab_commands(TABS))
    HELP = """\
# GFlowNet: evidence paths

A sampler walks from the question's entities along edges of its graph and may stop at any time. It is trained so
that it samples each path in proportion to its reward R: 1 for a path that meets an answer, 0.001 for others. On every
path of a perfect sampler δ = log Z + log P_F − log P_B − log R is zero; *Training* charts δ with its quantiles, and
how many samples meet an answer.

*Data* counts what each stage kept and left out. *Paths* lists the held-out questions; below stands each distinct path
with its probability P_F, its reward and the answers it meets (thick lines lie on a shortest path), then the prompt for
the language model. `d` goes to the next question of which no path meets an answer: there stands how many paths left the
shortest ones, at which step and by which relation, and ≠ marks the place in each. The paths are drawn without
replacement, so that none comes twice; or each is drawn for itself, and ×n says how often it came up. `w` in *Paths*
draws them again at another temperature, with another prior or draw.
*Figures* compares the sampler with its baselines at equally many paths, and log P_F with log R: `distinct` draws
without replacement, `gflownet` each path for itself, `beam` is beam search on the retriever's scores. TV is how far P_F
is from R: 0 for a perfect sampler, 1 at most. *Answers* compares the answers of a reader that gets the sampled paths
with its answers from the best-scored triples, at the same token budget.
"""

    def panes(self) -> ComposeResult:
        yield EvidencePane(self.session, id="evidence-pane")
        yield StepsPane(self.session, id="steps-pane")
        yield QuestionsPane(self.session, id="questions-pane")
        yield MethodsPane(self.session, id="methods-pane")
        yield EvidenceAnswersPane(self.session, id="evidence-answers-pane")
        yield FilesPane(self.session, id="gflownet-files-pane")

    def counts(self) -> Sequence[int | None]:
        state = self.session.state.gflownet
        return None, len(state.steps), len(state.questions), len(state.test), len(state.answers)

    def place_of(self, target: Target) -> Place | None:
        """A `question` with its paths, or the `evidence` that the reader answered it from."""
        state = self.session.state.gflownet
        if target.kind == "question":
            tab, ids = "questions-pane", [row.sample_id for row in state.questions]
        else:
            tab, ids = "evidence-answers-pane", list(dict.fromkeys(row.sample_id for row in state.answers))
        return Place(tab, ids.index(target.name), open=True) if target.name in ids else None
