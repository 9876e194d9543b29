"""An entry of the memory: what it was made from, and what came of it when it was injected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from app.blocks.block import Block, Paragraph, Span, Target, Words, writing
from app.methods.cases import Cases
from app.methods.esm.pairs import pair_blocks
from app.methods.source import CaseSource
from app.state.esm import METHOD, ESMState, Pick
from app.state.ledger import UNUSED, EntryUse
from app.state.run import RunState
from app.table.column import Cell, ListColumn, Tone
from app.table.filter import quoted
from app.wording.figures import fixed, signed
from app.wording.text import counted
from engine.esm.library.entry_names import short_name
from engine.events import EntryPicked, PairMined
from engine.run.event_log import LogPlace

_EMPTY = """No entry has been picked yet.

The select stage picks from the mined pairs those that add most quality and variety.
Each entry appears here as it is picked. The memory stage then builds the index that steering searches."""
_WORST = 3
"""How many of the entries that hurt are named below the table."""
_RIGHT = "a right entry is never injected: near it the state needs no steering"


class Entry(NamedTuple):
    """An entry as it was picked, and what came of it."""

    pick: Pick
    use: EntryUse

    @property
    def place(self) -> LogPlace:
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
    ListColumn("reason", "by", 6, priority=8, help="dpp, or floor of its control point", value=lambda e: e.pick.reason),
    ListColumn("id", "id", 11, priority=9, name=True, value=lambda e: e.pick.entry),
)  # fmt: skip


def _rows(state: RunState) -> list[Entry]:
    ledger = state.esm.ledger
    return [Entry(pick, ledger.get(pick.entry, UNUSED)) for pick in state.esm.picks]


def hurting(state: ESMState) -> list[str]:
    """The entries that turned more answers wrong than right, the worst first."""
    nets = {name: use.net or 0 for name, use in state.ledger.items()}
    return sorted((name for name, net in nets.items() if net < 0), key=lambda name: (nets[name], name))


def _remark(state: RunState) -> str:
    """How many help and hurt, and those that hurt most."""
    ledger, hurt = state.esm.ledger, hurting(state.esm)
    if not ledger:
        return ""
    help = sum((use.net or 0) > 0 for use in ledger.values())
    text = f"{len(ledger):,} were injected: {help:,} help, {len(hurt):,} hurt"
    worst = "; ".join(f"{state.esm.entry_name(name)} {signed(ledger[name].net, 0)}" for name in hurt[:_WORST])
    return f"{text}: {worst}" if hurt else text


def entry_blocks(event: EntryPicked, source: CaseSource) -> list[Block]:
    """What it is, what came of it, and the pair that it was made from."""
    use = source.state.esm.ledger.get(event.tool_name, UNUSED)
    what = f"  {event.kind}, control point {event.control_point_m}, layer {event.layer}"
    return [
        Paragraph((Span(source.state.esm.entry_name(event.tool_name), "strong"), what)),
        Paragraph(_use(event, use, source.state.esm.entry_name(event.tool_name))),
        Paragraph((Span("mined from ", "dim"), event.example, Span(f"   id {event.tool_name}", "dim"))),
        *_pair(event, source),
    ]


def _use(event: EntryPicked, use: EntryUse, name: str) -> Words:
    if event.kind == "right":
        return Span(_RIGHT, "dim")
    if not use.used:
        return Span("not injected by esm", "dim")
    decisions = Target("filter", f"method:{METHOD} chosen:{quoted(name)}")
    injected = Span(counted(use.used, "decisions"), "accent", decisions)
    turned = f"   ▲ {use.right} turned right  ▼ {use.wrong} turned wrong"
    mean = f"   mean Δlogp {signed(use.mean_logprob)}"
    return Span("injected in ", "dim"), injected, Span(turned + mean, "dim")


def _pair(event: EntryPicked, source: CaseSource) -> list[Block]:
    """The pair that the entry was made from, if the log has it; else the question."""
    state = source.state.esm
    made_from = (event.example, event.control_point_m, event.layer)
    pair = next((p for p in state.pairs if (p.example, p.m, p.layer) == made_from), None)
    mined = None if pair is None else source.at(pair.place, PairMined)
    if mined is None:
        return [writing(state.question(event.example))]
    return pair_blocks(mined, source, Target("pair", mined.pair))


ENTRIES: Cases[Entry] = Cases(
    name="entries",
    columns=COLUMNS,
    rows=_rows,
    event=EntryPicked,
    words=lambda event: f"library entry {event.name or short_name(event.tool_name)}",
    draw=entry_blocks,
    empty=_EMPTY,
    notable=lambda state, entry: (entry.use.net or 0) < 0,
    notable_words="entry that turned more answers wrong than right",
    remark=_remark,
    order=("used", True),
)
