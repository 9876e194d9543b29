"""What the notes lever asks its controller, and what it says that it cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from engine.config.config import Config
from engine.config.slsm import SLSMSection
from engine.errors import DataError
from engine.levers import load, notes_lever
from engine.levers.lever import Edited, LeverDid, Message
from engine.levers.notes_lever import NotesLever, Read
from engine.servers.known_servers import KnownServers
from engine.servers.spent import Spent
from engine.slsm import layout
from engine.slsm.controllers.controller import Conflict, Detection, Update
from engine.slsm.controllers.diff import Change, StateDiff, apply_diff
from engine.slsm.state import Fact, SemanticState, State
from engine.slsm.turns import Turn
from tests.exactly import exactly


class Remembering:
    """A controller that notes each user's message as a fact, with the message as quote. `watched`: the users' messages
    and the answer of each conversation in which it looked for a conflict."""

    name = "remembering"

    def __init__(self, conflicts: Sequence[str] = (), quote: str = "") -> None:
        self.conflicts, self.quote = conflicts, quote
        self.seen: list[tuple[Turn, ...]] = []
        self.watched: list[tuple[list[str], str]] = []

    def update(self, state: State, turns: Sequence[Turn]) -> Update:
        assert isinstance(state, SemanticState)
        self.seen.append(tuple(turns))
        said = turns[-1].user
        fact = Fact(id=f"F{len(state.facts) + 1}", text=said, evidence=self.quote or said)
        diff = StateDiff((Change("added", "facts", fact),))
        return Update(apply_diff(state, diff), diff, spent=Spent(1, 10, 0.5))

    def detect(self, state: State, turns: Sequence[Turn], answer: str) -> Detection:
        self.watched.append(([turn.user for turn in turns], answer))
        found = tuple(Conflict("F1", why, False) for why in self.conflicts)
        return Detection(found, spent=Spent(2, 7, 0.25))


def talk(*messages: str) -> list[Message]:
    return [
        {"role": "assistant" if number % 2 else "user", "content": text}
        for number, text in enumerate(messages)
    ]


def words(text: str) -> int:
    return len(text.split())


def facts(state: State) -> list[str]:
    assert isinstance(state, SemanticState)
    return [fact.text for fact in state.facts]


def test_a_conversation_that_goes_on_is_read_from_where_it_was() -> None:
    controller = Remembering()
    lever = NotesLever(SLSMSection(), controller)
    first = lever.read(talk("a", "b", "c"))
    # What was asked last gets its answer, so that its turn is another one.
    assert [len(turns) for turns in controller.seen] == [1, 2] and first.spent == Spent(2, 20, 1.0)
    second = lever.read(talk("a", "b", "c", "d", "e"))
    assert [[turn.user for turn in turns] for turns in controller.seen[2:]] == [["a", "c"], ["a", "c", "e"]]
    assert facts(second.state) == ["a", "c", "e"] and second.spent == Spent(2, 20, 1.0)
    again = lever.read(talk("a", "b", "c", "d", "e"))
    assert again.state == second.state and again.spent == Spent() and len(controller.seen) == 4


def test_the_conversation_that_was_longest_unread_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes_lever, "_REMEMBERED", 2)
    controller = Remembering()
    lever = NotesLever(SLSMSection(), controller)
    for message in ("a", "b", "a", "c"):
        lever.read(talk(message))
    assert len(controller.seen) == 3
    lever.read(talk("a"))
    assert len(controller.seen) == 3, "read again before c came: b was forgotten"
    lever.read(talk("b"))
    assert len(controller.seen) == 4


@pytest.mark.parametrize(("gate", "kept"), [(True, []), (False, ["so it is"])])
def test_items_without_a_quote_of_their_turn_are_left_out_if_wanted(gate: bool, kept: list[str]) -> None:
    section = SLSMSection.model_validate({"gate_facts_by_evidence": gate})
    lever = NotesLever(section, Remembering(quote="never said"))
    assert facts(lever.read(talk("so it is")).state) == kept


def test_a_note_costs_its_own_tokens_and_those_of_reading() -> None:
    lever = NotesLever(SLSMSection(), Remembering())
    messages = talk("so it is")
    edited = lever.add(messages, lever.read(messages), "always", words)
    note = edited.messages[-1]["content"].removeprefix("so it is\n\n")
    assert edited.did == LeverDid(
        lever="notes", acted=True, what="a note (always)", tokens=words(note) + 10, calls=1, price=0.5
    )
    later = lever.add(messages, lever.read(messages), "on_detection", words)
    assert later.messages == messages and not later.did.acted and later.did.tokens == 0


def test_a_note_is_as_long_and_as_frequent_as_the_run_s_settings_say() -> None:
    """Its plan is to go on, which is a risk to this run alone; one item of two has room."""
    messages = talk("one", "so", "two")
    for risks, given in ((["proceed"], True), (["verify", "clarify"], False)):
        section = SLSMSection.model_validate({"risk_modes": risks, "note_max_items": 1})
        lever = NotesLever(section, Remembering())
        edited = lever.add(messages, lever.read(messages), "on_risk", words)
        note = "two\n\n[SLSM MEMORY NOTE]\nUser facts/preferences:\n- two"
        assert (edited.did.acted, edited.messages[-1]["content"]) == (given, note if given else "two")


@pytest.mark.parametrize("conflicts", [[], ["no", "nor"]])
def test_a_detection_is_paid_whether_it_finds_something_or_not(conflicts: list[str]) -> None:
    controller = Remembering(conflicts)
    lever, messages = NotesLever(SLSMSection(), controller), talk("so it is")
    found = lever.after(messages, lever.read(messages), "an answer", words)
    assert controller.watched == [(["so it is"], "an answer")]
    did = found.did if isinstance(found, Edited) else found
    assert (did.calls, did.price, did.acted) == (3, 0.75, bool(conflicts))
    if isinstance(found, Edited):
        note = found.messages[-1]["content"].removeprefix("so it is\n\n")
        assert did.what == "answered again with a note: no; nor" and did.tokens == 17 + words(note)
    else:
        assert did.tokens == 17


def test_a_detector_without_a_reply_and_a_conflict_without_a_note_say_so() -> None:
    """The first of a memory that holds nothing; a conflict of one that does is answered again."""
    messages = talk("Hello")

    def did(read: Read, detection: Detection) -> str:
        controller = Remembering()
        controller.detect = lambda *_: detection  # type: ignore[method-assign]
        seen = NotesLever(SLSMSection(), controller).after(messages, read, "an answer", words)
        assert isinstance(seen, LeverDid) and not seen.acted
        return seen.what

    empty = Read((Turn("Hello"),), SemanticState(), Spent())
    conflict = Detection((Conflict("F1", "why", False),))
    assert did(empty, Detection((), "no JSON")) == "no note: the detector gave no reply"
    assert did(empty, conflict) == (
        "no note: the first answer goes against the memory, but the memory has nothing for a note"
    )


@pytest.mark.parametrize("slsm", ({"disable_controller": True}, {"compare": ["baseline", "reminder"]}))
def test_a_run_that_asked_no_controller_has_no_notes(tmp_path: Path, slsm: dict[str, Any]) -> None:
    """Nor does it need the key of one."""
    layout.folder(tmp_path).mkdir()
    config = Config.model_validate({"slsm": slsm})
    what = "no conversation memory (…): run the stage `slsm` of this run, in a mode that keeps one"
    with pytest.raises(DataError, match=exactly(what)):
        load._notes(tmp_path, config, KnownServers())
