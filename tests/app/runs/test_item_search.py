"""The console's search: which events of a log have all of some words."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from app.runs.item_search import find_items
from engine import events as ev
from tests.synthetic_run import write_log

KINDS = (ev.PairMined, ev.ExampleEvaluated)


def evaluated(example: str, question: str, text: str = "", method: str = "esm") -> ev.ExampleEvaluated:
    return ev.ExampleEvaluated(
        method=method, index=0, example=example, question=question, gold="8", pred="8", correct=True,
        tokens_used=3, budget_used=3, text=text,
    )  # fmt: skip


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "events.jsonl"
    events = [
        ev.Header(schema_version=1, name="tickets", run_id="1", seed=1, stages=["eval"], versions={}),
        evaluated("a-1", "Paul has 31 tickets. How many tickets?", "Forward: 31"),
        evaluated("a-2", 'Änne says "two\nboats".', "Backward", method="greedy"),
        ev.Notice(text="tickets"),
        evaluated("b-3", "Ben lost his tickets", "a boat"),
    ]
    write_log(path, [msgspec.structs.replace(event, seq=seq) for seq, event in enumerate(events)])
    return path


def found(log: Path, *words: str, last: int = 99) -> list[str]:
    items = [item for item in find_items(log, KINDS, words, last) if item is not None]
    for item in items:
        assert log.read_bytes()[item.offset :].startswith(b'{"type":"ExampleEvaluated"')
    return [item.event.example for item in items if isinstance(item.event, ev.ExampleEvaluated)]


def test_all_words_in_any_letters_in_any_text(log: Path) -> None:
    assert found(log, "tickets") == ["a-1", "b-3"]
    assert found(log, "TICKETS", "boat") == ["b-3"]
    assert found(log, "änne") == ["a-2"] and found(log, '"two') == ["a-2"]
    assert found(log, "a-") == ["a-1", "a-2"]
    assert found(log, "greedy") == ["a-2"]
    assert found(log) == ["a-1", "a-2", "b-3"]


def test_names_of_fields_are_no_texts(log: Path) -> None:
    assert found(log, "question") == found(log, "ExampleEvaluated") == found(log, "eval") == []


def test_only_up_to_the_moment_that_is_shown(log: Path) -> None:
    assert found(log, "tickets", last=1) == ["a-1"] and found(log, "tickets", last=0) == []


def test_each_line_can_be_the_last_that_is_read(log: Path) -> None:
    assert [item is not None for item in find_items(log, KINDS, ["tickets"], 99)] == [
        False, True, False, False, True,
    ]  # fmt: skip


def test_lines_that_are_no_events_are_passed(log: Path) -> None:
    log.write_bytes(
        log.read_bytes() + b'{"type":"ExampleEvaluated","tickets\n[1]\n{"type":"PairMined","seq":"tickets"}'
    )
    assert found(log, "tickets") == ["a-1", "b-3"]


def test_the_excerpt_begins_shortly_before_the_first_word(log: Path) -> None:
    first, *_ = [item for item in find_items(log, KINDS, ["many"], 99) if item is not None]
    assert first.excerpt == "…aul has 31 tickets. How many tickets?"
    first, *_ = [item for item in find_items(log, KINDS, ["paul"], 99) if item is not None]
    assert first.excerpt == "Paul has 31 tickets. How many tickets?"
    first, *_ = [item for item in find_items(log, KINDS, ["boats"], 99) if item is not None]
    assert first.excerpt == 'Änne says "two boats".'


def test_what_is_nested_is_searched_and_the_stage_is_not(tmp_path: Path) -> None:
    candidate = ev.Candidate(entry="Kennedy", kind="wrong", similarity=0.5, quality=1.0, ahat=0.5)
    decision = ev.DecisionTaken(
        stage="eval", method="esm", example="a", m=1, gate="chosen", candidates=[candidate]
    )
    write_log(tmp_path / "events.jsonl", [decision])

    def hits(word: str) -> list[str]:
        items = find_items(tmp_path / "events.jsonl", (ev.DecisionTaken,), [word], 0)
        return [item.excerpt for item in items if item is not None]

    assert hits("kennedy") == ["Kennedy"] and hits("eval") == [] and hits("Decision") == []


def test_of_each_item_the_place_in_the_log(log: Path) -> None:
    """Lines are told by number, as far as the log goes."""
    lines = log.read_bytes().splitlines(keepends=True)
    offsets = [item.offset for item in find_items(log, KINDS, [], 99) if item is not None]
    assert offsets == [sum(map(len, lines[:number])) for number in (1, 2, 4)]
    assert all(item is None or item.excerpt == "" for item in find_items(log, KINDS, [], 99))
