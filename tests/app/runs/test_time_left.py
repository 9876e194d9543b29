"""How long a run will still take: only what its own pace and earlier runs with the same configuration tell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.ctl.runs import run_form
from app.runs.run_list import RunRow
from app.runs.time_left import (
    DEMO,
    Earlier,
    earlier_times,
    read_earlier_times,
    time_left,
    time_left_sentence,
    time_left_short,
)
from engine.config.file import load_config
from engine.run.directory import RunDirectory, StageRecord, inspect
from engine.run.stage_state import FINISHED, RUNNING, StageState
from screens.run_session import run_time_left
from screens.runs.about import about_run
from tests.made_run import create_run
from tests.recorded_session import RecordedSession
from tests.synthetic_run import SyntheticRun, write_log

DEMO_CONFIG = Path(__file__).parents[3] / "configs" / "demo.yaml"
DONE = StageState("mine", FINISHED, done=4, total=4)
AT_WORK = StageState("select", RUNNING, done=3, total=9, elapsed=30.0)
BEGINS = StageState("select", RUNNING, total=9)
WAITS = StageState("eval")


def test_pace_and_earlier_runs_add_up() -> None:
    """60 s at the pace so far, and the median of what the waiting stage took."""
    left = time_left([DONE, AT_WORK, WAITS], Earlier({"select": [1e9], "eval": [80.0, 100.0, 300.0]}))
    assert left is not None and (left.whole, left.from_earlier, left.runs) == (160.0, ("eval",), 3)
    assert time_left_short(left) == "all stages 2:40"
    assert time_left_sentence(left) == "about 2:40 left (eval as in 3 earlier runs)"


def test_what_is_not_known_is_said() -> None:
    left = time_left([DONE, AT_WORK, WAITS], Earlier())
    assert left is not None and left.whole is None
    assert time_left_short(left) == "all stages: not known yet"
    assert (
        time_left_sentence(left)
        == "at least 1:00 left, without eval: no earlier run tells how long that takes"
    )
    left = time_left([DONE, BEGINS, WAITS], Earlier({"eval": [5.0]}))
    assert left is not None and left.unknown == ("select",) and left.whole is None


def test_nobody_asks_how_long_a_server_will_take() -> None:
    assert time_left([StageState("serve", RUNNING, done=3, elapsed=30.0)], Earlier()) is None


def test_pace_alone_is_enough_for_the_last_stage() -> None:
    left = time_left([DONE, AT_WORK], Earlier())
    assert left is not None and time_left_sentence(left) == "about 1:00 left"


def test_a_stage_that_begins_takes_what_it_took() -> None:
    """Before its first item; afterwards its own pace counts."""
    left = time_left([BEGINS], Earlier({"select": [45.0]}))
    assert left is not None and left.whole == 45.0
    assert time_left([DONE], Earlier()) is None
    writes = StageState("select", RUNNING, done=9, total=9, elapsed=90.0)
    left = time_left([writes], Earlier())
    assert left is not None and left.whole == 0.0


def test_what_was_measured_elsewhere_is_scaled_by_the_pace_here() -> None:
    """20 s for `mine`'s 10, 30 + 60 for `select`'s 45: 110 for 55, so twice as long; `eval`'s 40 are 80."""
    shipped = Earlier(shipped={"mine": 10.0, "select": 45.0, "eval": 40.0})
    mined = replace(DONE, seconds=20.0)
    left = time_left([mined, AT_WORK, WAITS], shipped)
    assert left is not None and (left.whole, left.shipped) == (140.0, ("eval",))
    assert time_left_sentence(left) == "about 2:20 left (eval as on another machine, at the pace here)"
    before = time_left([replace(BEGINS, name="mine"), WAITS], shipped)
    assert before is not None and before.whole == 50.0
    resumed = time_left([replace(AT_WORK, begun_at=1), WAITS], shipped)
    assert (
        resumed is not None and resumed.whole == 90.0 + 40.0
    )  # a part of a stage tells nothing of the whole
    both = time_left([mined, AT_WORK, WAITS], replace(shipped, times={"eval": [7.0]}))
    assert both is not None and (both.whole, both.shipped) == (67.0, ())


