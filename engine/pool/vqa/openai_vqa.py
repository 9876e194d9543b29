"""A vision model behind an OpenAI-compatible server: demonstrations as earlier turns, images as data URLs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine.config.pool import VisionSection
from engine.errors import DataError
from engine.pool.data.dataset import Image, PoolDataset
from engine.pool.data.image_url import image_url
from engine.pool.vqa.vqa import Ask, OnAnswer, VQAReply
from engine.servers.client import OpenAIClient, ServerFailed
from engine.servers.completion import Reply
from engine.servers.request_form import Message
from engine.servers.side_by_side import ServerFailures, for_each_side_by_side


class OpenAIVQA:
    """A vision model behind a server. A single failure is the error of its ask; many in a row are the server's."""

    def __init__(self, client: OpenAIClient, section: VisionSection, dataset: PoolDataset) -> None:
        self.name = section.model
        self._client = client
        self._section = section
        self._dataset = dataset

    def answer(self, asks: Sequence[Ask], checkpoint: Callable[[], None], answered: OnAnswer) -> None:
        """Give a reply to each ask, as they arrive. Raises ServerFailed if the server fails on many asks in a row, or
        on all of two or more."""
        failures = ServerFailures[tuple[int, VQAReply]](lambda kept: answered(*kept))

        def keep(ask: tuple[int, Ask], given: tuple[VQAReply, ServerFailed | None]) -> None:
            failures.take((ask[0], given[0]), given[1])

        at_once = self._section.concurrency or self._section.workers
        for_each_side_by_side(lambda ask: self._request(ask[1]), enumerate(asks), at_once, keep, checkpoint)
        failures.end(len(asks))

    def messages(self, ask: Ask) -> list[Message]:
        """The prompt: a turn and its answer for each demonstration, then the query. Raises DataError for an unreadable
        image."""
        dataset, section = self._dataset, self._section
        messages: list[Message] = [{"role": "system", "content": section.system}] if section.system else []
        for row in ask.demonstrations:
            question, answer = dataset.demonstration(row)
            messages.append(self._turn(dataset.image(row), question))
            messages.append({"role": "assistant", "content": answer})
        messages.append(self._turn(dataset.query_image(ask.query_id), dataset.question(ask.query_id)))
        return messages

    def _turn(self, image: Image, question: str) -> Message:
        # Not `format`: questions may hold braces.
        text = self._section.template.replace("{question}", question)
        content: list[dict[str, Any]] = [{"type": "text", "text": text}]
        if image is not None:
            source = {"url": image_url(image), "detail": self._section.detail}
            content.insert(0, {"type": "image_url", "image_url": source})
        return {"role": "user", "content": content}

    def _request(self, ask: Ask) -> tuple[VQAReply, ServerFailed | None]:
        try:
            return _read(self._client.complete(self.messages(ask))), None
        except DataError as error:
            return VQAReply(answer=None, error=str(error)), None
        except ServerFailed as error:
            return VQAReply(answer=None, error=str(error), spent=error.spent), error


def _read(reply: Reply) -> VQAReply:
    """The reply's first non-empty line, without a final full stop."""
    answer = next((line.strip() for line in reply.text.splitlines() if line.strip()), "").rstrip(".")
    problem = None
    if reply.refusal:
        problem = f"the model refused: {reply.refusal[:200]}"
    elif reply.finish_reason == "length" and "\n" not in reply.text.strip():
        problem = "the answer was cut off at the token limit"
    elif reply.finish_reason == "content_filter":
        problem = "the answer was held back by the server's content filter"
    elif not answer:
        problem = "the answer is empty"
    return VQAReply(None if problem else answer, problem, reply.spent)
