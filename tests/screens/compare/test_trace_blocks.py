"""Two traces of an item side by side, every line of them."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.style import Style

from app.blocks.block import Beside, Heading, Paragraph, Span
from app.blocks.terminal import draw
from app.compared.columns import ITEMS, METHODS, ItemPair
from app.compared.words import cells_sentence
from app.table.column import cell_of
from engine.comparison.comparison import compare_runs
from engine.comparison.items import Item
from engine.comparison.trace import AlignedTraces, Step, Value, align
from screens.compare.trace_blocks import _side, trace_blocks
from screens.compare.words import about_items, about_methods, changed_words
from tests.two_runs import decided, evaluated, make_run

A = [
    Step("1", "segment 1", {"entry": None}, {"e1": -1.5}, "one ", weighed_as="probe"),
    Step(
        "2",
        "segment 2",
        {"α": 1.5, "steered": True},
        {"e1": -0.5, "e2": -2.0},
        "two apples\n",
        weighed_as="probe",
    ),
    Step("3", "segment 3", {"α": 1.0}, {}, "end", "ended by eos"),
]
B = [
    Step("1", "segment 1", {"entry": None}, {"e1": -1.25}, "one ", weighed_as="probe"),
    Step(
        "2",
        "segment 2",
        {"α": 2.5, "steered": False},
        {"e1": -0.5, "e2": -1.0},
        "two pears\n",
        weighed_as="probe",
    ),
]
RIGHT = Item("q1", "How many?", "How many?", 1.0, True)
DRAWN = Item("q1", "How many?", "How many?", 0.25, None)


def lines(a: Item, b: Item, traces: AlignedTraces, width: int, whole: bool = True) -> list[str]:
    console = Console(width=width, no_color=True)
    drawing = draw(trace_blocks(a, b, traces, whole), defaultdict(Style), width)
    rendered = console.render_lines(drawing, console.options.update(width=width))
    return ["".join(segment.text for segment in line).rstrip() for line in rendered]


def test_entries_are_called_by_their_names() -> None:
    """With the id where the other run calls another entry so; the same id is the same entry, whatever it is called."""
    a = Step(
        "1",
        "segment 1",
        {"entry": "e1"},
        {"e1": -1.5, "e2": -0.5},
        called={"e1": "up → down", "e2": "in → out"},
    )
    b = Step(
        "1",
        "segment 1",
        {"entry": "e3"},
        {"e3": -1.5, "e2": -0.25},
        called={"e3": "up → down", "e2": "on → off"},
    )
    assert lines(RIGHT, DRAWN, align([a], [b]), 73)[5:] == [
        "▶ segment 1  ≠ entry and probability differ",
        "A",
        "≠ entry up → down (e1)",
        "≠ −1.500 up → down (e1)",
        "≠ −0.500 in → out",
        "",
        "B",
        "≠ entry up → down (e3)",
        "≠ −1.500 up → down (e3)",
        "≠ −0.250 on → off",
        "",
        "",
    ]


def test_one_below_the_other_where_it_is_narrow() -> None:
    assert lines(RIGHT, DRAWN, align(A, B), 73) == [
        "q1   A ✓ right   B score 0.250",
        "The runs part at segment 2: α, steered, text and probe differ. The probe",
        "differs already at segment 1, with the same decision.",
        "How many?",
        "",
        "  segment 1  another probe, the same decision",
        "A",
        "  entry none",
        "  probed: mean log-probability",
        "≠ −1.500 e1",
        "",
        "B",
        "  entry none",
        "  probed: mean log-probability",
        "≠ −1.250 e1",
        "",
        "one",
        "",
        "▶ segment 2  ≠ α, steered, text and probe differ",
        "A",
        "≠ α 1.500",
        "≠ steered yes",
        "  probed: mean log-probability",
        "≠ −2.000 e2",
        "",
        "B",
        "≠ α 2.500",
        "≠ steered no",
        "  probed: mean log-probability",
        "≠ −1.000 e2",
        "",
        "   + A   − B",
        "−  two pears",
        "+  two apples",
        "",
        "  segment 3  ≠ it is only in A",
        "A",
        "≠ α 1.000",
        "  ended by eos",
        "",
        "B",
        "This run has no such step.",
        "",
        "end",
    ]


def test_of_several_probes_that_differ_is_said_once_what_they_are() -> None:
    probed: list[dict[str, Value]] = [
        {"e1": -1.5, "e2": -2.0, "e3": -3.0}, {"e1": -1.25, "e2": -1.0, "e3": -3.0},
    ]  # fmt: skip
    a, b = (Step("1", "segment 1", {"entry": None}, weighed, "one", weighed_as="probe") for weighed in probed)
    assert lines(RIGHT, RIGHT, align([a], [b]), 73)[5:] == [
        "  segment 1  another probe, the same decision",
        "A",
        "  entry none",
        "  probed: mean log-probability",
        "≠ −1.500 e1",
        "≠ −2.000 e2",
        "",
        "B",
        "  entry none",
        "  probed: mean log-probability",
        "≠ −1.250 e1",
        "≠ −1.000 e2",
        "",
        "one",
    ]


def test_beside_each_other_where_there_is_room() -> None:
    """From 74 columns on, and from the step at which they part."""
    assert lines(RIGHT, DRAWN, align(A, B), 74, whole=False)[4:15] == [
        "",
        "The step before it is the same in both; space shows all.",
        "",
        "▶ segment 2  ≠ α, steered, text and probe differ",
        "A                                     B",
        "≠ α 1.500                             ≠ α 2.500",
        "≠ steered yes                         ≠ steered no",
        "  probed: mean log-probability          probed: mean log-probability",
        "≠ −2.000 e2                           ≠ −1.000 e2",
        "",
        "   + A   − B",
    ]


@pytest.mark.parametrize(
    ("b", "sentence"),
    [
        (A, "Both runs decided and wrote the same."),
        ([A[0], Step("2", "segment 2", {"α": 9.0, "steered": True}, A[1].weighed, A[1].text), A[2]],
         "The runs part at segment 2: α differs. Both wrote the same text."),
        ([A[0], Step("2", "segment 2", {"α": 9.0, "steered": True}, A[1].weighed, A[1].text),
          Step("3", "segment 3", {"α": 1.0}, {}, "other")],
         "The runs part at segment 2: α differs. The texts differ from segment 3 on."),
        (A[:2], "The runs part at segment 3: it is only in A."),
    ],
)  # fmt: skip
def test_where_two_traces_part_in_words(b: list[Step], sentence: str) -> None:
    assert lines(RIGHT, RIGHT, align(A, b), 200)[1] == sentence


def test_equal_steps_are_written_once() -> None:
    drawn = lines(RIGHT, RIGHT, align(A, A), 80)
    assert drawn[3:6] == ["", "  segment 1  the same", "one"]


def test_what_is_no_right_or_wrong_has_its_score() -> None:
    pair = ItemPair(DRAWN, RIGHT, "")
    cells = {column.key: cell_of(column.show(column.value(pair))) for column in ITEMS}
    assert (cells["a"], cells["b"], cells["parts_at"]) == (("0.25", ""), ("✓", "good"), ("nowhere", "dim"))


def test_the_lines_below_the_tables(tmp_path: Path) -> None:
    events = [decided("x", 1), evaluated("esm", "x", True)]
    comparison = compare_runs(*(make_run(tmp_path, name, events) for name in "ab"))
    (arm,) = comparison.arms
    assert changed_words(comparison).plain == "No field of the configuration differs."
    assert cells_sentence(arm) == (
        "Right means: the extracted answer equals the gold answer. Both right 1, only A 0, only B 0, neither 0."
    )
    assert about_methods(comparison, arm).plain.startswith("ESM. Right means: ")
    assert about_methods(comparison, None).plain == "\n".join(comparison.remarks)
    assert about_items(arm, None, 1).plain == "ESM: 1 item. v shows others."
    assert about_items(arm, 1, 2).plain == "ESM: only A right, 2 items. v shows others."
    cells = {column.key: cell_of(column.show(column.value(arm))) for column in METHODS}
    assert [cells[key].text for key in ("system", "method", "finding", "n", "mean_a", "mean_b", "both", "only_a")] == [
        "ESM", "ESM", "equal", "1", "1.000", "1.000", "1", "0",
    ]  # fmt: skip
    assert cells["both"].tone == "accent" and cells["only_a"].tone == "dim"


def test_the_tones_of_steps_and_outcomes() -> None:
    """The sign of the first step that differs is picked out; what differs warns, what is the same is dim."""
    blocks = trace_blocks(RIGHT, DRAWN, align(A, B), True)
    first: Any = blocks[0]
    assert first.text == [
        Span(RIGHT.id, "strong"), "   A ", Span("✓ right", "good"), "   B ", Span("score 0.250"),
    ]  # fmt: skip
    assert [block.tone for block in blocks[1:3] if isinstance(block, Paragraph)] == ["accent", "dim"]
    heads: list[Any] = [block.text for block in blocks if isinstance(block, Heading)]
    assert heads[0] == [Span("  ", "accent"), "segment 1", Span("  another probe, the same decision", "dim")]
    assert heads[1][0] == Span("▶ ", "accent") and heads[1][2].tone == "warn"
    sides = [block for block in blocks if isinstance(block, Beside)][1]
    name, alpha, steered, *_ = [block.text for block in sides.first if isinstance(block, Paragraph)]
    assert name == Span("A", "strong") and sides.least == 74
    assert alpha == [Span("≠ ", "warn"), Span("α ", "dim"), Span("1.500", "warn")]
    assert steered == [Span("≠ ", "warn"), Span("steered ", "dim"), Span("yes", "warn")]


@pytest.mark.parametrize(("probe", "lines"), [(-0.5, 0), (-0.9, 2)])
def test_probes_are_announced_where_some_differ(probe: float, lines: int) -> None:
    """A line that says what they are, and one for the probe; none of them where both runs probed the same."""
    a, b = (Step("1", "segment 1", {}, {"e1": value}, weighed_as="probe") for value in (-0.5, probe))
    assert len(_side(a, b)) == lines
