"""The table of runs: what stands in which column at which width, its orders, filter, headings and marks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from app.runs.run_list import RunList, RunRow
from app.runs.time_left import TimeLeft
from app.table.column import Cell
from app.table.filter_parser import parse
from engine.run.directory import RunDirectory, StageRecord, SweepPoint
from engine.run.stage_state import RUNNING, StageState
from screens.messages import SweepRequested
from screens.notes.screen import NotesScreen
from screens.panels.ask import AskScreen
from screens.panels.error_panel import ErrorPanel
from screens.runs.about import about_run
from screens.runs.columns import COLUMNS, _eta, _progress, _state
from screens.runs.commands import RunCommands
from screens.runs.groups import Group
from screens.runs.run_filter import RUN_FIELDS, kept
from screens.runs.screen import RunsScreen
from screens.runs.source import RunSource, sweep_of
from screens.widgets.tables.column_layout import place
from tests.console import drawn
from tests.runs_app import RunsApp, esm_verdict

Make = Callable[..., RunDirectory]
NONE = ("·", "dim")


def _noting(post: Callable[..., bool], asked: list[Path]) -> Callable[..., bool]:
    def note(message: Any) -> bool:
        if isinstance(message, SweepRequested):
            asked.append(message.folder)
        return post(message)

    return note


def row_of(run: RunDirectory, **changes: Any) -> RunRow:
    """A run's row; `changes` of its record, or the state of its worker."""
    state = changes.pop("state", None)
    record = run.read()
    for name, value in changes.items():
        setattr(record, name, value)
    run.write(record)
    [row] = [row for row in RunList(run.path.parent.parent).read() if row.path == run.path]
    alive = 42 if state in ("running", "paused", "hung") else None
    return row if state is None else replace(row, status=replace(row.status, state=state, pid=alive))


def cell(row: RunRow, key: str) -> tuple[str, str]:
    [shown] = [column.show(row) for column in COLUMNS if column.key == key]
    return (shown, "") if isinstance(shown, str) else (shown.text, shown.tone)


@pytest.mark.parametrize(
    ("state", "text", "tone"),
    [
        ("running", "▶ running 50%", "good"),
        ("paused", "‖ paused", "warn"),
        ("hung", "? no answer", "bad"),
        ("interrupted", "✗ interrupted", "warn"),
        ("stopped", "■ stopped", ""),
        ("failed", "✗ failed", "bad"),
        ("finished", "✓ finished", "good"),
        ("prepared", "○ prepared", "dim"),
        ("starting", "starting", ""),
    ],
)
def test_each_state_has_a_sign_and_a_tone(state: str, text: str, tone: str, make: Make) -> None:
    """One of two stages is done."""
    row = row_of(make("demo", "stopped"), state=state)
    assert cell(row, "state") == (text, tone)
    assert row.working == (cell(row, "progress")[1] == "accent")


def test_a_stale_result_is_dim_and_an_unfinished_stage_says_how_far_it_is(make: Make) -> None:
    record = make("demo", "finished")
    stages = {"mine": StageRecord(status="finished", seconds=61), "eval": StageRecord(status="stale")}
    stages["eval"].verdict = structs.replace(esm_verdict(0.5), cost=None)
    row = row_of(record, stages=stages, status="stopped")
    assert cell(row, "result") == ("0.500", "dim") and cell(row, "cost") == NONE
    half = StageState("eval", RUNNING, done=30, total=40, unit="problems")
    assert cell(replace(row, progress=half), "stage") == ("eval 30/40", "dim")
    assert cell(replace(row, progress=StageState("")), "stage") == NONE
    assert cell(row_of(make("a", "running"), state="paused"), "eta") == NONE


ORDERS = {
    "state": "cba", "name": "bca", "result": "acb", "difference": "bac", "methods": "bac", "changes": "abc",
    "seconds": "cab", "cost": "bca", "stage": "bac", "progress": "cba", "started": "acb", "id": "cab",
}  # fmt: skip
"""Three runs, upwards by each column. Worked out from what `three` gives them."""


