"""What the reflector is told: clusters, deltas, what was learnt, and every answer with its verdict."""

from __future__ import annotations

import json

from engine.evolution.clusters.descriptions import ClusterDescription
from engine.evolution.history import History, Iteration
from engine.evolution.reflectors.prompt import FIRST, user_message
from engine.evolution.reflectors.reflector import JudgedAnswer, ReflectorInput
from engine.evolution.score import Outcome, score

WORDS = {name: ClusterDescription(f"cluster {name}", 3, 0.5, ["mid"], ["often"]) for name in ("0", "1")}
ANSWERS = [
    JudgedAnswer("p1", "abcdefghij", 10, True, "it is 4"),
    JudgedAnswer("p2", "short", 1, False, "it is 5"),
    JudgedAnswer("p3", "long", 2, None, "who knows"),
]


def told(history: History) -> str:
    return user_message(ReflectorInput(1, {"0": 0.5, "1": -2.0}, WORDS, ANSWERS, history), 8)


def test_the_message_holds_deltas_verdicts_and_the_beginning_of_long_answers() -> None:
    text = told(History())
    assert json.dumps({"0": 0.5, "1": -2.0}) in text and FIRST in text and "exactly the ids 0, 1" in text
    assert "cluster 1" in text and "often" in text and "mid" in text
    sections = text.split("example_id: ")[1:]
    for section, (verdict, tokens, said) in zip(
        sections,
        [("yes", 10, "abcdefgh [cut: 2 more characters]"), ("no", 1, "short"), ("not judged", 2, "long")],
        strict=True,
    ):
        assert f"Correct: {verdict}\nTokens: {tokens}\n" in section and f"Answer: {said}\n" in section


def test_what_was_learnt_in_earlier_iterations_is_told_with_its_iteration() -> None:
    figures = score([Outcome(1, True)], 1.0)
    iterations = [
        Iteration(iteration=number, deltas={}, examples=[], score=figures, summary=said)
        for number, said in enumerate(("Less padding.", "", "Fewer bullets."))
    ]
    text = told(History(iterations=iterations))
    assert "Iteration 0: Less padding.\nIteration 2: Fewer bullets." in text and FIRST not in text
