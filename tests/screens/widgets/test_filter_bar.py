"""The line in which a filter is typed: what it says, what it asks for."""

from __future__ import annotations

from textual import on
from textual.app import App, ComposeResult

from app.table.filter import Field
from screens.widgets.filter_bar import FilterBar, _FieldSuggester

FIELDS = {name: Field(name, "number", "") for name in ("alpha", "m")}


class BarApp(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.bar = FilterBar(FIELDS)
        self.asked: list[str] = []
        self.closed = 0

    def compose(self) -> ComposeResult:
        yield self.bar

    @on(FilterBar.Changed)
    def _asked(self, message: FilterBar.Changed) -> None:
        self.asked.append(message.text)

    @on(FilterBar.Closed)
    def _count_closed(self) -> None:
        self.closed += 1

    @property
    def hint(self) -> str:
        return str(self.bar.hint.content)


async def test_esc_brings_the_filter_of_before_back() -> None:
    app = BarApp()
    async with app.run_test() as pilot:
        app.bar.set("m:2")
        app.bar.open()
        await pilot.press("m")
        await pilot.press("escape")
        assert app.bar.input.value == "m:2" and not app.bar.has_class("-open")
        app.bar.set("al")
        await pilot.pause()
        assert app.asked[-1] == "al", "whoever closes the line has typed a word"


async def test_what_is_typed_is_applied_at_once() -> None:
    app = BarApp()
    async with app.run_test() as pilot:
        app.bar.open()
        await pilot.press("m", "colon", "1", "space")
        await pilot.pause()
        assert app.asked[-1] == "m:1"
        app.bar.show_count("3 of 9")
        assert app.hint == "filter: 3 of 9 · ⏎ apply · → complete"
        count = len(app.asked)
        app.bar.input.value = "m:1 al"
        await pilot.pause()
        assert len(app.asked) == count, "`al` is probably the start of `alpha`"
        app.bar.input.value = "m:1 m>x"
        await pilot.pause()
        assert app.hint == "      ↑ `x` is not a number" and app.bar.hint.has_class("-error")
        await pilot.press("enter")
        assert app.bar.has_class("-open"), "a wrong filter cannot be kept"
        await pilot.press("escape")
        await pilot.pause()
        assert app.asked[-1] == "" and not app.bar.hint.has_class("-error")


async def test_a_field_is_completed() -> None:
    """What is typed of it stays as it is."""
    suggester = _FieldSuggester(FIELDS)
    for typed, completed in (("m:1 al", "m:1 alpha"), ("AL", "ALpha"), ("x", None), ("", None)):
        assert await suggester.get_suggestion(typed) == completed


async def test_the_line_opens_with_what_was_typed_last() -> None:
    """All of it is chosen, so that a letter takes its place; enter closes the line and says so."""
    app = BarApp()
    async with app.run_test() as pilot:
        assert not app.bar.has_class("-open")
        app.bar.set("m:2")
        app.bar.open()
        await pilot.pause()
        assert app.bar.input.has_focus and app.bar.has_class("-open")
        assert app.bar.input.placeholder == "correct and alpha>0.5   chosen:null   method:esm m>=3   apples"
        assert app.hint == "filter: ⏎ apply · → complete"
        await pilot.pause()
        before = app.closed
        await pilot.press("x", "enter")
        await pilot.pause()
        assert app.bar.input.value == "x" and not app.bar.has_class("-open") and app.closed == before + 1


async def test_an_error_stands_below_its_place() -> None:
    """Forty cells to the right at most; a count that comes meanwhile waits until it is mended."""
    app = BarApp()
    async with app.run_test() as pilot:
        app.bar.open()
        for blanks, indent in ((0, 2), (38, 40), (60, 40)):
            app.bar.input.value = " " * blanks + "m>x"
            await pilot.pause()
            assert app.hint == " " * indent + "↑ `x` is not a number"
        app.bar.show_count("3 of 9")
        assert app.hint.endswith("is not a number") and app.asked == [""]
        app.bar.clear()
        await pilot.pause()
        assert (app.bar.input.value, app.hint) == ("", "filter: 3 of 9 · ⏎ apply · → complete")
        assert not app.bar.hint.has_class("-error")
