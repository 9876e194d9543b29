"""The list of runs: what it says about each, and what it offers to do with it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs
from rich.text import Text

from app.runs.run_list import RunList, read_progress
from engine.events import Header, Notice, StageFinished, StageProgress, StageStarted, encode
from engine.run.directory import RunDirectory, RunStatus, StageRecord
from engine.run.lock import RunLock
from screens.console_screen import TooNarrow
from screens.messages import EventRequested
from screens.runs.about import about_run
from screens.runs.columns import COLUMNS
from screens.runs.fields import headline
from screens.widgets.key_line import KeyLine, fitting, keys_of
from tests.console import drawn, until
from tests.runs_app import RunsApp, esm_verdict
from tests.synthetic_run import SyntheticRun, write_log

SIZES = [(80, 24), (200, 60)]
Make = Callable[..., RunDirectory]


@pytest.mark.parametrize("terminal", SIZES)
async def test_every_run_with_word_and_sign(make: Make, tmp_path: Path, terminal: tuple[int, int]) -> None:
    make("demo", "finished")
    make("demo", "running", age=60)  # nobody holds its lock
    make("gsm8k", "failed", age=120, failure="cannot write (x): free some space")
    app = RunsApp(tmp_path / "outputs")
    async with app.run_test(size=terminal) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        rows = app.rows()
        assert [row.split()[:2] for row in rows] == [["✓", "finished"], ["✗", "interrupted"], ["✗", "failed"]]
        assert "100%" in rows[0] and "50%" in rows[1]
        assert "3 runs" in str(app.runs.title_line.content)
        assert "✓ mine 1:01" in str(app.runs.about.content)
        assert {"Open", "New run", "Help", "Quit"} & set(app.words) == {"Open", "New run"}


async def test_offers_follow_the_run_under_the_cursor(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Resume where nobody is at work, pause and stop where somebody is."""
    sent: list[tuple[str, str]] = []
    monkeypatch.setattr(
        "app.runs.command_sender.command_run",
        lambda app, run, command: sent.append((run.path.parent.name, command)),
    )
    lock = RunLock(make("a", "running").lock)
    make("b", "stopped", age=60)
    make("c", "finished", age=120)
    app = RunsApp(tmp_path / "outputs")
    async with app.run_test() as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert {"Pause", "Stop"} <= set(app.words) and "Resume" not in app.words
        await pilot.press("p", "S", "enter")
        await pilot.press("down")
        await pilot.pause()
        assert "Resume" in app.words and "Stop" not in app.words
        await pilot.press("r", "S", "plus")
        await pilot.press("down")
        await pilot.pause()
        assert not {"Resume", "Stop", "Pause"} & set(app.words)
        asked = [(type(m).__name__, getattr(m, "run_dir", Path()).parent.name) for m in app.asked]
    lock.release()
    assert sent == [("a", "pause"), ("a", "stop")]
    assert asked == [("EventRequested", "a"), ("ResumeRequested", "b")] and app.new_runs == 1
    assert isinstance(app.asked[0], EventRequested) and app.asked[0].seq is None, (
        "the run, and none of its events"
    )


@pytest.mark.parametrize("terminal", SIZES)
async def test_newcomer_is_told_what_to_press(tmp_path: Path, terminal: tuple[int, int]) -> None:
    app = RunsApp(tmp_path / "nothing")
    async with app.run_test(size=terminal) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        drawn = "\n".join(app.runs.table.render_line(y).text for y in range(10))
        assert "Press +, then enter: the demo starts" in drawn
        app.runs.runs.folders = [Path("/nope/x"), Path("/tmp")]
        app.runs._show_title()
        assert str(app.runs.title_line.content).endswith("in /nope/x/ (there is no such folder yet), /tmp/")
        (tmp_path / "file").write_text("")
        app.runs.runs.folders = [tmp_path / "file"]
        app.runs._show_title()
        assert str(app.runs.title_line.content).endswith("/file (this is a file, not a folder)")
        await pilot.press("plus")
        assert app.new_runs == 1 and not app.asked


