"""An iteration in full: the comparison at the end, its gain and why, its scores, the reply, the changed deltas."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from app.blocks.block import Target
from app.blocks.fit import fit
from app.blocks.model_text import clean
from app.blocks.terminal import link
from app.figures import fixed, interval, probability, signed
from app.state.evolution import EvolutionState, IterationState
from app.text import counted
from engine.events import AnswersScored, EvolutionBegan, JudgeMeasured, MethodCompared
from screens.evolution.cluster_words import cluster_words

_MOST, _WORDS = 4, 20
"""How many changed clusters are named, and in how many columns each."""


def draw_iteration(
    state: EvolutionState, item: IterationState | None, palette: dict[str, Style]
) -> RenderableType:
    """The comparison at the end, if there is one, then an iteration: its scores, the reflector's reply, and the changed
    deltas; below it the judge's limits, and the comparison's differences."""
    parts: list[RenderableType] = []
    compared = list(state.compared.values())
    if compared:
        parts += [*_drawn(state, palette), _compared(compared, palette), Text()]
    if item is not None:
        parts += _iteration(state, item, palette)
    elif state.baseline is not None:
        parts.append(_figures("validation set, no processor", state.baseline, palette))
    if state.began is not None and state.began.cannot_tell:
        parts += [Text(), _cannot_tell(state.began, palette)]
    if state.judge:
        parts += [Text(), _judge(list(state.judge.values()), palette)]
    if compared:
        parts += [Text(), *_differences(compared, palette)]
    return Group(*parts)


def _iteration(
    state: EvolutionState, item: IterationState, palette: dict[str, Style]
) -> list[RenderableType]:
    title = Text.assemble((f"iteration {item.iteration}", palette["strong"]))
    answers = sum(score.answers for score in item.scores.values())
    if answers:
        title.append("  ").append_text(
            link(
                f"its {counted(answers, 'answers')}",
                Target("answers", str(item.iteration)),
                palette["accent"],
            )
        )
    if item.best:
        title.append("  ★ kept as best", palette["accent"])
    if item.inherited:
        title.append(f"  from {item.inherited}", palette["dim"])
    parts: list[RenderableType] = [title]
    deciding, gain = state.deciding(item), state.gain(item.iteration)
    if deciding is not None and gain is not None:
        parts.append(_gained(state, deciding, *gain, palette))
    parts += _why(state, item, palette)
    if item.minibatch is not None:
        parts.append(_figures("minibatch", item.minibatch, palette))
    if item.validation is not None:
        parts.append(_figures("validation", item.validation, palette))
    elif item.minibatch is not None and not state.by_minibatch:
        text = "not tried on the validation set: the minibatch was not better than the best, within its error"
        parts.append(Text(text, palette["dim"]))
    if item.test is not None:
        parts.append(_figures("test", item.test, palette))
    if state.began is not None and item.scores:
        parts.append(Text(composite_words(state.began), palette["dim"]))
    if item.reply is not None:
        parts += [Text(), *_reply(state, item, palette)]
    return parts


def composite_words(began: EvolutionBegan) -> str:
    """What the composite is, with this run's weights and scale."""
    short, correct = began.weights
    return (
        f"composite = {short:g} × shortness + {correct:g} × share of right answers; "
        f"shortness = 1 / (1 + mean tokens / {began.scale:g})"
    )


def _gained(
    state: EvolutionState, score: AnswersScored, before: float, of: str, palette: dict[str, Style]
) -> Text:
    """What the iteration's deltas brought on what decides, beside the best before them."""
    gain = score.composite - before
    text = Text(
        f"{'▲' if score.best else '≈' if gain > 0 else '▼'} {signed(gain)} composite on {state.decided_on}, "
    )
    text.stylize(palette["good" if score.best else "dim"])
    other = "; other questions than before" if state.by_minibatch else ""
    return text.append(f"from {fixed(before)} ({of}) to {fixed(score.composite)}{other}", palette["dim"])


def _why(state: EvolutionState, item: IterationState, palette: dict[str, Style]) -> list[RenderableType]:
    """Where the iteration's deltas come from: the reply to the iteration before it."""
    earlier = state.iterations.get(item.iteration - 1)
    if earlier is None or earlier.reply is None or earlier.reply.aborted:
        return []
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(min_width=10, no_wrap=True)
    grid.add_column(overflow="fold")
    name = link(
        f"iteration {earlier.iteration}", Target("iteration", str(earlier.iteration)), palette["accent"]
    )
    said = Text.assemble(
        ("the reply to ", palette["dim"]), name, (": ", palette["dim"]), clean(earlier.reply.summary)
    )
    grid.add_row(Text("why these", palette["dim"]), said)
    if changed := _changed(state, earlier.deltas, item.deltas):
        grid.add_row(Text("changed", palette["dim"]), changed)
    return [grid]


def _changed(state: EvolutionState, before: dict[str, float], after: dict[str, float]) -> str:
    """The clusters whose deltas differ, by their most frequent tokens, the largest change first."""
    changes = {
        name: value - before.get(name, 0.0) for name, value in after.items() if value != before.get(name, 0.0)
    }
    names = sorted(changes, key=lambda name: -abs(changes[name]))
    more = f", and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return (
        ", ".join(
            f"{fit(cluster_words(state, name), _WORDS)} {signed(changes[name], 2)}" for name in names[:_MOST]
        )
        + more
    )


