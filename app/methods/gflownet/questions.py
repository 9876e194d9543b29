"""A held-out question: the paths that were sampled for it, and what the reader answered from them and, at one token
budget, from the best-scored triples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from app.blocks.block import Block, Heading, Paragraph, Span, facts, writing
from app.blocks.model_text import one_line
from app.methods.cases import Cases
from app.methods.cells import digits, outcome_cell, turned_cell
from app.methods.gflownet.evidence import EVIDENCE, answer_words, evidence_name, prompt_blocks, verdict_blocks
from app.methods.gflownet.paths import left_at, path_table
from app.methods.source import CaseSource
from app.state.gflownet import EvidenceRow, GFlowNetState, QuestionRow
from app.state.run import RunState
from app.table.column import Cell, ListColumn
from app.wording.figures import fixed
from app.wording.text import counted
from engine.events import EvidenceAnswered, QuestionSampled, SampledPath
from engine.run.event_log import LogPlace

_EMPTY = """No paths have been sampled yet.

When the sampler is trained, every held-out question gets a row here, with its paths below it:
distinct ones by probability, independent draws by how often each came up. Then a reader answers it
twice at the same token budget: from the paths, and from the triples that the retriever scores highest."""
_MOST_WAYS = 4
"""How many of the ways in which paths went wrong are listed."""


class Question(NamedTuple):
    """A question with its paths, and its answers from both kinds of evidence, as far as there are any."""

    sampled: QuestionRow
    paths: EvidenceRow | None
    triples: EvidenceRow | None

    @property
    def place(self) -> LogPlace:
        """Where its paths stand in the log."""
        return self.sampled.place

    @property
    def places(self) -> list[LogPlace]:
        """Where all of it stands: the row is found by each of them."""
        return [row.place for row in self if row is not None]

    @property
    def sign(self) -> int:
        """1 where paths alone lead to a right answer, -1 where triples alone do."""
        if self.paths is None or self.triples is None:
            return 0
        return int(self.paths.hit) - int(self.triples.hit)

    @property
    def missed(self) -> bool:
        """Whether no path meets an answer that its graph has."""
        return bool(self.sampled.answers) and not self.sampled.met


def answers_to(state: GFlowNetState, sample_id: str) -> list[EvidenceRow | None]:
    """A question's answers, the one from sampled paths first."""
    return [state.answers.find((sample_id, method)) for method in EVIDENCE]


def question_rows(state: GFlowNetState) -> list[Question]:
    """The questions for which paths were sampled, in the order of the log."""
    return [Question(row, *answers_to(state, row.sample_id)) for row in state.questions]


def _hit(row: EvidenceRow | None) -> bool | None:
    return None if row is None else row.hit


def _first_hit(rank: int | None) -> Cell:
    return Cell("–", "bad") if rank is None else Cell(str(rank), "good" if rank == 1 else "")


COLUMNS: Sequence[ListColumn[Question]] = (
    ListColumn("hit", "rank", 4, "right", 0, help="rank of the first path that meets an answer; – none does",
               value=lambda q: q.sampled.first_hit, show=_first_hit),
    ListColumn("reader", "reader", 6, help="answered from sampled paths: ✓ names a right answer",
               value=lambda q: _hit(q.paths), show=outcome_cell),
    ListColumn("sign", "±", 1, help="▲ right from paths and not from triples, ▼ the other way round",
               show=turned_cell),
    ListColumn("triples", "triples", 7, help="answered from the best-scored triples",
               value=lambda q: _hit(q.triples), show=outcome_cell),
    ListColumn("question", "question", 26, flex=True, value=lambda q: q.sampled.question, show=one_line),
    ListColumn("answer", "answer from paths", 18, flex=True, priority=4,
               value=lambda q: "" if q.paths is None else q.paths.answer, show=one_line),
    ListColumn("success", "meeting", 7, "right", 1, help="share of the drawn paths that meet an answer",
               value=lambda q: q.sampled.success, show=digits(2)),
    ListColumn("met", "answers", 7, "right", 2, help="answers met, of those in the graph",
               value=lambda q: (q.sampled.met, q.sampled.answers), show=lambda pair: f"{pair[0]}/{pair[1]}"),
    ListColumn("unique", "paths", 5, "right", 3, help="distinct paths", value=lambda q: q.sampled.unique),
    ListColumn("edges", "edges", 6, "right", 5, help="edges of the agent graph", value=lambda q: q.sampled.edges),
    ListColumn("sample_id", "id", 12, priority=6, name=True, value=lambda q: q.sampled.sample_id),
)  # fmt: skip


