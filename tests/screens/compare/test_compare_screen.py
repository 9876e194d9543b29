"""The comparison driven by keys: methods, a cell's items, an item's two traces, and opening a run there."""

from __future__ import annotations

import threading
from collections import defaultdict
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from rich.style import Style
from textual.app import App

from app.blocks.terminal import draw
from app.methods.place import Place
from app.shell import SteerApp
from engine.comparison.comparison import ArmPair, Comparison
from engine.comparison.items import Item
from engine.comparison.trace import AlignedTraces, Step, align
from engine.errors import DataError
from engine.events import Event
from screens.compare import screen as compare
from screens.compare.screen import CompareScreen
from screens.compare.trace_blocks import trace_blocks
from screens.esm.screen import EsmScreen
from screens.messages import RunRequested
from screens.widgets.key_line import keys_of
from tests.console import until
from tests.two_runs import decided, evaluated, make_run

SIZES = [(80, 24), (200, 60)]


class CompareApp(App[None]):
    """Just the screen; notes which run it wants to open."""

    def __init__(self, a: Path, b: Path) -> None:
        super().__init__()
        self.compare = CompareScreen(a, b)
        self.wanted: list[RunRequested] = []

    def on_mount(self) -> None:
        self.push_screen(self.compare)

    def on_run_requested(self, message: RunRequested) -> None:
        self.wanted.append(message)


def answers(alpha: float, wrong: str) -> list[Event]:
    """Three examples under greedy and esm; esm gets all right but `wrong`."""
    events: list[Event] = [evaluated("greedy", name, True, text="the text") for name in "pqr"]
    for name in "pqr":
        text = f"{name} is {'bad' if name == wrong else 'good'} here"
        events += [
            decided(name, 1, gate="first_segment", segment="First. "),
            decided(name, 2, gate="chosen", chosen="e1", layer=2, alpha=alpha if name == wrong else 1.0, segment=text),
            evaluated("esm", name, name != wrong),
        ]  # fmt: skip
    return events


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    a = make_run(tmp_path, "a", answers(4.0, "r"), {"online": {"L": 3}})
    return a, make_run(tmp_path, "b", answers(2.0, "q"), {"online": {"L": 5}})


def drawn(app: App[None]) -> str:
    """The words on the screen."""
    width, height = app.size
    lines = app.screen._compositor.render_strips()
    return "\n".join(strip.text for strip in lines)[: width * height * 2]


@pytest.mark.parametrize("terminal", SIZES)
async def test_from_the_methods_to_the_first_decision_that_differs(
    runs: tuple[Path, Path], terminal: tuple[int, int]
) -> None:
    app = CompareApp(*runs)
    async with app.run_test(size=terminal) as pilot:
        screen = app.compare
        await until(lambda: len(screen.method_source) == 2, "the comparison")
        await pilot.pause()
        assert "online.L 3 → 5" in drawn(app) and "greedy" in drawn(app)
        await pilot.press("down")
        while (column := screen.methods.marked_column) is None or column.key != "only_b":
            await pilot.press("right")
        await pilot.press("enter")
        await until(lambda: len(screen.item_source) == 1, "the items that only B has right")
        assert screen.item_source.item(0).a.id == "r" and "segment 2: α, text" in drawn(app)
        await pilot.press("enter")
        await pilot.pause()
        text = drawn(app)
        assert "The runs part at segment 2: α and text differ." in text
        assert (
            "≠ α 4.000" in text and "≠ α 1.000" in text and "r is bad here" in text and "First." not in text
        )
        await pilot.press("space")
        await pilot.pause()
        assert "First." in drawn(app)
        await pilot.press("2")
        await pilot.pause()
        assert (app.wanted[-1].run_dir, app.wanted[-1].system) == (runs[1], "ESM")
        assert app.wanted[-1].place == Place("decisions", filter='method:esm example:"r"')
        await pilot.press("escape", "escape")
        assert screen.level == "compare-methods" and app.screen is screen
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is not screen


async def test_the_kinds_of_items_follow_each_other(runs: tuple[Path, Path]) -> None:
    app = CompareApp(*runs)
    async with app.run_test(size=(100, 30)) as pilot:
        screen = app.compare
        await until(lambda: len(screen.method_source) == 2, "the comparison")
        assert "Kind" not in [key.word for key in keys_of(screen)]
        await pilot.press("down", "enter")
        await until(lambda: len(screen.item_source) == 3, "all items")
        assert "Kind" in [key.word for key in keys_of(screen)]
        shown = []
        for _ in range(4):
            await pilot.press("v")
            shown.append("".join(screen.item_source.item(row).a.id for row in range(len(screen.item_source))))
        assert shown == ["q", "r", "p", "pqr"]
        await pilot.press("enter")
        await pilot.pause()
        assert str(screen.about.content) == "item 1 of 3"
        await pilot.press("right")
        await pilot.pause()
        assert str(screen.about.content) == "item 2 of 3"


