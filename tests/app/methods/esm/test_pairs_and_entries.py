"""Pairs and entries: each column's cell, and a case of each in full; figures worked out by hand."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from app.blocks.block import Paragraph, Table, Target, in_one_column, plain, spans
from app.methods.esm.entries import COLUMNS as ENTRY_COLUMNS
from app.methods.esm.entries import ENTRIES, entry_blocks, hurting
from app.methods.esm.page import PAGE
from app.methods.esm.pairs import COLUMNS as PAIR_COLUMNS
from app.methods.esm.pairs import PAIRS, pair_blocks
from app.methods.esm.what_if import WHAT_IF
from app.methods.place import Place
from app.methods.what_if import Choice
from app.report.item_words import item_words
from app.state.ledger import EntryUse
from app.state.run import RunState
from app.table.decision_fields import DECISION_FIELDS
from app.table.decision_rows import DecisionRows
from app.table.filter import predicate
from app.table.filter_parser import parse
from engine.events import (
    Candidate,
    DecisionTaken,
    Event,
    RolloutEnded,
    RolloutsMined,
    TriedAnswer,
    Verdict,
    WhatIfTried,
)
from tests.app.methods.esm.made import (
    TURNED_RIGHT,
    TURNED_WRONG,
    W1,
    answer,
    cells,
    decision,
    document_of,
    method,
    pair,
    pick,
    source_of,
    text_of,
    tried,
)
from tests.exactly import exactly

NAME = "backward → forward, step 1"
"""The words in which the texts of the pair differ first."""
EFFECTS = {"fixes": (True, False), "none": (False, False), "unneeded": (True, True), "harms": (False, True)}


def test_the_columns_of_a_pair() -> None:
    row = source_of([pair(**tried(True, False))]).state.esm.pairs[0]
    shown = cells(PAIR_COLUMNS, row)
    assert {key: cell.text for key, cell in shown.items()} == {
        "pair": NAME, "id": "data-0001_m1_l2", "example": "data-0001", "m": "1", "layer": "2", "quality": "1.010",
        "positives": "4", "negatives": "2", "delta": "33.7", "effect": "fixes", "source": "rollout",
    }  # fmt: skip


def test_what_a_vector_did_has_a_tone() -> None:
    pairs = [pair(f"data-{number}", **tried(*EFFECTS[word])) for number, word in enumerate(EFFECTS)]
    state = source_of(pairs).state
    effects = [cells(PAIR_COLUMNS, row)["effect"] for row in state.esm.pairs]
    assert effects == [("fixes", "good"), ("none", "dim"), ("unneeded", "dim"), ("harms", "bad")]
    assert [PAIRS.notable(state, row) for row in state.esm.pairs] == [True, False, False, False]


def test_a_pair_in_full() -> None:
    """Both texts beside each other from 60 columns on, below each other under it."""
    events = [
        RolloutsMined(example="data-0001", question="How far?", n=6, correct=4, mean_tokens=1),
        pair(**tried(True, False)),
    ]
    blocks = pair_blocks(events[1], source_of(events))  # type: ignore[arg-type]
    lines = text_of(blocks, 100).splitlines()
    assert lines[0] == f"{NAME}  data-0001_m1_l2"
    assert lines[1] == "4 right against 2 wrong rollouts, Q 1.010"
    assert " ".join(lines[2:4]) == (
        "tried out   from the wrong text on, greedy ends wrong, with the vector right; from the right text on, greedy "
        "ends right"
    )
    assert [line.split() for line in lines[5:7]] == [
        ["✓", "right", "wrote", "✗", "wrong", "wrote"], ["went", "forward", "went", "backward"],
    ]  # fmt: skip
    assert lines[-2:] == ["question", "How far?"]
    assert "✓ right wrote                  ✗ wrong wrote" in text_of(blocks, 60)
    narrow = text_of(blocks, 59).splitlines()
    assert narrow.index("✗ wrong wrote") > narrow.index("went forward")
    assert "went forward" in document_of(blocks) and item_words(events[1]) == "pair data-0001_m1_l2"


def test_a_pair_that_was_not_tried_out_and_one_wrong_rollout() -> None:
    event = pair(negatives=1)
    assert PAIRS.columns_of is not None
    columns = PAIRS.columns_of(source_of([event]).state)
    assert [column.key for column in columns] == [
        "pair", "example", "m", "layer", "quality", "positives", "negatives", "delta", "source", "id"
    ]  # fmt: skip
    both = source_of([event, pair("data-0002", **tried(True, False))]).state
    assert list(PAIRS.columns_of(both)) == list(PAIR_COLUMNS), "one of them was"
    text = text_of(pair_blocks(event, source_of([event])))
    assert "4 right against 1 wrong rollout, Q" in text and "tried out" not in text and "question" not in text


def test_what_all_pairs_say() -> None:
    ended = [
        RolloutEnded(example="a", draw=n, correct=n < 2, reward=1, tokens=1, segments=1) for n in range(3)
    ]
    assert PAIRS.remark(source_of(ended).state) == "3 rollouts, 2 right"
    assert PAIRS.remark(source_of([]).state) == ""


# ---------------------------------------------------------------- entries

HURT = [
    answer("greedy", "t-8", "28", "a 28"),
    decision("t-8", 1, "b 29", gate="chosen", chosen="data-0009_m1_l2_wrong", delta_logprob=-0.5),
    answer("esm", "t-8", "29", "b 29"),
]
LIBRARY = [
    pair(),
    pick(0, W1, max_similarity=-2.0, reason="floor"),
    pick(1, "data-0009_m1_l2_wrong", quality=0.5, gain=0.25),
    pick(2, "data-0003_m2_l2_right", "right", m=2),
    *TURNED_RIGHT,
    *HURT,
]


def test_the_columns_of_an_entry() -> None:
    """The first has no entry before it to be similar to; what was not used has dots."""
    first, hurt, right = ENTRIES.rows(source_of(LIBRARY).state)
    assert {key: cell.text for key, cell in cells(ENTRY_COLUMNS, first).items()} == {
        "order": "0", "entry": NAME, "id": W1, "kind": "wrong", "used": "1", "turned_right": "1", "turned_wrong": "·",
        "net": "+1",
        "logprob": "+0.250", "example": "data-0001", "m": "1", "layer": "2", "quality": "1.010", "gain": "−0.500",
        "objective": "1.250", "similarity": "·", "reason": "floor",
    }  # fmt: skip
    shown = cells(ENTRY_COLUMNS, hurt)
    assert (shown["turned_wrong"], shown["net"], shown["logprob"].text) == (
        ("1", "bad"),
        ("−1", "bad"),
        "−0.500",
    )
    assert (shown["similarity"].text, shown["gain"].text) == ("0.800", "+0.250")
    near = [hurt._replace(pick=hurt.pick._replace(max_similarity=to)) for to in (0.0, -0.25, -1.0)]
    assert [cells(ENTRY_COLUMNS, one)["similarity"].text for one in near] == ["0.000", "−0.250", "·"]
    unused = cells(ENTRY_COLUMNS, right)
    assert [unused[key].text for key in ("used", "turned_right", "net", "logprob", "m")] == [
        "·",
        "·",
        "·",
        "·",
        "2",
    ]


def test_entries_that_hurt_are_named_and_worth_seeing() -> None:
    state = source_of(LIBRARY).state
    assert ENTRIES.remark(state) == "2 were injected: 1 help, 1 hurt: data-0009_m1_l2_wrong −1"
    without_effect = decision("t-9", 1, "c", gate="chosen", chosen="data-0005_m1_l2_wrong")
    assert ENTRIES.remark(source_of([*LIBRARY, without_effect]).state).startswith(
        "3 were injected: 1 help, 1 hurt: "
    )
    assert [ENTRIES.notable(state, row) for row in ENTRIES.rows(state)] == [False, True, False]
    assert ENTRIES.remark(source_of(LIBRARY[:4]).state) == "" and ENTRIES.order == ("used", True)


def test_an_entry_in_full() -> None:
    """Two decisions injected it, at 0.25 and 0.75 nats a token above null."""
    again = decision("t-9", 1, "c", gate="chosen", chosen=W1, delta_logprob=0.75)
    source = source_of([*LIBRARY, again])
    blocks = entry_blocks(LIBRARY[1], source)  # type: ignore[arg-type]
    lines = text_of(blocks, 120).splitlines()
    assert lines[:5] == [
        f"{NAME}  wrong, control point 1, layer 2",
        "injected in 2 decisions   ▲ 1 turned right  ▼ 0 turned wrong   mean Δlogp +0.500",
        f"mined from data-0001   id {W1}",
        f"{NAME}  data-0001_m1_l2",
        "4 right against 2 wrong rollouts, Q 1.010",
    ]
    assert "went forward" in lines[-1] and item_words(LIBRARY[1]) == f"library entry {W1}"
    assert item_words(pick(0, W1, name="plus → minus, step 1")) == "library entry plus → minus, step 1"
    targets = [span.target for block in in_one_column(blocks) for span in spans(getattr(block, "text", ""))]
    assert [target for target in targets if target] == [
        Target("filter", f'method:esm chosen:"{NAME}"'), Target("pair", "data-0001_m1_l2"),
    ]  # fmt: skip


def test_an_entry_shows_the_pair_of_its_layer() -> None:
    """Of two from the same place, one for each layer."""
    other = pair(pair="data-0001_m1_l1", layer=1, positive_text="went elsewhere")
    shown = text_of(entry_blocks(LIBRARY[1], source_of([other, *LIBRARY])))  # type: ignore[arg-type]
    assert "data-0001_m1_l2" in shown and "went forward" in shown and "elsewhere" not in shown


def test_an_entry_that_was_never_injected() -> None:
    asked = answer("greedy", "data-0003", "1", "a")
    source = source_of([*LIBRARY, asked, pick(3, "data-0004_m1_l2_wrong")])
    right = text_of(entry_blocks(LIBRARY[3], source))  # type: ignore[arg-type]
    assert "a right entry is never injected: near it the state needs no steering" in right
    assert right.endswith("How many in data-0003?"), "no pair of it is in the log"
    assert "not injected by esm" in text_of(entry_blocks(pick(3, "data-0004_m1_l2_wrong"), source))


def test_what_turned_wrong_counts_against_what_was_injected() -> None:
    state = source_of([*LIBRARY, *TURNED_WRONG]).state  # nothing was injected in the one that turned wrong
    assert [row.use.net for row in ENTRIES.rows(state)] == [1, -1, None]


def test_what_is_worth_opening_of_esm() -> None:
    """Of all methods, the entry that hurt, its decisions found by its name; pairs only before anything is answered."""
    run = source_of([*LIBRARY, method("greedy"), method("no_memory"), method("esm", fixed=2, broken=1)])
    hurt = "data-0009_m1_l2_wrong"
    assert [(one.text, one.place) for one in PAGE.overview.highlights(run.state)] == [
        ("1 answer that greedy has right and steering broke", Place("decisions", filter="method:esm broken left")),
        (f"the entry that hurt most: {hurt}, which turned 1 answer wrong",
         Place("decisions", filter=f'method:esm chosen:"{hurt}" broken left')),
        ("2 answers that greedy has wrong and steering turned right",
         Place("decisions", filter="method:esm fixed left")),
        ("each method and ablation beside greedy", Place("results")),
    ]  # fmt: skip
    whole = source_of([method("esm", fixed=2, broken=0)]).state
    assert [one.text for one in PAGE.overview.highlights(whole)] == [
        "2 answers that greedy has wrong and steering turned right"
    ]
    mined = PAGE.overview.highlights(
        source_of([pair(), pair(m=2), method("greedy"), method("no_memory")]).state
    )
    assert [(one.text, one.place) for one in mined] == [
        ("2 pairs of a right and a wrong text so far", Place("pairs")),
    ]  # fmt: skip


def test_a_count_on_a_card_leads_to_a_row_for_each_answer() -> None:
    """One answer of three segments was turned right, in the second; one of two turned wrong, in the second."""
    rows = DecisionRows(source_of([*TURNED_RIGHT, *TURNED_WRONG]).state.esm)
    turned = source_of([method("esm", fixed=1, broken=1)]).state
    for light in PAGE.overview.highlights(turned):
        expression = parse(light.place.filter, DECISION_FIELDS)
        assert expression is not None
        matches = predicate(expression, rows)
        assert light.text.startswith("1 answer ") and [m for m in range(5) if matches(m)] in ([1], [4])


def test_the_verdict_so_far_is_that_of_the_newest_figures() -> None:
    """0.75 are 0.25 more than greedy's 0.5. At the end the final figures count, whatever was said before."""
    row = method("esm", accuracy=0.75, difference=0.25, low=0.1, high=0.4, fixed=2, broken=1, final=False)
    so_far = PAGE.overview.verdict_so_far
    assert so_far(source_of([row]).state) == Verdict(
        method="esm", baseline="greedy", metric="accuracy", items="problems", n=4, value=0.75, baseline_value=0.5,
        difference=0.25, low=0.1, high=0.4, fixed=2, broken=1,
    )  # fmt: skip
    final = method("esm", n=8, accuracy=0.5, difference=0.0, low=0.0, high=0.0)
    verdict = so_far(source_of([row, final]).state)
    assert verdict is not None and (verdict.n, verdict.value, verdict.baseline_value) == (8, 0.5, 0.5)
    assert (
        so_far(source_of([method("esm", accuracy=0.75)]).state) is None
        and so_far(source_of([]).state) is None
    )


