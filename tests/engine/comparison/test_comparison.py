"""Two run folders compared: outcomes of every method, where examples part, and what stands in the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.comparison.comparison import compare_runs
from engine.comparison.figures import CELLS
from engine.comparison.pairing import Paired
from engine.comparison.remarks import remarks
from engine.comparison.run_items import read_items
from engine.errors import RunError
from engine.events import (
    AnswerJudged,
    Candidate,
    ConversationAnswered,
    Event,
    EvidenceAnswered,
    ModelLoaded,
    PoolQueryDone,
    SelectorPicked,
    StageBegunAgain,
)
from engine.run.directory import RunDirectory
from engine.run.event_log import LogPlace
from tests.exactly import exactly
from tests.synthetic_evolution import evolution_events
from tests.synthetic_gflownet import gflownet_events
from tests.synthetic_pool import pool_events
from tests.synthetic_run import SyntheticRun
from tests.synthetic_slsm import slsm_events
from tests.two_runs import decided, evaluated, make_run

STREAMS: dict[str, Callable[[], Iterator[Event]]] = {
    "ESM": lambda: SyntheticRun(examples=6, pairs=6, picks=10).events(),
    "Evolution": evolution_events,
    "GFlowNet": gflownet_events,
    "SLSM": slsm_events,
    "Pool": pool_events,
}


@pytest.mark.parametrize("system", STREAMS)
def test_a_run_and_its_copy_are_equal_in_everything(system: str, tmp_path: Path) -> None:
    events = list(STREAMS[system]())
    comparison = compare_runs(make_run(tmp_path, "a", events), make_run(tmp_path, "b", events))
    assert comparison.arms and {arm.a.system for arm in comparison.arms} == {system}
    assert comparison.changed == [] and not any("only in" in line for line in comparison.remarks)
    for arm in comparison.arms:
        assert arm.figures.n == len(arm.a.items) - arm.paired.unjudged
        assert arm.figures.n == 0 or (arm.figures.difference, arm.figures.low, arm.figures.high) == (0, 0, 0)
        for first, second in arm.paired.pairs:
            traces = comparison.traces(arm, first, second)
            assert traces.steps and traces.first is None and traces.first_weighed is None


def test_the_outcomes_are_those_of_the_events(tmp_path: Path) -> None:
    """Counted here from the events, without the readers."""
    streams = {name: list(make()) for name, make in STREAMS.items()}
    arms = {
        k: v
        for s, events in streams.items()
        for k, v in read_items(make_run(tmp_path, s, events)).arms.items()
    }

    right = sum(
        e.correct is True
        for e in streams["Evolution"]
        if isinstance(e, AnswerJudged) and e.split == "baseline"
    )
    assert _right(arms, "Evolution", "no processor (validation)") == right
    hits = sum(
        e.hit for e in streams["GFlowNet"] if isinstance(e, EvidenceAnswered) and e.method == "triples"
    )
    assert _right(arms, "GFlowNet", "triples") == hits
    passed = {
        e.conversation_id
        for e in streams["SLSM"]
        if isinstance(e, ConversationAnswered)
        and (e.mode, e.memory_mode) == ("always", "structured")
        and e.passed
    }
    assert _right(arms, "SLSM", "always (structured)") == len(passed)
    picks = [
        p for e in streams["Pool"] if isinstance(e, SelectorPicked) for p in e.picks if p.method == "rices"
    ]
    assert _right(arms, "Pool", "rices") == sum(p.score == 1.0 for p in picks) and picks


def _right(arms: dict, system: str, name: str) -> int:  # type: ignore[type-arg]
    return sum(item.right is True for item in arms[system, name].items.values())


def test_the_first_decision_that_differs(tmp_path: Path) -> None:
    def entry(logprob: float) -> list[Candidate]:
        return [
            Candidate(
                entry="e1", kind="wrong", similarity=0.9, quality=1.0, ahat=0.9, probed=True, logprob=logprob
            )
        ]

    same = [decided("x", 1, gate="first_segment", segment="one. ")]
    a = [
        *same,
        decided("x", 2, candidates=entry(-0.5), segment="two. "),
        decided("x", 3, gate="chosen", chosen="e1", layer=2, alpha=4.0, segment="three"),
        evaluated("esm", "x", True),
    ]
    b = [
        *same,
        decided("x", 2, candidates=entry(-0.2), segment="two. "),
        decided("x", 3, gate="chosen", chosen="e1", layer=2, alpha=2.0, segment="four"),
        evaluated("esm", "x", False),
    ]
    comparison = compare_runs(
        make_run(tmp_path, "a", a, {"online": {"k_scale": 4}}),
        make_run(tmp_path, "b", b, {"online": {"k_scale": 2}}),
    )
    assert [(f.name, f.a, f.b) for f in comparison.changed] == [("online.k_scale", "4", "2")]
    arm = comparison.arms[0]
    assert arm.figures.cells == (0, 1, 0, 0) and CELLS[1] == "only A right"
    traces = comparison.traces(arm, *arm.paired.pairs[0])
    assert traces.summary == "segment 3: α, text" and traces.first_weighed == 1


def test_an_example_told_twice_counts_once_and_the_last_time(tmp_path: Path) -> None:
    """A resumed run may tell of an item again."""
    run = make_run(tmp_path, "a", [evaluated("esm", "x", False), evaluated("esm", "x", True)])
    assert [item.right for item in read_items(run).arms["ESM", "esm"].items.values()] == [True]


def test_remarks_say_what_stands_in_the_way(tmp_path: Path) -> None:
    a = [*(evaluated("esm", name, True) for name in "pq"), evaluated("greedy", "p", True)]
    b = [evaluated("esm", "p", False, question="another"), *(evaluated("esm", name, True) for name in "qr")]
    one = make_run(tmp_path, "a", a, seed=1, versions={"torch": "2.9"})
    other = make_run(tmp_path, "b", b, seed=2, status="stopped", versions={"torch": "2.13", "numpy": "2"})
    comparison = compare_runs(one, other)
    state = "B is not finished (stopped): its figures are those of what it has done so far."
    seeds = "The seeds differ (1 in A, 2 in B): part of each difference is another draw."
    versions = "The runs were made with other versions (A | B): torch 2.9 | 2.13; numpy none | 2."
    few = "fewer than 20 items: an interval from so few says little."
    assert comparison.remarks == [
        state,
        seeds,
        versions,
        "Only A has results of ESM greedy.",
        "ESM: both runs have 1 item, 1 only in B.",
        "ESM: left out: 1 item with the same id and another question (other data sets).",
        f"ESM: {few}",
    ]
    assert comparison.arms[0].figures.n == 1
    first, second = (read_items(path) for path in (one, other))
    esm, greedy = first.arms.values()
    pairs = comparison.arms[0].paired.pairs * 20
    many = Paired(pairs * 60, only_a=2, only_b=1000, other_question=0, unjudged=1)
    assert remarks(first, second, [(esm, many), (greedy, Paired(pairs, 0, 0, 0, 0))])[4:] == [
        "ESM esm: both runs have 1,200 items, 2 only in A and 1000 only in B.",
        "ESM esm: left out: 1 item that one of the runs has not judged.",
        "There are 2 rows with a p and no correction for that: a p below 0.05 may be chance in one of 20.",
    ]
    none = Paired([], 1, 1, 0, 0)
    for arms in ([(esm, none), (greedy, none)], [(esm, many), (greedy, none)]):
        said = " ".join(remarks(first, second, arms))
        assert "correction" not in said, "one p at most"
    assert remarks(first, second, []) == [
        state,
        "No method has results in both runs: there is nothing to compare.",
        seeds,
        versions,
        "Only A has results of ESM greedy.",
    ]


def test_of_a_system_that_the_other_run_lacks_its_arms_are_not_listed(tmp_path: Path) -> None:
    queries = [event for event in pool_events() if isinstance(event, PoolQueryDone)][:1]
    one = make_run(tmp_path, "a", [evaluated("esm", "p", True), evaluated("greedy", "p", True), *queries])
    other = make_run(tmp_path, "b", [evaluated("esm", "p", True)])
    told = [
        [line for line in compare_runs(*runs).remarks if "Only" in line]
        for runs in ((one, other), (other, one))
    ]
    words = "has results of ESM greedy, Pool."
    assert told == [[f"Only A {words}"], [f"Only B {words}"]]


def test_after_a_line_longer_than_any_event_the_places_are_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(tmp_path, "a", [evaluated("esm", "x", True)])
    with (run / "events.jsonl").open("rb+") as log:
        event = log.read()
        log.write(b'{"type":"' + b"x" * 9000 + b"\n" + event)
    monkeypatch.setattr("engine.comparison.run_items.LONGEST_LINE", 2000)
    items = read_items(run)
    (arm,) = items.arms.values()
    (item,) = arm.items.values()
    (place,) = item.places
    assert place == LogPlace(len(event) + 9010, len(event) - 1), "without the line's end"
    assert items.read(place) == items.read(LogPlace(0, len(event) - 1)) and place.offset == len(event) + 9010


def test_models_of_one_name_with_other_weights_are_told(tmp_path: Path) -> None:
    """Those that a run loaded last."""

    def loaded(**fingerprints: str) -> list[Event]:
        events = [
            ModelLoaded(
                name=name,
                backend="b",
                device="cpu",
                dtype="f",
                num_layers=1,
                hidden_size=1,
                fingerprint=print_,
            )
            for name, print_ in fingerprints.items()
        ]
        return [*events, evaluated("esm", "p", True)]

    a = make_run(tmp_path, "a", loaded(same="1", other="2", alone="3"))
    b = make_run(tmp_path, "b", [*loaded(same="0", other="2"), *loaded(same="1", other="4")])
    told = [line for line in compare_runs(a, b).remarks if "weights" in line]
    assert told == ["The model other has other weights in B than in A."]


def test_runs_without_a_log_or_with_a_damaged_one(tmp_path: Path) -> None:
    whole = make_run(tmp_path, "a", [evaluated("esm", "x", True)])
    empty = make_run(tmp_path, "b", [])
    (empty / "events.jsonl").unlink()
    comparison = compare_runs(whole, empty)
    assert comparison.arms == [] and any("B has no log" in line for line in comparison.remarks)
    assert any("B has no results yet" in line for line in comparison.remarks)
    damaged = make_run(tmp_path, "c", [evaluated("esm", "x", False)])
    with (damaged / "events.jsonl").open("ab") as log:
        log.write(b'{"type":"ExampleEvaluated","seq":1,"time":2,\n{"type":"ExampleEvaluated","torn')
    comparison = compare_runs(whole, damaged)
    assert comparison.arms[0].figures.cells == (0, 1, 0, 0)
    assert any("B: damaged lines of the log, passed over: 1" in line for line in comparison.remarks)


def test_a_run_is_not_compared_with_itself(tmp_path: Path) -> None:
    run = make_run(tmp_path, "a", [])
    with pytest.raises(RunError, match=exactly("these are the same run (…): name two different runs")):
        compare_runs(run, run / ".." / run.name)


def test_an_earlier_attempt_at_a_stage_is_not_compared(tmp_path: Path) -> None:
    """Only what came after the stage was begun again counts; results that are stale are told of."""
    path = make_run(
        tmp_path, "a",
        [
            evaluated("esm", "x", False), evaluated("greedy", "y", True),
            StageBegunAgain(stage="eval", kept="earlier/1"), evaluated("no_probing", "x", True),
            StageBegunAgain(stage="eval", kept="earlier/2"), evaluated("esm", "x", True),
            StageBegunAgain(stage="slsm", kept="earlier/1"), evaluated("esm", "z", False),
        ],
    )  # fmt: skip
    run = RunDirectory(path)
    assert {name for _, name in read_items(path).arms} == {
        "esm",
        "greedy",
        "no_probing",
    }  # `run.json` knows of no choice
    record = run.read()
    record.begun_again = 1
    run.write(record)
    (arm,) = read_items(path).arms.values()
    assert (arm.name, {name: item.right for name, item in arm.items.items()}) == (
        "esm",
        {"x": True, "z": False},
    )
    other = make_run(tmp_path, "b", [evaluated("esm", "x", True)])
    assert not any("stale" in line for line in compare_runs(path, other).remarks)
    record.stages["eval"].status = "stale"
    run.write(record)
    assert "A has stale results, of an earlier attempt: those of eval." in compare_runs(path, other).remarks
