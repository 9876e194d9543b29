"""`W`: a question with each lever on or off."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.widgets import Input

from app.blocks.block import Paragraph, Span, Table
from engine.events import LeverActed, LeveredAnswer, LeverFit, LeversTried
from screens.esm.screen import EsmScreen
from screens.levers import screen as levers
from tests.recorded_session import RecordedSession
from tests.synthetic_run import SyntheticRun, write_log


class LeversApp(App[None]):
    """ESM's screen, from which `W` leads."""

    def __init__(self, session: RecordedSession) -> None:
        super().__init__()
        self.session = session

    def on_mount(self) -> None:
        self.push_screen(EsmScreen(self.session))


class Process:
    """Answers with one lever that acts and one that does not fit."""

    def __init__(self, run_dir: Path) -> None:
        self.asked: list[Mapping[str, Any]] = []
        self.closed = False

    async def ask(self, system: str, wanted: Mapping[str, Any]) -> LeversTried:
        assert system == "levers"
        self.asked.append(wanted)
        did = LeverActed(lever="esm", acted=True, what="steered 1 of 3 segments", tokens=8)
        return LeversTried(
            question=wanted["question"], model="small",
            fits=[
                LeverFit(lever="esm", run="/outputs/demo/1", fits=True, why="a memory of 3 entries"),
                LeverFit(lever="deltas", run="/outputs/demo/1", fits=False, why="for another vocabulary"),
            ],
            answers=[
                LeveredAnswer(levers=[], text="It is 3.", tokens=4, prompt_tokens=9, effects=[]),
                LeveredAnswer(levers=["esm"], text="It is 4.", tokens=6, prompt_tokens=9, effects=[did]),
            ],
        )  # fmt: skip

    async def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_answers_stand_side_by_side_with_what_each_lever_did(
    size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = Process(tmp_path)
    monkeypatch.setattr(levers, "WhatIfProcess", lambda run_dir: process)
    log = write_log(tmp_path / "events.jsonl", SyntheticRun(examples=3, pairs=2, picks=2).events(("esm",)))
    async with LeversApp(RecordedSession(log, tmp_path)).run_test(size=size) as pilot:
        await pilot.press("W")
        await pilot.pause()
        screen = pilot.app.screen
        assert isinstance(screen, levers.LeversScreen)
        own = screen.query_one("#what-question", Input).value
        assert own == "Ana has 52 stamps, buys 4 more and gives 4 away. How many stamps are left?", (
            "of test-0002, the last"
        )
        at_first = "\n".join(strip.text for strip in screen._compositor.render_strips())
        assert all(f"{label} " in at_first for label in ("question", "model", "further runs"))
        screen.query_one("#what-question", Input).value = ""
        await pilot.press("enter")
        await pilot.pause()
        assert not process.asked
        assert "type what the model is to answer" in "\n".join(
            strip.text for strip in screen._compositor.render_strips()
        )
        screen.query_one("#what-question", Input).value = own
        for name, text in (("model", "mine"), ("model", "run"), ("runs", "demo/1 demo/2")):
            screen.query_one(f"#what-{name}", Input).value = text
            if text == "mine":
                await pilot.press("enter")
                await pilot.pause()
                assert not process.asked
        await pilot.press("enter")
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        assert process.asked == [{"question": own, "model": "run", "runs": ["demo/1", "demo/2"]}]
        drawn = "\n".join(strip.text for strip in screen._compositor.render_strips())
        assert "6 tokens (+2) + 8 for the levers" in drawn and "▸ steered 1 of 3 segments" in drawn
        assert "It is ≠ 4." in drawn and "✗ does not fit" in drawn and "for another vocabulary" in drawn
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(pilot.app.screen, EsmScreen)
    assert process.closed


def test_what_all_levers_cost_is_their_sum() -> None:
    plain = LeveredAnswer(levers=[], text="3", tokens=6, prompt_tokens=9, effects=[])
    effects = [
        LeverActed(lever=name, acted=True, what="", tokens=n) for name, n in (("esm", 8), ("notes", 5))
    ]
    both = LeveredAnswer(levers=["esm", "notes"], text="4", tokens=4, prompt_tokens=9, effects=effects)
    cost = levers._answer(both, plain).about[0]
    assert isinstance(cost, Paragraph) and cost.text == "4 tokens (−2) + 13 for the levers"


def test_that_no_lever_fits_is_said_where_none_answered() -> None:
    """The plain answer stands alone then; with a lever's beside it the table alone is shown."""
    plain = LeveredAnswer(levers=[], text="3", tokens=6, prompt_tokens=9, effects=[])
    fits = [LeverFit(lever="deltas", run="/outputs/demo/1", fits=False, why="for another vocabulary")]
    alone = LeversTried(question="?", model="small", fits=fits, answers=[plain])
    said, table = levers._fits(alone)
    assert said == Paragraph("No lever fits this model: the table says why.", "warn")
    assert isinstance(table, Table) and table.header == ("lever", "run", "on small", "why")
    both = LeversTried(question="?", model="small", fits=fits, answers=[plain, plain])
    assert [type(block) for block in levers._fits(both)] == [Table]
    assert levers._fits(None) == [Paragraph(levers.BEFORE, "dim")]


def test_an_answer_names_its_levers_and_what_each_did() -> None:
    """One lever by its name alone; of several each line says whose it is. Without a difference none is said."""
    plain = LeveredAnswer(levers=[], text="3", tokens=1, prompt_tokens=9, effects=[])
    effects = [
        LeverActed(lever="esm", acted=True, what="steered\n2 segments", tokens=0),
        LeverActed(lever="notes", acted=False, what="no conflict", tokens=0),
    ]
    alone = LeveredAnswer(levers=["esm"], text="4", tokens=1, prompt_tokens=9, effects=effects[:1])
    both = LeveredAnswer(levers=["esm", "notes"], text="4", tokens=3, prompt_tokens=9, effects=effects)
    tried = LeversTried(question="?", model="small", fits=[], answers=[plain, alone, both])
    answers = levers._answers(tried).beside
    assert [(answer.name, answer.text, answer.about[0]) for answer in answers] == [
        ("plain: no lever", "3", Paragraph("1 token", "dim")), ("esm", "4", Paragraph("1 token", "dim")),
        ("all: esm, notes", "4", Paragraph("3 tokens (+2)", "dim")),
    ]  # fmt: skip
    assert answers[1].about[1:] == [Paragraph([Span("▸ ", "accent"), Span("steered⏎2 segments", "dim")])]
    assert answers[2].about[1:] == [
        Paragraph([Span("▸ ", "accent"), Span("esm: steered⏎2 segments", "dim")]),
        Paragraph([Span("· ", "dim"), Span("notes: no conflict", "dim")]),
    ]


def test_which_levers_fit_row_by_row() -> None:
    """A run is called by its last folder."""
    answer = LeveredAnswer(levers=[], text="3", tokens=6, prompt_tokens=9, effects=[])
    fits = [
        LeverFit(lever="esm", run="/outputs/demo/1", fits=True, why="3\nentries"),
        LeverFit(lever="deltas", run="demo", fits=False, why="other words"),
    ]
    [table] = levers._fits(LeversTried(question="?", model="small", fits=fits, answers=[answer] * 2))
    assert isinstance(table, Table)
    assert table.rows == [
        ("esm", "1", Span("✓ fits", "good"), Span("3⏎entries", "dim")),
        ("deltas", "demo", Span("✗ does not fit", "bad"), Span("other words", "dim")),
    ]


def test_what_the_fields_take_and_say(tmp_path: Path) -> None:
    session = RecordedSession([], tmp_path / "demo" / "1")
    choice = levers._choice(session)
    assert choice.about == "all levers on one question · demo/1"
    [[question], [model, runs]] = choice.fields
    assert (question.value, model.value, runs.value) == ("", "run", ""), (
        "without a recorded question it is empty"
    )
    assert [model.read(name) for name in ("run", "evolution", "slsm")] == ["run", "evolution", "slsm"]
    for field, text, words in (
        (model, "mine", "expected run, evolution, slsm, found 'mine'"),
        (question, "", "type what the model is to answer"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"^{words}$"):
            field.read(text)
    assert [field.width for field in (question, model, runs)] == [0, 12, 0], "0: what is left"
    assert (question.hint, runs.hint) == (
        "any question; enter asks it",
        "none, or others, each as NAME/ID",
    )


def test_a_run_is_named_from_inside_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `steer-tui .` opens it."""
    (tmp_path / "demo" / "1").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "demo" / "1")
    choice = levers._choice(RecordedSession([], Path()))
    assert choice.about == "all levers on one question · demo/1"
