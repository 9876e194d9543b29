"""What SLSM's page says, from events made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.blocks.block import (
    Beside,
    Block,
    Changes,
    Facts,
    Heading,
    Paragraph,
    Span,
    Table,
    Target,
    Writing,
    plain,
    spans,
)
from app.methods.overview import Curve
from app.methods.place import Place
from app.methods.slsm.answers import ANSWERS, COLUMNS, answer_target, turn_blocks
from app.methods.slsm.memory import memory_blocks
from app.methods.slsm.page import PAGE
from app.methods.slsm.results import course, details, scores
from app.methods.slsm.what_if import WHAT_IF
from app.methods.source import CaseSource
from app.methods.what_if import Choice
from app.state.run import RunState
from app.table.column import Cell, cell_of
from engine import events as ev

TURNS = [["Never say pear.", "Okay."], ["Name one fruit."]]


def opened() -> ev.ConversationOpened:
    return ev.ConversationOpened(conversation_id="c", axis="INFERENCE_MEMORY", turns=TURNS)


def answered(
    mode: str, passed: bool | None, answer: str, memory: str = "structured", **more: Any
) -> ev.Event:
    return ev.ConversationAnswered(
        conversation_id="c", axis="INFERENCE_MEMORY", mode=mode, memory_mode=memory, attempt=0, answer=answer,
        passed=passed, **({"injected": bool(more.get("note")), "reason": "because"} | more),
    )  # fmt: skip


def state_after(turn: int, **more: Any) -> ev.StateUpdated:
    return ev.StateUpdated(
        conversation_id="c", memory_mode="structured", turn=turn, plan_mode="verify", **more
    )


RULE = ev.StateItem(
    kind="constraints", id="C1", text="Never say pear", evidence="Never say pear", status="violated"
)


class Log:
    """A state folded from events that can be read again."""

    def __init__(self, *events: ev.Event) -> None:
        self.events, self.state = events, RunState()
        for at, event in enumerate(events):
            self.state.apply(event, at, 1)

    def source(self, step: int | None = None) -> CaseSource:
        return CaseSource(Path("run"), self.state, lambda offset, length: self.events[offset], step)


@pytest.fixture
def log() -> Log:
    return Log(
        opened(),
        state_after(0, items=[RULE], changes=[ev.StateChange(operation="added", item=RULE)]),
        state_after(1, items=[RULE]),
        answered("baseline", False, "Pear.", memory="none"),
        answered(
            "always",
            True,
            "Plum.",
            note="[SLSM MEMORY NOTE]\nNever say pear",
            note_tokens=7,
            verdict="no pear",
        ),
        answered("never", False, "Pear."),
        answered("on_risk", None, "Kiwi."),
    )


def texts(blocks: list[Block]) -> list[str]:
    """All lines of paragraphs and facts."""
    lines: list[str] = []
    for block in blocks:
        if isinstance(block, Paragraph):
            lines.append(plain(block.text))
        elif isinstance(block, Facts):
            lines += [f"{name}: {plain(value)}" for name, value in block.rows]
        elif isinstance(block, Beside):
            lines += texts([*block.first, *block.second])
    return lines


def test_the_cells_of_an_answer(log: Log) -> None:
    rows = ANSWERS.rows(log.state)
    cells = [[cell_of(column.show(column.value(row))) for column in COLUMNS] for row in rows]
    assert [tuple(row[:5]) for row in cells] == [
        (Cell("✗", "bad"), Cell(" "), Cell("no note"), Cell("none"), Cell("·", "dim")),
        (Cell("✓", "good"), Cell("▲", "good"), Cell("always"), Cell("structured"), Cell("yes", "accent")),
        (Cell("✗", "bad"), Cell(" "), Cell("silent"), Cell("structured"), Cell("·", "dim")),
        (Cell("·", "dim"), Cell(" "), Cell("on risk"), Cell("structured"), Cell("·", "dim")),
    ]
    assert [cell.text for cell in cells[1][5:]] == ["7", "Plum.", "inference memory", "2", "0", "c"]
    assert ANSWERS.remark(log.state) == "all modes: ▲ 1 turned right, ▼ 0 wrong"
    assert [ANSWERS.notable(log.state, row) for row in rows] == [False, True, False, False]
    assert ANSWERS.steps is not None and ANSWERS.steps(rows[0]) == 2


def test_a_note_that_turned_an_answer_wrong() -> None:
    log = Log(
        opened(), answered("baseline", True, "Plum.", memory="none"), answered("always", False, "Pear.", note="x"),
        answered("on_detection", True, "Fig.", note="x", first_answer="Pear."),
    )  # fmt: skip
    rows = ANSWERS.rows(log.state)
    assert [row.turned for row in rows] == [0, -1, 0] and len(rows) == 3 and rows[0:1] == [rows[0]]
    shown = [cell_of(column.show(column.value(rows[1]))).text for column in COLUMNS]
    assert shown[1] == "▼" and ANSWERS.remark(log.state).endswith("▲ 0 turned right, ▼ 1 wrong")
    lines = texts(ANSWERS.draw(log.events[2], log.source()))
    assert "always: ✗ Pear.  ▼ the note turned it wrong" in lines and "no note: ✓ Plum." in lines


def test_a_case_begins_with_what_the_note_did(log: Log) -> None:
    blocks = ANSWERS.draw(log.events[4], log.source())
    assert texts(blocks)[:6] == [
        "c  always, structured  ( ) other turns  inference memory",
        "no note: ✗ Pear.",
        "the note: Never say pear",
        "always: ✓ Plum.  ▲ the note turned it right",
        "judged: no pear",
        "the same under  ✗no note  ✗silent, structured  ·on risk, structured",
    ]
    [changes] = [block for block in blocks if isinstance(block, Changes)]
    assert changes == Changes("Plum.", "Pear.", ("with a note always", "without a controller"))
    assert "✓ passes   no pear" in texts(blocks)


def test_links_lead_to_the_other_answers(log: Log) -> None:
    blocks = ANSWERS.draw(log.events[4], log.source())
    words = [
        span for block in blocks if isinstance(block, Paragraph) for span in spans(block.text) if span.target
    ]
    assert [(span.text, span.target) for span in words] == [
        ("no note", Target("answer", "baseline none 0 c")),
        ("silent, structured", Target("answer", "never structured 0 c")),
        ("on risk, structured", Target("answer", "on_risk structured 0 c")),
    ]
    page = PAGE
    assert words[1].target is not None
    targets = words[1].target, Target("fixed", "always structured")
    places = [page.place_of(target, log.state) for target in targets]
    assert [(p.tab, p.key, p.open) for p in places if p] == [("answers", 2, True), ("answers", 1, True)]
    assert page.place_of(Target("broke", "always structured"), log.state) is None
    assert answer_target(log.state.slsm.results[0]).name == "baseline none 0 c"


def test_a_turn_of_the_conversation_beside_its_memory(log: Log) -> None:
    states = [event for event in log.events if isinstance(event, ev.StateUpdated)]
    [beside] = memory_blocks(TURNS, states, 0)
    assert isinstance(beside, Beside)
    first, second = beside.first, beside.second
    assert [plain(block.text) for block in first if isinstance(block, Paragraph)] == [
        "▶ 1 user      Never say pear.", "    assistant Okay.", "  2 user      Name one fruit.",
    ]  # fmt: skip
    assert isinstance(first[0], Paragraph)
    assert spans(first[0].text) == [
        Span("▶ 1 ", "accent"), Span("user      ", "dim"), Span("Never say pear", "accent"), Span("."),
    ]  # fmt: skip
    assert isinstance(first[2], Paragraph) and spans(first[2].text)[0] == Span("  2 ", "dim")
    assert texts(list(second)) == ["after turn 1   plan verify", "+ C1 ✗ Never say pear"]
    [later] = memory_blocks(TURNS, states, 1)
    assert isinstance(later, Beside) and isinstance(later.first[0], Paragraph)
    assert spans(later.first[0].text)[2] == Span("Never say pear", "strong")
    assert texts(list(later.second)) == ["after turn 2   plan verify", "  C1 ✗ Never say pear"]
    assert texts(memory_blocks(TURNS, [], 0))[-1] == "no controller, no memory"
    assert texts(memory_blocks(TURNS, states[:1], 1))[-1] == "not analysed yet"


def test_changed_resolved_gated_and_failed() -> None:
    old = ev.StateItem(kind="facts", id="F1", text="Two dogs", evidence="dogs")
    new = ev.StateItem(kind="facts", id="F1", text="Three dogs", evidence="three dogs")
    gone = ev.StateItem(kind="edits", id="E1", text="a list", evidence="")
    state = state_after(
        0, items=[new], gated=[ev.StateItem(kind="facts", id="F2", text="made up", evidence="zebra")],
        changes=[ev.StateChange(operation="changed", item=new, before=old.text),
                 ev.StateChange(operation="resolved", item=gone, why="done")],
        failure="no reply", reasons=["it may forget"],
    )  # fmt: skip
    [beside] = memory_blocks(TURNS, [state], 0)
    assert isinstance(beside, Beside)
    assert texts(list(beside.second)) == [
        "after turn 1   plan verify", "  because it may forget", "~ F1 Three dogs", "      was: Two dogs",
        "− E1 a list  done", "left out, because the quote does not occur in the turn:",
        "the previous state still holds: no reply",
    ]  # fmt: skip
    tones = {plain(block.text): block.tone for block in beside.second if isinstance(block, Paragraph)}
    assert (tones["  because it may forget"], tones["− E1 a list  done"]) == ("dim", "")
    assert tones["left out, because the quote does not occur in the turn:"] == "warn"


def test_a_flat_memory() -> None:
    state = ev.StateUpdated(
        conversation_id="c", memory_mode="flat", turn=0, plan_mode="proceed", memory_text="A. B is new.",
        new_text=["B is new."], gone_text=["C."], mismatch=True,
    )  # fmt: skip
    [beside] = memory_blocks(TURNS, [state], 0)
    assert isinstance(beside, Beside)
    assert texts(list(beside.second)) == ["after turn 1   plan proceed", "A. B is new.", "− C.",
                                          "the last answer contradicts it"]  # fmt: skip
    none = msgspec.structs.replace(state, memory_text="", new_text=[], gone_text=[], mismatch=False)
    [beside_none] = memory_blocks(TURNS, [none], 0)
    assert isinstance(beside_none, Beside)
    assert texts(list(beside_none.second)) == ["after turn 1   plan proceed", "empty so far"]
    [paragraph] = [b for b in beside.second if isinstance(b, Paragraph) and plain(b.text) == "A. B is new."]
    assert spans(paragraph.text) == [Span("A. "), Span("B is new.", "good")]


def test_both_answers_of_a_detection_with_its_conflict_and_cost() -> None:
    event = ev.ConversationAnswered(
        conversation_id="c", axis="", mode="on_detection", memory_mode="flat", attempt=0, answer="Plum.", injected=True,
        reason="C1 is broken", note="no pear", note_tokens=1, first_answer="Pear.", passed=False, verdict="has pear",
        conflicts=[ev.AnswerConflict(item="C1", why="says pear", exact=True),
                   ev.AnswerConflict(item="C2", why="C2 too", exact=False)],
        controller_calls=2, controller_tokens=1200, model_calls=3, model_tokens=40, detector_calls=1, cost=0.25,
    )  # fmt: skip
    blocks = turn_blocks(event, "Pear.")
    assert texts(blocks) == ["✗ C1: says pear  (checked)", "✗ C2 too  (judged)", "✗ fails   has pear"]
    assert (
        Changes("Plum.", "Pear.", ("second answer, with the note", "first answer, without a note")) in blocks
    )
    table = blocks[-1]
    assert isinstance(table, Table) and table.figures == 2
    assert [tuple(map(plain, row)) for row in table.rows] == [
        ("controller", "2", "1,200"), ("model", "3", "40"), ("detector", "1", "0"), ("cost", "", "0.25"),
    ]  # fmt: skip
    assert texts(turn_blocks(replace_passed(event)))[2] == "· not judged   has pear"
    failed = msgspec.structs.replace(event, conflicts=[], detector_failure="no reply")
    assert texts(turn_blocks(failed)) == ["the detector failed: no reply", "✗ fails   has pear"]


def replace_passed(event: ev.ConversationAnswered) -> ev.ConversationAnswered:
    return msgspec.structs.replace(event, passed=None)


def test_an_item_whose_words_stay_says_nothing_of_before() -> None:
    """Only its status changed."""
    change = ev.StateChange(operation="changed", item=RULE, before=RULE.text)
    [beside] = memory_blocks(TURNS, [state_after(0, items=[RULE], changes=[change])], 0)
    assert isinstance(beside, Beside)
    assert texts(list(beside.second)) == ["after turn 1   plan verify", "~ C1 ✗ Never say pear"]


def scored(mode: str, memory: str, score: float, **more: Any) -> ev.ModeScored:
    return ev.ModeScored(mode=mode, memory_mode=memory, n=20, judged=20, score=score, low=score - 0.1, high=score + 0.1,
                         by_axis=[["EDITING", score, 0, 1, 20]], **more)  # fmt: skip


def test_the_modes_side_by_side() -> None:
    log = Log(
        ev.SLSMBegan(conversations=20, variants=[], controller="rules", model="m", judge="exact", dataset="d",
                     dataset_hash="abcdef0123456789", axes=[]),
        scored("baseline", "none", 0.3, injections=0),
        scored("always", "structured", 0.85, difference=0.55, difference_low=0.4, difference_high=0.7, injections=18,
               fixed=12, broke=1, wasted=5, cut=2, unanswered=3, injected_tokens=21.5, controller_calls=4.25,
               model_calls=1.5, detector_calls=0.125, controller_tokens=1000, model_tokens=200, detector_tokens=34,
               failures=6),
        scored("never", "flat", 0.2, difference=-0.1, difference_low=-0.2, difference_high=-0.05),
    )  # fmt: skip
    blocks = scores(log.state.slsm)
    assert texts(blocks) == [
        "The best mode by score: a note always, structured memory. It turned 12 answers right and 1 wrong; 5 of 18 "
        "notes changed nothing.",
        "The best of 2 modes looks better than it is: the interval does not count that it was chosen by this score. "
        "Confirm it on other conversations.",
    ]
    table = blocks[-1]
    assert isinstance(table, Table)
    rows = [list(map(plain, row)) for row in table.rows]
    assert rows[0] == [
        "no note",
        "none",
        "20",
        "0.300",
        "[0.200, 0.400]",
        "·",
        "·",
        "0",
        "0",
        "0",
        "0",
        "0",
        "0",
    ]
    assert rows[1] == ["always", "structured", "20", "0.850", "[0.750, 0.950]", "+0.550", "[+0.400, +0.700]",
                       "18", "12", "1", "5", "2", "3"]  # fmt: skip
    assert [spans(row[5])[0].tone for row in table.rows] == ["dim", "good", "bad"]
    first, *rest = details(log.state.slsm)
    assert isinstance(first, Table) and list(first.header) == ["by axis", "memory", "editing"]
    assert [plain(row[2]) for row in first.rows] == ["0.300", "0.850", "0.200"]
    assert texts(rest)[:2] == ["fixed:  always, structured 12", "broke:  always, structured 1"]
    [cost] = [block for block in rest if isinstance(block, Table)]
    assert cost.legend == [
        "means of a conversation", "note: its tokens", "failed: all calls of the controller that failed"
    ] and cost.narrowed(76).legend == [
        "means of a conversation", "failed: all calls of the controller that failed"
    ], "the notes' column has no room, nor are words about it"  # fmt: skip
    assert " ".join(map(plain, cost.rows[1])) == "always structured 21.5 4.25 1.50 0.12 1,234 6"
    data, model = texts(rest)[-2:]
    assert data == "20 conversations of d   sha256 abcdef012345"
    assert model == "model m   controller rules   judge exact"


def test_the_course_of_each_mode(log: Log) -> None:
    lines = {line.label: (list(line.x), list(line.y)) for line in course(log.state)}
    assert lines == {
        "no note": ([1], [0.0]), "always, structured": ([1], [1.0]), "silent, structured": ([1], [0.0]),
    }  # fmt: skip


def test_of_modes_that_score_the_same_the_one_with_fewer_notes_is_named() -> None:
    log = Log(
        scored("always", "flat", 0.8, injections=18, fixed=3),
        scored("on_risk", "flat", 0.8, injections=5, fixed=2),
        scored("never", "flat", 0.2),
    )
    first = texts(scores(log.state.slsm))[0]
    assert first == (
        "The best mode by score: a note on risk, flat memory. It turned 2 answers right and 0 wrong; 0 of 5 notes "
        "changed nothing."
    )


def test_a_mode_that_passes_nowhere_has_a_score() -> None:
    log = Log(scored("always", "flat", 0.0, injections=5), scored("baseline", "none", 0.0))
    first, found = scores(log.state.slsm)
    assert isinstance(first, Paragraph) and plain(first.text).startswith(
        "The best mode by score: a note always, flat memory. It turned 0 answers"
    )
    assert isinstance(found, Table) and [plain(row[3]) for row in found.rows] == ["0.000", "0.000"]


def test_a_low_score_is_better_than_none() -> None:
    """Also with more notes."""
    log = Log(scored("always", "flat", 0.05, injections=18), scored("on_risk", "flat", 0.0, injections=5))
    assert texts(scores(log.state.slsm))[0].startswith("The best mode by score: a note always, flat memory.")


def test_links_of_a_mode_lead_to_its_own_answers_that_were_turned() -> None:
    """Right without a controller are a and b, wrong c and d; the notes of another mode turned some as well."""
    plain_ones = [of(name, "baseline", name in "ab") for name in "abcd"]
    log = Log(
        *plain_ones, of("a", "on_risk", False), of("d", "on_risk", True),
        of("b", "always", True), of("a", "always", False), of("c", "always", False), of("d", "always", True),
    )  # fmt: skip
    leads = [PAGE.place_of(Target(kind, "always flat"), log.state) for kind in ("fixed", "broke")]
    assert leads == [Place("answers", 9, open=True), Place("answers", 7, open=True)]
    assert PAGE.place_of(Target("fixed", "never flat"), log.state) is None


def test_counts_of_what_notes_did_lead_to_the_first_of_them() -> None:
    log = Log(scored("always", "flat", 0.8, fixed=1234, broke=2))
    lines = [block for block in details(log.state.slsm) if isinstance(block, Paragraph)]
    assert [span for line in lines for span in spans(line.text) if span.target] == [
        Span("always, flat 1,234", "good", Target("fixed", "always flat")),
        Span("always, flat 2", "bad", Target("broke", "always flat")),
    ]


def of(conversation: str, mode: str, passed: bool | None, attempt: int = 0, memory: str = "flat") -> ev.Event:
    event = answered(mode, passed, "Plum.", memory="none" if mode == "baseline" else memory, note="a note")
    return msgspec.structs.replace(
        event, conversation_id=conversation, attempt=attempt, injected=mode != "baseline"
    )


def test_the_course_over_several_answers() -> None:
    """Of four answers the first, third and fourth pass, the fifth is not judged; another kind of memory is no point."""
    passed = [True, False, True, True, None]
    log = Log(
        *(of(f"c{at}", "always", each) for at, each in enumerate(passed)),
        of("c0", "always", False, memory="structured"), of("c0", "baseline", False), of("c1", "baseline", True),
    )  # fmt: skip
    lines = {line.label: (list(line.x), list(line.y)) for line in course(log.state)}
    assert lines == {
        "always, flat": ([1, 2, 3, 4], [1.0, 1 / 2, 2 / 3, 3 / 4]), "no note": ([1, 2], [0.0, 1 / 2]),
    }  # fmt: skip


def test_an_answer_is_held_against_the_same_attempt_without_a_controller() -> None:
    """At the first attempt both pass; at the second only the answer under the note does. Beside it stand the answers of
    its own attempt only."""
    log = Log(
        of("c", "baseline", True), of("c", "baseline", False, 1), of("c", "always", True), of("c", "always", True, 1)
    )  # fmt: skip
    assert [row.turned for row in ANSWERS.rows(log.state)] == [0, 0, 0, 1]
    assert ANSWERS.words(log.events[3]) == "conversation c, always, flat, attempt 2"
    assert ANSWERS.words(log.events[2]) == "conversation c, always, flat"
    beside = [
        [
            line
            for line in texts(ANSWERS.draw(log.events[at], log.source()))
            if line.startswith("the same under")
        ]
        for at in (2, 3)
    ]
    assert beside == [["the same under  ✓no note"], ["the same under  ✗no note"]]


def test_the_picture_of_the_scores() -> None:
    log = Log(scored("always", "flat", 0.8), scored("never", "flat", 0.2))
    [picture] = PAGE.pictures(log.state)
    labels = {getattr(mark, "text", "") for mark in picture.drawing.marks}
    assert {"a note always, flat", "0.800 [0.700, 0.900]", "0.200 [0.100, 0.300]"} <= labels


def marked(blocks: list[Block]) -> str:
    """The line of the conversation that ▶ marks."""
    return next(line for line in texts(blocks) if line.startswith("▶"))


def test_a_case_opens_at_its_last_turn(log: Log) -> None:
    event = log.events[4]
    assert marked(ANSWERS.draw(event, log.source())) == "▶ 2 user      Name one fruit."
    assert marked(ANSWERS.draw(event, log.source(step=0))) == "▶ 1 user      Never say pear."


def test_what_a_resolved_item_rested_on_is_not_marked_as_new() -> None:
    def tones(operation: str) -> list[str]:
        change = ev.StateChange(operation=operation, item=RULE)
        [beside] = memory_blocks(TURNS, [state_after(0, changes=[change])], 0)
        assert isinstance(beside, Beside) and isinstance(beside.first[0], Paragraph)
        return [span.tone for span in spans(beside.first[0].text) if span.text == "Never say pear"]

    assert (tones("added"), tones("resolved")) == (["accent"], ["strong"])


def test_failed_calls_of_an_answer_are_those_after_its_turns_and_the_detector_s() -> None:
    failed, answer = (
        state_after(0, failure="no JSON"),
        answered("always", True, "Plum.", detector_failure="timeout"),
    )
    state = Log(opened(), failed, state_after(1), answer).state
    assert state.slsm.results[0].failures == 2


def test_calls_of_the_controller_that_failed_are_told_those_of_detections_too() -> None:
    began = ev.SLSMBegan(
        conversations=1, variants=[], controller="m", model="m", judge="none", dataset="d", dataset_hash="", axes=[]
    )  # fmt: skip
    last = answered("on_detection", None, "Plum.", detector_failure="timeout")
    compared = msgspec.structs.replace(answered("on_detection", None, "Fig."), attempt=1)
    blocks = details(Log(began, opened(), state_after(0, failure="no JSON"), last, compared).state.slsm)
    assert [
        plain(block.text) for block in blocks if isinstance(block, Paragraph) and block.tone == "bad"
    ] == [
        "2 calls of the controller failed: the state did not change, or the answer was not compared with it"
    ]


def test_runs_by_axis_keep_their_memory_where_it_is_narrow() -> None:
    """19 + 10 + 3 times 15 cells do not fit beside each other: the headings are wrapped, and nothing is left out."""
    axes = [[f"A_LONG_AXIS_NUMBER_{n}", 0.5, 0, 1, 20] for n in range(3)]
    log = Log(
        *(
            msgspec.structs.replace(scored("never", memory, 0.5), by_axis=axes)
            for memory in ("flat", "structured")
        )
    )
    table = details(log.state.slsm)[0]
    assert isinstance(table, Table)
    assert table.narrowed(60).header == [
        "by axis",
        "memory",
        *(f"a\nlong\naxis\nnumber\n{n}" for n in range(3)),
    ]
    without = msgspec.structs.replace(scored("never", "flat", 0.5), by_axis=[["", 0.5, 0, 1, 20]])
    table = details(Log(without).state.slsm)[0]
    assert isinstance(table, Table) and list(table.header)[2:] == ["all"], "a data set without axes"


# ---------------------------------------------------------------- what if


def choice_of(log: Log, at: int, step: int | None = None) -> Choice:
    choice = WHAT_IF.of[ev.ConversationAnswered](log.events[at], log.source(step))
    assert isinstance(choice, Choice)
    return choice


def test_an_answer_can_be_tried_under_another_note(log: Log) -> None:
    """Only the last message has a recorded note; of an earlier turn the structured memory's is offered."""
    said = [(choice.about, choice.fields[0][0].value) for choice in
            (choice_of(log, 4), choice_of(log, 4, 0), choice_of(log, 4, 9), choice_of(log, 3))]  # fmt: skip
    note = "[SLSM MEMORY NOTE]\nNever say pear"
    assert said == [
        ("c · always, structured · turn 2 of 2, note of 7 tokens\nName one fruit.", note),
        ("c · always, structured · turn 1 of 2, no note\nNever say pear.", "1"),
        ("c · always, structured · turn 2 of 2, note of 7 tokens\nName one fruit.", note),
        ("c · no note · turn 2 of 2, no note\nName one fruit.", "1"),
    ]  # fmt: skip
    asked = {"conversation": "c", "mode": "always", "memory_mode": "structured", "attempt": 0, "turn": 1}
    request = choice_of(log, 4).request
    assert request({"note": "Mind."}) == asked | {"source": "note", "note": "Mind."}
    sources = [request({"note": number}) for number in "123"]
    assert sources == [asked | {"source": name, "note": ""} for name in ("structured", "flat", "reminder")]
    unknown = Log(log.events[4])
    begins = "The log does not say how this conversation begins."
    assert WHAT_IF.of[ev.ConversationAnswered](log.events[4], unknown.source()) == begins
    assert begins in texts(ANSWERS.draw(log.events[4], unknown.source()))


