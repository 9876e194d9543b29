"""What is worth opening in a method, worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace as replace_struct

from app.methods.overview import Curve, Highlight
from app.methods.pages import page_of
from app.methods.place import Place
from app.state.ledger import EntryUse
from app.state.run import RunState
from engine import events as ev
from screens.messages import SystemRequested
from screens.method_progress import progress_of
from screens.overview import card_content, card_panel, screen
from screens.overview.card_content import CardContent
from screens.overview.cards import Card
from screens.overview.screen import OverviewScreen
from screens.widgets.lazy_static import LazyStatic
from screens.widgets.line_list import LineList
from tests.screens.overview.test_overview import RunApp, demo_session, drawn


def state_of(*events: ev.Event) -> RunState:
    state = RunState()
    for event in events:
        state.apply(event)
    return state


def places(method: str, *events: ev.Event) -> list[tuple[str, Place]]:
    highlights = page_of(method).overview.highlights(state_of(*events))
    return [(highlight.text, highlight.place) for highlight in highlights]


def question(sample: str, answers: Sequence[str], met: Sequence[str]) -> ev.Event:
    path = ev.SampledPath(steps=[], count=1, probability=1.0, reward=1.0, answers=list(met))
    return ev.QuestionSampled(
        sample_id=sample, question="", starts=[], answers=list(answers), nodes=1, edges=1, samples=1, log_z=0.0,
        temperature=1.0, prior_alpha=0.0, paths=[path], prompt="",
    )  # fmt: skip


def test_questions_that_no_path_answers() -> None:
    """The first is met, the second has no answer in its graph; the third and the fourth are missed."""
    asked = [question("a", "x", "x"), question("b", "", ""), question("c", "x", ""), question("d", "x", "")]
    text = "2 questions of which no path meets an answer"
    assert places("GFlowNet", *asked) == [(text, Place("questions", 2))]


def test_answers_that_steering_turned() -> None:
    row = ev.MethodEvaluated(
        method="esm", n=80, accuracy=0.95, mean_tokens=80.0, final=False, difference=0.3, low=0.2, high=0.4, fixed=26,
        broken=2,
    )  # fmt: skip
    assert [(text, place.filter) for text, place in places("ESM", row)] == [
        ("2 answers that greedy has right and steering broke", "method:esm broken left"),
        ("26 answers that greedy has wrong and steering turned right", "method:esm fixed left"),
    ]
    verdict = page_of("ESM").overview.verdict_so_far(state_of(row))
    assert verdict is not None and (verdict.fixed, verdict.broken) == (26, 2)


def test_a_card_has_the_first_three_of_them() -> None:
    """The fourth would be the comparison, which has a tab of its own."""
    counts = {"difference": 0.0, "low": -0.2, "high": 0.2, "fixed": 2, "broken": 1}
    state = state_of(
        ev.Header(schema_version=1, name="x", run_id="1", seed=0, stages=["eval"]),
        *(
            ev.MethodEvaluated(method=method, n=8, accuracy=0.5, mean_tokens=80.0, final=False, **counts)
            for method in ("greedy", "esm", "no_memory")
        ),
    )
    state.esm.ledger["e1"] = EntryUse(used=3, right=1, wrong=2)
    [progress] = progress_of(list(state.stages.values()))
    content = card_content.card_content(1, progress, state)
    assert [highlight.text for highlight in content.highlights] == [
        "1 answer that greedy has right and steering broke",
        "the entry that hurt most: e1, which turned 2 answers wrong",
        "2 answers that greedy has wrong and steering turned right",
    ]
    assert (content.title, content.state, content.curve) == ("1 ESM ○", "has not started", None)


def picked(query: str, selector: float, rices: float) -> ev.Event:
    scores = {"selector": selector, "rices": rices}
    picks = [
        ev.SelectorPick(method=name, pointer=[0, 1], pair=[0, 1], answer="", score=score)
        for name, score in scores.items()
    ]
    return ev.SelectorPicked(query_id=query, question="", answers={}, pool=[0, 1], picks=picks)


def test_queries_on_which_the_selector_is_worse() -> None:
    """Better, equal, worse."""
    events = [picked("a", 1.0, 0.5), picked("b", 1.0, 1.0), picked("c", 0.0, 1.0)]
    text = "1 query on which similarity picks a better pair than the selector"
    assert places("Pool", *events) == [(text, Place("picks", 2))]


def answered(conversation: str, mode: str, passed: bool) -> ev.Event:
    return ev.ConversationAnswered(
        conversation_id=conversation, axis="", mode=mode, memory_mode="none" if mode == "baseline" else "flat",
        attempt=0, answer="", passed=passed, injected=mode != "baseline", reason="",
    )  # fmt: skip


def test_answers_that_notes_turned() -> None:
    """In `a` and `c` the note makes a failing answer pass (rows 1 and 5), in `b` a passing one fail (row 3)."""
    outcomes = (("a", False, True), ("b", True, False), ("c", False, True))
    events = [
        answered(name, mode, passed)
        for name, *both in outcomes
        for mode, passed in zip(("baseline", "on_detection"), both, strict=True)
    ]
    assert places("SLSM", *events) == [
        ("1 answer that a note broke (on detection)", Place("answers", 3, open=True)),
        ("2 answers that a note turned right (on detection)", Place("answers", 1, open=True)),
    ]


def test_the_best_iteration_of_an_evolution() -> None:
    """The second of three, chosen on the validation set."""
    events: list[ev.Event] = [ev.IterationBegan(iteration=number, deltas={"3": -0.5}) for number in range(3)]
    score = ev.AnswersScored(
        iteration=1, split="validation", answers=4, judged=4, correct=3, mean_tokens=20.0, shortness=0.5,
        correctness=0.75, composite=0.65, best=True,
    )  # fmt: skip
    text = "iteration 1: the best deltas, composite 0.650 on the validation set"
    assert places("Evolution", *events, score)[0] == (text, Place("iterations", 1, open=True))


CARD = CardContent("1 ESM ✓", "finished", "It does this.", ("The newest.", "The one before it."), None, ())


async def test_a_card_without_a_curve_has_none_of_the_card_before(tmp_path: Path) -> None:
    app = RunApp(OverviewScreen(demo_session(tmp_path)))
    async with app.run_test():
        await app.screen.mount(card := Card())
        for curve in (Curve("accuracy", "problems", "ESM", (0.5, 1.0)), None):
            card.show("ESM", replace(CARD, curve=curve))
            assert card._curve.curve == curve and card._curve.has_class("-empty") == (curve is None)


@pytest.mark.parametrize(("key", "line"), [("home", 0), ("down", 1), ("end", 2)])
async def test_each_line_of_a_card_leads_to_its_own_place(
    key: str, line: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goals = [Place("cases", filter="method:esm broken"), Place("results")]
    lines = tuple(Highlight(f"line {number}", place) for number, place in enumerate(goals))
    monkeypatch.setattr(card_panel, "card_content", lambda *_: replace(CARD, highlights=lines))
    app = RunApp(OverviewScreen(demo_session(tmp_path)))
    async with app.run_test() as pilot:
        app.push_screen(panel := card_panel.CardPanel(app.first.session, "ESM"))
        await pilot.pause()
        said = [str(option.prompt) for option in app.screen.query_one(LineList).options]
        await pilot.press(key)
        panel.draw(app.first.session)  # the log has grown: the cursor stays on its line
        await pilot.press("enter")
        await pilot.pause()
    assert said == ["› → open ESM", "  → line 0", "  → line 1"]
    assert app.asked == [SystemRequested("ESM", (None, *goals)[line])]


@pytest.mark.parametrize("said", [CARD.sentences, ()])
async def test_a_tile_says_the_newest_sentence_and_a_card_all_of_them(
    said: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or what the method is for, while nothing is known of it."""
    for module in (screen, card_panel):
        monkeypatch.setattr(module, "card_content", lambda *_: replace(CARD, sentences=said))
    app = RunApp(OverviewScreen(demo_session(tmp_path)))
    async with app.run_test(size=(200, 60)) as pilot:
        await pilot.pause()
        tile = drawn(app)
        app.push_screen(card_panel.CardPanel(app.first.session, "ESM"))
        await pilot.pause()
        card = [
            str(app.screen.query_one(f".card-{name}", LazyStatic).content) for name in ("about", "verdict")
        ]
    assert [text in tile for text in ("The newest.", "The one before", "It does this.")] == [
        bool(said),
        False,
        not said,
    ]
    assert card == ["It does this.", "\n".join(said)]


