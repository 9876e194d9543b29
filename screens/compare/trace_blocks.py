"""Two traces of an item side by side, from the step at which they part."""

from __future__ import annotations

from app.blocks.block import Beside, Block, Changes, Heading, Paragraph, Span, Writing
from app.compared.words import difference_sentence, differing
from app.wording.figures import fixed, outcome_words
from engine.comparison.items import Item
from engine.comparison.trace import AlignedTraces, Step, StepPair, Value, same

_ABREAST = 74


def trace_blocks(a: Item, b: Item, traces: AlignedTraces, whole: bool) -> list[Block]:
    """The item, its two outcomes, and the steps: all of them if `whole`, else from the first that differs."""
    first = 0 if whole or traces.first is None else traces.first
    blocks: list[Block] = [
        Paragraph([Span(a.id, "strong"), "   A ", _outcome(a), "   B ", _outcome(b)]),
        Paragraph(difference_sentence(traces), "accent"),
        Paragraph(a.question, "dim"),
    ]
    if first:
        steps = f"{first} steps before it are" if first > 1 else "The step before it is"
        blocks.append(Paragraph(f"\n{steps} the same in both; space shows all.", "dim"))
    for number, pair in enumerate(traces.steps[first:], first):
        blocks += [_heading(pair, number == traces.first), *_step(pair)]
    return blocks


def _outcome(item: Item) -> Span:
    if item.right is None:
        return Span(f"score {fixed(item.score)}")
    return Span(outcome_words(item.right), "good" if item.right else "bad")


def _heading(pair: StepPair, is_first: bool) -> Heading:
    if pair.differs:
        words = Span(f"  ≠ {differing(pair)}", "warn")
    else:
        other = f"another {pair.step.weighed_as}, the same decision" if pair.weighed_otherwise else "the same"
        words = Span(f"  {other}", "dim")
    return Heading([Span("▶ " if is_first else "  ", "accent"), pair.step.title, words])


def _step(pair: StepPair) -> list[Block]:
    a, b = pair.a, pair.b
    texts = [step.text.rstrip() for step in (a, b) if step is not None]
    text = Changes(texts[0], texts[1], ("A", "B")) if len(set(texts)) > 1 else Writing(texts[0])
    if a is not None and b is not None and not pair.differs and not pair.weighed_otherwise:
        return [Writing(texts[0], "dim")]
    sides = [
        [Paragraph(Span(name, "strong")), *_side(step, other)]
        for name, step, other in (("A", a, b), ("B", b, a))
    ]
    return [Beside(*sides, least=_ABREAST), text]


def _side(step: Step | None, other: Step | None) -> list[Block]:
    """What was decided, and the probes that differ from the other run's."""
    if step is None:
        return [Paragraph("This run has no such step.", "dim")]
    theirs = {} if other is None else {name: entry for entry, name in other.called.items()}

    def shown(value: Value) -> str:
        """An id as it is called: with the id, where the other run calls another so."""
        name = step.called.get(str(value), "")
        return f"{name} ({value})" if name and theirs.get(name, value) != value else name or _value(value)

    blocks: list[Block] = []
    for name, value in step.decided.items():
        is_same = other is not None and same(value, other.decided.get(name))
        sign, tone = ("  ", "") if is_same else ("≠ ", "warn")
        blocks.append(Paragraph([Span(sign, "warn"), Span(f"{name} ", "dim"), Span(shown(value), tone)]))
    if step.note:
        blocks.append(Paragraph(f"  {step.note}", "dim"))
    others = {} if other is None else other.weighed
    weighed = {name: value for name, value in step.weighed.items() if not same(value, others.get(name))}
    if weighed and step.weighed_as == "probe":
        blocks.append(Paragraph("  probed: mean log-probability", "dim"))
    blocks += [Paragraph(f"≠ {_value(value):>6} {shown(name)}", "warn") for name, value in weighed.items()]
    return blocks


def _value(value: Value) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    return fixed(value) if isinstance(value, float) else str(value)
