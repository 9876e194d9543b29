"""The SLSM screen over a recorded run, driven by keys, at the smallest and a wide size."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from rich.style import Style
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input

from app.blocks.block import Target
from app.blocks.terminal import draw
from app.methods.slsm.results import details
from app.runs.queries.chat_partner import ChatPartner, ChatTurn
from app.state.slsm import SLSMState
from engine import events as ev
from engine.errors import SteerError
from engine.events import ConversationAnswered, StateItem, StateUpdated
from engine.run.event_log import read_event
from screens.messages import ErrorUnforeseen
from screens.slsm import chat
from screens.slsm.screen import SLSMScreen
from screens.widgets.tables.virtual_table import VirtualTable
from tests.recorded_session import RecordedSession
from tests.synthetic_run import write_log
from tests.synthetic_slsm import slsm_events

SMALL, WIDE = (80, 24), (200, 60)
each_size = pytest.mark.parametrize("size", [SMALL, WIDE])


class SLSMApp(App[None]):
    """Just the screen."""

    def __init__(self, session: RecordedSession) -> None:
        super().__init__()
        self.session = session
        self.unforeseen: list[ErrorUnforeseen] = []

    def on_error_unforeseen(self, message: ErrorUnforeseen) -> None:
        self.unforeseen.append(message)

    def on_mount(self) -> None:
        self.push_screen(SLSMScreen(self.session))


@pytest.fixture
def session(tmp_path: Path) -> RecordedSession:
    return RecordedSession(write_log(tmp_path / "events.jsonl", slsm_events()), tmp_path)


async def press(pilot: Pilot[None], *keys: str) -> str:
    """Press, let the screen draw, and give it as text."""
    await pilot.press(*keys)
    await pilot.pause()
    screen = pilot.app.screen
    if isinstance(screen, SLSMScreen):
        screen.poll()
    await pilot.pause()
    return "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips())


async def test_a_conversation_stands_beside_its_memory(session: RecordedSession) -> None:
    """Rows: baseline first, then modes; G is on_detection, flat, of the last conversation."""
    async with SLSMApp(session).run_test(size=WIDE) as pilot:
        text = await press(pilot, "g", *["down"] * 6, "enter")
        assert "retention-1  on risk, structured" in text
        assert "▶ 5 user      Suggest one fruit." in text
        assert "after turn 5   plan verify" in text
        assert "C2" in text and "✓ Never use the word pear" in text
        assert "[SLSM MEMORY NOTE]" in text and "21 tokens" in text


async def test_a_log_that_is_gone_is_told_and_the_console_goes_on(
    session: RecordedSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody may move or remove the run's folder while it is open."""
    monkeypatch.setattr(session, "read", partial(read_event, tmp_path / "events.jsonl"))
    async with SLSMApp(session).run_test(size=WIDE) as pilot:
        await press(pilot, "g")
        (tmp_path / "events.jsonl").unlink()
        await press(pilot, "down")
        assert "cannot be read any more: No such file" in await press(pilot)


async def test_the_memory_goes_from_turn_to_turn(session: RecordedSession) -> None:
    async with SLSMApp(session).run_test(size=WIDE) as pilot:
        text = await press(pilot, "g", *["down"] * 6, "left_parenthesis", "left_parenthesis")
        assert "after turn 3" in text
        assert "+ C2" in text and "Never use the word pear" in text
        assert "− C1 End every answer with the word maple" in text
        text = await press(pilot, *["left_parenthesis"] * 9)
        assert "after turn 1 " in text and "+ C1" in text
        assert "after turn 2 " in await press(pilot, "right_parenthesis")