def test_the_note_that_was_tried_stands_in_the_field_and_above_the_list(log: Log) -> None:
    tried = ev.AnswerTried(
        system="slsm", example="c", case={}, question="?", exact=True,
        committed=ev.OtherAnswer(given="its note", text="Plum.", right=True, verdict="no pear", note="n", tokens=1),
        none=ev.OtherAnswer(given="no note", text="Pear."),
        yours=[ev.OtherAnswer(given="a note", text="Fig.", right=False, verdict="a fig", note="No pear.", tokens=3)],
    )  # fmt: skip
    choice = choice_of(log, 4)
    answers = choice.answers(tried)
    assert [(one.name, texts(list(one.about))) for one in (*answers.beside, *answers.tried)] == [
        ("committed: its note", ["note of 1 token", "✓ no pear"]), ("no note", ["· not judged"]),
        ("yours: a note", ["note of 3 tokens", "✗ a fig"]),
    ]  # fmt: skip
    [field] = choice.fields[0]
    assert (field.filled(tried, "2"), field.filled(tried, "typed")) == ("No pear.", "typed")
    listed = [
        "1  the note of the structured memory after this turn", "2  the note of the flat memory after this turn",
        "3  the sentence that is always the same, as in the mode reminder",
    ]  # fmt: skip
    heading, writing, *lines = choice.choices(tried)
    assert (heading, writing) == (Heading("the note that was tried"), Writing("No pear.", "dim"))
    assert texts(list(lines)) == texts(list(choice.choices(None))) == listed


