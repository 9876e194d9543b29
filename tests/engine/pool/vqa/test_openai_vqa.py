"""The vision model against a real loopback server that sees the images it is sent."""

from __future__ import annotations

import base64
import io
import os
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image as Pillow

from engine.config.config import Config
from engine.config.pool import VisionSection
from engine.errors import DataError
from engine.pool.data.dataset import Image
from engine.pool.data.digits import DigitsDataset
from engine.pool.data.image_url import image_url, png
from engine.pool.from_config import make_vqa_model
from engine.pool.vqa.evaluated_pairs import PairEvaluator
from engine.pool.vqa.openai_vqa import OpenAIVQA, _read
from engine.pool.vqa.vqa import VQAAsk, VQAReply
from engine.run.gate import StopRequested
from engine.run.stage import StageContext
from engine.servers.client import OpenAIClient, ServerFailed
from engine.servers.completion import Reply
from engine.servers.spent import Spent
from tests.engine.pool.vqa_models import TableModel, replies_of
from tests.exactly import exactly
from tests.misbehaving_server import MisbehavingServer, misbehaving_server

KEY = "sk-very-secret-0123456789"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)


@pytest.fixture(scope="module")
def dataset() -> DigitsDataset:
    return DigitsDataset(seed=0, demonstrations=40, train=12, heldout=2)


def model(
    dataset: DigitsDataset, server: MisbehavingServer, waits: list[float] | None = None, **changes: Any
) -> OpenAIVQA:
    fields = {"base_url": server.url, "api_key_env": "TEST_KEY", "timeout": 5.0, "retries": 1}
    sleep = [].append if waits is None else waits.append
    section = VisionSection(**{**fields, **changes})
    rate = section.requests_per_minute
    asking = OpenAIClient(section, "pool.vqa.openai", sleep, requests_per_minute=rate)
    return OpenAIVQA(asking, section, dataset)


def go_on() -> None:
    """Nobody stops."""


def decoded(part: dict[str, Any]) -> NDArray[np.uint8]:
    """The picture of an image part."""
    kind, _, data = part["image_url"]["url"].partition(";base64,")
    assert kind == "data:image/png"
    return np.asarray(Pillow.open(io.BytesIO(base64.b64decode(data))))


def nearest_neighbour(body: dict[str, Any]) -> str:
    """What the assistant said of the picture that is most like the last one."""
    turns = [message for message in body["messages"] if message["role"] != "system"]
    pictures = [decoded(turn["content"][0]).astype(float) for turn in turns[::2]]
    answers = [turn["content"] for turn in turns[1::2]]
    distances = [np.square(picture - pictures[-1]).sum() for picture in pictures[:-1]]
    return f"{answers[int(np.argmin(distances))]}.\nI am quite sure."


def test_pictures_questions_and_answers_arrive(dataset: DigitsDataset) -> None:
    """The server answers by the pictures it decodes, so each must have reached it with its own answer."""
    asks = [VQAAsk(name, (3 * n, 3 * n + 5)) for n, name in enumerate(dataset.splits["train"][:10])]
    with misbehaving_server(nearest_neighbour) as server:
        replies = replies_of(model(dataset, server, price_prompt=2.0, price_completion=10.0), asks)
        sent = server.requests
    assert len(sent) == 10
    for ask, reply in zip(asks, replies, strict=True):
        query = dataset.query_image(ask.query_id).astype(float)
        distances = [np.square(dataset.image(row) - query).sum() for row in ask.demonstrations]
        expected = dataset.demonstration(ask.demonstrations[int(np.argmin(distances))])[1]
        assert reply == VQAReply(expected, spent=Spent(1, 120, reply.spent.cost))
        assert reply.spent.cost == pytest.approx((100 * 2 + 20 * 10) / 1e6)
    assert len({reply.answer for reply in replies}) > 2


def test_what_is_sent(dataset: DigitsDataset) -> None:
    name = dataset.splits["train"][0]
    with misbehaving_server(nearest_neighbour) as server:
        asking = model(dataset, server, template="Q {question} {}? A", system="Be brief.", detail="low")
        replies_of(asking, [VQAAsk(name, (9, 4))])
        messages = server.requests[0]["messages"]
    assert [message["role"] for message in messages] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert messages[0]["content"] == "Be brief."
    assert [messages[2]["content"], messages[4]["content"]] == [
        dataset.demonstration(row)[1] for row in (9, 4)
    ]
    questions = [dataset.demonstration(9)[0], dataset.demonstration(4)[0], dataset.question(name)]
    assert [message["content"][1]["text"] for message in messages[1::2]] == [
        f"Q {q} {{}}? A" for q in questions
    ]
    shown = [decoded(message["content"][0]) for message in messages[1::2]]
    assert all(picture.shape == (128, 128) for picture in shown)
    assert np.array_equal(shown[0][::16, ::16], dataset.image(9))
    assert np.array_equal(shown[2][::16, ::16], dataset.query_image(name))
    assert messages[1]["content"][0]["image_url"]["detail"] == "low"


