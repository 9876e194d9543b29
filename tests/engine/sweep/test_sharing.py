"""A stage is taken over from another run exactly if it would have done the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from app.runs.client import prepare_run
from app.state.run import RunState
from engine.config.stages import STAGES
from engine.errors import RunError
from engine.events import Header, Notice, StageFinished
from engine.run.directory import RunDirectory, RunStatus
from engine.run.event_log import LogReader
from engine.run.stage_files import read_stage_files
from engine.run.worker import run_worker
from engine.sweep import runs as sweep_runs
from engine.sweep import sharing
from engine.sweep.prepare import point_changes
from engine.sweep.results import stage_counts
from engine.sweep.runs import RunMaker
from engine.sweep.sharing import Donor, best_donor, common_stages, take_over
from engine.sweep.sweep import SweepFolder
from tests.engine.sweep.conftest import made, results, work_on
from tests.exactly import exactly

Sweep = Callable[..., SweepFolder]
GATHER, WEIGH = "tests.stages.sweep_stages:Gather", "tests.stages.sweep_stages:Weigh"


class Killed(BaseException):
    """What no `except Exception` sees."""


def counts(maker: RunMaker) -> dict[str, tuple[int, int]]:
    return stage_counts(run.read() for run in maker.made(maker.record.all_points))


def test_shared_results_are_those_of_separate_runs(sweep: Sweep, config: Path) -> None:
    folder = sweep("online.L=3,5", "online.k_scale=0.5..2:3", "run.seed=0,1")
    maker = work_on(folder)
    assert counts(maker) == {GATHER: (4, 8), WEIGH: (12, 0)}  # once for each L and seed
    for point in maker.record.all_points:
        alone = prepare_run(config, point_changes(folder.read(), point))
        assert run_worker(alone.path) == 0
        assert results(folder.run(point)) == results(alone)
        assert folder.run(point).config.read_text() == alone.config.read_text()


@pytest.mark.parametrize(("reads_it", "done"), [("true", (2, 0)), ("false", (1, 1))])
def test_a_field_counts_only_where_it_is_read(sweep: Sweep, reads_it: str, done: tuple[int, int]) -> None:
    maker = work_on(sweep("online.beta=0.25,0.75", overrides=(f"online.record_null={reads_it}",)))
    assert counts(maker)[GATHER] == done


def test_nothing_is_shared_behind_a_stage_that_is_not(sweep: Sweep) -> None:
    # The stage that weighs reads no field that differs; but what it reads of the stage before is other.
    assert counts(work_on(sweep("online.L=3,5")))[WEIGH] == (2, 0)


def test_a_stage_that_does_not_declare_what_it_reads_is_done_in_every_run(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(STAGES, GATHER)
    assert counts(work_on(sweep("online.k_scale=0.5,2"))) == {GATHER: (2, 0), WEIGH: (2, 0)}


@pytest.mark.parametrize(
    ("setting", "second", "waits"),
    [
        ("online.k_scale=0.5,2", "running", True),  # it gathers what the second one needs
        ("online.k_scale=0.5,2", "finished", False),
        ("online.L=3,5", "running", False),
    ],
)
def test_a_run_waits_for_another_that_does_its_next_stage(
    sweep: Sweep, setting: str, second: str, waits: bool
) -> None:
    folder = sweep(setting)
    maker = RunMaker(folder, folder.read())
    first, later = maker.record.all_points
    run = made(maker, first)
    record = run.read()
    record.stages[GATHER].status = second
    assert maker.must_wait(later, None, [RunStatus(run, record, "running")]) is waits


def test_a_run_does_not_wait_for_what_it_can_take_over_elsewhere(sweep: Sweep) -> None:
    """Two runs gathered side by side: one is through with it, and the other is not."""
    folder = sweep("online.k_scale=0.5,1,2")
    maker = RunMaker(folder, folder.read())
    first, second, third = maker.record.all_points
    run, other = made(maker, first), made(maker, second)
    assert run_worker(run.path) == 0
    record = other.read()
    record.stages[GATHER].status = "running"
    donor = maker.donor(third, [run, other])
    assert donor is not None and donor.run.path == run.path
    assert not maker.must_wait(third, donor, [RunStatus(other, record, "running")])


def test_all_stages_are_taken_over_with_their_files(sweep: Sweep) -> None:
    """A field that no stage reads. Which stages its user leaves out is chosen for the other run alone."""
    folder = sweep("online.beta=0.25,0.75", overrides=("online.record_null=false",))
    maker = RunMaker(folder, folder.read())
    first, second = (folder.run(point) for point in maker.record.all_points)
    assert run_worker(made(maker, maker.record.all_points[0]).path) == 0
    record = first.read()
    record.stages[WEIGH].skipped = False
    first.write(record)
    assert run_worker(made(maker, maker.record.all_points[1]).path) == 0
    assert counts(maker) == {GATHER: (1, 1), WEIGH: (1, 1)}
    assert results(second) == results(first) and second.read().stages[WEIGH].skipped is None
    for name in (GATHER, WEIGH):  # also of what another run may take over alone
        left = read_stage_files(first.path, name)
        assert left is not None and read_stage_files(second.path, name) == left


@pytest.mark.parametrize("change", ["content", "gone", "versions", "unfinished", "begun again", "damaged"])
def test_a_run_that_was_changed_gives_nothing(sweep: Sweep, change: str) -> None:
    folder = sweep("online.k_scale=0.5,2")
    maker = RunMaker(folder, folder.read())
    first, second = maker.record.all_points
    run = made(maker, first)
    assert run_worker(run.path) == 0
    assert maker.donor(second, [run]) is not None
    items = run.path / "gather/items.jsonl"
    if change == "content":
        items.write_text(items.read_text() + "\n")
    elif change == "gone":
        items.unlink()
    elif change == "damaged":
        run.record.write_text("{")
    else:
        record = run.read()
        if change == "versions":
            record.versions["python"] = "2.7"
        elif change == "begun again":  # its log tells of earlier attempts, too
            record.begun_again = 1
        else:
            record.stages[GATHER].status = "running"
        run.write(record)
    assert maker.donor(second, [run]) is None


def test_a_run_gives_the_stages_that_it_has_finished(sweep: Sweep) -> None:
    folder = sweep("online.beta=0.25,0.75", overrides=("online.record_null=false",))
    maker = RunMaker(folder, folder.read())
    first, second = maker.record.all_points
    run = made(maker, first)
    assert run_worker(run.path) == 0
    donor = maker.donor(second, [run])
    assert donor is not None and donor.stages == [GATHER, WEIGH]
    record = run.read()
    record.stages[WEIGH].status = "running"
    run.write(record)
    donor = maker.donor(second, [run])
    assert donor is not None and donor.stages == [GATHER]


@pytest.mark.parametrize(
    ("other", "same"),
    [("abc", "abc"), ("acb", "a"), ("bac", ""), ("a", "a"), ("abcd", "abc"), ("xbc", ""), ("", "")],
)
def test_the_first_stages_of_both_are_the_common_ones_in_their_order(
    other: str, same: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "_same_inputs", lambda name, one, two: name != "x")
    ours, theirs = (SimpleNamespace(run=SimpleNamespace(stages=list(stages))) for stages in ("abc", other))
    configs: Any = (ours, theirs)
    assert common_stages(*configs) == list(same)


def test_a_run_that_took_stages_over_is_like_any_other(sweep: Sweep) -> None:
    folder = sweep("online.k_scale=0.5,2")
    maker = work_on(folder)
    first, second = (folder.run(point) for point in maker.record.all_points)
    entries = [entry for entries in iter(LogReader(second.events).poll, []) for entry in entries]
    events = [entry.event for entry in entries]
    assert [event.seq for event in events] == list(range(len(events)))
    assert isinstance(events[0], Header) and events[0].run_id == second.path.name
    (notice,) = (event.text for event in events if isinstance(event, Notice))
    assert notice == f"{GATHER}: taken over from run {first.path.name}, whose inputs are the same"
    gathered = first.read().stages[GATHER]
    assert gathered.seconds > 0 and second.read().stages[GATHER] == replace(
        gathered, seconds=0.0, shared_from=first.path.name
    )
    assert [e.stage for e in events if isinstance(e, StageFinished)] == [GATHER, WEIGH]
    state = RunState()
    for entry in entries:
        state.apply(*entry)
    assert {name: stage.status for name, stage in state.stages.items()} == {
        GATHER: "finished",
        WEIGH: "finished",
    }
    assert second.read().stages[GATHER].shared_from == first.path.name
    # It can itself be taken over from, with the first one gone.
    third = maker.record.all_points[0]
    donor = maker.donor(third, [second])
    assert donor is not None and donor.stages == [GATHER]
    RunDirectory(first.path).path.rename(first.path.with_name("away"))
    run = maker.make(third, donor)
    assert run.read().stages[GATHER].shared_from == first.path.name, "who did it, not who took it over"
    assert run_worker(run.path) == 0
    assert results(first) == results(RunDirectory(first.path.with_name("away")))


def test_a_file_that_changes_while_it_is_taken_over_is_told(sweep: Sweep) -> None:
    """The run is then made without a donor."""
    folder = sweep("online.k_scale=0.5,2")
    maker = RunMaker(folder, folder.read())
    first, second = maker.record.all_points
    run = made(maker, first)
    assert run_worker(run.path) == 0
    donor = maker.donor(second, [run])
    assert donor is not None
    for change in (lambda path: path.write_text("other\n"), Path.unlink):
        change(run.path / "gather/items.jsonl")
        with pytest.raises(
            RunError,
            match=exactly(
                f"a file of a finished stage changed while it was copied ({run.path}): resume the sweep: the stage is "
                "then done again"
            ),
        ):
            take_over(donor, folder.path / "taken", run.read())
    alone = maker.make(second, donor).read()
    assert not (folder.run(second).path / "gather").exists(), "nothing of what was copied is left"
    assert [stage.status for stage in alone.stages.values()] == ["pending", "pending"]


@pytest.mark.parametrize(
    ("changed", "best"), [("", "three"), ("three", "two"), ("three two", "too"), ("three two too one", None)]
)
def test_the_donor_is_the_run_with_the_most_stages_that_nobody_changed(
    monkeypatch: pytest.MonkeyPatch, changed: str, best: str | None
) -> None:
    """Of equals the first; one that has nothing to give is none."""
    stages = {"none": 0, "one": 1, "two": 2, "three": 3, "too": 2}

    def donor(run: RunDirectory, same: Sequence[str], versions: dict[str, str]) -> Donor | None:
        nobody: Any = None
        assert versions == {"python": "3"}
        return Donor(run, nobody, same, nobody) if same else None

    monkeypatch.setattr(sharing, "_donor", donor)
    monkeypatch.setattr(sharing, "_unchanged", lambda path, left: path.name not in changed.split())
    runs = [(RunDirectory(Path(name)), GATHER[:count]) for name, count in stages.items()]
    found = best_donor(runs, {"python": "3"})
    assert (found and found.run.path.name) == best


def test_a_run_is_made_whole_or_not_at_all(sweep: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = sweep("online.k_scale=0.5,2")
    maker = RunMaker(folder, folder.read())
    first, second = maker.record.all_points
    assert run_worker(made(maker, first).path) == 0

    def kill(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(sweep_runs, "take_over", kill)
        patch.setattr("shutil.rmtree", lambda *_, **__: None)  # killed: nothing is tidied up
        made(maker, second)
    assert not folder.run(second).path.exists() and list(folder.path.glob("unfinished-*"))
    maker = RunMaker(folder, folder.read())
    assert not list(folder.path.glob("unfinished-*"))
    assert run_worker(made(maker, second).path) == 0