def test_the_course_on_the_overview_is_that_of_the_memory_that_answered_first() -> None:
    """Under notes of the flat memory: right, wrong; without a controller: wrong, wrong, not judged."""
    log = Log(
        of("a", "on_detection", True), of("a", "on_detection", False, memory="structured"),
        of("b", "on_detection", False), of("a", "baseline", False), of("b", "baseline", False),
        of("c", "baseline", None),
    )  # fmt: skip
    assert PAGE.overview.curve(log.state) == Curve(
        "passed so far", "the conversations", "on detection", (1.0, 0.5), "no note", (0.0, 0.0)
    )
    began = ev.SLSMBegan(
        conversations=3, variants=[], controller="", model="", judge="", dataset="", dataset_hash="", axes=[],
        compared="on_risk",
    )  # fmt: skip
    at_risk = PAGE.overview.curve(Log(began, of("a", "on_risk", True), of("a", "on_detection", False)).state)
    assert at_risk is not None and (at_risk.name, at_risk.values) == ("on risk", (1.0,)), (
        "the verdict will be of it"
    )
    empty = PAGE.overview.curve(RunState())
    assert empty is not None and (empty.values, empty.baseline) == ((), ())


def test_nothing_is_said_of_the_best_mode_while_there_is_only_the_baseline() -> None:
    blocks = scores(Log(scored("baseline", "none", 0.3)).state.slsm)
    assert [type(block) for block in blocks] == [Table] and scores(RunState().slsm) == []


