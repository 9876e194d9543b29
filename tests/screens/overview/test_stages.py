"""The panel of stages on the overview: what each key would do, what it does to the run's folder, at two sizes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from textual.app import App

from engine.events import StagesChosen
from engine.run.directory import RunDirectory, inspect
from engine.run.lock import RunLock
from engine.run.stage_state import FINISHED, RUNNING, StageState
from screens.confirm import ConfirmScreen
from screens.messages import ResumeRequested
from screens.overview.screen import OverviewScreen
from screens.overview.stages import StagesPanel, _choices, _row
from screens.widgets.key_line import keys_of
from screens.widgets.stage_bar import StageBar
from tests.made_run import create_run
from tests.named_tones import parts
from tests.recorded_session import RecordedSession
from tests.screens.overview.test_overview import drawn
from tests.synthetic_run import SyntheticRun, write_log

SIZES = [(80, 24), (200, 60)]
STAGES = ("mine", "select", "memory", "eval", "slsm")


class StagesApp(App[None]):
    """The overview of a run in a folder, and what it asks for."""

    def __init__(self, run: RunDirectory) -> None:
        super().__init__()
        self.events = write_log(run.events, list(SyntheticRun(examples=2).events()))
        self.session = RecordedSession(self.events, run.path)
        self.session.status = inspect(run.path)
        self.resumed: list[Path] = []

    def on_mount(self) -> None:
        self.push_screen(OverviewScreen(self.session))

    def on_resume_requested(self, message: ResumeRequested) -> None:
        self.resumed.append(message.run_dir)


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """ESM is done, in 1, 2, 3 and 4 seconds; SLSM was stopped after 5."""
    run = create_run(tmp_path, "r", seed=0, stages=STAGES, config={}, config_text="{}\n", versions={})
    record = run.read()
    for seconds, name in enumerate(STAGES, 1):
        record.stages[name].status, record.stages[name].seconds = "finished", float(seconds)
    record.stages["slsm"].status, record.status = "stopped", "stopped"
    run.write(record)
    (run.path / "esm/library").mkdir(parents=True)
    (run.path / "esm/library/library.jsonl").write_text("{}\n")
    return run


def skipped(run: RunDirectory) -> list[str]:
    return [name for name, stage in run.read().stages.items() if stage.skipped]


@pytest.mark.parametrize("size", SIZES)
async def test_the_panel_says_what_each_key_would_do(run: RunDirectory, size: tuple[int, int]) -> None:
    app = StagesApp(run)
    async with app.run_test(size=size) as pilot:
        await pilot.press("i")
        await pilot.pause()
        text = drawn(app)
        assert "› ■ slsm    stopped, results kept" in text  # the first that is not finished
        assert "✓ select  finished in 0:02" in text and "-  Skipped: slsm." in text
        assert "no stage is left to be done after `slsm`" in text
        await pilot.press("up", "up", "k")
        text = " ".join(drawn(app).replace("│", " ").split())
        assert (
            "› ✓ select" in text
            and "b Done again: select, memory and eval, which took 0:09 last time." in text
        )
        assert "`select` is finished: there is nothing to skip" in text
        assert "Z The run ends after select. Skipped: slsm." in text
        assert [key.word for key in keys_of(app.screen)][:5] == [
            "Choose",
            "Begin again",
            "Skip",
            "Last one",
            "Close",
        ]
        await pilot.press("escape")
        assert isinstance(app.screen, OverviewScreen)


async def test_begun_again_after_it_was_asked(run: RunDirectory) -> None:
    app = StagesApp(run)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("i", "up", "up", "up", "b")
        await pilot.pause()
        assert isinstance(app.screen, ConfirmScreen)
        text = " ".join(drawn(app).replace("│", " ").split())
        assert "Begin select again" in text and "which took 0:09 last time" in text
        assert "Not done again: mine." in text and "A worker starts at once." in text
        await pilot.press("escape")
        assert not run.read().begun_again and not app.resumed
        await pilot.press("b", "enter")
        await app.workers.wait_for_complete()
        for _ in range(100):
            if app.resumed:
                break
            await pilot.pause(0.05)
        assert app.resumed == [run.path]
        assert [n for n, stage in run.read().stages.items() if stage.stale] == ["select", "memory", "eval"]
        assert (run.path / "earlier/1/esm/library/library.jsonl").read_text() == "{}\n"


async def test_skip_and_last_are_taken_back_by_the_same_key(run: RunDirectory) -> None:
    app = StagesApp(run)
    async with app.run_test(size=(80, 24)) as pilot:

        async def until(wanted: list[str]) -> None:
            for _ in range(100):
                if skipped(run) == wanted:
                    return
                await pilot.pause(0.05)
            raise AssertionError(f"skipped: {skipped(run)}")

        await pilot.press("i", "minus")
        await until(["slsm"])
        await pilot.pause(0.6)
        assert "› ⊘ slsm    skipped" in drawn(app) and "slsm: done after all" in drawn(app)
        await pilot.press("minus")
        await until([])
        await pilot.press("up", "up", "Z")
        await until(["slsm"])
        await pilot.press("Z")
        await until([])


async def test_nothing_is_begun_again_while_a_worker_works(run: RunDirectory) -> None:
    record = run.read()
    record.status, record.stages["slsm"].status = "running", "running"
    run.write(record)
    lock = RunLock(run.lock)
    try:
        app = StagesApp(run)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("i", "b")
            await pilot.pause()
            assert isinstance(app.screen, StagesPanel)
            [note] = app._notifications
            assert note.severity == "warning" and note.message.startswith("a worker works on the run (")
            text = " ".join(drawn(app).replace("│", " ").split())
            assert "a worker works on the run: stop it first (S, or `steer-tui ctl stop`)" in text
            assert "`slsm` is at work" in text and "S Stop: the run stops here" in text
            await pilot.press("S")
            assert app.session.sent == ["stop"]
    finally:
        lock.release()


async def test_stale_and_skipped_stages_on_strip_and_cards(run: RunDirectory) -> None:
    app = StagesApp(run)
    plan = StagesChosen(seq=10**6, stale=["memory", "eval"], skipped=["eval"], kept="earlier/1")
    app.session._live.apply(plan)
    async with app.run_test(size=(200, 60)) as pilot:
        await pilot.pause()
        text, bar = drawn(app), app.screen.query_one(StageBar)
        assert "1 ESM ◌" in text and "◌ no difference is shown [" in text
        assert "2 of 4 stages done, 1 skipped" in text
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        app.screen.remove_class("-at-rest")
        await pilot.pause()
        assert bar.render().plain.startswith("✓ mine ✓ select ◌ memory ⊘ eval")


def test_a_line_of_a_stage() -> None:
    """Names are as wide as the widest; what a stage does is dim, that at work is bold."""
    done = _row(StageState("mine", FINISHED, seconds=61.0), 6)
    assert parts(done) == [("✓ mine    finished in 1:01", ""), ("  collects right and wrong answers", "dim")]
    working = _row(StageState("select", RUNNING), 6)
    assert [style for _, style in parts(working)] == ["bold"] and working.plain.startswith("▶ select  ")
    assert _row(StageState("theirs"), 6).plain == "○ theirs  waiting  "


def test_what_each_key_would_do_line_by_line(run: RunDirectory) -> None:
    """Keys are bold; why one cannot be used is dim, with what to do where it is about beginning again."""
    assert parts(_choices(inspect(run.path), "slsm")) == [
        ("b  ", "bold"), ("Done again: slsm, which took 0:05 last time.\n", ""),
        ("-  ", "bold"), ("Skipped: slsm.\n", ""), ("Z  ", "bold"), ("no stage is left to be done after `slsm`", "dim"),
    ]  # fmt: skip
    record = run.read()
    record.status, record.stages["slsm"].status = "running", "running"
    run.write(record)
    lock = RunLock(run.lock)
    try:
        working = parts(_choices(inspect(run.path), "slsm"))
        other = _choices(inspect(run.path), "mine").plain
    finally:
        lock.release()
    assert working[:2] == [
        ("b  ", "bold"),
        (
            "a worker works on the run: stop it first (S, or `steer-tui ctl stop`), then begin `slsm` again\n",
            "dim",
        ),
    ]
    assert working[-2:] == [
        ("S  ", "bold"), ("Stop: the run stops here, finished work is kept, and r goes on.", ""),
    ]  # fmt: skip
    assert "Stop: " not in other, "that stage is not at work"


@pytest.mark.parametrize(
    ("state", "offered"), [("running", True), ("paused", True), ("hung", True), ("stopped", False)]
)
def test_only_what_works_can_be_stopped(state: str, offered: bool, run: RunDirectory) -> None:
    session = RecordedSession([], run.path)
    panel = StagesPanel(session)
    assert panel.check_action("stop", ()) is False and panel.check_action("choose", ("again",))
    session.status = replace(inspect(run.path), state=state)
    assert panel.check_action("stop", ()) is offered


@pytest.mark.parametrize(("status", "chosen"), [("finished", 0), ("stopped", 4)])
async def test_the_cursor_begins_at_the_first_stage_that_is_not_finished(
    status: str, chosen: int, run: RunDirectory
) -> None:
    """At the first of all where none is left; keys move it from there, not beyond the first."""
    record = run.read()
    record.stages["slsm"].status = status
    run.write(record)
    app = StagesApp(run)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("i")
        await pilot.pause()
        panel = app.screen
        assert isinstance(panel, StagesPanel) and panel.lines.highlighted == chosen
        seen = []
        for key in ("up", "k", "down", "j"):
            await pilot.press(key)
            seen.append(panel.lines.highlighted)
        assert seen == ([0, 0, 1, 2] if chosen == 0 else [3, 2, 3, 4])


async def test_who_reads_the_first_stage_is_left_there(run: RunDirectory) -> None:
    """The panel looks at the record twice a second; the first that is not finished is another."""
    app = StagesApp(run)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("i", *["up"] * 9)
        panel = app.screen
        assert isinstance(panel, StagesPanel) and panel.lines.highlighted == 0
        panel.poll()
        await pilot.pause()
        assert panel.lines.highlighted == 0 and "› ✓ mine" in drawn(app)


async def test_a_run_whose_record_is_gone_is_told_and_nothing_is_chosen(run: RunDirectory) -> None:
    app = StagesApp(run)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("i")
        await pilot.pause()
        run.record.unlink()
        await pilot.press("minus")
        await pilot.pause()
        assert isinstance(app.screen, StagesPanel)
        assert [notice.severity for notice in app._notifications] == ["warning"]


async def test_a_record_that_is_gone_is_told(run: RunDirectory) -> None:
    """Somebody may move the run's folder while the panel is open."""
    app = StagesApp(run)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("i")
        await pilot.pause()
        panel = app.screen
        assert isinstance(panel, StagesPanel)
        (run.path / "run.json").rename(run.path / "gone.json")
        panel.poll()
        assert "this is not a run" in str(panel.choices.content)


async def test_what_was_chosen_is_shown_at_once_when_a_worker_is_asked_for(run: RunDirectory) -> None:
    app = StagesApp(run)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("i")
        await pilot.pause()
        panel = app.screen
        assert isinstance(panel, StagesPanel) and "✓ mine" in str(panel.lines.options[0].prompt)
        record = run.read()
        record.stages["mine"].status = "pending"
        run.write(record)
        panel._resume()
        assert "✓ mine" not in str(panel.lines.options[0].prompt)
        await pilot.pause()
        assert app.resumed == [run.path]


async def test_a_run_without_stages_has_nothing_to_choose(tmp_path: Path) -> None:
    run = create_run(tmp_path, "r", seed=0, stages=[], config={}, config_text="{}\n", versions={})
    app = StagesApp(run)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("i", "b", "minus", "Z")
        await pilot.pause()
        assert isinstance(app.screen, StagesPanel)
        assert all("the run has no stage" in note.message for note in app._notifications)
