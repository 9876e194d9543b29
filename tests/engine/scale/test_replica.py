"""What a replica gives back, seen in this process: found, kept, told and asked, each with its item."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.config.models.openai import OpenAISection
from engine.events import Event, Notice
from engine.scale.replica import Replica
from engine.scale.work import WorkContext
from engine.servers.usage import RequestRecord


@dataclass(frozen=True)
class Asks:
    """Tells, keeps and asks a server once an item; gives back the seconds between two requests."""

    def open(self, context: WorkContext) -> Callable[[int], float]:
        context.notice("opened")
        section = OpenAISection(model="m", base_url="http://127.0.0.1:9/v1", api_key_env="none")
        client = context.client(section, "vision", "pool.vqa.openai", 60)

        def ask(n: int) -> float:
            context.notice(f"item {n}")
            context.keep([n])
            asked = RequestRecord(
                time=1.0, stage="pool", role="vision", server="s", model="m", outcome="answered"
            )
            context.servers.usage.take(asked)
            return client._rate._gap

        return ask


def test_everything_comes_back_with_its_item() -> None:
    events: list[Event] = []
    replica = Replica(events.append)
    opened = replica.open("pool", Asks(), 4, ["2"])
    assert [event.text for event in events if isinstance(event, Notice)] == ["opened"]
    assert opened.gpus == ["2"] and "python" in opened.versions
    for n in (3, 4):
        done = replica.do(n)
        assert done.result == 4.0, "four replicas share 60 requests a minute"
        assert isinstance(events[-1], Notice) and events[-1].text == f"item {n}", "it is told at once"
        assert done.side_output.kept == [[n]]
        assert [(one.stage, one.role, one.outcome) for one in done.side_output.requests] == [
            ("pool", "vision", "answered")
        ]
