"""`w` in evolution, SLSM, pool and GFlowNet: what the fields ask for, and what is drawn of the answer."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console, RenderableType
from rich.style import Style
from rich.text import Text
from textual.app import App, ComposeResult
from textual.css.scalar import Scalar
from textual.pilot import Pilot
from textual.widgets import Input, Label

from app.methods import what_if as answer
from app.methods.what_if import HELP_OF_ALL
from engine.errors import SteerError
from engine.events import AnswerTried, Event, OtherAnswer, PathsTried, QuestionSampled
from screens import tabbed_screen
from screens.evolution.screen import EvolutionScreen
from screens.method_screen import MethodScreen
from screens.slsm.screen import SLSMScreen
from screens.tabbed_screen import TabbedScreen
from screens.what_if import drawing
from screens.what_if.drawing import _shared, _strip, _text, draw_answers, draw_exact
from screens.what_if.screen import LongField, WhatIfScreen, _widgets
from tests.console import drawn
from tests.named_tones import Parts, parts
from tests.recorded_session import RecordedSession
from tests.synthetic_evolution import evolution_events
from tests.synthetic_gflownet import gflownet_events
from tests.synthetic_pool import pool_events
from tests.synthetic_run import write_log
from tests.synthetic_slsm import slsm_events

SMALL, WIDE = (80, 24), (200, 60)
Answer = Callable[[str, Mapping[str, Any]], Event]


class WhatIfApp(App[None]):
    """A method's screen over a recorded run."""

    def __init__(self, screen: TabbedScreen) -> None:
        super().__init__()
        self.first = screen

    def on_mount(self) -> None:
        self.push_screen(self.first)


class Process:
    """In the place of the engine's process: what was asked, and prepared answers."""

    asked: list[tuple[str, Mapping[str, Any]]]
    closed: int

    def __init__(self, answer: Answer) -> None:
        self.asked, self.closed, self._answer = [], 0, answer

    def __call__(self, run_dir: Path) -> Process:
        return self

    async def ask(self, system: str, wanted: Mapping[str, Any]) -> Event:
        self.asked.append((system, wanted))
        return self._answer(system, wanted)

    async def close(self) -> None:
        self.closed += 1


def answered(system: str, committed: OtherAnswer, none: OtherAnswer, *yours: OtherAnswer) -> AnswerTried:
    return AnswerTried(
        system=system, example="e", case={}, question="?", committed=committed, none=none, yours=list(yours),
        exact=False, difference="a server",
    )  # fmt: skip


def said(text: str, right: bool | None = True, **more: Any) -> OtherAnswer:
    return OtherAnswer(given=more.pop("given", "given"), text=text, right=right, **more)


async def press(pilot: Pilot[None], *keys: str) -> str:
    await pilot.press(*keys)
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()
    screen = pilot.app.screen
    if isinstance(screen, TabbedScreen):
        screen.poll()
    await pilot.pause()
    return "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips())


async def fill(pilot: Pilot[None], **fields: str) -> None:
    for name, text in fields.items():
        pilot.app.screen.query_one(f"#what-{name}", Input).value = text


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[WhatIfApp, Process]]:
    """A method's screen over its synthetic run, and the process it will ask."""

    def open_screen(screen: type[TabbedScreen], events: Any, answer: Answer) -> tuple[WhatIfApp, Process]:
        session = RecordedSession(write_log(tmp_path / "events.jsonl", events), tmp_path)
        process = Process(answer)
        monkeypatch.setattr(tabbed_screen, "WhatIfProcess", process)
        return WhatIfApp(screen(session)), process

    return open_screen


Opened = Callable[..., tuple[WhatIfApp, Process]]


