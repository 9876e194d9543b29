"""What OpenAI's fields ask for: several prompts and choices, logprobs, echo, top_p, usage, and errors by name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from openai import BadRequestError, OpenAI

from engine.esm import layout
from engine.events import Event, RequestAnswered, RequestTaken
from engine.files import read_jsonl
from engine.levers.token_logprobs import ScoredToken
from engine.serve import parsed_request
from engine.serve.replies import text_logprobs
from tests.engine.serve.conftest import PLACES, WAITING, Served, chat

QUESTION = "Tom has 14 pens, buys 5, then loses 3. How many?"
CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
PLAIN = {"esm": False}


def model_of(served: Served) -> Any:
    return served.schedulers[0].levers.model


def literal(served: Served, tokens: list[int]) -> torch.Tensor:
    """Log-softmax after every token, by one pass over the whole text."""
    with torch.inference_mode():
        logits = model_of(served).network.model(input_ids=torch.tensor([tokens])).logits[0]
    return torch.log_softmax(logits.double(), dim=-1)


def complete(served: Served, **fields: Any) -> Any:
    status, _, answer = served.post(TEXT, {"temperature": 0, "steer": PLAIN, **fields})
    assert status == 200, answer
    return answer


def stream(served: Served, path: str, body: dict[str, Any]) -> list[Any]:
    reply = served.send(path, {**body, "stream": True}).getresponse().read().decode()
    assert reply.endswith("data: [DONE]\n\n")
    return [json.loads(line[6:]) for line in reply.splitlines() if line.startswith("data: {")]


def pause(served: Served) -> None:
    served.gate.pause()
    served.wait(lambda: served.gate.state == "paused", "the work pauses")


@pytest.fixture(autouse=True)
def _going_on(served: Served) -> Iterator[None]:
    """A test that fails leaves no pause."""
    yield
    served.gate.unpause()


# ------------------------------------------------------------ logprobs


def test_echo_scores_the_prompt_as_the_model_does(served: Served) -> None:
    """lm-eval's way to a likelihood: the tokens of the prompt, and one more."""
    text = "There are 14 pens, and"
    tokens = model_of(served).tokenizer.encode(text)
    answer = complete(served, prompt=text, echo=True, logprobs=1, max_tokens=1)
    choice, expected = answer["choices"][0], literal(served, tokens)
    given = choice["logprobs"]
    assert len(given["tokens"]) == len(tokens) + 1 and given["tokens"][:3] == ["T", "h", "ere"]
    assert given["token_logprobs"][0] is None and given["top_logprobs"][0] is None
    by_hand = [float(expected[place, token]) for place, token in enumerate(tokens[1:])]
    assert given["token_logprobs"][1:-1] == pytest.approx(by_hand, abs=1e-4)
    for place, (logprob, top) in enumerate(
        zip(given["token_logprobs"][1:], given["top_logprobs"][1:], strict=True)
    ):
        likeliest = int(expected[place].argmax())
        assert max(top.values()) == pytest.approx(float(expected[place, likeliest]), abs=1e-4)
        assert (logprob == max(top.values())) == (place == len(tokens) - 1 or tokens[place + 1] == likeliest)
        assert len(top) == 1 + (logprob != max(top.values()))
    assert "".join(given["tokens"]) == choice["text"] and choice["text"].startswith(text)
    assert [
        choice["text"][at:][: len(t)] for t, at in zip(given["tokens"], given["text_offset"], strict=True)
    ] == (given["tokens"])
    assert given["text_offset"][:4] == [0, 1, 2, 5]
    assert answer["usage"] == {
        "prompt_tokens": len(tokens), "completion_tokens": 1, "total_tokens": len(tokens) + 1,
    }  # fmt: skip


