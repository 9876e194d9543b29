"""A served question gets the prompt that the evaluation used, and the answer says which it was."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.config.file import dump_config, load_config
from engine.esm import layout
from engine.esm.evaluation.eval_stage import Evaluate
from engine.events import Event
from engine.files import read_jsonl
from engine.lm.transformers.model import TransformersModel
from tests.engine.serve.conftest import Served, chat
from tests.run_stage import run_stage

TEMPLATE, SYSTEM = "Now: {question} Go on.", "You count toys."
CHANGED = (
    f"prompt.template={TEMPLATE!r}", f"prompt.system={SYSTEM!r}", "task.eval_size=4", "eval.methods=[greedy, esm]",
    "eval.ablations=[]",
)  # fmt: skip


@pytest.fixture(scope="module")
def other_run(
    esm_run: tuple[Path, list[Event]], embedded: TransformersModel, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The small run's memory, evaluated under another prompt."""
    folder = tmp_path_factory.mktemp("prompted") / "run"
    shutil.copytree(esm_run[0], folder)
    shutil.rmtree(layout.evaluation(folder, "esm").parent)
    config = load_config(folder / "config.yaml", list(CHANGED))
    (folder / "config.yaml").write_text(dump_config(config))
    run_stage(Evaluate(), config, folder, embedded)
    return folder


@pytest.fixture(scope="module")
def prompted(
    other_run: Path, embedded: TransformersModel, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    server = Served(other_run, tmp_path_factory.mktemp("served"), embedded)
    yield server
    server.stop()
    assert server.error is None


def encoded(prompted: Served, *messages: tuple[str, str]) -> int:
    """Tokens of a conversation."""
    model = prompted.schedulers[0].levers.model
    return len(model.tokenizer.encode_messages([{"role": role, "content": text} for role, text in messages]))


@pytest.mark.parametrize("method", ["esm", "greedy"])
def test_token_by_token_the_answer_of_the_evaluation(
    prompted: Served, esm_run: tuple[Path, list[Event]], other_run: Path, method: str
) -> None:
    lines = list(read_jsonl(layout.evaluation(other_run, method) / "per_example.jsonl"))
    before = {line["question"]: line["text"] for line in read_jsonl(
        layout.evaluation(esm_run[0], method) / "per_example.jsonl")}  # fmt: skip
    assert len(lines) == 4 and any(before[line["question"]] != line["text"] for line in lines)
    for line in lines:
        answer = prompted.ask(line["question"], steer={"esm": method == "esm"}, logprobs=True)
        assert answer["choices"][0]["message"]["content"] == line["text"]
        assert answer["usage"]["completion_tokens"] == line["tokens_used"]
        assert answer["usage"]["prompt_tokens"] == encoded(
            prompted, ("system", SYSTEM), ("user", TEMPLATE.replace("{question}", line["question"]))
        )
        assert answer["steer"]["prompt"] == {
            "as_evaluated": True, "template": TEMPLATE, "system": "evaluation", "why": "",
        }  # fmt: skip
        assert len(answer["choices"][0]["logprobs"]["content"]) == line["tokens_used"]


def test_a_system_message_of_the_request(prompted: Served) -> None:
    body = {"messages": [{"role": "developer", "content": "Be brief."}, *chat("1 + 1?")["messages"]]}
    _, _, answer = prompted.post("/v1/chat/completions", {**body, "max_tokens": 2})
    told = answer["steer"]["prompt"]
    assert (told["as_evaluated"], told["template"], told["system"]) == (False, TEMPLATE, "request")
    assert told["why"] == "the system message is the request's: the evaluation had another"
    assert answer["usage"]["prompt_tokens"] == encoded(
        prompted, ("system", "Be brief."), ("user", "Now: 1 + 1? Go on.")
    )


def test_as_sent_where_the_request_says_so_or_nothing_was_evaluated(prompted: Served) -> None:
    answer = prompted.ask("1 + 1?", steer={"prompt": False}, max_tokens=2)
    assert answer["usage"]["prompt_tokens"] == encoded(prompted, ("user", "1 + 1?"))
    why = "as sent: the request wants it so"
    assert answer["steer"]["prompt"] == {"as_evaluated": False, "template": None, "system": None, "why": why}
    _, _, text = prompted.post("/v1/completions", {"prompt": "1 + 1?", "max_tokens": 1})
    assert text["steer"]["prompt"]["why"] == "as sent: a plain text is gone on with"


def test_a_stream_says_it_at_its_end(prompted: Served) -> None:
    import json

    reply = (
        prompted.send("/v1/chat/completions", chat("1 + 1?", stream=True, max_tokens=2)).getresponse().read()
    )
    pieces: list[Any] = [json.loads(line[6:]) for line in reply.decode().splitlines() if line[6:7] == "{"]
    assert pieces[-1]["steer"]["prompt"]["system"] == "evaluation"