def _remark(state: RunState) -> str:
    rows = question_rows(state.gflownet)
    missed, signs = sum(row.missed for row in rows), [row.sign for row in rows]
    only = f"▲ {signs.count(1):,} right from paths only, ▼ {signs.count(-1):,} from triples only"
    parts = [f"{missed:,} whose paths meet no answer" if missed else "", only if any(signs) else ""]
    return "  │  ".join(filter(None, parts))


def question_blocks(event: QuestionSampled | EvidenceAnswered, source: CaseSource) -> list[Block]:
    """The question, what the reader answered, how its paths fared, the paths, the prompts."""
    gflownet = source.state.gflownet
    row = gflownet.questions.find(event.sample_id)
    place = None if row is None else row.place
    sampled = event if isinstance(event, QuestionSampled) else source.at(place, QuestionSampled)
    rows = [each for each in answers_to(gflownet, event.sample_id) if each is not None]
    answers = [answer for each in rows if (answer := source.at(each.place, EvidenceAnswered)) is not None]
    ends = [] if sampled is None else [("from", sampled.starts), ("to", sampled.answers)]
    golds = "" if sampled is not None and set(event.golds) == set(sampled.answers) else ", ".join(event.golds)
    read = [(f"from {evidence_name(answer.method)}", answer_words(answer)) for answer in answers]
    return [
        Paragraph((Span(event.question, "strong"), Span(f"   {event.sample_id}", "dim"))),
        facts([*((name, ", ".join(nodes)) for name, nodes in ends), ("right answers", golds), *read]),
        *verdict_blocks(answers),
        *([] if sampled is None else _paths(sampled)),
        *(prompt_blocks(answers) or ([] if sampled is None else _prompt(sampled))),
    ]


def _paths(event: QuestionSampled) -> list[Block]:
    """How the paths fared, how they were drawn, and the paths."""
    about = (
        f"{counted(event.nodes, 'nodes')}, {counted(event.edges, 'edges')}   "
        f"temperature {event.temperature:g}, prior α {event.prior_alpha:.2f}, log Z {fixed(event.log_z, 2)}"
    )
    return [
        *_fared(event),
        Paragraph(about, "dim"),
        Paragraph(_drawn(event), "dim"),
        path_table((("", rank, path) for rank, path in enumerate(event.paths, 1)), event),
    ]


def _prompt(event: QuestionSampled) -> list[Block]:
    heading = Heading("what the language model gets", 4)
    return [heading, writing(event.prompt, "dim")] if event.prompt else []


def _fared(event: QuestionSampled) -> list[Block]:
    """How many paths meet an answer; where none does, where they went wrong."""
    meeting = sum(bool(path.answers) for path in event.paths)
    paths = counted(len(event.paths), "paths")
    if meeting:
        met = len({answer for path in event.paths for answer in path.answers})
        answers = counted(len(event.answers), "answers")
        return [Paragraph(f"✓ {meeting} of {paths} meet an answer; {met} of {answers} met", "good")]
    left = Counter(map(_left, event.paths)).most_common(_MOST_WAYS)
    ways = (Paragraph(f"  {count} {_where(*way)}", "dim") for way, count in left)
    return [Paragraph(f"✗ none of {paths} meets an answer", "bad"), *ways]


def _left(path: SampledPath) -> tuple[int, str]:
    """Where a path leaves the shortest ones, and by which relation; 0 where it does not."""
    step = left_at(path)
    return step, path.steps[step - 1].relation if step else ""


def _where(step: int, relation: str) -> str:
    return f"left the shortest paths at step {step} by {relation}" if step else "stopped before an answer"


def _drawn(event: QuestionSampled) -> str:
    if event.distinct:
        return (
            f"{counted(event.samples, 'paths')} drawn without replacement from P_F, the most probable first"
        )
    return f"{counted(event.samples, 'independent draws')} from P_F, the most frequent path first"


def _words(event: QuestionSampled | EvidenceAnswered) -> str:
    if isinstance(event, QuestionSampled):
        return f"question {event.sample_id}"
    return f"answer from {evidence_name(event.method)} to {event.sample_id}"


QUESTIONS: Cases[Question] = Cases(
    name="questions",
    columns=COLUMNS,
    rows=lambda state: question_rows(state.gflownet),
    event=QuestionSampled,
    also=(EvidenceAnswered,),
    words=_words,
    draw=question_blocks,
    empty=_EMPTY,
    notable=lambda state, row: row.missed or row.sign != 0,
    notable_words="question of which no path meets an answer, or that is right from paths or from triples only",
    remark=_remark,
)
