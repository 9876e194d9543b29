"""What if: the paths of a question at another temperature, with another prior or draw."""

from __future__ import annotations

from app.blocks.block import Block, Paragraph, Span, Table
from app.blocks.model_text import one_line
from app.methods.gflownet.paths import LEGEND, path_table
from app.methods.source import CaseSource
from app.methods.what_if import Answer, Answers, Choice, Field, WhatIf, number, whole, yes_or_no
from app.wording.figures import outcome
from app.wording.text import counted
from engine.events import PathsTried, QuestionSampled, SampledPath

_HELP = """\
# What if: other paths

Draws the question's paths again with other settings. Random draws belong to a question and a draw number, so with draw
0 whatever is new comes from the settings. Three lists stand side by side: as they were *committed*, with prior α 0 (*no
prior*), and *yours*. `+` marks a path that the committed ones do not have, `−` those that are missing.

*temperature* 1 is the trained sampler; lower is surer, higher more varied. *prior α* is the weight of the retriever's
log score. *distinct* 1: no path comes twice; 0: independent samples of P_F. *draw* 0: the run's own random numbers.
"""
_Way = tuple[tuple[str, str, str], ...]


def of_question(sampled: QuestionSampled, source: CaseSource) -> Choice:
    """A question's paths."""
    return Choice(
        f"{sampled.sample_id} · temperature {sampled.temperature:g}, prior α {sampled.prior_alpha:.3g}\n"
        f"{one_line(sampled.question)}\nto {one_line(', '.join(sampled.answers))}",
        [
            [
                Field("temperature", "temperature", f"{sampled.temperature:g}", number(1e-6, 100), width=9),
                Field("prior_alpha", "prior α", f"{sampled.prior_alpha:.3g}", number(0, 100), width=9),
                Field("samples", "samples", str(sampled.samples), whole(1, 1000), width=8),
            ],
            [
                Field("distinct", "distinct", str(int(sampled.distinct)), yes_or_no, width=5),
                Field("draw", "draw", "0", whole(), width=9),
            ],
        ],
        lambda values: {"sample_id": sampled.sample_id, **values},
        _answers,
    )


WHAT_IF = WhatIf("gflownet", _HELP, {QuestionSampled: of_question})


def _answers(tried: PathsTried) -> Answers:
    columns = (("committed", tried.committed), ("no prior", tried.none), ("yours", tried.yours))
    return Answers([_answer(name, sampled, tried.committed) for name, sampled in columns])


def _answer(name: str, sampled: QuestionSampled, committed: QuestionSampled) -> Answer:
    """Its settings, how often an answer is met, and the paths."""
    hits = sum(path.count for path in sampled.paths if path.answers)
    met = {answer for path in sampled.paths for answer in path.answers}
    share = f"{hits} of {counted(sampled.samples, 'paths')} meet an answer; "
    about: list[Block] = [
        Paragraph([
            Span(f"{outcome(bool(met))} ", "good" if met else "bad"),
            Span(f"{share}{len(met)} of {counted(len(sampled.answers), 'answers')} met", "dim"),
        ])
    ]  # fmt: skip
    if sampled is not committed:
        about.append(_changed(sampled, committed))
    heading = f"{name}: temperature {sampled.temperature:g}, prior α {sampled.prior_alpha:.3g}"
    return Answer(heading, None, [*about, _paths_against(sampled, committed)])


def _changed(sampled: QuestionSampled, committed: QuestionSampled) -> Paragraph:
    ways, known = _ways(sampled), _ways(committed)
    new, missing = len(ways - known), len(known - ways)
    if not new and not missing:
        return Paragraph("= the committed paths", "dim")
    return Paragraph(f"+{new} −{missing} against the committed paths", "warn")


def _paths_against(sampled: QuestionSampled, committed: QuestionSampled) -> Table:
    """Paths beside the committed ones: first + those that are new and − those that are missing, then the same ones."""
    ways, known = _ways(sampled), _ways(committed)
    ranked = list(enumerate(sampled.paths, 1))
    new = (("+", rank, path) for rank, path in ranked if _way(path) not in known)
    missing = (("−", rank, path) for rank, path in enumerate(committed.paths, 1) if _way(path) not in ways)
    same = (("", rank, path) for rank, path in ranked if _way(path) in known)
    return path_table((*new, *missing, *same), sampled, LEGEND if sampled is committed else ())


def _way(path: SampledPath) -> _Way:
    return tuple((step.head, step.relation, step.tail) for step in path.steps)


def _ways(sampled: QuestionSampled) -> set[_Way]:
    return {_way(path) for path in sampled.paths}