def test_of_several_verdicts_the_newest_comes_first() -> None:
    """The pairs of the pool, then what the selector makes of them, which the method is remembered by."""
    pairs = ev.Verdict(method="pool", baseline="given", metric="oracle", n=4, value=0.5, baseline_value=0.25,
                       difference=0.25, low=0.1, high=0.5, items="queries")  # fmt: skip
    picked = replace_struct(pairs, method="selector", baseline="rices", metric="vqa_accuracy")
    ends = [ev.StageFinished(stage=stage, seconds=1.0, verdict=verdict)
            for stage, verdict in (("pool", pairs), ("selector", picked))]  # fmt: skip
    state = state_of(*ends)
    [progress] = progress_of(list(state.stages.values()))
    newest, before = card_content._sentences(progress, state)
    assert newest.startswith("Pairs of the selector score 50.0% over 4 queries")
    assert before.startswith("The best known pair of a pool scores 50.0% over 4 queries")
    assert card_content.headline(progress, state) == picked


@pytest.mark.parametrize(
    ("state", "so_far"),
    [
        ("running", True),
        ("paused", True),
        ("stopped", True),
        ("failed", True),
        ("finished", False),
        ("stale", False),
    ],
)
def test_so_far_is_said_while_more_may_come(
    state: str, so_far: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not of what is finished, nor of figures of an earlier attempt, which says so itself."""
    verdict = ev.Verdict(
        method="esm", baseline="greedy", metric="accuracy", n=4, value=0.5, baseline_value=0.25, difference=0.25,
        low=-0.1, high=0.5, items="problems", stale=state == "stale",
    )  # fmt: skip
    monkeypatch.setattr(card_content, "headline", lambda progress, state: verdict)
    progress: Any = SimpleNamespace(name="ESM", state=state, shown=())
    [sentence] = card_content._sentences(progress, state_of())
    assert sentence.startswith("So far: ESM answers 50.0% of 4 problems right") == so_far
    assert sentence.startswith("Stale, of an earlier attempt: ESM answers") == (state == "stale")
