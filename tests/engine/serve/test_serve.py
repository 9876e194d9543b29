"""The steered server to its clients: answers as evaluated, whoever else asks, leaves or sends nonsense."""

from __future__ import annotations

import http.client
import json
import shutil
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from openai import OpenAI, RateLimitError

from app.doctor.server import run_server_doctor
from engine.errors import DiskError
from engine.esm import layout
from engine.events import (
    DecisionTaken,
    Event,
    LeverActed,
    Notice,
    QuestionAsked,
    RequestAnswered,
    RequestTaken,
    ServeLoad,
    StageProgress,
    encode,
)
from engine.files import read_jsonl
from engine.levers.levers import Levers, Prepared
from engine.lm.transformers.model import TransformersModel
from tests.engine.serve.conftest import PLACES, WAITING, Served, chat

QUESTION = "Tom has 14 pens, buys 5, then loses 3. How many?"
CHAT = "/v1/chat/completions"


def lines(esm_run: tuple[Path, list[Event]], method: str) -> list[dict[str, Any]]:
    return list(read_jsonl(layout.evaluation(esm_run[0], method) / "per_example.jsonl"))


def test_the_openai_package_gets_the_evaluated_answers(
    served: Served, esm_run: tuple[Path, list[Event]]
) -> None:
    client = OpenAI(base_url=served.opened.url, api_key=served.key, timeout=120)
    assert [model.id for model in client.models.list()] == ["embedded"]

    def ask(case: tuple[str, bool]) -> Any:
        question, esm = case
        messages: Any = [{"role": "user", "content": question}]
        extra = {"steer": {"esm": esm}}
        return client.chat.completions.create(model="embedded", messages=messages, extra_body=extra)

    for method in ("esm", "greedy"):
        evaluated = lines(esm_run, method)
        with ThreadPoolExecutor(len(evaluated)) as together:
            answers = list(together.map(ask, [(line["question"], method == "esm") for line in evaluated]))
        assert [answer.choices[0].message.content for answer in answers] == [
            line["text"] for line in evaluated
        ]
        assert [answer.usage.completion_tokens for answer in answers] == [
            line["tokens_used"] for line in evaluated
        ]
        for answer, line in zip(answers, evaluated, strict=True):
            told = [(d["gate"], d["entry"], d["tokens"]) for d in answer.steer["decisions"]]
            steps = [(s["gate"], s["chosen"], s["committed_tokens"]) for s in line["steps"]]
            assert told == (steps if method == "esm" else [])
    asked = {event.example: event.question for event in served.of(QuestionAsked)}
    decided = {event.example for event in served.of(DecisionTaken)}
    assert decided == set(asked) and set(asked.values()) >= {
        line["question"] for line in lines(esm_run, "esm")
    }


def test_a_stream_is_the_answer_in_pieces(served: Served, esm_run: tuple[Path, list[Event]]) -> None:
    line = max(lines(esm_run, "esm"), key=lambda line: line["steered"])
    client = OpenAI(base_url=served.opened.url, api_key=served.key, timeout=120)
    messages: Any = [{"role": "user", "content": line["question"]}]
    pieces = list(
        client.chat.completions.create(
            model="embedded", messages=messages, stream=True, stream_options={"include_usage": True}
        )
    )
    texts = [piece.choices[0].delta.content for piece in pieces if piece.choices]
    assert "".join(text or "" for text in texts) == line["text"]
    assert sum(bool(text) for text in texts) >= len(line["steps"]) > 1
    steers = [piece.model_dump().get("steer") for piece in pieces]
    decided = [steer["decision"]["entry"] for steer in steers if steer and "decision" in steer]
    assert decided == [step["chosen"] for step in line["steps"]] and any(decided)
    assert pieces[-2].choices[0].finish_reason == "stop"
    assert pieces[-1].usage and pieces[-1].usage.completion_tokens == line["tokens_used"]


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")
def test_curl(served: Served) -> None:
    command = [
        "curl", "-sN", "--max-time", "120", f"{served.opened.url}/chat/completions",
        "-H", f"Authorization: Bearer {served.key}", "-H", "Content-Type: application/json",
        "-d", json.dumps(chat(QUESTION, stream=True)),
    ]  # fmt: skip
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.startswith("data: {") and said.endswith("data: [DONE]\n\n")


