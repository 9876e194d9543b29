"""The headings in the list of runs: which result is the best, and of what."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from app.runs.run_list import RunList, RunRow
from engine.events.verdict import Verdict
from engine.run.directory import RunDirectory, SweepPoint
from screens.runs.about import about_group
from screens.runs.columns import COLUMNS
from screens.runs.commands import RunCommands
from screens.runs.fields import VALUES
from screens.runs.groups import Group, best_of
from screens.runs.source import RunSource, _sweep_name, sweep_of
from tests.runs_app import RunsApp, esm_verdict

Make = Callable[..., RunDirectory]


def reached(run: RunDirectory, verdict: Verdict | None, split: str = "test", **fields: Any) -> RunRow:
    """A run with this verdict, evaluated on this split."""
    record = run.read()
    record.stages["eval"].verdict = verdict
    record.config = {"task": {"dataset": "generated", "eval_split": split}}
    for name, value in fields.items():
        setattr(record, name, value)
    run.write(record)
    [row] = [row for row in RunList(run.path.parent.parent).read() if row.path == run.path]
    return row


def heading(*rows: RunRow) -> Group:
    """Over the runs of a sweep that are not listed."""
    return Group("sweep", rows, Path("/sweep-1"), folded=True)


def shorter(value: float, baseline: float = 60.0, tokens: float = 0.0) -> Verdict:
    """Tokens of an answer, of which fewer are better."""
    return Verdict(
        method="best", baseline="no_processor", metric="mean_tokens", unit="tokens", n=50, value=value, low=-9, high=-1,
        baseline_value=baseline, difference=value - baseline, lower_is_better=True, items="questions", tokens=tokens,
    )  # fmt: skip


def test_the_best_is_the_best_value_and_not_the_largest_change(make: Make) -> None:
    rows = [
        reached(make("a", "finished"), esm_verdict(0.9, baseline=0.5)),
        reached(make("b", "finished"), esm_verdict(0.95, baseline=0.8)),
    ]
    best = best_of(rows)
    assert best is not None and best.run is rows[1] and best.count == 2
    cells = {name: heading(*rows).cell(name).text for name in ("result", "difference", "id")}
    assert cells == {"result": "★ 0.950", "difference": "▲ +0.150", "id": "best of 2 test runs"}


def test_lower_is_better_where_it_is(make: Make) -> None:
    rows = [
        reached(make(name, "finished"), shorter(value))
        for name, value in (("a", 40.0), ("b", 30.0), ("c", 50.0))
    ]
    best = best_of(rows)
    assert best is not None and best.run is rows[1]
    group = heading(*rows)
    assert [group.cell(name).text for name in ("result", "id")] == ["★ 30.0", "lowest of 3 runs"]
    about = about_group(group).plain
    words = "no processor 60.0 → 30.0 tok  ▲ −30 [−9, −1]  −50% tok  answer length over 50 questions"
    assert about == f"lowest     of 3 runs: b  {words}"


def test_equal_values_are_ordered_by_tokens(make: Make) -> None:
    rows = [
        reached(make(name, "finished"), shorter(30.0, tokens=t)) for name, t in (("a", 9), ("b", 5), ("c", 7))
    ]
    best = best_of(rows)
    assert best is not None and best.run is rows[1]


def test_dev_and_test_are_not_mixed(make: Make) -> None:
    """The best of the split that more runs have; a better one on the other is no better."""
    rows = [
        reached(make("a", "finished"), esm_verdict(0.7), "dev"),
        reached(make("b", "finished"), esm_verdict(0.8), "dev"),
        reached(make("c", "finished"), esm_verdict(0.99), "test"),
    ]
    best = best_of(rows)
    assert best is not None and (best.run, best.count, best.split) == (rows[1], 2, "dev")
    assert best == best_of(rows[::-1]), "whichever comes first"
    assert best.among == "2 dev runs" and best.word == "best"


def test_other_methods_and_stale_results_are_not_compared(make: Make) -> None:
    stale = make("a", "finished")
    record = stale.read()
    record.stages["eval"].status = "stale"
    stale.write(record)
    rows = [reached(stale, esm_verdict(0.99)), reached(make("b", "finished"), esm_verdict(0.5))]
    best = best_of(rows)
    assert best is not None and best.run is rows[1] and best.among == "1 test run"
    other = msgspec.structs.replace(esm_verdict(0.9), method="majority_vote")
    rows += [reached(make("c", "finished"), other), reached(make("d", "finished"), esm_verdict(0.4))]
    best = best_of(rows)
    assert best is not None and best.run is rows[1] and best.count == 2
    assert best_of([]) is None and best_of([reached(make("e", "stopped"), None)]) is None
    assert heading(rows[0]).cell("result").text == "" and about_group(heading()).plain == ""


def test_a_sweeps_runs_are_counted_by_what_they_are(make: Make, tmp_path: Path) -> None:
    """Two settings with two seeds each, and the chosen one's run on the test split."""
    points = [(1, 0, False), (1, 1, False), (2, 0, False), (2, 1, False), (2, 0, True)]
    rows = [
        reached(
            make("a", "finished"), esm_verdict(0.6 if report else 0.7), "test" if report else "dev",
            sweep=SweepPoint(folder="sweep-1", number=at, setting={"online.L": L, "run.seed": seed}, report=report),
        )
        for at, (L, seed, report) in enumerate(points)
    ]  # fmt: skip
    group = Group("sweep online.L", tuple(rows), tmp_path / "sweep-1", folded=True)
    assert group.composition == "2 settings × 2 seeds + 1 test run"
    assert about_group(group).plain.splitlines()[0] == "runs       2 settings × 2 seeds + 1 test run"
    assert [group.cell(name).text for name in ("name", "state", "changes", "id")] == [
        "▸ sweep online.L", "— 5 runs", "enter shows it", "of the test run",
    ]  # fmt: skip
    assert heading(*rows[:4]).cell("id").text == "best of 4 dev runs", "none is reported yet"
    two = heading(rows[0], rows[4])
    cells = ("state", "result", "difference")
    assert [group.cell(name).text for name in cells] == ["— 5 runs", "0.600", "≈ −0.035"], (
        "of the run to report"
    )
    before = heading(*rows[:4])
    assert [before.cell(name).text for name in cells] == ["— 4 dev runs", "★ 0.700", "▲ +0.065"]
    assert [line.split()[0] for line in about_group(group).plain.splitlines()] == ["runs", "reported", "best"]
    assert "greedy 63.5% → 60.0%" in about_group(group).plain.splitlines()[1]
    assert two.composition == "1 setting + 1 test run", "a reported setting is no further one"
    begun = reached(make("a", "running"), None, sweep=rows[4].record.sweep)
    five = heading(*rows[:4], begun)
    assert [five.cell(name).text for name in cells] == ["— 4 dev runs", "★ 0.700", "▲ +0.065"], (
        "what is to be reported has just begun"
    )


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 60)])
async def test_runs_of_a_sweep_are_told_apart_at_every_width(
    make: Make, tmp_path: Path, size: tuple[int, int]
) -> None:
    """Their names are whole, also where the id has no room."""
    for number, (length, scale) in enumerate(((1, 0.5), (1, 1.0), (3, 0.5))):
        run = make("demo", "finished", age=number)
        record = run.read()
        record.config = {"online": {"L": length, "k_scale": scale}, "run": {"stages": ["mine", "eval"]}}
        record.changes = {"run.stages": ["mine", "eval"], "online.L": length, "online.k_scale": scale}
        run.write(record)
    app = RunsApp(tmp_path / "outputs")
    async with app.run_test(size=size) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        drawn = [app.runs.table.render_line(y).text for y in range(1, 4)]
        names = ("L=1 online.k_scale=0.5", "L=1 online.k_scale=1", "L=3 online.k_scale=0.5")
        for line, words in zip(drawn, names, strict=True):
            assert f"online.{words} " in line and "demo" not in line
        assert ("20" in drawn[0].split()[-1]) == (size[0] > 80), "the id stands last where there is room"
        about = str(app.runs.about.content)
        assert 'changed    online.L=1 online.k_scale=0.5 run.stages=["mine", "eval"]' in about
        assert all("online.L=" in row.split("  ", 2)[2] for row in app.rows()), (
            "changed fields begin with what differs"
        )


