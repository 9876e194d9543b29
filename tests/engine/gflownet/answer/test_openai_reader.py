"""Questions answered from evidence by a model behind a server: a real one on loopback."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.config.config import Config
from engine.config.gflownet import AnswerSection
from engine.config.models.openai import OpenAISection
from engine.events import EvidenceAnswered, Notice, PathStep
from engine.gflownet.answer.answer_stage import _AnswerJob
from engine.gflownet.answer.readers import SYSTEM, OpenAIReader, Reading, make_reader
from engine.gflownet.evaluation.path_prompt import EvidencePrompt
from engine.run.gate import StopRequested
from engine.run.stage import StageContext
from engine.servers.client import ServerFailed
from tests.exactly import exactly
from tests.misbehaving_server import MisbehavingServer, misbehaving_server

PROMPTS = [
    EvidencePrompt(
        f"Who leads {name}?", [PathStep(head=name, relation="leader", tail=f"{name} the Elder", score=1.0)], 9
    )
    for name in ("Ada", "Ben", "Cid", "Dora", "Eve", "Fay", "Gus", "Hal")
]


def leader(body: dict[str, Any]) -> str:
    """Reads the tail of the triple."""
    return json.dumps(body["messages"][-1]["content"]).split("leader,")[1].split(")")[0]


def reader(server: MisbehavingServer, context: StageContext) -> OpenAIReader:
    found = make_reader(context, lambda: pytest.fail("no embedder is needed"))
    assert isinstance(found, OpenAIReader)
    return found


def context_of(server: MisbehavingServer, folder: Path, **changes: Any) -> StageContext:
    openai = OpenAISection(base_url=server.url, api_key_env="none", model="m", **changes)
    config = Config(answer=AnswerSection(reader="openai", openai=openai))
    return StageContext("answer", config, folder, lambda event: None, lambda: None, None)  # type: ignore[arg-type]


def test_answers_come_in_order_and_are_asked_for_side_by_side(tmp_path: Path) -> None:
    under_way, most, guard = 0, 0, threading.Lock()

    def slow(body: dict[str, Any]) -> str:
        nonlocal under_way, most
        with guard:
            under_way += 1
            most = max(most, under_way)
        time.sleep(0.05 if "Ada" in leader(body) else 0.01)
        with guard:
            under_way -= 1
        return leader(body)

    with misbehaving_server(slow) as server:
        context = context_of(server, tmp_path)
        answers = reader(server, context).read(PROMPTS, context.checkpoint)
    assert answers == [Reading(f"{prompt.triples[0].head} the Elder") for prompt in PROMPTS]
    assert 1 < most <= 4
    total = context.servers.usage.totals["answer", "model"]
    assert total.answered == len(PROMPTS) and total.prompt_tokens == 100 * len(PROMPTS)


def test_a_stop_leaves_each_answer_that_has_come(tmp_path: Path) -> None:
    """The first one hangs: behind it the seven others of the batch were lost, and asked for again."""
    with misbehaving_server(leader, fault_of=lambda body: "hang" if "Ada" in leader(body) else "") as server:
        context = context_of(server, tmp_path)
        answers: dict[str, EvidenceAnswered] = {}
        until = time.monotonic() + 5

        def checkpoint() -> None:
            if len(answers) == len(PROMPTS) - 1 or time.monotonic() > until:
                raise StopRequested

        context.checkpoint = checkpoint
        job: Any = object.__new__(_AnswerJob)
        job.context, job.reader = context, reader(server, context)
        job.answers = SimpleNamespace(add=lambda answer: answers.update({answer.sample_id: answer}))
        job.questions = [
            SimpleNamespace(sample_id=one.question, question="?", golds=["Ben"]) for one in PROMPTS
        ]
        job._prompt = lambda number, method: PROMPTS[number]
        with pytest.raises(StopRequested):
            job._answer([(number, "triples") for number in range(len(PROMPTS))])
    assert {name: (one.answer, one.hit) for name, one in answers.items()} == {
        f"Who leads {name}?": (f"{name} the Elder", name == "Ben")
        for name in ("Ben", "Cid", "Dora", "Eve", "Fay", "Gus", "Hal")
    }


def test_the_limit_of_the_server_is_kept(tmp_path: Path) -> None:
    under_way: list[int] = []
    with misbehaving_server(leader) as server:
        context = context_of(server, tmp_path, concurrency=1)
        slots = context.servers.slots(server.url)
        found = reader(server, context)
        server.answer = lambda body: (under_way.append(len(slots._held)), leader(body))[1]
        found.read(PROMPTS, context.checkpoint)
    assert under_way == [1] * len(PROMPTS)


def test_a_server_that_fails_ends_it_with_few_further_requests(tmp_path: Path) -> None:
    with misbehaving_server(leader, fault_of=lambda body: "401") as server:
        context = context_of(server, tmp_path)
        with pytest.raises(
            ServerFailed,
            match=exactly(
                "the server refused the request (401): 401 for Bearer none at /v1/chat/completions (answer.openai: m "
                "at http://127.0.0.1:…/v1): check that the server answers, the model's name; `steer-tui doctor "
                "--server` helps"
            ),
        ):
            reader(server, context).read(PROMPTS, context.checkpoint)
        assert len(server.requests) <= len(PROMPTS)


@pytest.mark.parametrize(
    ("fault", "reading"),
    [
        ("400 Bad Request", Reading("", failure="the server refused the request (400): ")),
        ("refusal", Reading("", failure="the model refused: ")),
        ("empty", Reading("", failure="the answer is empty (stop)")),
        ("blank", Reading(" \n", failure="the answer is empty (stop)")),
        ("truncated", Reading("Ada th", cut=True)),
    ],
)
def test_one_prompt_that_is_not_answered_ends_nothing(tmp_path: Path, fault: str, reading: Reading) -> None:
    """A server may find a question too long, or too bad: the stage ended there, and so did each resume."""

    def answer(body: dict[str, Any]) -> str:
        said = {"empty": "", "blank": " \n"}
        return said.get(fault, leader(body)) if "Ada" in leader(body) else leader(body)

    with misbehaving_server(answer, fault_of=lambda body: fault if "Ada" in leader(body) else "") as server:
        context = context_of(server, tmp_path, retries=0)
        first, *others = reader(server, context).read(PROMPTS, context.checkpoint)
    assert others == [Reading(f"{prompt.triples[0].head} the Elder") for prompt in PROMPTS[1:]]
    assert (
        first.text == reading.text and first.cut == reading.cut and first.failure.startswith(reading.failure)
    )


def test_of_a_long_refusal_200_letters_are_told() -> None:
    reply = SimpleNamespace(text="", refusal="no" * 150, finish_reason="stop")
    client: Any = SimpleNamespace(complete=lambda messages: reply)
    refused = Reading("", failure=f"the model refused: {'no' * 100}")
    assert OpenAIReader(client, "m").read(PROMPTS[:1], lambda: None) == [refused]


def test_a_server_that_refuses_everything_is_the_servers_fault(tmp_path: Path) -> None:
    with misbehaving_server(leader, fault_of=lambda body: "400 no") as server:
        context = context_of(server, tmp_path)
        with pytest.raises(
            ServerFailed,
            match=exactly(
                "the server refused the request (400): 400 no for Bearer none at /v1/chat/completions (answer.openai:"
                " m at http://127.0.0.1:…/v1): check that the server answers, the model's name; `steer-tui doctor "
                "--server` helps"
            ),
        ):
            reader(server, context).read(PROMPTS, context.checkpoint)
        assert all(said.failure for said in reader(server, context).read(PROMPTS[:2], context.checkpoint))


@pytest.mark.parametrize(("system", "sent"), [(None, SYSTEM), ("Name one.", "Name one.")])
def test_the_system_message_is_the_users_or_the_built_in_one(
    tmp_path: Path, system: str | None, sent: str
) -> None:
    bodies: list[dict[str, Any]] = []

    def answer(body: dict[str, Any]) -> str:
        bodies.append(body)
        return leader(body)

    with misbehaving_server(answer) as server:
        context = context_of(server, tmp_path)
        context.config = context.config.model_copy(
            update={"answer": context.config.answer.model_copy(update={"system": system})}
        )
        reader(server, context).read(PROMPTS[:1], context.checkpoint)
    assert bodies[0]["messages"] == [
        {"role": "system", "content": sent},
        {"role": "user", "content": PROMPTS[0].text},
    ]


def test_what_was_found_out_is_told_as_a_notice(tmp_path: Path) -> None:
    events: list[Any] = []
    with misbehaving_server(leader, ["400 max_tokens"]) as server:
        context = context_of(server, tmp_path)
        context.emit = events.append
        reader(server, context).read(PROMPTS[:1], context.checkpoint)
    (notice,) = [event for event in events if isinstance(event, Notice)]
    assert "answer.openai" in notice.text and "max_completion_tokens" in notice.text
