"""A server in this process, shared by all tests of this folder."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.config.config import Config
from engine.config.file import load_config
from engine.config.serve import ServeSection
from engine.events import Event, RequestAnswered, ServeOpened
from engine.lm.protocol import go_on
from engine.lm.transformers.model import TransformersModel
from engine.run.gate import Gate, StopRequested
from engine.run.stage import StageContext
from engine.serve import serve_stage
from engine.serve.scheduler import RequestScheduler
from engine.serve.serve_stage import Serve

PLACES, WAITING = 8, 8


class Served:
    """The stage in a thread. `gate` pauses and stops it."""

    def __init__(self, run: Path, folder: Path, model: TransformersModel, *changes: str) -> None:
        self.events: list[Event] = []
        self.folder = folder
        self.gate = Gate(lambda event: None)
        self.error: BaseException | None = None
        config = load_config(
            run / "config.yaml",
            [
                f"serve.runs={json.dumps([str(run)])}", "serve.port=0", "serve.levers=[esm]",
                f"serve.max_in_flight={PLACES}", *changes,
            ],
        )  # fmt: skip
        self.schedulers: list[RequestScheduler] = []
        self._thread = threading.Thread(target=self._run, args=(config, model), daemon=True)
        self._thread.start()
        self.wait(lambda: self.error or self.of(ServeOpened), "the server opens")
        assert self.error is None, self.error
        self.opened = self.of(ServeOpened)[0]
        key = folder / "serve" / "key"
        self.key = key.read_text().strip() if key.exists() else "none"

    def _run(self, config: Config, model: TransformersModel) -> None:
        model.between = lambda call, working: self.gate.checkpoint()
        context = StageContext(
            "serve", config, self.folder, self.events.append, self.gate.checkpoint, lambda section: model
        )
        try:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(serve_stage, "RequestScheduler", self._scheduler)
                patch.setattr(ServeSection, "client_timeout", 120.0)
                patch.setattr(ServeSection, "max_waiting", WAITING)
                patch.setattr(ServeSection, "max_body", 20_000)
                Serve().run(context)
        except StopRequested:
            pass
        except BaseException as error:
            self.error = error
        finally:
            model.between = go_on

    def _scheduler(self, *arguments: Any) -> RequestScheduler:
        self.schedulers.append(RequestScheduler(*arguments))
        return self.schedulers[-1]

    def of(self, kind: type[Any]) -> list[Any]:
        """Events of a type."""
        return [event for event in list(self.events) if isinstance(event, kind)]

    def wait(self, condition: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + 120
        while not condition():
            assert time.monotonic() < deadline, f"waited in vain: {what}"
            time.sleep(0.005)

    def stop(self) -> None:
        """Stop the stage, and wait for its end."""
        self.gate.stop()
        self._thread.join(120)
        assert not self._thread.is_alive()

    @property
    def port(self) -> int:
        return int(self.opened.url.rsplit(":", 1)[1].split("/")[0])

    def send(
        self, path: str, body: object, key: str | None = None, **headers: str
    ) -> http.client.HTTPConnection:
        """A request whose answer is not read yet."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"Authorization": f"Bearer {key or self.key}", "Content-Type": "application/json"}
        connection.request("POST", path, data, sent | headers)
        return connection

    def post(
        self, path: str, body: object, key: str | None = None, **headers: str
    ) -> tuple[int, dict[str, str], Any]:
        """Status, headers and JSON of an answer."""
        connection = self.send(path, body, key, **headers)
        reply = connection.getresponse()
        answer = json.loads(reply.read())
        connection.close()
        return reply.status, {name.lower(): value for name, value in reply.getheaders()}, answer

    def ask(self, question: str, **fields: Any) -> Any:
        """The answer to a chat of one message."""
        status, _, answer = self.post("/v1/chat/completions", chat(question, **fields))
        assert status == 200, answer
        return answer

    def ended(self, outcome: str) -> list[RequestAnswered]:
        """Requests that ended so."""
        return [event for event in self.of(RequestAnswered) if event.outcome == outcome]


def chat(question: str, **fields: Any) -> dict[str, Any]:
    """The body of a chat."""
    return {"messages": [{"role": "user", "content": question}], **fields}


@pytest.fixture(scope="module")
def served(
    full_run: Path, embedded: TransformersModel, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    """A server with every lever; a request that does not choose gets ESM's."""
    server = Served(full_run, tmp_path_factory.mktemp("served"), embedded)
    yield server
    server.gate.unpause()
    server.stop()
    assert server.error is None
