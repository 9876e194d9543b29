"""The ESM screen over a recorded run, driven by keys, at the smallest and a wide size."""

from __future__ import annotations

import csv
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from textual.app import App
from textual.message import Message
from textual.pilot import Pilot
from textual.widgets import Input

from app.methods.place import Place
from app.state.esm import ESMState
from app.wording.text import counted
from engine.events import DecisionTaken, Event, MethodEvaluated, PairMined, StageStarted, Unknown, decode
from engine.run.find_event import find_event
from engine.run.stage_state import RUNNING
from engine.wilson import wilson
from screens.esm.decisions import NO_MATCH, gains
from screens.esm.screen import EsmScreen
from screens.messages import SystemRequested
from screens.panels.help import HelpScreen
from screens.panes.cases import CasesPane
from screens.what_if.screen import WhatIfScreen
from tests.console import drawn
from tests.recorded_session import RecordedSession
from tests.synthetic_run import SyntheticRun, write_log
from tests.two_runs import decided, evaluated

SMALL, WIDE = (80, 24), (200, 60)


class EsmApp(App[None]):
    """Just the screen."""

    def __init__(self, session: RecordedSession) -> None:
        super().__init__()
        self.session = session
        self.esm = EsmScreen(session)
        self.copied = ""

    def on_mount(self) -> None:
        self.push_screen(self.esm)

    def copy_to_clipboard(self, text: str) -> None:
        self.copied = text


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clocks on the screen are the reader's; here they stand still."""
    monkeypatch.setenv("TZ", "UTC")
    __import__("time").tzset()


@pytest.fixture
def session(tmp_path: Path) -> RecordedSession:
    return RecordedSession(write_log(tmp_path / "events.jsonl", SyntheticRun().events()), tmp_path)


@pytest.fixture
def growing(tmp_path: Path) -> RecordedSession:
    return RecordedSession(write_log(tmp_path / "events.jsonl", SyntheticRun().events()), tmp_path, upto=260)


async def press(pilot: Pilot[None], *keys: str) -> EsmScreen:
    await pilot.press(*keys)
    await pilot.pause()
    screen = pilot.app.screen
    assert isinstance(screen, EsmScreen)
    screen.poll()
    await pilot.pause()
    return screen


async def type_filter(pilot: Pilot[None], text: str) -> EsmScreen:
    screen = await press(pilot, "slash")
    screen.decisions.query_one(Input).value = text
    return await press(pilot, "enter")


def entries(screen: EsmScreen) -> CasesPane:
    return screen.query_one("#entries", CasesPane)


def under_cursor(screen: EsmScreen, field: str) -> object:
    source = screen.decisions.source
    number = source.view.decision(screen.decisions.table.cursor)
    return source.view.rows.getter(field)(number)


