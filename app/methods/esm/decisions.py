"""A decision: the question and the answers, the chain of segments, the rule, the candidates, the texts."""

from __future__ import annotations

from app.blocks.block import Block, Changes, Heading, Paragraph, Span, Target, Words, facts, writing
from app.blocks.model_text import one_line, tail
from app.methods.cases import Cases
from app.methods.esm.answers import Answers, answers_line, answers_of, evaluated_blocks, whole_blocks
from app.methods.esm.candidates import candidate_blocks
from app.methods.esm.chain import chain_line, chain_of, parting
from app.methods.place import Place
from app.methods.source import CaseSource
from app.state.run import RunState
from app.table.decision_fields import sign_where_it_turned
from app.table.filter import quoted
from app.wording.figures import outcome_words
from app.wording.gate_text import gate_sentence
from app.wording.text import counted
from app.wording.words import short_method_name
from engine.esm.library.entry_names import chosen_name
from engine.events import DecisionTaken, ExampleEvaluated

_EMPTY = """No decision has been taken yet.

The eval stage decides at every control point of every example what to inject.
Each decision appears here as soon as it is taken, with all its candidates."""
_QUESTION, _PREFIX = 240, 600
"""Characters of a question above the answers, and of the text before a segment."""
_NOT_RECORDED = "what null would have written was not recorded (online.record_null does that)"


def decisions_of(method: str, example: str) -> str:
    """The filter that shows the decisions of an answer; without a method, of all answers to the example."""
    return f"method:{method} example:{quoted(example)}" if method else f"example:{quoted(example)}"


def decision_blocks(d: DecisionTaken, source: CaseSource) -> list[Block]:
    """Everything about a decision."""
    d = source.state.esm.named(d)
    answers = answers_of(d.method, d.example, source)
    question = source.state.esm.question(d.example)
    long = [Heading("The whole question", 4), writing(question)] if len(question) > _QUESTION else []
    return [
        Paragraph(_title(d, answers)),
        _facts(d, answers, source),
        *candidate_blocks(d),
        *_segment(d),
        *_whole(d, answers),
        Paragraph(_figures(d)),
        *long,
    ]


def _title(d: DecisionTaken, answers: Answers) -> Words:
    what = "the rest of the answer" if d.phase == "tail" else f"segment {d.m}"
    title = [
        Span(d.example, "strong", Target("example", f"{d.method} {d.example}")),
        Span(f"  {short_method_name(d.method)}  {what}   "),
    ]
    _, steered, greedy = answers
    if steered is None:
        known = "of a request, whose right answer nobody knows" if d.stage == "serve" else "not evaluated yet"
        return [*title, Span(f"· {known}", "dim")]
    turned = ""
    if greedy is not None and greedy.correct != steered.correct:
        turned = "  ▲ fixed" if steered.correct else "  ▼ broken"
    return [*title, Span(outcome_words(steered.correct) + turned, "good" if steered.correct else "bad")]


def _facts(d: DecisionTaken, answers: Answers, source: CaseSource) -> Block:
    """Of a long question the end: what is asked stands there."""
    state = source.state.esm
    chain = chain_of(state, d.method, d.example)
    return facts(
        [
            ("question", tail(one_line(state.question(d.example)), _QUESTION)),
            ("answers", answers_line(answers)),
            ("segments", chain_line(chain, d.m)),
            ("turned", parting(chain)),
            ("rule", (Span(f"{d.gate.replace('_', ' ')}: ", "accent"), gate_sentence(d))),
        ]
    )


def _segment(d: DecisionTaken) -> list[Block]:
    """What was committed, beside what null would have written if that is known."""
    heading = f"committed with {chosen_name(d)}" if d.chosen else "committed, not steered"
    if d.null_segment is not None:
        return [Changes(d.segment, d.null_segment, (heading, "null would have written"))]
    blocks: list[Block] = [Heading(heading, 4), writing(d.segment, "strong")]
    if d.chosen is not None:
        begun = f"null would have begun  {one_line(d.null_probe)} …" if d.null_probe else _NOT_RECORDED
        blocks.append(Paragraph(begun, "dim"))
    return blocks


def _whole(d: DecisionTaken, answers: Answers) -> list[Block]:
    """The whole answer with this segment marked; before there is one, the text so far."""
    if answers.steered is None:
        return [Heading("written before it", 4), writing(tail(d.prefix, _PREFIX))]
    text = answers.steered.text
    start = text.find(d.segment, min(len(d.prefix), len(text))) if d.segment else -1
    return whole_blocks(answers, (start, start + len(d.segment)) if start >= 0 else (0, 0))


def _figures(d: DecisionTaken) -> Words:
    """The figures that no table has: budget, and the end of the segment."""
    figures = (
        ("entries searched", str(d.memory_size)),
        ("committed", f"{counted(d.committed_tokens, 'tokens')} after {d.tokens_before}"),
        ("probes", counted(d.probe_tokens, "tokens")),
        ("ended by", d.ended or "–"),
    )
    return [piece for name, value in figures for piece in (Span(f"{name} ", "dim"), f"{value}   ")]


def _blocks(event: DecisionTaken | ExampleEvaluated, source: CaseSource) -> list[Block]:
    drawn = decision_blocks if isinstance(event, DecisionTaken) else evaluated_blocks
    return drawn(event, source)  # type: ignore[arg-type]


def _words(d: DecisionTaken | ExampleEvaluated) -> str:
    if isinstance(d, ExampleEvaluated):
        return f"answer of {short_method_name(d.method)} to {d.example}"
    which = "the rest" if d.phase == "tail" else f"segment {d.m}"
    return f"decision of {short_method_name(d.method)} on {d.example}, {which}"


def answer_place(event: ExampleEvaluated) -> Place:
    """The decisions of an answer; where it took none, as greedy, those of all answers to its example."""
    return Place(DECISIONS.name, filter=decisions_of(event.method if event.decisions else "", event.example))


def decision_place(state: RunState, name: str) -> Place | None:
    """The place of the decision with this method, example and segment."""
    method, example, m = name.rsplit(" ", 2)
    of_method, of_example = state.esm.names.get(method), state.esm.names.get(example)
    if of_method is None or of_example is None:
        return None
    chain = state.esm.decisions.chain(of_method, of_example)
    return Place(DECISIONS.name, chain[int(m) - 1], open=True) if 0 < int(m) <= len(chain) else None


DECISIONS: Cases[int] = Cases(
    name="decisions",
    columns=(),
    rows=lambda state: range(len(state.esm.decisions)),
    event=DecisionTaken,
    also=(ExampleEvaluated,),
    words=_words,
    draw=_blocks,
    empty=_EMPTY,
    notable=lambda state, number: bool(sign_where_it_turned(state.esm)(number)),
    notable_words="example in this table that differs from greedy",
)
"""Their columns are the fields of the filter: `DECISION_FIELDS`."""
