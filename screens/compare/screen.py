"""Two runs compared: changed fields on top, the methods, the items of a method, the two traces of an item."""

from __future__ import annotations

from pathlib import Path

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.getters import query_one
from textual.widgets import ContentSwitcher, Static

from app.blocks.model_text import one_line
from app.blocks.terminal import draw
from app.compared.columns import CELL_KEYS, ITEMS, METHODS, ItemPair
from app.compared.words import run_words
from app.keys.commands import COMPARE, bindings
from app.methods.esm.decisions import decisions_of
from app.methods.place import Place
from engine.comparison.comparison import ArmPair, Comparison, compare_runs
from engine.errors import SteerError
from screens.compare.trace_blocks import trace_blocks
from screens.compare.words import about_items, about_methods, changed_words, title
from screens.console_screen import ConsoleScreen
from screens.messages import RunRequested
from screens.widgets.detail_pane import DetailPane
from screens.widgets.key_line import KeyLine
from screens.widgets.tables.rows import ListSource
from screens.widgets.tables.still_table import StillTable
from screens.widgets.tables.virtual_table import VirtualTable

READING = "reading both runs …"
_METHODS, _ITEMS, _TRACE = "compare-methods", "compare-items", "compare-trace"
_KINDS = (1, 2, 0, 3)
"""The cells of the 2×2 in the order in which `v` shows them: first those in which the runs differ."""
_NO_METHOD = "No method has results in both runs.\n\nThe lines below say what is missing."
_NO_ITEM = "No item is of this kind.\n\nPress v to show others."
_NOTHING_IN_COMMON = "The runs have no item of this method in common.\n\nPress esc to go back."


