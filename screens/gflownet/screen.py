"""The sampler of evidence paths, live or replayed: training, figures beside baselines, questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.getters import query_one

from app.commands import Command, bindings
from app.runs.path_sampler import PathSampler
from engine.errors import SteerError
from screens.gflownet.evidence import EvidencePane
from screens.gflownet.evidence_answers import EvidenceAnswersPane
from screens.gflownet.methods import MethodsPane
from screens.gflownet.questions import QuestionsPane
from screens.gflownet.sample_again import SampleAgain, SampleAgainScreen
from screens.gflownet.steps import StepsPane
from screens.panes.files import FilesPane
from screens.tabbed_screen import TabbedScreen, tab_commands
from screens.widgets.tab_line import Tab

TABS = [
    Tab("evidence-pane", "Data"),
    Tab("steps-pane", "Training"),
    Tab("questions-pane", "Paths"),
    Tab("methods-pane", "Figures"),
    Tab("evidence-answers-pane", "Answers"),
    Tab("gflownet-files-pane", "Files"),
]
COMMANDS = (
    Command("r", "sample_again", "Sample again", "Sample the question under the cursor with other settings."),
)


class GFlowNetScreen(TabbedScreen):
    """The GFlowNet screen of one run."""

    CSS_PATH = ["../tabbed_screen.tcss", "screen.tcss"]
    TITLE_WORD = "GFlowNet"
    TABS = TABS
    STAGE_TABS = {"graphs": 0, "retriever": 0, "agent-graphs": 0, "gflownet": 1, "answer": 4}
    BINDINGS: ClassVar[list[BindingType]] = bindings((*tab_commands(TABS), *COMMANDS))
    HELP = """\
# GFlowNet: evidence paths

A sampler walks from the question's entities along edges of its graph and may stop at any time. It is trained so
that a path comes up in proportion to its reward R: 1 where it meets an answer, a thousandth where not. On every
path log Z + log P_F − log P_B − log R = δ should be zero; *Training* shows what is left of it.

*Paths* lists the held-out questions with the paths that were sampled: how often, at which probability P_F, which
answers they meet; thick lines lie on a shortest path. `r` samples a question again with another temperature,
prior or draw; `escape` goes back to the samples of the run. Below the paths stands the prompt they make.
*Data* counts what each stage kept and left out. *Answers* compares what a reader makes of the sampled paths with what
it makes of the best-scored triples at the same token budget.
*Figures* has the sampler beside beam search over the retriever's scores, at as many paths.
"""

    questions = query_one(QuestionsPane)
    _sampler: PathSampler | None = None

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

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "sample_again":
            return self.tabs.active == 2 and bool(len(self.session.state.gflownet.questions))
        return super().check_action(action, parameters)

    def action_sample_again(self) -> None:
        """Ask how, then sample."""
        item = self.questions.selected
        if item is None:
            return
        try:
            shown = self.questions.sampled(item)
        except (OSError, SteerError) as error:
            self.notify(str(error), severity="error", markup=False)
            return
        self.app.push_screen(SampleAgainScreen(shown), self._chosen_settings)

    def _chosen_settings(self, wanted: SampleAgain | None) -> None:
        if wanted is not None:
            self._sample(wanted)

    @work(exclusive=True, group="sample")
    async def _sample(self, wanted: SampleAgain) -> None:
        self._sampler = self._sampler or PathSampler(self.session.run_dir)
        self.notify("Sampling …", timeout=2)
        try:
            event = await self._sampler.ask(wanted)
        except SteerError as error:
            self.notify(str(error), severity="error", markup=False)
            return
        self.questions.again[event.sample_id] = event
        self.questions.show()

    async def on_unmount(self) -> None:
        if self._sampler is not None:
            await self._sampler.close()
