"""The tab Library: the entries of the memory as they were picked, and what came of each when it was injected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text
from textual.binding import BindingType

from app.blocks.block import Target
from app.blocks.model_text import one_line
from app.blocks.terminal import link
from app.figures import fixed, signed
from app.state.esm import METHOD, Pair, Pick
from app.state.ledger import EntryUse
from app.state.method import Place
from app.state.run import RunState
from app.table.column import Cell, ListColumn, Tone
from app.table.filter import quoted
from app.text import counted
from engine.events import MemoryBuilt
from screens.esm.pairs import pair_whole
from screens.panes.list_pane import ListPane, telling_keys
from screens.run_session import Session
from screens.widgets.rows import ListSource


class Entry(NamedTuple):
    """An entry as it was picked, and what came of it."""

    pick: Pick
    use: EntryUse

    @property
    def place(self) -> Place:
        """Where its pick stands in the log."""
        return self.pick.place


def _count(n: int, tone: Tone = "") -> Cell:
    return Cell(f"{n:,}", tone) if n else Cell(fixed(None), "dim")


def _net(net: int) -> Cell:
    if not net:
        return Cell(fixed(None), "dim")
    return Cell(signed(net, 0), "good" if net > 0 else "bad")


COLUMNS: Sequence[ListColumn[Entry]] = (
    ListColumn("order", "#", 4, "right", 0, help="order of picking", value=lambda e: e.pick.order),
    ListColumn("entry", "entry", 12, flex=True, value=lambda e: e.pick.name),
    ListColumn("kind", "kind", 5, priority=2, help="wrong: can be injected; right: speaks for null",
               value=lambda e: e.pick.kind),
    ListColumn("used", "used", 5, "right", 0, help="decisions of esm that injected it", value=lambda e: e.use.used,
               show=_count),
    ListColumn("turned_right", "▲", 3, "right", 0,
               help="answers it turned right: wrong under greedy; it was injected where the answer left greedy's way",
               value=lambda e: e.use.right, show=lambda n: _count(n, "good")),
    ListColumn("turned_wrong", "▼", 3, "right", 0,
               help="answers it turned wrong: right under greedy; it was injected where the answer left greedy's way",
               value=lambda e: e.use.wrong, show=lambda n: _count(n, "bad")),
    ListColumn("net", "net", 4, "right", 0, help="turned right minus turned wrong: below zero it hurts",
               value=lambda e: e.use.net or 0, show=_net),
    ListColumn("logprob", "Δlogp", 6, "right", 1,
               help="mean of its probes' log-probability minus null's, nats a token",
               value=lambda e: e.use.mean_logprob, show=signed),
    ListColumn("example", "example", 11, priority=6, name=True, value=lambda e: e.pick.example),
    ListColumn("m", "m", 2, "right", 1, help="control point", value=lambda e: e.pick.m),
    ListColumn("layer", "layer", 5, "right", 7, value=lambda e: e.pick.layer),
    ListColumn("quality", "Q", 6, "right", 1, help="mean reward, right minus wrong", value=lambda e: e.pick.quality,
               show=fixed),
    ListColumn("gain", "gain", 7, "right", 1, help="what it added to the objective", value=lambda e: e.pick.gain,
               show=signed),
    ListColumn("objective", "objective", 9, "right", 5, value=lambda e: e.pick.objective, show=fixed),
    # The first has no entry before it: its similarity is below every real one.
    ListColumn("similarity", "max sim", 7, "right", 3, help="to the nearest entry picked before",
               value=lambda e: e.pick.max_similarity, show=lambda near: fixed(None if near <= -1 else near)),
    ListColumn("reason", "by", 6, priority=8, help="dpp, or floor of its control point",
               value=lambda e: e.pick.reason),
    ListColumn("id", "id", 11, priority=9, name=True, value=lambda e: e.pick.entry),
)  # fmt: skip

_WORST = 3
"""How many of the entries that hurt are named below the table."""

_NO_PICKS = """No entry has been picked yet.