async def test_the_heading_under_the_cursor_says_the_best(make: Make, tmp_path: Path) -> None:
    for age, number, verdict in (
        (0, 1, esm_verdict(0.9, baseline=0.6)),
        (60, 0, esm_verdict(0.8, baseline=0.3)),
    ):
        point = SweepPoint(folder="sweep-1", number=number, setting={"online.L": number})
        reached(make("demo", "finished", age=age), verdict, sweep=point)
    app = RunsApp(tmp_path / "outputs")
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert app.runs.selected is None, "a heading is no run"
        await pilot.press("delete", "m")
        assert app.asked == [] and app.runs.source.marked == []
        assert "best       of 2 test runs: demo" in str(app.runs.about.content)
        assert "greedy 60.0% → 90.0%  ▲ +30.0 [24, 36]  accuracy over 200 examples" in str(
            app.runs.about.content
        )
        assert "★ 0.900" in app.rows()[0]
        await pilot.press("slash", *"gain>0", "enter")
        await pilot.pause()
        title = app.runs.title_line.render_line(0).text
        assert "2 runs   filter gain>0: 2   in /" in title


def test_fields_of_the_filter(make: Make) -> None:
    """The result is the method's figure, not its baseline's; the gain is their difference."""
    row = reached(make("demo", "finished"), esm_verdict(0.75, baseline=0.5))
    assert (VALUES["result"](row), VALUES["gain"](row), VALUES["cost"](row)) == (0.75, 0.25, 0.25)
    fewer = reached(make("short", "finished"), shorter(40.0))
    assert VALUES["gain"](fewer) == 20.0, "of 60 tokens: fewer are better"
    row.record.config = {"online": {"L": 3, "on": True}, "run": {"name": "demo"}, "nothing": {}}
    assert VALUES["config"](row) == "online.L=3 online.on=true run.name=demo"


