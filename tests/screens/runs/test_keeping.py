"""The list of runs as a home: results, filter, order, notes, trash, marks, lineage."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from msgspec import structs
from textual.pilot import Pilot

from app.runs.run_list import RunList, RunRow
from app.runs.run_names import UNNAMED, RunName
from app.runs.trash import move_to_trash
from app.table.column import cell_of
from app.table.filter_parser import parse
from engine.errors import RunError
from engine.run.directory import RunDirectory, StageRecord
from engine.run.stage_state import RUNNING, StageState
from screens.esm.decisions import NO_MATCH as DECISIONS_NO_MATCH
from screens.messages import ResumeRequested
from screens.notes.screen import NotesScreen
from screens.panels.error_panel import ErrorPanel
from screens.runs.about import about_group, about_run, metric_words
from screens.runs.columns import COLUMNS
from screens.runs.commands import RunCommands
from screens.runs.fields import changes_text
from screens.runs.groups import Group
from screens.runs.listing import NO_MATCH
from screens.runs.run_filter import RUN_FIELDS, kept
from screens.widgets.key_line import keys_of
from tests.console import drawn
from tests.runs_app import RunsApp, esm_verdict

Make = Callable[..., RunDirectory]


def write(run: RunDirectory, verdict: float | None = None, **fields: Any) -> RunDirectory:
    """Change a run's record."""
    record = run.read()
    for name, value in fields.items():
        setattr(record, name, value)
    if verdict is not None:
        record.stages["eval"].verdict = esm_verdict(verdict)
    run.write(record)
    return run


def rows(outputs: Path) -> list[RunRow]:
    return RunList(outputs).read()


async def settled(app: RunsApp, pilot: Pilot[None]) -> None:
    """What is on the disk now is on the screen."""
    app.runs.look()
    await app.workers.wait_for_complete()
    await pilot.pause()


@pytest.fixture
def outputs(make: Make, tmp_path: Path) -> Path:
    """Three runs, newest first: a good one, a worse one with a changed field, and one of another name that failed."""
    write(make("demo", "finished"), verdict=0.965, config={"task": {"dataset": "gsm8k"}})
    write(make("demo", "finished", age=60), verdict=0.5, changes={"online.L": 5})
    write(make("other", "failed", age=120, failure="no disk"))
    return tmp_path / "outputs"


async def test_result_gain_and_id_fit_into_eighty_columns(outputs: Path) -> None:
    app = RunsApp(outputs)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(app, pilot)
        drawn = [app.runs.table.render_line(y).text for y in range(1, 4)]
        for line, row in zip(drawn, rows(outputs), strict=True):
            assert row.record.run_id in line
        assert (
            "0.965" in drawn[0] and "▲ +0.330" in drawn[0] and "▼ −0.135" in drawn[1] and "other" in drawn[2]
        )
        assert "ESM        greedy 63.5% → 96.5%  ▲ +33.0 [27, 39]  accuracy over 200 examples" in str(
            app.runs.about.content
        )
        await pilot.press("down")
        assert "online.L=5" in str(app.runs.about.content)
        await pilot.press("down")
        assert "✗ no disk" in str(app.runs.about.content)
        assert not app.runs.table.follow, "the last row is the oldest run, not the newest"


def test_filter_over_fields_and_words(outputs: Path) -> None:
    found = rows(outputs)

    def keeps(text: str) -> list[int]:
        return [found.index(row) for row in kept(found, parse(text, RUN_FIELDS))]

    assert keeps("gain>0") == [0] and keeps("gain<0") == [1] and keeps("result:none") == [2]
    assert (
        keeps("state:failed") == [2] and keeps("name:demo") == [0, 1] and keeps("failed or gain>0") == [0, 2]
    )
    assert (
        keeps('config~"dataset=gsm8k"') == [0] and keeps("gsm8k") == [0] and keeps("change~online.L") == [1]
    )
    assert keeps("seconds>10") == [0, 1, 2] and keeps("nothing") == [] and keeps("") == [0, 1, 2]