# ---------------------------------------------------------------- what if


def choice_of(event: DecisionTaken, *events: Event) -> Choice | str:
    return WHAT_IF.of[DecisionTaken](event, source_of(events))


def test_another_entry_can_be_tried_in_the_place_of_the_chosen_one() -> None:
    """The one that was committed stands first in the list of the wrong entries; right ones are never injected."""
    event: Any = TURNED_RIGHT[2]
    at_layer = [msgspec.structs.replace(candidate, layer=3) for candidate in event.candidates]
    choice = choice_of(msgspec.structs.replace(event, candidates=at_layer, alpha=4 / 3), *TURNED_RIGHT)
    assert isinstance(choice, Choice)
    assert choice.about == (
        "esm · t-1 · segment 2: data-0001_m1_l2_wrong at α 1.333, layer 2\nright answer 28\nHow many in t-1?"
    )
    fields = {field.name: field for line in choice.fields for field in line}
    assert {name: field.value for name, field in fields.items()} == {
        "entries": "1", "alphas": "1.333", "layer": "", "onward": "0",
    }  # fmt: skip
    second = "data-0002_m1_l2_wrong"
    read = fields["entries"].read
    assert [read(text) for text in ("null", "1+2", "other")] == [[], [W1, second], ["other"]]
    with pytest.raises(
        ValueError, match=exactly("numbers or names, several with + are added up; null: none")
    ):
        read("")
    with pytest.raises(ValueError, match=exactly("the list has no 3; it has 2 entries")):
        read("3")
    assert choice.request({"alphas": [1.0]}) == {"method": "esm", "example": "t-1", "m": 2, "alphas": [1.0]}
    (table,) = choice.choices(None)
    assert isinstance(table, Table) and [list(map(plain, row)) for row in table.rows] == [
        ["1", W1, "3", "0.700"], ["2", second, "3", "0.100"],
    ]  # fmt: skip