def test_echo_alone_writes_nothing(served: Served) -> None:
    answer = complete(served, prompt="There are", echo=True, logprobs=0, max_tokens=0)
    choice = answer["choices"][0]
    assert (choice["text"], choice["finish_reason"]) == ("There are", "length")
    assert choice["logprobs"]["tokens"] == ["T", "h", "ere", " are"]
    assert [len(top) for top in choice["logprobs"]["top_logprobs"][1:]] == [1, 1, 1]
    assert answer["usage"]["completion_tokens"] == 0
    plain = complete(served, prompt="There are", echo=True, max_tokens=2)["choices"][0]
    assert plain["text"].startswith("There are") and len(plain["text"]) > 9 and plain["logprobs"] is None


@pytest.mark.parametrize("steer", [PLAIN, {"esm": True}, {"esm": True, "k_scale": 9.0}])
def test_logprobs_of_an_answer(served: Served, steer: dict[str, Any]) -> None:
    """Unsteered segments against the model's own log-softmax; a steered one differs, and still adds up."""
    answer = served.ask(QUESTION, steer=steer, logprobs=True, top_logprobs=3, temperature=0)
    content = answer["choices"][0]["logprobs"]["content"]
    tokenizer = model_of(served).tokenizer
    prompt = tokenizer.encode_messages(chat(QUESTION)["messages"])
    text = answer["choices"][0]["message"]["content"]
    assert "".join(entry["token"] for entry in content[:-1]) == text
    assert content[-1]["token"] == "<|im_end|>", "the end of the text is a token, and counted"
    assert answer["usage"]["completion_tokens"] == len(content)
    tokens = [*prompt, *tokenizer.encode(text), *tokenizer.eos_token_ids]
    assert len(tokens) == len(prompt) + len(content)
    expected, at, unlike = literal(served, tokens), len(prompt), 0
    steps = [(d["entry"], d["tokens"]) for d in answer["steer"]["decisions"]] or [(None, len(content))]
    for entry, count in steps:
        for place in range(at, at + count):
            said = content[place - len(prompt)]
            top = [one["logprob"] for one in said["top_logprobs"]]
            assert len(top) == 3 and top == sorted(top, reverse=True) and said["logprob"] in top
            assert said["bytes"] == list(said["token"].encode())
            close = said["logprob"] == pytest.approx(float(expected[place - 1, tokens[place]]), abs=1e-3)
            unlike += not close
            assert close or entry is not None
        at += count
    assert at == len(tokens)
    assert (unlike > 0) == any(entry for entry, _ in steps)


def test_deltas_change_what_is_scored(served: Served) -> None:
    """`there` has -8 in its logits, for given and for written tokens."""
    fields: dict[str, Any] = {"prompt": "Forward: there are", "echo": True, "logprobs": 1, "max_tokens": 1}
    plain = complete(served, **fields)["choices"][0]["logprobs"]
    less = complete(served, **fields, steer={"esm": False, "deltas": True})["choices"][0]["logprobs"]
    place = plain["tokens"].index(" there")
    tokens = model_of(served).tokenizer.encode("Forward: there are")
    row = literal(served, tokens)[place - 1]
    likely = float(row[tokens[place]].exp())
    by_hand = (
        float(row[tokens[place]]) - 8 - float(torch.log(torch.tensor(1 - likely + likely * 2.718281828**-8)))
    )
    assert plain["token_logprobs"][place] == pytest.approx(float(row[tokens[place]]), abs=1e-4)
    assert less["token_logprobs"][place] == pytest.approx(by_hand, abs=1e-2)