def test_the_curve_stands_above_its_baseline(make: Make) -> None:
    """A running accuracy that falls at its end is still far above the baseline."""
    run = write(make("demo", "finished"), verdict=0.9)
    record = run.read()
    verdict = record.stages["eval"].verdict
    assert verdict is not None
    drawn = []
    for curve in ([1.0, 1.0, 0.95, 0.9], [0.5, 0.6, 0.9, 0.9], []):
        record.stages["eval"].verdict = msgspec.structs.replace(verdict, curve=curve)
        run.write(record)
        (row,) = rows(run.path.parent.parent)
        (cell,) = (column.show(row) for column in COLUMNS if column.key == "curve")
        drawn.append(cell if isinstance(cell, str) else cell.text)
    assert drawn == ["⠉⠉⠉⠉⠉⠒⠒", "⣀⡠⠤⠒⠉⠉⠉", "·"]


async def test_what_is_typed_has_keys_below_it(outputs: Path) -> None:
    """Enter and esc; no key that would write its sign."""
    app = RunsApp(outputs)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(app, pilot)
        await pilot.press("slash")
        assert app.words == ["Apply", "Cancel"]
        await pilot.press("escape", "semicolon")
        assert [key.word for key in keys_of(app.screen)] == ["OK", "Cancel"]


async def test_filter_is_typed_and_kept(outputs: Path) -> None:
    app = RunsApp(outputs)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(app, pilot)
        await pilot.press("slash", *"gain>0")
        await pilot.pause()
        assert str(app.runs.bar.hint.content).startswith("filter: 1 run · "), "of three"
        await pilot.press("enter")
        await pilot.pause()
        assert len(app.runs.source) == 1 and "filter gain>0: 1" in str(app.runs.title_line.content)
        await settled(app, pilot)
        assert len(app.runs.source) == 1, "reading the runs again keeps the filter"
        await pilot.press("M")
        assert isinstance(app.screen, NotesScreen), "of the listed runs"
        assert app.screen._runs == [app.runs.source.runs[0].path]
        app.pop_screen()
        await pilot.press("slash", "backspace", "enter")
        await pilot.pause()
        assert len(app.runs.source) == 3


async def test_a_filter_that_keeps_no_run_says_how_to_change_it(outputs: Path) -> None:
    app = RunsApp(outputs)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(app, pilot)
        await pilot.press("slash", *"state:finishd")
        await pilot.pause()
        assert not len(app.runs.source) and app.runs.table.empty == NO_MATCH


async def test_esc_removes_the_filter_and_says_so_in_the_words_of_the_decisions(outputs: Path) -> None:
    app = RunsApp(outputs)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(app, pilot)
        assert "All runs" not in app.words
        await pilot.press("slash", *"state:finishd", "enter")
        await pilot.pause()
        assert "All runs" in app.words
        assert not {"Open", "Sort", "Notes"} & set(app.words), "on no row"
        assert NO_MATCH.partition(".")[2] == DECISIONS_NO_MATCH.partition(".")[2]
        await pilot.press("escape")
        await pilot.pause()
        assert len(app.runs.source) == 3 and "All runs" not in app.words
        assert {"Open", "Sort", "Notes"} <= {key.word for key in keys_of(app.screen)}
        assert "   filter" not in str(app.runs.title_line.content) and app.runs.bar.input.value == ""


async def test_a_filter_that_is_wrong_stands_only_where_it_is_typed(outputs: Path) -> None:
    """Not its valid beginning in the line on top."""
    app = RunsApp(outputs)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(app, pilot)
        await pilot.press("slash", *"gian", "greater_than_sign", *"0 foo", "enter")
        await pilot.pause()
        assert app.runs.bar.input.value == "gian>0 foo"
        assert "   filter" not in str(app.runs.title_line.content)


async def test_order_by_gain(outputs: Path) -> None:
    app = RunsApp(outputs)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(app, pilot)
        app.runs.table.sort_by("difference")
        assert [row.record.name for row in app.runs.source.runs] == ["other", "demo", "demo"]
        app.runs.table.sort_by("difference", reverse=True)
        assert [row.record.name for row in app.runs.source.runs] == ["demo", "demo", "other"]


