"""What a compared item's way through a run reads like in each method, from events written by hand."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from engine.comparison.methods.esm import ESMReader
from engine.comparison.methods.evolution import EvolutionReader
from engine.comparison.methods.gflownet import GFlowNetReader
from engine.comparison.methods.pool import PoolReader
from engine.comparison.methods.slsm import SLSMReader
from engine.comparison.trace import Step, Value
from engine.events import (
    AnswerJudged,
    Candidate,
    ConversationAnswered,
    ConversationOpened,
    Event,
    EvidenceAnswered,
    IterationBegan,
    PoolQueryDone,
    PoolTrajectory,
    QuestionSampled,
    SelectorPick,
    SelectorPicked,
    StateUpdated,
)
from engine.events.gflownet import PathStep, SampledPath
from engine.events.slsm import StateItem
from engine.run.event_log import LogPlace
from tests.two_runs import decided, evaluated


def steps(reader: Any, *events: Event) -> dict[str, tuple[str, str, list[Step]]]:
    """By arm: the stage, what makes an item right, and the steps of the one item."""
    for at, event in enumerate(events):
        reader.take(event, LogPlace(at, 1))
    return {
        arm.name: (
            arm.stage,
            arm.right_means,
            list(reader.steps(arm.name, item, lambda at: events[at.offset])),
        )
        for arm in reader.arms()
        for item in arm.items.values()
    }


def test_of_an_example() -> None:
    """A decision weighs what was probed; the answer's text stands in the segments where there are any."""
    first, second, third = (
        Candidate(
            entry=entry, name=name, kind="wrong", similarity=0.5, quality=1.0, ahat=0.2, probed=probed,
            logprob=-1.5,
        )
        for entry, name, probed in (("e1", "left → right", True), ("e2", "", False), ("e3", "up → down", True))
    )  # fmt: skip
    weighed = {"candidates": [first, second, third], "null_logprob": -2.0}
    chosen = {"gate": "best", "chosen": "e1", "layer": 3, "alpha": 1.5, "segment": "It is"}
    events = [
        decided("p", 2, segment=" so.", candidates=[first], null_logprob=-2.0),
        decided("p", 3, phase="tail", segment=" End."),
        decided("p", 1, **weighed, **chosen),
        evaluated("esm", "p", True, "It is so. End."), evaluated("greedy", "p", False, "It is not."),
    ]  # fmt: skip
    means = "the extracted answer equals the gold answer"
    null: dict[str, Value] = {"rule": "null_best", "entry": "null"}
    one = {"e1": "left → right"}
    assert steps(ESMReader(), *events) == {
        "esm": (
            "eval", means,
            [
                Step(
                    "segment 1", "segment 1", {"rule": "best", "entry": "e1", "layer": 3, "α": 1.5},
                    {"null": -2.0, "e1": -1.5, "e3": -1.5}, "It is", "2 entries and null probed", "probe",
                    {"e1": "left → right", "e2": "e2", "e3": "up → down"},
                ),
                Step(
                    "segment 2", "segment 2", null, {"null": -2.0, "e1": -1.5}, " so.", "1 entry and null probed",
                    "probe", one,
                ),
                Step(
                    "tail 3", "rest of the answer", null, {"null": None}, " End.", "nothing probed", "probe",
                ),
                Step("answer", "answer", {"answer": "1", "verdict": "right"}),
            ],
        ),
        "greedy": (
            "eval", means, [Step("answer", "answer", {"answer": "2", "verdict": "wrong"}, text="It is not.")],
        ),
    }  # fmt: skip