@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_an_answer_under_other_deltas(opened: Opened, size: tuple[int, int]) -> None:
    def answer(system: str, wanted: Mapping[str, Any]) -> AnswerTried:
        tries = [
            said("It rose. It fell." if scale < 1 else "It rose.", scale >= 1, tokens=int(9 - scale))
            for scale in wanted["scales"]
        ]
        return answered(system, said("It rose.", tokens=8), said("It rose. Indeed.", tokens=12), *tries)

    app, process = opened(EvolutionScreen, evolution_events(), answer)
    async with app.run_test(size=size) as pilot:
        await press(pilot, "1", "g", *["down"] * 6)  # behind the answers without deltas
        assert "right answer" in await press(pilot, "w")
        text = await press(pilot, "enter")
        system, wanted = process.asked[0]
        assert system == "evolution" and wanted["of"] is None and wanted["scales"] == [1.0]
        assert "is not the record (a server)" in text and "12 tokens (+4)" in text
        assert "= the committed answer" in text and "≠ Indeed." in text
        await fill(pilot, of="1", put="2=0 0=-0.5", scales="2")
        text = await press(pilot, "f2")
        wanted = process.asked[1][1]
        assert wanted["of"] == 1 and wanted["put"] == {"2": 0.0, "0": -0.5}
        assert wanted["scales"][:2] == [0.0, 0.5] and len(wanted["scales"]) == 9
        strip = next(line for line in text.splitlines() if line.count("✗") + line.count("✓") == 9)
        assert strip.split()[:2] == ["✗9", "✗8"]
        await fill(pilot, scales="4, 1")
        await press(pilot, "f2")
        assert process.asked.pop()[1]["scales"] == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0], (
            "of the first"
        )
        for field, words in (({"put": "9"}, "such as 3=-0.5"), ({"put": "77=0"}, "no cluster '77'")):
            await fill(pilot, **field)
            assert words in await press(pilot, "enter")
        assert len(process.asked) == 2
        await fill(pilot, put="3=0")
        text = await press(pilot, "enter")
        assert len(process.asked) == 3 and "no cluster" not in text, "what was wrong is right now"
        await press(pilot, "escape")
        assert pilot.app.screen is app.first


async def test_an_answer_under_another_note(opened: Opened) -> None:
    def answer(system: str, wanted: Mapping[str, Any]) -> AnswerTried:
        note = wanted["note"] or "[SLSM MEMORY NOTE]\nYour dog is Rex."
        return answered(
            system, said("One fruit is fig.", False), said("One fruit is fig.", False),
            said("One fruit is fig. maple", verdict="YES to it", note=note, tokens=7),
        )  # fmt: skip

    app, process = opened(SLSMScreen, slsm_events(), answer)
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "1", "g", *["down"] * 6)
        text = await press(pilot, "w")
        assert "on risk, structured" in text and "turn 5 of 5, note of" in text
        screen = pilot.app.screen
        assert isinstance(screen, WhatIfScreen)
        assert (screen.HELP or "").endswith(HELP_OF_ALL)
        note = screen.query_one(LongField)
        recorded = note.text
        assert recorded.startswith("[SLSM MEMORY NOTE]")
        text = await press(pilot, "enter")
        assert process.asked[0][1]["note"] == recorded and process.asked[0][1]["source"] == "note"
        assert "note of 7 tokens" in text and "✓ YES to it" in text and "≠ maple" in text
        note.move_cursor(note.document.end)
        await press(pilot, "ctrl+j", *"Be kind.")
        await press(pilot, "enter")
        assert process.asked[1][1]["note"] == f"{recorded}\nBe kind."
        note.text = "2"
        await press(pilot, "enter")
        assert {"turn": 4, "source": "flat", "note": ""}.items() <= process.asked[2][1].items()
        assert note.text == "[SLSM MEMORY NOTE]\nYour dog is Rex.", "to be edited"
        note.text = ""
        await press(pilot, "enter")
        assert process.asked[3][1]["note"] == "" and process.asked[3][1]["source"] == "note"
        await press(pilot, "escape", "left_parenthesis", "w")
        assert pilot.app.screen.query_one(LongField).text == "1"
        await press(pilot, "enter")
        assert process.asked[4][1]["turn"] == 3 and process.asked[4][1]["source"] == "structured"


