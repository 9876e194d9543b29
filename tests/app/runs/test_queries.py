"""What the console writes to the processes that answer its screens, and how it reads the replies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.runs.queries.chat_partner import ChatPartner, ChatTurn
from app.runs.queries.what_if import WhatIfProcess
from engine.events import Notice, StateUpdated, encode

UPDATED = StateUpdated(conversation_id="c", memory_mode="flat", turn=0, plan_mode="skip")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The requests; each is answered as its process would."""
    requests: list[dict[str, Any]] = []

    async def request(self: Any, fields: dict[str, Any]) -> bytes:
        requests.append(fields)
        if isinstance(self, WhatIfProcess):
            return encode(Notice(text="as asked"))
        state = encode(UPDATED).strip()
        return b'{"turns": [["hi", "hello"]], "states": [' + state + b'], "answered": null}'

    monkeypatch.setattr("app.runs.queries.line_process.LineProcess.request", request)
    return requests


async def test_a_turn_of_a_conversation(asked: list[dict[str, Any]]) -> None:
    partner = ChatPartner(Path("run"))
    assert await partner.say("hi", "always", "flat") == ChatTurn(
        turns=[["hi", "hello"]], states=[UPDATED], answered=None
    )
    await partner.forget()
    assert asked == [{"say": "hi", "mode": "always", "memory_mode": "flat"}, {"forget": True}]
    assert (partner._command, WhatIfProcess(Path("run"))._command) == ("chat", "what-if")


async def test_a_what_if(asked: list[dict[str, Any]]) -> None:
    assert await WhatIfProcess(Path("run")).ask("esm", {"alpha": 2}) == Notice(text="as asked")
    assert asked == [{"system": "esm", "alpha": 2}]