def test_the_doctor_finds_nothing_wrong(
    served: Served, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STEER_TEST_KEY", served.key)
    assert run_server_doctor(served.opened.url, None, "STEER_TEST_KEY") == 0
    said = capsys.readouterr().out
    for wanted in (
        "token limit: max_tokens is obeyed",
        "system messages: accepted",
        "the same seed gives the same",
    ):
        assert wanted in said
    assert "can be: reflector, judge, controller, model" in said


def test_levers_are_chosen_by_the_request(served: Served) -> None:
    plain = served.ask(QUESTION, steer={"esm": False})
    more = served.ask(QUESTION, steer={"esm": False, "deltas": True})
    none = served.ask(QUESTION, steer={"esm": False, "deltas": False})
    text = [answer["choices"][0]["message"]["content"] for answer in (plain, more, none)]
    assert text[0] == text[2] != text[1]
    asked = {"as_evaluated": True, "template": "{question}", "system": None, "why": ""}
    assert plain["steer"] == {"levers": [], "did": [], "decisions": [], "prompt": asked}
    assert more["steer"]["did"][0]["lever"] == "deltas" and more["steer"]["did"][0]["acted"]
    talk = [
        {"role": "user", "content": "My dog is Rex."},
        {"role": "assistant", "content": "Good."},
        {"role": "user", "content": [{"type": "text", "text": "What is my dog?"}]},
    ]
    for stream in (False, True):
        body = {
            "messages": talk,
            "steer": {"esm": True, "notes": "on_detection"},
            "stream": stream,
            "max_tokens": 40,
        }
        reply = served.send(CHAT, body).getresponse().read().decode()
        assert "answered again with a note" in reply
    answered = served.of(RequestAnswered)[-1]
    assert answered.probe_tokens and any("answered again" in did.what for did in answered.did)


def test_stop_length_and_seed(served: Served) -> None:
    whole = served.ask(QUESTION, steer={"esm": False})["choices"][0]
    text = whole["message"]["content"]
    stop = text[len(text) // 2 :][:3]
    cut = served.ask(QUESTION, steer={"esm": False}, stop=["never", stop])["choices"][0]
    assert cut["message"]["content"] == text[: text.index(stop)] and cut["finish_reason"] == "stop"
    streamed = (
        served.send(CHAT, chat(QUESTION, steer={"esm": False}, stop=stop, stream=True)).getresponse().read()
    )
    pieces = [json.loads(line[6:]) for line in streamed.decode().splitlines() if line.startswith("data: {")]
    assert "".join(p["choices"][0]["delta"].get("content", "") for p in pieces) == text[: text.index(stop)]
    short = served.ask(QUESTION, steer={"esm": False}, max_tokens=5)
    assert short["usage"]["completion_tokens"] == 5 and short["choices"][0]["finish_reason"] == "length"
    drawn = [served.ask(QUESTION, temperature=1.0, seed=seed)["choices"][0] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    free = {served.ask(QUESTION, temperature=1.5)["choices"][0]["message"]["content"] for _ in range(4)}
    assert len(free) > 1


def test_a_plain_text_is_gone_on_with(served: Served) -> None:
    client = OpenAI(base_url=served.opened.url, api_key=served.key, timeout=120)
    done = client.completions.create(model="embedded", prompt="Forward: there are", max_tokens=6)
    assert done.usage and done.usage.completion_tokens <= 6 and done.choices[0].text
    pieces = client.completions.create(
        model="embedded", prompt="Forward: there are", max_tokens=6, stream=True
    )
    assert "".join(piece.choices[0].text for piece in pieces if piece.choices) == done.choices[0].text


NO_JSON = "the request is no JSON"
ROLES = "'system', 'developer', 'user' or 'assistant'"
FIELDS = (
    "model, max_tokens, max_completion_tokens, n, temperature, top_p, seed, stop, stream, stream_options, steer, "
    "messages, logprobs, top_logprobs"
)
SETTINGS = (
    "esm, deltas, notes, evidence, prompt, k_scale, beta, rho, tau_null, min_sim, L, probe_tokens, k_retrieve, "
    "min_tool_m, max_tool_m"
)
WRONG = [
    (b"{", 400, None, NO_JSON),
    (b"[]", 400, None, "the request has to be a JSON object"),
    (b"\xff\xfe", 400, None, NO_JSON),
    (b"[" * 19_000, 400, None, NO_JSON),
    (b" " * 30_000, 413, None, "a request has at most 20000 bytes"),
    ({}, 400, "messages", "messages: Field required"),
    ({"messages": []}, 400, "messages", "messages: List should have at least 1 item after validation, not 0"),
    (
        {"messages": [{"role": "assistant", "content": "Hi"}]}, 400, "messages",
        "messages: the last message has to be the user's",
    ),
    (
        {"messages": [{"role": "robot", "content": "Hi"}]}, 400, "messages.0.role",
        f"messages.0.role: Input should be {ROLES}",
    ),
    (chat("Hi", model="gpt-4"), 404, "model", "there is no model 'gpt-4': this server has embedded"),
    (chat("Hi", max_tokens=0), 400, "max_tokens", "max_tokens: from 1 to 4096 tokens can be asked for"),
    (chat("Hi", max_tokens=4097), 400, "max_tokens", "max_tokens: from 1 to 4096 tokens can be asked for"),
    (chat("Hi", temperature=-1), 400, "temperature", "temperature: Input should be greater than or equal to 0"),
    (chat("Hi", top_p=0), 400, "top_p", "top_p: Input should be greater than 0"),
    (chat("Hi", n=PLACES + 1), 400, "n", "n: a request has at most 8 answers"),
    (chat("Hi", tools=[{"type": "function"}]), 400, "tools", "this server cannot follow `tools`: leave it out"),
    (chat("Hi", wizardry=1), 400, "wizardry", f"wizardry: there is no such field; allowed: {FIELDS}"),
    (
        chat("Hi", steer={"wizardry": 1}), 400, "steer.wizardry",
        f"steer.wizardry: there is no such field; allowed: {SETTINGS}",
    ),
    (
        chat("Hi", steer={"k_scale": 1e9}), 400, "steer.k_scale",
        "steer.k_scale: Input should be less than or equal to 1000",
    ),
    (
        chat("Hi", steer={"k_scale": 2, "esm": False}), 400, "steer.k_scale",
        "steer.k_scale: it changes ESM's decisions, and ESM is off for this request",
    ),
    (chat("Hi", steer={"evidence": "yes"}), 400, "steer.evidence", "steer.evidence: Input should be a valid boolean"),
    (
        chat("1 + 1 " * 2000), 400, "messages",
        "the prompt has 10008 tokens, this model's maximum context length is 1024, of which a prompt may have 1022: "
        "shorten the prompt",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("body", "status", "field", "said"), WRONG)
def test_what_a_request_may_not_be(
    served: Served, body: object, status: int, field: str | None, said: str
) -> None:
    got, _, answer = served.post(CHAT, body)
    code = "context_length_exceeded" if "context length" in said else None
    code = "model_not_found" if "no model" in said else code
    error = {"message": said, "type": "invalid_request_error", "param": field, "code": code}
    assert (got, answer) == (status, {"error": error})
    served.wait(lambda: served.schedulers[0].reserved == 0, "all places are free")


def test_what_a_request_may_be(served: Served) -> None:
    for body in (chat(""), chat("Hi", top_p=1, n=1, user="me", logprobs=False, temperature=None)):
        assert served.post(CHAT, {**body, "max_tokens": 3})[0] == 200


def test_the_key_and_the_form_of_a_request_are_asked_for(served: Served) -> None:
    for wrong in ("sk-wrong", served.key[:-1], "é"):
        status, headers, answer = served.post(CHAT, chat("Hi"), key=wrong.encode().decode("latin-1"))
        assert (status, headers["www-authenticate"], answer) == (
            401, "Bearer",
            {
                "error": {
                    "message": "the key is missing or wrong: send `Authorization: Bearer KEY`",
                    "type": "authentication_error", "param": None, "code": "invalid_api_key",
                }
            },
        )  # fmt: skip
    status, _, answer = served.post(CHAT, chat("Hi"), **{"Content-Type": "text/plain"})
    assert status == 415
    assert answer["error"]["message"] == "send JSON, with the header `Content-Type: application/json`"
    status, _, answer = served.post("/v1/models", {})
    assert (status, answer["error"]["message"]) == (405, "POST does not go with /v1/models")
    status, _, answer = served.post("/v1/embeddings", {})
    assert status == 404
    assert (
        answer["error"]["message"]
        == "nothing is here: /v1/chat/completions, /v1/completions and /v1/models are"
    )
    assert (served.folder / "serve" / "key").stat().st_mode & 0o777 == 0o600
    assert all(served.key.encode() not in encode(event) for event in served.events)


def test_what_the_server_says_of_itself(served: Served) -> None:
    def get(path: str, **headers: str) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=120)
        connection.request("GET", path, headers=headers)
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())

    key = {"Authorization": f"Bearer {served.key}"}
    assert get("/health") == (200, {"status": "ok"})
    status, listed = get("/v1/models", **key)
    (model,) = listed["data"]
    levers = [{"lever": one.lever, "fits": one.fits, "why": one.why} for one in served.opened.levers]
    assert (status, listed) == (200, {"object": "list", "data": [model]})
    assert abs(model.pop("created") - time.time()) < 3600
    assert model == {
        "id": "embedded", "object": "model", "owned_by": "steer-tui", "max_model_len": 1024,
        "steer": {"usual": ["esm"], "levers": levers},
    }  # fmt: skip
    status, same = get("/v1/models/embedded", **key)
    assert status == 200 and same | model == same
    error = {
        "message": "there is no model 'other': this server has embedded",
        "type": "invalid_request_error",
        "param": "model",
        "code": "model_not_found",
    }
    assert get("/v1/models/other", **key) == (404, {"error": error})
    assert get("/v1/models/embedded")[0] == get("/v1/models")[0] == 401


def test_an_answer_and_what_the_log_has_of_it(served: Served) -> None:
    answer = served.ask("1 + 1", max_tokens=3)
    served.wait(lambda: served.schedulers[0].reserved == 0, "all places are free")
    name, written = answer["id"].removeprefix("chatcmpl-"), answer["choices"][0]["message"]["content"]
    did = {"lever": "esm", "acted": False, "what": "weighed 1 segment and steered none", "tokens": 0}
    decision = {
        "segment": 1, "gate": "first_segment", "entry": None, "name": None, "layer": None, "alpha": 0.0, "tokens": 3,
        "probe_tokens": 0,
    }  # fmt: skip
    assert abs(answer.pop("created") - time.time()) < 3600
    message = {"role": "assistant", "content": written}
    assert answer == {
        "id": f"chatcmpl-{name}", "object": "chat.completion", "model": "embedded",
        "choices": [{"index": 0, "message": message, "finish_reason": "length", "logprobs": None}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
        "steer": {
            "levers": ["esm"], "did": [did], "decisions": [decision],
            "prompt": {"as_evaluated": True, "template": "{question}", "system": None, "why": ""},
        },
    }  # fmt: skip
    events = [e for e in served.events if name in (getattr(e, "request", ""), getattr(e, "example", ""))]
    asked, taken, decided, answered = events
    assert asked == QuestionAsked(example=name, question="1 + 1")
    assert replace(taken, waited=0.0) == RequestTaken(
        request=name,
        kind="chat",
        levers=["esm"],
        question="1 + 1",
        prompt_tokens=12,
        stream=False,
        waited=0.0,
    )
    assert isinstance(decided, DecisionTaken) and (decided.example, decided.segment) == (name, written)
    assert isinstance(answered, RequestAnswered) and answered.first is not None
    assert 0 < answered.first <= answered.seconds
    assert replace(answered, first=None, seconds=0.0) == RequestAnswered(
        request=name, outcome="answered", finish="length", tokens=3, probe_tokens=0, first=None, seconds=0.0,
        segments=1, steered=0, did=[LeverActed(**did)], text=written,
    )  # fmt: skip
    all_answered, progress = served.of(RequestAnswered), served.of(StageProgress)[-1]
    assert progress.tokens == sum(one.tokens + one.probe_tokens for one in all_answered)
    assert (progress.done, progress.total) == (len(all_answered), 0), "nobody knows how many will be asked"


def test_full_places_and_vanished_clients(served: Served) -> None:
    """While the work is paused the queue fills up; then one is turned away, and half of the others leave."""
    served.wait(lambda: served.schedulers[0].reserved == 0, "all places are free")
    before = {kind: len(served.ended(kind)) for kind in ("answered", "vanished")}
    refused = max((load.refused for load in served.of(ServeLoad)), default=0)
    served.gate.pause()
    served.wait(lambda: served.gate.state == "paused", "the work pauses")
    waiting = [served.send(CHAT, chat(f"{QUESTION} {i}", stream=i % 2 == 0)) for i in range(PLACES + WAITING)]
    served.wait(lambda: served.schedulers[0].reserved == PLACES + WAITING, "all places are taken")
    client = OpenAI(base_url=served.opened.url, api_key=served.key, max_retries=0, timeout=120)
    with pytest.raises(RateLimitError) as said:
        client.chat.completions.create(model="embedded", messages=[{"role": "user", "content": "Hi"}])
    assert 1 <= int(said.value.response.headers["retry-after"]) <= 60
    for connection in waiting[::2]:
        connection.close()
    for connection in waiting[1::4]:
        connection.close()
    scheduler = served.schedulers[0]
    served.wait(
        lambda: sum(request.cancelled for request in list(scheduler._waiting)) == len(waiting) * 3 // 4,
        "they are missed",
    )
    served.gate.unpause()
    for connection in waiting[3::4]:
        assert json.loads(connection.getresponse().read())["choices"][0]["finish_reason"] == "stop"
    served.wait(lambda: served.schedulers[0].reserved == 0, "all places are free")
    served.wait(
        lambda: served.of(ServeLoad)[-1].refused == refused + 1, "the load tells of the one turned away"
    )
    assert len(served.ended("vanished")) - before["vanished"] == len(waiting) * 3 // 4
    assert len(served.ended("answered")) - before["answered"] == len(waiting) // 4
    assert served.ask(QUESTION)["choices"][0]["finish_reason"] == "stop"


def test_a_client_that_leaves_in_the_middle_frees_its_place(served: Served) -> None:
    before = len(served.ended("vanished"))
    started = len(served.of(DecisionTaken))
    connections = [served.send(CHAT, chat(f"{QUESTION} {i}", stream=True)) for i in range(PLACES)]
    served.wait(lambda: len(served.of(DecisionTaken)) > started, "something is decided")
    for connection in connections:
        connection.close()
    served.wait(lambda: served.schedulers[0].reserved == 0, "all places are free")
    assert len(served.ended("vanished")) + len(served.ended("answered")) > before


def test_a_stop_ends_it_and_whoever_waits_is_told(
    full_run: Path, embedded: Any, tmp_path: Path, served: Served
) -> None:
    served.wait(lambda: served.schedulers[0].reserved == 0, "all places are free")
    between = embedded.between
    other = Served(full_run, tmp_path, embedded)
    try:
        other.gate.pause()
        other.wait(lambda: other.gate.state == "paused", "the work pauses")
        whole, stream = other.send(CHAT, chat(QUESTION)), other.send(CHAT, chat(QUESTION, stream=True))
        first = stream.getresponse()
        assert first.status == 200
        other.stop()
        assert whole.getresponse().status == 503
        assert b'"code": "stopping"' in first.read()
    finally:
        embedded.between = between


def test_who_is_asking_when_the_disk_is_full_is_told(
    full_run: Path, embedded: Any, tmp_path: Path, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line of its request cannot be written: the stage ends, and nobody is left without an answer."""

    def full(event: object) -> None:
        raise DiskError(what="no space left", where="events.jsonl", hint="free some space")

    served.wait(lambda: served.schedulers[0].reserved == 0, "all places are free")
    between = embedded.between
    other = Served(full_run, tmp_path, embedded)
    try:
        monkeypatch.setattr(other.schedulers[0], "_emit", full)
        status, _, said = other.post(CHAT, chat(QUESTION))
        assert status == 503 and said["error"]["code"] == "stopping"
        other.stop()
        assert isinstance(other.error, DiskError)
    finally:
        embedded.between = between


@pytest.mark.parametrize(("host", "warned"), [("0.0.0.0", True), ("127.0.0.1", False)])
def test_a_server_without_a_key_that_others_reach_says_so(
    full_run: Path, embedded: TransformersModel, tmp_path: Path, host: str, warned: bool
) -> None:
    server = Served(full_run, tmp_path, embedded, f"serve.host={host}", "serve.key_env=none")
    server.stop()
    said = [event.text for event in server.of(Notice) if event.level == "warning"]
    expected = ["anybody who reaches 0.0.0.0 can use this server: it asks for no key"] if warned else []
    assert [text for text in said if "key" in text] == expected


def test_a_server_can_have_levers_and_use_none_unasked(
    full_run: Path, embedded: TransformersModel, tmp_path: Path
) -> None:
    """`levers: []` is not `levers` left out, which means all of them."""
    server = Served(full_run, tmp_path, embedded, "serve.levers=[]")
    server.stop()
    assert server.opened.usual == [] and "esm" in [one.lever for one in server.opened.levers if one.fits]


def test_texts_can_be_kept_out_of_the_log(
    full_run: Path, embedded: TransformersModel, tmp_path: Path
) -> None:
    question = "Ann has 24 cups. Then Ann breaks 1. Then Ann makes 7. How many cups does Ann have now?"
    server = Served(full_run, tmp_path, embedded, "serve.log_texts=false")
    written = server.ask(question)["choices"][0]["message"]["content"]
    server.wait(lambda: server.of(RequestAnswered), "the answer is logged")
    server.stop()
    assert len(server.of(DecisionTaken)) > 1 and any(one.probe_tokens for one in server.of(RequestAnswered))
    log = "\n".join(encode(event).decode() for event in server.events)
    for text in (question, *filter(None, map(str.strip, written.splitlines()))):
        assert text not in log, text
    assert "Ann" not in log and '"probe_text":"' not in log


def test_what_no_context_can_hold_is_refused_before_it_is_tokenized(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = served.schedulers[0].levers.model
    monkeypatch.setattr(type(model.tokenizer), "longest_token", 10)
    tokenized: list[int] = []
    real = type(model.tokenizer).encode

    def encode(tokenizer: Any, text: str) -> list[int]:
        tokenized.append(len(text))
        return real(tokenizer, text)

    monkeypatch.setattr(type(model.tokenizer), "encode", encode)
    assert model.info.context == 1024
    status, _, answer = served.post(CHAT, chat("x" * 10_241))
    assert status == 400 and tokenized == []
    assert answer["error"]["message"] == (
        "the prompt has 10241 characters, this model's maximum context length is 1024 tokens"
    )
    status, _, answer = served.post("/v1/completions", {"prompt": "x" * 10_241})
    assert status == 400 and tokenized == []
    assert served.post(CHAT, chat("x" * 10_240))[0] == 400 and tokenized != []


def test_few_requests_are_prepared_at_once_and_none_for_who_has_left(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flood of long prompts takes the memory and the time of four of them; the server goes on answering."""
    going, most, begun = 0, 0, 0
    free, lock = threading.Event(), threading.Lock()
    real = Levers.prepare

    def slow(levers: Levers, *given: Any) -> Prepared:
        nonlocal going, most, begun
        with lock:
            going, begun = going + 1, begun + 1
            most = max(most, going)
        free.wait(60)
        with lock:
            going -= 1
        return real(levers, *given)

    monkeypatch.setattr(Levers, "prepare", slow)
    flood = [served.send(CHAT, chat("Hi", max_tokens=1)) for _ in range(12)]
    served.wait(lambda: begun == 4, "four are being prepared")
    status, _, answer = served.post("/v1/completions", {}, key="sk-wrong")
    assert status == 401 and answer["error"]["code"] == "invalid_api_key"
    for connection in flood[6:]:
        connection.close()
    time.sleep(0.2)
    free.set()
    assert [connection.getresponse().status for connection in flood[:6]] == [200] * 6
    served.wait(lambda: served.schedulers[0].reserved == 0, "all places are free")
    assert most == 4 and begun == 6
