"""The modes of giving memory notes side by side: scores with intervals, what their notes did, what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from app.blocks.block import Block, Paragraph, Picture, Span, Table, Target, Tone, Words, table_of
from app.blocks.plots import interval_picture
from app.methods.cells import DIFFERENCE, Count, bounds_of, difference_of, interval_of, linked_counts
from app.methods.chart import Series
from app.methods.slsm.answers import variant, variant_words
from app.state.run import RunState
from app.state.slsm import SLSMState
from app.table.column import Cell, ListColumn
from app.wording.figures import fixed
from app.wording.text import counted
from app.wording.words import method_name, short_method_name
from engine.events import ModeScored

_CHOSEN = (
    "The best of {} modes looks better than it is: the interval does not count that it was chosen by this score. "
    "Confirm it on other conversations."
)


SCORES: Sequence[ListColumn[ModeScored]] = (
    ListColumn("mode", "mode", 14, show=short_method_name),
    ListColumn("memory", "memory", 10, value=lambda r: r.memory_mode, show=lambda m: Cell(m, "dim")),
    ListColumn("n", "n", 4, "right", 5),
    ListColumn("score", "score", 5, "right",
               help="share of conversations whose answer passes; every axis counts alike", value=lambda r: r,
               show=lambda r: fixed(r.score) if r.judged else "·"),
    ListColumn("interval", "95%", 14, "right", 2, value=bounds_of("low", "high")),
    ListColumn("difference", "− no note", 9, "right", value=difference_of(*DIFFERENCE)),
    ListColumn("difference_interval", "95%", 16, "right", 1, value=interval_of(*DIFFERENCE)),
    ListColumn("notes", "notes", 5, "right", 4, help="conversations with a note", value=lambda r: r.injections),
    ListColumn("fixed", "fixed", 5, "right", 3, help="the note made a failing answer pass"),
    ListColumn("broke", "broke", 5, "right", 3, help="it made a passing one fail"),
    ListColumn("wasted", "wasted", 6, "right", 6, help="it changed nothing"),
    ListColumn("cut", "cut", 4, "right", 7, help="answers that ended at the limit of tokens"),
    ListColumn("unanswered", "no answer", 9, "right", 7, help="conversations without an answer"),
)  # fmt: skip


def scores(state: SLSMState) -> list[Block]:
    """Which mode is best, and the table of all."""
    rows = list(state.modes.values())
    return [*_best(rows), *table_of(SCORES, rows, "Memory notes, against no note")]


def _best(rows: Sequence[ModeScored]) -> list[Block]:
    """What the notes of the best mode did, and that it was chosen by the score that is shown."""
    others = [row for row in rows if row.mode != "baseline" and row.score is not None]
    if not others:
        return []
    best = max(others, key=lambda row: (row.score or 0.0, -row.injections))
    did = (
        f"The best mode by score: {method_name(best.mode)}, {best.memory_mode} memory. It turned "
        f"{counted(best.fixed, 'answers')} right and {best.broke:,} wrong; {best.wasted:,} of {best.injections:,} "
        "notes changed nothing."
    )
    chosen = [Paragraph(_CHOSEN.format(len(others)), "dim")] if len(others) > 1 else []
    return [Paragraph(did, "dim"), *chosen]


def details(state: SLSMState) -> list[Block]:
    """By axis, the first cases of what notes did, the cost; and what the stage answered with what."""
    rows = list(state.modes.values())
    tables = [_by_axis(rows), *_turned(rows), _cost(rows)] if rows else []
    return [*tables, *_about(state)]


def _names(row: ModeScored) -> tuple[Words, Words]:
    return short_method_name(row.mode), Span(row.memory_mode, "dim")


def _by_axis(rows: Sequence[ModeScored]) -> Block:
    scores = [{str(axis[0]): float(axis[1]) for axis in row.by_axis} for row in rows]
    axes = list(dict.fromkeys(axis for known in scores for axis in known))
    lines = [
        (*_names(row), *(fixed(known.get(axis)) for axis in axes))
        for row, known in zip(rows, scores, strict=True)
    ]
    heads = [axis.lower().replace("_", " ") or "all" for axis in axes]
    return Table(("by axis", "memory", *heads), lines, len(heads))


def _turned(rows: Sequence[ModeScored]) -> list[Block]:
    """How many answers the notes of each mode fixed, and how many they broke; a count leads to the first of them."""
    lines = (
        ("fixed:  ", *linked_counts(_did(row, row.fixed, "fixed", "good") for row in rows)),
        ("broke:  ", *linked_counts(_did(row, row.broke, "broke", "bad") for row in rows)),
    )
    return [Paragraph(line) for line in lines if line[1:]]


def _did(row: ModeScored, count: int, did: str, tone: Tone) -> Count:
    return count, f"{variant_words(row)} {count:,}", tone, Target(did, variant(row))


def _cost(rows: Sequence[ModeScored]) -> Table:
    lines = [
        (
            *_names(row), f"{row.injected_tokens:.1f}",
            f"{row.controller_calls:.2f}", f"{row.model_calls:.2f}", f"{row.detector_calls:.2f}",
            f"{row.controller_tokens + row.model_tokens + row.detector_tokens:,.0f}",
            Span(str(row.failures), "bad" if row.failures else "dim"),
        )
        for row in rows
    ]  # fmt: skip
    header = ("calls and tokens", "memory", "note", "controller", "model", "detector", "tokens", "failed")
    about = ("", "", "its tokens", "", "", "", "", "all calls of the controller that failed")
    return Table(header, lines, 6, "", ["means of a conversation"], about, [0, 1, 3, 2, 2, 2, 0, 0])


def _about(state: SLSMState) -> list[Block]:
    began = state.began
    if began is None:
        return []
    data = Span(f"{counted(began.conversations, 'conversations')} of {began.dataset}", "strong")
    detector = f"   detector {began.detector}" if began.detector else ""
    blocks: list[Block] = [
        Paragraph((data, Span(f"   sha256 {began.dataset_hash[:12]}", "dim"))),
        Paragraph(f"model {began.model}   controller {began.controller}{detector}   judge {began.judge}"),
    ]
    if state.failures:
        calls = counted(state.failures, "calls")
        what = "the state did not change, or the answer was not compared with it"
        blocks.append(Paragraph(f"{calls} of the controller failed: {what}", "bad"))
    return blocks


def course(state: RunState) -> list[Series]:
    """A line for each mode: the share of its answers that pass, after each that was judged. Of two kinds of memory the
    first is shown, and baseline, which has none."""
    results = state.slsm.results
    memories = list(dict.fromkeys(row.memory_mode for row in results if row.mode != "baseline"))
    judged: dict[str, list[bool]] = {}
    for row in results:
        if row.passed is not None and row.memory_mode not in memories[1:]:
            judged.setdefault(variant_words(row), []).append(row.passed)
    return [
        Series(name, range(1, len(passed) + 1), [right / n for n, right in enumerate(accumulate(passed), 1)])
        for name, passed in judged.items()
    ]


def score_picture(state: SLSMState) -> list[Picture]:
    """The modes' scores with their intervals."""
    modes = state.modes.values()
    rows = ((f"{method_name(r.mode)}, {r.memory_mode}", r.score, r.low, r.high) for r in modes)
    return interval_picture(rows, "Share of conversations that pass, with stratified bootstrap 95% intervals")
