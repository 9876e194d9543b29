"""Stale and skipped stages wherever a run is told of: list, about it, report, batch, words; and who refuses them."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from app.batch.display import sentence
from app.batch.result_tables import print_results
from app.blocks.markdown import to_markdown
from app.report.run_report import report
from app.report.source import read_run
from app.runs.run_list import RunList, RunRow, stage_states
from app.state.run import RunState
from app.table.column import Cell
from app.wording.stage_words import change_words, kept_words
from engine.events import Header, StageBegunAgain, StageFinished, StagesChosen, StageStarted
from engine.run.directory import RunDirectory, StageRecord, inspect
from engine.run.event_log import EventLog, header_of
from engine.run.stage_choices import KEPT_TEXTS, StageChange, choose
from engine.run.stage_state import STOPPED
from screens.runs.about import about_run
from screens.runs.columns import COLUMNS, difference_cell
from tests.made_run import create_run
from tests.runs_app import esm_verdict

STAGES = ("mine", "select", "memory", "eval", "evolve")


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """ESM is done, each stage in 30 seconds; `evolve` is not begun, and `eval` and `memory` are to be done again."""
    run = create_run(tmp_path, "r", seed=0, stages=STAGES, config={}, config_text="{}\n", versions={})
    record = run.read()
    for name in STAGES[:-1]:
        record.stages[name] = StageRecord(status="finished", seconds=30.0)
    record.stages["eval"].verdict = esm_verdict(0.965)
    record.status = "stopped"
    run.write(record)
    (run.path / KEPT_TEXTS).write_text("{}\n")
    choose(run, "again", "memory")
    return run


def row_of(run: RunDirectory) -> RunRow:
    (row,) = RunList(run.path.parent.parent).read()
    return row


def test_the_list_marks_results_of_an_earlier_attempt(run: RunDirectory) -> None:
    row = row_of(run)
    assert row.fraction == 2 / 5 and row.resumable
    (verdict,) = row.verdicts
    assert verdict.stale and difference_cell(verdict).text == "◌ +0.330"
    cells = {
        column.key: column.show(row)
        for column in COLUMNS
        if column.key in ("result", "methods") and column.show
    }
    assert cells == {"result": Cell("0.965", "dim"), "methods": Cell("ESM ◌ Evolution")}
    about = about_run(row).plain
    assert "ESM        greedy 63.5% → 96.5%  ◌ +33.0 [27, 39] (stale)" in about
    assert "✓ mine 0:30   ✓ select 0:30   ◌ memory 0:30   ◌ eval 0:30   ○ evolve" in about
    choose(run, "last", "select")
    row = row_of(run)
    assert row.fraction == 1.0 and "⊘ memory 0:30   ⊘ eval 0:30   ⊘ evolve" in about_run(row).plain
    assert row.time_left is None


def test_what_an_earlier_attempt_finished_is_no_progress(run: RunDirectory) -> None:
    log = EventLog(run.events, header_of(run.read()))
    for event in (StageStarted(stage="eval", total=4, done=0), StageFinished(stage="eval", seconds=1.0)):
        log.emit(event)
    log.close()
    row = row_of(run)
    assert (row.progress.name, row.progress.fraction, row.fraction) == ("eval", 1.0, 2 / 5)


def test_texts_of_an_attempt_that_is_begun_again_go_with_it(run: RunDirectory) -> None:
    assert (run.path / "earlier/1" / KEPT_TEXTS).exists() and not (run.path / KEPT_TEXTS).exists()


def test_texts_of_a_stage_that_is_half_done_stay(run: RunDirectory) -> None:
    record = run.read()
    record.stages["evolve"].status, record.stages["mine"].status = "stopped", "finished"
    record.stages["memory"].status = "finished"
    run.write(record)
    (run.path / KEPT_TEXTS).write_text("{}\n")
    choose(run, "again", "memory")
    assert (run.path / KEPT_TEXTS).exists()


def test_the_report_marks_them(run: RunDirectory) -> None:
    text = to_markdown(report(read_run(run)))
    assert "Stale, of an earlier attempt: ESM answers 96.5% of 200 examples right" in text
    assert "| stale |" in text.replace("  ", " ") and text.count("| stale |") == 2


def test_batch_says_what_is_chosen(run: RunDirectory) -> None:
    plan = StagesChosen(stale=["memory", "eval"], skipped=["evolve"], kept="earlier/1")
    assert sentence(plan) == (
        "to be done again: memory and eval, earlier results are kept in earlier/1; skipped: evolve"
    )
    assert sentence(StagesChosen()) == "no stage is skipped"
    assert (
        sentence(StageBegunAgain(kept="earlier/1")) == "begun again; what it left before is kept in earlier/1"
    )
    state = RunState()
    state.apply(Header(schema_version=1, name="r", run_id="1", seed=0, stages=list(STAGES)))
    for name in STAGES[:-1]:
        state.apply(
            StageFinished(stage=name, seconds=1.0, verdict=esm_verdict(0.9) if name == "eval" else None)
        )
    state.apply(plan)
    console = Console(width=100, record=True, file=open("/dev/null", "w"))
    print_results(state, console, run)
    said = " ".join(console.export_text().split())
    assert "eval stale: its results are of an earlier attempt" in said and "evolve skipped" in said
    assert "Stale, of an earlier attempt: ESM answers 90.0%" in said


def test_a_choice_in_words(run: RunDirectory) -> None:
    states = stage_states(inspect(run.path))
    again = StageChange("again", "mine", ("mine", "select"))
    assert change_words(again, states) == "Done again: mine and select, which took 1:00 last time."
    assert kept_words(StageChange("again", "select", ("select",)), states).endswith(" Not done again: mine.")
    skip = StageChange("skip", "select", ("select", "memory", "eval"))
    assert change_words(skip, states) == "Skipped: select, and memory and eval, which need it."
    assert change_words(StageChange("skip", "evolve", ("evolve",)), states) == "Skipped: evolve."
    last = StageChange("last", "mine", ("select",))
    assert change_words(last, states) == "The run ends after mine. Skipped: select."
    undone = StageChange("last", "mine", ("select",), undo=True)
    assert change_words(undone, states) == "select: done after all, when the run goes on."


def test_a_stage_whose_worker_vanished_is_not_at_work(run: RunDirectory) -> None:
    record = run.read()
    record.status, record.stages["evolve"].status = "running", "running"
    run.write(record)
    assert stage_states(inspect(run.path))["evolve"].status == STOPPED
