"""The chain of an answer's segments: what was injected in each, and where the answer left greedy's way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from app.blocks.block import Span, Target
from app.methods.esm.entry_words import name_within
from app.state.decisions import NULL
from app.state.esm import ESMState
from app.table.column import Tone

_NAME = 22
_BETWEEN = " ─ "
_TONES: dict[int, Tone] = {1: "good", -1: "bad"}
_CAME = {1: "and came out right", -1: "and came out wrong"}


class Chain(NamedTuple):
    """`chosen`: for each segment the name of the entry that was injected, None for null. `left`: the segment,
    from 1, in which the answer left greedy's way, 0 where it did not; `sign`: how the answer came out against
    greedy's, as in `Outcomes.against_greedy`."""

    method: str
    example: str
    chosen: Sequence[str | None]
    left: int
    sign: int | None


def chain_of(state: ESMState, method: str, example: str) -> Chain:
    """The chain of an example under a method, as far as it is known."""
    of_method, of_example = state.names.get(method), state.names.get(example)
    if of_method is None or of_example is None:
        return Chain(method, example, (), 0, None)
    chosen, texts = state.decisions.column("chosen"), state.names.texts
    rows = state.decisions.chain(of_method, of_example)
    names = tuple(None if chosen[row] == NULL else state.entry_name(texts[chosen[row]]) for row in rows)
    outcomes = state.outcomes
    left, sign = outcomes.left(of_method, of_example), outcomes.against_greedy(of_method, of_example)
    return Chain(method, example, names, left, sign)


def chain_line(chain: Chain, m: int) -> list[str | Span]:
    """`1 null ─ ▲ [2 ▸Backward → Forward] ─ 3 null`: the segment `m` in brackets; each leads to its decision."""
    words: list[str | Span] = []
    for at, entry in enumerate(chain.chosen, start=1):
        words += [Span(_BETWEEN, "dim")] if words else []
        words += _segment(chain, at, entry, here=at == m)
    return words


def _segment(chain: Chain, at: int, entry: str | None, here: bool) -> list[str | Span]:
    words: list[str | Span] = []
    if at == chain.left:
        words.append(Span(f"{_sign(chain)} ", _TONES.get(chain.sign or 0, "warn")))
    label = f"{at} null" if entry is None else f"{at} ▸{name_within(entry, _NAME)}"
    target = Target("decision", f"{chain.method} {chain.example} {at}")
    tone: Tone = "strong" if here else "dim" if entry is None else ""
    return [*words, Span(f"[{label}]" if here else label, tone, target)]


def _sign(chain: Chain) -> str:
    """▲ turned right, ▼ turned wrong, ≠ another text with the same outcome."""
    return {1: "▲", -1: "▼"}.get(chain.sign or 0, "≠")


def parting(chain: Chain) -> str:
    """Where the answer left greedy's way, what was injected there, and what came of it; empty while it is not known."""
    if chain.sign is None:
        return ""
    if not chain.left:
        return "" if chain.sign else "the text is greedy's to the end"
    came, entry = _CAME.get(chain.sign, "and came out the same"), chain.chosen[chain.left - 1]
    cause = "nothing" if entry is None else entry
    return f"{_sign(chain)} left greedy's way in segment {chain.left} {came}: {cause} was injected there"
