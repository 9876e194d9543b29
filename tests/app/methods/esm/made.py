"""A small run of ESM made by hand: three problems under greedy and esm, and what is drawn of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.style import Style

from app.blocks.block import Block, Document
from app.blocks.markdown import to_markdown
from app.blocks.terminal import draw
from app.methods.source import CaseSource
from app.state.run import RunState
from app.table.column import Cell, ListColumn, cell_of
from engine.events import (
    Candidate,
    DecisionTaken,
    EntryPicked,
    Event,
    ExampleEvaluated,
    MethodEvaluated,
    PairMined,
)

PALETTE = {name: Style.null() for name in ("dim", "strong", "good", "bad", "accent", "warn", "heading")}
W1 = "data-0001_m1_l2_wrong"


def source_of(events: Iterable[Event]) -> CaseSource:
    """The state after these events, each at its own place."""
    state, by_place = RunState(), dict[tuple[int, int], Event]()
    for offset, event in enumerate(events):
        state.apply(event, offset, 1)
        by_place[offset, 1] = event
    return CaseSource(Path("run"), state, lambda *place: by_place[place])


def text_of(blocks: Sequence[Block], width: int = 100) -> str:
    """The blocks as a terminal has them."""
    console = Console(width=width, no_color=True)
    lines = console.render_lines(draw(blocks, PALETTE, width), console.options.update(width=width))
    return "\n".join("".join(segment.text for segment in line).rstrip() for line in lines)


def document_of(blocks: Sequence[Block]) -> str:
    """The blocks as Markdown has them."""
    return to_markdown(Document("case", blocks)).replace("\\", "")


def cells(columns: Sequence[ListColumn[Any]], row: Any) -> dict[str, Cell]:
    """A row as its table shows it."""
    return {column.key: cell_of(column.show(column.value(row))) for column in columns}


def answer(method: str, example: str, pred: str, text: str, gold: str = "28") -> ExampleEvaluated:
    return ExampleEvaluated(
        method=method, index=0, example=example, question=f"How many in {example}?", gold=gold, pred=pred,
        correct=pred == gold, tokens_used=10, budget_used=12, text=text,
    )  # fmt: skip


def decision(example: str, m: int, segment: str, **fields: Any) -> DecisionTaken:
    return DecisionTaken(
        **{"method": "esm", "example": example, "m": m, "gate": "null_best", "segment": segment} | fields
    )


CHOSEN: dict[str, Any] = {
    "gate": "chosen", "chosen": W1, "layer": 2, "alpha": 1.4, "score": 0.7, "delta_logprob": 0.25, "memory_size": 12,
    "tokens_before": 14, "committed_tokens": 18, "probe_tokens": 32, "ended": "stop", "prefix": "one.\n",
    "null_ahat": 0.25, "null_score": 0.3, "null_logprob": -1.5, "null_probe": "minus",
    "candidates": [
        Candidate(entry=W1, kind="wrong", similarity=0.9, quality=0.5, ahat=0.45, layer=2, probed=True, logprob=-1.25,
                  delta_logprob=0.25, score=0.7, probe_text="plus"),
        Candidate(entry="data-0002_m1_l2_wrong", kind="wrong", similarity=0.8, quality=0.25, ahat=0.2, score=0.1),
        Candidate(entry="r-1", kind="right", similarity=0.7, quality=1.0, ahat=0.7),
        Candidate(entry="r-2", kind="right", similarity=0.6, quality=1.0, ahat=0.6),
    ],
}  # fmt: skip
TURNED_RIGHT = [
    answer("greedy", "t-1", "34", "one.\nminus.\n34"),
    decision("t-1", 1, "one.\n", gate="first_segment"),
    decision("t-1", 2, "plus.\n", **CHOSEN),
    decision("t-1", 3, "28", gate="tail", phase="tail"),
    answer("esm", "t-1", "28", "one.\nplus.\n28"),
]
TURNED_WRONG = [
    answer("greedy", "t-2", "28", "same. 28"),
    decision("t-2", 1, "same. "),
    decision("t-2", 2, "29"),
    answer("esm", "t-2", "29", "same. 29"),
]
SAME_OUTCOME = [
    answer("greedy", "t-3", "28", "old 28"),
    decision("t-3", 1, "new 28", **CHOSEN | {"prefix": "", "candidates": [], "null_probe": ""}),
    answer("esm", "t-3", "28", "new 28"),
]
AS_GREEDY = [
    answer("greedy", "t-4", "28", "same 28"),
    decision("t-4", 1, "same 28"),
    answer("esm", "t-4", "28", "same 28"),
]


def pair(example: str = "data-0001", m: int = 1, **fields: Any) -> PairMined:
    return PairMined(
        **{
            "pair": f"{example}_m{m}_l2", "example": example, "control_point_m": m, "layer": 2, "quality": 1.01,
            "positives": 4, "negatives": 2, "delta_norm": 33.72, "positive_text": "went forward",
            "negative_text": "went backward",
        } | fields
    )  # fmt: skip


def tried(steered: bool, wrong: bool) -> dict[str, Any]:
    return {"steered_correct": steered, "wrong_correct": wrong, "right_correct": True}


def pick(order: int, entry: str, kind: str = "wrong", m: int = 1, **fields: Any) -> EntryPicked:
    return EntryPicked(
        **{
            "order": order, "lib_id": str(order), "tool_name": entry, "kind": kind, "example": entry.partition("_")[0],
            "control_point_m": m, "layer": 2, "quality": 1.01, "gain": -0.5, "objective": 1.25, "max_similarity": 0.8,
        } | fields
    )  # fmt: skip


def method(name: str, **fields: Any) -> MethodEvaluated:
    return MethodEvaluated(**{"method": name, "n": 4, "accuracy": 0.5, "mean_tokens": 80.0} | fields)