async def test_from_a_kind_without_items_one_comes_to_the_first_that_has_some(
    runs: tuple[Path, Path],
) -> None:
    """None is wrong in both."""
    app = CompareApp(*runs)
    async with app.run_test(size=(140, 30)) as pilot:
        screen = app.compare
        await until(lambda: len(screen.method_source) == 2, "the comparison")
        await pilot.press("down")
        while (column := screen.methods.marked_column) is None or column.key != "neither":
            await pilot.press("right")
        await pilot.press("enter")
        await until(lambda: "No item is of this kind." in drawn(app), "that there is none")
        await pilot.press("v")
        assert [screen.item_source.item(row).a.id for row in range(len(screen.item_source))] == ["q"]


async def test_what_cannot_be_compared_says_so(tmp_path: Path) -> None:
    a, b = make_run(tmp_path, "a", []), make_run(tmp_path, "b", [], status="stopped")
    app = CompareApp(a, b)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.compare.comparison is not None, "the comparison")
        await pilot.pause()
        assert "No method has results in both runs." in drawn(app) and "B is not finished (stopped)" in drawn(
            app
        )
        await pilot.press("enter", "1")
        await pilot.pause()
        assert app.wanted[-1].run_dir == a
    app = CompareApp(a, tmp_path / "none")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: "this is not a run" in drawn(app), "the error")
        await pilot.press("escape")


async def test_from_the_list_of_runs_to_a_decision_and_back(runs: tuple[Path, Path], tmp_path: Path) -> None:
    """Mark, next, c: two runs that differ in one field are compared in three keys."""
    app = SteerApp(tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(lambda: len(app.home.source.rows) == 2, "the list of runs")
        await pilot.press("c")
        assert app.screen is app.home
        await pilot.press("m", "c")
        await until(lambda: isinstance(app.screen, CompareScreen), "the comparison")
        screen = app.screen
        assert isinstance(screen, CompareScreen) and {*screen.runs} == {*runs}
        await until(lambda: len(screen.method_source) == 2, "its methods")
        await pilot.press("down", "enter")
        await until(lambda: len(screen.item_source) == 3, "all items")
        await pilot.press("down", "1")
        await until(lambda: isinstance(app.screen, EsmScreen), "the run")
        esm = app.screen
        assert (
            isinstance(esm, EsmScreen) and app.session is not None and app.session.run_dir == screen.runs[0]
        )
        await until(lambda: len(esm.decisions.source) == 2, "the two decisions of the second example")
        await until(lambda: 'example:"q"' in drawn(app), "the filter")
        await pilot.press("ctrl+d")
        await until(lambda: app.screen is screen, "the comparison again")
        assert app.session is None and screen.level == "compare-items"
        await pilot.press("escape", "escape")
        await until(lambda: app.screen is app.home, "the list of runs")


@pytest.mark.parametrize("terminal", SIZES)
async def test_the_heading_names_the_runs_by_what_differs(tmp_path: Path, terminal: tuple[int, int]) -> None:
    paths = [make_run(tmp_path, "demo", answers(4.0, "r"), {"online": {"L": n}}) for n in (3, 5)]
    stopped = make_run(
        tmp_path, "demo", [evaluated("esm", "z", True)], {"online": {"L": 9}}, status="stopped"
    )
    app = CompareApp(*paths)
    async with app.run_test(size=terminal):
        await until(lambda: app.compare.comparison, "both runs are read")
        await until(
            lambda: f" compare   A online.L=3  B online.L=5   A demo/{paths[0].name}" in drawn(app), "names"
        )
    app = CompareApp(paths[0], stopped)
    async with app.run_test(size=terminal):
        await until(lambda: app.compare.comparison, "both runs are read")
        await until(lambda: "B online.L=9" in drawn(app), "the heading")
        row = next(line for line in drawn(app).splitlines() if "no common" in line)
        assert "ESM" in row and "no common" in row
        assert terminal[0] < 200 or f"B demo/{stopped.name}, stopped" in drawn(app)


async def test_where_no_item_is_to_be_listed_it_says_why(tmp_path: Path) -> None:
    """There is none in common, or none of the kind under the mark: what only A has right, of answers that are equal."""
    kinds = {"both": "z", "other": "y"}
    first, second = (make_run(tmp_path, name, [evaluated("esm", item, True)]) for name, item in kinds.items())
    app = CompareApp(first, second)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.compare.comparison, "both runs are read")
        await pilot.press("enter")
        await until(lambda: "The runs have no item of this method in common." in drawn(app), "why")
    app = CompareApp(first, make_run(tmp_path, "same", [evaluated("esm", "z", True)]))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.compare.comparison, "both runs are read")
        while (column := app.compare.methods.marked_column) is None or column.key != "only_a":
            await pilot.press("right")
        await pilot.press("enter")
        await until(lambda: "No item is of this kind." in drawn(app), "why")