async def test_order_by_time_and_by_cost(make: Make, tmp_path: Path) -> None:
    """The one that took longest is neither the dearest nor the newest; what has no cost comes first."""
    for name, seconds, cost in (("a", 20.0, 0.3), ("b", 30.0, 0.1), ("c", 10.0, None)):
        run = make(name, "finished")
        record = run.read()
        record.stages = {"eval": StageRecord(status="finished", seconds=seconds)}
        record.stages["eval"].verdict = structs.replace(esm_verdict(0.9), cost=cost)
        run.write(record)
    app = RunsApp(tmp_path / "outputs")
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(app, pilot)
        for column, order in (("seconds", "cab"), ("cost", "cba")):
            app.runs.table.sort_by(column)
            assert "".join(row.record.name for row in app.runs.source.runs) == order


async def test_trash_and_undo(outputs: Path) -> None:
    app = RunsApp(outputs)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(app, pilot)
        first = app.runs.source.runs[0].path
        assert "Undo" not in app.words
        await pilot.press("delete")
        await settled(app, pilot)
        assert not first.exists() and len(app.runs.source) == 2 and "Undo" in app.words
        assert not any(note.markup for note in app._notifications), "names may hold brackets"
        first.mkdir()
        await pilot.press("u")
        assert isinstance(app.screen, ErrorPanel)
        await pilot.press("escape")
        first.rmdir()
        await pilot.press("u")
        await settled(app, pilot)
        assert first.exists() and app.runs.selected is not None and app.runs.selected.path == first


@pytest.mark.parametrize("link", [".trash", ".trash/demo"])
def test_a_trash_that_is_a_link_takes_no_run_elsewhere(outputs: Path, tmp_path: Path, link: str) -> None:
    elsewhere, run = tmp_path / "elsewhere", rows(outputs)[0].path
    elsewhere.mkdir()
    (outputs / link).parent.mkdir(exist_ok=True)
    (outputs / link).symlink_to(elsewhere)
    with pytest.raises(RunError, match="the trash is a link"):
        move_to_trash(run)
    assert run.exists() and not list(elsewhere.iterdir())


def test_a_run_nested_however_deeply_is_listed(outputs: Path) -> None:
    (rows(outputs)[0].path / "/".join("d" * 200)).mkdir(parents=True)
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 120)
    try:
        assert len(rows(outputs)) == 3
    finally:
        sys.setrecursionlimit(usual)


async def test_marks_keep_their_order(outputs: Path) -> None:
    app = RunsApp(outputs)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(app, pilot)
        paths = [row.path for row in app.runs.source.runs]
        app.runs.table.go_to(1)
        await pilot.press("m", "g", "m")
        assert app.runs.source.marked == [paths[1], paths[0]]
        assert [row.split()[0] for row in app.rows()[:2]] == ["2", "1"]
        await pilot.press("g", "m")
        assert app.runs.source.marked == [paths[1]]


async def test_a_run_that_is_gone_is_not_marked_any_more(outputs: Path) -> None:
    """The mark behind it gets its number."""
    app = RunsApp(outputs)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(app, pilot)
        paths = [row.path for row in app.runs.source.runs]
        await pilot.press("m", "m")
        assert app.runs.source.marked == paths[:2]
        move_to_trash(paths[0])
        await settled(app, pilot)
        assert app.runs.source.marked == [paths[1]] and app.rows()[0].split()[0] == "1"


async def test_two_marked_runs_are_compared(outputs: Path) -> None:
    """Neither one nor three."""
    app = RunsApp(outputs)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(app, pilot)
        paths = [row.path for row in app.runs.source.runs]
        await pilot.press("m", "m", "m", "c")
        app.runs.table.go_to(0)
        await pilot.press("m", "g", "c")
        await pilot.pause()
        assert [getattr(message, "runs", None) for message in app.asked] == [(paths[1], paths[2])]
        await pilot.press("down", "m", "down", "c")
        assert len(app.asked) == 1
        assert [note.message[:3] for note in app._notifications] == ["Two"] * 2


async def test_the_marked_run_stands_before_the_one_under_the_cursor(outputs: Path) -> None:
    """A comparison is of the second with the first: what is marked first is what the other is measured against."""
    app = RunsApp(outputs)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(app, pilot)
        marked = app.runs.selected
        await pilot.press("m")
        app.runs.table.go_to(2)
        await pilot.press("c")
        await pilot.pause()
        under = app.runs.selected
        assert marked is not None and under is not None and marked is not under
        assert [getattr(message, "runs", None) for message in app.asked] == [(marked.path, under.path)]


