"""The what-if screen: what its fields ask for, and what it draws of the answer."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input

from app.methods.esm.what_if import WHAT_IF, choice
from engine.errors import SteerError
from engine.events import Candidate, DecisionTaken, TriedAnswer, WhatIfTried
from screens.what_if.screen import SWEEP, WhatIfScreen
from tests.console import drawn

SMALL, WIDE = (80, 24), (200, 60)
DECISION = DecisionTaken(
    method="esm", example="e1", m=2, gate="chosen", chosen="b", layer=2, alpha=1.5,
    candidates=[
        Candidate(
            entry="a", name="A → B, step 1", kind="wrong", similarity=0.9, quality=1, ahat=0.9, layer=2, score=0.8
        ),
        Candidate(entry="b", kind="wrong", similarity=0.8, quality=1, ahat=0.8, layer=2, score=0.9),
        Candidate(entry="r", kind="right", similarity=0.8, quality=1, ahat=0.8, layer=2),
    ],
)  # fmt: skip
RECORD = "One and two.\n\nThree is right.\n\n#### 3"
TURNED = "One and two.\n\nFour is wrong.\n\n#### 4"


class Process:
    """Answers every request: below strength 1 the answer is wrong."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.error = ""
        self.difference = ""

    async def ask(self, system: str, wanted: dict[str, Any]) -> WhatIfTried:
        assert system == "esm"
        self.asked.append(wanted)
        if self.error:
            raise SteerError(what=self.error)
        return WhatIfTried(
            method=wanted["method"], example=wanted["example"], m=wanted["m"], question="How many?", gold="3",
            entries=wanted["entries"], names=[f"name of {entry}" for entry in wanted["entries"]],
            layer=2 if wanted["layer"] is None else wanted["layer"], onward=wanted["onward"],
            committed=answer(1.5), null=answer(0.0), yours=[answer(alpha) for alpha in wanted["alphas"]],
            exact=not self.difference, difference=self.difference,
        )  # fmt: skip


def request(entries: list[str], layer: int | None, alphas: list[float], onward: bool) -> dict[str, Any]:
    """The request for another choice at the decision."""
    place = {"method": "esm", "example": "e1", "m": 2}
    return place | {"entries": entries, "layer": layer, "alphas": alphas, "onward": onward}


def answer(alpha: float) -> TriedAnswer:
    right = alpha >= 1
    return TriedAnswer(
        alpha=alpha, chosen=[None, "b"], text=RECORD if right else TURNED, pred="3" if right else "4", correct=right,
        tokens_used=12,
    )  # fmt: skip


class WhatIfApp(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.process = Process()

    def on_mount(self) -> None:
        self.push_screen(
            WhatIfScreen(self.process, WHAT_IF, choice(DECISION, "How many?", "3"))  # type: ignore[arg-type]
        )


async def fill(pilot: Pilot[None], **fields: str) -> None:
    for name, text in fields.items():
        pilot.app.screen.query_one(f"#what-{name}", Input).value = text


async def press(pilot: Pilot[None], *keys: str) -> str:
    await pilot.press(*keys)
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()
    return drawn(pilot.app)


@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_enter_tries_what_was_committed_unless_told_otherwise(size: tuple[int, int]) -> None:
    app = WhatIfApp()
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        assert "segment 2: b at α 1.5, layer 2" in drawn(app)
        text = await press(pilot, "enter")
        assert app.process.asked == [request(["b"], None, [1.5], False)]
        assert "repeats the record" in text and "committed" in text and "null here" in text
        if size == WIDE:
            assert "yours here: name of b at α 1.5, layer 2" in text
            assert "= the committed answer" in text and "≠ Four is wrong." in text


async def test_numbers_names_layers_and_all_later_points() -> None:
    app = WhatIfApp()
    async with app.run_test(size=WIDE) as pilot:
        await pilot.pause()
        assert "A → B, step 1" in drawn(app) and "b at α" in drawn(app)
        await fill(pilot, entries="1, other", alphas="0.5 2", layer="3", onward="1")
        text = await press(pilot, "enter")
        assert app.process.asked[-1] == request(["a", "other"], 3, [0.5, 2.0], True)
        assert "yours from here on: 2 entries at α 0.5, layer 3" in text
        await fill(pilot, entries="C -> D, step 2 + 2, a")
        await press(pilot, "enter")
        assert app.process.asked[-1]["entries"] == ["C → D, step 2", "b", "a"]
        await fill(pilot, entries="null")
        text = await press(pilot, "enter")
        assert app.process.asked[-1]["entries"] == [] and "yours" not in text


async def test_a_sweep_shows_where_the_verdict_turns() -> None:
    app = WhatIfApp()
    async with app.run_test(size=WIDE) as pilot:
        text = await press(pilot, "f2")
        assert app.process.asked[0]["alphas"] == [1.5 * factor for factor in SWEEP]
        strip = next(line for line in text.splitlines() if line.count("✗") + line.count("✓") == len(SWEEP))
        assert strip.split() == ["✗4"] * 3 + ["✓3"] * 6
        assert "yours here: name of b at α 1.5, layer 2" in text, (
            "no strength says what does not stand beside it"
        )


async def test_in_eighty_columns_the_right_answer_and_the_hint_are_whole() -> None:
    """Whatever the question's length; a key that comes while the model loads is told."""
    app, question = WhatIfApp(), "How many? " * 40
    async with app.run_test(size=SMALL) as pilot:
        event = msgspec.structs.replace(DECISION, example="arithmetic-9cf294030f281825", method="mean_vector")
        screen = WhatIfScreen(app.process, WHAT_IF, choice(event, question, "28"))  # type: ignore[arg-type]
        await app.push_screen(screen)
        await fill(pilot, entries="")
        await pilot.pause()
        text = drawn(app)
        assert "right answer 28" in text
        assert "numbers or names, several with + are added up; null: none" in text
        screen._waiting = "loading …"
        await pilot.press("f2")
        assert [note.message for note in app._notifications] == [
            "The last try still has no answer: loading …"
        ]


async def test_a_replay_that_is_not_the_record_is_told() -> None:
    app = WhatIfApp()
    app.process.difference = "control point 1 chose null then and b now"
    async with app.run_test(size=WIDE) as pilot:
        text = await press(pilot, "enter")
        assert "is not the record (control point 1 chose null then and b now)" in text


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"entries": "3"}, "the list has no 3; it has 2 entries"),
        ({"entries": ""}, "inject:"),
        ({"alphas": "strong"}, "expected a number, found 'strong'"),
        ({"alphas": ""}, "a strength is missing"),
        ({"layer": "-1"}, "layer: expected a whole number"),
        ({"onward": "yes"}, "to the end: expected 0 or 1"),
    ],
)
async def test_a_wrong_field_is_told_and_nothing_is_asked(fields: dict[str, str], words: str) -> None:
    app = WhatIfApp()
    async with app.run_test(size=SMALL) as pilot:
        await fill(pilot, **fields)
        assert words in await press(pilot, "enter")
        assert app.process.asked == []


async def test_an_error_of_the_process_leaves_the_screen_usable() -> None:
    app = WhatIfApp()
    app.process.error = "esm has no answer to 'e1'"
    async with app.run_test(size=SMALL) as pilot:
        assert "✗ esm has no answer to 'e1'" in await press(pilot, "enter")
        app.process.error = ""
        assert "repeats the record" in await press(pilot, "enter")