def test_logprobs_of_a_stream_are_those_of_the_whole(served: Served) -> None:
    body = {**chat(QUESTION), "logprobs": True, "top_logprobs": 2, "temperature": 0}
    _, _, whole = served.post(CHAT, body)
    pieces = stream(served, CHAT, body)
    got: list[Any] = []
    for piece in pieces:
        choice = piece["choices"][0]
        part = (choice.get("logprobs") or {}).get("content", [])
        texts = "".join(entry["token"] for entry in part if entry["token"] != "<|im_end|>")
        assert texts == choice["delta"].get("content", ""), "the tokens of a piece are its text"
        got += part
    expected = whole["choices"][0]["logprobs"]["content"]
    assert [entry["token"] for entry in got] == [entry["token"] for entry in expected]
    assert [e["logprob"] for e in got] == pytest.approx([e["logprob"] for e in expected], abs=1e-4)
    text = stream(served, TEXT, {"prompt": "There are", "echo": True, "logprobs": 1, "max_tokens": 20})
    parts = [p["choices"][0]["logprobs"] for p in text if p["choices"][0].get("logprobs")]
    assert parts[0]["tokens"] == ["T", "h", "ere", " are"] and len(parts) > 1
    once = complete(served, prompt="There are", echo=True, max_tokens=20, steer={})
    assert "".join(piece["choices"][0]["text"] for piece in text) == once["choices"][0]["text"]
    offsets = [at for part in parts for at in part["text_offset"]]
    tokens = [token for part in parts for token in part["tokens"]]
    assert offsets[0] == 0
    assert all(b - a == len(t) for (a, b), t in zip(pairwise(offsets), tokens[:-1], strict=True))


def test_of_tokens_with_the_same_text_the_likeliest_stands() -> None:
    """The third token was drawn, a likelier one is written alike, and the first token has none before it."""
    scored = [
        ScoredToken("The", 0, None, []),
        ScoredToken(" a", 3, -2.0, [(" b", -0.5), (" a", -2.0)]),
        ScoredToken("\ufffd", 5, -3.0, [("\ufffd", -1.0), (" c", -1.5)]),
    ]
    assert text_logprobs(scored) == {
        "tokens": ["The", " a", "\ufffd"],
        "token_logprobs": [None, -2.0, -3.0],
        "top_logprobs": [None, {" b": -0.5, " a": -2.0}, {"\ufffd": -1.0, " c": -1.5}],
        "text_offset": [0, 3, 5],
    }


# ------------------------------------------------------------ top_p


def test_a_nucleus_bounds_what_is_drawn(served: Served) -> None:
    """Literally: of the ordered probabilities at the temperature, the fewest that reach top_p; logprobs stay the
    model's own."""
    prompt = model_of(served).tokenizer.encode_messages(chat(QUESTION)["messages"])
    temperature, top_p = 3.0, 0.6
    probabilities = torch.softmax(literal(served, prompt)[-1] / temperature, dim=-1)
    inside: list[int] = []
    for token in probabilities.argsort(descending=True, stable=True).tolist():
        inside.append(token)
        if float(probabilities[inside].sum()) >= top_p:
            break
    assert 3 < len(inside) < 400
    names = {model_of(served).tokenizer.pieces([token])[0]: token for token in inside}
    assert len(names) == len(inside)
    body = {
        **chat(QUESTION),
        "temperature": temperature,
        "max_tokens": 1,
        "n": PLACES,
        "logprobs": True,
        "seed": 4,
    }
    drawn, free = [], []
    for seed in range(6):
        for to, more in ((drawn, {"top_p": top_p}), (free, {})):
            _, _, answer = served.post(CHAT, {**body, **more, "seed": seed, "steer": PLAIN})
            to += [choice["logprobs"]["content"][0] for choice in answer["choices"]]
    assert {entry["token"] for entry in drawn} <= set(names) and len({e["token"] for e in drawn}) > 2
    assert {entry["token"] for entry in free} - set(names), "without it, others are drawn"
    row = literal(served, prompt)[-1]
    for entry in drawn:
        assert entry["logprob"] == pytest.approx(float(row[names[entry["token"]]]), abs=1e-3)
    greedy = served.ask(QUESTION, temperature=0, top_p=0.1, max_tokens=5)
    assert greedy["choices"] == served.ask(QUESTION, temperature=0, max_tokens=5)["choices"]