async def test_a_run_that_cannot_be_read_is_named(outputs: Path) -> None:
    """It is in no row; the title counts it, and one message says which it is and why."""
    broken = outputs / "demo" / "20250101-000000-beef"
    broken.mkdir()
    (broken / "run.json").write_text('{"name": "demo"}')
    app = RunsApp(outputs)
    async with app.run_test(size=(120, 24)) as pilot:
        await settled(app, pilot)
        await settled(app, pilot)
        said = [note for note in app._notifications if "20250101-000000-beef" in note.message]
        assert len(said) == 1 and "restore the file" in said[0].message
        assert (said[0].title, said[0].severity, said[0].timeout) == ("A run is not listed", "warning", 10)
        assert "1 run not readable" in str(app.runs.title_line.render())
        (broken / "run.json").unlink()
        await settled(app, pilot)
        assert "not readable" not in str(app.runs.title_line.render())


def test_the_stage_at_work_stays_in_view(make: Make, tmp_path: Path) -> None:
    """Where the line is short, the stages around it are named."""
    names = [f"stage-{number}" for number in range(12)]
    run = make("demo", "running")
    stages = {name: StageRecord(status="finished", seconds=61) for name in names[:6]}
    stages |= {"stage-6": StageRecord(status="running")} | {name: StageRecord() for name in names[7:]}
    write(run, stages=stages)
    [row] = rows(tmp_path / "outputs")
    row = replace(
        row, progress=StageState("stage-6", RUNNING), status=replace(row.status, pid=1, state="running")
    )
    line = next(line for line in about_run(row, 78).plain.splitlines() if "stage-" in line)
    assert "▶ stage-6" in line and "stage-7" in line and len(line) <= 78
    assert "✓ stage-0" in about_run(row).plain
    about = about_run(row)
    bold = [about.plain[span.start : span.end].strip() for span in about.spans if span.style == "bold"]
    assert [words for words in bold if "stage-" in words] == ["▶ stage-6"]


def test_what_stands_below_the_list_line_by_line(make: Make, tmp_path: Path) -> None:
    """Of a run at work, one that its worker left, one that was begun twice, and what is at work under a heading."""
    run = write(make("demo", "running"), changes={"online.L": 5}, attempts=2)
    record = run.read()
    record.stages["eval"].status = "running"
    run.write(record)
    [row] = rows(tmp_path / "outputs")
    assert about_run(row).plain.splitlines() == [
        "✓ mine 1:01   ■ eval   ",
        "changed    online.L=5",
        f"{run.path}   its worker vanished; r resumes it",
    ]
    half = StageState("eval", RUNNING, done=50, total=100, unit="problems", elapsed=50.0)
    status = replace(row.status, state="running", pid=42, host="here", heartbeat_age=2.4)
    working = replace(row, status=status, progress=half, name=RunName("mine"))
    assert about_run(working).plain.splitlines() == [
        "✓ mine 1:01   ▶ eval   ",
        "time       about 0:50 left",
        "changed    online.L=5",
        f"{run.path}   worker 42 on here, last heartbeat 2 s ago",
    ]
    assert about_run(replace(row, status=replace(row.status, state="stopped"))).plain.splitlines()[-1] == (
        f"{run.path}   2 attempts"
    )
    once = structs.replace(row.status.record, attempts=1)
    stopped = replace(row, status=replace(row.status, state="stopped", record=once))
    assert about_run(stopped).plain.splitlines()[-1] == str(run.path)
    paused = replace(working, status=replace(status, state="paused"), name=UNNAMED)
    nothing = replace(paused, progress=StageState(""))
    assert about_group(
        Group("sweep", (working, row, paused, nothing), tmp_path, folded=True)
    ).plain.splitlines() == [
        "at work    mine  eval 50 of 100 problems  about 0:50 left",
        "at work    demo  eval 50 of 100 problems",
        "at work    demo",
    ]


@pytest.mark.parametrize(
    ("metric", "n", "words"),
    [
        ("accuracy", 1_200, "accuracy over 1,200 problems"),
        ("vqa_accuracy", 1_200, "VQA accuracy over 1,200 problems"),
        ("hits_at_1", 1, "hits at 1 over 1 problem"),
    ],
)
def test_a_metric_in_words(metric: str, n: int, words: str) -> None:
    verdict = msgspec.structs.replace(esm_verdict(0.5), metric=metric, n=n, items="problems")
    assert metric_words(verdict) == words