class CompareScreen(ConsoleScreen[None]):
    """The comparison of the runs in two folders, as their logs were when it was opened."""

    CSS_PATH = "screen.tcss"
    BINDINGS = bindings(COMPARE)
    HELP = """\
# Two runs compared

On top stand the fields in which the two configurations differ. Each row is a method that both runs have; its figures
are over the items (examples, questions, conversations, queries) that both runs have. *B−A* is the difference of the
mean scores with its paired bootstrap interval, *p* is McNemar's. *both✓*, *only A*, *only B*, *none✓* count the items
by which run is right. The lines below say what else stands between the two runs.

`enter` opens a method's items; in one of the four counts, which `←` `→` mark, it opens those only. `enter` on an item
shows what both runs did with it, from the first decision that differs: what was decided otherwise has the sign ≠; where
they wrote otherwise, both texts stand side by side. `tab` goes to the fields and to the lines below, for the arrows to
scroll them. Numbers that differ by rounding count as equal.
"""

    switcher = query_one(ContentSwitcher)
    title_line = query_one("#compare-title", Static)
    changed_line = query_one("#compare-changed Static", Static)
    methods = query_one(f"#{_METHODS}", StillTable)
    items = query_one(f"#{_ITEMS}", StillTable)
    about = query_one("#compare-about Static", Static)
    detail = query_one(DetailPane)

    def __init__(self, a: Path, b: Path) -> None:
        super().__init__()
        self.runs = (a, b)
        self.comparison: Comparison | None = None
        self.arm: ArmPair | None = None
        self.cell: int | None = None
        self._pairs: list[ItemPair] = []
        self._whole = False
        self.method_source: ListSource[ArmPair] = ListSource(METHODS, "methods")
        self.item_source: ListSource[ItemPair] = ListSource(ITEMS, "items")

    def compose_content(self) -> ComposeResult:
        yield Static(id="compare-title", markup=False)
        with VerticalScroll(id="compare-changed"):
            yield Static(markup=False)
        with ContentSwitcher(initial=_METHODS):
            yield StillTable(self.method_source, READING, id=_METHODS)
            yield StillTable(self.item_source, _NO_ITEM, id=_ITEMS)
            yield DetailPane(id=_TRACE)
        with VerticalScroll(id="compare-about"):
            yield Static(markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        self.methods.focus()
        self.title_line.update(Text(f" compare  {READING}"))
        self._read()

    # ------------------------------------------------------------ reading

    @work(thread=True, exit_on_error=False)
    def _read(self) -> None:
        try:
            comparison = compare_runs(*self.runs)
        except (SteerError, OSError) as error:
            self.app.call_from_thread(self._failed, str(error))
            return
        words = run_words((comparison.a, comparison.b))
        self.app.call_from_thread(self._show_comparison, comparison, title(words))

    def _failed(self, text: str) -> None:
        self.methods.empty = one_line(text)
        self.methods.refresh_rows()
        self.title_line.update(Text(" compare"))

    def _show_comparison(self, comparison: Comparison, heading: Text) -> None:
        self.comparison = comparison
        self.title_line.update(heading)
        self.methods.empty = _NO_METHOD
        self.method_source.show(comparison.arms)
        self.methods.refresh_rows()
        self.changed_line.update(changed_words(comparison))
        self._show_about()

    # ------------------------------------------------------------ what is shown

    @property
    def level(self) -> str:
        """Methods, items or trace."""
        return self.switcher.current or _METHODS

    def _go(self, level: str) -> None:
        self.switcher.current = level
        self.set_class(level != _METHODS, "-deep")
        self.query_one(f"#{level}").focus()
        self._show_about()
        self.refresh_bindings()

    def _show_about(self) -> None:
        if self.comparison is None:
            return
        if self.level == _METHODS:
            text = about_methods(self.comparison, self._arm_under_cursor())
        elif self.level == _ITEMS and self.arm is not None:
            text = about_items(self.arm, self.cell, len(self.item_source))
        else:
            text = Text(f"item {self.items.cursor + 1} of {len(self.item_source)}")
        self.about.update(text)

    def _arm_under_cursor(self) -> ArmPair | None:
        return self.method_source.at(self.methods.cursor)

    @on(VirtualTable.Highlighted)
    def _highlighted(self) -> None:
        if self.level == _TRACE:
            self._show_trace()
        self._show_about()

    # ------------------------------------------------------------ a method's items

    @on(VirtualTable.Selected, f"#{_METHODS}")
    def _open_method(self) -> None:
        arm = self._arm_under_cursor()
        if arm is None:
            return
        column = self.methods.marked_column
        key = column.key if column is not None else ""
        self.cell = CELL_KEYS.index(key) if key in CELL_KEYS else None
        self.arm = arm
        self._pairs = []
        self.item_source.show([])
        self.items.empty = "comparing the decisions …"
        self.items.refresh_rows()
        self._go(_ITEMS)
        self._find_partings(arm)

    @work(thread=True, exclusive=True, group="traces", exit_on_error=False)
    def _find_partings(self, arm: ArmPair) -> None:
        comparison = self.comparison
        assert comparison is not None
        pairs: list[ItemPair] = []
        for a, b in arm.paired.pairs:
            if arm is not self.arm or not self.is_attached:
                return  # another method was opened meanwhile, or the screen was closed
            try:
                words = comparison.traces(arm, a, b).summary
            except SteerError as error:
                words = f"not readable: {error.what}"
            pairs.append(ItemPair(a, b, words))
        self.app.call_from_thread(self._show_pairs, arm, pairs)

    def _show_pairs(self, arm: ArmPair, pairs: list[ItemPair]) -> None:
        if arm is self.arm:
            self._pairs = pairs
            self._show_kind()

    def _show_kind(self) -> None:
        self.item_source.show([pair for pair in self._pairs if self.cell in (None, pair.cell)])
        self.items.empty = _NO_ITEM if self._pairs else _NOTHING_IN_COMMON
        self.items.refresh_rows()
        self.items.go_to(0)
        self._show_about()

    def action_next_kind(self) -> None:
        """All items, then each kind of the 2×2 that has some; nothing while they are still compared."""
        if not self._pairs:
            return
        there = {pair.cell for pair in self._pairs}
        kinds: list[int | None] = [None, *(kind for kind in _KINDS if kind in there)]
        at = kinds.index(self.cell) if self.cell in kinds else 0
        self.cell = kinds[(at + 1) % len(kinds)]
        self._show_kind()

    # ------------------------------------------------------------ an item

    @on(VirtualTable.Selected, f"#{_ITEMS}")
    def _open_item(self) -> None:
        if len(self.item_source):
            self._go(_TRACE)
            self._show_trace()

    def _item_under_cursor(self) -> ItemPair | None:
        return self.item_source.at(self.items.cursor)

    def _show_trace(self) -> None:
        pair, arm, comparison = self._item_under_cursor(), self.arm, self.comparison
        if pair is None or arm is None or comparison is None:
            return
        try:
            traces = comparison.traces(arm, pair.a, pair.b)
        except SteerError as error:
            problem = str(error)
            self.detail.show(lambda palette, width: Text(problem, palette["bad"]))
            return
        blocks = trace_blocks(pair.a, pair.b, traces, self._whole)
        self.detail.show(lambda palette, width: draw(blocks, palette, width))

    def action_step(self, by: int) -> None:
        """The item before or after."""
        self.items.go_to(self.items.cursor + by)

    def action_all_steps(self) -> None:
        """All steps, or those from the first difference on."""
        self._whole = not self._whole
        self._show_trace()

    # ------------------------------------------------------------ commands

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether the key does something here."""
        match action:
            case "step" | "all_steps":
                return self.level == _TRACE
            case "next_kind":
                return self.level == _ITEMS
            case "open_run":
                return self.comparison is not None
            case _:
                return True

    def action_open_run(self, number: int) -> None:
        """Open one of the runs, at the item under the cursor."""
        arm = self._arm_under_cursor() if self.level == _METHODS else self.arm
        item = self._item_under_cursor() if self.level != _METHODS else None
        system = arm.a.system if arm else ""
        place = None
        if system == "ESM" and arm is not None:
            shown = decisions_of(arm.a.name, item.a.id) if item else f"method:{arm.a.name}"
            place = Place("decisions", filter=shown)
        self.post_message(RunRequested(self.runs[number], system, place))

    def action_back(self) -> None:
        """A level back, else close."""
        if self.level == _METHODS:
            self.dismiss()
        else:
            self._go(_ITEMS if self.level == _TRACE else _METHODS)
