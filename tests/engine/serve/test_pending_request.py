"""What of an answer is sent while it is written. No model runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from engine.levers.token_logprobs import ScoredToken
from engine.serve.pending_request import PendingRequest, Update, Written


def test_a_token_is_told_when_all_its_text_is_sent() -> None:
    """What may become a stop string is held back, and with it the token of which it is a part."""
    tokens = [ScoredToken(text, at, -1.0, []) for text, at in (("One", 0), (" two", 3), (" three", 7))]
    text = SimpleNamespace(text="One two", finish="", stops=("o!",), echo="", scored=tokens[:2])
    sent: list[Update] = []
    parsed: Any = SimpleNamespace(stream=True)
    prepared: Any = SimpleNamespace(text=text, again=None)
    request = PendingRequest("r", parsed, "?", sent.append, prepared)
    request.send_updates([])
    assert sent == [Written("One tw", tokens[:1])]
    text.text, text.scored = "One two three", tokens
    request.send_updates([])
    assert sent[1:] == [Written("o three", tokens[1:])]
    request.send_updates([])
    assert len(sent) == 2 and (request.sent, request.reported) == (13, 3)