def test_a_template_without_the_question_is_refused() -> None:
    with pytest.raises(ValueError, match=r"needs \{question\}"):
        VisionSection(template="What is it?")


# ---------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize(
    ("fault", "text", "error"),
    [
        ("refusal", "yes", "^the model refused: I cannot help"),
        ("truncated", "a long and winding answer", "^the answer was cut off at the token limit$"),
        ("", " \n ", "^the answer is empty$"),
        ("401", "yes", r"refused the request \(401\)"),
    ],
)
def test_what_fails_for_one_ask_is_its_error(
    dataset: DigitsDataset, fault: str, text: str, error: str
) -> None:
    """The others have their answers."""
    asks = [VQAAsk(name, (0, 1)) for name in dataset.splits["train"][:3]]
    texts = [text, "yes", "yes"]
    with misbehaving_server(lambda body: texts.pop(0), [fault]) as server:
        if fault == "401":
            texts.pop(0)
        first, *others = replies_of(model(dataset, server, concurrency=1), asks)
    assert first.answer is None and first.spent.calls == 1 and re.search(error, str(first.error))
    assert [reply.answer for reply in others] == ["yes", "yes"]
    assert KEY not in str(first)


def test_a_dead_server_stops_the_stage(dataset: DigitsDataset) -> None:
    asks = [VQAAsk(name, (0, 1)) for name in dataset.splits["train"][:4]]
    with (
        misbehaving_server(nearest_neighbour, ["500"] * 20) as server,
        pytest.raises(
            ServerFailed,
            match=exactly(
                "the server failed (500): 500 for Bearer *** at /v1/chat/completions (2 attempts) (pool.vqa.openai: "
                "gpt-4o at http://127.0.0.1:…/v1): check that the server answers, the model's name, and the key in "
                "TEST_KEY; `steer-tui doctor --server` helps"
            ),
        ) as caught,
    ):
        replies_of(model(dataset, server), asks)
    assert KEY not in str(caught.value)


def test_a_server_that_dies_is_not_asked_on_and_leaves_no_wrong_answers(
    dataset: DigitsDataset, tmp_path: Path
) -> None:
    """What it answered before is kept; what it failed on is asked again by the next attempt."""
    asks = [VQAAsk(name, (row, row + 1)) for row in range(10) for name in dataset.splits["train"][:10]]
    path = tmp_path / "evaluated.jsonl"
    with misbehaving_server(nearest_neighbour, [""] * 5 + ["401"] * 200) as server:
        evaluator = PairEvaluator(path, model(dataset, server, concurrency=1), dataset.annotations)
        with pytest.raises(ServerFailed):
            evaluator.evaluate(asks, go_on)
        assert len(server.requests) < 5 + 8 + 4
        assert len(path.read_text().splitlines()) == 5
    with misbehaving_server(nearest_neighbour) as server:
        evaluator = PairEvaluator(path, model(dataset, server), dataset.annotations)
        assert all(pair.score is not None for pair in evaluator.evaluate(asks, go_on))
        assert len(server.requests) == len(asks) - 5


def test_a_stop_keeps_what_was_answered(dataset: DigitsDataset, tmp_path: Path) -> None:
    """No answered pair is asked again after it."""
    asks = [VQAAsk(name, (row, row + 1)) for row in range(4) for name in dataset.splits["train"][:10]]
    path = tmp_path / "evaluated.jsonl"
    with misbehaving_server(nearest_neighbour, [""] * 20 + ["hang"] * 20) as server:

        def checkpoint() -> None:
            if len(server.requests) >= 22:
                raise StopRequested

        section = VisionSection(base_url=server.url, api_key_env="TEST_KEY", timeout=60, concurrency=2)
        asking = OpenAIClient(section, "pool.vqa.openai", checkpoint=checkpoint)
        evaluator = PairEvaluator(path, OpenAIVQA(asking, section, dataset), dataset.annotations)
        with pytest.raises(StopRequested):
            evaluator.evaluate(asks, go_on)
    kept = len(path.read_text().splitlines())
    assert 18 <= kept <= 20
    with misbehaving_server(nearest_neighbour) as server:
        PairEvaluator(path, model(dataset, server), dataset.annotations).evaluate(asks, go_on)
        assert len(server.requests) == 40 - kept


