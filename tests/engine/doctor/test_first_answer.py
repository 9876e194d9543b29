"""What is said of a server's first answer in a conversation."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from engine.doctor.capabilities import Capability
from engine.doctor.chat_probe import ProbeReply
from engine.doctor.server import _BASE, _FIRST, _chat, examine
from engine.servers.completion import Reply
from engine.servers.http import HttpAnswer
from tests.server_products import product_server

NO_ROLE = "m cannot be used for any role"
NOTES = ["takes no temperature", "takes no system message"]


@pytest.mark.parametrize(
    ("answer", "text", "lists", "told"),
    [
        (HttpAnswer(404, "lost"), None, False, ("no", "404: lost", _BASE)),
        (HttpAnswer(404, "lost"), None, True, ("no", "404: lost", NO_ROLE)),
        (HttpAnswer(500, "oops"), None, False, ("no", "500: oops", NO_ROLE)),
        (
            HttpAnswer(200, seconds=1.26), " \n", True,
            ("unknown", "an empty answer in 1.3 s", "raise max_tokens: it may be a thinking model"),
        ),
        (
            HttpAnswer(200, seconds=1.26), "hi", True,
            ("ok", "in 1.3 s", "the model takes no temperature; the model takes no system message"),
        ),
    ],
)  # fmt: skip
def test_what_is_said_of_the_first_answer(
    answer: HttpAnswer, text: str | None, lists: bool, told: tuple[Any, str, str]
) -> None:
    """An address that is not the interface's base lists no models, and knows no conversations either."""
    probe: Any = SimpleNamespace(notes=NOTES)
    reply = ProbeReply(answer, None if text is None else Reply(text, "stop"))
    assert _chat(probe, reply, "m", lists) == Capability("chat completions", *told)


def test_the_first_question_leaves_room_for_a_thought() -> None:
    with product_server("vLLM") as server:
        list(examine(server.root + "/v1", "", "TEST_KEY"))
        first = server.requests[0]
    assert (first["messages"], first["max_tokens"], first["temperature"]) == (_FIRST, 256, 0.0)
