"""Scores on MultiChallenge, counted as its authors count them, and with a judge as theirs."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from engine.config.slsm import SLSMSection
from engine.errors import DataError
from engine.events import ConversationAnswered, ModeScored
from engine.slsm import layout
from engine.slsm.judges.published_score import score_as_published
from engine.slsm.slsm_stage import _SLSMRun
from tests.engine.slsm.test_published_answers import right, run
from tests.exactly import exactly
from tests.misbehaving_server import MisbehavingServer, misbehaving_server

THEIRS: dict[str, Any] = {"kind": "openai", "prompt": "multichallenge", "openai": {}}


def section(**changes: Any) -> SLSMSection:
    return SLSMSection.model_validate({"data": {"path": "x"}, "judge": THEIRS} | changes)


def test_their_prompt_brings_their_judge() -> None:
    assert section().judge.openai.model == "gpt-4o-2024-08-06" and section().judge.openai.max_tokens == 4096


def answered(
    key: str, axis: str, passed: bool | None, attempt: int = 0, **changes: Any
) -> ConversationAnswered:
    return ConversationAnswered(
        conversation_id=key, axis=axis, mode="baseline", memory_mode="none", attempt=attempt, answer="x",
        injected=False, reason="", passed=passed, **changes,
    )  # fmt: skip


LEFT_OUT: dict[str, Any] = {"passed": None}
FAILED: dict[str, Any] = {"passed": False, "verdict": "no verdict, so failed: the server is down"}


@pytest.mark.parametrize("unjudged", (LEFT_OUT, FAILED))
def test_an_answer_without_a_verdict_fails_on_an_axis_of_its_own(unjudged: dict[str, Any]) -> None:
    """A: a passes, of 1. B: c passes, d fails, of 2. NA: b, of 1. (1 + 1/2 + 0) / 3 = 0.5."""
    given = [
        answered("a", "A", True),
        answered("b", "A", **unjudged),
        answered("c", "B", True),
        answered("d", "B", False),
    ]
    assert score_as_published(given) == pytest.approx(0.5)


def test_one_attempt_that_passes_is_enough_on_its_axis() -> None:
    """A: a passes by its second attempt, g by its first, e does not, 2 of 3. B: c passes by its second, 1 of 1. NA: the
    first attempt at c has no verdict, 0 of 1. (2/3 + 1 + 0) / 3 = 5/9. Attempts that no list has count nowhere."""
    beyond: dict[str, Any] = {"failure": "the file has no further attempt at it"}
    given = [
        answered("a", "A", False), answered("a", "A", True, 1),
        answered("g", "A", True), answered("g", "A", False, 1),
        answered("e", "A", False), answered("e", "A", False, 1, **beyond),
        answered("c", "B", None), answered("c", "B", True, 1),
        answered("f", "B", False, **beyond), answered("f", "B", False, 1, **beyond),
    ]  # fmt: skip
    assert score_as_published(given) == pytest.approx(5 / 9)


def test_where_every_list_is_empty_there_is_none(tmp_path: Path) -> None:
    """None of them counts, so there is nothing to take the mean of. By our own count each has failed."""
    assert (
        score_as_published([answered("f", "B", False, failure="the file has no further attempt at it")])
        is None
    )
    run(tmp_path, [{**record, "RESPONSE": []} for record in right()])
    about = json.loads(layout.summary(tmp_path).read_text())
    assert about["score_baseline_none"] == 0.0 and "score_as_published_baseline_none" not in about


def test_a_run_has_it_in_its_summary(tmp_path: Path) -> None:
    """The generated dialogues have MultiChallenge's axes."""
    records = right()
    records[0]["RESPONSE"] = "Nothing."
    run(tmp_path, records)
    about = json.loads(layout.summary(tmp_path).read_text())
    assert about["score_as_published_baseline_none"] == about["score_baseline_none"]