async def test_what_stands_below_the_list_is_as_wide_as_the_screen(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """80 columns but for one at each side."""
    make("a", "stopped")
    rooms: list[int] = []
    monkeypatch.setattr(
        "screens.runs.listing.about_run", lambda row, room: Text(f"{rooms.append(room)}", "dim")
    )
    app = RunsApp(tmp_path / "outputs")
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        app.runs._show_about()
        assert rooms[-1] == 78


async def test_new_runs_come_in_and_the_cursor_stays(make: Make, tmp_path: Path) -> None:
    first = make("a", "stopped", age=60)
    app = RunsApp(tmp_path / "outputs")
    async with app.run_test() as pilot:
        await app.workers.wait_for_complete()
        make("b", "finished")
        app.runs.look()
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert len(app.runs.source) == 2
        assert app.runs.selected is not None and app.runs.selected.path == first.path


async def test_a_run_that_is_listed_is_chosen_at_once(make: Make, tmp_path: Path) -> None:
    runs = [make(name, "finished", age=age) for age, name in enumerate("abc")]
    app = RunsApp(tmp_path / "outputs")
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        app.runs.select(runs[2].path)
        assert app.runs.table.cursor == 2
        await pilot.press("up")
        app.runs.arranged()
        assert app.runs.table.cursor == 1, "it is chosen once"


async def test_the_run_that_was_left_is_under_the_cursor(make: Make, tmp_path: Path) -> None:
    """Also one that the list has not met yet."""
    make("a", "finished")
    app = RunsApp(tmp_path / "outputs")
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        left = make("b", "finished")
        app.runs.select(left.path)
        app.runs.look()
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert app.runs.selected is not None and app.runs.selected.path == left.path


def test_the_pace_of_a_stage_counts_from_the_first_report_that_is_read(make: Make) -> None:
    """Of a log of 70 kB its last 64 are read: 10 of 40 items stand there at 5 s, then 20 at 7 s. The 20 that are left
    take 4 s; one report alone knows no better than that 10 took 5 s."""
    run = make("a", "running")
    reports = [
        StageProgress(stage="eval", done=done, total=40, elapsed=at) for done, at in ((10, 5.0), (20, 7.0))
    ]
    start = StageStarted(stage="eval", total=40, unit="answers")
    for kept, seconds in ((1, 15.0), (2, 4.0)):
        run.events.write_bytes(b"".join(map(encode, [start, Notice(text="x" * 70_000), *reports[:kept]])))
        assert read_progress(run).eta == seconds
    run.events.write_bytes(b"".join(map(encode, [start, *reports])) + b'{"type":"StageProgress", torn\n')
    assert read_progress(run).eta == 7.0, "20 of all 40 took 7 s"


async def test_sixty_columns_are_needed(make: Make, tmp_path: Path) -> None:
    make("a", "finished")
    app = RunsApp(tmp_path / "outputs")
    async with app.run_test(size=(40, 20)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert app.runs.selected is not None
        assert [child for child in app.runs.children if child.display] == [app.runs.query_one(TooNarrow)]
        assert "40 columns are too few" in app.runs.query_one(TooNarrow).render().plain
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert app.runs.table.display and not app.runs.query_one(TooNarrow).display


async def test_key_line_can_be_clicked_and_keeps_the_needed(make: Make, tmp_path: Path) -> None:
    make("a", "stopped")
    app = RunsApp(tmp_path / "outputs")
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        line = app.runs.query_one(KeyLine)
        await pilot.click(KeyLine, offset=(line.render().plain.index("New run") + 1, 0))
        assert app.new_runs == 1 and not app.asked
        keys = [replace(key, rank=rank) for key, rank in zip(keys_of(app.runs), (2, 3, 1, 0), strict=False)]
        kept = fitting(keys, keys[2].width + keys[3].width if len(keys) > 3 else keys[2].width)
        assert kept and all(key.rank <= 1 for key in kept)


# ---------------------------------------------------------------- the list itself


def test_list_reads_again_only_what_changed(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [make("a", "stopped", age=age) for age in (1, 2, 3)]
    found = RunList(tmp_path / "outputs")
    before = found.read()
    reads: list[Path] = []
    from app.runs import run_list

    inspect = run_list.inspect
    monkeypatch.setattr(run_list, "inspect", lambda path: reads.append(path) or inspect(path))
    assert found.read() == before and reads == []
    record = runs[1].read()
    record.status = "failed"
    runs[1].write(record)
    assert [row.state for row in found.read()] == ["stopped", "failed", "stopped"]
    assert reads == [runs[1].path]


def test_a_run_with_a_worker_is_looked_at_each_time(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether its worker shows signs of life stands in no file that changes."""
    from app.runs import run_list

    run = make("a", "running")
    status, states = run_list.inspect(run.path), iter(("running", "hung", "interrupted"))

    def look(path: Path) -> RunStatus:
        state = next(states)
        return replace(status, state=state, pid=None if state == "interrupted" else 42)

    monkeypatch.setattr(run_list, "inspect", look)
    found = RunList(tmp_path / "outputs")
    seen = [found.read()[0].state for _ in range(4)]
    assert seen == ["running", "hung", "interrupted", "interrupted"], "and no more once it has none"


def test_list_passes_over_what_is_no_run(make: Make, tmp_path: Path) -> None:
    make("a", "stopped")
    broken = make("b", "stopped")
    broken.record.write_text("{")
    (tmp_path / "outputs" / "file").write_text("")
    (tmp_path / "outputs" / "empty").mkdir()
    os.symlink("nowhere", tmp_path / "outputs" / "link")
    assert [row.status.record.name for row in RunList(tmp_path / "outputs").read()] == ["a"]
    assert RunList(tmp_path / "missing").read() == []


def test_progress_comes_from_the_end_of_the_log(make: Make) -> None:
    run = make("a", "running")
    entries = write_log(run.events, SyntheticRun(examples=300).events(finish=False))
    last = next(e for e, _, _ in reversed(entries) if isinstance(e, StageProgress))
    progress = read_progress(run)
    assert (progress.name, progress.done, progress.total) == ("eval", last.done, last.total)


def test_eta_is_of_this_attempt(make: Make) -> None:
    """Ten of a hundred were there before; ten more took five seconds: eighty take forty."""
    run = make("a", "running")
    run.events.write_bytes(
        encode(Header(schema_version=1, name="a", run_id="1", seed=0, stages=["eval"]))
        + encode(StageStarted(stage="eval", total=100, done=10, unit="answers"))
        + encode(StageProgress(stage="eval", done=20, total=100, elapsed=5.0))
        + b'{"type":"StageProgress","stage":"eval","done":'
    )
    progress = read_progress(run)
    assert (progress.done, progress.unit, progress.eta) == (20, "answers", 40.0)


def test_eta_where_the_start_is_further_up_than_is_read(make: Make) -> None:
    """Ten in four seconds since the first report that was read, whatever was there when the attempt began."""
    run = make("a", "running")
    start = encode(StageStarted(stage="eval", total=200, done=100)) + encode(Notice(text="." * 70_000))
    reports = [StageProgress(stage="eval", done=110 + k, total=200, elapsed=8.0 + 0.4 * k) for k in range(11)]
    run.events.write_bytes(start + b"".join(map(encode, reports)))
    assert read_progress(run).eta == pytest.approx(32.0)
    again = (
        StageStarted(stage="eval", total=200, done=120),
        StageProgress(stage="eval", done=130, total=200, elapsed=1.0),
    )
    with run.events.open("ab") as log:
        log.writelines(map(encode, again))
    assert read_progress(run).eta == pytest.approx(7.0)
    with run.events.open("ab") as log:
        log.write(encode(StageFinished(stage="eval", seconds=9.0)))
    assert read_progress(run).fraction == 1.0


def test_last_words_in_the_about_line(make: Make, tmp_path: Path) -> None:
    make("a", "failed", failure="no such column (data.jsonl:3): name it `question`")
    [row] = RunList(tmp_path / "outputs").read()
    assert "✗ no such column (data.jsonl:3)" in about_run(row).plain


async def test_letters_that_are_typed_are_not_offered_as_keys(make: Make, tmp_path: Path) -> None:
    """`+` begins a new run, and is a letter in the filter."""
    make("demo", "finished")
    app = RunsApp(tmp_path / "outputs")
    async with app.run_test(size=(200, 60)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert {"New run", "Filter"} <= set(app.words)
        await pilot.press("slash")
        await pilot.pause()
        assert not {"New run", "Filter"} & set(app.words) and "Apply" in app.words


def test_of_a_method_with_two_verdicts_the_last_stages_is_said(make: Make, tmp_path: Path) -> None:
    """Line, headline and sign: the pool's search did better, the selector that was trained after it did worse."""
    run = make("a", "finished")
    record = run.read()
    pool = structs.replace(
        esm_verdict(0.9), method="pool", baseline="given", metric="oracle", items="queries"
    )
    selector = structs.replace(
        esm_verdict(0.5), method="selector", baseline="rices", metric="vqa_accuracy", items="queries"
    )
    record.stages = {
        name: StageRecord(status="finished", seconds=61, verdict=verdict)
        for name, verdict in (("pool", pool), ("selector", selector))
    }
    run.write(record)
    [row] = RunList(tmp_path / "outputs").read()
    assert about_run(row).plain.splitlines()[0] == (
        "Pool       similarity 63.5% → 50.0%  ▼ −13.5 [−20, −8]  VQA accuracy over 200 queries"
    )
    assert [about_run(row, room).plain.splitlines()[0] for room in (85, 84)] == [
        "Pool       similarity 63.5% → 50.0%  ▼ −13.5 [−20, −8]  VQA accuracy over 200 queries",
        "Pool       similarity 63.5% → 50.0%  ▼ −13.5 [−20, −8]",
    ], "no blanks before words that are cut off"
    assert headline(row) == selector
    cells = {column.key: column.show(row) for column in COLUMNS if column.key in ("methods", "result")}
    assert [getattr(cell, "text", cell) for cell in cells.values()] == ["0.500", "Pool ▼"]


async def test_a_run_of_a_folder_below_the_working_one_is_chosen(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make("a", "finished")
    run = make("b", "finished", age=60).path
    app = RunsApp(Path("outputs"))
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        app.runs.select(run.relative_to(tmp_path))
        assert app.runs.selected is not None and app.runs.selected.path.absolute() == run


async def test_the_list_is_read_again_by_itself_and_offers_what_a_run_now_takes(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("screens.runs.listing.REFRESH_SECONDS", 0.02)
    run = make("a", "finished")
    app = RunsApp(tmp_path / "outputs")
    async with app.run_test(size=(120, 24)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert not {"Resume", "Error"} & set(drawn(app).splitlines()[-1].split())
        record = run.read()
        for change, key in (({"status": "stopped"}, "Resume"), ({"failure": "no room"}, "Error")):
            for name, value in change.items():
                setattr(record, name, value)
            run.write(record)
            await until(lambda key=key: key in drawn(app).splitlines()[-1].split(), key, seconds=9)