The select stage picks from the mined pairs those that add most quality and variety.
Each entry appears here as it is picked. The memory stage then builds the index that steering searches."""


class LibraryPane(ListPane):
    """Picked entries with their ledger; and the memory that was built of them."""

    LINKS = True
    order = ("used", True)
    BINDINGS: ClassVar[list[BindingType]] = telling_keys(
        "that hurts", "entry that turned more answers wrong than right, in Library"
    )

    def __init__(self, session: Session, *, id: str | None = None) -> None:
        super().__init__(session, ListSource(COLUMNS, "entries"), _NO_PICKS, id=id)

    def items(self, state: RunState) -> list[Entry]:
        ledger, none = state.esm.ledger, EntryUse()
        return [Entry(pick, ledger.get(pick.entry, none)) for pick in state.esm.picks]

    def telling(self, item: Entry) -> bool:
        return (item.use.net or 0) < 0

    def key(self, item: Entry) -> object:
        return item, self.session.state.esm.memory

    def remark(self) -> str:
        nets = {name: use.net or 0 for name, use in self.session.state.esm.ledger.items()}
        if not nets:
            return ""
        hurt = sorted((net, name) for name, net in nets.items() if net < 0)
        text = (
            f"{len(nets):,} were injected: {sum(net > 0 for net in nets.values()):,} help, {len(hurt):,} hurt"
        )
        name = self.session.state.esm.entry_name
        worst = "; ".join(f"{name(entry)} −{-net}" for net, entry in hurt[:_WORST])
        return f"{text}: {worst}" if hurt else text

    def draw(self, item: Entry, palette: dict[str, Style], width: int) -> RenderableType:
        state = self.session.state.esm
        parts: list[RenderableType] = [self._title(item, palette), Text()]
        return Group(
            *parts, _memory(state.memory, palette, width), Text(), self._pair(item.pick, palette, width)
        )

    def _title(self, item: Entry, palette: dict[str, Style]) -> Text:
        pick, use = item
        text = Text.assemble(
            (pick.name, palette["strong"]), f"  {pick.kind}, control point {pick.m}, layer {pick.layer}\n"
        )
        if pick.kind == "right":
            text.append(
                "a right entry is never injected: near it the state needs no steering", palette["dim"]
            )
        elif not use.used:
            text.append("not injected by esm", palette["dim"])
        else:
            text.append("injected in ", palette["dim"])
            decisions = Target("filter", f"method:{METHOD} chosen:{quoted(pick.name)}")
            text.append_text(link(counted(use.used, "decisions"), decisions, palette["accent"]))
            text.append(f"   ▲ {use.right} turned right  ▼ {use.wrong} turned wrong", palette["dim"])
            text.append(f"   mean Δlogp {signed(use.mean_logprob)}", palette["dim"])
        text.append("\nmined from ", palette["dim"]).append(pick.example)
        return text.append(f"   id {pick.entry}", palette["dim"])

    def _pair(self, pick: Pick, palette: dict[str, Style], width: int) -> RenderableType:
        """The pair that the entry was made from, if the log has it."""
        state = self.session.state.esm
        wanted = (pick.example, pick.m, pick.layer)
        pair: Pair | None = next((p for p in state.pairs if (p.example, p.m, p.layer) == wanted), None)
        if pair is None:
            return Text(one_line(state.question(pick.example)))
        head = Text.assemble(("pair ", palette["dim"]))
        head.append_text(link(pair.entry_name(), Target("pair", pair.pair), palette["accent"]))
        return Group(head, pair_whole(self.session, pair, palette, width))


def _memory(memory: MemoryBuilt | None, palette: dict[str, Style], width: int) -> RenderableType:
    """Entries for each control point: █ wrong ones, which can be injected, ░ right ones."""
    if memory is None:
        return Text("The memory is built when all entries have been picked.", palette["dim"])
    layers = ", ".join(map(str, memory.layers))
    title = Text.assemble(
        ("memory", palette["heading"]),
        f"  {counted(memory.entries, 'entries')} × {memory.hidden_size}, layers {layers}",
        ("   █ wrong, can be injected  ░ right, speaks for null", palette["dim"]),
    )
    grid = Table.grid(padding=(0, 2, 0, 0))
    for justify in ("left", "right", "right", "left"):
        grid.add_column(justify=justify, no_wrap=True)  # type: ignore[arg-type]
    most = max((sum(counts) for counts in memory.by_control_point.values()), default=1) or 1
    room = max(8, min(48, width - 30))
    for m, (wrong, right) in sorted(memory.by_control_point.items(), key=lambda item: int(item[0])):
        bar = Text("█" * round(wrong / most * room), palette["accent"])
        bar.append("░" * round(right / most * room))
        grid.add_row(f"control point {m}", str(wrong), str(right), bar)
    return Group(title, grid)
