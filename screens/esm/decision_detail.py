"""A decision as a story: the question and the answers, the chain of segments, the rule, the candidates, the texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from app.blocks.block import Target
from app.blocks.model_text import model_text, one_line, tail
from app.blocks.terminal import link
from app.blocks.two_texts import draw_texts
from app.figures import outcome
from app.gate_text import gate_sentence
from app.text import counted
from engine.esm.entry_names import chosen_name
from engine.events import DecisionTaken, ExampleEvaluated
from screens.esm.candidates import draw_candidates
from screens.esm.chain import Chain, draw_chain

Palette = Mapping[str, Style]
"""Styles by tone: dim, strong, good, bad, accent, warn, heading."""

_PREFIX = 600
_QUESTION_LINES = 3
_LABEL = 8


@dataclass(frozen=True)
class Decided:
    """A decision with the outcome of its example under the same method and under greedy, once they are known."""

    decision: DecisionTaken
    chain: Chain
    question: str = ""
    own: ExampleEvaluated | None = None
    greedy: ExampleEvaluated | None = None


def draw_decision(decided: Decided, palette: Palette, width: int) -> RenderableType:
    """Everything about a decision in `width` columns."""
    d = decided.decision
    parts: list[RenderableType] = [
        _title(decided, palette, width),
        _top(decided, palette, width - _LABEL - 1),
    ]
    if d.candidates or d.null_probe:
        parts += [Text(), draw_candidates(d, palette, width)]
    parts += [Text(), _segment(decided, palette, width)]
    parts += [Text(), _whole(decided, palette, width), Text(), _figures(d, palette)]
    return Group(*parts)


def _title(decided: Decided, palette: Palette, width: int) -> Text:
    d = decided.decision
    what = "the rest of the answer" if d.phase == "tail" else f"segment {d.m}"
    text = link(d.example, Target("example", f"{d.method} {d.example}"), palette["strong"])
    text.append(f"  {d.method}  {what}   ")
    text.overflow = "ellipsis"
    own, greedy = decided.own, decided.greedy
    if own is None:
        return text.append("· not evaluated yet", palette["dim"])
    text.append(_outcome(own), palette["good" if own.correct else "bad"])
    if greedy is not None and d.method != "greedy":
        beside, turned = f"  greedy {_outcome(greedy)}", ""
        if greedy.correct != own.correct:
            turned = "  ▲ fixed" if own.correct else "  ▼ broken"
        # The line `answers` says it, too; a scroll bar may come and take two columns.
        if text.cell_len + len(beside) + len(turned) <= width - 2:
            text.append(beside)
        text.append(turned, palette["good" if own.correct else "bad"])
    return text


def _outcome(evaluated: ExampleEvaluated) -> str:
    return f"{outcome(evaluated.correct)} {'right' if evaluated.correct else 'wrong'}"


def _top(decided: Decided, palette: Palette, width: int) -> RenderableType:
    """Question, answers, chain and rule, each beside its name."""
    d = decided.decision
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=_LABEL, style=palette["dim"])
    grid.add_column(overflow="fold")
    if decided.question:  # of a long one the end: what is asked stands there
        grid.add_row("question", tail(one_line(decided.question), max(40, _QUESTION_LINES * width)))
    grid.add_row("answers", _answers(decided, palette))
    grid.add_row("segments", draw_chain(decided.chain, d.m, palette, width))
    grid.add_row("rule", Text.assemble((f"{d.gate}: ", palette["accent"]), gate_sentence(d)))
    return grid


def _answers(decided: Decided, palette: Palette) -> Text:
    """The right answer and those that were given."""
    own, greedy, method = decided.own, decided.greedy, decided.decision.method
    known = own or greedy
    if known is None:
        return Text("none yet", palette["dim"])
    text = Text.assemble(("right is ", palette["dim"]), (one_line(known.gold), palette["strong"]))
    for name, evaluated in ((method, own), *((("greedy", greedy),) if method != "greedy" else ())):
        if evaluated is not None:
            text.append(f"   {name} ", palette["dim"])
            text.append(
                f"{one_line(evaluated.pred) or 'nothing'} {outcome(evaluated.correct)}",
                palette["good" if evaluated.correct else "bad"],
            )
    return text


def _segment(decided: Decided, palette: Palette, width: int) -> RenderableType:
    """What was committed, beside what null would have written if that is known."""
    d = decided.decision
    heading = f"committed with {chosen_name(d)}" if d.chosen else "committed, not steered"
    if d.chosen is not None and d.null_segment is not None:
        return draw_texts(d.segment, d.null_segment, (heading, "null would have written"), palette, width)
    if d.chosen is not None and d.null_probe:
        null = Text.assemble(
            ("null would have begun  ", palette["dim"]), one_line(d.null_probe), (" …", palette["dim"])
        )
    elif d.chosen is not None:
        null = Text(
            "what null would have written was not recorded (online.record_null does that)", palette["dim"]
        )
    else:
        null = Text()
    text = model_text(d.segment, palette["strong"], palette["dim"])
    return Group(Text(heading, palette["heading"]), text, *([null] if null else []))


def _whole(decided: Decided, palette: Palette, width: int) -> RenderableType:
    """The whole answer, compared with greedy's; before there is one, the text so far."""
    d, own, greedy = decided.decision, decided.own, decided.greedy
    if own is None:
        text = model_text(tail(d.prefix, _PREFIX), Style.null(), palette["dim"])
        return Group(Text("written before it", palette["heading"]), text)
    if greedy is None or d.method == "greedy" or own.text == greedy.text:
        heading = "the whole answer" + (
            ", as greedy's" if greedy is not None and d.method != "greedy" else ""
        )
        return Group(Text(heading, palette["heading"]), model_text(own.text, Style.null(), palette["dim"]))
    start = own.text.find(d.segment, min(len(d.prefix), len(own.text))) if d.segment else -1
    here = (start, start + len(d.segment)) if start >= 0 else (0, 0)
    names = f"{d.method} wrote (▸ this segment)", "greedy wrote"
    return draw_texts(own.text, greedy.text, names, palette, width, here)


def _figures(d: DecisionTaken, palette: Palette) -> Text:
    """The figures that no table has: budget, and the end of the segment."""
    figures = [
        ("entries searched", str(d.memory_size)),
        ("committed", f"{counted(d.committed_tokens, 'tokens')} after {d.tokens_before}"),
        ("probes", counted(d.probe_tokens, "tokens")),
        ("ended by", d.ended or "–"),
    ]
    text = Text()
    for i, (name, value) in enumerate(figures):
        text.append(f"{'   ' if i else ''}{name} ", palette["dim"])
        text.append(value)
    return text