def three(make: Make) -> list[RunRow]:
    """a: finished, 60% against 40%, 20 s; b: failed, 90% against 95%, 30 s; c: at work, no faster than it can."""

    def verdict(value: float, baseline: float, cost: float) -> Any:
        return structs.replace(esm_verdict(value, baseline=baseline), cost=cost)

    a = row_of(
        make("x", "finished"), created=100.0, run_id="2", changes={}, name="Zoe",
        stages={"mine": StageRecord(status="finished", seconds=20.0, verdict=verdict(0.6, 0.4, 0.5))},
    )  # fmt: skip
    b = row_of(
        make("y", "failed"), created=300.0, run_id="3", changes={"a.b": 1}, name="anna",
        stages={"select": StageRecord(status="finished", seconds=30.0, verdict=verdict(0.9, 0.95, 0.1)),
                "slsm": StageRecord()},
    )  # fmt: skip
    c = row_of(
        make("z", "stopped"), created=200.0, run_id="1", changes={"b.c": 1}, name="bert",
        stages={"evolve": StageRecord(status="finished", seconds=10.0, verdict=verdict(0.7, 0.1, 0.3)),
                "pool": StageRecord(), "selector": StageRecord()}, state="running",
    )  # fmt: skip
    return [replace(row, progress=StageState(name)) for row, name in ((a, "mine"), (b, "eval"), (c, "pool"))]


@pytest.mark.parametrize("column", ORDERS)
def test_the_order_by_each_column(column: str, make: Make) -> None:
    rows = dict(zip("abc", three(make), strict=True))
    source = RunSource()
    source.show_runs(list(rows.values()))
    letter = {row.path: name for name, row in rows.items()}
    orders = []
    for reverse in (False, True):
        source.sort(column, reverse)
        orders.append("".join(letter[row.path] for row in source.runs))
    assert orders == [ORDERS[column], ORDERS[column][::-1]]
    source.sort(None, reverse=False)
    assert [letter[row.path] for row in source.runs] == ["a", "b", "c"]


async def test_what_stands_where_at_each_width(make: Make, tmp_path: Path) -> None:
    """Of a finished run. What matters least goes first; names and fields take the room that is left."""
    run = row_of(make("demo", "finished"), changes={"online.L": 5}, created=1_760_000_000.0)
    record = run.status.directory.read()
    record.stages["eval"].verdict = structs.replace(esm_verdict(0.9), curve=[0.5, 0.9])
    run.status.directory.write(record)
    seen: list[list[str]] = []
    for width in (60, 80, 120, 200):
        app = RunsApp(tmp_path / "outputs")
        async with app.run_test(size=(width, 24)) as pilot:
            await app.workers.wait_for_complete()
            await pilot.pause()
            lines = [app.runs.table.render_line(y).text.rstrip() for y in range(2)]
            seen.append(
                [line.replace(run.record.run_id, "ID" + "." * (len(run.record.run_id) - 2)) for line in lines]
            )
    head, line = (
        "    status        name            result    change",
        "›   ✓ finished    demo             0.900  ▲ +0.265",
    )
    curve, name = " ⣀⡠⠤⠔⠒⠊⠉", "ID" + "." * 18
    assert seen == [
        [head, line],
        [f"{head} curve   id", f"{line}{curve} {name}"],
        [
            f"{head} curve   methods                            time id",
            f"{line}{curve} ESM ▲                              1:01 {name}",
        ],
        [
            f"{head} curve   methods                        changed fields            time    cost stage         "
            " progress         left      started id",
            f"{line}{curve} ESM ▲                          online.L=5                1:01    0.25 all stages    "
            f" ━━━━━━━━ 100%       ·   2025-10-09 {name}",
        ],
    ]


async def test_the_id_of_a_sweeps_run_is_cut_at_its_beginning(make: Make, tmp_path: Path) -> None:
    """Its runs differ in the last letters alone; the column is 20 wide, and the id has 24."""
    row_of(make("demo", "finished"), run_id="20251009-085320-ab12-003")
    app = RunsApp(tmp_path / "outputs")
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert app.runs.table.render_line(1).text.split()[-1] == "085320-ab12-003"


