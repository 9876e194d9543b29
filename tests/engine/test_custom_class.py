"""Classes of the user's own that do their worst: each is told in an error, none ends the worker or shows a key."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest

from engine.custom_class import Role, WrongResult, error_text, in_role, make_custom, shown
from engine.errors import ConfigError
from engine.evolution.custom_classes import JUDGE as EVOLUTION_JUDGE
from engine.evolution.custom_classes import REFLECTOR
from engine.evolution.history import History
from engine.evolution.reflectors.reflector import ReflectorInput
from engine.gflownet.answer.custom_reader import READER
from engine.slsm.controllers.controller import Conflict, Detection, Update
from engine.slsm.custom_roles import CONTROLLER, JUDGE
from engine.slsm.judges.judge import AnswerJudgeFailed
from engine.slsm.multichallenge import Criterion
from engine.slsm.state import FlatState, SemanticState

KEY = "sk-a-key-of-this-machine"


class Worst(BaseException):
    """Passes `except Exception`."""


class WorstInMaking:
    def __init__(self) -> None:
        raise Worst("made")


MADE_AT = WorstInMaking.__init__.__code__.co_firstlineno + 1


class WorstInLooking:
    def __getattr__(self, name: str) -> object:
        raise Worst(name)


class WorstInJudging:
    def judge(self, criterion: object, answer: str) -> bool:
        raise Worst("judged")


class Unspeakable:
    """What cannot even be shown."""

    def __repr__(self) -> str:
        raise Worst("shown")


class ReturnsUnspeakable:
    def judge(self, criterion: object, answer: str) -> object:
        return Unspeakable()


class ReturnsMuch:
    def judge(self, criterion: object, answer: str) -> object:
        return "x" * 10_000_000


class Changes:
    """What it is given."""

    def judge(self, question: str, golds: list[str], answer: str) -> bool:
        golds.clear()
        return True

    def reflect(self, given: ReflectorInput, message: str) -> dict[str, float]:
        given.deltas["0"] += 1
        return given.deltas


class Narrow:
    judge = staticmethod(abs)


class BuiltIn:
    judge = staticmethod(max)


class TellsKey:
    def judge(self, criterion: object, answer: str) -> object:
        raise ValueError(f"refused: {KEY}")


@pytest.fixture(autouse=True)
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SOME_API_KEY", KEY)
    worst = ModuleType("worst_classes")
    for kind in (
        WorstInMaking,
        WorstInLooking,
        WorstInJudging,
        ReturnsUnspeakable,
        ReturnsMuch,
        TellsKey,
        Changes,
        Narrow,
        BuiltIn,
    ):
        setattr(worst, kind.__name__, kind)
    monkeypatch.setitem(sys.modules, "worst_classes", worst)
    yield


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "WorstInMaking",
            "a class that is made without arguments; making it failed: Worst: made (test_custom_class.py:{line})",
        ),
        ("WorstInLooking", "a class with the method `judge(criterion, answer)`; it has none"),
        ("Narrow", "a method `judge(criterion, answer)`; this one takes (x, /)"),
        ("key", "a class; this is a str"),
        (
            "nobody",
            "a name of the module `worst_classes`; it has WorstInMaking, WorstInLooking, WorstInJudging, "
            "ReturnsUnspeakable, ReturnsMuch, TellsKey, Changes, Narrow",
        ),
    ],
)
def test_a_class_that_cannot_be_made(name: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["worst_classes"], "key", "a text", raising=False)
    with pytest.raises(ConfigError) as caught:
        make_custom(f"worst_classes:{name}", JUDGE)
    assert list(map(str, caught.value.problems)) == [
        f"slsm.judge.kind: found worst_classes:{name}, expected {said.replace('{line}', str(MADE_AT))}"
    ]


def test_a_signature_that_python_does_not_tell_is_no_obstacle() -> None:
    assert make_custom("worst_classes:BuiltIn", JUDGE).judge(1, 2) == 2


@pytest.mark.parametrize(
    ("role", "method", "given", "returned", "said"),
    [
        (CONTROLLER, "update", (FlatState(), []), 3, "it returned 3, not an Update or a StateDiff"),
        (
            CONTROLLER, "update", (FlatState(), []), Update(SemanticState()),
            "it returned a SemanticState for a FlatState",
        ),
        (CONTROLLER, "detect", (FlatState(), [], ""), [3], "it returned [3], not a Detection or Conflicts"),
        (
            EVOLUTION_JUDGE, "judge", ("q", ["a"], "b"), "yes",
            "it returned 'yes', not True, False, None or a Verdict of these",
        ),
        (EVOLUTION_JUDGE, "cannot_tell", ("q", ["a"]), None, "it returned None, not a text"),
        (REFLECTOR, "reflect", (None, ""), 3, "it returned 3, not deltas or a ReflectorReply"),
        (READER, "read", (["a"], None), "x", "it returned 'x', not a list of texts"),
        (READER, "read", (["a"], None), ["x", 3], "it returned ['x', 3], not a list of texts"),
        (READER, "read", (["a"], None), ["x", "y"], "it returned 2 texts for 1 prompts"),
        *((READER, "count_tokens", ("x",), count, f"it returned {count}, not a whole number from 0 on")
          for count in (-1, True, 1.0)),
    ],
)  # fmt: skip
def test_what_a_method_may_return(
    role: Role, method: str, given: tuple[Any, ...], returned: Any, said: str
) -> None:
    (found,) = [one for one in role.methods if one.name == method]
    with pytest.raises(WrongResult) as caught:
        found.read(returned, "mine", *given)
    assert str(caught.value) == said


def test_what_a_method_returns_is_taken_as_it_is_meant() -> None:
    read = {method.name: method.read for role in (CONTROLLER, READER) for method in role.methods}
    conflict = Conflict("Rex", "it says Max")
    assert read["detect"]([conflict], "mine") == read["detect"](Detection((conflict,)), "mine")
    assert read["count_tokens"](0, "mine", "x") == 0 and read["read"](("x",), "mine", ["a"], None) == ["x"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("WorstInJudging", "Worst: judged"),
        ("ReturnsUnspeakable", "returned a Unspeakable"),
        ("ReturnsMuch", "returned 'xxx"),
        ("TellsKey", r"refused: \*\*\*"),
    ],
)
def test_a_judge_that_does_its_worst(name: str, said: str) -> None:
    judge = in_role(f"worst_classes:{name}", JUDGE)
    with pytest.raises(AnswerJudgeFailed, match=said) as caught:
        judge.judge(Criterion.__new__(Criterion), "an answer")
    assert KEY not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_it_is_called_what_it_calls_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    assert in_role("worst_classes:ReturnsMuch", JUDGE).name == "worst_classes:ReturnsMuch"
    monkeypatch.setattr(ReturnsMuch, "name", "much", raising=False)
    assert in_role("worst_classes:ReturnsMuch", JUDGE).name == "much"
    with pytest.raises(
        AnswerJudgeFailed, match=r"`worst_classes:ReturnsMuch` failed in `judge`: it returned"
    ):
        in_role("worst_classes:ReturnsMuch", JUDGE).judge(Criterion("?", "YES"), "an answer")


def test_what_a_class_changes_is_its_own_copy() -> None:
    golds, given = ["42"], ReflectorInput(0, {"0": 1.5}, {}, [], History(iterations=[]))
    assert in_role("worst_classes:Changes", EVOLUTION_JUDGE).judge("?", golds, "42").correct
    assert in_role("worst_classes:Changes", REFLECTOR).reflect(given, "").deltas == {"0": 2.5}
    assert golds == ["42"] and given.deltas == {"0": 1.5}


def test_an_error_that_cannot_say_why() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise Worst

    assert error_text(Mute()) == "Mute: it cannot say why"
    assert shown(3) == "3"


def test_what_a_class_returned_is_shown_without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)
    assert shown(KEY) == "'***'"


@dataclass
class Reply:
    text: str


@pytest.mark.parametrize("before", range(0, 80, 8))
@pytest.mark.parametrize("make", [Reply, str.encode], ids=["an object", "bytes"])
def test_no_part_of_a_key_is_shown_where_a_value_is_cut(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[str], object], before: int
) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)
    said = shown(make("x" * before + KEY + "y" * 80))
    assert KEY[:6] not in said
    assert KEY[-6:] not in said
    assert len(said) <= 100
    assert shown({"said": [KEY]}) == "{'said': ['***']}"
    assert KEY[:8] not in shown("x" * 20 + KEY + "y" * 200), "nor a part of it, where the text is cut"
