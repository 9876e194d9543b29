"""GFlowNet: a question with the paths that were drawn for it; an answer from evidence."""

from __future__ import annotations

from app.blocks.block import Block, Heading, Paragraph, Table, facts, writing
from app.figures import fixed, outcome_words
from app.methods.source import CaseSource
from engine.events import EvidenceAnswered, QuestionSampled, SampledPath

_MOST_PATHS = 30


def question(event: QuestionSampled, source: CaseSource) -> list[Block]:
    """The question, its paths, the prompt that they make, and what the reader answered from it."""
    drawn = (
        "without replacement, the most probable first"
        if event.distinct
        else "independently, the most frequent first"
    )
    blocks: list[Block] = [
        Heading("Question", 4),
        writing(event.question),
        facts(
            [
                ("from", ", ".join(event.starts)),
                ("right answers", ", ".join(event.golds or event.answers)),
                ("graph", f"{event.nodes} nodes, {event.edges} edges"),
                ("drawn", f"{event.samples} paths, {drawn}; temperature {event.temperature:g}"),
            ]
        ),
        Heading("Paths", 4),
        Table(
            ("path", "meets", "drawn", "P_F", "R"),
            [_row(path) for path in event.paths[:_MOST_PATHS]],
            3,
            "━ is an edge of a shortest path to an answer, ★ an answer. P_F: the sampler's probability. R: the reward.",
        ),
    ]
    if len(event.paths) > _MOST_PATHS:
        blocks.append(Paragraph(f"{len(event.paths) - _MOST_PATHS} more paths are in the log.", "dim"))
    blocks += [
        Paragraph(f"The reader, from {row.method}: {row.answer or 'nothing'} ({outcome_words(row.hit)})")
        for row in source.state.gflownet.answers
        if row.sample_id == event.sample_id
    ]
    if event.prompt:
        blocks += [Heading("What the language model gets", 4), writing(event.prompt)]
    return blocks


def evidence(event: EvidenceAnswered, source: CaseSource) -> list[Block]:
    """Question, answer, prompt."""
    blocks: list[Block] = [
        Heading("Question", 4),
        writing(event.question),
        facts(
            [
                ("right answers", ", ".join(event.golds)),
                (
                    f"answer from {event.method}",
                    f"{event.answer or event.failure or 'nothing'}, {outcome_words(event.hit)}",
                ),
                ("evidence", f"{event.triples} triples, {event.prompt_tokens} tokens"),
            ]
        ),
    ]
    return (
        [*blocks, Heading("What the language model got", 4), writing(event.prompt)]
        if event.prompt
        else blocks
    )


def _row(path: SampledPath) -> tuple[str, ...]:
    words = [path.steps[0].head] if path.steps else ["STOP at once"]
    for step in path.steps:
        line = "━" if step.gt else "─"
        words.append(f"{line}{step.relation}{line}▶ {step.tail}{'★' if step.answer else ''}")
    met = ", ".join(path.answers) or "✗ no answer"
    return " ".join(words), met, str(path.count), f"{path.probability:.3g}", fixed(path.reward)
