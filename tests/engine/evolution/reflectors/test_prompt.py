"""What the reflector is told: clusters, deltas, what was learnt, and every answer with its verdict."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from engine.config.evolution import ReflectorSection
from engine.errors import DataError
from engine.evolution.clusters.descriptions import ClusterDescription
from engine.evolution.history import History, Iteration
from engine.evolution.reflectors.prompt import FIRST, SYSTEM, USER, Prompts, read_prompts
from engine.evolution.reflectors.reflector import JudgedAnswer, ReflectorInput
from engine.evolution.scoring.score import Outcome, score
from tests.exactly import exactly

WORDS = {name: ClusterDescription(f"cluster {name}", 3, 0.5, ["mid"], ["often"]) for name in ("0", "1")}
ANSWERS = [
    JudgedAnswer("p1", "abcdefghij", 10, True, "it is 4"),
    JudgedAnswer("p2", "short", 1, False, "it is 5"),
    JudgedAnswer("p3", "long", 2, None, "who knows"),
]


def given(history: History) -> ReflectorInput:
    return ReflectorInput(1, {"0": 0.5, "1": -2.0}, WORDS, ANSWERS, history)


def told(history: History) -> str:
    return Prompts(SYSTEM, USER, 8).user_message(given(history))


def test_the_message_holds_deltas_verdicts_and_the_beginning_of_long_answers() -> None:
    text = told(History(iterations=[]))
    assert (
        json.dumps({"0": 0.5, "1": -2.0}) in text
        and "Nothing yet: no earlier reply could be used." in text
        and "exactly the ids 0, 1" in text
        and "{{" not in text
    )
    assert "cluster 1" in text and "often" in text and "mid" in text
    assert '"size": 3' in text and '"share": 0.5' in text
    assert "## Clusters (size: tokens of the vocabulary; share: of the answers' tokens)" in text
    sections = text.split("example_id: ")[1:]
    for section, (verdict, tokens, said) in zip(
        sections,
        [("yes", 10, "abcdefgh [cut: 2 more characters]"), ("no", 1, "short"), ("not judged", 2, "long")],
        strict=True,
    ):
        assert f"Correct: {verdict}\nTokens: {tokens}\n" in section and f"Answer: {said}\n" in section
    assert "cut:" not in Prompts(SYSTEM, USER, 10).user_message(given(History(iterations=[]))), "it just fits"


def test_what_was_learnt_in_earlier_iterations_is_told_with_its_iteration() -> None:
    figures = score([Outcome(1, True)], 1.0)
    iterations = [
        Iteration(iteration=number, deltas={}, examples=[], score=figures, summary=said)
        for number, said in enumerate(("Less padding.", "", "Fewer bullets."))
    ]
    text = told(History(iterations=iterations))
    assert "Iteration 0: Less padding.\nIteration 2: Fewer bullets." in text and FIRST not in text


@pytest.mark.parametrize(
    ("clusters", "shares"), [((), [None, None]), (((0, 1, 1), (1,)), [0.25, 0.75]), (((2,),), [0.0, 0.0])]
)
def test_shares_that_nothing_counted_are_those_of_the_answers(
    clusters: Sequence[Sequence[int]], shares: list[float | None]
) -> None:
    """Without an answer's token there are none; tokens that were not counted are not called frequent."""
    words = {name: ClusterDescription(f"cluster {name}", 3, 0.0, ["mid"], []) for name in ("0", "1")}
    answers = [JudgedAnswer("p", "", len(of), True, "", clusters=of) for of in clusters]
    text = Prompts(SYSTEM, "{{ cluster_descriptions_json }}", 8).user_message(
        ReflectorInput(0, {}, words, answers, History(iterations=[]))
    )
    told = json.loads(text)
    assert [told[name].pop("share", None) for name in ("0", "1")] == shares
    assert told["1"] == {"description": "cluster 1", "size": 3, "central_tokens": ["mid"]}


def test_descriptions_and_deltas_stand_in_the_message_as_json() -> None:
    """The descriptions by lines, in the letters of their tokens; the deltas in one line."""
    words = {"0": ClusterDescription("größer", 3, 0.5, ["für"], [])}
    template = "{{ cluster_descriptions_json }}|{{ current_deltas_json }}"
    text = Prompts(SYSTEM, template, 8).user_message(
        ReflectorInput(0, {"0": 0.5, "1": -2.0}, words, [], History(iterations=[]))
    )
    assert text == (
        '{\n "0": {\n  "description": "größer",\n  "size": 3,\n  "share": 0.5,\n  "central_tokens": [\n   "für"\n  ],\n'
        '  "frequent_tokens": []\n }\n}|{"0": 0.5, "1": -2.0}'
    )


ALL = "{{ cluster_descriptions_json }}|{{current_deltas_json}}|{{ cot_summary }}|{{ all_responses_with_correctness }}"


def test_the_user_s_own_messages_are_filled_in_and_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fields with and without spaces; what a value holds is not taken for a field. One lies below the user's folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    system, template = tmp_path / "system.txt", tmp_path / "user.txt"
    system.write_text("Be strict.")
    template.write_text(f"{ALL}|round {{{{ iteration_number }}}} of {{{{ cluster_ids }}}}")
    section = ReflectorSection(system_prompt="~/system.txt", user_template=str(template))
    prompts = read_prompts(section)
    odd = JudgedAnswer("p4", "{{ cot_summary }}", 1, True, "")
    text = prompts.user_message(
        ReflectorInput(0, {"0": 0.5, "1": -2.0}, WORDS, [odd], History(iterations=[]))
    )
    assert prompts.system == "Be strict." and text.endswith("|round 0 of 0, 1")
    descriptions, deltas, learnt, answers, _ = text.split("|")
    assert json.loads(descriptions)["1"] == {
        "description": "cluster 1", "size": 3, "share": 0.5, "central_tokens": ["mid"], "frequent_tokens": ["often"]
    }  # fmt: skip
    assert json.loads(deltas) == {"0": 0.5, "1": -2.0} and learnt == "First iteration; no prior learnings."
    assert answers.endswith("Answer: {{ cot_summary }}")


FIELDS = (
    "its fields are cluster_descriptions_json, current_deltas_json, cot_summary, all_responses_with_correctness, "
    "iteration_number, cluster_ids"
)


@pytest.mark.parametrize(
    ("setting", "text", "words"),
    [
        (
            "user_template",
            f"{ALL} {{{{ current_delta_json }}}}",
            f"there is no field {{{{ current_delta_json }}}} {{}}: {FIELDS}",
        ),
        (
            "user_template",
            "cluster_descriptions_json {{ cot_summary }}",
            "the field {{ cluster_descriptions_json }} is missing; the field …",
        ),
        ("user_template", " ", "this message is empty {}: write it, or leave the setting out"),
        (
            "system_prompt",
            "Now: {{ cot_summary }}",
            "there is no field {{ cot_summary }} {}: the system message has no fields",
        ),
        (
            "system_prompt",
            None,
            "this message cannot be read: … {}: correct the path, or leave the setting out: there is a built-in "
            "message",
        ),
    ],
)
def test_a_message_that_cannot_be_used_is_told_at_once(
    tmp_path: Path, setting: str, text: str | None, words: str
) -> None:
    file = tmp_path / "message.txt"
    if text is not None:
        file.write_text(text)
    with pytest.raises(DataError) as raised:
        read_prompts(ReflectorSection.model_validate({setting: str(file)}))
    said = words.replace(" {}", f" (evolution.reflector.{setting}: {file})")
    assert re.fullmatch(exactly(said), str(raised.value))
