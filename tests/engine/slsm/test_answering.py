"""What each mode asks, sends and costs; what attempts and judges make of it; what injections did."""

from __future__ import annotations

import csv
import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from engine.events import ConversationAnswered, Event, ModeScored, StateUpdated
from engine.slsm import layout
from engine.slsm.judges.scoring import score_mode
from engine.tasks.generated.dialogues.records import generate_dialogues
from tests.engine.slsm.note_following_model import NoteFollowingModel
from tests.engine.slsm.stage_run import ALL, DIALOGUES, note_following_model, run_slsm

TURNS = {one.id: len(one.turns) + 1 for one in generate_dialogues(DIALOGUES, 0)}


class Ran:
    """A finished run."""

    def __init__(self, folder: Path, model: NoteFollowingModel, events: list[Event]) -> None:
        self.folder, self.model, self.events = folder, model, events
        self.answered = [event for event in events if isinstance(event, ConversationAnswered)]
        self.scored = {(one.mode, one.memory_mode): one for one in events if isinstance(one, ModeScored)}

    def of(self, mode: str, memory: str) -> dict[str, ConversationAnswered]:
        return {
            one.conversation_id: one for one in self.answered if (one.mode, one.memory_mode) == (mode, memory)
        }


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder, model = tmp_path_factory.mktemp("slsm"), note_following_model()
    return Ran(folder, model, run_slsm(folder, model, **ALL))


MEMORIES = ("structured", "flat")


def test_a_conversation_longer_than_the_context_is_a_failed_answer(tmp_path: Path) -> None:
    """In process as behind a server: named and counted, and the others are answered."""
    model = note_following_model()
    lengths = sorted(
        len(prompt) for prompt, _ in (run_slsm(tmp_path / "a", model, compare=["baseline"]), model.asked)[1]
    )
    short = note_following_model()
    short.info = replace(short.info, context=lengths[-1])
    events = run_slsm(tmp_path / "b", short, compare=["baseline"])
    answered = [event for event in events if isinstance(event, ConversationAnswered)]
    failed = [event for event in answered if event.failure]
    assert 0 < len(failed) < len(answered) == DIALOGUES
    assert all("the model's context" in event.failure and event.passed is False for event in failed)
    assert all(event.answer and event.passed is not None for event in answered if not event.failure)


# ---------------------------------------------------------------- cost


def test_calls_are_those_of_the_specs_table(ran: Ran) -> None:
    for key, one in ran.of("baseline", "none").items():
        assert (one.controller_calls, one.model_calls, one.detector_calls) == (0, 1, 0), key
    seconds = 0
    for memory in MEMORIES:
        for mode in ("never", "on_risk", "always"):
            for key, one in ran.of(mode, memory).items():
                assert (one.controller_calls, one.model_calls, one.detector_calls) == (TURNS[key], 1, 0)
        for key, one in ran.of("on_detection", memory).items():
            second = bool(one.first_answer)
            assert (one.controller_calls, one.model_calls, one.detector_calls) == (TURNS[key], 1 + second, 1)
            assert second == bool(one.conflicts) == one.injected
            seconds += second
    assert 0 < seconds < 2 * DIALOGUES


def test_the_table_has_the_same_calls(ran: Ran) -> None:
    mean = sum(TURNS.values()) / DIALOGUES
    with layout.modes(ran.folder).open() as file:
        rows = {(row["mode"], row["memory_mode"]): row for row in csv.DictReader(file)}
    assert set(rows) == set(ran.scored)
    for (mode, memory), row in rows.items():
        own = list(ran.of(mode, memory).values())
        assert float(row["controller_calls"]) == pytest.approx(0 if mode == "baseline" else mean)
        assert float(row["detector_calls"]) == (mode == "on_detection")
        assert float(row["model_calls"]) == pytest.approx(sum(one.model_calls for one in own) / DIALOGUES)
        assert int(row["injections"]) == sum(one.injected for one in own)
        assert float(row["injected_tokens"]) == pytest.approx(sum(one.note_tokens for one in own) / DIALOGUES)


def test_tokens_are_charged_to_who_used_them(ran: Ran) -> None:
    """A letter is a token here: prompts and answers of all calls of a mode, whoever else needed them too."""
    for one in ran.answered:
        sent = [asked for asked, _ in ran.model.asked if _is_of(asked, one)]
        assert one.model_tokens >= len(one.answer) + min(map(len, sent))
        assert one.note_tokens == len(one.note)
        assert (one.controller_tokens, one.detector_tokens) == (0, 0)  # rules use none
    for memory in MEMORIES:
        for key, one in ran.of("on_detection", memory).items():
            plain = ran.of("baseline", "none")[key]
            assert (one.model_tokens > plain.model_tokens) == one.injected


