"""How long a run will still take: only what its own pace and, of the demo, the shipped times tell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.ctl.runs import run_form
from app.runs.run_list import RunRow
from app.runs.time_left import DEMO, time_left, time_left_sentence
from engine.config.file import load_config
from engine.run.directory import StageRecord, inspect
from engine.run.stage_state import FINISHED, RUNNING, SKIPPED, StageState
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


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the demo's stages took elsewhere."""
    monkeypatch.setattr("app.runs.time_left.DEMO", {"mine": 10.0, "select": 45.0, "eval": 40.0})


def test_what_is_not_known_is_said() -> None:
    left = time_left("mine", [DONE, AT_WORK, WAITS])
    assert left is not None and left.whole is None
    said = "at least 1:00 left, without eval: how long that takes is not known yet"
    assert time_left_sentence(left) == said
    left = time_left("mine", [DONE, BEGINS, WAITS])
    assert left is not None and left.unknown == ("select", "eval") and left.whole is None
    assert time_left_sentence(left) == "time left not known yet"


@pytest.mark.parametrize(("waiting", "named"), [(3, "a, b and c"), (4, "4 stages")])
def test_three_stages_are_named(waiting: int, named: str) -> None:
    left = time_left("mine", [AT_WORK, *map(StageState, "abcd"[:waiting])])
    assert left is not None and f"without {named}: how long" in time_left_sentence(left)


def test_nobody_asks_how_long_a_server_will_take() -> None:
    assert time_left("mine", [StageState("serve", RUNNING, done=3, elapsed=30.0)]) is None


def test_a_stage_of_which_nobody_knows_how_much_there_is_is_not_done() -> None:
    left = time_left("mine", [DONE, StageState("select", RUNNING, done=3, total=0, elapsed=9.0)])
    assert left is not None and left.unknown == ("select",) and left.whole is None


def test_pace_alone_is_enough_for_the_last_stage() -> None:
    left = time_left("mine", [DONE, AT_WORK])
    assert left is not None and time_left_sentence(left) == "about 1:00 left"
    assert left.whole == 60.0


@pytest.mark.usefixtures("shipped")
def test_a_stage_that_begins_takes_what_it_took() -> None:
    """Before its first item; afterwards its own pace counts."""
    left = time_left("demo", [BEGINS])
    assert left is not None and left.whole == 45.0
    assert time_left("demo", [DONE]) is None
    writes = StageState("select", RUNNING, done=9, total=9, elapsed=90.0)
    left = time_left("demo", [writes])
    assert left is not None and left.whole == 0.0


@pytest.mark.usefixtures("shipped")
def test_what_was_measured_elsewhere_is_scaled_by_the_pace_here() -> None:
    """20 s for `mine`'s 10, 30 + 60 for `select`'s 45: 110 for 55, so twice as long; `eval`'s 40 are 80."""
    mined = replace(DONE, seconds=20.0)
    left = time_left("demo", [mined, AT_WORK, WAITS])
    assert left is not None and (left.whole, left.shipped) == (140.0, ("eval",))
    assert (
        time_left_sentence(left)
        == "about 2:20 left (eval by another machine's times, at the pace of this one)"
    )
    before = time_left("demo", [replace(BEGINS, name="mine"), WAITS])
    assert before is not None and before.whole == 50.0
    assert time_left_sentence(before) == "about 0:50 left (mine and eval by another machine's times)", (
        "no pace is known"
    )
    resumed = time_left("demo", [replace(AT_WORK, begun_at=1), WAITS])
    assert (
        resumed is not None and resumed.whole == 90.0 + 40.0
    )  # a part of a stage tells nothing of the whole


def test_the_demo_knows_its_times() -> None:
    def expected(name: str, stages: list[str]) -> tuple[str, ...]:
        left = time_left(name, map(StageState, stages))
        assert left is not None
        return left.shipped

    stages = load_config(DEMO_CONFIG).run.stages
    assert list(DEMO) == stages == list(expected("demo", stages))
    assert expected("demo", ["mine", "select"]) == ("mine", "select")
    assert expected("mine", stages) == () == expected("demo", [*stages, "another"])


def test_list_and_script_say_it(tmp_path: Path) -> None:
    """For a run whose worker works, and for no other."""
    stages = ["mine", "select"]
    run = create_run(tmp_path, "a", seed=0, stages=stages, config={}, config_text="", versions={})
    record = run.read()
    record.stages["mine"] = StageRecord(status="finished", seconds=10.0)
    record.status = "running"
    run.write(record)
    status = inspect(run.path)
    works = RunRow(replace(status, state="running"), AT_WORK)
    assert run_form(works)["eta"] == 60.0 == run_form(works)["eta_all"]
    assert "about 1:00 left" in about_run(works).plain
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


def test_the_whole_demo_takes_two_minutes_by_its_shipped_times() -> None:
    """131.5 s, as it was measured; a stage that is half done counts with its other half."""
    waits = [StageState(name) for name in DEMO]
    left = time_left("demo", waits)
    assert left is not None and left.whole == 131.5 and left.shipped == tuple(DEMO)
    assert time_left_sentence(left) == "about 2:12 left (14 stages by another machine's times)"
    half = time_left("demo", [StageState("mine", RUNNING, done=1, total=2, begun_at=1)])
    assert half is not None and half.whole == 7.5, "without a pace of its own: half of 15 s"
    states = [StageState("mine", SKIPPED), StageState("select"), StageState("serve", RUNNING)]
    served = time_left("demo", states)
    assert served is not None and served.unknown == ("select",), "what also serves is not the demo"


@pytest.mark.usefixtures("shipped")
def test_the_pace_here_is_that_of_all_stages_that_began() -> None:
    """A finished one took 20 s for 10; a resumed one tells nothing; of an unknown one nothing is scaled."""
    mined = replace(DONE, seconds=20.0)
    alone = time_left("demo", [mined, StageState("select"), WAITS])
    assert alone is not None and alone.whole == 2 * (45.0 + 40.0)
    resumed = time_left("demo", [mined, replace(AT_WORK, begun_at=1), WAITS])
    assert resumed is not None and resumed.whole == 90.0 + 80.0
    other = time_left("mine", [mined, StageState("eval")])
    assert other is not None and other.unknown == ("eval",) and other.seconds == 0.0