def test_what_cannot_be_tried_otherwise() -> None:
    """The rest of an answer, one that is not finished; where nothing was retrieved, entries have to be typed."""
    assert choice_of(TURNED_RIGHT[3], *TURNED_RIGHT) == (  # type: ignore[arg-type]
        "What follows the last control point is never steered: choose an earlier segment."
    )
    first: Any = TURNED_RIGHT[1]
    assert choice_of(first, *TURNED_RIGHT[:4]) == "This answer is not finished yet."
    choice = choice_of(first, *TURNED_RIGHT)
    assert isinstance(choice, Choice) and choice.about.startswith("esm · t-1 · segment 1: null\n")
    assert (choice.fields[0][0].value, choice.fields[1][0].value) == ("", "1")
    (nothing,) = choice.choices(None)
    assert isinstance(nothing, Paragraph) and plain(nothing.text).startswith("No entry was retrieved here.")
    weighed = decision(
        "t-1", 1, "x", candidates=[Candidate(entry=W1, kind="wrong", similarity=0.9, quality=1, ahat=1)]
    )
    most = choice_of(weighed, *TURNED_RIGHT)
    assert isinstance(most, Choice) and most.fields[0][0].value == "1", (
        "the best that could have been injected"
    )


def test_answers_with_another_entry() -> None:
    """The control point in question stands in brackets, if the answer got as far."""

    def other(alpha: float, chosen: list[str | None], pred: str, **more: Any) -> TriedAnswer:
        return TriedAnswer(alpha=alpha, chosen=chosen, pred=pred, text=pred, tokens_used=1, **more)

    tried_now = WhatIfTried(
        method="esm", example="t-1", m=2, question="?", gold="28", entries=[W1], layer=2, onward=False, exact=True,
        committed=other(1.4, [None, W1], "28", correct=True, probe_tokens_used=32), null=other(0.0, [None], ""),
        yours=[other(0.25, [None, W1, W1], "29")], names=["the name"],
    )  # fmt: skip
    choice = choice_of(TURNED_RIGHT[2], *TURNED_RIGHT)  # type: ignore[arg-type]
    assert isinstance(choice, Choice)

    def said(event: WhatIfTried) -> list[tuple[str, list[str]]]:
        answers = choice.answers(event)
        return [
            (one.name, [plain(block.text) for block in one.about if isinstance(block, Paragraph)])
            for one in (*answers.beside, *answers.tried)
        ]

    signs = "  (▸ steered, · not)"
    assert said(tried_now) == [
        ("committed", ["✓ 28  1 token + 32 probe", f"segments · [▸]{signs}"]),
        ("null here", ["✗ no answer  1 token + 0 probe", f"segments ·{signs}"]),
        ("yours here: the name at α 0.25, layer 2", ["✗ 29  1 token + 0 probe", f"segments · [▸] ▸{signs}"]),
    ]
    two = msgspec.structs.replace(tried_now, names=[], entries=[W1, "b"], onward=True)
    assert said(two)[2][0] == "yours from here on: 2 entries at α 0.25, layer 2"
    one = msgspec.structs.replace(two, entries=["b"])
    assert said(one)[2][0] == "yours from here on: b at α 0.25, layer 2"
    assert len(said(msgspec.structs.replace(two, entries=[]))) == 2, "null was asked for"


