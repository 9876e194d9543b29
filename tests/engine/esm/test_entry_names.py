"""Names of memory entries, worked out by hand; and texts that no model should write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.esm.library.entry_names import (
    LONGEST,
    EntryNamer,
    candidate_name,
    chosen_name,
    entry_name,
    free_name,
    short_name,
    turned,
)
from engine.events import Candidate, DecisionTaken
from engine.files import write_jsonl
from engine.levers.esm_lever import esm_did
from engine.serve.replies import decision_fields

BACKWARD = "Backward: there are 35 hats\n\nBackward: sells 8, 35 + 8 = 43"
FORWARD = "Forward: there are 35 hats\n\nForward: sells 8, 35 - 8 = 27"


@pytest.mark.parametrize(
    ("wrong", "right", "words"),
    [
        (BACKWARD, FORWARD, "Backward → Forward"),
        (FORWARD, BACKWARD, "Forward → Backward"),
        ("31 - 9 = 32 later", "31 - 9 = 22 later", "32 → 22"),
        ("8, 35 + 8", "8, 35 - 8", "+ → -"),
        ("The answer is 5", "To find it is 5", "The answer → To find"),  # 10 + 7 = 17: the most that fits
        ("The answers are 5", "To find it is 5", "The → To"),  # 11 + 7
        ("a b x d", "a c y d", "b x → c y"),
        ("a b c d", "x b y d", "a → x"),  # the first place alone
        ("b c d", "b y d z", "c → y"),
        ("one two", "one two three", "end → three"),
        ("one two three", "one two", "three → end"),
        ("one", "one two six", "end → two six"),
        ("", "one", "end → one"),
        ("", "", ""),
        ("the same", "the  same\n", ""),
        ("so 5.", "so 5!", "5. → 5!"),
        ("(yes) it is", "**no** it is", "yes → no"),
        ("incomprehensible", "misunderstood", "incompr… → misunde…"),
        ("incomprehensible", "incomprehensibly", "…le → …ly"),
        ("incomprehensible", "incomprehensibility", "…ble → …bility"),
        ("x" * 5000, "x" * 5000 + "y", "…x → …xy"),
        ("a\x1b[31mb\u202ec d", "ab\x00c d", "a[31mbc → abc"),
        ("a\x00b", "ab", ""),
        ("先计算总数，然后乘以二", "先估计总数，然后乘以二", "先计算总数，然… → 先估计总数，然…"),
        ("सही उत्तर", "गलत उत्तर", "सही → गलत"),
        ("نعم", "لا", "نعم → لا"),
        ("🙂 a", "🙁 a", "🙂 → 🙁"),
        ("→ a", "→ b", "a → b"),
        ("... a", "b a", "... → b"),  # a word of nothing but marks stays
        ("** so", None, "** → solution"),
        ("(so)", None, "so → solution"),
        (FORWARD, None, "Forward → solution"),
        ("", None, "end → solution"),
    ],
)
def test_the_words_are_those_in_which_the_texts_differ_first(
    wrong: str, right: str | None, words: str
) -> None:
    assert turned(wrong, right) == words
    assert len(entry_name("wrong", words, 2)) <= LONGEST and words.isprintable()


def test_a_right_entry_keeps_what_a_wrong_one_turns_to() -> None:
    assert entry_name("wrong", "Backward → Forward", 2) == "Backward → Forward, step 2"
    assert entry_name("right", "Backward → Forward", 2) == "keep Forward, step 2"
    assert entry_name("wrong", "a → b", 12) == "a → b, step 12"


@pytest.mark.parametrize(
    ("tool_name", "name"),
    [
        ("arithmetic-09a7d5277ff31_m1_l2_wrong", "09a7d52…, step 1"),
        ("arithmetic-09a7d5277ff31_m13_l20_right", "keep 09a7d52…, step 13"),
        ("mean_vector", "mean_vector"),
        ("train-0001_m1_l2_wrong", "train-0001_m1_l2_wrong"),
        ("train-0123456789_m1_l2_wrong", "train-0123456789_m1_l2_wrong"),  # 28 characters: just short enough
        ("train-01234567890_m1_l2_wrong", "0123456…, step 1"),
        ("my own vector of another tool, v2", "my own vector of another to…"),
        ("a\x1b\nb", "ab"),
        ("", ""),
    ],
)
def test_without_texts_an_id_is_shortened(tool_name: str, name: str) -> None:
    assert short_name(tool_name) == name


def test_a_name_that_would_repeat_gets_the_next_number() -> None:
    assert free_name("a", set()) == "a"
    assert free_name("a", {"a"}) == "a #2"
    assert free_name("a", {"a", "a #2", "a #4"}) == "a #3"


def mined(folder: Path) -> Path:
    """Two rollouts are wrong and two are right; the longer wrong one ends before the second delimiter."""
    texts = [
        ("Late right", True, 0.5, 3), ("Right", True, 0.9, 3), ("Wrong", False, -0.1, 3), ("Worse", False, -0.2, 1),
    ]  # fmt: skip
    rollouts = [
        {"text": text, "correct": right, "reward": reward, "segments": segments, "pred": "", "tokens": 1}
        for text, right, reward, segments in texts
    ]
    lines = [{"example_id": "e", "question": "", "gold": "", "rollouts": rollouts}]
    lines += [{"example_id": "lone", "question": "", "gold": "", "rollouts": rollouts[:1]}]
    write_jsonl(folder / "rollouts.jsonl", lines)
    return folder


def record(m: int = 1, kind: str = "wrong", **more: Any) -> dict[str, Any]:
    given = {"tool_name": f"arithmetic-0123456789ab_m{m}_l2_{kind}", "kind": kind, "example_id": "e"}
    return given | {"control_point_m": m, "source": "rollout"} | more


def test_an_entry_is_named_by_the_best_and_the_worst_text_that_reach_it(tmp_path: Path) -> None:
    namer = EntryNamer(mined(tmp_path))
    rows = [record(1), record(2), record(2), record(1, "right"), record(2), record(4)]
    names = [namer.name(row) for row in rows]
    assert names == [
        "Worse → Right, step 1", "Wrong → Right, step 2", "Wrong → Right, step 2 #2", "keep Right, step 1",
        "Wrong → Right, step 2 #3", "0123456…, step 4",
    ]  # fmt: skip
    assert namer.name(record(source="gold")) == "Worse → solution, step 1"
    assert namer.name(record(example_id="lone")) == "0123456…, step 1"


def test_a_right_text_is_right_however_long_it_was(tmp_path: Path) -> None:
    """Its length takes more off its reward than a short wrong one has."""
    texts = [("Long", True, -0.7), ("Short", False, -0.1), ("Same", True, -0.7)]
    rollouts = [{"text": t, "correct": right, "reward": r, "segments": 2} for t, right, r in texts]
    write_jsonl(tmp_path / "rollouts.jsonl", [{"example_id": "e", "rollouts": rollouts}])
    assert EntryNamer(tmp_path).name(record()) == "Short → Long, step 1"


def test_a_name_that_stands_in_the_file_stays(tmp_path: Path) -> None:
    rows = [record(name="mine"), record(name="mine"), record(name="a\x1b\nb" + "c" * 99), record(name="")]
    named = EntryNamer(mined(tmp_path)).named(rows)
    assert [row["name"] for row in named[:2]] == ["mine", "mine #2"]
    assert named[2]["name"] == "ab" + "c" * 57 + "…" and named[3]["name"] == "Worse → Right, step 1"
    again = EntryNamer(tmp_path).named(named)
    assert again == named, "the names of a memory are those of its library"
    assert rows[0] == record(name="mine")


@pytest.mark.parametrize(
    "content", [None, b"{}\n", b'{"example_id": "e", "rollouts": [{"text": 3}]}\n', b"\xff\n"]
)
def test_texts_that_cannot_be_read_are_no_error(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "rollouts.jsonl").write_bytes(content)
    assert EntryNamer(tmp_path).name(record()) == "0123456…, step 1"


def decision(**more: Any) -> DecisionTaken:
    weighed = {"kind": "wrong", "similarity": 0.9, "quality": 1.0, "ahat": 0.9}
    candidates = [Candidate(entry="a", name="A → B, step 1", **weighed), Candidate(entry="b", **weighed)]
    return DecisionTaken(method="esm", example="e", m=2, gate="chosen", candidates=candidates, **more)


def test_a_decision_says_the_name_of_what_was_chosen() -> None:
    assert [candidate_name(c) for c in decision().candidates] == ["A → B, step 1", "b"]
    lost = "arithmetic-09a7d5277ff31_m1_l2_wrong"
    names = [chosen_name(decision(chosen=chosen)) for chosen in ("a", "b", "mean_vector", lost, None)]
    assert names == ["A → B, step 1", "b", "mean_vector", "09a7d52…, step 1", "null"]


def test_an_answer_that_is_served_has_name_and_id() -> None:
    told = decision_fields(decision(chosen="a"))
    assert (told["entry"], told["name"]) == ("a", "A → B, step 1")
    told = decision_fields(decision())
    assert told["entry"] is None and told["name"] is None
    did = esm_did([decision(chosen="a", alpha=1.5), decision()], 3)
    assert did.what == "steered 1 of 2 segments: A → B, step 1 at α 1.5 in segment 2"