@pytest.mark.parametrize("keys", [(), ("1",)])
async def test_a_query_with_other_demonstrations(opened: Opened, keys: tuple[str, ...]) -> None:
    def answer(system: str, wanted: Mapping[str, Any]) -> AnswerTried:
        tries = [
            said(f"{rows[0] % 10}", rows[0] == 3, score=float(rows[0] == 3), rows=rows)
            for rows in wanted["pairs"]
        ]
        return answered(system, said("7", score=1.0), said("", None, verdict="it failed"), *tries)

    app, process = opened(partial(MethodScreen, title="Pool"), pool_events(), answer)
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, *keys, "g")
        assert "people answered" in await press(pilot, "w")
        await fill(pilot, pairs="2, 3+7")
        text = await press(pilot, "enter")
        system, wanted = process.asked[0]
        assert system == "pool" and wanted["pairs"][1] == [3, 7] != wanted["recorded"] != wanted["pairs"][0]
        assert "it failed" in text and "✓ 1.00  VQA accuracy" in text
        for typed, words in (
            ("", "two rows such as 12+340"),
            ("3-7", "found '3-7'"),
            ("99", "the list has no 99"),
        ):
            await fill(pilot, pairs=typed)
            assert words in await press(pilot, "enter")
        assert len(process.asked) == 1


@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_paths_at_another_temperature(opened: Opened, size: tuple[int, int]) -> None:
    logged: list[QuestionSampled] = []

    def answer(system: str, wanted: Mapping[str, Any]) -> PathsTried:
        if wanted["draw"] == 7:
            raise SteerError(what="the sampler is gone", hint="look for it")
        own = logged[0]
        same = msgspec.structs.replace(own, prior_alpha=0.0)
        fewer = msgspec.structs.replace(own, paths=own.paths[1:], temperature=wanted["temperature"])
        return PathsTried(example=own.sample_id, committed=own, none=same, yours=fewer, exact=True)

    app, process = opened(partial(MethodScreen, title="GFlowNet"), gflownet_events(), answer)
    async with app.run_test(size=size) as pilot:
        session = app.first.session
        event = session.read(*session.state.gflownet.questions[0].place)
        assert isinstance(event, QuestionSampled)
        logged.append(event)
        await press(pilot, "1", "g", "w")
        assert isinstance(pilot.app.screen, WhatIfScreen)
        await fill(pilot, temperature="hot")
        assert "expected a number, found 'hot'" in await press(pilot, "enter")
        await fill(pilot, temperature="0.25", prior_alpha="0", distinct="1", draw="2")
        text = await press(pilot, "enter")
        if size == SMALL:
            text += await press(pilot, "pagedown") + await press(pilot, "pagedown")
        assert process.asked[0] == ("gflownet", {
            "sample_id": "test-0", "temperature": 0.25, "prior_alpha": 0.0, "samples": 20, "distinct": True, "draw": 2,
        })  # fmt: skip
        assert "repeats the record" in text and "yours: temperature 0.25" in text
        assert "= the committed paths" in text and "+0 −1 against the committed paths" in text
        await fill(pilot, draw="7")
        assert "the sampler is gone: look for it" in await press(pilot, "enter")
    assert process.closed == 1


async def test_tabs_without_a_recorded_choice_do_not_offer_it(opened: Opened) -> None:
    app, process = opened(
        partial(MethodScreen, title="Pool"), pool_events(), lambda system, wanted: pytest.fail("asked")
    )
    async with app.run_test(size=SMALL) as pilot:
        for tab in "23":
            await press(pilot, tab, "w")
            assert pilot.app.screen is app.first and "What if" not in await press(pilot, tab)
        assert "What if" in await press(pilot, "1")
    assert not process.asked


