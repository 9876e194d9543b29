"""An answer: its verdict, the unchanged model's answer beside it, and the clusters that its tokens lie in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import cast

from app.blocks.block import (
    Beside,
    Block,
    Changes,
    Heading,
    OnScreen,
    Paragraph,
    Span,
    Table,
    Target,
    Words,
    facts,
    writing,
)
from app.blocks.model_text import one_line
from app.methods.cases import Cases
from app.methods.cells import outcome_cell, turned_cell
from app.methods.evolution.clusters import WORDS_HEAD, cluster_words
from app.methods.source import CaseSource
from app.state.evolution import AnswerRow, EvolutionState
from app.state.run import RunState
from app.table.column import Cell, ListColumn, Tone
from app.wording.figures import outcome_words, signed
from app.wording.text import counted
from engine.events import AnswerJudged
from engine.evolution.splits import UNCHANGED, UNDER_DELTAS

_EMPTY = """There are no answers yet.

Every answer gets a row here as soon as it is judged."""
_NO_CLUSTER = 255
_COLOURS = (
    "bright_black", "bright_cyan", "bright_yellow", "bright_magenta", "bright_green", "bright_red", "bright_blue",
    "cyan", "yellow", "magenta", "green", "red", "blue",
)  # fmt: skip
"""They differ in lightness, too; the table below an answer has the number of each cluster."""
_NOT_ASKED = "the unchanged model was not asked this question; w asks it, under no deltas"


def _longer(tokens: int | None) -> Cell:
    if tokens is None:
        return Cell("·", "dim")
    return Cell(signed(tokens, 0) if tokens else "0", "good" if tokens < 0 else "bad" if tokens else "dim")


COLUMNS: Sequence[ListColumn[AnswerRow]] = (
    ListColumn("iteration", "#", 3, "right", 1, help="iteration; · answered without deltas",
               value=lambda a: a.iteration if a.split in UNDER_DELTAS else None,
               show=lambda n: "·" if n is None else str(n)),
    ListColumn("correct", "✓", 1, help="✓ right, ✗ wrong, · not judged", show=outcome_cell),
    ListColumn("turned", "±", 1, show=turned_cell,
               help="▲ right where the unchanged model is wrong, ▼ wrong where it is right"),
    ListColumn("tokens", "tokens", 6, "right", 0, help="length of the answer"),
    ListColumn("longer", "± tok", 6, "right", 0, show=_longer,
               help="tokens more than the unchanged model's answer; below 0 it is shorter, which is better"),
    ListColumn("split", "split", 10, priority=2,
               help="minibatch, validation, test; the unchanged model: baseline, test_plain; asked to be brief: "
                    "brief_1, test_brief"),
    ListColumn("question", "question", 22, flex=True, priority=3),
    ListColumn("gold", "gold", 13, flex=True, priority=4, help="the right answer"),
    ListColumn("example", "example", 12, priority=5, name=True),
)  # fmt: skip


def is_of(row: AnswerRow, iteration: int) -> bool:
    """Whether an answer was given under an iteration's deltas."""
    return row.iteration == iteration and row.split in UNDER_DELTAS


def answer_blocks(event: AnswerJudged, source: CaseSource) -> list[Block]:
    """Verdict and judge, the answer beside the unchanged model's, the clusters."""
    state = source.state.evolution
    row = None if event.split in UNCHANGED else state.unchanged(event.example)
    plain = None if row is None else source.at(row.place, AnswerJudged)
    missing = plain is None and event.split not in UNCHANGED
    return [
        _title(event, plain),
        facts([
            ("question", one_line(event.question)),
            ("right answer", event.gold),
            ("judge", event.reasoning),
        ]),
        _texts(event, plain),
        cluster_counts(event, plain, state),
        *([Paragraph(_NOT_ASKED, "dim")] if missing else []),
    ]  # fmt: skip


