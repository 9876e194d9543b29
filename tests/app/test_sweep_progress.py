"""How far a sweep at work is: share, time left, which run is at work, and the results so far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.blocks.block import Bullets, Table, plain
from app.sweep.summary import summary
from app.swept.columns import COLUMNS, setting_rows
from app.swept.progress import progress_of
from app.swept.words import (
    _resolved,
    counts_words,
    figure_words,
    gain_words,
    interval_words,
    left_words,
    progress_words,
    remarks,
    state_words,
    sweep_resume_command,
    work_words,
)
from app.table.column import cell_of
from engine.events import Header, StageProgress, StageStarted, Verdict, encode
from engine.run.lock import RunLock
from engine.statistics import Interval
from engine.sweep.resolution import Resolution
from engine.sweep.results import SettingResult, SweepReader
from engine.sweep.sweep import Point, SweepFolder
from screens.widgets.tables.column_layout import place
from tests.engine.sweep.test_results import make_sweep

HALF = 2


@pytest.fixture
def at_work(tmp_path: Path) -> Iterator[SweepFolder]:
    """Two settings with two seeds: both runs of the first are finished, in 60 s and 100 s; the first run of the second
    is at 50 of 200 problems, and the other has not begun."""
    folder = make_sweep(tmp_path, [20, 38], done=3)
    for number, seconds in ((0, 60.0), (1, 100.0)):
        _change(folder, number, "finished", seconds)
    _change(folder, 2, "running", 0.0)
    run = folder.run(folder.read().points[2])
    run.events.write_bytes(
        encode(Header(schema_version=1, name="name", run_id="1-1-0", seed=0, stages=["eval"]))
        + encode(StageStarted(stage="eval", total=200, done=0, unit="problems"))
        + encode(StageProgress(stage="eval", done=50, total=200, elapsed=30.0))
    )
    lock = RunLock(run.lock)
    yield folder
    lock.release()


def _change(folder: SweepFolder, number: int, status: str, seconds: float) -> None:
    run = folder.run(folder.read().points[number])
    record = run.read()
    record.status, record.stages["eval"].status, record.stages["eval"].seconds = status, status, seconds
    if status != "finished":
        record.stages["eval"].verdict = None
    run.write(record)


def test_share_and_time_left(at_work: SweepFolder) -> None:
    """2.25 of 4 runs are done; 1.75 are left, of 80 s each: the median of those that are finished."""
    results = SweepReader(at_work).read()
    progress = progress_of(results)
    assert progress.share == 2.25 / 4 and progress.seconds_left == pytest.approx(1.75 * 80)
    assert left_words(progress) == "56%, about 2:20 left"
    assert work_words(results, progress) == ["At work: online.L=2 seed=0, eval 50 of 200 problems"]
    assert progress_words(results) == "2 of 4 runs finished (2 settings × 2 seeds)"


def test_two_runs_at_a_time_take_half_as_long(at_work: SweepFolder) -> None:
    record = at_work.read()
    record.jobs = 2
    at_work.write(record)
    assert progress_of(SweepReader(at_work).read()).seconds_left == pytest.approx(1.75 * 80 / 2)
    record.jobs = 9  # two runs are left: no more can be at work
    at_work.write(record)
    assert progress_of(SweepReader(at_work).read()).seconds_left == pytest.approx(1.75 * 80 / 2)


def test_before_a_run_is_finished_its_pace_tells(at_work: SweepFolder) -> None:
    """30 s for a quarter: a run takes 120 s; a failed one takes none."""
    for number in (0, 1):
        _change(at_work, number, "failed", 60.0)
    results = SweepReader(at_work).read()
    assert progress_of(results).seconds_left == pytest.approx((2 - 0.25) * 120)
    at_work.run(at_work.read().points[2]).events.write_bytes(b"")
    progress = progress_of(SweepReader(at_work).read())
    assert progress.seconds_left is None and left_words(progress) == "0%, time left not known yet"
    assert work_words(results, progress) == ["At work: online.L=2 seed=0, which begins"]


def test_a_run_that_has_taken_no_time_yet_tells_no_pace(at_work: SweepFolder) -> None:
    """Its first report came at once."""
    for number in (0, 1):
        _change(at_work, number, "failed", 60.0)
    run = at_work.run(at_work.read().points[2])
    run.events.write_bytes(
        encode(StageStarted(stage="eval", total=200, done=0, unit="problems"))
        + encode(StageProgress(stage="eval", done=50, total=200, elapsed=0.0))
    )
    progress = progress_of(SweepReader(at_work).read())
    assert progress.seconds_left is None and left_words(progress).endswith("time left not known yet")


def test_a_stopped_run_is_not_at_its_end(at_work: SweepFolder) -> None:
    """It goes on with the sweep: three quarters of it count, a quarter is left. One of four is finished, in 60 s."""
    _change(at_work, 1, "stopped", 0.0)
    at_work.run(at_work.read().points[1]).events.write_bytes(
        encode(StageStarted(stage="eval", total=200, done=0, unit="problems"))
        + encode(StageProgress(stage="eval", done=150, total=200, elapsed=45.0))
    )
    progress = progress_of(SweepReader(at_work).read())
    assert progress.share == (1 + 0.75 + 0.25) / 4
    assert progress.seconds_left == pytest.approx((0.25 + 0.75 + 1) * 60)


def test_the_test_run_is_counted_and_named(at_work: SweepFolder) -> None:
    record = at_work.read()
    record.choose_on, record.report = "dev", record.points[2]
    at_work.write(record)
    results = SweepReader(at_work).read()
    assert results.total == 5 and progress_of(results).share == 2.25 / 5
    assert progress_words(results) == "2 of 5 runs finished (2 settings × 2 seeds + 1 test run)"
    words = work_words(results, progress_of(results))[-1]
    assert words == "At work: the test run of online.L=2 seed=0, eval 50 of 200 problems"
    at_work.run(record.points[2]).events.write_bytes(b"")
    words = work_words(results, progress_of(SweepReader(at_work).read()))[-1]
    assert words == "At work: the test run of online.L=2 seed=0, which begins"


def test_a_finished_sweep_has_nothing_left(tmp_path: Path) -> None:
    progress = progress_of(SweepReader(make_sweep(tmp_path, [20, 38])).read())
    assert (progress.share, progress.seconds_left, list(progress.at_work)) == (1.0, None, [])


def test_a_setting_shows_what_its_finished_runs_reached(tmp_path: Path) -> None:
    """A figure over one of two seeds is shown, but neither chosen nor compared."""
    results = SweepReader(make_sweep(tmp_path, [20, 38], done=3)).read()
    half = results.settings[1]
    assert half.value == 0.95 and half.n == 40 and not half.whole
    assert results.best is results.settings[0] and results.compared == [0]


@pytest.mark.parametrize(
    ("states", "share", "words"),
    [
        (("finished", "running"), 0.625, "▶ 1 of 2 62%"),
        (("running",), 0.63, "▶ 63%"),
        (("running", ""), 0.0, "▶ 0%"),
        (("finished", "running"), None, "▶ 1 of 2"),
        (("running", ""), None, "▶ 0 of 2"),
        (("finished", ""), 0.5, "1 of 2"),
        (("", ""), 0.0, "waits"),
        (("finished", "failed"), 0.5, "failed"),
        (("finished",), 1.0, "✓ no figure"),
    ],
)
def test_what_a_setting_is_at(states: Sequence[str], share: float | None, words: str) -> None:
    points = tuple(Point(number, str(number), {}) for number in range(len(states)))
    assert state_words(SettingResult({}, points, tuple(states)), share) == words


def test_rows_and_columns(at_work: SweepFolder) -> None:
    results = SweepReader(at_work).read()
    rows = setting_rows(results, progress_of(results).shares)
    assert [(row.name, row.sign, row.share) for row in rows] == [
        ("online.L=1", "★", 1.0),
        ("online.L=2", "", 0.125),
    ]
    shown = {c.key: c.show(c.value(rows[1])) for c in COLUMNS}
    assert getattr(shown["state"], "text", "") == "▶ 12%" and getattr(shown["state"], "tone", "") == "accent"


@pytest.mark.parametrize(
    ("tied", "smallest", "optimism", "said"),
    [
        ((), 0.05, 0.0, ["The best setting is better than each of the 2 others (95%, all pairs at once)."]),
        ((1,), 0.05, 0.0, [
            "200 problems are too few to tell the best setting from 1 of the 2 others: to show, two settings have "
            "to be about 0.050 apart (95%, all pairs of settings at once)."]),
        ((1, 2), 0.05, 0.0125, [
            "200 problems are too few to tell the best setting from any of the 2 others: to show, two settings have "
            "to be about 0.050 apart (95%, all pairs of settings at once).",
            "It was picked from 3 by this very figure, which is therefore about 0.013 too good."]),
        ((1, 2), None, 0.0, ["All 3 settings answer these 200 problems the same: nothing tells them apart."]),
    ],
)  # fmt: skip
def test_what_so_many_items_can_tell_apart(
    tied: tuple[int, ...], smallest: float | None, optimism: float, said: list[str]
) -> None:
    """Of three settings two are others; the best was picked from all three."""
    best = SimpleNamespace(verdict=SimpleNamespace(items="problems", unit="share"))
    results: Any = SimpleNamespace(
        compared=[0, 1, 2], best=best, resolution=Resolution(200, 0, tied, smallest, optimism)
    )
    assert _resolved(results) == said
    results.compared = [0]
    assert _resolved(results) == [], "nothing is compared"


@pytest.mark.parametrize(
    ("tied", "said"),
    [((), "is better than the other (95%, "), ((1,), "to tell the best setting from the other: to show, ")],
)
def test_of_two_settings_there_is_one_other(tied: tuple[int, ...], said: str) -> None:
    best = SimpleNamespace(verdict=SimpleNamespace(items="problems", unit="share"))
    results: Any = SimpleNamespace(compared=[0, 1], best=best, resolution=Resolution(200, 0, tied, 0.05, 0.0))
    [words] = _resolved(results)
    assert said in words


VERDICT = Verdict(
    method="evolution", baseline="unchanged", metric="mean_tokens", unit="tokens", lower_is_better=True, n=150,
    value=42.0, baseline_value=85.0, difference=-43.0, low=-50.0, high=-36.0, items="test questions",
)  # fmt: skip
POINTS = (Point(0, "one", {}), Point(1, "two", {}))


def setting(value: float | None, number: int, *states: str, **more: Any) -> SettingResult:
    gain = None if value is None else Interval(value - 85.0, value - 92.0, value - 78.0)
    return SettingResult(
        {"online.L": number, "online.k": 1, "run.seed": 0}, POINTS, states, verdict=VERDICT, n=1234, value=value,
        baseline_value=85.0, gain=gain, **more,
    )  # fmt: skip


def swept(*settings: SettingResult, report: SettingResult | None = None, choose_on: str = "") -> Any:
    return SimpleNamespace(
        settings=settings, best=settings[0], fields=["online.L"], report=report, compared=[], resolution=None,
        record=SimpleNamespace(choose_on=choose_on),
    )  # fmt: skip


def test_what_a_sweep_of_lengths_found() -> None:
    """42 tokens in place of 85 are 43 fewer."""
    ended, waits = ("finished", "finished"), ("finished", "")
    best, other = setting(42.0, 3, *ended), setting(50.0, 5, *waits)
    said = (
        "Best setting: online.L=3, 42.0 on 1,234 test questions; the unchanged model 85.0, "
        "difference −43.0 [−50.0, −36.0]."
    )
    assert remarks(swept(best)) == [said]
    without = replace(best, gain=None)  # several seeds of a method without items
    assert remarks(swept(without)) == [said.partition(", difference")[0] + "."]
    same_items = (
        "Settings are compared on the same items that the result is reported on, so the best figure is too good: for "
        "ESM, name another split with --choose-on."
    )
    assert remarks(swept(best, other)) == [said + " Settings without a result yet: 1.", same_items]
    runs_later = "Settings are compared on split 'dev'; the chosen one then runs once on the configuration's own split."
    assert remarks(swept(best, choose_on="dev")) == [said, runs_later]
    assert remarks(swept(best, report=setting(44.0, 3, *waits), choose_on="dev")) == [said, runs_later]
    assert remarks(swept(best, report=setting(44.0, 3, *ended), choose_on="dev")) == [
        said,
        "Report: online.L=3 was chosen on split 'dev' and then run once on the configuration's own split: 44.0 on "
        "1,234 test questions, the unchanged model 85.0, difference −41.0 [−48.0, −34.0].",
    ]
    lacking = setting(None, 5, *ended)
    assert remarks(swept(best, lacking))[-1] == (
        "1 setting ended without a figure: the last stage has to compare a method with its baseline (ESM: stage eval "
        "with greedy and esm)."
    )


def test_the_cells_of_a_setting() -> None:
    """One is the best, of the others one cannot be told from it, and one has nothing yet; half of the first run of the
    second is done."""
    ended, waits = ("finished", "finished"), ("finished", "running")
    settings = [
        setting(42.0, 3, *ended, tokens=42.4), setting(50.0, 5, *waits, tokens=50.6),
        SettingResult({"online.L": 9}, POINTS, ("failed", "")), setting(None, 7, "", ""),
    ]  # fmt: skip
    results = swept(*settings)
    results.compared, results.resolution = [0, 1], Resolution(1234, 0, (1,), 0.1, 0.0)
    rows = setting_rows(results, {"one": 0.5})
    assert [row.share for row in rows] == [0.25] * 4
    cells = [[cell_of(column.show(column.value(row))) for column in COLUMNS] for row in rows]
    assert [[cell.text for cell in row] for row in cells] == [
        ["★", "online.L=3", "✓", "42.0", "85.0", "▲ −43.0", "[−50.0, −36.0]", "42", "1234"],
        ["☆", "online.L=5", "▶ 1 of 2 25%", "50.0", "85.0", "▲ −35.0", "[−42.0, −28.0]", "51", "1234"],
        ["", "online.L=9", "failed", "·", "·", "·", "·", "·", "·"],
        ["", "online.L=7", "waits", "·", "85.0", "·", "·", "·", "1234"],
    ]
    assert [[row[at].tone for at in (0, 2, 3, 5)] for row in cells] == [
        ["accent", "good", "strong", "good"], ["accent", "accent", "dim", "good"], ["accent", "warn", "dim", "dim"],
        ["accent", "dim", "dim", "dim"],
    ]  # fmt: skip


def test_whether_a_setting_is_better_is_told_by_its_own_interval() -> None:
    """84 tokens in place of 85: the interval of all seeds goes from −8 to 6, the first run's alone lies below 0."""
    [row] = setting_rows(swept(setting(84.0, 3, "finished", "finished")), {})
    [gain] = [column for column in COLUMNS if cell_of(column.show(column.value(row))).text.endswith("−1.0")]
    cell = cell_of(gain.show(gain.value(row)))
    assert (cell.text, cell.tone) == ("≈ −1.0", "dim")


