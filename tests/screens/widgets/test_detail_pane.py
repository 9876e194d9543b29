"""The pane that draws a row in full: its ids are chosen by keys, and the chosen one is always in view."""

from __future__ import annotations

from rich.style import Style
from rich.text import Text
from textual import on
from textual.app import App, ComposeResult
from textual.widgets import Input

from app.blocks.block import Target
from app.blocks.terminal import META
from screens.widgets.detail_pane import DetailPane
from screens.widgets.key_line import KeyLine
from tests.console import drawn

IDS = {2: "a", 20: "b", 40: "c", 41: "a"}
"""Lines with an id; the last one leads where the first one does."""


def page(palette: dict[str, Style], width: int) -> Text:
    """50 numbered lines."""
    lines = [Text(f"line {number} ") for number in range(50)]
    for number, name in IDS.items():
        lines[number].append(name, Style(underline=True, meta={META: ("entry", name)}))
    return Text("\n").join(lines)


class PaneApp(App[None]):
    """A line to type in above and below the pane of ten lines."""

    CSS = "DetailPane { height: 10; }"

    def __init__(self) -> None:
        super().__init__()
        self.pane = DetailPane()
        self.followed: list[Target] = []

    def compose(self) -> ComposeResult:
        yield Input(id="above")
        yield self.pane
        yield Input(id="below")

    @on(DetailPane.Followed)
    def _followed(self, message: DetailPane.Followed) -> None:
        self.followed.append(message.target)


async def test_each_id_is_chosen_once_and_brought_into_view() -> None:
    """An id above or below the ten lines comes to the second of them; at the ends the focus goes on."""
    app = PaneApp()
    async with app.run_test(size=(40, 24)) as pilot:
        pane = app.pane
        pane.show(page, links=True)
        pane.focus()
        await pilot.pause()
        assert [(link.target.name, link.line) for link in pane.links()] == [("a", 2), ("b", 20), ("c", 40)]
        seen: list[tuple[str, str | None, float]] = []
        for key in ("tab", "tab", "tab", "shift+tab", "tab", "tab"):
            await pilot.press(key)
            await pilot.pause()
            chosen = None if pane._chosen is None else pane._chosen.name
            seen.append((key, chosen, pane.scroll_y))
        assert seen == [
            ("tab", "a", 0), ("tab", "b", 19), ("tab", "c", 39), ("shift+tab", "b", 19), ("tab", "c", 39),
            ("tab", None, 39),
        ]  # fmt: skip
        assert app.focused is app.query_one("#below")
        pane.focus()
        await pilot.press("shift+tab")
        await pilot.pause()
        assert pane._chosen == Target("entry", "c"), "backwards it begins at the last one"
        await pilot.press("shift+tab", "shift+tab", "shift+tab")
        assert app.focused is app.query_one("#above") and pane._chosen is None


async def test_enter_chooses_the_first_id_and_then_follows_it_as_a_click_does() -> None:
    app = PaneApp()
    async with app.run_test(size=(40, 24)) as pilot:
        pane = app.pane
        pane.show(page, links=True)
        pane.focus()
        await pilot.press("enter")
        assert (pane._chosen, app.followed) == (Target("entry", "a"), [])
        await pilot.press("enter")
        await pilot.click(DetailPane, offset=(1, 2))
        assert app.followed == [Target("entry", "a")], "no id stands at the first letter of the line"
        await pilot.click(DetailPane, offset=(8, 2))
        await pilot.pause()
        assert app.followed == [Target("entry", "a")] * 2


async def test_another_row_is_read_from_its_top_and_the_same_goes_on_where_one_was() -> None:
    app = PaneApp()
    async with app.run_test(size=(40, 24)) as pilot:
        pane = app.pane
        pane.show(page, links=True)
        pane.focus()
        await pilot.press("tab", "tab")
        await pilot.pause()
        kept: list[tuple[bool, float, bool]] = []
        for top, links in ((False, True), (True, True), (True, False)):
            pane.show(page, top=top, links=links)
            await pilot.pause()
            offered = {bool(pane.check_action(name, ())) for name in ("link", "follow")}
            kept.append((pane._chosen is not None, pane.scroll_y, offered == {True}))
        assert kept == [(True, 19, True), (False, 0, True), (False, 0, False)]
        assert not pane.check_action("scroll_left", ()) and pane.check_action("scroll_down", ())
        pane.show(None)
        await pilot.pause()
        assert pane.links() == [] and pane.virtual_size.height == 0


