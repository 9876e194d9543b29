"""A question answered by a model of the run with each lever on or off, side by side."""

from __future__ import annotations

from app.blocks.block import Block, Paragraph, Span, Table
from app.blocks.model_text import one_line
from app.methods.what_if import Answer, Answers, Choice, Field, WhatIf, words_of
from app.runs.queries.what_if import WhatIfProcess
from app.wording.figures import signed
from app.wording.text import counted
from engine.events import LeveredAnswer, LeversTried
from screens.run_session import Session
from screens.what_if.screen import WhatIfScreen

MODELS = ("run", "evolution", "slsm")
BEFORE = (
    "enter asks the question: without a lever, with each lever that fits the model, and with all of them. The run's"
    " figures stay as they are.\n\nmodel: run is the model that ESM steers; evolution and slsm are those that these"
    " methods steered."
)


_HELP = """\
# All levers on one question

A finished run leaves levers: ESM's memory, evolved deltas, the notes of SLSM's controller, evidence paths. Type a
question and press `enter`: a model of the run answers it without any lever, with each lever that fits this model, and
with all of them. Each answer is dim as far as it is the plain one's, and marked `≠` where it leaves it; above it stands
what each lever did and how many tokens that cost.

*model*: `run` is the run's own, `evolution` and `slsm` are those that these methods steered. *further runs* takes runs
of the same folder of outputs, such as `demo/20261122-165601-abb9`, whose levers are tried as well. The table says of
each lever whether it fits the model, and if not, why: a memory belongs to one model, deltas to one vocabulary; evidence
acts on questions whose graph the run has. Demonstrations are for questions about images: a typed question has none.

Every question is kept in `levers/what_if.jsonl` of the run; its figures stay as they are.
"""


class LeversScreen(WhatIfScreen):
    """All levers of a run on one question."""

    HELP = _HELP

    def __init__(self, session: Session) -> None:
        super().__init__(WhatIfProcess(session.run_dir), WhatIf("levers", _HELP, {}), _choice(session))

    async def on_unmount(self) -> None:
        await self._process.close()


def _choice(session: Session) -> Choice:
    run = session.run_dir.absolute()
    question = one_line(next(reversed(session.state.esm.questions.values()), ""))
    return Choice(
        f"all levers on one question · {run.parent.name}/{run.name}",
        [
            [Field("question", "question", question, _question, "any question; enter asks it", 0)],
            [
                Field("model", "model", "run", _model, width=12),
                Field("runs", "further runs", "", words_of, "none, or others, each as NAME/ID", 0),
            ],
        ],
        dict,
        _answers,
        _fits,
    )


def _question(text: str) -> str:
    if not text:
        raise ValueError("type what the model is to answer")
    return text


def _model(text: str) -> str:
    if text not in MODELS:
        raise ValueError(f"expected {', '.join(MODELS)}, found {text!r}")
    return text


def _fits(tried: LeversTried | None) -> list[Block]:
    """Which levers fit the model, and why others do not."""
    if tried is None:
        return [Paragraph(BEFORE, "dim")]
    rows = [
        (
            fit.lever,
            fit.run.rsplit("/", 1)[-1],
            Span("✓ fits", "good") if fit.fits else Span("✗ does not fit", "bad"),
            Span(one_line(fit.why), "dim"),
        )
        for fit in tried.fits
    ]
    none_fits = [Paragraph("No lever fits this model: the table says why.", "warn")]
    table = Table(("lever", "run", f"on {tried.model}", "why"), rows)
    return [*(none_fits if len(tried.answers) == 1 else []), table]


def _answers(tried: LeversTried) -> Answers:
    return Answers([_answer(answer, tried.answers[0]) for answer in tried.answers])


def _answer(answer: LeveredAnswer, plain: LeveredAnswer) -> Answer:
    """An answer with what its levers did."""
    if not answer.levers:
        name = "plain: no lever"
    else:
        name = f"all: {', '.join(answer.levers)}" if len(answer.levers) > 1 else answer.levers[0]
    more = answer.tokens - plain.tokens
    tokens = counted(answer.tokens, "tokens") + (f" ({signed(more, 0)})" if more else "")
    spent = sum(effect.tokens for effect in answer.effects)
    about: list[Block] = [Paragraph(tokens + (f" + {spent} for the levers" if spent else ""), "dim")]
    for effect in answer.effects:
        prefix = f"{effect.lever}: " if len(answer.levers) > 1 else ""
        sign = Span("▸ ", "accent") if effect.acted else Span("· ", "dim")
        about.append(Paragraph([sign, Span(f"{prefix}{one_line(effect.what)}", "dim")]))
    return Answer(name, answer.text, about)
