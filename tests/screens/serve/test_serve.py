"""The server's screen over a recorded run: address, load, requests, and ESM's decisions with the question beside."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual.app import App
from textual.pilot import Pilot

from app.blocks.block import Heading, Paragraph, Table, Writing, plain, spans
from app.methods.place import OfEvent, Place
from app.methods.serve.requests import COLUMNS, request_blocks
from app.methods.serve.server import _address, _how_to_ask, _times, server_blocks
from app.methods.source import CaseSource
from app.state.run import RunState
from app.state.serve import ServeState
from app.table.column import cell_of
from engine import events as ev
from screens.esm.screen import EsmScreen
from screens.event_places import place_of
from screens.method_progress import progress_of
from screens.panes.blocks import BlocksPane
from screens.panes.cases import CasesPane
from screens.serve.screen import ServeScreen
from screens.systems import systems_of
from tests.recorded_session import RecordedSession
from tests.synthetic_run import write_log

BEGIN = 1_760_000_000.0


def serve_events() -> Iterator[ev.Event]:
    """Two requests are answered, one is left by its client, one is under way."""
    for seq, event in enumerate(_events()):
        yield msgspec.structs.replace(
            event, seq=seq, time=BEGIN + 0.2 * seq, stage="serve" if seq > 1 else ""
        )


def _events() -> Iterator[ev.Event]:
    yield ev.Header(
        schema_version=1,
        name="demo-serve",
        run_id="2025-10-09T08-53-20",
        seed=0,
        stages=["serve"],
        versions={},
    )
    yield ev.WorkerStarted(pid=4711, attempt=1, stages=["serve"])
    yield ev.StageStarted(total=0, unit="requests")
    yield ev.ServeOpened(
        url="http://127.0.0.1:8899/v1",
        model="embedded",
        key="/outputs/demo-serve/1/serve/key",
        levers=[
            ev.LeverFit(lever="esm", run="/outputs/demo/1", fits=True, why="a memory of 800 entries"),
            ev.LeverFit(lever="notes", run="/outputs/demo/1", fits=True, why="notes of the rules"),
            ev.LeverFit(lever="deltas", run="/outputs/demo/1", fits=False, why="for another vocabulary"),
        ],
        usual=["esm"],
    )
    for number, outcome in enumerate(("answered", "vanished", "answered"), 1):
        name = f"5f-{number}"
        yield ev.QuestionAsked(example=name, question=f"How many pens has Tom on day {number}?")
        yield ev.RequestTaken(
            request=name, kind="chat", levers=["esm"], question=f"How many pens has Tom on day {number}?",
            prompt_tokens=28, waited=0.3,
        )  # fmt: skip
        yield ev.DecisionTaken(
            method="esm", example=name, m=1, gate="chosen", chosen="wrong-0007", layer=2, alpha=0.8
        )
        yield ev.RequestAnswered(
            request=name, outcome=outcome, finish="stop", tokens=20, probe_tokens=32, first=0.25, seconds=1.5,
            segments=1, steered=1, text="Forward: 14 + 5 = 19",
            did=[ev.LeverActed(lever="esm", acted=True, what="steered 1 of 1 segments", tokens=32)],
        )  # fmt: skip
        yield ev.StageProgress(done=number, total=0, tokens=52 * number, elapsed=2.0 * number)
    yield ev.RequestTaken(request="5f-4", kind="chat", levers=[], question="Who are you?", prompt_tokens=9)
    yield ev.ServeLoad(
        in_flight=1, waiting=2, answered=2, vanished=1, refused=5, tokens=156, tokens_per_second=1234.0
    )


class ServeApp(App[None]):
    """Just the screen."""

    def __init__(self, session: RecordedSession) -> None:
        super().__init__()
        self.session = session

    def on_mount(self) -> None:
        self.push_screen(ServeScreen(self.session))


async def shows(pilot: Pilot[None], wanted: Sequence[str], *keys: str) -> None:
    """Press, and wait until the screen shows all of it, in one view or in several."""
    await pilot.press(*keys)
    missing, deadline = set(wanted), time.monotonic() + 120
    while missing:
        await pilot.pause()
        screen = pilot.app.screen
        assert isinstance(screen, ServeScreen)
        screen.poll()
        text = "\n".join(strip.text for strip in screen._compositor.render_strips())
        missing = {word for word in missing if word not in text}
        assert time.monotonic() < deadline, f"{missing} not in\n{text}"


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_what_the_server_does_can_be_seen(tmp_path: Path, size: tuple[int, int]) -> None:
    session = RecordedSession(write_log(tmp_path / "events.jsonl", serve_events()), tmp_path)
    async with ServeApp(session).run_test(size=size) as pilot:
        await shows(
            pilot,
            [
                "Requests 3",
                "http://127.0.0.1:8899/v1",
                "serve/key",
                "model embedded",
                "1,234",
                "0.25",
                "Who are you?",
            ],
        )
        await shows(
            pilot, ["always", "if asked for", "for another vocabulary", "Authorization: Bearer"], "end"
        )
        await shows(pilot, ["vanished", "1/1", "on day 3", "3 requests"], "2")
        await shows(
            pilot, ["Forward: 14 + 5 = 19", "steered 1 of 1 segments", "32 tokens", "waited 0.3 s"], "enter"
        )


def test_a_request_is_found_in_the_row_of_its_answer() -> None:
    event = ev.RequestAnswered(request="5f-1", outcome="answered", finish="stop", tokens=20)
    assert place_of(event, 700) == ("Server", Place("requests", OfEvent(700), open=True))


def test_the_state_knows_who_is_being_answered_and_esm_the_questions() -> None:
    state = RunState()
    for event in serve_events():
        state.apply(event)
    assert list(state.serve.flying) == ["5f-4"] and len(state.serve.ended) == 3
    assert state.esm.question("5f-2") == "How many pens has Tom on day 2?" and len(state.esm.decisions) == 3
    assert [system.title for system in systems_of(state.stages)] == ["Server", "ESM"]
    server, esm = progress_of(list(state.stages.values()))
    assert server.short == "▶" == esm.short
    again = state.share()
    again.apply(ev.ServeOpened(url="", model="", key="", levers=[]))
    assert isinstance(again.serve, ServeState) and not again.serve.flying and state.serve.flying


async def test_esm_has_no_tab_that_a_run_that_serves_never_fills(tmp_path: Path) -> None:
    session = RecordedSession(write_log(tmp_path / "events.jsonl", serve_events()), tmp_path)
    app = ServeApp(session)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = EsmScreen(session)
        await app.push_screen(screen)
        await pilot.press("2", "3", "1")
        screen.poll()
        await pilot.pause()
        assert [tab.label for tab in screen.TABS] == ["Cases"] and screen.shown_name == "decisions"
        text = "\n".join(strip.text for strip in screen._compositor.render_strips())
        assert "Results" not in text and "Training" not in text and "Entries" not in text
        assert "How many pens" in text


def test_the_time_to_the_end_is_of_requests_that_were_answered() -> None:
    """Of 2 and 4 s, not of the 60 s after which a client left."""
    state = RunState()
    for number, (outcome, seconds) in enumerate((("answered", 2.0), ("vanished", 60.0), ("answered", 4.0))):
        request = ev.RequestAnswered(
            request=str(number), outcome=outcome, seconds=seconds, first=0.5 * number
        )
        state.apply(request)
    assert _times(state.serve) == {
        "seconds to the first text, median": "0.50",
        "seconds to the end, median": "3.00",
    }


def test_times_are_those_of_the_last_hundred_requests() -> None:
    """Of 150 that took 1 s and then 100 that took 3."""
    state = RunState()
    for number in range(250):
        seconds = 1.0 if number < 150 else 3.0
        state.apply(
            ev.RequestAnswered(request=str(number), outcome="answered", seconds=seconds, first=seconds / 2)
        )
    assert list(_times(state.serve).values()) == ["1.50", "3.00"]


def test_the_lines_of_a_request(tmp_path: Path) -> None:
    """28 tokens were asked and 20 written; a wait below 0.1 s is none."""
    state = RunState()
    asked: dict[str, Any] = {"request": "r", "kind": "chat", "levers": [], "prompt_tokens": 28}
    state.apply(ev.RequestTaken(**asked, question="Why?", waited=0.099), 0, 1)
    event = ev.RequestAnswered(request="r", outcome="answered", finish="stop", tokens=20, text="So.")
    state.apply(event, 1, 1)
    blocks = request_blocks(event, CaseSource(tmp_path, state, lambda *place: event))
    last = blocks[-1]
    assert isinstance(last, Paragraph) and plain(last.text) == "answered, stop   chat, 28 + 20 tokens"
    asked["waited"] = 0.1
    state.apply(ev.RequestTaken(**asked, question=""), 2, 1)
    did = [
        ev.LeverActed(lever="esm", acted=True, what="steered 1 of 2 segments", tokens=1200),
        ev.LeverActed(lever="notes", acted=False, what="no conversation"),
    ]
    event = ev.RequestAnswered(
        request="r", outcome="failed", why="the model fell", finish="stop", tokens=1000, did=did
    )
    state.apply(event, 3, 1)
    blocks = request_blocks(event, CaseSource(tmp_path, state, lambda *place: event))
    drawn = [block.text for block in blocks if isinstance(block, Heading | Writing | Paragraph)]
    assert list(map(plain, drawn)) == [
        "question", "(not logged)", "answer", "(not logged)",
        "failed: the model fell   chat, 28 + 1,000 tokens, waited 0.1 s for a place",
        "what the levers did", "esm  steered 1 of 2 segments   1,200 tokens", "notes  no conversation",
    ]  # fmt: skip
    assert [[span.tone for span in spans(words)] for words in (drawn[4], *drawn[6:])] == [
        ["bad", "dim"], ["strong", "", "dim"], ["strong", "dim", "dim"],
    ]  # fmt: skip


def drawn_of(state: RunState) -> list[str]:
    """All lines of the tab Server; the cells of a row with | between."""
    lines: list[str] = []
    for block in server_blocks(state):
        if isinstance(block, Table):
            lines += [" | ".join(map(plain, row)) for row in block.rows]
        elif isinstance(block, Heading | Paragraph):
            lines.append(plain(block.text))
        elif isinstance(block, Writing):
            lines.append(block.text)
    return lines


def test_all_lines_of_the_server() -> None:
    """Of four requests three ended, two of them answered; before a first load those under way are counted."""
    events = list(serve_events())
    before, state = RunState(), RunState()
    for event in events[:4]:
        before.apply(event)
    for event in events:
        state.apply(event)
    address = ["http://127.0.0.1:8899/v1   model embedded", "key: /outputs/demo-serve/1/serve/key"]
    load = [
        "being answered | 1", "waiting for a place | 2", "answered | 2", "left by their clients | 1", "failed | 0",
        "asked to come again (429) | 5", "tokens a second, probes included | 1,234",
        "seconds to the first text, median | 0.25", "seconds to the end, median | 1.50",
    ]  # fmt: skip
    levers = [
        "esm | always | a memory of 800 entries", "notes | if asked for | notes of the rules",
        "deltas | no | for another vocabulary",
    ]  # fmt: skip
    lines = drawn_of(state)
    assert lines[:-1] == [
        *address, *load, "being answered now", "5f-4  Who are you?", *levers, "how to ask (3 requests so far)",
    ]  # fmt: skip
    assert lines[-1].startswith("curl http://127.0.0.1:8899/v1/chat/completions -H ")
    nothing = [f"{line.partition(' | ')[0]} | 0" for line in load[:-2]]
    times = ["seconds to the first text, median | ·", "seconds to the end, median | ·"]
    assert drawn_of(before)[:-1] == [*address, *nothing, *times, *levers, "how to ask (0 requests so far)"]
    for number in range(10):
        before.apply(ev.RequestTaken(request=str(number), kind="chat", levers=[]))
    many = drawn_of(before)
    assert many[2] == "being answered | 10"
    assert many[11:21] == [
        "being answered now", *(f"{number}  (not logged)" for number in range(8)), "and 2 more",
    ]  # fmt: skip
    [waits] = server_blocks(RunState())
    assert isinstance(waits, Paragraph) and plain(waits.text).startswith(
        "The server does not take requests yet"
    )


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("running", []), ("paused", ["Paused: requests wait until the run continues."]),
        ("stopped", ["The server does not run. Resume the run, and it serves again at this address."]),
    ],
)  # fmt: skip
def test_a_server_that_takes_no_requests_says_so(status: str, said: list[str]) -> None:
    opened = ev.ServeOpened(url="http://h/v1", model="m", key="no key is asked for", levers=[])
    assert [plain(block.text) for block in _address(opened, status) if isinstance(block, Paragraph)] == [
        "http://h/v1   model m", *said, "key: no key is asked for",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("key", "header"),
    [
        ("no key is asked for", ""), ("the variable MY_KEY", ' -H "Authorization: Bearer ""YOUR KEY"'),
        ("/a/key", ' -H "Authorization: Bearer ""$(cat /a/key)"'),
    ],
)  # fmt: skip
def test_how_to_ask_the_server(key: str, header: str) -> None:
    _, command = _how_to_ask(ev.ServeOpened(url="http://h/v1", model="m", key=key, levers=[]), 0)
    body = '{"messages": [{"role": "user", "content": "…"}], "steer": {"esm": true}}'
    assert isinstance(command, Writing) and command.text == (
        f"curl http://h/v1/chat/completions{header} -H 'Content-Type: application/json' -d '{body}'"
    )


def test_the_cells_of_a_request() -> None:
    state = RunState()
    state.apply(ev.RequestTaken(request="r", kind="chat", levers=[], question="Why\nso?", prompt_tokens=28))
    state.apply(ev.RequestAnswered(
        request="r", outcome="answered", tokens=20, probe_tokens=32, first=0.255, seconds=1.5, segments=3, steered=2,
    ))  # fmt: skip
    state.apply(ev.RequestAnswered(request="s", outcome="failed", segments=1))
    rows = [[cell_of(c.show(c.value(row))) for c in COLUMNS] for row in state.serve.ended]
    assert [[cell.text for cell in row] for row in rows] == [
        ["r", "answered", "2/3", "20", "32", "0.26", "1.50", "Why⏎so?"],
        ["s", "failed", "0/1", "0", "0", "–", "0.00", ""],
    ]  # fmt: skip
    assert [[row[at].tone for at in (1, 2, 5)] for row in rows] == [
        ["good", "accent", ""],
        ["bad", "dim", "dim"],
    ]


async def test_the_tabs_are_named_after_what_they_show(tmp_path: Path) -> None:
    session = RecordedSession(write_log(tmp_path / "events.jsonl", serve_events()), tmp_path)
    async with ServeApp(session).run_test(size=(80, 24)) as pilot:
        for key, label, shown in (("2", "Requests", CasesPane), ("1", "Server", BlocksPane)):
            await pilot.press(key)
            screen = pilot.app.screen
            assert isinstance(screen, ServeScreen)
            assert screen.TABS[screen.tabs.active].label == label and isinstance(screen.pane, shown)
