"""SGLang as a subprocess that answers for the evolution (spec Evolution 2).

An answer is the same thing here and from the model in this process: token ids. The generated processor travels with
each request.
"""

from __future__ import annotations

import os
import shlex
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from engine.config.models.sglang import ServerSection
from engine.errors import ModelError, SteerError
from engine.lm.model_server import ModelAnswer, ModelQuestion, OnAnswer
from engine.lm.protocol import Tokenizer, ignore
from engine.lm.sglang.command import HOST, PLACE, draws_by_seed, network_addresses, server_command
from engine.lm.sglang.generate import Broken, GenerateClient, Refused
from engine.processes.server_process import ServerProcess
from engine.servers.side_by_side import for_each_side_by_side

_POLL_SECONDS = 0.1
"""Seconds between two looks at whether to go on."""

_HEALTH_TIMEOUT = 5.0
"""Seconds for a health check. SGLang's generates a token, and answers after a second at the earliest."""


class SGLangServer:
    """Started with a processor, asked, stopped. If it breaks while it is asked, it is started again once, and asked
    what it has not answered yet."""

    def __init__(
        self,
        section: ServerSection,
        model: str,
        tokenizer: Tokenizer,
        processor_string: Callable[[Path], str],
        log: Path,
        tell: Callable[[str], None] = lambda state: None,
        hidden: Sequence[str] = (),
    ) -> None:
        """`model`: folder or hub name. `tell` hears of restarts. `hidden`: environment variables that the server is not
        given. Raises ConfigError for a command that would listen to the network."""
        self.name = "SGLang"
        self._section = section
        self._command = server_command(section, model)
        self._client = GenerateClient(f"http://{HOST}:{section.port}", tokenizer, section.request_timeout)
        self._processor_string = processor_string
        self._process = ServerProcess(log, section.grace)
        self._log = log
        self._tell = tell
        self._hidden = hidden
        self._processor: str | None = None

    @property
    def draws_by_seed(self) -> bool:
        """Whether a sampled answer (temperature above 0) comes out the same when it is asked for again."""
        return draws_by_seed(self._command)

    # ------------------------------------------------------------ life

    def stop(self) -> None:
        """End it and all it started."""
        self._process.stop()

    def start(self, processor: Path | None, checkpoint: Callable[[], None]) -> None:
        """Start it and wait until it is healthy. Raises ModelError: port in use, ended, not healthy in time, open to
        the network; and whatever `checkpoint` raises."""
        self._process.stop()
        self._processor = None if processor is None else self._processor_string(processor)
        self._start(checkpoint)

    def log_tail(self) -> list[str]:
        """The last lines of its output."""
        return self._process.tail()

    def _start(self, checkpoint: Callable[[], None]) -> None:
        self._wait_for_port(checkpoint)
        env = {name: value for name, value in os.environ.items() if name not in self._hidden}
        self._process.start(self._command, env)
        try:
            self._wait_for_health(checkpoint)
            if addresses := network_addresses(self._section.port):
                raise self._failed(
                    f"port {self._section.port} is open to the network at {', '.join(addresses)}",
                    f"have the command listen on {HOST} alone: custom processors are code",
                )
        except BaseException:
            self._process.stop()
            raise

    def _wait_for_health(self, checkpoint: Callable[[], None]) -> None:
        section = self._section
        until = time.monotonic() + section.startup_timeout
        while not (self._client.healthy(_HEALTH_TIMEOUT) and self._process.running):
            if not self._process.running:
                raise self._failed(f"the server ended while it started (exit code {self._process.exit_code})")
            if time.monotonic() > until:
                raise self._failed(f"the server was not healthy within {section.startup_timeout:g} s")
            again = time.monotonic() + section.health_interval
            while self._process.running and time.monotonic() < again:
                checkpoint()
                time.sleep(min(_POLL_SECONDS, section.health_interval))

    def _wait_for_port(self, checkpoint: Callable[[], None]) -> None:
        """A worker that was killed may have left a server that still has its grace to end."""
        until = time.monotonic() + self._section.grace + 1.0
        while why := _unusable(self._section.port):
            if time.monotonic() > until:
                raise ModelError(
                    what=f"port {self._section.port} cannot be used: {why}",
                    where=f"{PLACE}.port",
                    hint="stop what listens there, or name another port",
                )
            checkpoint()
            time.sleep(_POLL_SECONDS)

    # ------------------------------------------------------------ answers

    def answer(
        self,
        questions: Sequence[ModelQuestion],
        checkpoint: Callable[[], None],
        answered: OnAnswer = ignore,
    ) -> list[ModelAnswer]:
        """Raises ModelError when it cannot be had back, or refuses a question."""
        given: dict[int, ModelAnswer] = {}
        broken = self._ask(questions, given, checkpoint, answered)
        if broken:
            self._restart(checkpoint)
            broken = self._ask(questions, given, checkpoint, answered)
        if broken:
            self._tell("failed")
            raise self._failed(
                f"the server broke twice, {len(questions) - len(given)} of {len(questions)} questions unanswered: "
                f"{broken}"
            )
        return [given[number] for number in range(len(questions))]

    def _restart(self, checkpoint: Callable[[], None]) -> None:
        self._tell("restarting")
        self._process.stop()
        try:
            self._start(checkpoint)
        except SteerError:
            self._tell("failed")
            raise
        self._tell("healthy")

    def _ask(
        self,
        asks: Sequence[ModelQuestion],
        given: dict[int, ModelAnswer],
        checkpoint: Callable[[], None],
        answered: OnAnswer,
    ) -> str:
        """Ask what is not in `given` yet, a few at once; returns what broke, empty if nothing did. While the
        checkpoint blocks, no further question is asked; what is being answered is kept."""
        broken: list[str] = []
        questions = (
            (number, self._client.body(one, self._processor))
            for number, one in enumerate(asks)
            if number not in given and not broken
        )

        def send(question: tuple[int, dict[str, Any]]) -> Any:
            try:
                return self._client.send(question[1])
            except Broken as error:
                return error

        def take(question: tuple[int, dict[str, Any]], reply: Any) -> None:
            try:
                if isinstance(reply, Broken):
                    raise reply
                given[question[0]] = self._client.read(reply)
            except Broken as error:
                broken.append(str(error))
            else:
                answered(question[0], given[question[0]])

        def checkpoint_or_end() -> None:
            try:
                checkpoint()
            except BaseException:
                self._process.stop()  # whoever stops does not wait for answers: now they break off
                raise

        try:
            for_each_side_by_side(send, questions, self._section.concurrency, take, checkpoint_or_end)
        except Refused as error:
            raise self._failed(f"the server refused a question: {error}") from None
        return broken[-1] if broken else ""

    # ------------------------------------------------------------ errors

    def _failed(self, what: str, hint: str = "") -> ModelError:
        tail = self.log_tail()[-8:]
        last_lines = "; its last lines:\n" + "\n".join(tail) if tail else ""
        where = f"{PLACE}: {shlex.join(self._command)}"
        if any("No module named" in line and "sglang" in line for line in tail):
            hint = f"install SGLang in an environment of its own and name that environment's Python in {PLACE}.command"
        hint = f"{hint or f'see {self._log}'}; or `{PLACE}.kind: in_process`, without a server"
        return ModelError(what=what + last_lines, where=where, hint=hint)


def _unusable(port: int) -> str:
    """Why nothing can listen on `port` of 127.0.0.1; empty if it can."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            return error.strerror or str(error)
    return ""