async def test_a_sweeps_heading_and_its_runs_by_keys(make: Make, tmp_path: Path) -> None:
    """Folded at first; space lists its runs, o on one of them and enter on the heading show the sweep."""
    point = [SweepPoint(folder="sweep-1", number=at, setting={"online.L": at}) for at in range(2)]
    runs = [row_of(make("demo", "finished", age=age), sweep=point[age]) for age in range(2)]
    alone = row_of(make("other", "finished", age=9))
    app = RunsApp(tmp_path / "outputs")
    asked: list[Path] = []
    app.runs.post_message = _noting(app.runs.post_message, asked)  # type: ignore[method-assign]
    async with app.run_test(size=(120, 36)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        seen: list[tuple[str, int, tuple[bool, ...]]] = []

        def look() -> None:
            keys = tuple(word in app.words for word in ("Unfold", "Sweep", "Mark"))
            source = app.runs.source
            name = source.cells(0)[2].text
            seen.append((name, len(source), keys))

        look()
        await pilot.press("space")
        await pilot.pause()
        look()
        await pilot.press("down")
        await pilot.pause()
        look()
        await pilot.press("o", "up", "enter", "space")
        await pilot.pause()
        look()
        await pilot.press("end")
        await pilot.pause()
        look()
        assert app.runs.selected is not None and app.runs.selected.path == alone.path
    folder = runs[0].path.parent / "sweep-1"
    assert sweep_of(runs[0]) == folder and asked == [folder, folder]
    assert seen == [
        ("▸ sweep online.L", 2, (True, False, False)),
        ("▾ sweep online.L", 4, (True, False, False)),
        ("▾ sweep online.L", 4, (False, True, True)),
        ("▸ sweep online.L", 2, (True, False, False)),
        ("▸ sweep online.L", 2, (False, False, True)),
    ]


def test_the_cells_of_a_heading(make: Make) -> None:
    """At work where one of its runs is; without a result only what it is."""
    runs = [row_of(make("a", "finished")), row_of(make("b", "stopped"), state="paused")]
    record = runs[0].status.directory.read()
    record.stages["eval"].verdict = esm_verdict(0.5)
    runs[0].status.directory.write(record)
    good, working = row_of(runs[0].status.directory), runs[1]
    at_work = Group("sweep L", (good, working), Path("/sweep-1"), folded=False)
    at_rest = Group("sweep L", (row_of(make("c", "stopped")),), Path("/sweep-1"), folded=True)
    keys = ("name", "state", "result", "difference", "changes", "id", "curve")
    assert [tuple(at_work.cell(key)) for key in keys] == [
        ("▾ sweep L", "strong"), ("▶ 2 runs", "good"), ("★ 0.500", "strong"), ("▼ −0.135", "bad"),
        ("enter shows it", "dim"), ("best of 1 run", "dim"), ("", ""),
    ]  # fmt: skip
    assert [tuple(at_rest.cell(key)) for key in keys] == [
        ("▸ sweep L", "strong"), ("— 1 run", "dim"), ("", ""), ("", ""), ("enter shows it", "dim"), ("", ""),
        ("", ""),
    ]  # fmt: skip


def test_what_stands_under_a_heading_is_listed_where_it_is_asked_for(make: Make) -> None:
    """Where its newest run stood: unfolded, under a filter, and in another order, which has no headings."""
    rows = [
        row_of(make(name, "finished", age=age), sweep=None if not sweep else
               SweepPoint(folder=f"sweep-{sweep}", number=age, setting={"a.b": age, "c.d": 1}))
        for age, (name, sweep) in enumerate((("a", 1), ("b", 2), ("c", 0), ("d", 1)))
    ]  # fmt: skip
    for row in rows:
        row.record.run_id = row.record.name
    source = RunSource()

    def shown() -> str:
        names = []
        for at in range(len(source)):
            run, group = source.run(at), source.group(at)
            names.append(group.name if group is not None else run.record.name if run is not None else "?")
        return " ".join(names)

    # All sweeps lie beside their runs, here in the folders of their experiments.
    one, two = (rows[at].path.parent / f"sweep-{at + 1}" for at in (0, 1))
    other = rows[3].path.parent / "sweep-1"
    source.show_runs(rows)
    assert shown() == "sweep a.b c.d sweep a.b c.d c sweep a.b c.d"
    assert [source.sweep(at) for at in range(len(source))] == [one, two, None, other]
    assert [source.key(at) for at in (0, 2)] == [f"group {one}", rows[2].path]
    source.toggle_fold(two)
    assert shown() == "sweep a.b c.d sweep a.b c.d b c sweep a.b c.d"
    assert source.run(-1) is source.run(len(source)) is source.group(-1) is None
    source.expression = parse("name:d or name:c", RUN_FIELDS)
    source.arrange()
    assert shown() == "c sweep a.b c.d d" and len(source.runs) == 2 and source.words == []
    source.expression = parse("finish", RUN_FIELDS)
    source.sort("name", reverse=True)
    assert shown() == "d c b a" and source.words == ["finish"]


def test_a_record_from_elsewhere_leads_to_no_folder_outside(make: Make) -> None:
    for folder in ("../x", "/x", "", "."):
        assert (
            sweep_of(row_of(make("a", "finished"), sweep=SweepPoint(folder=folder, number=0, setting={})))
            is None
        )


def test_each_field_of_the_filter(make: Make) -> None:
    """Words of a field, whatever their case; figures as they are shown."""
    rows = three(make)
    rows[0].record.config = {"task": {"dataset": "GSM8K"}, "run": {"seed": 7}}

    def keeps(text: str) -> str:
        found = kept(rows, parse(text, RUN_FIELDS))
        return "".join(name for name, row in zip("abc", rows, strict=True) if row in found)

    for text, names in (
        ("name:zoe", "a"), ("name:Zoe", "a"), ("state:running", "c"), ("state:failed or state:finished", "ab"),
        ("method~pool", "c"), ("method~ESM", "ab"), ("method~selector", "c"), ("change~a.b", "b"), ("change:none", "a"),
        ('config~"seed=7"', "a"), ("id:1", "c"), ("result>0.65", "bc"), ("gain<0", "b"), ("gain>0.2", "c"),
        ("seconds>=20", "ab"), ("cost<0.3", "b"), ("cost<=0.3", "bc"), ("gsm8k", "a"), ("anna", "b"),
        ('"b.c=1"', "c"), ("evolution", "c"), ("running", "c"), ("zoe", "a"),
    ):  # fmt: skip
        assert keeps(text) == names, text


async def test_the_title_counts_what_runs_is_marked_and_is_listed(make: Make, tmp_path: Path) -> None:
    make("a", "finished")
    app = RunsApp(tmp_path / "outputs")
    async with app.run_test(size=(120, 24)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        rows = [row_of(make(name, "finished", age=age)) for age, name in enumerate("bcd", 1)]
        rows[1] = replace(rows[1], status=replace(rows[1].status, state="running", pid=42))
        folder = f"   in {tmp_path}/outputs/"
        app.runs.read_once = False
        app.runs._show_title()
        titles = [str(app.runs.title_line.content)]
        app.runs.show_runs(rows)
        app.runs.source.toggle_mark(rows[0].path)
        app.runs.arranged()
        titles.append(str(app.runs.title_line.content))
        app.runs.bar.set("name:b")
        await pilot.pause()
        titles.append(str(app.runs.title_line.content))
    assert titles == [
        f" steer-tui   reading …{folder}",
        f" steer-tui   3 runs   ▶ 1 running   1 marked{folder}",
        f" steer-tui   3 runs   ▶ 1 running   filter name:b: 1   1 marked{folder}",
    ]


async def test_what_is_under_no_run_is_not_drawn(tmp_path: Path) -> None:
    """Without a run nothing stands below the list."""
    app = RunsApp(tmp_path / "outputs")
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert app.runs.about.has_class("-empty") and not app.runs.about.display
        assert not app.runs.check_action("filter", ()) and app.runs.check_action("anything", ())
        assert not app.runs.check_action("undo", ()) and not app.runs.check_action("notes", ())
        assert not {"Open", "Sort"} & set(app.words)
        app.runs.read_once = False
        assert app.runs.check_action("filter", ()), "what is typed before the list is read is no command"


async def test_what_is_said_of_the_trash_and_of_notes(make: Make, tmp_path: Path) -> None:
    runs = [make("a", "finished"), make("b", "stopped", age=9)]
    app = RunsApp(tmp_path / "outputs")
    async with app.run_test(size=(120, 36)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        await pilot.press("semicolon")
        assert isinstance(app.screen, AskScreen) and "A note on a" in drawn(app)
        await pilot.press(*"why", "enter")
        await pilot.press("M")
        await pilot.pause()
        assert isinstance(app.screen, NotesScreen) and len(app.screen.query("*")) > 0
        app.pop_screen()
        await pilot.press("delete")
        await app.workers.wait_for_complete()
        await pilot.pause()
        [told] = [note.message for note in app._notifications]
        assert told == f"a is in {tmp_path}/outputs/.trash/a/{runs[0].path.name}; u brings it back."
        runs[0].path.mkdir(parents=True)
        await pilot.press("u")
        assert isinstance(app.screen, ErrorPanel) and app.screen.fault.title == "The run was not brought back"
        await pilot.press("escape")
        app.runs.trashed.clear()
        assert (tmp_path / "outputs" / ".trash" / "a" / runs[0].path.name / "notes.jsonl").exists()


async def test_how_two_runs_are_compared_is_said(make: Make, tmp_path: Path) -> None:
    """The marked run alone is not compared with itself."""
    make("a", "finished")
    make("b", "finished", age=9)
    app = RunsApp(tmp_path / "outputs")
    async with app.run_test(size=(120, 36)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        await pilot.press("m", "up", "c")
        [told] = [note.message for note in app._notifications]
        assert app.runs.table.cursor == 0 and app.asked == []
    assert told == "Two runs are compared: mark one with m, go to another one, and press c."


def test_what_the_keys_send_and_ask_for(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[object, ...]] = []
    monkeypatch.setattr("app.runs.command_sender.command_run", lambda *given: sent.append(given))
    row = row_of(make("a", "stopped"), state="running")
    screen: Any = RunCommands.__new__(RunCommands)
    monkeypatch.setattr(RunCommands, "selected", row)
    monkeypatch.setattr(RunCommands, "app", "the app")
    for command in ("pause", "continue", "stop"):
        screen.action_order(command)
    assert sent == [("the app", row.status.directory, command) for command in ("pause", "continue", "stop")]


def test_stages_stand_below_a_run_as_long_as_something_is_left_of_them(make: Make) -> None:
    """With a verdict a finished run has none to do, but for one that was skipped."""
    stages = {"mine": StageRecord(status="finished", seconds=61), "eval": StageRecord(status="finished")}
    stages["eval"].verdict = esm_verdict(0.9)
    run = make("a", "finished")
    row = row_of(run, stages=stages)
    assert len(about_run(row).plain.splitlines()) == 2
    stages["mine"].skipped = True
    lines = about_run(row_of(run, stages=stages)).plain.splitlines()
    assert lines[1].startswith("⊘ mine") and len(lines) == 3
    bare = about_run(row_of(run, stages={"mine": StageRecord(status="finished", seconds=61)})).plain
    assert bare.splitlines()[0] == "✓ mine 1:01   "
    failed = row_of(make("b", "failed", failure="no\ndisk  left"))
    assert about_run(failed).plain.splitlines()[-1] == "✗ no disk left"
    names = {f"stage-{at}": StageRecord(status="finished" if at < 5 else "pending") for at in range(9)}
    many = replace(row_of(make("c", "stopped"), stages=names), progress=StageState("stage-4"))
    lines = [about_run(many, room).plain.splitlines()[0] for room in (39, 40)]
    assert lines == ["… ✓ stage-4   ○ stage-5   …", "… ✓ stage-3   ✓ stage-4   ○ stage-5   …"], (
        "12 cells each"
    )


def test_which_columns_go_first_where_it_gets_narrow() -> None:
    """State, name and result stay to the end."""
    gone: list[str] = []
    for width in range(260, 8, -1):
        shown = {placed.column.key for placed in place(COLUMNS, width)}
        gone += [
            column.key for column in reversed(COLUMNS) if column.key not in shown and column.key not in gone
        ]
    assert gone == [
        "progress", "stage", "eta", "started", "cost", "changes", "methods", "seconds", "curve", "id", "difference",
        "result", "name",
    ]  # fmt: skip


async def test_before_the_runs_are_read_nothing_is_claimed_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is a second read begun before the first one's end."""
    monkeypatch.setattr(RunsScreen, "_read", lambda self: reads.append(1))
    reads: list[int] = []
    app = RunsApp(tmp_path / "outputs")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        app.runs.look()
        assert str(app.runs.title_line.content).startswith(" steer-tui   reading …") and reads == [1]
        assert app.runs.check_action("filter", ()) and app.runs.table.empty == ""


def test_the_lines_of_several_methods_stand_in_columns(make: Make) -> None:
    """What they are over begins behind the longest of them."""
    pool = structs.replace(esm_verdict(0.5, baseline=0.25), method="pool", baseline="given", metric="oracle")
    stages = {"eval": StageRecord(status="finished", verdict=esm_verdict(0.9)),
              "pool": StageRecord(status="finished", verdict=pool)}  # fmt: skip
    lines = about_run(row_of(make("a", "finished"), stages=stages)).plain.splitlines()
    assert lines[:2] == [
        "ESM        greedy 63.5% → 90.0%  ▲ +26.5 [21, 33]    accuracy over 200 examples",
        "Pool       as given 25.0% → 50.0%  ▲ +25.0 [19, 31]  best pair known over 200 examples",
    ]


def test_a_share_is_not_whole_before_all_is_done() -> None:
    """996 of 1,000 are 99%, in the state as in the bar."""
    row: Any = SimpleNamespace(state="running", fraction=0.996, working=True)
    assert _state(row).text == "▶ running 99%"
    assert _progress(row).text.endswith("  99%")


@pytest.mark.parametrize(
    ("left", "cell"),
    [
        (TimeLeft(90.0), Cell("1:30", "strong")),
        (TimeLeft(90.0, unknown=("eval",)), Cell("?", "dim")),
        (None, Cell(*NONE)),
    ],
)
def test_what_is_left_may_not_be_known(left: TimeLeft | None, cell: Cell) -> None:
    """90 s are known; how long eval takes is not."""
    row: Any = SimpleNamespace(time_left=left)
    assert _eta(row) == cell
