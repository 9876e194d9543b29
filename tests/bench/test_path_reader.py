"""Evidence is cut to equally many triples, and answers are judged as the page says."""

from __future__ import annotations

from itertools import pairwise

import pytest

from engine.events import PathStep
from tests.bench.bench_path_reader import Question, cut, equal_tokens, figures, path_line, written


def walk(names: str) -> list[PathStep]:
    """A path through these letters."""
    return [PathStep(head=a, relation="to", tail=b, score=1.0) for a, b in pairwise(names)]


def names(paths: list[list[PathStep]]) -> list[str]:
    return [path[0].head + "".join(step.tail for step in path) for path in paths]


@pytest.mark.parametrize(
    ("paths", "most", "kept"),
    [
        (["abc", "ade"], 2, ["abc"]),
        (["abc", "ade"], 3, ["abc", "ad"]),
        (["abc", "abd", "xy"], 3, ["abc", "abd"]),
        (["abc", "ab", "ad"], 3, ["abc", "ad"]),
        (["a", "aba"], 2, ["aba"]),
        (["ab", "cd", "ef"], 2, ["ab", "cd"]),
    ],
)
def test_paths_are_cut_to_as_many_triples(paths: list[str], most: int, kept: list[str]) -> None:
    assert names(cut([walk(path) for path in paths], most)) == kept


def test_a_prompt_holds_the_evidence_then_the_question() -> None:
    question = Question("who?", ["c"], "g", {"beam": [walk("abc"), walk("ab")]})
    assert (
        written(question, "beam", "one name, triplets").user
        == "Triplets:\n(a,to,b)\n(b,to,c)\n\nQuestion:\nwho?"
    )
    assert (
        written(question, "beam", "one name, paths").user
        == "Paths:\na -> to -> b -> to -> c\na -> to -> b\n\nQuestion:\nwho?"
    )
    assert path_line(walk("ab")) == "a -> to -> b"
    assert written(question, "none", "").user == "Question:\nwho?"


@pytest.mark.parametrize(
    ("answer", "hit", "f1"),
    [
        ("New York\nrome", 1, 1.0),
        ("new_york", 1, 2 / 3),
        ("It is Rome.", 1, 0.0),
        ("x\nrome\n\ny", 1, 0.4),
        ("", 0, 0),
    ],
)
def test_answers_are_judged_by_name_and_line_by_line(answer: str, hit: float, f1: float) -> None:
    question = Question(
        "who?", ["new_york", "rome"], "g", {"beam": [[*walk("ab")], [*walk("ab"), *walk("bc")]]}
    )
    found = figures(question, "beam", {"answer": answer, "tokens": 50, "written": 3})
    assert (found["hit"], found["f1"]) == (hit, pytest.approx(f1))
    assert (found["triples"], found["holds an answer"], found["prompt tokens"], found["tokens"]) == (
        2,
        0,
        50,
        3,
    )


@pytest.mark.parametrize(("tokens", "triples"), [(8, 0), (9, 1), (17, 1), (18, 2)])
def test_equal_tokens_hold_as_many_whole_lines(tokens: int, triples: int) -> None:
    """`(a,to,b)` and the end of its line have 9 signs."""
    assert equal_tokens(tokens, len)([walk("abc"), walk("ab")]) == triples


@pytest.mark.parametrize(("gold", "holds"), [("a", 0), ("b", 1), ("c", 1)])
def test_evidence_holds_what_its_triples_lead_to(gold: str, holds: float) -> None:
    question = Question("who?", [gold], "g", {"beam": [walk("abc")]})
    assert figures(question, "beam", {"answer": "", "tokens": 1, "written": 1})["holds an answer"] == holds