async def test_new_events_are_drawn_without_a_layout(
    growing: RecordedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A layout of the screen takes longer than all that is drawn of a portion of events."""
    async with EsmApp(growing).run_test(size=(120, 40)) as pilot:
        screen = await press(pilot)
        counts = screen.decisions.line.content
        laid_out: list[object] = []
        reflow = screen._compositor.reflow
        monkeypatch.setattr(
            screen._compositor, "reflow", lambda *given: laid_out.append(given) or reflow(*given)
        )
        growing.grow(12)
        screen = await press(pilot)
        assert screen.decisions.line.content != counts and not laid_out


@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_decision_under_the_cursor_is_shown_whole(
    session: RecordedSession, size: tuple[int, int]
) -> None:
    """Candidates, the gate in words, what was written: all of the event that the row is of."""
    async with EsmApp(session).run_test(size=size) as pilot:
        screen = await type_filter(pilot, "method:esm gate:chosen")
        screen = await press(pilot, "g", "enter")
        place = session.state.esm.decisions.place(screen.decisions.source.view.decision(0))
        event = session.read(*place)
        screen.decisions.detail.scroll_home(animate=False)
        await pilot.pause()
        text = drawn(pilot.app)
        assert "scored highest" in text
        assert isinstance(event, DecisionTaken)
        scored = [c for c in event.candidates if c.score is not None]
        for candidate in scored:
            assert candidate.entry.removeprefix("wrong-") in text
            assert f"{candidate.similarity:.3f}" in text
        folded = len([c for c in event.candidates if c.score is None])
        assert size == SMALL or f"{counted(folded, 'right entries')} speaking for null" in text
        assert event.example in text and "right is 42" in text and event.candidates
        assert f"[{event.m} ▸" in text, "the chain, with this segment in brackets"
        screen = await press(pilot, "right")
        assert screen.decisions.table.cursor == 1
        screen = await press(pilot, "escape")
        assert screen.decisions.table.has_focus


async def test_w_asks_what_if_of_a_decision(session: RecordedSession) -> None:
    """And `escape` comes back to it; what follows the last control point has nothing to try."""
    async with EsmApp(session).run_test(size=WIDE) as pilot:
        await type_filter(pilot, "method:esm gate:chosen")
        await press(pilot, "g", "enter")
        await pilot.press("w")
        await pilot.pause()
        assert isinstance(pilot.app.screen, WhatIfScreen)
        assert pilot.app.screen.choice
        screen = await press(pilot, "escape")
        assert screen.decisions.has_class("-open")


async def test_every_tab_and_kind_opens_by_its_number(session: RecordedSession) -> None:
    """And shows what it is for."""
    async with EsmApp(session).run_test(size=WIDE) as pilot:
        for key, expected in (
            ("2", "Tokens of an answer"),
            ("3", "control point"),
            ("1", "best Â"),
            ("1", "right wrote"),
            ("1", "max sim"),
            ("1", "best Â"),
        ):
            await press(pilot, key)
            assert expected in drawn(pilot.app)


@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_a_click_on_a_stage_opens_its_method(growing: RecordedSession, size: tuple[int, int]) -> None:
    """In the line of all stages, and where every stage has a line."""
    messages: list[Message] = []
    app = EsmApp(growing)
    async with app.run_test(size=size, message_hook=messages.append) as pilot:
        rows = [strip.text for strip in app.screen._compositor.render_strips()]
        row = next(at for at, line in enumerate(rows) if "eval" in line)
        await pilot.click(offset=(rows[row].index("eval"), row))
        await pilot.pause()
    assert [message.name for message in messages if isinstance(message, SystemRequested)][:1] == ["ESM"]


async def test_a_count_of_cases_stands_where_the_line_of_kinds_says_of_which(
    session: RecordedSession,
) -> None:
    """Beside the results nothing says whether it would be of decisions, pairs or entries."""
    async with EsmApp(session).run_test(size=WIDE) as pilot:
        screen = await press(pilot)
        screen.action_named("pairs")
        await pilot.pause()
        count = f"1 Cases {len(session.state.esm.pairs):,}   2 Results"
        assert count in drawn(pilot.app)
        await press(pilot, "2")
        assert "1 Cases   2 Results" in drawn(pilot.app)
        await press(pilot, "1")
        assert count in drawn(pilot.app)


@pytest.mark.parametrize("tried_out", [True, False])
async def test_pairs_have_an_effect_where_any_was_tried_out(tried_out: bool, tmp_path: Path) -> None:
    events = [
        msgspec.structs.replace(event, steered_correct=tried_out or None)
        if isinstance(event, PairMined)
        else event
        for event in SyntheticRun().events()
    ]
    session = RecordedSession(write_log(tmp_path / "events.jsonl", iter(events)), tmp_path)
    async with EsmApp(session).run_test(size=WIDE) as pilot:
        screen = await press(pilot)
        screen.action_named("pairs")
        await pilot.pause()
        assert isinstance(screen.pane, CasesPane)
        keys = [column.key for column in screen.pane.source.columns]
        assert keys[-3:] == (["effect", "source", "id"] if tried_out else ["delta", "source", "id"])
        assert ("effect" in drawn(pilot.app)) == tried_out


async def test_every_tab_explains_its_emptiness(tmp_path: Path) -> None:
    """A run that has just begun: each tab says what will appear, and when."""
    entries = write_log(tmp_path / "events.jsonl", SyntheticRun().events())
    empty = RecordedSession(entries, tmp_path, upto=4)
    async with EsmApp(empty).run_test(size=SMALL) as pilot:
        await press(pilot, "2")  # else the tab goes with the stage
        for key, expected in (
            ("1", "No pair has been mined yet."),
            ("1", "No entry has been picked yet."),
            ("1", "No decision has been taken yet."),
            ("2", "The results appear here when they are measured"),
            ("3", "Nothing has been trained yet."),
        ):
            await press(pilot, key, "j", "s", "y", "e")
            assert expected in drawn(pilot.app)


async def test_filter_shows_matches_and_escape_takes_it_away(session: RecordedSession) -> None:
    async with EsmApp(session).run_test(size=SMALL) as pilot:
        screen = await type_filter(pilot, "method:esm correct alpha>3")
        source = screen.decisions.source
        assert 0 < len(source) < len(session.state.esm.decisions)
        assert under_cursor(screen, "method") == "esm"
        assert "filter method:esm correct alpha>3" in drawn(pilot.app)
        every = len(session.state.esm.decisions)
        assert 2 * len(source) != every, "else those that are hidden would be as many"
        assert f"{len(source):,} of {every:,} decisions" in drawn(pilot.app)
        screen = await press(pilot, "escape")
        assert len(source) == len(session.state.esm.decisions)
        assert screen.decisions.counted() == f"{every:,} decisions" and not screen.decisions.close_one()


async def test_wrong_filter_says_where_and_changes_nothing(session: RecordedSession) -> None:
    """Enter does not leave the line while it is wrong; escape does, with the filter of before."""
    async with EsmApp(session).run_test(size=SMALL) as pilot:
        screen = await press(pilot, "slash", *"m>x", "enter")
        assert "`x` is not a number" in drawn(pilot.app)
        assert screen.decisions.bar.has_class("-open")
        screen = await press(pilot, "escape")
        assert not screen.decisions.bar.has_class("-open")
        assert len(screen.decisions.source) == len(session.state.esm.decisions)


async def test_a_filter_that_finds_nothing_says_how_to_change_it(session: RecordedSession) -> None:
    """Instead of an empty table."""
    async with EsmApp(session).run_test(size=WIDE) as pilot:
        screen = await type_filter(pilot, "method:em gate:chosen")
        assert screen.decisions.table.empty == NO_MATCH and "Press / to change the filter" in drawn(pilot.app)
        screen = await type_filter(pilot, "gate:zzz or gate:chosen")
        assert len(screen.decisions.source)


def test_gains_from_the_longest_to_the_shortest() -> None:
    state = ESMState()
    assert gains(state) == []
    state.running["greedy"] = MethodEvaluated(
        method="greedy", n=8, accuracy=0.75, mean_tokens=89.04, mean_probe_tokens=3.0, final=False
    )
    assert gains(state) == ["greedy 0.750  89.0 tokens"]
    state.running["esm"] = MethodEvaluated(
        method="esm", n=8, accuracy=0.875, mean_tokens=68.38, mean_probe_tokens=74.04, final=False,
        difference=0.125, low=-0.0974, high=0.3474,
    )  # fmt: skip
    assert gains(state) == [
        "esm 0.875  − greedy +0.125 [−0.097, +0.347]  tokens 68.4 + 74.0 probe",
        "esm 0.875 Δ+0.125 [−0.097, +0.347] 68+74 tok",
        "esm − greedy +0.125 [−0.097, +0.347]",
    ]


async def test_without_the_filter_the_cursor_stays_on_its_row(session: RecordedSession) -> None:
    """Also on the last match: a match can be read among all other decisions."""
    async with EsmApp(session).run_test(size=SMALL) as pilot:
        screen = await type_filter(pilot, "gate:min_sim")
        screen = await press(pilot, "G")
        matches, here = len(screen.decisions.source), screen.decisions.table.selected_key
        screen = await press(pilot, "escape")
        assert matches < len(screen.decisions.source) == len(session.state.esm.decisions)
        assert screen.decisions.table.selected_key == here and under_cursor(screen, "gate") == "min_sim"


async def test_d_goes_to_the_next_disagreement(session: RecordedSession) -> None:
    """Each press stops at another example that came out otherwise than under greedy."""
    async with EsmApp(session).run_test(size=SMALL) as pilot:
        screen = await press(pilot, "g")
        seen = []
        for _ in range(4):
            screen = await press(pilot, "d")
            assert under_cursor(screen, "differs") is True
            seen.append(under_cursor(screen, "example"))
        assert len(set(seen)) == 4


async def test_from_a_method_to_the_decisions_behind_it(session: RecordedSession) -> None:
    """A count of answers that a method turned leads to their decisions; backspace comes back."""
    async with EsmApp(session).run_test(size=SMALL) as pilot:
        screen = await press(pilot, "2", "tab", "enter")
        source = screen.decisions.source
        assert screen.decisions.filter_text == "method:esm fixed left"
        get = source.view.rows.getter("fixed")
        shown = [source.view.decision(row) for row in range(len(source))]
        assert shown and all(get(number) for number in shown)
        assert len(shown) == session.state.esm.final["esm"].fixed
        assert (await press(pilot, "backspace")).shown_name == "results"


@pytest.mark.parametrize(("keys", "tab"), [((), "decisions"), (("up",), "pairs")])
async def test_the_tab_goes_with_the_stage_until_a_row_is_chosen(
    keys: tuple[str, ...], tab: str, tmp_path: Path
) -> None:
    """From mining to the evaluation."""
    growing = RecordedSession(
        write_log(tmp_path / "events.jsonl", SyntheticRun().events()), tmp_path, upto=60
    )
    async with EsmApp(growing).run_test(size=SMALL) as pilot:
        assert (await press(pilot, *keys)).shown_name == "pairs"
        growing.grow(200)
        assert (await press(pilot)).shown_name == tab


async def test_live_rows_follow_and_freezing_holds_them(growing: RecordedSession) -> None:
    """`space` freezes the view, not the engine; the first line says so and counts what is missed."""
    async with EsmApp(growing).run_test(size=SMALL) as pilot:
        screen = await press(pilot, "G")
        before = len(screen.decisions.source)
        growing.grow(40)
        screen = await press(pilot)
        assert len(screen.decisions.source) > before
        assert screen.decisions.table.cursor == len(screen.decisions.source) - 1
        screen = await press(pilot, "space")
        held = len(screen.decisions.source)
        growing.grow(40)
        screen = await press(pilot)
        assert len(screen.decisions.source) == held
        assert "FROZEN 40 events behind" in drawn(pilot.app)
        assert growing.sent == []
        screen = await press(pilot, "space")
        assert len(screen.decisions.source) > held
        assert "FROZEN" not in drawn(pilot.app)


async def test_the_tab_goes_with_the_stage_until_one_is_chosen(session: RecordedSession) -> None:
    """Mining shows pairs, selecting entries, evaluating decisions; a chosen tab stays."""
    async with EsmApp(session).run_test(size=SMALL) as pilot:
        for stage, shown in (
            ("mine", "pairs"),
            ("select", "entries"),
            ("memory", "training"),
            ("eval", "decisions"),
        ):
            session.seek(first_event(session, stage))
            assert (await press(pilot)).shown_name == shown
        session.seek(first_event(session, "mine"))
        await press(pilot)
        session.seek(first_event(session, "select") - 1)
        await press(pilot, "up")
        session.seek(first_event(session, "select"))
        assert (await press(pilot)).shown_name == "pairs", "somebody reads a row there"
        await press(pilot, "2")
        session.seek(first_event(session, "mine"))
        screen = await press(pilot)
        assert screen.shown_name == "results"
        heading, shown, *_ = HelpScreen(screen)._texts[0].split("\n\n")
        assert heading.startswith("# ") and shown.startswith("*Results* compares"), (
            "what it says of the shown tab"
        )


async def test_going_back_while_another_tab_is_on(session: RecordedSession) -> None:
    """Rows that are not seen stay those of a later moment: their detail is not drawn from an earlier one."""
    async with EsmApp(session).run_test(size=SMALL) as pilot:
        screen = await press(pilot, "G", "2")
        session.seek(first_event(session, "mine"))
        await press(pilot)
        screen.decisions.show_detail()
        assert not (await press(pilot, "1")).decisions.source.view.total


@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_gain_and_cost_are_there_while_eval_runs(
    session: RecordedSession, size: tuple[int, int]
) -> None:
    """Under the decisions: the difference to greedy with its interval, committed and probe tokens."""
    running = [e for e in events_of(session) if isinstance(e, MethodEvaluated) and e.method == "esm"][3]
    assert not running.final and running.difference == 0.3125
    async with EsmApp(session).run_test(size=size) as pilot:
        session.seek(running.seq)
        screen = await press(pilot)
        text = str(screen.decisions.line.render())
        assert "+0.313" in text and "]" in text
        committed, probe = running.mean_tokens, running.mean_probe_tokens
        assert f"{committed:.0f}+{probe:.0f} tok" in text or f"{committed:.1f} + {probe:.1f} probe" in text
        screen = await type_filter(pilot, "esm" if size == WIDE else "")
        assert f"{running.low:+.3f}" in str(screen.decisions.line.render()), "also after a filter was typed"


async def test_results_have_the_budget_on_a_small_terminal(session: RecordedSession) -> None:
    """Committed and probe tokens of every method; the interval of each accuracy where there is room."""
    esm = session.state.esm.final["esm"]
    async with EsmApp(session).run_test(size=SMALL) as pilot:
        await press(pilot, "2", "end")
        cells = [f"{esm.mean_tokens:.1f}", f"{esm.mean_probe_tokens:.1f}"]
        assert cells in [line.split()[1:3] for line in drawn(pilot.app).splitlines()]
        assert "its 95%" not in drawn(pilot.app)
        await pilot.resize_terminal(*WIDE)
        await press(pilot)
        low, high = wilson(round(esm.accuracy * esm.n), esm.n)
        assert "its 95%" in drawn(pilot.app) and f"[{low:.3f}, {high:.3f}]" in drawn(pilot.app)


async def test_keys_go_on_after_a_narrow_terminal(session: RecordedSession) -> None:
    """What was hidden for want of room has the focus again."""
    async with EsmApp(session).run_test(size=SMALL) as pilot:
        screen = await press(pilot, "g")
        await pilot.resize_terminal(40, 24)
        await press(pilot)
        await pilot.resize_terminal(*SMALL)
        await press(pilot, "down")
        assert screen.decisions.table.has_focus and screen.decisions.table.cursor == 1


async def test_narrow_candidates_keep_their_figures(session: RecordedSession) -> None:
    """Names are cut, figures never."""
    async with EsmApp(session).run_test(size=SMALL) as pilot:
        screen = await type_filter(pilot, "method:esm gate:chosen")
        screen = await press(pilot, "g", "enter")
        place = session.state.esm.decisions.place(screen.decisions.source.view.decision(0))
        best = session.read(*place).candidates[0]  # type: ignore[attr-defined]
        text = drawn(pilot.app)
        for figure in (best.similarity, best.ahat, best.score):
            assert f"{figure:.3f}" in text


def events_of(session: RecordedSession) -> list[Event | Unknown]:
    """All events of the log."""
    return [decode(line) for line in (session.run_dir / "events.jsonl").read_bytes().splitlines()]


def first_event(session: RecordedSession, stage: str) -> int:
    """Number of the stage's first event."""
    return next(e.seq for e in events_of(session) if isinstance(e, StageStarted) and e.stage == stage)


async def test_pause_is_another_key(growing: RecordedSession) -> None:
    """`p` goes to the engine."""
    async with EsmApp(growing).run_test(size=SMALL) as pilot:
        await press(pilot, "p")
        assert growing.sent == ["pause"]
        assert not growing.frozen


async def test_scrubbing_shows_the_state_of_then(session: RecordedSession) -> None:
    """Seeking back shows fewer rows, and unknown outcomes where they were not known."""
    async with EsmApp(session).run_test(size=SMALL) as pilot:
        screen = await press(pilot)
        all_of_them = len(screen.decisions.source)
        session.seek(300)
        screen = await press(pilot)
        assert len(screen.decisions.source) == len(session.state.esm.decisions) < all_of_them
        assert "AS OF EVENT 300" in drawn(pilot.app)
        session.seek(None)
        screen = await press(pilot)
        assert len(screen.decisions.source) == all_of_them


async def test_export_holds_the_filtered_table(session: RecordedSession, tmp_path: Path) -> None:
    """The CSV has the rows on the screen at full precision; its name is told."""
    async with EsmApp(session).run_test(size=SMALL) as pilot:
        screen = await type_filter(pilot, "method:esm gate:chosen")
        shown = len(screen.decisions.source)
        await pilot.press("e")
        await pilot.app.workers.wait_for_complete()
        files = list((tmp_path / "exports").glob("decisions-*.csv"))
        assert len(files) == 1
        with files[0].open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == shown
        assert {row["gate"] for row in rows} == {"chosen"}
        number = screen.decisions.source.view.decision(0)
        assert float(rows[0]["alpha"]) == session.state.esm.decisions.column("alpha")[number]


async def test_copy(session: RecordedSession, tmp_path: Path) -> None:
    """`y` copies the row with the number of its event in the log, which opens it."""
    app = EsmApp(session)
    async with app.run_test(size=SMALL) as pilot:
        screen = await press(pilot, "g", "y")
        assert "example=test-0000" in app.copied
        run, _, seq = app.copied.rpartition("@")
        assert run.endswith(f"  {session.run_dir}")
        entry = find_event(tmp_path / "events.jsonl", int(seq))
        [note] = app._notifications
        assert note.message == f"Copied: {app.copied[:60]}…", "of a longer text its first 60 letters"
        assert entry is not None and isinstance(entry.event, DecisionTaken)
        assert f"  m={entry.event.m}  " in app.copied and entry.event.example == "test-0000"
        source, rows = screen.decisions.source, range(len(screen.decisions.source))
        differs = [column.key for column in source.columns].index("differs")
        screen.decisions.table.go_to(next(row for row in rows if not source.cells(row)[differs].text.strip()))
        await press(pilot, "y")
        assert "≠=" not in app.copied, "what is empty is left out"


async def test_sort_by_a_header_key(session: RecordedSession) -> None:
    """Sorting orders by figures, not by their text."""
    async with EsmApp(session).run_test(size=WIDE) as pilot:
        screen = await press(pilot)
        screen.decisions.table.sort_by("alpha", reverse=True)
        source = screen.decisions.source
        get = source.view.rows.getter("alpha")
        values = [get(source.view.decision(row)) for row in range(len(source))]
        assert values == sorted(values, reverse=True)  # type: ignore[type-var]


async def test_forty_columns_get_a_notice(session: RecordedSession) -> None:
    """A terminal that is too narrow says so instead of drawing a mess."""
    async with EsmApp(session).run_test(size=(40, 12)) as pilot:
        await press(pilot)
        assert "40 columns" in drawn(pilot.app)
        assert "method" not in drawn(pilot.app)


async def test_text_of_models_is_only_text(session: RecordedSession, tmp_path: Path) -> None:
    """Markup and control codes in an answer are neither obeyed nor sent to the terminal."""
    from tests.synthetic_run import BEGIN

    nasty = DecisionTaken(
        seq=0, time=BEGIN, method="esm", example="[red]x[/red]\x1b[2J", m=1, gate="new_rule",
        prefix="[bold]\x1b]0;title\x07", segment="a\n\n[/nothing]", ended="eos",
    )  # fmt: skip
    path = tmp_path / "nasty" / "events.jsonl"
    nasty_session = RecordedSession(write_log(path, [nasty]), path.parent)
    async with EsmApp(nasty_session).run_test(size=SMALL) as pilot:
        await press(pilot, "enter")
        text = drawn(pilot.app)
        assert "\x1b" not in text and "\x07" not in text
        assert "[red]x[/red]" in text and "[/nothing]" in text and "a⏎" in text
        assert "The rule “new_rule” decided: nothing was injected." in " ".join(text.split())


# ---------------------------------------------------------------- pictures


@pytest.mark.parametrize("size", [SMALL, WIDE], ids=["small", "wide"])
@pytest.mark.parametrize(
    "keys",
    [("g", "d", "j"), ("1", "1"), ("1", "1", "1"), ("2",), ("3",)],
    ids=["decisions", "pairs", "entries", "results", "training"],
)
def test_picture(
    snap_compare, session: RecordedSession, size: tuple[int, int], keys: tuple[str, ...]
) -> None:  # type: ignore[no-untyped-def]
    """The screen looks as it did when somebody last looked at it."""
    session.run_dir = Path("/runs/demo")

    async def prepare(pilot: Pilot[None]) -> None:
        await press(pilot, *keys)

    assert snap_compare(EsmApp(session), terminal_size=size, run_before=prepare)


async def test_a_finished_run_opens_where_esm_turned_an_answer(session: RecordedSession) -> None:
    """At the segment that left greedy's way; while an earlier moment is looked at, the newest row is followed."""
    async with EsmApp(session).run_test(size=SMALL) as pilot:
        screen = await press(pilot)
        pane, decisions = screen.decisions, session.state.esm.decisions
        number = pane.source.view.decision(pane.table.cursor)
        assert decisions.text("method", number) == "esm" and pane.is_notable(
            pane.source.item(pane.table.cursor)
        )
        assert "following" not in str(pane.line.render())
        session.seek(session.total_events // 2)
        await press(pilot)
        assert pane.table.follow and pane.table.cursor == len(pane.source) - 1


async def test_a_finished_method_is_read_from_there_while_others_work(session: RecordedSession) -> None:
    """Its stages are finished, so no rows come; while one of them works, the newest row is followed."""
    session.state.status = "running"
    async with EsmApp(session).run_test(size=SMALL) as pilot:
        pane = (await press(pilot)).decisions
        assert not pane.table.follow and pane.is_notable(pane.source.item(pane.table.cursor))
    stages = session.state.stages
    stages["eval"] = replace(stages["eval"], status=RUNNING)
    async with EsmApp(session).run_test(size=SMALL) as pilot:
        assert (await press(pilot)).decisions.table.follow


async def test_the_last_row_of_a_finished_run_is_taken_up_where_it_was_left(session: RecordedSession) -> None:
    """It is a row that somebody chose, not the newest one that is followed."""
    async with EsmApp(session).run_test(size=SMALL) as pilot:
        screen = await press(pilot, "G")
        left, last = screen.view(), len(screen.decisions.source) - 1
    again = EsmApp(session)
    again.esm.left_view = left
    async with again.run_test(size=SMALL) as pilot:
        assert (await press(pilot)).decisions.table.cursor == last


async def test_a_marked_column_says_what_filters_call_it(session: RecordedSession) -> None:
    """`prb` heads a narrow column; in a filter it is `probe`."""
    async with EsmApp(session).run_test(size=(200, 60)) as pilot:
        pane = (await press(pilot)).decisions
        table = pane.table
        for marked, words in (
            ("probe", "prb (filter probe): tokens spent on probes"),
            ("m", "m: the segment that was decided, from 1  │  "),
        ):
            table._marked = marked
            pane.show_status()
            assert str(pane.line.render()).startswith(words)
        await pilot.hover(table, offset=(table._placed[-1].x, 0))
        assert table.tooltip is not None


async def test_an_explanation_has_the_lines_that_it_needs(session: RecordedSession) -> None:
    """Also in 80 columns, where the counts before it left it none."""
    async with EsmApp(session).run_test(size=(80, 24)) as pilot:
        pane = (await press(pilot)).decisions
        pane.table._marked = "dlogprob"
        pane.show_status()
        await pilot.pause()
        text = drawn(pilot.app)
        assert "Δlogp (filter dlogprob): probe's mean log-probability minus null's" in text
        assert pane.line.size.height == 2


async def test_tabs_that_there_are_not_have_no_key(session: RecordedSession) -> None:
    """ESM has three."""
    async with EsmApp(session).run_test(size=(80, 24)) as pilot:
        screen = await press(pilot)
        keys = [
            key for key in "1234" if key in screen.active_bindings and screen.active_bindings[key].enabled
        ]
        assert keys == ["1", "2", "3"]
        assert [bool(screen.check_action("method", (number,))) for number in (1, 2)] == [True, False]


async def test_d_says_what_there_is_none_of(
    session: RecordedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CasesPane, "is_notable", lambda pane, item: False)
    app = EsmApp(session)
    async with app.run_test(size=SMALL) as pilot:
        await press(pilot, "1", "1", "d")
        assert [notice.message for notice in app._notifications] == [
            "There is no entry that turned more answers wrong than right"
        ]


async def test_the_order_that_was_chosen_is_taken_up(session: RecordedSession) -> None:
    """Also that of the log, although a finished run's entries stand by use at first."""
    async with EsmApp(session).run_test(size=SMALL) as pilot:
        screen = await press(pilot, "1", "1")
        table = entries(screen).table
        assert table.sort_column == "used" and table.sort_reverse
        table.sort_by(None)
        left = (await press(pilot, "down")).view()
    again = EsmApp(session)
    again.esm.left_view = left
    async with again.run_test(size=SMALL) as pilot:
        assert entries(await press(pilot)).table.sort_column is None


async def test_a_table_without_rows_says_that_the_log_is_still_read(tmp_path: Path) -> None:
    """`No method has been evaluated yet` would be wrong: its rows may be in what is not read."""

    class Reading(RecordedSession):
        reading = 0.34  # type: ignore[assignment]

    session = Reading(write_log(tmp_path / "events.jsonl", list(SyntheticRun().events())[:3]), tmp_path)
    async with EsmApp(session).run_test(size=SMALL) as pilot:
        for tab in "111123":
            screen = await press(pilot, tab)
            text = "\n".join(strip.text for strip in screen._compositor.render_strips())
            assert "still being read (34%)" in text, tab


async def test_the_end_of_a_run_moves_nobody_who_reads(growing: RecordedSession) -> None:
    """The row that was opened stays."""
    async with EsmApp(growing).run_test(size=SMALL) as pilot:
        screen = await press(pilot, "1", "1", "1", "G", "enter")
        growing.grow(len(growing._entries) - growing.total_events - 1)
        screen = await press(pilot)
        newest = len(screen.decisions.source) - 1
        await press(pilot, "2")
        growing.grow(1)
        await press(pilot)
        assert (await press(pilot, "1")).decisions.table.cursor == newest


async def test_a_filter_an_order_and_a_row_are_taken_up(session: RecordedSession) -> None:
    """In another tab's table as in that which is shown; what was typed can be recalled."""
    async with EsmApp(session).run_test(size=WIDE) as pilot:
        screen = await type_filter(pilot, "method:esm gate:chosen")
        table = screen.decisions.table
        table.sort_by("alpha", reverse=True)
        table.go_to(2)
        await press(pilot)
        left, kept = screen.view(), table.selected_key
        rows = [screen.decisions.source.key(row) for row in range(len(table.source))]
        await press(pilot, "escape")
    again = EsmApp(session)
    again.esm.left_view = left
    async with again.run_test(size=WIDE) as pilot:
        screen = await press(pilot)
        await press(pilot)
        table = screen.decisions.table
        assert screen.decisions.filter_text == "method:esm gate:chosen"
        assert (table.sort_column, table.sort_reverse, table.cursor, table.follow) == (
            "alpha",
            True,
            2,
            False,
        )
        assert table.selected_key == kept
        assert [screen.decisions.source.key(row) for row in range(len(table.source))] == rows


async def test_a_filter_from_elsewhere_begins_at_its_first_row(growing: RecordedSession) -> None:
    """Also where the newest row was followed."""
    async with EsmApp(growing).run_test(size=SMALL) as pilot:
        screen = await press(pilot)
        decisions = screen.decisions
        assert decisions.table.follow and decisions.table.cursor == len(decisions.source) - 1
        screen.open_place(Place("decisions", filter="method:esm m:1"))
        screen = await press(pilot)
        assert len(decisions.source) > 2 and (decisions.table.cursor, decisions.table.follow) == (0, False)
        decisions.filter_by("")
        assert decisions.table.cursor == 0 and not decisions.table.follow


async def test_who_chooses_a_tab_is_led_nowhere_any_more(growing: RecordedSession) -> None:
    async with EsmApp(growing).run_test(size=SMALL) as pilot:
        screen = await press(pilot)
        screen.following = True
        screen = await press(pilot, "2")
        assert screen.shown_name == "results" and not screen.following


async def test_a_decision_is_drawn_again_when_more_is_known_of_its_answer(tmp_path: Path) -> None:
    """The next segment, greedy's outcome and its own; a decision of another example changes nothing."""
    events = [
        decided("x", 1), decided("y", 1), decided("x", 2), evaluated("greedy", "x", True), evaluated("esm", "x", False),
    ]  # fmt: skip
    numbered = [msgspec.structs.replace(event, seq=seq) for seq, event in enumerate(events)]
    session = RecordedSession(write_log(tmp_path / "events.jsonl", numbered), tmp_path, upto=1)
    async with EsmApp(session).run_test(size=SMALL) as pilot:
        screen = await press(pilot)
        screen.action_named("decisions")
        pane = (await press(pilot, "f")).decisions
        keys: list[object] = []
        for _ in events:
            keys.append(pane.key(0))
            session.grow(1)
            await press(pilot)
        assert pane.table.cursor == 0 and pane._shown == pane.key(0)
        assert [one == after for one, after in pairwise([*keys, pane.key(0)])] == [
            True,
            False,
            False,
            False,
            True,
        ]


async def test_how_many_decisions_match_is_said_while_one_types(session: RecordedSession) -> None:
    """Also where all do; with enter the arrows belong to the table again."""
    async with EsmApp(session).run_test(size=SMALL) as pilot:
        screen = await press(pilot, "slash", *"m>=1")
        pane, every = screen.decisions, f"{len(session.state.esm.decisions):,}"
        assert str(pane.bar.hint.content).startswith(f"filter: {every} of {every} decisions · ")
        assert pane.has_class("-filtering")
        await press(pilot, "enter")
        assert pane.table.has_focus and not pane.has_class("-filtering")
        assert pane.counted() == f"{every} of {every} decisions  │  filter m>=1"


async def test_the_only_decision_of_a_filter_from_elsewhere_is_not_followed(growing: RecordedSession) -> None:
    """It is the last one that is shown, and not the newest of the run."""
    async with EsmApp(growing).run_test(size=SMALL) as pilot:
        screen = await press(pilot)
        number = screen.decisions.source.view.decision(0)
        decisions = growing.state.esm.decisions
        method, example, m = (
            decisions.text("method", number),
            decisions.text("example", number),
            decisions.column("m")[number],
        )
        screen.open_place(Place("decisions", filter=f'method:{method} example:"{example}" m:{m}'))
        screen = await press(pilot)
        table = screen.decisions.table
        assert (len(table.source), table.cursor, table.follow) == (1, 0, False)


async def test_a_mark_is_drawn_at_once(session: RecordedSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything else happens; and it is gone at once."""
    async with EsmApp(session).run_test(size=SMALL) as pilot:
        screen = await press(pilot, "g")
        monkeypatch.setattr(screen, "poll", lambda: None)
        seen = []
        for _ in range(2):
            await pilot.press("m")
            await pilot.pause()
            [row] = [line for line in drawn(pilot.app).splitlines() if line.startswith("›")]
            seen.append(row[1])
        assert seen == ["◆", " "]