def _is_of(asked: str, one: ConversationAnswered) -> bool:
    last = json.loads(asked)[-1]["content"]
    return last.endswith(one.note) if one.note else "[SLSM" not in last


def test_the_same_prompt_is_sent_once(ran: Ran) -> None:
    assert max(Counter(asked for asked, _ in ran.model.asked).values()) == 1
    notes = {(one.conversation_id, one.note) for one in ran.answered if one.injected}
    assert len(ran.model.asked) == DIALOGUES + len(notes)


# ---------------------------------------------------------------- what is injected


def test_never_is_answered_as_baseline_is(ran: Ran) -> None:
    plain = ran.of("baseline", "none")
    for memory in MEMORIES:
        for key, one in ran.of("never", memory).items():
            assert (one.answer, one.injected, one.note) == (plain[key].answer, False, "")
    assert all(one.reason for one in ran.answered)


def test_on_risk_injects_where_the_plan_is_a_risk(ran: Ran) -> None:
    plans = {
        (event.conversation_id, event.memory_mode): event.plan_mode
        for event in ran.events
        if isinstance(event, StateUpdated) and event.turn == TURNS[event.conversation_id] - 1
    }
    injected = 0
    for memory in MEMORIES:
        always = ran.of("always", memory)
        for key, one in ran.of("on_risk", memory).items():
            assert one.injected == (plans[key, memory] != "proceed")
            assert one.answer == (always[key] if one.injected else ran.of("baseline", "none")[key]).answer
            injected += one.injected
    assert 0 < injected < 2 * DIALOGUES


def test_risk_modes_decide(tmp_path: Path) -> None:
    for number, risk in enumerate(([], ["proceed"], ["proceed", "verify", "clarify"])):
        events = run_slsm(tmp_path / str(number), inject="on_risk", risk_modes=risk)
        injected = sum(one.injected for one in events if isinstance(one, ConversationAnswered))
        assert injected == DIALOGUES if len(risk) == 3 else injected < DIALOGUES
        assert injected == 0 or risk


def test_a_note_has_no_more_lines_than_allowed(tmp_path: Path, ran: Ran) -> None:
    events = run_slsm(tmp_path, inject="always", note_max_items=1)
    short = [one for one in events if isinstance(one, ConversationAnswered)]
    assert all(sum(line.startswith("- ") for line in one.note.splitlines()) == 1 for one in short)
    longest = max(one.note.count("\n- ") for one in ran.of("always", "structured").values())
    assert longest > 1


def test_on_detection_gives_the_first_answer_unless_it_conflicts(ran: Ran) -> None:
    plain = ran.of("baseline", "none")
    for memory in MEMORIES:
        always = ran.of("always", memory)
        for key, one in ran.of("on_detection", memory).items():
            if one.conflicts:
                assert (one.first_answer, one.answer) == (plain[key].answer, always[key].answer)
                assert all(conflict.why for conflict in one.conflicts)
                assert one.reason == "the first answer goes against the memory"
            else:
                assert (one.first_answer, one.answer) == ("", plain[key].answer)


def test_disabling_the_controller_is_baseline(tmp_path: Path, ran: Ran) -> None:
    events = run_slsm(tmp_path, disable_controller=True, inject="always")
    found = [one for one in events if isinstance(one, ConversationAnswered)]
    assert {(one.mode, one.memory_mode) for one in found} == {("baseline", "none")}
    assert not [event for event in events if isinstance(event, StateUpdated)]
    assert [one.answer for one in found] == [one.answer for one in ran.of("baseline", "none").values()]


# ---------------------------------------------------------------- scores


def test_notes_help_here_and_what_they_did_is_counted(ran: Ran) -> None:
    plain = ran.of("baseline", "none")
    for (mode, memory), row in ran.scored.items():
        own = ran.of(mode, memory)
        pairs = [(bool(plain[key].passed), bool(own[key].passed)) for key in own if own[key].injected]
        assert row.fixed == pairs.count((False, True))
        assert row.broke == pairs.count((True, False))
        assert row.wasted == pairs.count((True, True)) + pairs.count((False, False))
        assert row.injections == len(pairs)
    assert ran.scored["always", "structured"].fixed > 0
    assert ran.scored["always", "structured"].broke > 0
    assert ran.scored["always", "flat"].difference is not None
    assert ran.scored["baseline", "none"].difference is None