class SlowFirst:
    """A client whose first request is answered by nobody, as is the last of `most`; with that one a stop comes."""

    def __init__(self, most: int) -> None:
        self.most, self.asked, self.guard, self.stopped = most, 0, threading.Lock(), threading.Event()

    def complete(self, messages: Any) -> Reply:
        with self.guard:
            self.asked += 1
            number = self.asked
        if number == self.most:
            self.stopped.set()
        if number in (1, self.most):
            assert self.stopped.wait(10)
            raise StopRequested
        return Reply("yes", "stop")


def test_what_came_behind_a_slow_request_is_kept_at_a_stop(dataset: DigitsDataset, tmp_path: Path) -> None:
    """Two at once: one waits all the while, and the other asks 15 times before it waits, too."""
    asks = [VQAAsk(name, (row, row + 1)) for row in range(2) for name in dataset.splits["train"][:10]]
    client: Any = SlowFirst(17)
    section = VisionSection(model="m", concurrency=2)
    path = tmp_path / "evaluated.jsonl"
    with pytest.raises(StopRequested):
        PairEvaluator(path, OpenAIVQA(client, section, dataset), dataset.annotations).evaluate(asks, go_on)
    assert len(path.read_text().splitlines()) == 15
    rest = TableModel(lambda query, pair: "no", name="m")
    found = PairEvaluator(path, rest, dataset.annotations).evaluate(asks, go_on)
    assert len(rest.asked) == 5 and [pair.answer for pair in found].count("yes") == 15
    assert [(pair.query_id, pair.pair) for pair in found] == [
        (ask.query_id, ask.demonstrations) for ask in asks
    ], "in the order of the asks"


def test_passing_faults_are_asked_again(dataset: DigitsDataset) -> None:
    waits: list[float] = []
    asks = [VQAAsk(name, (0, 1)) for name in dataset.splits["train"][:3]]
    with misbehaving_server(nearest_neighbour, ["429 with Retry-After", "", "torn body"]) as server:
        found = replies_of(model(dataset, server, waits, concurrency=1), asks)
    assert [reply.spent.calls for reply in found] == [2, 2, 1]
    assert all(reply.answer for reply in found) and waits == [0.05, 1.0]


def test_a_stop_ends_the_waiting_of_all_requests(dataset: DigitsDataset) -> None:
    asks = [VQAAsk(name, (0, 1)) for name in dataset.splits["train"][:6]]
    with misbehaving_server(nearest_neighbour, ["hang"] * 6) as server:

        def checkpoint() -> None:
            if len(server.requests) >= 3:
                raise StopRequested

        section = VisionSection(base_url=server.url, api_key_env="TEST_KEY", timeout=60, concurrency=3)
        asking = OpenAIClient(section, "pool.vqa.openai", checkpoint=checkpoint)
        with pytest.raises(StopRequested):
            replies_of(OpenAIVQA(asking, section, dataset), asks)
        assert len(server.requests) < 6


def test_the_configured_rate_is_kept(dataset: DigitsDataset) -> None:
    """Whatever the number of workers: the first at once, the others a second apart."""
    waits: list[float] = []
    asks = [VQAAsk(name, (0, 1)) for name in dataset.splits["train"][:4]]
    with misbehaving_server(nearest_neighbour) as server:
        replies_of(model(dataset, server, waits, requests_per_minute=60), asks)
    assert sorted(round(wait) for wait in waits) == [1, 2, 3]


def test_the_rate_is_that_of_the_configuration(dataset: DigitsDataset) -> None:
    openai = {
        "base_url": "http://127.0.0.1:9/v1", "model": "m", "api_key_env": "none", "requests_per_minute": 30
    }  # fmt: skip
    config = Config.model_validate({"pool": {"vqa": {"kind": "openai", "openai": openai}}})
    nobody: Any = None
    context = StageContext("pool", config, nobody, lambda event: None, go_on, nobody)
    made = make_vqa_model(config, context, dataset)
    assert isinstance(made, OpenAIVQA) and made._client._rate._gap == 2.0, "seconds between two requests"


# ---------------------------------------------------------------- images


class WithFiles(DigitsDataset):
    """Row 0 has a file that is none, row 1 none at all."""

    def image(self, row: int) -> Any:
        return (Path("/nowhere/else.jpg"), None)[row] if row < 2 else super().image(row)