# ------------------------------------------------------------ lists and n


def test_lists_of_prompts_in_texts_and_tokens(served: Served) -> None:
    texts = ["Forward: there are", "Omar has", "There"]
    tokens = [model_of(served).tokenizer.encode(text) for text in texts]
    alone = [complete(served, prompt=text, max_tokens=6)["choices"][0]["text"] for text in texts]
    together = complete(served, prompt=texts, max_tokens=6)
    assert [choice["text"] for choice in together["choices"]] == alone
    assert [choice["index"] for choice in together["choices"]] == [0, 1, 2]
    assert "steer" not in together and together["choices"][2]["steer"]["levers"] == []
    by_ids = complete(served, prompt=tokens, max_tokens=6, echo=True)
    assert [choice["text"] for choice in by_ids["choices"]] == [
        a + b for a, b in zip(texts, alone, strict=True)
    ]
    assert complete(served, prompt=tokens[1], max_tokens=6)["choices"][0]["text"] == alone[1]
    asked = sum(map(len, tokens))
    assert together["usage"] == by_ids["usage"] == {
        "prompt_tokens": asked, "completion_tokens": 18, "total_tokens": asked + 18,
    }  # fmt: skip


def test_several_choices(served: Served) -> None:
    body = {"n": 3, "temperature": 1.5, "max_tokens": 12, "seed": 7, "steer": PLAIN}
    first = served.ask(QUESTION, **body)
    again, single = served.ask(QUESTION, **body), served.ask(QUESTION, **{**body, "n": 1})
    texts = [choice["message"]["content"] for choice in first["choices"]]
    assert texts == [choice["message"]["content"] for choice in again["choices"]] and len(set(texts)) == 3
    assert texts[0] == single["choices"][0]["message"]["content"]
    others = [c["message"]["content"] for c in served.ask(QUESTION, **{**body, "seed": 8})["choices"]]
    assert not set(others) & set(texts), "of another seed, each"
    assert first["usage"]["prompt_tokens"] == single["usage"]["prompt_tokens"], "the prompt is counted once"
    assert 3 < first["usage"]["completion_tokens"] <= 36
    unseeded = served.ask(QUESTION, **{**body, "seed": None, "temperature": 4})["choices"]
    assert len({choice["message"]["content"] for choice in unseeded}) == 3
    names = [event.request for event in served.of(RequestTaken)][-3:]
    assert names == [names[0], f"{names[0]}.1", f"{names[0]}.2"]
    ended = {event.request for event in served.of(RequestAnswered)}
    assert set(names) <= ended
    both = complete(served, prompt=["Omar has", "There"], n=2, max_tokens=3)
    assert [c["text"] for c in both["choices"]][::2] == [c["text"] for c in both["choices"]][1::2]
    counted = [len(model_of(served).tokenizer.encode(text)) for text in ("Omar has", "There")]
    assert both["usage"]["prompt_tokens"] == sum(counted) and both["usage"]["completion_tokens"] == 12


def test_choices_of_a_stream(served: Served) -> None:
    body = {**chat(QUESTION), "n": 2, "temperature": 1.5, "seed": 3, "max_tokens": 20, "steer": PLAIN}
    _, _, whole = served.post(CHAT, body)
    pieces = stream(served, CHAT, {**body, "stream_options": {"include_usage": True}})
    texts = ["", ""]
    for piece in pieces[:-1]:
        choice = piece["choices"][0]
        texts[choice["index"]] += choice["delta"].get("content") or ""
        assert piece["usage"] is None
    assert texts == [choice["message"]["content"] for choice in whole["choices"]]
    assert [p["choices"][0]["delta"].get("role") for p in pieces[:2]] == ["assistant"] * 2
    ends = [p["choices"][0]["finish_reason"] for p in pieces[:-1]]
    assert sum(end is not None for end in ends) == 2
    assert pieces[-1]["choices"] == [] and pieces[-1]["usage"] == whole["usage"]
    assert all("usage" not in piece for piece in stream(served, CHAT, body))