def test_of_a_pool() -> None:
    """The best five pairs stand first; of the pool after injection only the new rows are told."""
    pairs = [(1, 2, 0.3), (3, 4, None), (5, 6, 1.0), (7, 8, 0.9), (9, 10, 0.6), (11, 12, 0.1)]
    done = PoolQueryDone(
        query_id="q", question="What colour?", answers={"red": 8, "grey": 2}, picture="7", given_pool=2,
        pool_before=[40, 41], pool_after=[40, 77], similarity=[0.5, 0.4], injected=[1, 2], referenced=[],
        oracle_before=0.6, oracle_after=1.0,
        trajectories=[
            PoolTrajectory(pair=(a, b), score=score, origin="beam", verdict="given") for a, b, score in pairs
        ],
    )  # fmt: skip
    best = (
        "5, 6: 1.0 (beam, given)\n7, 8: 0.9 (beam, given)\n9, 10: 0.6 (beam, given)\n1, 2: 0.3 (beam, given)"
    )
    way = [
        Step("pool", "pool as it came", {"rows": "40, 41"}),
        Step("mined", "best pairs", text=f"{best}\n11, 12: 0.1 (beam, given)"),
        Step("injected", "injected rows", {"rows": "77"}),
        Step("oracle", "best score", {"before": 0.6, "after": 1.0}),
    ]
    means = "the best pair known in the pool is answered fully right"
    reader = PoolReader()
    assert steps(reader, done) == {
        "before injection": ("pool", means, way),
        "after injection": ("pool", means, way),
    }
    (item,) = reader.arms()[0].items.values()
    assert (item.question, item.asked) == ("What colour?", "What colour?\ngrey×2, red×8\n7")
    none = replace(done, injected=[])
    assert steps(PoolReader(), none)["after injection"][2][2].decided == {"rows": "none"}


def test_of_picks() -> None:
    """They are numbered where a method has several."""

    def pick(method: str, *pair: int, score: float | None) -> SelectorPick:
        return SelectorPick(
            method=method,
            pointer=[0, 1],
            pair=list(pair),
            score=score,
            probability=0.25,
            answer=f"a{pair[0]}",
        )

    picked = SelectorPicked(
        query_id="q", question="Q", answers={"a": 1}, pool=[1, 2, 3],
        picks=[pick("random", 1, 2, score=0.3), pick("rices", 2, 1, score=None), pick("random", 3, 1, score=1.0)],
    )  # fmt: skip
    means = "the picked pair is answered fully right"
    weighed: dict[str, Value] = {"probability": 0.25}
    assert steps(PoolReader(), picked) == {
        "random": (
            "selector", means,
            [
                Step("pick 1", "pick 1", {"pair": "1, 2", "score": 0.3}, weighed, "a1"),
                Step("pick 2", "pick 2", {"pair": "3, 1", "score": 1.0}, weighed, "a3"),
            ],
        ),
        "rices": ("selector", means, [Step("pick", "pick", {"pair": "2, 1", "score": None}, weighed, "a2")]),
    }  # fmt: skip


def test_of_a_conversation() -> None:
    """The memory turn by turn, then note and answer of each attempt, numbered from 1 where there are several."""

    def answered(mode: str, attempt: int, injected: bool, passed: bool) -> ConversationAnswered:
        return ConversationAnswered(
            conversation_id="c", axis="x", mode=mode, memory_mode="flat", attempt=attempt, answer=f"answer {attempt}",
            injected=injected, reason="always", note="Rex" if injected else "", passed=passed, verdict="names Rex",
        )  # fmt: skip

    def updated(turn: int, **more: Any) -> StateUpdated:
        return StateUpdated(conversation_id="c", memory_mode="flat", turn=turn, plan_mode="rules", **more)

    fact = StateItem(kind="facts", id="f1", text="The dog is Rex")
    resolved = StateItem(kind="unknowns", id="u1", text="its age", status="resolved")
    events = [
        ConversationOpened(conversation_id="c", axis="x", turns=[["Hi", "Hello"], ["Bye"]]),
        updated(10, memory_text="Rex is a dog.", failure="no answer"),
        updated(2, memory_text="A dog."),
        updated(0, items=[fact, resolved], memory_text="not shown"),
        answered("always", 0, True, False), answered("always", 1, False, True), answered("baseline", 0, False, False),
    ]  # fmt: skip
    memory = [
        Step("turn 0", "memory after turn 1", text="facts The dog is Rex\nunknowns its age (resolved)"),
        Step("turn 2", "memory after turn 3", text="A dog."),
        Step("turn 10", "memory after turn 11", {"failure": "no answer"}, text="Rex is a dog."),
    ]
    means = "an attempt passes the checks or the judge"
    assert steps(SLSMReader(), *events) == {
        "always (flat)": (
            "slsm", means,
            [
                *memory,
                Step("note 1", "note 1", {"note": "given", "why": "always"}, text="Rex"),
                Step("answer 1", "answer 1", {"verdict": "wrong"}, text="answer 0", note="names Rex"),
                Step("note 2", "note 2", {"note": "none", "why": "always"}),
                Step("answer 2", "answer 2", {"verdict": "right"}, text="answer 1", note="names Rex"),
            ],
        ),
        "baseline (flat)": (
            "slsm", means,
            [
                *memory,
                Step("note", "note", {"note": "none", "why": "always"}),
                Step("answer", "answer", {"verdict": "wrong"}, text="answer 0", note="names Rex"),
            ],
        ),
    }  # fmt: skip