def test_an_image_that_cannot_be_read_is_its_asks_error() -> None:
    dataset = WithFiles(seed=0, demonstrations=12, train=3, heldout=1)
    name = dataset.splits["train"][0]
    with misbehaving_server(lambda body: "yes") as server:
        found = replies_of(model(dataset, server), [VQAAsk(name, (0, 2)), VQAAsk(name, (1, 2))])
        assert len(server.requests) == 1
        without = server.requests[0]["messages"][1]["content"]
    assert (
        found[0].answer is None and "/nowhere/else.jpg" in str(found[0].error) and found[0].spent.calls == 0
    )
    assert found[1].answer == "yes" and [part["type"] for part in without] == ["text"]


def test_files_are_sent_as_they_are(tmp_path: Path) -> None:
    draws = np.random.default_rng(0)
    for name, kind in (("a.png", "png"), ("b.jpg", "jpeg"), ("c.webp", "webp"), ("d.gif", "gif")):
        path = tmp_path / name
        Pillow.fromarray(draws.integers(0, 255, (20, 30), dtype=np.uint8)).save(path)
        kept, _, data = image_url(path).partition(";base64,")
        assert kept == f"data:image/{kind}" and base64.b64decode(data) == path.read_bytes()
    (tmp_path / "e.png").write_text("no picture")
    with pytest.raises(
        DataError, match=exactly("neither JPEG, PNG, GIF nor WebP (…/e.png): convert the image")
    ):
        image_url(tmp_path / "e.png")


@pytest.mark.parametrize(
    "put", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), lambda path: path.mkdir()]
)
def test_what_is_no_image_file_is_not_waited_for(tmp_path: Path, put: Any) -> None:
    put(tmp_path / "a.png")
    with pytest.raises(
        DataError, match=exactly("no image: … (…/a.png): check the folder and pattern of images")
    ):
        image_url(tmp_path / "a.png")
    with pytest.raises(
        DataError,
        match=exactly(
            "no image: no file can have this name (…/a\u0000.png): check the folder and pattern of images"
        ),
    ):
        image_url(tmp_path / "a\0.png")


def test_a_file_that_no_server_would_take_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "a.png").open("wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        file.truncate(1 << 40)
    with pytest.raises(
        DataError,
        match=exactly("no image: it is larger than 32 MiB (…/a.png): check the folder and pattern of images"),
    ):
        image_url(tmp_path / "a.png")


@pytest.mark.parametrize("shape", [(8, 8), (3, 50), (200, 129), (1, 1)])
def test_png_is_read_by_others(shape: tuple[int, int]) -> None:
    picture = np.random.default_rng(1).integers(0, 256, shape, dtype=np.uint8)
    assert np.array_equal(np.asarray(Pillow.open(io.BytesIO(png(picture)))), picture)
    seen = np.asarray(Pillow.open(io.BytesIO(base64.b64decode(image_url(picture).partition(",")[2]))))
    assert min(seen.shape) >= 128 and seen.shape[0] * shape[1] == seen.shape[1] * shape[0]


@pytest.mark.parametrize(
    ("image", "kind"),
    [
        (np.zeros((2, 2, 3), np.uint8), "[2, 2, 3] and type uint8"),
        (np.zeros((4, 4)), "[4, 4] and type float64"),
        (np.zeros((0, 4), np.uint8), "[0, 4] and type uint8"),
    ],
)
def test_arrays_of_another_kind_are_named(image: Image, kind: str) -> None:
    with pytest.raises(
        DataError, match=exactly(f"an image of shape {kind}: give greyscale [h, w] of type uint8")
    ):
        image_url(image)  # type: ignore[arg-type]


def test_an_answer_that_the_server_s_filter_held_back_is_none() -> None:
    error = "the answer was held back by the server's content filter"
    assert _read(Reply("A", "content_filter", spent=Spent(1, 7, 0.5))) == VQAReply(
        None, error, Spent(1, 7, 0.5)
    )
    assert _read(Reply("\n Two cats.\nmore", "length", spent=Spent(1))) == VQAReply(
        "Two cats", None, Spent(1)
    )


@pytest.mark.parametrize(("text", "answer"), [(".5.", ".5"), ("3.5", "3.5"), (".", None)])
def test_a_full_stop_is_taken_from_the_end_alone(text: str, answer: str | None) -> None:
    """An answer that is nothing else is none."""
    reply = _read(Reply(text, "stop", spent=Spent(1)))
    assert (reply.answer, reply.error) == (answer, None if answer else "the answer is empty")