def test_places_are_counted_in_answers(served: Served) -> None:
    served.wait(lambda: served.schedulers[0].reserved == 0, "all places are free")
    pause(served)
    waiting = [served.send(CHAT, chat(QUESTION, n=n, max_tokens=1)) for n in (PLACES, WAITING - 2)]
    served.wait(lambda: served.schedulers[0].reserved == PLACES + WAITING - 2, "the places are taken")
    assert served.post(CHAT, chat(QUESTION, n=3))[0] == 429
    two = served.send(CHAT, chat(QUESTION, n=2, max_tokens=1))
    served.wait(lambda: served.schedulers[0].reserved == PLACES + WAITING, "all places are taken")
    served.gate.unpause()
    for connection, count in zip([*waiting, two], (PLACES, WAITING - 2, 2), strict=True):
        assert len(json.loads(connection.getresponse().read())["choices"]) == count
    served.wait(lambda: served.schedulers[0].reserved == 0, "all places are free")


def test_who_leaves_frees_all_its_places(served: Served) -> None:
    pause(served)
    leaving = served.send(CHAT, chat(QUESTION, n=4))
    served.wait(lambda: served.schedulers[0].reserved == 4, "its places are taken")
    leaving.close()
    waiting = served.schedulers[0]._waiting
    served.wait(lambda: sum(request.cancelled for request in list(waiting)) == 4, "it is missed")
    served.gate.unpause()
    served.wait(lambda: served.schedulers[0].reserved == 0, "all places are free")


# ------------------------------------------------------------ usage, streams


def test_usage_counts_what_is_in_the_answer(served: Served) -> None:
    """Tokens of a stop string, and those behind it in the same round, are in no answer."""
    whole = served.ask(QUESTION, steer=PLAIN, logprobs=True)["choices"][0]
    tokens = [entry["token"] for entry in whole["logprobs"]["content"]]
    for count in (0, 1, 5, 9):
        stop = "".join(tokens[count : count + 3])
        if whole["message"]["content"].find(stop) != len("".join(tokens[:count])):
            continue
        cut = served.ask(QUESTION, steer=PLAIN, stop=stop, logprobs=True)
        choice = cut["choices"][0]
        assert choice["message"]["content"] == "".join(tokens[:count])
        assert choice["finish_reason"] == "stop"
        assert cut["usage"]["completion_tokens"] == count == len(choice["logprobs"]["content"])
    # A stop string that begins within a token: the token is in the answer, as a part of it is.
    text = whole["message"]["content"]
    ends = [len("".join(tokens[: place + 1])) for place in range(len(tokens))]
    inside = next(
        p for p in range(3, 20) if len(tokens[p]) > 3 and text.find(text[ends[p] - 2 :][:9]) == ends[p] - 2
    )
    cut = served.ask(QUESTION, steer=PLAIN, stop=text[ends[inside] - 2 :][:9])
    assert cut["choices"][0]["message"]["content"] == text[: ends[inside] - 2]
    assert cut["usage"]["completion_tokens"] == inside + 1


def test_a_piece_is_sent_when_it_is_written(served: Served) -> None:
    """The first text arrives while the model is still at the rest."""
    held: list[int] = []
    scheduler = served.schedulers[0]
    real = scheduler._batch.step

    def step() -> Any:
        held.append(1)
        if len(held) == 2:
            served.gate.pause()
        return real()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scheduler._batch, "step", step)
        response = served.send(CHAT, chat(QUESTION, stream=True, steer=PLAIN)).getresponse()
        try:
            first = [response.readline() for _ in range(4)]
            before = len(served.ended("answered"))
            assert json.loads(first[2][6:])["choices"][0]["delta"]["content"]
            served.wait(lambda: served.gate.state == "paused", "the work pauses")
            assert scheduler.reserved == 1
        finally:
            served.gate.unpause()
        assert "[DONE]" in response.read().decode() and len(served.ended("answered")) == before + 1