def test_quotes_are_marked_whatever_their_capitals_and_once_where_they_overlap() -> None:
    """`say PEAR` lies within the first quote; `fig` is not in the turn."""
    items = [
        msgspec.structs.replace(RULE, id=f"C{at}", evidence=quote)
        for at, quote in enumerate(("never SAY pear", "say PEAR", "fig", ""))
    ]
    changes = [ev.StateChange(operation="added", item=item) for item in items]
    [beside] = memory_blocks(TURNS, [state_after(0, changes=changes)], 0)
    assert isinstance(beside, Beside) and isinstance(beside.first[0], Paragraph)
    assert spans(beside.first[0].text)[2:] == [Span("Never say pear", "accent"), Span(".")]
    two = [
        ev.StateChange(operation=operation, item=msgspec.structs.replace(RULE, evidence=quote))
        for operation, quote in (("resolved", "pear"), ("added", "never"))
    ]
    [apart] = memory_blocks(TURNS, [state_after(0, changes=two)], 0)
    assert isinstance(apart, Beside) and isinstance(apart.first[0], Paragraph)
    assert spans(apart.first[0].text)[2:] == [
        Span("Never", "accent"), Span(" say "), Span("pear", "strong"), Span("."),
    ]  # fmt: skip


def test_a_flat_memory_in_which_nothing_is_new() -> None:
    state = ev.StateUpdated(
        conversation_id="c", memory_mode="flat", turn=0, plan_mode="clarify", memory_text="A."
    )
    [beside] = memory_blocks(TURNS, [state], 0)
    assert isinstance(beside, Beside)
    heading, memory = beside.second[1:]
    assert (heading, memory) == (Heading("memory", 4), Writing("A."))
    assert isinstance(beside.second[0], Paragraph)
    assert [span.tone for span in spans(beside.second[0].text)] == ["strong", "dim", "bad"]


