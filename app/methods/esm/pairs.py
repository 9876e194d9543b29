"""A mined pair: a right and a wrong text of the same problem, and what their difference did when it was tried out."""

from __future__ import annotations

from collections.abc import Sequence

from app.blocks.block import Beside, Block, Heading, Paragraph, Span, Target, writing
from app.methods.cases import Cases
from app.methods.cells import digits
from app.methods.source import CaseSource
from app.state.esm import Pair
from app.state.run import RunState
from app.table.column import Cell, ListColumn, Tone
from app.wording.figures import fixed
from app.wording.text import counted
from engine.events import PairMined

_EFFECTS: dict[str, Tone] = {"fixes": "good", "harms": "bad"}
_EMPTY = """No pair has been mined yet.

The mine stage writes several answers to each training question; the line below counts those that
have ended. Where some are right and some are wrong at the same control point, their difference
becomes a pair, which appears here with the question's last answer."""

COLUMNS: Sequence[ListColumn[Pair]] = (
    ListColumn("pair", "pair", 18, flex=True, help="the words in which wrong and right text differ first",
               value=lambda p: p.entry_name()),
    ListColumn("example", "example", 11, priority=6, name=True),
    ListColumn("m", "m", 2, "right", 1, help="control point"),
    ListColumn("layer", "layer", 5, "right", 4),
    ListColumn("quality", "Q", 6, "right", 0, help="mean reward, right minus wrong", show=fixed),
    ListColumn("positives", "right", 5, "right", 2, help="right rollouts"),
    ListColumn("negatives", "wrong", 5, "right", 2, help="wrong rollouts"),
    ListColumn("delta", "|Δ|", 6, "right", 3, help="length of the vector", value=lambda p: p.delta_norm,
               show=digits(1)),
    ListColumn("effect", "effect", 8, priority=2,
               help="what its vector does to a wrong answer of its own problem; only fixes goes into the library",
               show=lambda word: Cell(word, _EFFECTS.get(word, "dim"))),
    ListColumn("source", "source", 8, priority=7, help="where positives come from"),
    ListColumn("id", "id", 11, priority=8, name=True, value=lambda p: p.pair),
)  # fmt: skip


def pair_blocks(event: PairMined, source: CaseSource, target: Target | None = None) -> list[Block]:
    """What it is made of, how it was tried out, both texts, the question. `target`: where its name leads."""
    against = f"{event.positives} right against {counted(event.negatives, 'wrong rollouts')}"
    state = source.state.esm
    question, pair = state.question(event.example), state.pairs.find(event.pair)
    name = event.pair if pair is None else pair.entry_name()
    return [
        Paragraph((Span(name, "strong", target), Span(f"  {event.pair}", "dim"))),
        Paragraph(f"{against}, Q {fixed(event.quality)}"),
        *_tried_out(event),
        Beside(
            [Paragraph("✓ right wrote", "good"), writing(event.positive_text)],
            [Paragraph("✗ wrong wrote", "bad"), writing(event.negative_text)],
            least=60,
        ),
        *([Heading("question", 4), writing(question)] if question else []),
    ]


def _tried_out(event: PairMined) -> list[Block]:
    if event.steered_correct is None:
        return []
    text = (
        f"from the wrong text on, greedy ends {_outcome(event.wrong_correct)}, with the vector "
        f"{_outcome(event.steered_correct)}; from the right text on, greedy ends {_outcome(event.right_correct)}"
    )
    return [Paragraph((Span("tried out   ", "dim"), text))]


def _outcome(correct: bool | None) -> str:
    return "right" if correct else "wrong"


def _columns(state: RunState) -> Sequence[ListColumn[Pair]]:
    """Without the effect where no pair was tried out (`offline_mine.verify: false`)."""
    tried_out = any(pair.effect for pair in state.esm.pairs[:])
    return [column for column in COLUMNS if tried_out or column.key != "effect"]


def _remark(state: RunState) -> str:
    rollouts = state.esm.rollouts
    return f"{counted(len(rollouts), 'rollouts')}, {state.esm.rollouts_right:,} right" if rollouts else ""


PAIRS: Cases[Pair] = Cases(
    name="pairs",
    columns=COLUMNS,
    rows=lambda state: state.esm.pairs,
    event=PairMined,
    words=lambda event: f"pair {event.pair}",
    draw=pair_blocks,
    empty=_EMPTY,
    notable=lambda state, pair: pair.effect == "fixes",
    notable_words="pair whose vector turns a wrong answer of its problem right",
    remark=_remark,
    columns_of=_columns,
)