def test_of_several_tries_the_one_that_turned_stands_beside_the_record() -> None:
    """The second differs in its text alone, the third is right."""
    beside = [
        answer.Answer("committed", "It is 3.", right=False),
        answer.Answer("null here", "It is 3.", right=False),
    ]
    tried = [
        answer.Answer(f"yours {number}", text, right=right)
        for number, (text, right) in enumerate((("It is 3.", False), ("It is 5.", False), ("It is 4.", True)))
    ]
    console = Console(width=120, file=StringIO())
    console.print(
        draw_answers(answer.Answers(beside, tried), ("α", [1.0, 2.0, 3.0]), defaultdict(Style), 120)
    )
    drawn = console.file.getvalue()  # type: ignore[attr-defined]
    assert "yours 2" in drawn and "It is ≠ 4." in drawn and "yours 0" not in drawn and "yours 1" not in drawn


def test_the_strip_of_tries_keeps_its_columns() -> None:
    """Seven cells for each: its strength, and below it the sign with as much of the answer as leaves a gap."""
    tried = [
        answer.Answer(f"yours {n}", "?", right=n > 1, short=short)
        for n, short in enumerate(("123456789", "7", ""))
    ]
    console = Console(width=120, file=StringIO())
    beside = [answer.Answer("committed", "?", right=False)]
    console.print(
        draw_answers(answer.Answers(beside, tried), ("α", [0.25, 1.0, 12.5]), defaultdict(Style), 120)
    )
    above, verdicts = console.file.getvalue().splitlines()[:2]  # type: ignore[attr-defined]
    assert above.rstrip() == "α      0.25   1      12.5"
    assert verdicts.rstrip() == "       ✗12345 ✗7     ✓"


async def test_tries_without_a_strength_are_numbered_from_one(opened: Opened) -> None:
    def reply(system: str, wanted: Mapping[str, Any]) -> AnswerTried:
        tries = [said(str(rows[0]), True, score=1.0, rows=rows) for rows in wanted["pairs"]]
        return answered(system, said("7", score=1.0), said("", None), *tries)

    app, _ = opened(partial(MethodScreen, title="Pool"), pool_events(), reply)
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "g", "w")
        await fill(pilot, pairs="3+7 4+8 5+9")
        text = await press(pilot, "enter")
        assert next(line.split() for line in text.splitlines() if line.strip().startswith("try ")) == [
            "try",
            *"123",
        ]


def printed(drawing: RenderableType, width: int) -> list[str]:
    console = Console(width=width, file=StringIO())
    console.print(drawing)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("exact", "words"),
    [
        (True, "✓ Without a change, the result repeats the record: what differs comes from your choice."),
        (False, "≠ Without a change, the result is not the record (a server). Compare the columns with each other, not"
                " with the run."),
    ],
)  # fmt: skip
def test_whether_the_record_is_repeated(exact: bool, words: str) -> None:
    tried = msgspec.structs.replace(answered("ESM", said("a"), said("b")), exact=exact)
    assert [text.plain for text in draw_exact(tried, defaultdict(Style))] == [words]
    assert draw_exact(object(), defaultdict(Style)) == []


