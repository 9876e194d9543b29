"""A table for long logs: a million rows cost as much as the visible ones.

Rows come from a `RowSource` when they are drawn; a drawn line is kept by what it shows, so new rows never make
old lines be drawn again. While it follows, the cursor stays on the last row; moving away stops
following, and moving back to the last row starts it again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding
from textual.cache import LRUCache
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive, var
from textual.strip import Strip

from app.blocks.fit import fit, fit_name
from app.blocks.model_text import one_line
from app.table.column import Cell
from app.textual_internals import SelfSizedView
from screens.widgets.tables.cells import fit_label, highlighted, justified, wrapped
from screens.widgets.tables.column_layout import GAP, GUTTER, Placed, place
from screens.widgets.tables.rows import Column, RowSource
from screens.widgets.tones import tone


class VirtualTable(SelfSizedView, can_focus=True):
    """A table over a `RowSource`. Call `refresh_rows` when the source has changed."""

    COMPONENT_CLASSES = {
        "virtual-table--header",
        "virtual-table--header-column",
        "virtual-table--cursor",
        "virtual-table--match",
    }
    DEFAULT_CSS = """
    VirtualTable {
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        background: $surface;
        & > .virtual-table--header { text-style: bold; color: $text-muted; background: $panel; }
        & > .virtual-table--header-column { text-style: bold underline; color: $text; background: $panel; }
        & > .virtual-table--cursor { background: $block-cursor-blurred-background; text-style: bold; }
        &:focus > .virtual-table--cursor { background: $primary-muted; text-style: bold; }
        & > .virtual-table--match { text-style: bold underline; color: $text-warning; }
    }
    """
    BINDINGS = [
        Binding("up,k", "move(-1)", "Up", show=False, tooltip="Move the cursor to another row."),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("left,h", "column(-1)", "Column left", show=False, tooltip="Mark another column."),
        Binding("right,l", "column(1)", "Column right", show=False),
        Binding("pageup,ctrl+b", "page(-1)", "Page up", show=False, tooltip="Move the cursor by a page."),
        Binding("pagedown,ctrl+f", "page(1)", "Page down", show=False),
        Binding("home,g", "first", "First", show=False, tooltip="Go to the first row."),
        Binding("end,G", "last", "Last", show=False, tooltip="Go to the last row, and follow."),
        Binding("enter", "select", "Open", tooltip="Open the row under the cursor."),
        Binding("f", "follow", "Follow", tooltip="Follow the newest row, or stop following."),
        Binding("s", "sort", "Sort", tooltip="Sort by the marked column: up, down, as in the log."),
        Binding("n", "match(1)", "Next match", show=False, tooltip="Go to another row that / found."),
        Binding("N", "match(-1)", "Previous match", show=False),
    ]

    cursor: var[int] = var(0)
    follow: reactive[bool] = reactive(True, repaint=False)

    @dataclass
    class OfTable(Message):
        """Something happened in a table."""

        table: VirtualTable

        @property
        def control(self) -> VirtualTable:
            """The table, for selectors."""
            return self.table

    class Highlighted(OfTable):
        """The cursor is on another row, or the row under it is another."""

    class Selected(OfTable):
        """The row under the cursor was opened, by enter or a double click."""

    class Changed(OfTable):
        """Following, sorting, the marked column or what is looked for is another."""

    def __init__(
        self, source: RowSource, empty: str = "", *, id: str | None = None, follow: bool = True
    ) -> None:
        super().__init__(id=id)
        self.source = source
        self.empty = empty
        self.waiting = ""
        """What is said instead of `empty` while rows may still come out of the log."""
        self.over = False
        """Whether no more rows come."""
        self.signs: Mapping[int, str] = {}
        """What stands before rows that are marked, by the place of their event in the log."""
        self.search_words: tuple[str, ...] = ()
        """Words that are looked for, in lower case."""
        self.sort_column: str | None = None
        self.sort_reverse = False
        self._marked: str | None = None
        self.selected_key: Hashable = None
        """Of the row under the cursor; None without rows."""
        self._began_at: Hashable = None
        self._shown = 0
        self._looked = False
        """Whether it is known that there are no rows."""
        self._placed: list[Placed] = []
        self._placed_in: tuple[int, Sequence[Column]] = (-1, ())
        self._base = Style.null()
        self._strips: LRUCache[Hashable, Strip] = LRUCache(4096)
        self.set_reactive(VirtualTable.follow, follow)

    # ------------------------------------------------------------ rows

    def refresh_rows(self) -> None:
        """The source has other rows: keep the cursor on its row, or at the end while following."""
        before, self._shown, self._looked = self._shown, len(self.source), True
        distance = self.cursor - round(self.scroll_y)
        self.virtual_size = Size(self.size.width, self._shown + 1)
        if self.follow:
            self._go(self._shown - 1)
        else:
            row = self.source.find(self.selected_key) if self.selected_key is not None else None
            if row is not None and row != self.cursor:
                self.scroll_to(y=max(0, row - distance), animate=False)
            self._go(self.cursor if row is None else row, reveal=False)
        self.refresh()
        if bool(self._shown) != bool(before):
            self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Without a row there is nothing to open or to sort."""
        return len(self.source) > 0 if action in ("select", "sort") else True

    def go_to(self, row: int) -> None:
        """Put the cursor on a row; on the last one this follows."""
        self._go(row)
        self.follow = self._shown > 0 and self.cursor == self._shown - 1 and self.sort_column is None

    def begin_at(self, row: int) -> None:
        """Put the cursor on the row from which a run that is over is read, instead of following."""
        self._go(row)
        self.follow, self._began_at = False, self.selected_key
        self.call_after_refresh(self._reveal_amid)  # a table that was not shown before has no height yet

    @property
    def untouched(self) -> bool:
        """Whether nobody has moved the cursor or sorted: it follows, or stands where it began."""
        return self.follow or (self._began_at is not None and self._began_at == self.selected_key)

    def set_over(self, over: bool) -> None:
        """Whether no more rows come. While they do, or an earlier moment is shown, the newest is followed, unless
        somebody has moved the cursor."""
        self.over = over
        if not over and self.untouched and not self.follow:
            self.follow_again()

    def follow_again(self) -> None:
        """Follow, in the order of the log."""
        self.follow, self._began_at = True, None
        self.sort_by(None)

    def watch_follow(self) -> None:
        self.post_message(self.Changed(self))

    @property
    def marked_column(self) -> Column | None:
        """The column that `s` sorts by."""
        return next((p.column for p in self._placed if p.column.key == self._marked), None)

    def _go(self, row: int, reveal: bool = True) -> None:
        row = max(0, min(row, self._shown - 1))
        key = self.source.key(row) if self._shown else None
        changed = (row, key) != (self.cursor, self.selected_key)
        self.cursor, self.selected_key = row, key
        if reveal:
            self._reveal()
        if changed:
            self.refresh()
            self.post_message(self.Highlighted(self))

    def _reveal(self) -> None:
        page = max(1, self.size.height - 1)
        top = round(self.scroll_y)
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False)
        elif self.cursor >= top + page:
            self.scroll_to(y=self.cursor - page + 1, animate=False)

    def _reveal_amid(self) -> None:
        """Scroll so that there are rows above the cursor, too."""
        page = max(1, self.size.height - 1)
        if self.untouched:
            self.scroll_to(y=0 if self.cursor < page else self.cursor - page // 2, animate=False)

    # ------------------------------------------------------------ actions

    def action_move(self, by: int) -> None:
        """Move the cursor by rows."""
        self.go_to(self.cursor + by)

    def action_page(self, by: int) -> None:
        """Move the cursor by screenfuls."""
        self.go_to(self.cursor + by * max(1, self.size.height - 2))

    def action_first(self) -> None:
        """Go to the first row."""
        self.go_to(0)

    def action_last(self) -> None:
        """Go to the last row and follow."""
        self.go_to(self._shown - 1)

    def action_follow(self) -> None:
        """Follow the newest row, or stop that. Following is in the order of the log."""
        if self.follow:
            self.follow = False
            return
        self.follow_again()

    def action_select(self) -> None:
        """Open the row under the cursor."""
        if self._shown:
            self.post_message(self.Selected(self))

    def action_column(self, by: int) -> None:
        """Mark another column."""
        keys = [p.column.key for p in self._placed]
        at = keys.index(self._marked) if self._marked in keys else (-1 if by > 0 else len(keys))
        self._marked = keys[max(0, min(at + by, len(keys) - 1))]
        self.refresh()
        self.post_message(self.Changed(self))

    def action_sort(self) -> None:
        """Sort by the marked column: up, down, as in the log."""
        self._began_at = None
        if self._marked is None:
            self.action_column(1)
        if self._marked != self.sort_column:
            self.sort_by(self._marked)
        elif not self.sort_reverse:
            self.sort_by(self._marked, reverse=True)
        else:
            self.sort_by(None)

    def sort_by(self, column: str | None, reverse: bool = False) -> None:
        """Order rows by a column, None for the order of the log."""
        self.sort_column, self.sort_reverse = column, reverse
        self.follow = False if column else self.follow
        self.source.sort(column, reverse)
        self.refresh_rows()
        self._reveal()
        self.post_message(self.Changed(self))

    def action_match(self, by: int) -> None:
        """Go to the next or previous match."""
        if not self.seek(by, self.is_match):
            none = "None of the other" if self.is_match(self.cursor) else "None of these"
            self.notify(f"{none} {self.source.noun} is marked as found.", markup=False)

    def look_for(self, words: Sequence[str]) -> None:
        """Mark the rows in whose cells all these words stand."""
        self.search_words = tuple(word.lower() for word in words)
        self.refresh()
        self.post_message(self.Changed(self))

    def is_match(self, row: int) -> bool:
        """Whether the row is among what is looked for."""
        if not self.search_words or not 0 <= row < self._shown:
            return False
        text = " ".join(cell.text for cell in self.source.cells(row)).lower()
        return all(word in text for word in self.search_words)

    def seek(self, by: int, holds: Callable[[int], bool]) -> bool:
        """Go to the next (`by` 1) or previous (-1) other row for which `holds(row)`; round the end."""
        for step in range(1, self._shown):
            row = (self.cursor + by * step) % self._shown
            if holds(row):
                self.follow = False
                self._go(row)
                return True
        return False

    # ------------------------------------------------------------ mouse

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """A header says what its column is."""
        hit = self._column_at(event.x) if event.y == 0 else None
        self.tooltip = f"{hit.label}: {hit.help}" if hit is not None and hit.help else None

    def _column_at(self, x: int) -> Column | None:
        return next((p.column for p in self._placed if p.x <= x < p.x + p.width + GAP), None)

    def on_click(self, event: events.Click) -> None:
        """A header sorts, a row takes the cursor, twice opens it."""
        if event.y == 0:
            if (hit := self._column_at(event.x)) is not None:
                self._marked = hit.key
                self.action_sort()
            return
        row = round(self.scroll_y) + event.y - 1
        if row < self._shown:
            self.go_to(row)
            if event.chain == 2:
                self.action_select()

    def on_mouse_scroll_up(self) -> None:
        """Looking back stops following."""
        if self._shown + 1 > self.size.height:
            self.follow = False

    def on_mouse_scroll_down(self) -> None:
        """Back at the end follows again."""
        self.call_after_refresh(self._follow_at_end)

    def _follow_at_end(self) -> None:
        if self.is_vertical_scroll_end and self.sort_column is None and not self.follow:
            self.follow = True
            self._go(self._shown - 1)

    # ------------------------------------------------------------ drawing

    def on_resize(self) -> None:
        self._strips.clear()
        self._place()
        self.virtual_size = Size(self.size.width, self._shown + 1)
        self._reveal()

    def _place(self) -> None:
        """Place the columns for the width there is: a table that was hidden may be shown before it gets its size."""
        width = self.scrollable_content_region.width
        if (width, self.source.columns) != self._placed_in:
            self._placed_in = width, self.source.columns
            self._placed = place(self.source.columns, width)
            self._strips.clear()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._strips.clear()

    def render_lines(self, crop: Region) -> list[Strip]:
        self._base = self.rich_style  # put together anew each time it is asked for
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        self._place()
        if y == 0:
            return self._header(width)
        row = round(self.scroll_y) + y - 1
        if row >= self._shown:
            return self._blank(y, width)
        cells = self.source.cells(row)
        words = self.search_words or tuple(self.source.words)
        sign = "•" if self.is_match(row) else " "
        if self.signs and (offset := self.source.offset(row)) is not None:
            sign = self.signs.get(offset, sign)
        key = (cells, row == self.cursor, sign, words, self.has_focus)
        strip = self._strips.get(key)
        if strip is None:
            strip = self._strips[key] = self._draw(cells, row == self.cursor, sign, words, width)
        return strip

    def _blank(self, y: int, width: int) -> Strip:
        style = self._base
        lines = wrapped(self.waiting or self.empty, width - 4) if self._looked and not self._shown else []
        if not 0 <= y - 2 < len(lines):
            return Strip.blank(width, style)
        text = set_cell_size("  " + lines[y - 2], width)
        return Strip([Segment(text, style + tone(self, "dim"))])

    def _header(self, width: int) -> Strip:
        plain = self.get_component_rich_style("virtual-table--header")
        marked = self.get_component_rich_style("virtual-table--header-column")
        segments, x = [Segment(" " * GUTTER, plain)], GUTTER
        for placed in self._placed:
            column = placed.column
            label, arrow = column.label, ""
            if column.key == self.sort_column:
                arrow = "↓" if self.sort_reverse else "↑"
                if cell_len(label) < placed.width:
                    label, arrow = label + arrow, ""
            style = marked if column.key in (self._marked, self.sort_column) else plain
            segments.append(Segment(" " * (placed.x - x), plain))
            segments += justified(fit_label(label, placed.width), placed.width, column.justify, style, plain)
            segments.append(Segment(arrow, style))  # in the gap, where the column has no room for it
            x = placed.x + placed.width + len(arrow)
        segments.append(Segment(" " * max(0, width - x), plain))
        return Strip(segments).crop(0, width)

    def _draw(
        self, cells: tuple[Cell, ...], at_cursor: bool, sign: str, words: tuple[str, ...], width: int
    ) -> Strip:
        base = self._base
        if at_cursor:
            base += self.get_component_rich_style("virtual-table--cursor")
        mark = ("›" if at_cursor else " ") + sign
        segments, x = [Segment(mark, base)], GUTTER
        for placed in self._placed:
            text, meant = cells[placed.index]
            style = base
            if meant:
                style += tone(self, meant)
            segments.append(Segment(" " * (placed.x - x), base))
            cut = fit_name if placed.column.name else fit
            shown = cut(one_line(text), placed.width)
            pieces = justified(shown, placed.width, placed.column.justify, style, base)
            segments += highlighted(pieces, words, tone(self, "virtual-table--match")) if words else pieces
            x = placed.x + placed.width
        segments.append(Segment(" " * max(0, width - x), base))
        return Strip(segments, width).simplify()  # a control code for each style, not for each cell