def _figures(name: str, score: AnswersScored, palette: dict[str, Style]) -> RenderableType:
    text = Text(f"composite {fixed(score.composite)} ± {fixed(score.error)}")
    text.append(f"   {score.correct} of {score.judged} right ({fixed(score.correctness)})")
    text.append(f"   {fixed(score.mean_tokens, 1)} tokens (shortness {fixed(score.shortness)})")
    if score.cannot_tell:
        text.append(f"   on {score.cannot_tell} the judge cannot tell", palette["dim"])
    if failures := score.answers - score.judged - score.cannot_tell:
        text.append(f"   on {failures} the judge failed", palette["warn"])
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(min_width=10)
    grid.add_row(Text(name, palette["dim"]), text)
    return grid


def _reply(state: EvolutionState, item: IterationState, palette: dict[str, Style]) -> list[RenderableType]:
    reply = item.reply
    assert reply is not None
    heading = Text(
        f"{reply.reflector} replied" + (f" (attempt {reply.attempts})" if reply.attempts > 1 else "")
    )
    heading.append(", for the next iteration", palette["dim"])
    heading.stylize(palette["heading"])
    if reply.aborted:
        return [heading, Text(f"no valid reply: {reply.aborted}", palette["bad"])]
    return [heading, Text(clean(reply.summary)), Text(), _diff(state, item.deltas, reply.deltas, palette),
            Text(), Text(f"sent: {reply.message}", palette["dim"])]  # fmt: skip


def _diff(
    state: EvolutionState, before: dict[str, float], after: dict[str, float], palette: dict[str, Style]
) -> RenderableType:
    """Deltas of this iteration, the next one's, and the change."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=palette["heading"])
    for name, least in (("cluster", 7), ("now", 5), ("next", 5), ("change", 6)):
        table.add_column(name, justify="right", no_wrap=True, min_width=least)
    table.add_column("most frequent tokens", no_wrap=True, overflow="ellipsis", ratio=1)
    for name, value in after.items():
        change = value - before.get(name, 0.0)
        tone = palette["dim"] if not change else palette["good" if change > 0 else "bad"]
        table.add_row(
            name, signed(before.get(name, 0.0), 2), signed(value, 2), Text(signed(change, 2) if change else "·", tone),
            Text(cluster_words(state, name), palette["dim"]),
        )  # fmt: skip
    return table


def _judge(rows: Sequence[JudgeMeasured], palette: dict[str, Style]) -> RenderableType:
    """How far the judge agrees with people, by type of question."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=palette["heading"])
    table.add_column("judge and people", no_wrap=True, min_width=16)
    for name, least in (
        ("answers", 7),
        ("judged", 6),
        ("agree", 5),
        ("κ", 5),
        ("95%", 16),
        ("precision", 9),
        ("recall", 6),
    ):
        table.add_column(name, justify="right", no_wrap=True, min_width=least)
    for row in rows:
        table.add_row(
            Text(clean(row.question_type) or "all questions"), str(row.answers), f"{row.judged / row.answers:.0%}",
            fixed(row.agreement), fixed(row.kappa), interval(row.kappa_low, row.kappa_high), fixed(row.precision),
            fixed(row.recall),
        )  # fmt: skip
    return table


def _cannot_tell(began: EvolutionBegan, palette: dict[str, Style]) -> Text:
    text = f"the judge cannot tell on {began.cannot_tell} of {began.questions} questions: their answers are not scored"
    return Text(text, palette["warn"])


def _compared(rows: Sequence[MethodCompared], palette: dict[str, Style]) -> RenderableType:
    """The comparison at the end: best deltas against none and against the baselines."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=palette["heading"])
    table.add_column("test set", no_wrap=True, min_width=13)
    for name, least in (
        ("correct", 7),
        ("− none", 6),
        ("95%", 16),
        ("p", 5),
        ("tokens", 6),
        ("composite", 9),
    ):
        table.add_column(name, justify="right", no_wrap=True, min_width=least)
    for row in rows:
        table.add_row(
            Text(_name(row), palette["strong"] if row.method == "best" else ""),
            fixed(row.correctness), signed(row.difference), interval(row.low, row.high), probability(row.p),
            fixed(row.mean_tokens, 1), fixed(row.composite),
        )  # fmt: skip
    return table


_SHORT = {
    "no_processor": "none",
    "length_cap": "cap",
    "chosen_cap": "chosen cap",
    "brief_prompt": "short request",
    "best": "evolved",
}


def _name(row: MethodCompared) -> str:
    """A processor in a word or two, with its cap."""
    name = _SHORT.get(row.method, row.method.replace("_", " "))
    return name if row.cap is None else f"{name} {row.cap}"


def _differences(rows: Sequence[MethodCompared], palette: dict[str, Style]) -> list[RenderableType]:
    """Tokens that each method saves, how far its composite is from the best deltas', and the request it made."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=palette["heading"])
    table.add_column("differences", no_wrap=True, min_width=13)
    for name, least in (("tokens − none", 13), ("95%", 14), ("comp.−evolved", 12), ("95%", 16)):
        table.add_column(name, justify="right", no_wrap=True, min_width=least)
    for row in rows:
        table.add_row(
            _name(row),
            signed(row.tokens_difference, 1), interval(row.tokens_low, row.tokens_high, 1),
            signed(row.ahead), interval(row.ahead_low, row.ahead_high),
        )  # fmt: skip
    words = [f"{_name(row)}: {clean(row.prompt)}" for row in rows if row.prompt]
    return [table, *(Text(text, palette["dim"]) for text in words)]


def _drawn(state: EvolutionState, palette: dict[str, Style]) -> list[RenderableType]:
    """What the comparison says, in words."""
    if state.drawn is None:
        return []
    said = re.sub(r"(?<![\w-])-(?=\d)", "−", clean(state.drawn.text))
    for name in ("no_processor", "length_cap", "chosen_cap", "brief_prompt"):
        said = said.replace(name, _SHORT[name])
    return [Text(said, palette["warn" if state.drawn.ahead else "good"])]