def test_changes_begin_with_what_differs(make: Make, tmp_path: Path) -> None:
    write(make("demo", "finished"), changes={"a.b": 1, "online.L": 5, "task.name": "x y"})
    [row] = rows(tmp_path / "outputs")
    assert changes_text(row) == "a.b=1 online.L=5 task.name=x y"
    row = replace(row, name=replace(row.name, fields=("task.name", "run.seed", "online.L")))
    assert changes_text(row) == "task.name=x y online.L=5 a.b=1"


async def test_the_error_of_a_run_in_the_list(outputs: Path) -> None:
    app = RunsApp(outputs)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(app, pilot)
        assert "Error" not in app.words
        await pilot.press("end")
        await pilot.pause()
        assert "Error" in app.words
        [row] = [row for row in rows(outputs) if row.state == "failed"]
        await pilot.press("E")
        assert isinstance(app.screen, ErrorPanel)
        fault = app.screen.fault
        assert (fault.title, fault.what, fault.where) == ("The run failed", "no disk", str(row.path))
        assert fault.hint.startswith(
            "correct what it names (values are in config.yaml there); r resumes the run"
        )
        await pilot.press("r")
        await pilot.pause()
        (asked,) = app.asked
        assert isinstance(asked, ResumeRequested) and asked.run_dir == row.path


def cells_of(row: RunRow) -> dict[str, tuple[str, str]]:
    """Every cell of a run but those of its place and time."""
    cells = {column.key: cell_of(column.show(row)) for column in COLUMNS}
    return {key: (cell.text, cell.tone) for key, cell in cells.items() if key not in ("started", "id")}


def test_a_row_of_the_list_cell_by_cell(make: Make, tmp_path: Path) -> None:
    """Of a finished run with its figures, one at work, and one that has not begun. Of the demo's stages the one at work
    takes 100 s in place of 12.5: 50 s are left of it, and the other takes 8 times 15 s, that is 120."""
    write(make("demo", "finished"), verdict=0.9, changes={"online.L": 5})
    [row] = rows(tmp_path / "outputs")
    none = ("·", "dim")
    assert cells_of(row) == {
        "state": ("✓ finished", "good"), "name": ("demo", ""), "result": ("0.900", "strong"),
        "difference": ("▲ +0.265", "good"), "curve": none, "methods": ("ESM ▲", ""), "changes": ("online.L=5", ""),
        "seconds": ("1:01", ""), "cost": ("0.25", ""), "stage": ("all stages", "dim"),
        "progress": ("━━━━━━━━ 100%", "dim"), "eta": none,
    }  # fmt: skip
    half = StageState("eval", RUNNING, done=50, total=100, unit="problems", elapsed=50.0)
    plain = structs.replace(
        row.status.record, changes={}, stages={"mine": StageRecord(), "eval": StageRecord(status="running")}
    )
    status = replace(row.status, record=plain, state="running", pid=42)
    working = replace(row, status=status, progress=half, name=RunName("mine"))
    assert cells_of(working) == {
        "state": ("▶ running 25%", "good"), "name": ("mine", ""), "result": none, "difference": none,
        "curve": none, "methods": ("ESM", ""), "changes": none, "seconds": ("0:50", ""),
        "cost": none, "stage": ("eval 50/100", ""), "progress": ("━━──────  25%", "accent"),
        "eta": ("2:50", "strong"),
    }  # fmt: skip
    empty = structs.replace(plain, stages={})
    fresh = replace(
        working,
        status=replace(status, record=empty, state="prepared", pid=None),
        progress=StageState(""),
        name=UNNAMED,
    )
    cells = cells_of(fresh)
    assert (cells["state"], cells["name"], cells["stage"], cells["methods"], cells["seconds"]) == (
        ("○ prepared", "dim"), ("demo", ""), none, none, ("0:00", ""),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("state", "offered"),
    [
        ("running", "pause_run stop_run mark"),
        ("hung", "pause_run stop_run mark"),
        ("paused", "continue_run stop_run mark"),
        ("stopped", "resume_run trash mark"),
        ("interrupted", "resume_run trash mark"),
        ("failed", "resume_run show_error trash mark"),
        ("finished", "trash mark"),
    ],
)
def test_what_can_be_done_with_a_run(state: str, offered: str, make: Make, tmp_path: Path) -> None:
    make("demo", "finished")
    [row] = rows(tmp_path / "outputs")
    pid = 42 if state in ("running", "hung", "paused") else None
    status = replace(row.status, state=state, pid=pid, failure="no disk" * (state == "failed"))
    screen: Any = SimpleNamespace(selected=replace(row, status=status))
    orders = {f"{name}_run": ("order", (name,)) for name in ("pause", "continue", "stop")}
    others = ("show_error", "trash", "open_sweep", "mark")
    keys = {"resume_run": ("resume_run", ()), **orders, **{key: (key, ()) for key in others}}
    assert [key for key in keys if RunCommands.check_action(screen, *keys[key])] == offered.split()
    screen.selected = None
    assert not any(RunCommands.check_action(screen, *key) for key in keys.values())