async def test_the_turn_that_is_gone_to_is_scrolled_into_view(session: RecordedSession) -> None:
    """In the small detail below the table and in the opened case: `w` asks about that turn."""
    async with SLSMApp(session).run_test(size=SMALL) as pilot:
        assert "▶ " not in await press(pilot, "g", *["down"] * 6), "the last turn is below"
        for keys in (
            ("left_parenthesis",) * 3,
            ("right_parenthesis",),
            ("enter", "pagedown", "right_parenthesis"),
        ):
            text = await press(pilot, *keys)
            assert any(line.lstrip().startswith("▶ ") for line in text.splitlines())


async def test_to_another_modes_answer_and_back(session: RecordedSession) -> None:
    """The line under the title leads to the other answers to the same conversation, all with keys."""
    async with SLSMApp(session).run_test(size=SMALL) as pilot:
        text = await press(pilot, "g", "down", "enter")
        assert "editing-1  no note" in text
        text = await press(pilot, "tab", "tab", "enter")
        assert "editing-1  silent, flat" in text
        text = await press(pilot, "backspace")
        assert "editing-1  no note" in text


async def test_from_a_count_in_modes_to_what_it_counts(session: RecordedSession) -> None:
    async with SLSMApp(session).run_test(size=WIDE) as pilot:
        await press(pilot, "2")
        screen = pilot.app.screen
        assert isinstance(screen, SLSMScreen)
        screen.follow(Target("fixed", "on_detection structured"))
        text = await press(pilot)
        slsm = session.state.slsm
        row = next(one for one in slsm.results if one.mode == "on_detection" and slsm.against_plain(one) == 1)
        assert f"{row.conversation_id}  on detection, structured" in text and screen.shown_name == "answers"
        await press(pilot, "backspace")
        assert screen.shown_name == "results"


@each_size
async def test_two_answers_and_the_conflict_between_them(
    session: RecordedSession, size: tuple[int, int]
) -> None:
    async with SLSMApp(session).run_test(size=size) as pilot:
        await press(pilot, "G", "enter")
        seen = await press(pilot, "home")
        for _ in range(4):
            seen += await press(pilot, "pagedown")
        for words in (
            "first answer, without a note", "says “pear”  (checked)", "second answer", "✓ passes", "controller",
            "detector",
        ):  # fmt: skip
            assert words in seen


@each_size
async def test_baseline_has_no_memory_and_says_why_no_note(
    session: RecordedSession, size: tuple[int, int]
) -> None:
    async with SLSMApp(session).run_test(size=size) as pilot:
        await press(pilot, "g", "enter")
        text = await press(pilot, "home")
        assert "retention-1  no note" in text
        text = text + await press(pilot, "end")
        assert "no controller, no memory" in text and "no note" in text and "✗ fails" in text


@each_size
async def test_modes_stand_side_by_side(session: RecordedSession, size: tuple[int, int]) -> None:
    async with SLSMApp(session).run_test(size=size) as pilot:
        text = await press(pilot, "2")
        for _ in range(4):
            text += await press(pilot, "pagedown")
        assert "controller rules (offline)" in text and "judge exact (offline)" in text
        assert (
            "fixed:  on risk, structured 2  on risk, flat 2  always, structured 2" in text
            and "[0.000, +1.000]" in text
        )
        if size == WIDE:
            assert "fixed: the note made a failing answer pass" in text and "detector" in text


async def test_failures_of_the_controller_are_counted(tmp_path: Path) -> None:
    log = write_log(tmp_path / "events.jsonl", slsm_events(failure="the reply is empty"))
    async with SLSMApp(RecordedSession(log, tmp_path)).run_test(size=WIDE) as pilot:
        assert "4 calls of the controller failed" in await press(pilot, "2", "end")
        text = await press(pilot, "1", "g", *["down"] * 6, "enter", *["left_parenthesis"] * 9)
        assert "the previous state still holds: the reply is empty" in text


async def test_before_anything_happened(tmp_path: Path) -> None:
    events = [event for event in slsm_events() if event.seq < 3]
    session = RecordedSession(write_log(tmp_path / "events.jsonl", iter(events)), tmp_path)
    async with SLSMApp(session).run_test(size=SMALL) as pilot:
        assert "No conversation has been answered yet." in await press(pilot)
        assert "model dialogues" in await press(pilot, "2")