def test_the_demo_knows_its_times(tmp_path: Path) -> None:
    def expected(name: str, stages: list[str]) -> Earlier:
        made = create_run(tmp_path, name, seed=0, stages=stages, config={}, config_text="", versions={})
        return earlier_times(made.read(), ())

    stages = load_config(DEMO_CONFIG).run.stages
    assert list(DEMO) == stages
    assert expected("demo", stages) == Earlier({}, DEMO) == expected("demo", ["mine", "select"])
    assert expected("mine", stages) == Earlier() == expected("demo", [*stages, "another"])


def _run(
    outputs: Path, seconds: dict[str, float], seed: int = 0, size: int = 10, finished: bool = True
) -> RunDirectory:
    config = {"run": {"seed": seed}, "task": {"size": size, f"only_in_version_{seed}": 1}}
    run = create_run(
        outputs, f"seed{seed}", seed=seed, stages=list(seconds), config=config, config_text="", versions={}
    )
    record = run.read()
    done = {name: StageRecord(status="finished", seconds=value) for name, value in seconds.items() if value}
    record.stages.update(done)
    record.status = "finished" if finished else "running"
    run.write(record)
    return run


def test_only_runs_with_the_same_configuration_count(tmp_path: Path) -> None:
    """Seed and name may differ; unfinished stages and unreadable runs tell nothing."""
    _run(tmp_path, {"mine": 10.0, "eval": 60.0}, seed=1)
    _run(tmp_path, {"mine": 12.0, "eval": 0.0}, seed=2)
    _run(tmp_path, {"mine": 99.0, "eval": 99.0}, size=11)
    (_run(tmp_path, {"mine": 99.0}, seed=4).record).write_bytes(b"nothing")
    mine = _run(tmp_path, {"mine": 0.0, "eval": 0.0}, finished=False)
    earlier = read_earlier_times(mine.path)
    assert {name: sorted(times) for name, times in earlier.times.items()} == {
        "mine": [10.0, 12.0],
        "eval": [60.0],
    }
    assert read_earlier_times(tmp_path / "none") == Earlier()


def test_the_newest_runs_are_those_that_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run's own folder, which is the newest, takes one of the three places."""
    monkeypatch.setattr("app.runs.time_left.MOST_RUNS", 3)
    for number in range(4):
        run = _run(tmp_path, {"mine": 10.0 + number}, seed=number)
        run.path.rename(run.path.with_name(f"2026010{number + 1}-000000-aaaa"))
    mine = _run(tmp_path, {"mine": 0.0}, finished=False)
    path = mine.path.rename(mine.path.with_name("20260109-000000-aaaa"))
    assert read_earlier_times(path).times == {"mine": [13.0, 12.0]}


def test_list_and_script_say_it(tmp_path: Path) -> None:
    """For a run whose worker works, and for no other."""
    _run(tmp_path, {"mine": 10.0, "select": 20.0, "eval": 60.0}, seed=1)
    run = _run(tmp_path, {"mine": 10.0, "select": 0.0, "eval": 0.0}, finished=False)
    status = inspect(run.path)
    works = RunRow(replace(status, state="running"), AT_WORK, earlier=read_earlier_times(run.path))
    assert run_form(works)["eta"] == 60.0 and run_form(works)["eta_all"] == 120.0
    assert "about 2:00 left (eval as in 1 earlier run)" in about_run(works).plain
    rests = RunRow(status, AT_WORK)
    assert rests.time_left is None and run_form(rests)["eta_all"] is None


def test_the_console_says_it_only_of_now(tmp_path: Path) -> None:
    """Not of a moment looked back at, and not of a run that rests."""
    entries = write_log(tmp_path / "events.jsonl", SyntheticRun(examples=4).events(finish=False))
    session = RecordedSession(entries, tmp_path)
    left = run_time_left(session)
    assert left is not None and left.whole is not None
    session.seek(5)
    assert run_time_left(session) is None
    session.seek(None)
    session.state.status = "finished"
    assert run_time_left(session) is None