@pytest.mark.parametrize(
    ("text", "other", "same"),
    [
        ("", "", 0),
        ("It is 3.", "It is 3.", 8),
        ("It is 33.", "It is 34.", 6),
        ("It is", "It is 3.", 5),
        ("It is 3. So", "It is 3.", 8),
        ("abc", "abd", 0),
        ("x", "y", 0),
    ],
)
def test_how_much_of_two_texts_is_the_same(text: str, other: str, same: int) -> None:
    """Up to a whole word, or to the end of the shorter one."""
    assert _shared(text, other) == same


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("It is 4.", "It is ≠ 4."),
        ("It is", "It is ≠ it ends here"),
        ("No.", "≠ No."),
        ("It is 3. Or 4.", "It is 3. ≠ Or 4."),
        ("It is 3.", "It is 3.\n= the committed answer"),
        ("", "≠ it ends here"),
    ],
)
def test_where_an_answer_leaves_the_first_one(text: str, drawn: str) -> None:
    first = answer.Answer("committed: e1", "It is 3.")
    palette: defaultdict[str, Style] = defaultdict(Style)
    assert _text(text, answer.Answer("null", text), first, palette).plain == drawn
    assert _text(first.text or "", first, first, palette).plain == "It is 3."
    empty = answer.Answer("committed", "")
    for blank in ("", " \n"):
        assert _text(blank, empty, empty, palette).plain == "(empty)"


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (99, [
            "", "committed", "It is 3.", "", "null", "It is ≠ 4.", "", "yours", "It is ≠ 5.", "", "more", "It is ≠ 6.",
            "",
        ]),
        (100, [
            "", f"{'committed':<34}{'null':<33}yours", f"{'It is 3.':<34}{'It is ≠ 4.':<33}It is ≠ 5.",
            "", f"{'committed':<50}more", f"{'It is 3.':<50}It is ≠ 6.",
        ]),
    ],
)  # fmt: skip
def test_three_answers_stand_abreast_and_the_first_one_beside_each(width: int, lines: list[str]) -> None:
    names = ("committed", "null", "yours", "more")
    beside = [answer.Answer(name, f"It is {number}.") for number, name in enumerate(names, 3)]
    drawing = draw_answers(answer.Answers(beside), ("try", [1]), defaultdict(Style), width)
    assert printed(drawing, width) == lines


TONES = {
    name: Style(meta={"tone": name}) for name in ("dim", "good", "bad", "warn", "strong", "heading", "accent")
}


def test_the_tones_of_texts_that_part() -> None:
    """What is the first answer's is dim, the sign warns, and what differs is strong."""
    first = answer.Answer("committed: e1", "It is 3.")

    def drawn(text: str, one: answer.Answer | None = None) -> Parts:
        return parts(_text(text, one or answer.Answer("null", text), first, TONES))

    assert drawn("It is 4.") == [("It is ", "dim"), ("≠ ", "warn"), ("4.", "strong")]
    assert drawn("It is") == [("It is", "dim"), (" ≠ it ends here", "warn")]
    assert drawn("It is 3.") == [("It is 3.\n= the committed answer", "dim")]
    assert drawn("It is 3.", first) == [("It is 3.", "dim")]
    assert drawn("It is 3. So") == [("It is 3.", "dim"), (" ≠ ", "warn"), ("So", "strong")]


def test_the_tones_of_the_strip() -> None:
    """A verdict is good or bad, or dim where nobody knows; as many tries in a row as there is room for: of 29 cells 8
    are taken, and three times seven fit."""
    tried = [
        answer.Answer(f"{n}", "?", right=right, short="7")
        for n, right in enumerate((True, False, None, True))
    ]
    group = _strip(tried, ("α", [1.0, 2.0, 3.0, 4.0]), TONES, 29)
    lines = [parts(line) for line in group.renderables if isinstance(line, Text)]
    assert [("".join(words for words, _ in line)).rstrip() for line in lines] == [
        "α      1      2      3", "       ✓7     ✗7     ·7", "α      4", "       ✓7",
    ]  # fmt: skip
    assert lines[1] == [("       ", ""), ("✓7     ", "good"), ("✗7     ", "bad"), ("·7     ", "dim")]
    assert {tone for _, tone in lines[0]} == {"dim"}


def test_the_tone_of_whether_the_record_is_repeated() -> None:
    tried = answered("ESM", said("a"), said("b"))
    for exact, tone in ((True, "dim"), (False, "warn")):
        [text] = draw_exact(msgspec.structs.replace(tried, exact=exact), TONES)
        assert [name for _, name in parts(text)] == [tone]


