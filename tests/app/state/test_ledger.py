"""The entry ledger: counted from whole events it is the same, at any moment, and from any copy."""

from __future__ import annotations

from app.state.ledger import EntryUse
from app.state.run import RunState
from engine import events as ev

GREEDY, STEPS = "one. two. three.", ("one. ", "two. ", "three.")


def decision(
    example: str, m: int, segment: str, chosen: str | None = None, **more: object
) -> ev.DecisionTaken:
    figures = {
        "method": "esm",
        "gate": "chosen" if chosen else "null_best",
        "delta_logprob": 0.5 if chosen else None,
    }
    return ev.DecisionTaken(example=example, m=m, segment=segment, chosen=chosen, **{**figures, **more})  # type: ignore[arg-type]


def evaluated(method: str, example: str, correct: bool, text: str) -> ev.ExampleEvaluated:
    return ev.ExampleEvaluated(
        method=method, index=0, example=example, question="", gold="", pred="", correct=correct, tokens_used=1,
        text=text,
    )  # fmt: skip


def run() -> list[ev.Event]:
    """Four examples: turned right in segment 2, turned wrong in segment 1, as greedy, another text and as right."""
    events: list[ev.Event] = []
    for example, right in (("a", False), ("b", True), ("c", True), ("d", True)):
        events.append(evaluated("greedy", example, right, GREEDY))
    events += [
        decision("a", 1, STEPS[0], "first"), decision("a", 2, "TWO. ", "helps"), decision("a", 3, "3.", "first"),
        evaluated("esm", "a", True, "one. TWO. 3."),
        decision("b", 1, "ONE. ", "hurts", delta_logprob=-0.25), decision("b", 2, "2.", "helps"),
        evaluated("esm", "b", False, "ONE. 2."),
        *(decision("c", m, step, "helps" if m == 3 else None) for m, step in enumerate(STEPS, 1)),
        evaluated("esm", "c", True, GREEDY),
        decision("d", 1, STEPS[0]), decision("d", 2, "zwei.", "helps", phase="tail"),
        evaluated("esm", "d", True, "one. zwei."),
        decision("a", 1, "ONE. ", "hurts", method="no_probing"), evaluated("no_probing", "a", True, "ONE. "),
    ]  # fmt: skip
    return events


def folded(events: list[ev.Event], state: RunState | None = None, at: int = 0) -> RunState:
    state = state or RunState()
    for i, event in enumerate(events, start=at):
        state.apply(event, i * 10, 10)
    return state


def test_an_entry_answers_for_the_segment_that_left_greedys_way() -> None:
    """What is injected after that, or before, turned nothing; ablations do not count."""
    esm = folded(run()).esm
    assert esm.ledger == {
        "first": EntryUse(used=2, logprob=1.0, probed=2),
        "helps": EntryUse(used=4, right=1, logprob=2.0, probed=4),
        "hurts": EntryUse(used=1, wrong=1, logprob=-0.25, probed=1),
    }
    assert [esm.ledger[name].net for name in ("first", "helps", "hurts")] == [0, 1, -1]
    assert esm.ledger["hurts"].mean_logprob == -0.25 and EntryUse().net is None
    assert EntryUse(used=4, logprob=-1.0, probed=2).mean_logprob == -0.5, "over those that were probed"
    assert EntryUse(used=4).mean_logprob is None
    number = esm.names.__getitem__
    assert [esm.outcomes.left(number("esm"), number(example)) for example in "abcd"] == [2, 1, 0, 2]
    assert esm.outcomes.left(number("no_probing"), number("a")) == 1


def test_a_probe_that_is_as_likely_as_nulls_is_a_probe() -> None:
    """Of Δ 0 and 0.5 the mean is 0.25; what was not probed does not count."""
    use = EntryUse().injected(0.0).injected(0.5).injected(None)
    assert (use.used, use.probed, use.mean_logprob) == (3, 2, 0.25)


def test_a_decision_without_a_probe_has_no_part_in_the_mean() -> None:
    events: list[ev.Event] = [
        decision("a", 1, "ONE. ", "helps"),
        decision("b", 1, "TWO. ", "helps", delta_logprob=None),
    ]
    assert folded(events).esm.ledger == {"helps": EntryUse(used=2, logprob=0.5, probed=1)}


def test_what_is_told_twice_counts_once() -> None:
    """A worker that was killed between telling and saving tells again."""
    events = run()
    once, twice = folded(events), folded([event for event in events for _ in (1, 2)])
    assert twice.esm.ledger == once.esm.ledger


def test_any_moment_from_any_copy() -> None:
    """Scrubbing back folds on from a copy: the ledger is that of the moment."""
    events = run()
    state, copies = RunState(), []
    for i, event in enumerate(events):
        copies.append(state.share())
        state.apply(event, i * 10, 10)
    for i, copy in enumerate(copies):
        assert copy.esm.ledger == folded(events[:i]).esm.ledger
        again = folded(events[i:], copy.share(), i)
        assert again.esm.ledger == state.esm.ledger


def test_greedy_may_come_before_a_method_or_after_it() -> None:
    """The order of `eval.methods` is free: what came of the entries is the same."""
    greedy, others = run()[:4], run()[4:]
    before, after = folded([*greedy, *others]).esm, folded([*others, *greedy]).esm
    assert after.ledger == before.ledger
    for method in ("esm", "no_probing"):
        for example in "abcd":
            found = [esm.outcomes.left(esm.names[method], esm.names[example]) for esm in (before, after)]
            assert found[0] == found[1], (method, example)