def _title(event: AnswerJudged, plain: AnswerJudged | None) -> Block:
    where: list[str | Span] = [Span(event.example, "strong"), "  "]
    if event.split in UNDER_DELTAS:
        link = Target("iteration", str(event.iteration))
        where += [Span(f"iteration {event.iteration}", "accent", link), ", "]
    where += [f"{event.split}   ", _verdict(event), f"   {counted(event.tokens, 'tokens')}"]
    if plain is not None:
        less = plain.tokens - event.tokens
        than = f"{abs(less):,} {'fewer' if less >= 0 else 'more'}" if less else "as many"
        where.append(f", {than} {'than' if less else 'as'} the unchanged model  ")
        where.append(_against(event, plain))
    return Paragraph(where)


def _verdict(event: AnswerJudged) -> Span:
    if event.cannot_tell:
        return Span("· the judge cannot tell", "dim")
    tones: dict[bool | None, Tone] = {True: "good", False: "bad", None: "warn"}
    return Span(outcome_words(event.correct), tones[event.correct])


def _against(event: AnswerJudged, plain: AnswerJudged) -> Span:
    if None in (event.correct, plain.correct) or event.correct == plain.correct:
        return Span("")
    return Span("▲ which is wrong", "good") if event.correct else Span("▼ which is right", "bad")


def _texts(event: AnswerJudged, plain: AnswerJudged | None) -> OnScreen:
    """The answer beside the unchanged model's, each token in the colour of its cluster. Documents show in what the two
    differ."""
    name = f"{_under(event)} ({counted(event.tokens, 'tokens')})"
    first = _coloured(event, _under(event))
    if plain is None:
        return OnScreen(first, [Heading(name, 4), writing(event.answer)])
    names = name, f"the unchanged model ({counted(plain.tokens, 'tokens')})"
    beside = Beside(first, _coloured(plain, "the unchanged model"))
    return OnScreen([beside], [Changes(event.answer, plain.answer, names)])


def _under(event: AnswerJudged) -> str:
    if event.split in UNDER_DELTAS:
        return f"under the deltas of iteration {event.iteration}"
    return "the unchanged model" if event.split in UNCHANGED else "asked to be brief"


def _coloured(event: AnswerJudged, name: str) -> list[Block]:
    pieces = [
        Span(piece, _tone(cluster)) for piece, cluster in zip(event.pieces, event.clusters, strict=False)
    ]
    return [Heading(name, 4), Paragraph(pieces or event.answer)]


def _tone(cluster: int) -> Tone:
    return "" if cluster == _NO_CLUSTER else cast(Tone, _COLOURS[cluster % len(_COLOURS)])


def cluster_counts(event: AnswerJudged, plain: AnswerJudged | None, state: EvolutionState) -> Table:
    """How many tokens of the answers lie in each cluster, and what is added to them."""
    item = state.iterations.get(event.iteration)
    deltas = item.deltas if item is not None and event.split in UNDER_DELTAS else {}
    answers = [event] if plain is None else [event, plain]
    counts = [Counter(answer.clusters) for answer in answers]
    rows: list[Sequence[Words]] = []
    for cluster in sorted(set().union(*counts), key=lambda c: -max(count[c] for count in counts)):
        name = "none" if cluster == _NO_CLUSTER else str(cluster)
        words = Span("■ ", _tone(cluster)), cluster_words(state, name)
        rows.append((words, name, *(str(count[cluster]) for count in counts), signed(deltas.get(name), 2)))
    header = (WORDS_HEAD, "cluster", *("tokens", "unchanged")[: len(answers)], "delta")
    notes = ["tokens of each cluster in an answer; delta: what is added to their logits"]
    return Table(header, rows, len(header) - 1, notes=notes)


def _worth_seeing(state: RunState, row: AnswerRow) -> bool:
    if row.split not in UNDER_DELTAS:
        return False
    halved = row.longer is not None and -row.longer >= row.tokens
    return row.turned != 0 or bool(row.correct and halved)


ANSWERS: Cases[AnswerRow] = Cases(
    name="answers",
    columns=COLUMNS,
    rows=lambda state: state.evolution.answers,
    event=AnswerJudged,
    words=lambda event: f"answer to {event.example}, {event.split}, iteration {event.iteration}",
    draw=answer_blocks,
    empty=_EMPTY,
    notable=_worth_seeing,
    notable_words="answer that the deltas turned right (▲) or wrong (▼), or halved",
)
