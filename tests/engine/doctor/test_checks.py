"""What a check of a server tells of what it saw."""

from __future__ import annotations

from typing import Any

import pytest

from engine.doctor.capabilities import Capability, Check, NoCompletion, Seen, stops
from engine.doctor.chat_probe import ProbeReply
from engine.servers.completion import Reply
from engine.servers.http import HttpAnswer

NOBODY: Any = None


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        (Seen("ok", "text"), ("ok", "text", "")),
        (Seen("unknown", "text"), ("unknown", "text", "")),
        (Seen("no", "text"), ("no", "text", "of no")),
        (Seen("no", "text", "another"), ("no", "text", "another")),
        (Seen("unknown", "text", "another"), ("unknown", "text", "another")),
    ],
)
def test_the_meaning_of_no_is_the_checks_own(seen: Seen, told: tuple[Any, str, str]) -> None:
    check = Check("seed", lambda probe, first, greedy: seen, "of no")
    assert check(NOBODY, NOBODY, NOBODY) == Capability("seed", *told)


def test_an_error_is_the_result_of_its_check() -> None:
    def refused(*_: Any) -> Seen:
        raise NoCompletion("422: no seed here")

    def misshapen(*_: Any) -> Seen:
        raise KeyError("choices")

    assert Check("seed", refused, "of no")(NOBODY, NOBODY, NOBODY) == Capability(
        "seed", "no", "422: no seed here", "of no"
    )
    found = Check("seed", misshapen, "of no")(NOBODY, NOBODY, NOBODY)
    assert found.state == "unknown" and "unexpected shape ('choices')" in found.text and not found.meaning


def said(text: str) -> ProbeReply:
    return ProbeReply(HttpAnswer(200), Reply(text, "stop"))


class Saying:
    """A server that gives one answer to everything."""

    def __init__(self, text: str) -> None:
        self.text = text

    def ask(self, *_: Any, **__: Any) -> ProbeReply:
        return said(self.text)


@pytest.mark.parametrize(
    ("stopped", "state"),
    [("1 2 ", "ok"), ("1 2 3 4 5", "no"), ("7 8 9", "unknown"), ("1 2 3 4 6", "unknown")],
    ids=["obeyed", "ignored", "another text", "goes on otherwise"],
)
def test_a_stop_string_is_obeyed_where_the_same_text_ends(stopped: str, state: str) -> None:
    """The middle of the greedy answer `1 2 3 4 5` is `3 `; another text says nothing of it."""
    probe: Any = Saying(stopped)
    assert stops(probe, said("1 2 3 4 5")).state == state