def test_of_an_evolution() -> None:
    """The deltas that an answer was given under, and none for one without a processor."""

    def judged(iteration: int, split: str, correct: bool | None) -> AnswerJudged:
        return AnswerJudged(
            iteration=iteration, split=split, example="e", question="Q", gold="g", answer="words", correct=correct,
            tokens=12, reasoning="why",
        )  # fmt: skip

    began = IterationBegan(iteration=3, deltas={"0": -1.5, "2": 4})
    answer = Step("answer", "answer", {"tokens": 12, "verdict": "right"}, text="words", note="why")
    deltas = Step(
        "deltas", "deltas", {}, {"Δ0": -1.5, "Δ2": 4.0}, note="of iteration 3", weighed_as="setting"
    )
    means = "the judge says that the answer is right"
    assert steps(EvolutionReader(), began, judged(3, "test", True), judged(0, "test_plain", True)) == {
        "best deltas": ("evolve", means, [deltas, answer]),
        "no processor": ("evolve", means, [answer]),
    }


def test_of_evidence_and_paths() -> None:
    steps_of_path = [
        PathStep(head="Ada", relation="born in", tail="London", score=0.9),
        PathStep(head="London", relation="part of", tail="England", score=0.1),
    ]
    sampled = QuestionSampled(
        sample_id="s", question="Q", starts=["Ada"], answers=["London"], golds=["London"], nodes=3, edges=2, samples=8,
        log_z=0.0, temperature=1.0, prior_alpha=0.0,
        paths=[
            SampledPath(steps=steps_of_path, count=5, probability=0.75, reward=1.0, answers=["London", "England"]),
            SampledPath(steps=[], count=3, probability=0.25, reward=0.0),
        ],
    )  # fmt: skip
    answer = EvidenceAnswered(
        method="triples", sample_id="s", question="Q", golds=["London"], triples=4, prompt_tokens=31,
        prompt="(a, b, c)", answer="Paris", hit=False, recall=0.0,
    )  # fmt: skip
    path = "Ada -born in→ London -part of→ England"
    assert steps(GFlowNetReader(), sampled, answer) == {
        "drawn paths": (
            "gflownet", "a drawn path meets an answer",
            [
                Step("path 1", "path 1", {"meets": "London, England"}, {"probability": 0.75}, path),
                Step("path 2", "path 2", {"meets": "no answer"}, {"probability": 0.25}),
            ],
        ),
        "triples": (
            "answer", "the answer names a gold answer",
            [
                Step("evidence", "evidence", text="(a, b, c)", note="4 triples, 31 tokens"),
                Step("answer", "answer", {"verdict": "wrong"}, text="Paris"),
            ],
        ),
    }  # fmt: skip
