"""Questions answered from sampled paths and from the best-scored triples, at one token budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from rich.console import Group, RenderableType
from rich.style import Style
from rich.text import Text
from textual.binding import BindingType

from app.blocks.block import Target
from app.blocks.model_text import clean, one_line
from app.blocks.terminal import link
from app.figures import fixed, interval, outcome, probability, signed
from app.state.gflownet import EvidenceRow
from app.state.method import Place
from app.state.run import RunState
from app.table.column import Cell, ListColumn, Tone
from app.text import counted
from engine.errors import SteerError
from engine.events import EvidenceAnswered, EvidenceCompared
from screens.panes.list_pane import ListPane, telling_keys
from screens.run_session import Session
from screens.widgets.rows import ListSource

_EMPTY = """No question has been answered yet.

Every held-out question is answered twice by the same reader at the same token budget: from the
sampled paths, and from the triples that the retriever scores highest."""

WORDS = {"gflownet": "from sampled paths", "triples": "from the best-scored triples"}


class AnswerPair(NamedTuple):
    """A question's answers from both kinds of evidence; the second may still be missing."""

    question: str
    sample_id: str
    paths: EvidenceRow | None
    triples: EvidenceRow | None

    @property
    def places(self) -> list[Place]:
        """Where its answers stand in the log, the first one first."""
        return sorted(row.place for row in (self.paths, self.triples) if row is not None)

    @property
    def place(self) -> Place | None:
        """Where the first one stands."""
        return next(iter(self.places), None)


def _hit_key(row: EvidenceRow | None) -> bool | None:
    return None if row is None else row.hit


_SIGNS: dict[int, tuple[str, Tone]] = {1: ("▲", "good"), 0: (" ", ""), -1: ("▼", "bad")}


def _sign(pair: AnswerPair) -> int:
    """1 where paths alone lead to a right answer, -1 where triples alone do."""
    return 0 if pair.paths is None or pair.triples is None else int(pair.paths.hit) - int(pair.triples.hit)


COLUMNS: Sequence[ListColumn[AnswerPair]] = (
    ListColumn("paths", "paths", 5, priority=0, help="answered from sampled paths: ✓ names a right answer",
               value=lambda p: _hit_key(p.paths), show=lambda hit: _mark(hit)),
    ListColumn("sign", "±", 1, priority=0, help="▲ right from paths and not from triples, ▼ the other way round",
               value=lambda p: _sign(p), show=lambda sign: Cell(*_SIGNS[sign])),
    ListColumn("triples", "triples", 7, priority=0, help="answered from the best-scored triples",
               value=lambda p: _hit_key(p.triples), show=lambda hit: _mark(hit)),
    ListColumn("question", "question", 28, flex=True, value=lambda p: p.question, show=one_line),
    ListColumn("answer", "answer from paths", 18, flex=True, priority=2,
               value=lambda p: "" if p.paths is None else p.paths.answer, show=one_line),
    ListColumn("sample_id", "id", 12, priority=4, name=True, value=lambda p: p.sample_id),
)  # fmt: skip


def _mark(hit: bool | None) -> Cell:
    return Cell(outcome(hit), "dim" if hit is None else "good" if hit else "bad")


class EvidenceAnswersPane(ListPane):
    """A row for each question; below it both answers with their prompts."""

    LINKS = True
    BINDINGS: ClassVar[list[BindingType]] = telling_keys(
        "▲▼", "question that is right from paths or from triples only, in Answers"
    )

    def __init__(self, session: Session, *, id: str | None = None) -> None:
        super().__init__(session, ListSource(COLUMNS, "questions"), _EMPTY, id=id)

    def items(self, state: RunState) -> list[AnswerPair]:
        rows: dict[str, dict[str, EvidenceRow]] = {}
        for row in state.gflownet.answers:
            rows.setdefault(row.sample_id, {})[row.method] = row
        return [
            AnswerPair(
                next(iter(answers.values())).question,
                sample_id,
                answers.get("gflownet"),
                answers.get("triples"),
            )
            for sample_id, answers in rows.items()
        ]

    def telling(self, item: AnswerPair) -> bool:
        return _sign(item) != 0

    def key(self, item: AnswerPair) -> object:
        return item, len(self.session.state.gflownet.compared)

    def draw(self, item: AnswerPair, palette: dict[str, Style], width: int) -> RenderableType:
        parts: list[RenderableType] = []
        compared = self.session.state.gflownet.compared
        if "gflownet" in compared and "triples" in compared:
            parts += [draw_comparison(compared["gflownet"], compared["triples"], palette), Text()]
        parts.append(Text(clean(item.question), palette["strong"]))
        parts.append(
            link("the paths that were sampled", Target("question", item.sample_id), palette["accent"])
        )
        for row in (item.paths, item.triples):
            if row is not None:
                parts += [Text(), self._evidence(row, palette)]
        return Group(*parts)

    def _evidence(self, row: EvidenceRow, palette: dict[str, Style]) -> RenderableType:
        try:
            event = self.session.read(*row.place)
        except (OSError, SteerError) as error:
            return Text(str(error), palette["bad"])
        assert isinstance(event, EvidenceAnswered)
        head = Text(WORDS[event.method], palette["heading"])
        head.append(
            f"  {counted(event.triples, 'triples')}, {counted(event.prompt_tokens, 'tokens')}", palette["dim"]
        )
        said = ", ".join(event.answer.split("\n")) if not event.failure else f"no answer: {event.failure}"
        given, right = clean(said + (" (cut off)" if event.cut else "")), clean(", ".join(event.golds))
        mark = (f"{outcome(event.hit)} ", palette["good" if event.hit else "bad"])
        answer = Text.assemble(mark, given, ("   right: ", palette["dim"]), right)
        return Group(head, answer, Text(clean(event.prompt), palette["dim"]))


def draw_comparison(paths: EvidenceCompared, triples: EvidenceCompared, palette: dict[str, Style]) -> Text:
    """Both hit rates, their difference, and the reader."""
    text = Text.assemble(("hit ", palette["dim"]), (fixed(paths.hit), palette["strong"]), " from paths, ")
    text.append(f"{fixed(triples.hit)} from triples   {signed(paths.difference)} ")
    text.append(f"{interval(paths.low, paths.high)}  p {probability(paths.p)}")
    text.append(f"   {counted(paths.n, 'questions')}, read by {clean(paths.reader)}", palette["dim"])
    if paths.missed:
        text.append(f"\nof all held-out questions {fixed(paths.hit_all)} and {fixed(triples.hit_all)}")
        missed = counted(paths.missed, "questions")
        text.append(f"   {missed} whose answers no path reaches count as missed", palette["dim"])
    return text
