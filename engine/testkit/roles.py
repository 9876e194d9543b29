"""What each role is tried on. The roles are called like the fields that name a class, without `kind`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from engine.custom_class import imported, in_role, shown
from engine.events import PathStep
from engine.evolution import custom_classes as evolution_classes
from engine.evolution.clusters.descriptions import ClusterDescription
from engine.evolution.history import History
from engine.evolution.reflectors.reflector import JudgedAnswer, ReflectorInput
from engine.gflownet.answer.custom_reader import READER
from engine.gflownet.evaluation.path_prompt import EvidencePrompt
from engine.slsm import custom_roles as slsm_classes
from engine.slsm.multichallenge import Criterion
from engine.slsm.state import FlatState, SemanticState
from engine.slsm.turns import Turn
from engine.testkit.trial import TEXTS, Seen, Trial, failure_of, tried

QUESTION, GOLDS = "What is 6 times 7?", ["42", "forty-two"]
_CLUSTERS = ("0", "1", "2")


def _nothing(returned: Any) -> str:
    """The guard around a class has looked at what it returned."""
    return ""


def _failure(returned: Any) -> str:
    return returned.failure


def _with_texts(
    what: str, call: Callable[[Any, str], Any], problem_of: Callable[[Any], str] = _nothing
) -> list[Trial]:
    """The call with each of TEXTS."""
    return [
        Trial(f"{what} {name}", lambda instance, text=text: call(instance, text), problem_of)
        for name, text in TEXTS.items()
    ]


def judge_trials() -> list[Trial]:
    """`evolution.judge`"""
    return [
        *_with_texts("judge", lambda judge, text: judge.judge(QUESTION, GOLDS, text)),
        *_with_texts("with a gold answer that is", lambda judge, text: judge.judge(text, [text], "42")),
        Trial("judge without a gold answer", lambda judge: judge.judge(QUESTION, [], "42"), _nothing),
        Trial("cannot_tell", lambda judge: judge.cannot_tell(QUESTION, GOLDS), _nothing),
    ]


def reflector_trials() -> list[Trial]:
    """`evolution.reflector`"""

    def given(texts: list[str]) -> ReflectorInput:
        described = {name: ClusterDescription("words", 10, 0.3, [" the"], [" a"]) for name in _CLUSTERS}
        answers = [
            JudgedAnswer(f"q{place}", text, 9, (True, False, None)[place % 3], "compared", [0, 1, 2] * 3)
            for place, text in enumerate(texts)
        ]
        return ReflectorInput(0, dict.fromkeys(_CLUSTERS, 0.0), described, answers, History(iterations=[]))

    return [
        *_with_texts("answers with", lambda reflector, text: reflector.reflect(given([text, "42"]), text)),
        Trial("a single answer", lambda reflector: reflector.reflect(given(["42"]), "message"), _nothing),
    ]


def answer_judge_trials() -> list[Trial]:
    """`slsm.judge`"""
    asked = Criterion('Does the answer contain the word "blue"?', "YES")
    return [
        *_with_texts("judge", lambda judge, text: judge.judge(asked, text)),
        *_with_texts(
            "with a target question that is", lambda judge, text: judge.judge(Criterion(text, "NO"), "blue")
        ),
    ]


def controller_trials() -> list[Trial]:
    """`slsm.controller`"""

    def turns(text: str) -> tuple[Turn, Turn]:
        return Turn("My dog is called Rex.", "Nice."), Turn(text)

    trials: list[Trial] = []
    for state in (SemanticState(), FlatState()):
        kind = "structured" if isinstance(state, SemanticState) else "flat"
        trials += _with_texts(
            f"update a {kind} state by", lambda obj, text, s=state: obj.update(s, turns(text)), _failure
        )
        trials += _with_texts(
            f"detect with a {kind} state,",
            lambda obj, text, s=state: obj.detect(s, turns(text), text),
            _failure,
        )
    return trials


def reader_trials() -> list[Trial]:
    """`answer.reader`"""

    def prompt(text: str) -> EvidencePrompt:
        return EvidencePrompt(text, [PathStep(head="Ada", relation="born in", tail=text, score=0.5)], 9)

    bare = EvidencePrompt(QUESTION, [], 0)
    return [
        *_with_texts("read", lambda obj, text: obj.read([prompt(text), prompt(QUESTION)], lambda: None)),
        *_with_texts("count_tokens of", lambda obj, text: obj.count_tokens(text)),
        Trial("read a question without triples", lambda obj: obj.read([bare], lambda: None), _nothing),
    ]


def compare_trials() -> list[Trial]:
    """`task.compare`: a function of the whole text and the right answer."""

    def problem_of(returned: Any) -> str:
        return "" if isinstance(returned, bool) else f"it returned {shown(returned)}, neither True nor False"

    return [
        *_with_texts("compare", lambda compare, text: compare(text.strip(), "42"), problem_of),
        *_with_texts("with a right answer that is", lambda compare, text: compare("42", text), problem_of),
    ]


ROLES: dict[str, tuple[Callable[[str], Any], Callable[[], list[Trial]]]] = {
    "evolution.judge": (partial(in_role, role=evolution_classes.JUDGE), judge_trials),
    "evolution.reflector": (partial(in_role, role=evolution_classes.REFLECTOR), reflector_trials),
    "slsm.judge": (partial(in_role, role=slsm_classes.JUDGE), answer_judge_trials),
    "slsm.controller": (partial(in_role, role=slsm_classes.CONTROLLER), controller_trials),
    "answer.reader": (partial(in_role, role=READER), reader_trials),
    "task.compare": (lambda name: imported(name, "task.compare"), compare_trials),
}


_MAKE = "import and make it"


def try_class(
    role: str, name: str, seconds: float, begin: Callable[[str], None] = lambda trial: None
) -> list[Seen]:
    """What `module:Class` does as `role`. A class that cannot even be made is one finding. `begin` is called with what
    is tried next."""
    make, trials = ROLES[role]
    begin(_MAKE)
    if problem := failure_of(lambda: make(name), seconds):
        return [Seen(_MAKE, problem)]
    return [Seen(_MAKE), *tried(lambda: make(name), trials(), seconds, begin)]