def test_the_fields_of_another_entry() -> None:
    choice = choice_of(TURNED_RIGHT[2], *TURNED_RIGHT)  # type: ignore[arg-type]
    assert isinstance(choice, Choice)
    fields = [[(f.name, f.label, f.width, f.hint, f.is_swept) for f in line] for line in choice.fields]
    assert fields == [
        [
            (
                "entries",
                "inject",
                0,
                "numbers or names, several with + are added up; null: none",
                False,
            )
        ],
        [
            ("alphas", "α", 14, "", True),
            ("layer", "layer", 6, "own", False),
            ("onward", "to the end", 5, "", False),
        ],
    ]
    read = {field.name: field.read for line in choice.fields for field in line}
    assert (read["alphas"]("0.5 1"), read["layer"](""), read["layer"]("3"), read["onward"]("1")) == (
        [0.5, 1.0], None, 3, True,
    )  # fmt: skip
    (table,) = choice.choices(None)
    assert isinstance(table, Table) and (list(table.header), table.figures) == (
        ["no", "entry", "layer", "Score"],
        2,
    )


def test_words_of_the_tables_of_pairs_and_entries() -> None:
    assert PAIRS.notable_words == "pair whose vector turns a wrong answer of its problem right"
    assert ENTRIES.notable_words == "entry that turned more answers wrong than right"
    many = [pick(n, f"w{n}") for n in range(5)]
    events: list[Event] = []
    for n in range(5):
        name = f"t-{n}"
        events += [answer("greedy", name, "28", "a 28")]
        events += [
            decision(name, 1, "b 29", gate="chosen", chosen=f"w{n}"),
            answer("esm", name, "29", "b 29"),
        ]
    events += [
        answer("greedy", "u", "28", "a 28"), decision("u", 1, "b 29", gate="chosen", chosen="w3"),
        answer("esm", "u", "29", "b 29"),
    ]  # fmt: skip
    state = source_of([*many, *events]).state
    assert ENTRIES.remark(state) == "5 were injected: 0 help, 5 hurt: w3 −2; w0 −1; w1 −1", "the three worst"


def test_of_entries_that_hurt_alike_the_order_is_that_of_their_ids() -> None:
    """Not that in which they came to be used; those that helped as often as they hurt are none of them."""
    state = RunState().esm
    for name, right, wrong in (("b", 0, 1), ("c", 1, 3), ("a", 1, 2), ("d", 2, 2), ("e", 0, 0)):
        state.ledger[name] = EntryUse(used=4, right=right, wrong=wrong)
    assert hurting(state) == ["c", "a", "b"]