def test_the_score_is_the_mean_of_the_axes(ran: Ran) -> None:
    for (mode, memory), row in ran.scored.items():
        own = ran.of(mode, memory).values()
        shares = []
        for axis, share, low, high, n in row.by_axis:
            passed = [bool(one.passed) for one in own if one.axis == axis]
            assert (share, n) == (pytest.approx(sum(passed) / len(passed)), len(passed))
            assert float(low) <= float(share) <= float(high)
            shares.append(share)
        assert len(shares) == 4
        assert row.score == pytest.approx(sum(shares) / 4)
        assert row.low is not None and row.score is not None and row.high is not None
        assert row.low <= row.score <= row.high


def answered(
    key: str, axis: str, passed: bool | None, *, injected: bool = False, attempt: int = 0
) -> ConversationAnswered:
    return ConversationAnswered(
        conversation_id=key, axis=axis, mode="always", memory_mode="flat", attempt=attempt, answer="", reason="",
        injected=injected, passed=passed,
    )  # fmt: skip


def test_scores_by_hand() -> None:
    """Three of axis A, of which one passes; one of B, which does; one that could not be judged."""
    own = [
        answered("1", "A", True, injected=True),
        answered("2", "A", False, injected=True),
        answered("3", "A", False),
        answered("4", "B", True, injected=True),
        answered("5", "B", None, injected=True),
    ]
    plain = [
        answered("1", "A", False),
        answered("2", "A", True),
        answered("3", "A", True),
        answered("4", "B", True),
        answered("5", "B", True),
    ]
    row = score_mode(own, plain, 2, seed=0)
    assert (row.n, row.judged, row.injections, row.failures) == (5, 4, 4, 2)
    assert row.score == pytest.approx((1 / 3 + 1) / 2)
    assert row.difference == pytest.approx(((1 - 1 - 1) / 3 + 0) / 2)
    assert (row.fixed, row.broke, row.wasted) == (1, 1, 1)  # 3 had no note, 5 no verdict


def test_a_conversation_passes_if_any_attempt_does() -> None:
    own = [
        answered("1", "A", False),
        answered("1", "A", True, attempt=1),
        answered("2", "A", None),
        answered("2", "A", False, attempt=1),
        answered("3", "A", None),
        answered("3", "A", None, attempt=1),
    ]
    row = score_mode(own, [], 0, seed=0)
    assert (row.n, row.judged, row.score) == (3, 2, 0.5)
    assert row.difference is None


def test_attempts_are_drawn_apart(tmp_path: Path) -> None:
    model = note_following_model()
    events = run_slsm(tmp_path, model, attempts=3, temperature=1.0, disable_controller=True)
    found = [one for one in events if isinstance(one, ConversationAnswered)]
    assert len(found) == len(model.asked) == 3 * DIALOGUES
    assert len({seed for _, seed in model.asked}) == 3 * DIALOGUES
    (row,) = (one for one in events if isinstance(one, ModeScored))
    passed = {key: any(one.passed for one in found if one.conversation_id == key) for key in TURNS}
    assert row.score == pytest.approx(sum(passed.values()) / DIALOGUES)  # three conversations an axis
    assert row.model_calls == 3


def test_the_interval_is_that_of_the_exact_distribution() -> None:
    """Resampling k of n is Binomial(n, k/n); the macro mean of two axes is half the sum of two such shares."""
    rng = random.Random(0)
    for (k, n), (other, many) in (((7, 20), (24, 30)), ((1, 10), (45, 50)), ((10, 10), (3, 12))):
        own = [answered(f"a{i}", "A", i < k) for i in range(n)] + [
            answered(f"b{i}", "B", i < other) for i in range(many)
        ]
        rng.shuffle(own)
        row = score_mode(own, [], 0, seed=3)
        values = np.add.outer(np.arange(n + 1) / n, np.arange(many + 1) / many).ravel() / 2
        weights = np.outer(
            binom.pmf(np.arange(n + 1), n, k / n), binom.pmf(np.arange(many + 1), many, other / many)
        ).ravel()
        order = np.argsort(values)
        below = np.cumsum(weights[order])
        assert row.score == pytest.approx((k / n + other / many) / 2)
        for share, found in ((0.025, row.low), (0.975, row.high)):
            near = [values[order][np.searchsorted(below, share + slack)] for slack in (-0.006, 0.006)]
            assert near[0] - 1e-9 <= found <= near[1] + 1e-9