def test_settings_are_tied_by_their_place_among_those_compared() -> None:
    """The first setting failed: the second of those compared is the third of all."""
    ended = ("finished", "finished")
    settings = [
        SettingResult({"online.L": 9}, POINTS, ("failed", "")), setting(42.0, 3, *ended), setting(43.0, 5, *ended),
    ]  # fmt: skip
    results = swept(*settings)
    results.best, results.compared, results.resolution = settings[1], [1, 2], Resolution(9, 0, (1,), 0.1, 0.0)
    assert [row.sign for row in setting_rows(results, {})] == ["", "★", "☆"]


def test_stages_of_a_sweep_are_counted() -> None:
    results: Any = SimpleNamespace(counts={"mine": (1, 3), "eval": (4, 0)})
    assert counts_words(results) == "Stages done: mine 1× (taken over 3×), eval 4×."
    results.counts = {}
    assert counts_words(results) == ""
    assert sweep_resume_command(Path("out/a b")) == "steer-tui sweep --resume 'out/a b'"


def test_figures_of_a_setting_have_the_digits_of_their_unit() -> None:
    tokens, nothing = setting(42.0, 3, "finished", "finished"), SettingResult({}, POINTS, ("", ""))
    assert (figure_words(tokens, 42.04), gain_words(tokens), interval_words(tokens)) == (
        "42.0", "−43.0", "[−50.0, −36.0]",
    )  # fmt: skip
    assert (figure_words(nothing, 0.12345), gain_words(nothing), interval_words(nothing)) == (
        "0.123",
        "·",
        "·",
    )
    assert figure_words(tokens, 42.04, is_difference=True) == "+42.0"
    assert gain_words(replace(tokens, gain=Interval(43.04, 36.0, 50.0))) == "+43.0"