async def test_the_palette_has_every_tone() -> None:
    app = PaneApp()
    async with app.run_test(size=(40, 24)):
        palette = app.pane.palette
    assert list(palette) == ["dim", "strong", "good", "bad", "accent", "warn", "heading"]
    bold = {name for name, style in palette.items() if style.bold}
    assert bold == {"strong", "good", "bad", "accent", "heading"}
    assert palette["heading"].color == palette["dim"].color != palette["good"].color


async def test_the_page_is_drawn_as_wide_as_it_is_with_its_scroll_bar() -> None:
    """40 cells less one at each side; less one more where there are more lines than the ten of the pane."""
    app = PaneApp()
    widths: list[int] = []

    def drawn(lines: int, width: int) -> Text:
        widths.append(width)
        return Text("\n".join(map(str, range(lines))))

    async with app.run_test(size=(40, 24)) as pilot:
        seen = []
        for lines in (3, 10, 11, 3):
            app.pane.show(lambda palette, width, lines=lines: drawn(lines, width))
            await pilot.pause()
            seen.append((widths[-1], app.pane.virtual_size.height))
            blank = app.pane.render_line(lines).text
            assert blank == " " * widths[-1], "below the page the pane is empty"
    assert seen == [(38, 3), (38, 10), (37, 11), (38, 3)]


async def test_it_is_drawn_again_for_another_width_and_for_other_tones_alone() -> None:
    drawn: list[tuple[int, Style]] = []

    def noted(palette: dict[str, Style], width: int) -> Text:
        drawn.append((width, palette["accent"]))
        return Text("line")

    app = PaneApp()
    async with app.run_test(size=(40, 24)) as pilot:
        app.pane.show(noted)
        await pilot.pause()
        times = len(drawn)
        app.pane.notify_style_update()
        await pilot.pause()
        assert {width for width, _ in drawn} == {38} and len(drawn) == times
        await pilot.resize_terminal(50, 24)
        await pilot.pause()
        assert drawn[-1][0] == 48
        app.theme = "textual-light"
        await pilot.pause()
        assert drawn[-1][0] == 48 and drawn[-1][1] != drawn[0][1]


class KeysApp(PaneApp):
    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield KeyLine()


async def test_the_keys_of_ids_are_offered_while_there_are_some() -> None:
    app = KeysApp()
    async with app.run_test(size=(100, 24)) as pilot:
        app.pane.show(page)
        app.pane.focus()
        await pilot.pause()
        offered = ["Go to" in drawn(app).splitlines()[-1]]
        for links in (True, False):
            app.pane.show(page, links=links)
            await pilot.pause()
            offered.append("Go to" in drawn(app).splitlines()[-1])
        assert offered == [False, True, False]


async def test_an_id_in_the_line_below_the_last_one_in_view_is_brought_into_view() -> None:
    """Of ten lines the last in view is the tenth."""
    app = PaneApp()
    async with app.run_test(size=(40, 24)) as pilot:
        app.pane.show(page, links=True)
        app.pane.focus()
        await pilot.pause()
        for top, after in ((11, 11), (10, 19)):
            app.pane.scroll_to(y=top, animate=False)
            app.pane._chosen = Target("entry", "a")
            await pilot.press("tab")
            await pilot.pause()
            assert (app.pane._chosen, app.pane.scroll_y) == (Target("entry", "b"), after)


async def test_the_chosen_id_is_drawn_in_reverse_wherever_it_stands() -> None:
    app = PaneApp()
    async with app.run_test(size=(40, 24)) as pilot:
        pane = app.pane
        pane.show(page, links=True)
        pane.focus()
        seen: list[list[str]] = []
        for keys in ((), ("tab",), ("tab",)):
            await pilot.press(*keys)
            await pilot.pause()
            parts = [part for line in pane._drawn(pane.scrollable_content_region.width) for part in line]
            seen.append([part.text for part in parts if part.style and part.style.reverse])
        assert seen == [[], ["a", "a"], ["b"]]