def test_an_answer_without_a_note_a_text_or_a_judgement() -> None:
    log = Log(opened(), answered("baseline", None, "", memory="none"), answered("never", None, ""))
    assert texts(ANSWERS.draw(log.events[2], log.source())) == [
        "c  silent, structured  inference memory", "no note: · (empty)", "the note: none: because",
        "silent: · (empty)", "the same under  ·no note",
        "  1 user      Never say pear.", "    assistant Okay.", "▶ 2 user      Name one fruit.",
        "no controller, no memory", "no note  because",
    ]  # fmt: skip
    assert ANSWERS.remark(log.state) == ""


def test_the_answer_without_a_controller_is_held_against_none() -> None:
    """Others are held against it, also where it is empty."""
    plain_one, noted = (
        answered("baseline", False, "", memory="none"),
        answered("always", True, "Plum.", note="Never pear"),
    )
    log = Log(opened(), plain_one, noted)
    alone, beside = (ANSWERS.draw(event, log.source()) for event in (plain_one, noted))
    assert not [block for block in alone if isinstance(block, Changes)]
    assert [block for block in beside if isinstance(block, Changes)] == [
        Changes("Plum.", "(empty)", ("with a note always", "without a controller"))
    ]


def test_what_is_worth_opening_of_notes() -> None:
    """Of the mode and the memory that the verdict is about: of the flat memory one note broke an answer and two turned
    one right; those of another mode and memory do not count."""
    log = Log(
        *(of(name, "baseline", right) for name, right in (("a", True), ("b", False), ("c", False))),
        of("a", "on_detection", False), of("b", "on_detection", True), of("c", "on_detection", True),
        of("a", "on_detection", False, memory="structured"), of("a", "always", False), scored("always", "flat", 0.5),
    )  # fmt: skip
    assert [(one.text, one.place) for one in PAGE.overview.highlights(log.state)] == [
        ("1 answer that a note broke (on detection)", Place("answers", 3, open=True)),
        ("2 answers that a note turned right (on detection)", Place("answers", 4, open=True)),
        ("every mode with its score and its cost", Place("results")),
    ]  # fmt: skip
    verdict = ev.Verdict(
        method="always", baseline="never", metric="pass_score", n=1, value=0.0, baseline_value=1.0, difference=-1.0,
        low=-1.0, high=-1.0,
    )  # fmt: skip
    log.state.apply(ev.StageFinished(stage="slsm", seconds=1.0, verdict=verdict), 99, 1)
    other = msgspec.structs.replace(verdict, method="esm", baseline="greedy")  # another method's
    log.state.apply(ev.StageFinished(stage="eval", seconds=1.0, verdict=other), 100, 1)
    assert PAGE.overview.highlights(log.state)[0].text == "1 answer that a note broke (always)"
    curve = PAGE.overview.curve(log.state)
    assert curve is not None and (curve.name, curve.values, curve.baseline_name) == (
        "always",
        (0.0,),
        "silent",
    )