async def test_a_free_conversation(session: RecordedSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process is somebody else's test; here it is what it says that is shown."""
    said: list[tuple[str, str | None, str | None]] = []

    async def say(self: ChatPartner, text: str, mode: str | None, memory_mode: str | None) -> ChatTurn:
        said.append((text, mode, memory_mode))
        mode, memory_mode = mode or "on_detection", memory_mode or "structured"
        if text == "fail":
            raise SteerError(what="the process that answers has ended")
        state = StateUpdated(
            conversation_id="chat", memory_mode=memory_mode, turn=0, plan_mode="proceed",
            items=[StateItem(kind="facts", id="F1", text="The user's dog is Rex", evidence=text)],
        )  # fmt: skip
        answered = ConversationAnswered(
            conversation_id="chat", axis="", mode=mode, memory_mode=memory_mode, attempt=0, answer="Noted.",
            injected=False, reason="no conflict",
        )  # fmt: skip
        return ChatTurn(turns=[[text, "Noted."]], states=[state], answered=answered)

    async def forget(self: ChatPartner) -> None:
        said.append(("", "", ""))

    monkeypatch.setattr(chat.ChatPartner, "say", say)
    monkeypatch.setattr(chat.ChatPartner, "forget", forget)
    async with SLSMApp(session).run_test(size=WIDE) as pilot:
        assert "End every answer with the word maple." in await press(pilot, "3")
        text = await press(pilot, *"hi", "space", "q", "enter")
        assert said == [("hi q", None, None)], "what the run does"
        assert "F1 The user's dog is Rex" in text and "Noted." in text and "no conflict" in text
        assert "mode always" in await press(pilot, "f2")
        assert "memory flat" in await press(pilot, "f3")
        text = await press(pilot, *"fail", "enter")
        assert said[-1] == ("fail", "always", "flat") and "the process that answers has ended" in text
        assert pilot.app.screen.query_one("#chat-say", Input).value == "fail", "to be sent again"
        assert "Type a message" in await press(pilot, "f4")


async def test_a_finished_run_opens_on_the_first_answer_a_note_turned(session: RecordedSession) -> None:
    """Its line has ▲ and its detail what it was without a note; `d` goes to the next one, past those of baseline."""
    async with SLSMApp(session).run_test(size=WIDE) as pilot:
        text = await press(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, SLSMScreen)
        slsm, table = session.state.slsm, screen.query(VirtualTable).first()
        turned = [at for at, row in enumerate(slsm.results) if slsm.against_plain(row)]
        assert turned[0] > 0 and table.cursor == turned[0]
        assert "▲ the note turned it right" in text and "following" not in text
        await press(pilot, "d")
        assert table.cursor == turned[1]
        await press(pilot, "D", "D")
        assert table.cursor == turned[-1]


async def test_results_begin_with_what_came_of_the_notes(session: RecordedSession) -> None:
    async with SLSMApp(session).run_test(size=SMALL) as pilot:
        lines = (await press(pilot, "2")).splitlines()
        assert "The best mode by score: a note on risk, structured memory. It turned 2" in lines[2]
        assert "the interval does not count that it was chosen" in " ".join(" ".join(lines[2:8]).split())


@pytest.mark.parametrize(
    ("detector", "line"),
    (
        ("", "model m controller rules (offline) judge none"),
        ("checks", "model m controller rules (offline) detector checks judge none"),
    ),
)
def test_what_finds_conflicts_is_named_beside_the_controller(detector: str, line: str) -> None:
    state = SLSMState()
    state.began = ev.SLSMBegan(
        conversations=1, variants=[], controller="rules (offline)", model="m", judge="none", dataset="d",
        dataset_hash="", axes=[], detector=detector,
    )  # fmt: skip
    palette: dict[str, Style] = defaultdict(Style.null)
    console = Console(width=100)
    with console.capture() as captured:
        console.print(draw(details(state), palette, 100))
    assert line in [" ".join(text.split()) for text in captured.get().splitlines()]


def noted(text: str, mode: str, memory_mode: str) -> ChatTurn:
    """The answer "Noted." to a message."""
    answered = ConversationAnswered(
        conversation_id="chat", axis="", mode=mode, memory_mode=memory_mode, attempt=0, answer="Noted.",
        injected=False, reason="no conflict",
    )  # fmt: skip
    states = [
        StateUpdated(conversation_id="chat", memory_mode=memory_mode, turn=0, plan_mode="proceed", items=[])
    ]
    return ChatTurn(turns=[[text, "Noted."]], states=states, answered=answered)


async def test_an_error_that_nobody_foresaw_ends_the_waiting_and_not_the_console(
    session: RecordedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def say(self: ChatPartner, text: str, mode: str | None, memory_mode: str | None) -> ChatTurn:
        raise KeyError("unknown")

    monkeypatch.setattr(chat.ChatPartner, "say", say)
    app = SLSMApp(session)
    async with app.run_test(size=WIDE) as pilot:
        text = await press(pilot, "3", *"one", "enter")
        assert "loading the controller" not in text and app.is_running
        assert [repr(message.error) for message in app.unforeseen] == ["KeyError('unknown')"]


async def test_what_talk_says_while_it_waits(
    session: RecordedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the first message everything is loaded; a second one waits for the first one's answer."""
    go_on = asyncio.Event()

    async def say(self: ChatPartner, text: str, mode: str | None, memory_mode: str | None) -> ChatTurn:
        await go_on.wait()
        return noted(text, mode or "on_detection", memory_mode or "structured")

    async def forget(self: ChatPartner) -> None:
        raise SteerError(what="the process has ended")

    monkeypatch.setattr(chat.ChatPartner, "say", say)
    monkeypatch.setattr(chat.ChatPartner, "forget", forget)
    async with SLSMApp(session).run_test(size=WIDE) as pilot:
        text = await press(pilot, "3", *"one", "enter")
        assert "mode of the run  F2   memory of the run  F3   new conversation  F4" in text
        said = [line.strip() for line in text.splitlines()]
        assert "user      one" in said and "loading the controller and the model …" in said
        assert "Type a message and press enter." not in text
        await press(pilot, *"two", "enter")
        [told] = [note.message for note in pilot.app._notifications]
        assert told == "The last message has no answer yet: press enter again when it has."
        go_on.set()
        assert "Noted." in await press(pilot)
        go_on.clear()
        said = [line.strip() for line in (await press(pilot, "enter")).splitlines()]
        assert "user      two" in said and "the model answers …" in said
        go_on.set()
        await press(pilot)
        modes = [(await press(pilot, "f2")).partition("mode ")[2].partition("  F2")[0] for _ in range(7)]
        assert modes == [
            "always",
            "on risk",
            "silent",
            "no note",
            "reminder",
            "remind on detection",
            "on detection",
        ]
        memories = [(await press(pilot, "f3")).partition("  F2   memory ")[2].split()[0] for _ in range(2)]
        assert memories == ["flat", "structured"]
        text = await press(pilot, "f4")
        assert "the process has ended" in text and "Type a message and press enter." in text
        pane = pilot.app.screen.query_one(chat.ChatPane)
        assert pane.field.has_focus and pane.field.placeholder == "your message"
        assert (
            str(pane.line.content) == "mode on detection  F2   memory structured  F3   new conversation  F4"
        )
        await press(pilot, "escape")
        assert pane.page.has_focus and isinstance(pilot.app.screen, SLSMScreen)
        assert not pane.close_one()


async def test_a_new_conversation_has_nothing_of_the_one_before(
    session: RecordedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where its answer comes when the new one has begun; and what is loaded stays loaded."""
    turn, go_on = asyncio.Lock(), asyncio.Event()

    async def say(self: ChatPartner, text: str, mode: str | None, memory_mode: str | None) -> ChatTurn:
        async with turn:
            await go_on.wait()
        return noted(text, mode or "on_detection", memory_mode or "structured")

    async def forget(self: ChatPartner) -> None:
        async with turn:  # as in the process: one request after the other
            await asyncio.sleep(0)

    monkeypatch.setattr(chat.ChatPartner, "say", say)
    monkeypatch.setattr(chat.ChatPartner, "forget", forget)
    async with SLSMApp(session).run_test(size=WIDE) as pilot:
        await press(pilot, "3", *"one", "enter")
        assert "user      one" in await press(pilot, "f4")
        go_on.set()
        text = await press(pilot)
        assert "Noted." not in text and "Type a message and press enter." in text
        go_on.clear()
        assert "the model answers …" in await press(pilot, *"two", "enter")
        go_on.set()
        assert "Noted." in await press(pilot)


async def test_what_is_chosen_before_an_answer_stays(
    session: RecordedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first press chooses the first mode, whatever the run's is."""
    go_on = asyncio.Event()

    async def say(self: ChatPartner, text: str, mode: str | None, memory_mode: str | None) -> ChatTurn:
        await go_on.wait()
        return noted(text, mode or "always", memory_mode or "structured")

    monkeypatch.setattr(chat.ChatPartner, "say", say)
    async with SLSMApp(session).run_test(size=WIDE) as pilot:
        await press(pilot, "3", *"one", "enter")
        chosen = "mode on detection  F2   memory flat  F3"
        assert chosen in await press(pilot, "f2", "f3")
        go_on.set()
        text = await press(pilot)
        assert "Noted." in text and chosen in text


@pytest.mark.parametrize(
    ("typed", "waiting", "shown", "said"),
    [
        (" two ", "", ("two", ""), ["two"]),
        ("  ", "", ("", "it has ended"), []),
        ("two", "one", ("one", "it has ended"), []),
    ],
)
def test_a_new_message_takes_the_last_error_away(
    typed: str, waiting: str, shown: tuple[str, str], said: list[str]
) -> None:
    """An empty line, or one that has to wait, sends nothing and leaves what is shown."""
    sent: list[str] = []
    nothing = SimpleNamespace(clear=lambda: None, scroll_end=lambda animate: None)
    pane: Any = SimpleNamespace(
        _waiting=waiting, _error="it has ended", field=nothing, page=nothing, show=lambda: None, _say=sent.append,
        notify=lambda text, markup: None,
    )  # fmt: skip
    event: Any = SimpleNamespace(value=typed)
    chat.ChatPane._submitted(pane, event)
    assert ((pane._waiting, pane._error), sent) == (shown, said)


async def test_one_process_talks_until_the_screen_is_closed(
    session: RecordedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps the conversation, and ends with the screen; a new conversation takes the last error away."""
    done: list[str] = []

    class Partner:
        def __init__(self, run_dir: Path) -> None:
            done.append("begun")

        async def say(self, text: str, mode: str, memory_mode: str) -> ChatTurn:
            done.append(text)
            raise SteerError(what="it did not understand")

        async def forget(self) -> None:
            done.append("forgotten")

        async def close(self) -> None:
            done.append("closed")

    monkeypatch.setattr(chat, "ChatPartner", Partner)
    async with SLSMApp(session).run_test(size=SMALL) as pilot:
        await press(pilot, "3", "a", "enter")
        assert "it did not understand" in await press(pilot, "b", "enter")
        assert "it did not understand" not in await press(pilot, "f4")
    assert done[:2] == ["begun", "a"] and done[3:] == ["forgotten", "closed"]


async def test_there_is_no_fourth_tab(session: RecordedSession) -> None:
    async with SLSMApp(session).run_test(size=SMALL) as pilot:
        before = await press(pilot, "2")
        assert await press(pilot, "4") == before