@pytest.mark.parametrize("whole", [False, True])
def test_the_first_step_that_differs_is_marked(whole: bool) -> None:
    """Whether or not the two before it are listed."""
    item = Item("q1", "How many?", "How many?", 1.0, True)
    a, b = (
        [Step(f"{m}", f"segment {m}", {"α": alpha if m > 2 else 1.0}) for m in (1, 2, 3, 4)]
        for alpha in (2.0, 3.0)
    )
    palette = defaultdict(Style)
    console = Console(width=80, file=StringIO())
    console.print(draw(trace_blocks(item, item, align(a, b), whole), palette, 80))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    marked = [line.split("  ")[0].rstrip() for line in lines if line.startswith("▶")]
    assert marked == ["▶ segment 3"]
    assert any("segment 1" in line for line in lines) == whole
    assert ("2 steps before it are the same in both; space shows all." in lines) != whole


async def test_traces_that_cannot_be_read_say_why(
    runs: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the row, and in the item; the run itself can still be opened."""

    def traces(self: Comparison, arm: object, first: Item, second: Item) -> None:
        raise DataError(what="the log was changed", where="events.jsonl", hint="compare again")

    monkeypatch.setattr(Comparison, "traces", traces)
    app = CompareApp(*runs)
    async with app.run_test(size=(200, 60)) as pilot:
        screen = app.compare
        await until(lambda: len(screen.method_source) == 2, "the comparison")
        await pilot.press("enter")
        await until(lambda: len(screen.item_source) == 3, "the items")
        assert screen.item_source.item(0).parts_at == "not readable: the log was changed"
        await pilot.press("enter")
        await pilot.pause()
        assert "the log was changed (events.jsonl): compare again" in drawn(app) and "item 1 of 3" in drawn(
            app
        )
        await pilot.press("right", "right", "left")
        await pilot.pause()
        assert "item 2 of 3" in drawn(app)
        await pilot.press("escape", "escape", "2")
        await pilot.pause()
        assert app.wanted[-1] == RunRequested(runs[1], "ESM", Place("decisions", filter="method:greedy"))


async def test_the_next_item_shows_its_own_traces(runs: tuple[Path, Path]) -> None:
    app = CompareApp(*runs)
    async with app.run_test(size=(200, 60)) as pilot:
        screen = app.compare
        await until(lambda: len(screen.method_source) == 2, "the comparison")
        await pilot.press("down", "enter")
        await until(lambda: len(screen.item_source) == 3, "all items")
        await pilot.press("enter")
        await pilot.pause()
        assert "question p" in drawn(app) and "question q" not in drawn(app)
        await pilot.press("right")
        await pilot.pause()
        assert (
            "q is good here" in drawn(app)
            and "q is bad here" in drawn(app)
            and "question p" not in drawn(app)
        )


async def test_while_a_methods_items_are_compared_no_other_methods_are_listed(
    runs: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither those that were listed before, nor those of one that was left before it was done."""
    waits = threading.Event()
    traces = Comparison.traces

    def slow(self: Comparison, arm: ArmPair, first: Item, second: Item) -> AlignedTraces:
        if arm.a.name == "greedy":
            waits.wait(60)
        return traces(self, arm, first, second)

    app = CompareApp(*runs)
    async with app.run_test(size=(100, 30)) as pilot:
        screen = app.compare
        await until(lambda: len(screen.method_source) == 2, "the comparison")
        greedy, esm = (screen.method_source.item(row) for row in (0, 1))
        await pilot.press("down", "enter")
        await until(lambda: len(screen.item_source) == 3, "the items of esm")
        screen._show_pairs(greedy, [])
        assert len(screen.item_source) == 3 and screen.arm is esm
        monkeypatch.setattr(Comparison, "traces", slow)
        try:
            await pilot.press("escape", "up", "enter")
            await pilot.pause()
            assert "comparing the decisions …" in drawn(app)
            await pilot.press("v")
            assert len(screen.item_source) == 0 and screen.arm is greedy
            await pilot.pause()
            assert "comparing the decisions …" in drawn(app), "v says nothing of items that are not known yet"
        finally:
            waits.set()
        await until(lambda: len(screen.item_source) == 3, "the items of greedy")


async def test_a_kind_of_items_begins_at_its_first(tmp_path: Path) -> None:
    """Of four, the last two are what only B has right."""
    kinds = {"a": (True, True, False, False), "b": (True, True, True, True)}
    folders = [
        make_run(
            tmp_path,
            name,
            [evaluated("esm", item, right) for item, right in zip("pqrs", rights, strict=True)],
        )
        for name, rights in kinds.items()
    ]
    app = CompareApp(*folders)
    async with app.run_test(size=(100, 30)) as pilot:
        screen = app.compare
        await until(lambda: len(screen.method_source) == 1, "the comparison")
        await pilot.press("enter")
        await until(lambda: len(screen.item_source) == 4, "all items")
        await pilot.press("end", "v")
        assert [screen.item_source.item(row).a.id for row in range(len(screen.item_source))] == ["r", "s"]
        assert screen.items.cursor == 0


async def test_back_at_the_methods_it_is_about_the_one_under_the_cursor(runs: tuple[Path, Path]) -> None:
    """Its words below, and the run that a key opens there."""
    app = CompareApp(*runs)
    async with app.run_test(size=(100, 30)) as pilot:
        screen = app.compare
        await until(lambda: len(screen.method_source) == 2, "the comparison")
        await pilot.press("enter")
        await until(lambda: len(screen.item_source) == 3, "the items of greedy")
        assert str(screen.about.content).endswith("v shows others.") and screen.has_class("-deep")
        await pilot.press("escape")
        assert "greedy" in str(screen.about.content) and "Both right 3" in str(screen.about.content)
        assert not screen.has_class("-deep")
        await pilot.press("down", "1")
        await pilot.pause()
        assert "Both right 1" in str(screen.about.content)
        assert app.wanted == [RunRequested(runs[0], "ESM", Place("decisions", filter="method:esm"))]


async def test_what_cannot_be_read_is_told_in_place_of_the_methods(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no run to open then, and nothing is being read any more."""

    def gone(a: Path, b: Path) -> Comparison:
        raise OSError("the disk is gone")

    monkeypatch.setattr(compare, "compare_runs", gone)
    app = CompareApp(tmp_path, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: "the disk is gone" in drawn(app), "the error")
        assert compare.READING not in drawn(app)
        await pilot.press("1")
        await pilot.pause()
        assert app.wanted == []


async def test_all_steps_are_shown_and_hidden_by_the_same_key(runs: tuple[Path, Path]) -> None:
    """What is chosen holds for the next item, too."""
    app = CompareApp(*runs)
    async with app.run_test(size=(200, 60)) as pilot:
        screen = app.compare
        await until(lambda: len(screen.method_source) == 2, "the comparison")
        await pilot.press("down", "enter")
        await until(lambda: len(screen.item_source) == 3, "all items")
        await pilot.press("down", "enter")
        shown = []
        for key in ("space", "right", "space", "left"):
            await pilot.press(key)
            await pilot.pause()
            shown.append("First." in drawn(app))
        assert shown == [True, True, False, False]


@pytest.mark.parametrize(
    ("left", "closed", "read"), [(False, False, "pqr"), (True, False, ""), (False, True, "")]
)
def test_a_method_that_was_left_is_not_compared_to_its_end(left: bool, closed: bool, read: str) -> None:
    """Reading the traces of thousands of items takes long; nor is one of a screen that was closed."""
    done: list[str] = []

    def traces(arm: object, first: Item, second: Item) -> SimpleNamespace:
        done.append(first.id)
        return SimpleNamespace(summary="")

    items = [Item(name, "", "", 1.0, True) for name in "pqr"]
    arm: Any = SimpleNamespace(paired=SimpleNamespace(pairs=[(item, item) for item in items]))
    screen: Any = SimpleNamespace(
        comparison=SimpleNamespace(traces=traces), arm=None if left else arm, is_attached=not closed,
        app=SimpleNamespace(call_from_thread=lambda show, arm, pairs: show(arm, pairs)),
        _show_pairs=lambda arm, pairs: done.append(str(len(pairs))),
    )  # fmt: skip
    CompareScreen._find_partings.__wrapped__(screen, arm)  # type: ignore[attr-defined]
    assert "".join(done) == (f"{read}3" if read else "")


@pytest.mark.parametrize(
    ("system", "place"), [("ESM", Place("decisions", filter="method:best")), ("Evolution", None)]
)
def test_a_run_is_opened_at_the_decisions_of_esm_alone(
    system: str, place: Place | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen, asked = CompareScreen(Path("a"), Path("b")), list[Any]()
    arm: Any = SimpleNamespace(a=SimpleNamespace(system=system, name="best"))
    screen.method_source.show([arm])
    monkeypatch.setattr(CompareScreen, "level", "compare-methods")
    monkeypatch.setattr(CompareScreen, "methods", SimpleNamespace(cursor=0))
    monkeypatch.setattr(screen, "post_message", asked.append)
    screen.action_open_run(1)
    assert asked == [RunRequested(Path("b"), system, place)]