def test_the_field_of_another_note(log: Log) -> None:
    [[field]] = choice_of(log, 4).fields
    assert (field.name, field.label, field.lines, field.is_swept) == ("note", "note, or 1 to 3", 6, False)
    assert ANSWERS.notable_words == "answer that a note turned right (▲) or wrong (▼)"


def test_items_stand_by_list_each_behind_its_status() -> None:
    """A list without items is left out, and one of which an item was just resolved is not."""
    states = ("satisfied", "violated", "invalid", "")
    items = [
        ev.StateItem(kind="constraints", id=f"C{at}", text="x", evidence="", status=status)
        for at, status in enumerate(states)
    ]
    items += [
        ev.StateItem(kind=kind, id="I", text=kind, evidence="")
        for kind in ("unknowns", "facts", "assumptions")
    ]
    gone = ev.StateChange(
        operation="resolved", item=ev.StateItem(kind="edits", id="E", text="list", evidence="")
    )
    [beside] = memory_blocks(TURNS, [state_after(0, items=items, changes=[gone])], 0)
    assert isinstance(beside, Beside)
    lines = [plain(block.text) for block in beside.second if isinstance(block, Heading | Paragraph)]
    assert lines[1:] == [
        "constraints", "  C0 ✓ x", "  C1 ✗ x", "  C2 ✗ x", "  C3 x", "facts", "  I facts", "edits: latest versions",
        "− E list", "assumptions", "  I assumptions", "unknowns", "  I unknowns",
    ]  # fmt: skip
    assert [spans(block.text)[2].tone for block in beside.second[2:5] if isinstance(block, Paragraph)] == [
        "good", "bad", "bad",
    ]  # fmt: skip


@pytest.mark.parametrize(("plan", "tone"), [("verify", "warn"), ("clarify", "bad"), ("proceed", "good")])
def test_a_plan_has_its_tone(plan: str, tone: str) -> None:
    state = msgspec.structs.replace(state_after(0), plan_mode=plan)
    [beside] = memory_blocks(TURNS, [state], 0)
    assert isinstance(beside, Beside) and isinstance(beside.second[0], Paragraph)
    assert spans(beside.second[0].text)[-1] == Span(plan, tone)  # type: ignore[arg-type]
    assert beside.least == 84 and texts(list(beside.second))[-1] == "empty so far"