@pytest.mark.parametrize(("width", "rooms"), [(100, [48, 48]), (99, [99, 99])])
def test_what_stands_above_an_answer_is_drawn_in_its_column(
    width: int, rooms: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of 100 columns have 50 each, of which two part them."""
    drawn: list[int] = []
    module = drawing.terminal
    draw = module.draw
    monkeypatch.setattr(
        module, "draw", lambda blocks, palette, room: drawn.append(room) or draw(blocks, palette, room)
    )
    beside = [answer.Answer(name, "It is 3.") for name in ("committed", "null")]
    draw_answers(answer.Answers(beside), ("try", [1]), defaultdict(Style), width)
    assert drawn == rooms


class FieldsApp(App[None]):
    def compose(self) -> ComposeResult:
        for field in (
            answer.Field("layer", "layer", "12", int, "a number", width=7),
            answer.Field("name", "entry", "", str, "its name", 0),
            answer.Field("note", "the note", "one\ntwo", str, lines=4),
        ):
            yield from _widgets(field)


async def test_each_field_has_its_label_its_hint_and_its_size() -> None:
    """A width of 0 takes what is left; a field of several lines is as high as they are."""
    async with FieldsApp().run_test(size=(60, 24)) as pilot:
        layer, name = pilot.app.query(Input)
        note = pilot.app.query_one(LongField)
        labels = [str(label.render()) for label in pilot.app.query(Label)]
        assert labels == ["layer", "entry", "the note"]
        assert (layer.id, layer.value, layer.placeholder) == ("what-layer", "12", "a number")
        assert layer.styles.width == Scalar.parse("7")
        assert (name.id, name.placeholder, name.styles.width) == (
            "what-name",
            "its name",
            Scalar.parse("1fr"),
        )
        assert (note.id, note.text, note.styles.height) == ("what-note", "one\ntwo", Scalar.parse("4"))
        assert note.soft_wrap
        note.focus()
        note.move_cursor((0, 3))
        await pilot.press("ctrl+j")
        assert note.text == "one\n\ntwo"


def test_a_word_that_is_wider_than_its_column_goes_on_in_the_next_line() -> None:
    """48 of 50 letters fit, of a text that is cut nowhere."""
    beside = [answer.Answer("committed", "x" * 50), answer.Answer("null", "y")]
    lines = printed(draw_answers(answer.Answers(beside), ("try", [1]), defaultdict(Style), 100), 100)
    assert lines == ["", f"{'committed':<50}null", f"{'x' * 48}  ≠ y", "xx"]


async def test_while_the_model_answers_nothing_else_is_asked(opened: Opened) -> None:
    """After the answer it can be asked again."""

    def answer(system: str, wanted: Mapping[str, Any]) -> AnswerTried:
        return answered(system, said("7", score=1.0), said("", None), *(said("4") for _ in wanted["pairs"]))

    app, process = opened(partial(MethodScreen, title="Pool"), pool_events(), answer)
    given, answers = process.ask, asyncio.Event()

    async def ask(system: str, wanted: Mapping[str, Any]) -> Event:
        reply = await given(system, wanted)
        await answers.wait()
        return reply

    process.ask = ask  # type: ignore[method-assign]
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "g", "w")
        await fill(pilot, pairs="2")
        await pilot.press("enter", "enter", "f2")
        await pilot.pause()
        assert len(process.asked) == 1 and "loading the model" in drawn(app)
        answers.set()
        assert "loading the model" not in await press(pilot)
        await press(pilot, "enter")
        assert len(process.asked) == 2


async def test_one_process_answers_all_that_is_tried_of_a_run(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has loaded the model already; it ends with the screen."""
    app, process = opened(
        partial(MethodScreen, title="Pool"), pool_events(), lambda system, wanted: pytest.fail("asked")
    )
    made: list[Path] = []
    monkeypatch.setattr(tabbed_screen, "WhatIfProcess", lambda run_dir: made.append(run_dir) or process)
    async with app.run_test(size=SMALL) as pilot:
        await press(pilot, "g", "w", "escape", "w", "escape")
        assert len(made) == 1 and not process.closed
    assert process.closed == 1


async def test_an_error_goes_when_it_is_mended(opened: Opened) -> None:
    """And what a field is filled with is filled then."""

    def reply(system: str, wanted: Mapping[str, Any]) -> AnswerTried:
        if len(process.asked) == 1:
            raise SteerError(what="the model is gone")
        return answered(system, said("7", score=1.0), said("", None), said("4"))

    app, process = opened(partial(MethodScreen, title="Pool"), pool_events(), reply)
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "g", "w")
        await fill(pilot, pairs="")
        assert "two rows such as" in await press(pilot, "enter")
        await fill(pilot, pairs="2")
        text = await press(pilot, "enter")
        assert "the model is gone" in text and "two rows such as" not in text
        text = await press(pilot, "enter")
        assert (
            "the model is gone" not in text
            and "✗" not in text.split("committed")[0]
            and len(process.asked) == 2
        )