def test_a_checked_answer_that_stands_is_streamed_after_all(served: Served) -> None:
    """Nothing is sent before the check; then the whole text is."""
    body = {
        **chat("Hello"),
        "steer": {"esm": False, "notes": "on_detection"},
        "max_tokens": 8,
        "logprobs": True,
    }
    _, _, whole = served.post(CHAT, body)
    pieces = stream(served, CHAT, body)
    text = "".join(piece["choices"][0]["delta"].get("content", "") for piece in pieces)
    assert text == whole["choices"][0]["message"]["content"] != ""
    content = [e for p in pieces for e in (p["choices"][0].get("logprobs") or {}).get("content", [])]
    assert len(content) == whole["usage"]["completion_tokens"] == 8


# ------------------------------------------------------------ ESM's settings


def test_the_first_and_last_segment_that_may_be_steered(
    served: Served, esm_run: tuple[Path, list[Event]]
) -> None:
    lines = read_jsonl(layout.evaluation(esm_run[0], "esm") / "per_example.jsonl")
    question = max(lines, key=lambda line: len(line["steps"]))["question"]

    def gates(**steer: int) -> list[str | None]:
        return [d["gate"] for d in served.ask(question, steer=steer)["steer"]["decisions"]]

    usual, later, earlier = gates(), gates(min_tool_m=3), gates(max_tool_m=2)
    assert len(usual) > 2 and usual[0] == "first_segment" and "tool_range" not in usual
    assert later[:2] == ["first_segment", "tool_range"] and later[2] not in ("first_segment", "tool_range")
    assert earlier[1] != "tool_range" and earlier[2] == "tool_range"