def test_which_columns_of_a_sweep_there_is_room_for() -> None:
    [row] = setting_rows(swept(setting(42.0, 3, "finished", "finished", tokens=99.4)), {})
    assert [cell_of(column.show(column.value(row))).text for column in COLUMNS][-2:] == ["99", "1234"]

    def shown(width: int) -> str:
        return " ".join(f"{one.column.label}:{one.width}" for one in place(COLUMNS, width))

    assert shown(50) == ":1 setting:25 state:12 result:7"
    assert shown(78) == ":1 setting:24 state:12 result:7 difference:10 95% interval:17"
    assert shown(140) == (
        ":1 setting:64 state:12 result:7 baseline:8 difference:10 95% interval:17 tokens:6 n:5"
    )
    assert [column.key for column in COLUMNS if column.justify == "left"] == ["sign", "setting", "state"]
    assert {column.label: column.help for column in COLUMNS if column.help} == {
        "": "★ the best setting, ☆ cannot be told from it", "result": "mean over its items, and over its seeds",
        "baseline": "the same items without the method",
        "difference": "result − baseline: ▲ better than its baseline, ▼ worse, ≈ no difference shown",
        "95% interval": "of the difference, paired over the items; of several seeds, over each item's mean",
        "tokens": "of an answer, probes included",
    }  # fmt: skip