async def test_an_answer_of_before_fills_no_field_after_an_error(opened: Opened) -> None:
    """The number that was typed stays, to be tried again."""

    def reply(system: str, wanted: Mapping[str, Any]) -> AnswerTried:
        if len(process.asked) == 2:
            raise SteerError(what="the model is gone")
        no = said("One fruit is fig.", False)
        return answered(system, no, no, said("maple", note="[SLSM MEMORY NOTE]\nYour dog is Rex."))

    app, process = opened(SLSMScreen, slsm_events(), reply)
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "1", "g", *["down"] * 6, "w", "enter")
        note = pilot.app.screen.query_one(LongField)
        note.text = "2"
        assert "the model is gone" in await press(pilot, "enter") and note.text == "2"
        await press(pilot, "enter")
        assert note.text == "[SLSM MEMORY NOTE]\nYour dog is Rex."


async def test_what_is_typed_first_takes_the_place_of_the_recorded_note(opened: Opened) -> None:
    """All of it is chosen when the screen opens."""
    app, _ = opened(SLSMScreen, slsm_events(), lambda system, wanted: pytest.fail("asked"))
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "1", "g", *["down"] * 6, "w")
        note = pilot.app.screen.query_one(LongField)
        assert note.has_focus and note.text.startswith("[SLSM MEMORY NOTE]")
        await press(pilot, "2")
        assert note.text == "2"


async def test_more_is_offered_once_there_is_more_than_fits(opened: Opened) -> None:
    """Several strengths are not, where no field is one."""

    def reply(system: str, wanted: Mapping[str, Any]) -> AnswerTried:
        return answered(system, said("7", score=1.0), said("", None), said("A long answer. " * 200))

    app, _ = opened(partial(MethodScreen, title="Pool"), pool_events(), reply)
    async with app.run_test(size=(120, 60)) as pilot:
        await press(pilot, "g", "w")
        await fill(pilot, pairs="2")
        screen = pilot.app.screen
        assert not screen.check_action("scroll", (1,)) and not screen.check_action("sweep", ())
        assert not {"More", "Sweep"} & set(drawn(app).splitlines()[-1].split())
        await press(pilot, "enter")
        assert screen.check_action("scroll", (1,)) and "More" in drawn(app).splitlines()[-1]


async def test_answers_keep_their_strengths_where_the_next_try_fails(opened: Opened) -> None:
    """Nine strengths of 2 were answered; the one of 5 was not."""

    def reply(system: str, wanted: Mapping[str, Any]) -> AnswerTried:
        if len(process.asked) == 2:
            raise SteerError(what="the model is gone")
        tries = [said("It rose.", tokens=8) for _ in wanted["scales"]]
        return answered(system, said("It rose."), said("It fell."), *tries)

    app, process = opened(EvolutionScreen, evolution_events(), reply)
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "1", "g", *["down"] * 6, "w")
        await fill(pilot, scales="2")
        swept = await press(pilot, "f2")
        await fill(pilot, scales="5")
        failed = await press(pilot, "enter")
        assert "the model is gone" in failed
        [above, after] = [
            next(line.split() for line in text.splitlines() if line.split()[-1:] == ["6"])
            for text in (swept, failed)
        ]
        assert above == after and above[-9:] == ["0", "0.5", "1", "1.5", "2", "2.5", "3", "4", "6"]
