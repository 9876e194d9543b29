"""A language model as controller, behind a real loopback server that misbehaves: nothing is lost, nothing corrupted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from engine.config.models.openai import OpenAISection
from engine.events import Event, StateUpdated
from engine.servers.client import OpenAIClient, ServerFailed
from engine.slsm import layout
from engine.slsm.controllers.detection import CheckedController
from engine.slsm.controllers.openai_controller import (
    CONFLICTS_SCHEMA,
    DIFF_SCHEMA,
    FLAT_SCHEMA,
    OpenAIController,
)
from engine.slsm.from_config import make_controller
from engine.slsm.state import Constraint, Fact, FlatState, Plan, SemanticState, State
from engine.slsm.turns import Turn
from tests.engine.slsm.small_run import answers_of, conversation, small_context, tracked
from tests.engine.slsm.stage_run import run_slsm
from tests.misbehaving_server import MisbehavingServer, misbehaving_server

KEY = "sk-very-secret-0123456789"
STATE = SemanticState(
    facts=(Fact(id="F1", text="The dog is Rex", evidence="my dog is Rex"),),
    constraints=(
        Constraint(id="C1", text="Never use the word sorry", status="satisfied", evidence="never say sorry"),
    ),
    plan=Plan(mode="verify", reasons=("just so",)),
)
FLAT = FlatState(memory_text="The dog is Rex. Never use the word sorry.", plan=Plan(mode="verify"))
TURNS = [Turn("My dog is Rex; never say sorry.", "Okay."), Turn("My cat is Tom.", "Sorry, who?")]
PLAN = {"mode": "proceed", "reasons": []}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)


def change(
    operation: str, kind: str, item: str = "", text: str = "", status: str = "", evidence: str = ""
) -> Any:
    return {
        "operation": operation,
        "list": kind,
        "id": item,
        "text": text,
        "status": status,
        "evidence": evidence,
    }


def diff_reply(*changes: Any, **plan: Any) -> str:
    return json.dumps({"changes": list(changes), "plan": PLAN | plan})


GOOD = diff_reply(
    change("add", "facts", text="The cat is Tom", evidence="My cat is Tom"),
    change("change", "constraints", "C1", "Never use the word sorry", "violated"),
    mode="clarify", reasons=["who is Tom?"],
)  # fmt: skip
GOOD_FLAT = json.dumps({"memory_text": "The dog is Rex. The cat is Tom.", "mismatch": True, "plan": PLAN})
UNFIT = {
    "no JSON": "Here you are!",
    "an array": "[]",
    "no plan": '{"changes": []}',
    "other keys": '{"facts": ["The cat is Tom"], "plan": {"mode": "proceed", "reasons": []}}',
    "a key more": json.dumps({"changes": [], "plan": PLAN, "note": "!"}),
    "an unknown operation": diff_reply(change("delete", "facts", "F1")),
    "an unknown list": diff_reply(change("add", "wishes", text="x")),
    "an unknown plan": diff_reply(mode="panic"),
    "a change of nothing": diff_reply(change("change", "facts", "F9", "The cat is Tom")),
    "a change in another list": diff_reply(change("change", "unknowns", "F1", "x")),
    "a resolution of nothing": diff_reply(change("resolve", "facts", "F9")),
    "an id twice": diff_reply(change("resolve", "facts", "F1"), change("change", "facts", "F1", "x")),
    "a text of nothing": diff_reply(change("add", "facts")),
    "a status of another list": diff_reply(change("add", "constraints", text="x", status="valid")),
    "a text without end": diff_reply(change("add", "facts", text="x" * 2001)),
    "numbers for texts": diff_reply(change("add", "facts", text="x") | {"id": 7}),
    "half a letter": diff_reply() .replace('"proceed"', r'"\ud800"'),
}  # fmt: skip


class Script:
    """Replies in order; the last one again and again."""

    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)

    def __call__(self, body: dict[str, Any]) -> str:
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


def controller(server: MisbehavingServer, **changes: Any) -> OpenAIController:
    fields = {
        "base_url": server.url,
        "api_key_env": "TEST_KEY",
        "timeout": 30,
        "retries": 0,
        "price_prompt": 10.0,
    }
    section = OpenAISection(**{**fields, **changes})
    return OpenAIController(OpenAIClient(section, "slsm.controller.openai"), section.model)


def said_to(server: MisbehavingServer, request: int) -> str:
    return json.dumps(server.requests[request]["messages"], ensure_ascii=False)


# ---------------------------------------------------------------- a server that behaves


def test_a_good_diff_is_applied() -> None:
    with misbehaving_server(Script(GOOD)) as server:
        found = controller(server).update(STATE, TURNS)
    assert not found.failure
    state = found.state
    assert isinstance(state, SemanticState)
    assert [item.text for item in state.facts] == ["The dog is Rex", "The cat is Tom"]
    assert state.facts[1].id == "F2"
    assert state.constraints[0] == STATE.constraints[0].model_copy(update={"status": "violated"})
    assert state.plan == Plan(mode="clarify", reasons=("who is Tom?",))
    assert found.diff is not None and [one.operation for one in found.diff.changes] == ["added", "changed"]
    assert (found.spent.calls, found.spent.tokens, found.spent.cost) == (1, 120, 0.001)


KNOWN = (
    '{"facts": [{"id": "F1", "text": "The dog is Rex", "evidence": "my dog is Rex"}], "constraints": [{"id": "C1", '
    '"text": "Never use the word sorry", "status": "satisfied", "evidence": "never say sorry"}], "assumptions": [], '
    '"unknowns": [], "edits": []}'
)


def test_a_detection_has_the_state_the_question_and_the_answer() -> None:
    with misbehaving_server(Script('{"conflicts": []}')) as server:
        controller(server).detect(STATE, TURNS, "Max barks.")
    assert server.requests[0]["messages"][1]["content"] == (
        f"Known:\n{KNOWN}\n\nThe user's last message:\nMy cat is Tom.\n\nThe answer:\nMax barks."
    )


def test_a_conflict_is_with_an_item_and_says_why() -> None:
    reply = '{"conflicts": [{"item": "F1", "why": "Max is a dog"}]}'
    with misbehaving_server(Script(reply)) as server:
        (conflict,) = controller(server).detect(STATE, TURNS, "Max barks.").conflicts
    assert (conflict.item, conflict.why, conflict.exact) == ("F1", "Max is a dog", False)


def test_what_the_server_reads_is_written_as_it_was_said() -> None:
    """Letters beyond ASCII are themselves, and a plan is no part of what is known."""
    state = FlatState(memory_text="Der Hund heißt Jörg. 漢字", plan=Plan(mode="verify", reasons=("so",)))
    with misbehaving_server(Script(GOOD_FLAT, '{"conflicts": []}')) as server:
        controller(server).update(state, [Turn("Ölpreis?")])
        controller(server).detect(state, [Turn("Ölpreis?")], "Teuer.")
    known = '{"memory_text": "Der Hund heißt Jörg. 漢字", "mismatch": false}'
    assert [one["messages"][1]["content"] for one in server.requests] == [
        f"The memory so far:\n{known}\n\nThis turn. The user said:\nÖlpreis?",
        f"Known:\n{known}\n\nThe user's last message:\nÖlpreis?\n\nThe answer:\nTeuer.",
    ]


def test_a_schema_is_whole_and_has_no_lengths() -> None:
    conflict = {
        "type": "object",
        "properties": {"item": {"type": "string"}, "why": {"type": "string"}},
        "required": ["item", "why"],
        "additionalProperties": False,
    }
    assert {
        "name": "conflicts",
        "schema": {
            "type": "object",
            "properties": {"conflicts": {"type": "array", "items": conflict}},
            "required": ["conflicts"],
            "additionalProperties": False,
        },
    } == CONFLICTS_SCHEMA


def _fields(schema: Any) -> Iterator[str]:
    """Names of fields at any depth."""
    for name, below in schema.items() if isinstance(schema, dict) else ():
        if name == "properties":
            yield from below
        for one in below.values() if name == "properties" else [below]:
            yield from _fields(one)


@pytest.mark.parametrize("kind", ["memory_changes", "memory", "conflicts"])
def test_every_field_of_a_reply_is_explained(kind: str) -> None:
    """To the last word: each paragraph is a sentence, and names the fields that the schema wants."""
    with misbehaving_server(Script(GOOD, GOOD_FLAT, '{"conflicts": []}')) as server:
        controller(server).update(STATE, TURNS)
        controller(server).update(FLAT, TURNS)
        controller(server).detect(STATE, TURNS, "Max barks.")
    asked = {one["response_format"]["json_schema"]["name"]: one for one in server.requests}[kind]
    told = asked["messages"][0]["content"]
    fields = list(_fields(asked["response_format"]["json_schema"]["schema"]))
    assert fields and all(f'"{name}"' in told for name in fields)
    assert all(paragraph.endswith(".") for paragraph in told.split("\n\n"))


def test_the_request_has_the_state_the_turn_and_a_strict_schema() -> None:
    with misbehaving_server(Script(GOOD)) as server:
        controller(server).update(STATE, TURNS)
    told = said_to(server, 0)
    assert "My cat is Tom." in told and "Sorry, who?" in told and "The dog is Rex" in told
    assert "never say sorry." not in told  # an earlier turn: what it said is in the state
    system, user = server.requests[0]["messages"]
    assert (system["role"], user["role"]) == ("system", "user")
    assert user["content"] == (
        f"The memory so far:\n{KNOWN}\n\nThis turn. The user said:\nMy cat is Tom.\n\nThe assistant answered:\n"
        "Sorry, who?"
    )
    wanted = server.requests[0]["response_format"]["json_schema"]
    assert wanted == {**DIFF_SCHEMA, "strict": True}


@pytest.mark.parametrize("schema", (DIFF_SCHEMA, FLAT_SCHEMA, CONFLICTS_SCHEMA))
def test_schemas_are_as_strict_servers_want_them(schema: dict[str, Any]) -> None:
    def look(part: Any) -> int:
        if not isinstance(part, dict):
            return 0
        inner = sum(look(one) for one in [*part.get("properties", {}).values(), part.get("items")])
        if part.get("type") == "object":
            assert part["additionalProperties"] is False
            assert part["required"] == list(part["properties"])
            return inner + 1
        return inner

    assert look(schema["schema"]) >= 2


def test_a_good_flat_memory_takes_the_place_of_the_old() -> None:
    with misbehaving_server(Script(GOOD_FLAT)) as server:
        found = controller(server).update(FLAT, TURNS)
    assert found.state == FlatState(memory_text="The dog is Rex. The cat is Tom.", mismatch=True)
    assert not found.failure and found.diff is None


def test_resolving_says_why_and_new_ids_are_given_here() -> None:
    reply = diff_reply(
        change("resolve", "facts", "F1", "it ran away"),
        change("add", "facts", "F1", "The cat is Tom"),
        change("add", "facts", "zzz", "The cow is Ann"),
    )
    with misbehaving_server(Script(reply)) as server:
        found = controller(server).update(STATE, TURNS)
    assert isinstance(found.state, SemanticState) and found.diff is not None
    assert [(item.id, item.text) for item in found.state.facts] == [
        ("F2", "The cat is Tom"),
        ("F3", "The cow is Ann"),
    ]
    assert found.diff.changes[0].why == "it ran away"


# ---------------------------------------------------------------- a server that does not


@pytest.mark.parametrize("unfit", UNFIT.values(), ids=UNFIT)
def test_an_unfit_reply_is_told_what_was_wrong_and_repaired(unfit: str) -> None:
    with misbehaving_server(Script(unfit, GOOD)) as server:
        found = controller(server).update(STATE, TURNS)
    assert not found.failure and found.spent.calls == 2
    assert isinstance(found.state, SemanticState) and len(found.state.facts) == 2
    first, second = server.requests[0]["messages"], server.requests[1]["messages"]
    assert [one["role"] for one in second] == ["system", "user"]
    assert second[1]["content"].startswith(first[1]["content"] + "\n\nYour last reply could not be used: ")


@pytest.mark.parametrize("unfit", UNFIT.values(), ids=UNFIT)
@pytest.mark.parametrize("state", (STATE, FLAT), ids=("structured", "flat"))
def test_after_one_repair_the_state_before_stands(unfit: str, state: State) -> None:
    before = state.model_dump_json()
    with misbehaving_server(Script(unfit)) as server:
        found = controller(server).update(state, TURNS)
    assert len(server.requests) == found.spent.calls == 2
    assert found.failure
    assert found.state is state and state.model_dump_json() == before


def test_what_was_wrong_is_said_plainly() -> None:
    wrong = {
        "Invalid JSON": UNFIT["no JSON"],
        "plan: Field required": UNFIT["no plan"],
        "changes.0.list: Input should be": UNFIT["an unknown list"],
        "F9 is changed, but facts has none such": UNFIT["a change of nothing"],
        "F1 is named twice": UNFIT["an id twice"],
    }
    for told, unfit in wrong.items():
        with misbehaving_server(Script(unfit)) as server:
            assert told in controller(server).update(STATE, TURNS).failure
        assert told in server.requests[1]["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("fault", "told", "requests", "suspect"),
    (
        ("refusal", "the model refused: I cannot help with that.", 2, False),
        ("truncated", "the reply was cut off at the token limit", 2, False),
        ("text is no JSON", "Invalid JSON", 2, False),
        ("400 content management policy", "the server refused the request (400)", 1, False),
        ("413", "the server refused the request (413)", 1, False),
        ("400 no such parameter", "the server refused the request (400)", 1, True),
        ("429", "overloaded or a limit is reached (429)", 1, True),
        ("401", "the server refused the request (401)", 1, True),
        ("500", "the server failed (500)", 1, True),
        ("hang", "no answer within 0.4 s", 1, True),
        ("drip", "no answer within 0.4 s", 1, True),
        ("torn body", "", 1, True),
        ("connection cut", "the connection failed", 1, True),
        ("no JSON", "the answer is a web page, not JSON", 1, True),
        ("no completion", "the answer is not a chat completion", 1, True),
    ),
)
def test_faults_of_server_and_model_leave_the_state_before(
    fault: str, told: str, requests: int, suspect: bool
) -> None:
    """What is about this conversation alone is no reason to suspect the server; otherwise there is a way without it."""
    for state, good in ((STATE, GOOD), (FLAT, GOOD_FLAT)):
        with misbehaving_server(Script(good), [fault] * 2) as server:
            found = controller(server, timeout=0.4 if fault in ("hang", "drip") else 30).update(state, TURNS)
        assert told in found.failure and found.failure
        assert found.state is state and (found.suspect is not None) == suspect
        way_out = "or set `slsm.controller.kind: rules`"
        assert found.suspect is None or found.suspect.hint.endswith(way_out)
        assert len(server.requests) == found.spent.calls == requests


def test_half_a_letter_from_a_server_breaks_nothing(tmp_path: Path) -> None:
    """JSON allows `\\ud800`, UTF-8 does not: whatever becomes of it can be written down."""
    reply = GOOD.replace("The cat is Tom", "The cat is \ud800")
    assert "\ud800" in reply
    events: list[Event] = []
    with misbehaving_server(Script(reply, "\ud800")) as server:
        context = small_context(tmp_path, events)
        tracked(context, controller(server)).track(
            [conversation("c", "My cat is Tom.", "x", "y")], ["structured"]
        )
        controller(server).detect(STATE, TURNS, "\ud800")
    assert msgspec.json.encode(events)


def test_an_empty_reply_says_so() -> None:
    with misbehaving_server(Script("")) as server:
        assert controller(server).update(STATE, TURNS).failure == "the reply is empty"


def test_what_passes_is_tried_again_before_it_is_a_failure() -> None:
    with misbehaving_server(Script(GOOD), ["429 with Retry-After"]) as server:
        found = controller(server, retries=1).update(STATE, TURNS)
    assert not found.failure and found.spent.calls == 2


# ---------------------------------------------------------------- detection


JUDGED = [{"item": "F1", "why": "calls the dog Max"}, {"item": "C1", "why": "it says sorry"}]
FINDS: dict[str, tuple[list[tuple[str, bool]], int]] = {
    "controller": ([("F1", False), ("C1", False)], 1),
    "checks": ([("C1", True)], 0),
    "both": ([("C1", True), ("F1", False)], 1),
}
"""What each detector finds in an answer that says sorry, and how often it asks the server."""


@pytest.mark.parametrize("detector", FINDS)
def test_each_detector_finds_what_is_its_own(tmp_path: Path, detector: str) -> None:
    found, asked = FINDS[detector]
    with misbehaving_server(Script(json.dumps({"conflicts": JUDGED}))) as server:
        openai = {"base_url": server.url, "api_key_env": "none", "retries": 0}
        kind = {"kind": "openai", "openai": openai}
        context = small_context(tmp_path, [], controller=kind, detector=detector)
        detection = make_controller(context).detect(STATE, TURNS, "Sorry, Max barks.")
    assert [(one.item, one.exact) for one in detection.conflicts] == found
    assert (detection.spent.calls, len(server.requests)) == (asked, asked)
    assert not asked or "Sorry, Max barks." in said_to(server, 0)


def test_an_answer_that_only_the_controller_minds_is_no_conflict_of_a_checkable_constraint(
    tmp_path: Path,
) -> None:
    """It keeps C1 by the check: under `both` the check decides, under `controller` the controller."""
    for detector, found in (("controller", ["F1", "C1"]), ("both", ["F1"]), ("checks", [])):
        with misbehaving_server(Script(json.dumps({"conflicts": JUDGED}))) as server:
            kind = {"kind": "openai", "openai": {"base_url": server.url, "api_key_env": "none"}}
            context = small_context(tmp_path, [], controller=kind, detector=detector)
            detection = make_controller(context).detect(STATE, TURNS, "Max barks.")
        assert [one.item for one in detection.conflicts] == found


@pytest.mark.parametrize("state", (STATE, FLAT), ids=("structured", "flat"))
def test_without_the_model_the_exact_checks_still_find(state: State) -> None:
    """What the server itself failed at is suspect: it may fail at every detection."""
    for reply, script in (("no JSON", []), ("{}", ["429"] * 2), ('{"conflicts": [{"item": "F1"}]}', [])):
        with misbehaving_server(Script(reply), script) as server:
            found = CheckedController(controller(server), ask=True).detect(state, TURNS, "Sorry!")
        assert [one.exact for one in found.conflicts] == [True]
        assert found.failure and bool(found.suspect) == bool(script)


# ---------------------------------------------------------------- in the stage


def test_quotes_that_do_not_occur_are_gated_and_told(tmp_path: Path) -> None:
    reply = diff_reply(
        change("add", "facts", text="The cat is Tom", evidence="my CAT  is Tom"),
        change("add", "facts", text="The cat is old", evidence="my cat is old"),
        change("add", "facts", text="No quote"),
    )
    events: list[Event] = []
    for gate in (True, False):
        with misbehaving_server(Script(reply)) as server:
            context = small_context(tmp_path / str(gate), events, gate_facts_by_evidence=gate)
            tracked(context, controller(server)).track([conversation("c", "My cat is Tom.")], ["structured"])
    strict, loose = (event for event in events if isinstance(event, StateUpdated))
    assert [item.text for item in strict.items] == ["The cat is Tom"]
    assert [item.text for item in strict.gated] == ["The cat is old", "No quote"]
    assert len(loose.items) == 3 and not loose.gated


def test_failures_are_counted_and_the_conversation_goes_on(tmp_path: Path) -> None:
    """The second of four turns fails in both memories: its state is the one before, and the third builds on that."""
    events: list[Event] = []
    add = [diff_reply(change("add", "facts", text=f"The cat is {name}", evidence=name)) for name in "ABCD"]
    with misbehaving_server(Script(add[0], "no", "no", add[2], add[3])) as server:
        context = small_context(tmp_path, events, concurrency=1)
        one = conversation("c", "A?", "a", "B?", "b", "C?", "c", "D?")
        found = tracked(context, controller(server))
        found.track([one], ["structured"])
        assert found.failures() == 1
        assert found.cost(one, "structured").calls == 4  # one a turn, as the cost table counts
        asked = len(server.requests)
        again = tracked(context, controller(server))
        again.track([one], ["structured"])
        assert len(server.requests) == asked == 5  # and a failed turn is not asked again
    told = [event for event in events if isinstance(event, StateUpdated)][:4]
    assert [len(event.items) for event in told] == [1, 1, 2, 3]
    assert [bool(event.failure) for event in told] == [False, True, False, False]
    assert told[1].items == told[0].items and told[1].plan_mode == told[0].plan_mode


@pytest.mark.parametrize("n", [1, 3])
def test_a_server_that_dies_before_detections_ends_the_stage_and_a_resume_detects(
    tmp_path: Path, n: int
) -> None:
    """Each conversation is read by a server that behaves, and no answer is looked at by one that does not."""

    def reply(body: dict[str, Any]) -> str:
        return '{"conflicts": []}' if detects(body) else diff_reply()

    def detects(body: dict[str, Any]) -> bool:
        return body["response_format"]["json_schema"]["name"] == "conflicts"

    def run(server: MisbehavingServer) -> list[Event]:
        openai = {"base_url": server.url, "api_key_env": "none", "retries": 0}
        kind = {"kind": "openai", "openai": openai}
        return run_slsm(tmp_path, n=n, controller=kind, inject="on_detection")

    with (
        misbehaving_server(reply, fault_of=lambda body: "500" if detects(body) else "") as server,
        pytest.raises(ServerFailed, match=r"the server failed \(500\)"),
    ):
        run(server)
    assert not layout.detections(tmp_path).exists()
    with misbehaving_server(reply) as server:
        answered = answers_of(run(server))
        assert sum(map(detects, server.requests)) == len(server.requests) == n
    assert [(one.reason, one.detector_failure) for one in answered] == [("no conflict", "")] * n


def test_the_key_is_in_no_event_and_no_file(tmp_path: Path) -> None:
    """A server may repeat what it was sent: as an error, as a quote, in broken JSON."""
    events: list[Event] = []
    echoed = diff_reply(change("add", "facts", text=f"The key is {KEY}", evidence=f"My key is {KEY}"))
    for number, (reply, script) in enumerate(((echoed, []), (KEY, []), (GOOD, ["429"]), (GOOD, ["401"]))):
        with misbehaving_server(Script(reply), script) as server:
            context = small_context(tmp_path / str(number), events, gate_facts_by_evidence=False)
            tracked(context, controller(server)).track([conversation("c", "Hello.")], ["structured"])
            assert KEY in server.headers[0]["authorization"]
    assert len([event for event in events if isinstance(event, StateUpdated)]) == 4
    assert KEY.encode() not in msgspec.json.encode(events)
    assert all(KEY not in layout.states(tmp_path / str(number)).read_text() for number in range(4))
