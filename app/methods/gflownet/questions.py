"""A held-out question with the paths that were sampled for it, and the prompt they make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from app.blocks.block import Block, Heading, Paragraph, Span, facts, writing
from app.blocks.model_text import one_line
from app.methods.cases import Cases
from app.methods.cells import digits
from app.methods.gflownet.evidence import reader_answers
from app.methods.gflownet.paths import left_at, path_table
from app.methods.source import CaseSource
from app.state.gflownet import QuestionRow
from app.state.run import RunState
from app.table.column import Cell, ListColumn
from app.wording.figures import fixed
from app.wording.text import counted
from engine.events import QuestionSampled, SampledPath

_EMPTY = """No paths have been sampled yet.

When the sampler is trained, every held-out question gets a row here, with its paths below it:
distinct ones by probability, independent draws by how often each came up."""
_MOST_WAYS = 4
"""How many of the ways in which paths went wrong are listed."""


def _first_hit(rank: int | None) -> Cell:
    return Cell("–", "bad") if rank is None else Cell(str(rank), "good" if rank == 1 else "")


COLUMNS: Sequence[ListColumn[QuestionRow]] = (
    ListColumn("hit", "hit", 3, "right", 0, help="rank of the first path that meets an answer; – none does",
               value=lambda q: q.first_hit, show=_first_hit),
    ListColumn("question", "question", 26, flex=True, show=one_line),
    ListColumn("success", "success", 7, "right", 1, help="share of the drawn paths that meet an answer",
               show=digits(2)),
    ListColumn("met", "answers", 7, "right", 2, help="answers met, of those in the graph",
               value=lambda q: (q.met, q.answers), show=lambda pair: f"{pair[0]}/{pair[1]}"),
    ListColumn("unique", "paths", 5, "right", 3, help="distinct paths"),
    ListColumn("edges", "edges", 6, "right", 5, help="edges of the agent graph"),
    ListColumn("sample_id", "id", 12, priority=6, name=True),
)  # fmt: skip


def is_missed(row: QuestionRow) -> bool:
    """Whether no path meets an answer that its graph has."""
    return bool(row.answers) and not row.met


def _remark(state: RunState) -> str:
    missed = sum(map(is_missed, state.gflownet.questions))
    return f"{missed:,} missed: no path meets an answer" if missed else ""


def question_blocks(event: QuestionSampled, source: CaseSource) -> list[Block]:
    """The question, how its paths fared, what the reader answered, the paths, the prompt."""
    about = (
        f"{counted(event.nodes, 'nodes')}, {counted(event.edges, 'edges')}   "
        f"temperature {event.temperature:g}, prior α {event.prior_alpha:.2f}, log Z {fixed(event.log_z, 2)}"
    )
    golds = "" if set(event.golds) == set(event.answers) else ", ".join(event.golds)
    blocks: list[Block] = [
        Paragraph((Span(event.question, "strong"), Span(f"   {event.sample_id}", "dim"))),
        facts(
            [("from", ", ".join(event.starts)), ("to", ", ".join(event.answers)), ("right answers", golds)]
        ),
        *_fared(event),
        *reader_answers(source.state.gflownet, event.sample_id),
        Paragraph(about, "dim"),
        Paragraph(_drawn(event), "dim"),
        path_table((("", rank, path) for rank, path in enumerate(event.paths, 1)), event),
    ]
    if event.prompt:
        blocks += [Heading("what the language model gets", 4), writing(event.prompt, "dim")]
    return blocks


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


QUESTIONS: Cases[QuestionRow] = Cases(
    name="questions",
    columns=COLUMNS,
    rows=lambda state: state.gflownet.questions,
    event=QuestionSampled,
    words=lambda event: f"paths of {event.sample_id}",
    draw=question_blocks,
    empty=_EMPTY,
    notable=lambda state, row: is_missed(row),
    notable_words="question of which no path meets an answer",
    remark=_remark,
)
