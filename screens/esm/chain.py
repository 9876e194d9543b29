"""The chain of an answer's segments: what was injected in each, and where the answer left greedy's way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.style import Style
from rich.text import Text

from app.blocks.block import Target
from app.blocks.fit import fit
from app.blocks.terminal import link
from app.entry_names import name_within
from app.state.decisions import NULL
from app.state.esm import ESMState

_NAME = 22
_BETWEEN = " ─ "


@dataclass(frozen=True)
class Chain:
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
    number, texts = state.names.find, state.names.texts
    of_method, of_example = number(method), number(example)
    if of_method is None or of_example is None:
        return Chain(method, example, (), 0, None)
    chosen = state.decisions.column("chosen")
    names = [
        None if chosen[row] == NULL else state.entry_name(texts[chosen[row]])
        for row in state.decisions.chain(of_method, of_example)
    ]
    outcomes = state.outcomes
    left, sign = outcomes.left(of_method, of_example), outcomes.against_greedy(of_method, of_example)
    return Chain(method, example, names, left, sign)


def draw_chain(chain: Chain, m: int, palette: Mapping[str, Style], width: int) -> Text:
    """A segment after the other, the one looked at in brackets; below it where the answer left greedy's way."""
    text, column = Text(), 0
    for at, entry in enumerate(chain.chosen, start=1):
        piece = _piece(chain, at, entry, at == m, palette)
        if at > 1 and column + len(_BETWEEN) + piece.cell_len > width:
            text.append("\n")
            column = 0
        elif at > 1:
            text.append(_BETWEEN, palette["dim"])
            column += len(_BETWEEN)
        text.append_text(piece)
        column += piece.cell_len
    if (remark := _remark(chain)) is not None:
        text.append("\n").append(remark)
    return text


def _piece(chain: Chain, at: int, entry: str | None, here: bool, palette: Mapping[str, Style]) -> Text:
    target = Target("decision", f"{chain.method} {chain.example} {at}")
    text = Text()
    if at == chain.left:
        tone = {1: "good", -1: "bad"}.get(chain.sign or 0, "warn")
        text.append(sign_of(chain) + " ", palette[tone])
    name = "null" if entry is None else f"▸{fit(name_within(entry, _NAME), _NAME)}"
    label = f"{at} {name}"
    style = palette["strong"] if here else palette["dim"] if entry is None else Style.null()
    return text.append_text(link(f"[{label}]" if here else label, target, style))


def sign_of(chain: Chain) -> str:
    """▲ fixed, ▼ broken, ≠ another text with the same outcome."""
    return {1: "▲", -1: "▼"}.get(chain.sign or 0, "≠")


def _remark(chain: Chain) -> str | None:
    if chain.sign is None:
        return None
    if not chain.left:
        return "the text is greedy's to the end" if chain.sign == 0 else None
    came = {1: "and came out right", -1: "and came out wrong"}.get(chain.sign, "and came out the same")
    entry = chain.chosen[chain.left - 1]
    cause = "nothing was injected there" if entry is None else f"{entry} was injected there"
    return f"{sign_of(chain)} left greedy's way in segment {chain.left} {came}: {cause}"
