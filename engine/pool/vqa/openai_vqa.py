"""A vision model behind an OpenAI-compatible server: demonstrations as earlier turns, images as data URLs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

from engine.config.pool import VisionSection
from engine.errors import DataError
from engine.pool.data.dataset import Image, PoolDataset
from engine.pool.data.image_url import image_url
from engine.pool.vqa.vqa import VQAAsk, VQAReply
from engine.servers.client import OpenAIClient, ServerFailed
from engine.servers.completion import Reply
from engine.servers.request_form import Message
from engine.servers.side_by_side import map_side_by_side

_DEAD_AFTER = 8
"""Asks in a row on which the server fails; these are no wrong answers, and are asked again when the run goes on."""


class OpenAIVQA:
    """Asks side by side. What fails for one ask is that ask's error, what fails for many in a row the server's."""

    def __init__(self, client: OpenAIClient, section: VisionSection, dataset: PoolDataset) -> None:
        self.name = section.model
        self._client = client
        self._section = section
        self._dataset = dataset

    def answer(self, asks: Sequence[VQAAsk], checkpoint: Callable[[], None]) -> Iterator[VQAReply]:
        """A reply each, in order, as they come. Raises ServerFailed where the server fails on several asks in a row, or
        on all of several."""
        checkpoint()
        failures: list[ServerFailed] = []
        with closing(map_side_by_side(self._one, asks, self._section.workers)) as replies:
            for found in replies:
                if isinstance(found, VQAReply):
                    yield from map(_failed, failures)
                    failures = []
                    yield found
                else:
                    failures.append(found)
                if len(failures) == _DEAD_AFTER:
                    raise failures[0]
        if len(failures) == len(asks) > 1:
            raise failures[0]
        yield from map(_failed, failures)

    def messages(self, ask: VQAAsk) -> list[Message]:
        """What is sent: for each demonstration a turn with its answer, then the query. Raises DataError for an image
        that cannot be read."""
        dataset, section = self._dataset, self._section
        found: list[Message] = [{"role": "system", "content": section.system}] if section.system else []
        for row in ask.demonstrations:
            question, answer = dataset.demonstration(row)
            found.append(self._turn(dataset.image(row), question))
            found.append({"role": "assistant", "content": answer})
        found.append(self._turn(dataset.query_image(ask.query_id), dataset.question(ask.query_id)))
        return found

    def _turn(self, image: Image, question: str) -> Message:
        # Not `format`: questions hold braces, too.
        text = self._section.template.replace("{question}", question)
        parts: list[dict[str, Any]] = [{"type": "text", "text": text}]
        if image is not None:
            shown = {"url": image_url(image), "detail": self._section.detail}
            parts.insert(0, {"type": "image_url", "image_url": shown})
        return {"role": "user", "content": parts}

    def _one(self, ask: VQAAsk) -> VQAReply | ServerFailed:
        try:
            return _read(self._client.complete(self.messages(ask)))
        except DataError as error:
            return VQAReply(answer=None, error=str(error))
        except ServerFailed as error:
            return error


def _failed(error: ServerFailed) -> VQAReply:
    return VQAReply(answer=None, error=str(error), spent=error.spent)


def _read(reply: Reply) -> VQAReply:
    """The first line that says something, without the full stop of a sentence."""
    said = next((line.strip() for line in reply.text.splitlines() if line.strip()), "")
    problem = None
    if reply.refusal:
        problem = f"the model refused: {reply.refusal[:200]}"
    elif reply.finish_reason == "length" and "\n" not in reply.text.strip():
        problem = "the answer was cut off at the token limit"
    elif reply.finish_reason == "content_filter":
        problem = "the answer was held back by the server's content filter"
    elif not said:
        problem = "the answer is empty"
    return VQAReply(None if problem else said.rstrip("."), problem, reply.spent)