@pytest.mark.parametrize(
    ("path", "fields", "field", "says"),
    [
        (CHAT, {"steer": {"min_tool_m": 1}}, "steer.min_tool_m", "greater than or equal to 2"),
        (CHAT, {"steer": {"min_tool_m": 7}}, "steer.min_tool_m", "no segment from 7 to 6 is left to steer"),
        (CHAT, {"steer": {"min_tool_m": 4, "max_tool_m": 3}}, "steer.min_tool_m", "no segment from 4 to 3"),
        (CHAT, {"steer": {"esm": False, "k_scale": 2.0}}, "steer.k_scale", "ESM is off for this request"),
        (CHAT, {"steer": {"deltas": "much"}}, "steer.deltas", "bool"),
        (CHAT, {"steer": {"x": 1}}, "steer.x", "allowed: esm, deltas, notes, evidence, prompt, k_scale, beta"),
        (CHAT, {"x": 1}, "x", "allowed: model, max_tokens, max_completion_tokens, n, temperature, top_p, seed, stop"),
        (CHAT, {"prompt": "x"}, "prompt", "steer, messages, logprobs, top_logprobs"),
        (TEXT, {"messages": []}, "messages", "steer, prompt, echo, logprobs"),
        (CHAT, {"temperature": 6}, "temperature", "less than or equal to 5"),
        (CHAT, {"top_p": 1.5}, "top_p", "less than or equal to 1"),
        (CHAT, {"n": 0}, "n", "greater than or equal to 1"),
        (CHAT, {"n": PLACES + 1}, "n", f"at most {PLACES} answers"),
        (TEXT, {"prompt": ["x"] * (PLACES + 1)}, "prompt", f"at most {PLACES} answers"),
        (TEXT, {"prompt": ["x", "y", "z"], "n": 3}, "n", f"at most {PLACES} answers"),
        (CHAT, {"max_tokens": 0}, "max_tokens", "from 1 to 4096"),
        (TEXT, {"max_tokens": 0}, "max_tokens", "from 1 to 4096"),
        (CHAT, {"max_completion_tokens": 4097}, "max_completion_tokens", "from 1 to 4096"),
        (CHAT, {"top_logprobs": 2}, "top_logprobs", "only with `logprobs: true`"),
        (CHAT, {"logprobs": True, "top_logprobs": 21}, "top_logprobs", "less than or equal to 20"),
        (CHAT, {"logprobs": 2}, "logprobs", "valid boolean"),
        (TEXT, {"logprobs": 6}, "logprobs", "less than or equal to 5"),
        (CHAT, {"echo": True}, "echo", "no such field"),
        (CHAT, {"stream_options": {"include_usage": True}}, "stream_options", "only with `stream: true`"),
        (CHAT, {"stream": True, "stream_options": {"include_usage": "x"}}, "stream_options.include_usage", "bool"),
        (CHAT, {"stop": [1]}, "stop", "a text or a list of at most 16 texts"),
        (CHAT, {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages.0.content", "a text,"),
        (TEXT, {"prompt": ["x", 3]}, "prompt", "a text, a list of texts, a list of token ids"),
        (TEXT, {"prompt": []}, "prompt", "none of them empty"),
        (TEXT, {"prompt": [[1], []]}, "prompt", "none of them empty"),
        (TEXT, {"prompt": [1, 575]}, "prompt", "there is no token 575: give token ids from 0 to 574"),
        (TEXT, {"prompt": [1] * 1025}, "prompt", "1025 tokens, this model's maximum context length is 1024"),
        (TEXT, {"prompt": ["x", "1 + 1 " * 2000]}, "prompt", "context"),
        (TEXT, {"suffix": "x"}, "suffix", "cannot follow `suffix`"),
        (TEXT, {"best_of": 3}, "best_of", "cannot follow `best_of`"),
    ],
)  # fmt: skip
def test_errors_name_the_field_and_what_it_may_be(
    served: Served, path: str, fields: dict[str, Any], field: str, says: str
) -> None:
    body = {**chat("Hi"), **fields} if path == CHAT else {"prompt": "Hi", **fields}
    status, _, answer = served.post(path, body)
    error = answer["error"]
    assert status == 400 and (error["type"], error["param"], error["code"]) == (
        "invalid_request_error",
        field,
        "context_length_exceeded" if "context" in says else None,
    )
    assert says in error["message"] and (field in error["message"] or field in ("messages", "prompt"))
    served.wait(lambda: served.schedulers[0].reserved == 0, "all places are free")


def test_a_backend_without_logprobs_refuses_them(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsed_request, "ScoringModel", str)
    for path, body in ((CHAT, chat("Hi", logprobs=True)), (TEXT, {"prompt": "Hi", "logprobs": 1})):
        status, _, answer = served.post(path, body)
        assert status == 400 and answer["error"]["param"] == "logprobs"
        assert answer["error"]["message"] == "logprobs: the backend transformers does not give them"


def test_the_openai_package_reads_all_of_it(served: Served) -> None:
    client = OpenAI(base_url=served.opened.url, api_key=served.key, timeout=120)
    messages: Any = [{"role": "user", "content": QUESTION}]
    answer = client.chat.completions.create(
        model="embedded",
        messages=messages,
        n=2,
        logprobs=True,
        top_logprobs=2,
        max_tokens=3,
        top_p=0.9,
        temperature=1,
    )
    assert [len(choice.logprobs.content or []) for choice in answer.choices if choice.logprobs] == [3, 3]
    done = client.completions.create(model="embedded", prompt=["a", "b"], logprobs=1, echo=True, max_tokens=1)
    assert [choice.logprobs and choice.logprobs.text_offset for choice in done.choices] == [[0, 1], [0, 1]]
    with pytest.raises(BadRequestError) as refused:
        client.chat.completions.create(model="embedded", messages=messages, extra_body={"steer": {"x": 1}})
    assert refused.value.param == "steer.x"