def test_what_is_printed_at_the_end_of_a_sweep(at_work: SweepFolder) -> None:
    """The table with its caption and no words on its columns, then a line for each thing that there is to say."""
    table, bullets = summary(SweepReader(at_work).read())
    assert isinstance(table, Table) and isinstance(bullets, Bullets)
    assert table.caption == (
        "Settings, each against its baseline on the same items; 2 of 4 runs finished (2 settings × 2 seeds)"
    )
    assert table.legend == [] and [plain(row[1]) for row in table.rows] == ["online.L=1", "online.L=2"]
    assert plain(table.rows[1][2]) == "▶ 0%", "how far the runs are stands in the lines above"
    first, *_, last = map(plain, bullets.items)
    assert first.startswith("Best setting: online.L=1, ") and last == "Stages done: eval 2×."


@pytest.mark.parametrize(
    ("states", "share", "words"),
    [
        (("paused",), 0.5, "▶ 50%"), (("interrupted", ""), 0.5, "interrupted"), (("stopped", "failed"), 0.5, "stopped"),
        (("hung", "running"), 0.5, "hung"), (("finished", "finished", ""), None, "2 of 3"),
        (("prepared",), 0.0, "waits"),
    ],
)  # fmt: skip
def test_states_of_a_setting(states: Sequence[str], share: float | None, words: str) -> None:
    points = tuple(Point(number, str(number), {}) for number in range(len(states)))
    assert state_words(SettingResult({}, points, tuple(states)), share) == words