@pytest.mark.parametrize(
    ("path", "axes", "expected"),
    [
        ("conversations.jsonl", ["SELF_COHERENCE"], {"score_as_published_baseline_none": 1.0}),
        (None, ["SELF_COHERENCE"], {}),
        ("conversations.jsonl", ["SELF_COHERENCE", "TONE"], {}),
    ],
)
def test_files_with_the_axes_of_multichallenge_have_it(
    path: str | None, axes: list[str], expected: dict[str, float]
) -> None:
    stage: Any = SimpleNamespace(
        section=SimpleNamespace(data=SimpleNamespace(path=path)),
        dialogues=SimpleNamespace(axes=axes),
        _by_variant={("baseline", "none"): [answered("a", "SELF_COHERENCE", True)]},
    )
    assert _SLSMRun._as_published(stage) == expected


def judge_at(server: MisbehavingServer, **changes: Any) -> dict[str, Any]:
    openai = {"base_url": server.url, "api_key_env": "none", "retries": 0}
    return {"kind": "openai", "openai": openai, **changes}


def verdict_of(body: dict[str, Any]) -> str:
    return json.dumps({"reasoning": "as asked", "verdict": "YES"})


def fails_on_the_first(body: dict[str, Any]) -> str:
    return "no completion" if "No verdict on this." in body["messages"][0]["content"] else ""


@pytest.mark.parametrize(("prompt", "judged"), (("multichallenge", 12), ("default", 11)))
def test_a_judge_behind_a_server_is_asked_and_counted_as_configured(
    tmp_path: Path, prompt: str, judged: int
) -> None:
    records = right()
    records[0]["RESPONSE"] = "No verdict on this."
    with misbehaving_server(verdict_of, fault_of=fails_on_the_first) as server:
        events = run(tmp_path, records, judge=judge_at(server, prompt=prompt))
    theirs = prompt == "multichallenge"
    asked = [body["messages"] for body in server.requests]
    assert all(len(messages) == 1 for messages in asked), "one message with the answer alone"
    assert all(("VERY STRICTLY" in messages[0]["content"]) is theirs for messages in asked)
    assert theirs or all("apply very strictly" in messages[0]["content"] for messages in asked)
    assert {body["model"] for body in server.requests} == {"gpt-4o-2024-08-06" if theirs else "gpt-4o"}
    assert {body["max_tokens"] for body in server.requests} == {4096 if theirs else 2000}
    assert sum("No verdict on this." in messages[0]["content"] for messages in asked) == 3, "every attempt"
    (scored,) = [one for one in events if isinstance(one, ModeScored)]
    assert scored.judged == judged
    about = json.loads(layout.summary(tmp_path).read_text())
    assert about["unjudged"] == 1
    # Twelve on four axes, one without a verdict, all others pass. Theirs: (4 + 0) / 5. Ours: (2/3 + 3) / 4, or 4 / 4.
    assert about["score_as_published_baseline_none"] == 0.8
    assert about["score_baseline_none"] == (0.9167 if theirs else 1.0)


def test_where_no_answer_got_a_verdict_there_is_no_score(tmp_path: Path) -> None:
    """Not one of 0, though each counts as failed."""
    with (
        misbehaving_server(lambda body: "no verdict") as server,
        pytest.raises(
            DataError,
            match=exactly(
                "no answer was judged, so there is no score: no verdict: it is not JSON: Expecting value: line 1 "
                "column 1 (char 0) (slsm.judge: gpt-4o-2024-08-06): check the judge's server and model, then resume "
                "(slsm.judge): set `kind: none` for a run without scores, or another judge in a new run; the answers "
                "are kept"
            ),
        ),
    ):
        run(tmp_path, right(), judge=judge_at(server, prompt="multichallenge"))


def test_a_judge_that_is_named_takes_the_place_of_theirs() -> None:
    theirs = section(judge=THEIRS).judge.openai
    ours = section(judge=THEIRS | {"openai": {"model": "ours"}}).judge.openai
    assert (theirs.model, ours.model, ours.max_tokens) == ("gpt-4o-2024-08-06", "ours", theirs.max_tokens)


def test_the_prompt_is_for_a_language_model() -> None:
    with pytest.raises(ValidationError, match="set `kind: openai`"):
        section(judge={"kind": "exact", "prompt": "multichallenge"})
