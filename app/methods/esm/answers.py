"""The answer to an example under a method, with greedy's beside it."""

from __future__ import annotations

from typing import NamedTuple

from app.blocks.block import Block, Changes, Heading, Span, Words, facts, writing
from app.blocks.model_text import one_line
from app.methods.source import CaseSource
from app.state.esm import GREEDY
from app.wording.figures import outcome
from app.wording.words import short_method_name
from engine.events import ExampleEvaluated


class Answers(NamedTuple):
    """`steered`: under `method`; `greedy`: under greedy, where that is another method. None: not known."""

    method: str
    steered: ExampleEvaluated | None
    greedy: ExampleEvaluated | None


def answers_of(method: str, example: str, source: CaseSource) -> Answers:
    """The answers to an example."""
    outcomes = source.state.esm.outcomes
    steered = source.at(outcomes.place(method, example), ExampleEvaluated)
    beside = None if method == GREEDY else outcomes.place(GREEDY, example)
    return Answers(method, steered, source.at(beside, ExampleEvaluated))


def answers_line(answers: Answers) -> Words:
    """`right is 28   esm 28 ✓   greedy 34 ✗`; nothing where none is evaluated."""
    method, steered, greedy = answers
    known = steered or greedy
    if known is None:
        return ""
    words: list[str | Span] = [Span("right is ", "dim"), Span(one_line(known.gold), "strong")]
    for name, answer in ((method, steered), (GREEDY, greedy)):
        if answer is not None:
            given = f"{one_line(answer.pred) or 'nothing'} {outcome(answer.correct)}"
            label = Span(f"   {short_method_name(name)} ", "dim")
            words += [label, Span(given, "good" if answer.correct else "bad")]
    return words


def whole_blocks(answers: Answers, marked: tuple[int, int] = (0, 0)) -> list[Block]:
    """The whole answer beside greedy's. `marked`: the characters of it that the case is about."""
    method, steered, greedy = answers
    if steered is None:
        return []
    if greedy is None or greedy.text == steered.text:
        same = ", as greedy's" if greedy is not None else ""
        return [Heading(f"the whole answer{same}", 4), writing(steered.text)]
    here = " (▸ this segment)" if marked[1] else ""
    writers = f"{short_method_name(method)} wrote{here}", "greedy wrote"
    return [Changes(steered.text, greedy.text, writers, marked)]


def evaluated_blocks(event: ExampleEvaluated, source: CaseSource) -> list[Block]:
    """An example's answer, beside greedy's."""
    answers = answers_of(event.method, event.example, source)._replace(steered=event)
    return [
        Heading("Question", 4),
        writing(event.question),
        facts([("answers", answers_line(answers))]),
        *whole_blocks(answers),
    ]