def test_a_sweeps_runs_are_listed_in_their_order(make: Make) -> None:
    """However the list had them; nothing of it is listed while it is folded."""
    rows = [
        reached(make("a", "finished"), None, sweep=SweepPoint(folder="sweep-1", number=at, setting={"online.L": at}))
        for at in range(3)
    ]  # fmt: skip
    ids = sorted(row.record.run_id for row in rows)
    for order in (rows, rows[::-1]):
        source = RunSource()
        source.show_runs(list(order))
        assert [source.run(at) for at in range(len(source))] == [None]
        folder = sweep_of(rows[0])
        assert folder is not None
        source.toggle_fold(folder)
        assert [run.record.run_id for run in source.runs] == ids and source.run(0) is None


def test_a_mark_has_one_letter_however_many_there_are() -> None:
    """1 to 9 in the order of marking; from the tenth on there is room for a sign alone."""
    source = RunSource()
    rows: list[Any] = [SimpleNamespace(path=Path(f"/{number}")) for number in range(12)]
    source.marked = [row.path for row in rows[:11]]
    assert [source._mark(row).text for row in rows] == [*"123456789", "+", "+", ""]
    source.toggle_mark(rows[0].path)
    assert [source._mark(row).text for row in rows[:3]] == ["", "1", "2"]


def test_runs_are_ordered_by_how_much_they_want_to_be_seen() -> None:
    """Those at work first, what has not begun last; a state that this version does not know comes behind all."""
    states = [
        "running",
        "paused",
        "hung",
        "interrupted",
        "stopped",
        "failed",
        "finished",
        "prepared",
        "a state of its own",
    ]
    order = next(column.order for column in COLUMNS if column.key == "state")
    assert order is not None
    rows: list[Any] = [SimpleNamespace(state=state) for state in states]
    shuffled = rows[::-1]
    shuffled.sort(key=lambda row: order(row) or 0)
    assert shuffled == rows
    assert len({order(row) for row in rows}) == len(rows)


@pytest.mark.parametrize(("runs", "offered"), [(0, False), (1, False), (2, True), (3, True)])
def test_two_runs_can_be_compared(runs: int, offered: bool) -> None:
    screen: Any = SimpleNamespace(source=SimpleNamespace(rows=[object()] * runs), selected=None)
    assert RunCommands.check_action(screen, "compare", ()) == offered


@pytest.mark.parametrize(
    ("point", "words"),
    [
        (SweepPoint(folder="s", number=0, setting={"online.L": 1, "run.seed": 0}), "sweep online.L seed"),
        (SweepPoint(folder="s", number=0, setting={"run.seed": 0}), "sweep seed"),
        (None, "sweep"),
    ],
)
def test_a_sweeps_heading_has_its_fields_as_the_list_calls_them(point: SweepPoint | None, words: str) -> None:
    """Its seed is `seed`, as in the name and the changed fields of its runs."""
    row: Any = SimpleNamespace(record=SimpleNamespace(sweep=point))
    assert _sweep_name(row) == words
