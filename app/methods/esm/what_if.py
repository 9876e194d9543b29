"""What if: another choice at the control point of an opened decision, decoded beside the record."""

from __future__ import annotations

from app.blocks.block import Block, Paragraph, Table
from app.blocks.model_text import one_line
from app.methods.esm.answers import answers_of
from app.methods.source import CaseSource
from app.methods.what_if import (
    Answer,
    Answers,
    Choice,
    Field,
    WhatIf,
    of_list,
    optional,
    strengths,
    verdict_line,
    whole,
    yes_or_no,
)
from app.wording.entry_names import typed_names
from app.wording.figures import fixed
from app.wording.text import counted
from app.wording.words import short_method_name
from engine.esm.library.entry_names import candidate_name, chosen_name
from engine.events import Candidate, DecisionTaken, TriedAnswer, WhatIfTried

_HELP = """\
# What if: another choice at a decision

Decodes the answer again with another choice at one control point. Every random draw belongs to an example and a control
point, so whatever is new in the answer comes from your choice. `enter` tries what the fields say, `F2` tries nine
strengths around α. Three answers stand side by side: as it was *committed*, with *null* at this control point, and
*yours*.

*inject* takes the numbers of the list below, or names of entries of the library; several are added up; `null` is
none. *α* takes one strength or several. *layer* empty: the entries' own. *to the end* 1: the same at all later control
points; 0: there the controller chooses again.
"""
_HINT = "numbers or names, several with + are added up; null: none"
_NOTHING_RETRIEVED = (
    "No entry was retrieved here. Type the name of an entry of the library, or go back with esc and to a segment in "
    "which one was injected (▸)."
)


def of_decision(event: DecisionTaken, source: CaseSource) -> Choice | str:
    """A decision, or why nothing else can be tried there."""
    if event.phase == "tail":
        return "What follows the last control point is never steered: choose an earlier segment."
    answer = answers_of(event.method, event.example, source).steered
    if answer is None:
        return "This answer is not finished yet."
    return choice(source.state.esm.named(event), source.state.esm.question(event.example), answer.gold)


WHAT_IF = WhatIf("esm", _HELP, {DecisionTaken: of_decision})


def choice(d: DecisionTaken, question: str, gold: str) -> Choice:
    """What can be tried in the place of a decision."""
    done = f"{chosen_name(d)} at α {d.alpha:.4g}, layer {d.layer}" if d.chosen else "null"
    right = f"\nright answer {one_line(gold)}" if gold else ""
    entries = [candidate for candidate in d.candidates if candidate.kind == "wrong"]
    names = [entry.entry for entry in entries]
    # What was committed; where nothing was, the best that could have been.
    first = str(names.index(d.chosen) + 1) if d.chosen in names else "1" if names else ""
    return Choice(
        f"{short_method_name(d.method)} · {d.example} · segment {d.m}: {done}{right}\n{one_line(question)}",
        [
            [Field("entries", "inject", first, lambda text: _entries(text, names), _HINT, 0)],
            [
                Field("alphas", "α", f"{d.alpha or 1.0:.4g}", strengths, is_swept=True),
                Field("layer", "layer", "", optional(whole()), "own", 6),
                Field("onward", "to the end", "0", yes_or_no, width=5),
            ],
        ],
        lambda values: {"method": d.method, "example": d.example, "m": d.m, **values},
        _answers,
        lambda tried: [_choices(entries)],
    )


def _entries(text: str, known: list[str]) -> list[str]:
    if not text:
        raise ValueError(_HINT)
    if text == "null":
        return []
    return [of_list(name, known) if name.isdecimal() else name for name in typed_names(text)]


def _choices(entries: list[Candidate]) -> Block:
    """The entries that were retrieved here and can be injected, numbered as the field takes them."""
    rows = [
        (str(number), candidate_name(entry), str(entry.layer), fixed(entry.score))
        for number, entry in enumerate(entries, 1)
    ]
    return Table(("no", "entry", "layer", "Score"), rows, 2) if rows else Paragraph(_NOTHING_RETRIEVED, "dim")


def _answers(tried: WhatIfTried) -> Answers:
    yours = [_answer(_yours(tried, answer), answer, tried) for answer in tried.yours] if tried.entries else []
    return Answers(
        [_answer("committed", tried.committed, tried), _answer("null here", tried.null, tried)], yours
    )


def _yours(tried: WhatIfTried, answer: TriedAnswer) -> str:
    where = "from here on" if tried.onward else "here"
    names = tried.names or tried.entries
    entries = counted(len(names), "entries") if len(names) > 1 else names[0]
    return f"yours {where}: {entries} at α {answer.alpha:.4g}, layer {tried.layer}"


def _answer(name: str, answer: TriedAnswer, tried: WhatIfTried) -> Answer:
    tokens = f"{counted(answer.tokens_used, 'tokens')} + {answer.probe_tokens_used} probe"
    verdict = verdict_line(answer.correct, answer.pred or "no answer", tokens)
    return Answer(name, answer.text, [verdict, _segments(answer, tried)], answer.correct, answer.pred)


def _segments(answer: TriedAnswer, tried: WhatIfTried) -> Paragraph:
    """A sign for each control point: steered or not; the one in question in brackets."""
    signs = ["▸" if name else "·" for name in answer.chosen]
    if tried.m <= len(signs):
        signs[tried.m - 1] = f"[{signs[tried.m - 1]}]"
    return Paragraph(f"segments {' '.join(signs)}  (▸ steered, · not)", "dim")
