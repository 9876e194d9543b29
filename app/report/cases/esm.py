"""ESM: a decision with its candidates, its segment beside null's and its answer beside greedy's."""

from __future__ import annotations

from app.blocks.block import Block, Changes, Heading, Paragraph, Table, facts, writing
from app.figures import fixed, outcome_words, signed
from app.gate_text import gate_sentence
from app.methods.source import CaseSource
from engine.esm.entry_names import candidate_name, chosen_name
from engine.events import Candidate, DecisionTaken, ExampleEvaluated, WhatIfTried

_HEADER = ("candidate", "kind", "sim", "Q", "Â", "Δlogp", "Score", "layer")


def decision(d: DecisionTaken, source: CaseSource) -> list[Block]:
    """Question, answers, rule, candidates, texts."""
    esm = source.state.esm
    d = esm.named(d)
    own, greedy = (
        source.at(esm.outcomes.place(method, d.example), ExampleEvaluated) for method in (d.method, "greedy")
    )
    known = own or greedy
    chosen = f"{chosen_name(d)} at layer {d.layer}, α {fixed(d.alpha)}" if d.chosen else "nothing (null)"
    blocks: list[Block] = [
        Heading("Question", 4),
        writing(esm.question(d.example) or "not in the log"),
        facts(
            [
                ("right answer", known and known.gold),
                (f"answer of {d.method}", _answer(own)),
                ("answer of greedy", _answer(greedy) if d.method != "greedy" else None),
                ("rule that decided", f"{d.gate}: {gate_sentence(d)}"),
                ("injected", chosen),
                (
                    "tokens",
                    f"{d.committed_tokens} committed after {d.tokens_before}, {d.probe_tokens} on probes",
                ),
            ]
        ),
    ]
    if d.candidates or d.null_probe:
        blocks += [Heading("Candidates", 4), _candidates(d)]
    if d.chosen and d.null_segment is not None:
        blocks += [
            Heading("The segment: − what null would have written, + what was committed", 4),
            Changes(d.segment, d.null_segment),
        ]
    else:
        blocks += [Heading("The segment", 4), writing(d.segment)]
    if own is not None and greedy is not None and d.method != "greedy":
        title = (
            f"The whole answer: − greedy, + {d.method}"
            if own.text != greedy.text
            else "The whole answer, as greedy's"
        )
        blocks += [Heading(title, 4), Changes(own.text, greedy.text)]
    elif own is not None:
        blocks += [Heading("The whole answer", 4), writing(own.text)]
    return blocks


def evaluated(event: ExampleEvaluated, source: CaseSource) -> list[Block]:
    """An example's answer."""
    return [
        Heading("Question", 4),
        writing(event.question),
        facts([("right answer", event.gold), (f"answer of {event.method}", _answer(event))]),
        Heading("The whole answer", 4),
        writing(event.text),
    ]


def what_if(event: WhatIfTried, source: CaseSource) -> list[Block]:
    """An answer under other choices."""
    tried = [("committed", event.committed), ("null", event.null)]
    tried += [(f"yours, α {fixed(answer.alpha)}", answer) for answer in event.yours]
    rows = [
        (name, answer.pred, outcome_words(answer.correct), str(answer.tokens_used)) for name, answer in tried
    ]
    injected = " + ".join(map(source.state.esm.entry_name, event.entries)) or "nothing (null)"
    onward = "here and at all later control points" if event.onward else "here only"
    blocks: list[Block] = [
        Heading("Question", 4),
        writing(event.question),
        facts([("right answer", event.gold), ("tried", f"{injected}, {onward}")]),
        Table(("choice", "answer", "verdict", "tokens"), rows, 1),
    ]
    if not event.exact:
        blocks.append(Paragraph(f"The recorded answer was not repeated: {event.difference}"))
    for name, answer in tried[2:]:
        blocks += [Heading(f"− committed, + {name}", 4), Changes(answer.text, event.committed.text)]
    return blocks


def _answer(event: ExampleEvaluated | None) -> str | None:
    return event and f"{event.pred or 'nothing'}, {outcome_words(event.correct)}"


def _candidates(d: DecisionTaken) -> Table:
    """By Score, null among them; those that were not scored stand last."""
    null = Candidate(
        entry="null", kind="null", similarity=float("nan"), quality=float("nan"),
        ahat=float("nan") if d.null_ahat is None else d.null_ahat, score=d.null_score, probe_text=d.null_probe,
    )  # fmt: skip
    ordered = sorted([*d.candidates, null], key=lambda c: (c.score is None, -(c.score or 0.0)))
    rows = [
        (
            ("▸ " if c.entry == (d.chosen or "null") else "") + candidate_name(c), c.kind, fixed(c.similarity),
            fixed(c.quality, 2), fixed(c.ahat), signed(c.delta_logprob), fixed(c.score),
            str(c.layer) if c.kind != "null" else "–",
        )
        for c in ordered
    ]  # fmt: skip
    about = "▸ was chosen. Â = sim × Q. Δlogp: the probe's mean log-probability minus null's. Score = β Â + ρ Δlogp."
    return Table(_HEADER, rows, 6, about)