def test_stages_of_which_none_is_at_work_begin_with_the_first(make: Make, tmp_path: Path) -> None:
    names = [f"stage-{number}" for number in range(12)]
    write(make("demo", "stopped"), stages={name: StageRecord() for name in names})
    [row] = rows(tmp_path / "outputs")
    line = about_run(replace(row, progress=StageState("")), 78).plain.splitlines()[0]
    assert line.lstrip("·○ ").startswith("stage-0") and line.endswith("…") and "stage-11" not in line


async def test_the_run_that_was_moved_last_comes_back_first(outputs: Path) -> None:
    app = RunsApp(outputs)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(app, pilot)
        first, second = (run.path for run in app.runs.source.runs[:2])
        for path in (first, second):
            await pilot.press("delete")
            await settled(app, pilot)
            assert not path.exists()
        await pilot.press("u")
        assert second.exists() and not first.exists()
        await pilot.press("u")
        assert first.exists()


async def test_a_mark_is_counted_above_and_the_keys_below_are_those_of_the_row(outputs: Path) -> None:
    """At once, not when the runs are read the next time; the last of three failed."""
    app = RunsApp(outputs)
    async with app.run_test(size=(160, 24)) as pilot:
        await settled(app, pilot)
        app.runs._reading = True  # nothing is read any more
        await pilot.press("m")
        await pilot.pause()
        assert (
            "   1 marked" in str(app.runs.title_line.content) and "Resume" not in drawn(app).splitlines()[-1]
        )
        await pilot.press("down")
        await pilot.pause()
        assert "Resume" in drawn(app).splitlines()[-1]
        await pilot.press("up", "m")
        assert "2 marked" in str(app.runs.title_line.content)


@pytest.mark.parametrize("key", ["enter", "escape"])
async def test_after_the_filter_the_arrows_belong_to_the_list(key: str, outputs: Path) -> None:
    app = RunsApp(outputs)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(app, pilot)
        await pilot.press("slash", "d", key)
        await pilot.pause()
        assert app.runs.table.has_focus and not app.runs.bar.display
        await pilot.press("down")
        assert app.runs.table.cursor == 1


async def test_that_a_moved_run_can_come_back_is_said_at_once(outputs: Path) -> None:
    """And no longer when it has come back."""
    app = RunsApp(outputs)
    async with app.run_test(size=(160, 24)) as pilot:
        await settled(app, pilot)
        app.runs._reading = True  # nothing is read any more
        for key, offered in (("delete", True), ("u", False)):
            await pilot.press(key)
            await pilot.pause()
            assert ("Undo" in drawn(app).splitlines()[-1]) == offered


async def test_the_runs_are_not_read_while_they_are_covered(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are when one comes back."""
    app = RunsApp(outputs)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(app, pilot)
        begun: list[bool] = []
        monkeypatch.setattr(app.runs, "_read", lambda: begun.append(True))
        await pilot.press("M")
        await pilot.pause()
        begun.clear()
        app.runs._reading = False
        app.runs.look()
        assert not begun and isinstance(app.screen, NotesScreen)
        await pilot.press("escape")
        await pilot.pause()
        assert begun == [True]
