"""SGLang as a subprocess that answers for the evolution (spec Evolution 2).

Questions go to `/generate` as token ids and come back as token ids, so that an answer is the same thing here and from
the model in this process. The generated processor travels with each request.
"""

from __future__ import annotations

import itertools
import json
import shlex
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from http.client import HTTPException
from pathlib import Path
from typing import Any

from engine.errors import ConfigError, ModelError, Problem
from engine.lm.protocol import Tokenizer
from engine.lm.server import Answer, Ask
from engine.lm.server_process import ServerProcess
from engine.lm.sglang_section import ServerSection

HOST = "127.0.0.1"
_LOOPBACK = (HOST, "localhost", "::1")
_POLL = 0.2
_WHERE = "evolution.server"
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class _Unanswered(Exception):
    """The connection or the server broke: it may pass."""


class SGLangServer:
    """Started with a processor, asked, stopped. If it dies while it is asked, it is started again once, and asked what
    it has not answered yet."""

    def __init__(
        self,
        section: ServerSection,
        model: str,
        tokenizer: Tokenizer,
        processor_string: Callable[[Path], str],
        log: Path,
        tell: Callable[[str], None] = lambda state: None,
    ) -> None:
        """`model`: folder or hub name. `tell` hears of restarts. Raises ConfigError for a command that would listen to
        the network."""
        self.name = "SGLang"
        self._section = section
        self._command = server_command(section, model)
        self._tokenizer = tokenizer
        self._processor_string = processor_string
        self._process = ServerProcess(log, section.grace)
        self._log = log
        self._tell = tell
        self._processor: Path | None = None

    # ------------------------------------------------------------ life

    def stop(self) -> None:
        """End it and all it started."""
        self._process.stop()

    def start(self, processor: Path | None) -> None:
        """Start it and wait until it is healthy. Raises ModelError: port in use, ended, not healthy in time."""
        self._processor = processor
        self._require_port()
        self._process.start(self._command, {})
        until = time.monotonic() + self._section.startup_timeout
        try:
            while not self._healthy():
                if not self._process.running:
                    raise self._failed(
                        f"the server ended while it started (exit code {self._process.exit_code})"
                    )
                if time.monotonic() > until:
                    raise self._failed(
                        f"the server was not healthy within {self._section.startup_timeout:g} s"
                    )
                time.sleep(min(self._section.health_interval, max(0.0, until - time.monotonic()) + 0.01))
        except BaseException:
            self._process.stop()
            raise

    def close(self) -> None:
        """Leave nothing behind."""
        self.stop()

    def log_tail(self) -> list[str]:
        """The last lines of its output."""
        return self._process.tail()

    # ------------------------------------------------------------ answers

    def answer(self, asks: Sequence[Ask], checkpoint: Callable[[], None]) -> list[Answer]:
        """Raises ModelError when it cannot be had back, or refuses a request."""
        given: dict[int, Answer] = {}
        for attempt in (1, 2):
            if self._ask(asks, given, checkpoint):
                return [given[number] for number in range(len(asks))]
            if attempt == 1:
                self._tell("restarting")
                self._process.stop()
                self.start(self._processor)
                self._tell("healthy")
        raise self._failed(f"the server broke twice over the same {len(asks) - len(given)} questions")

    def _ask(self, asks: Sequence[Ask], given: dict[int, Answer], checkpoint: Callable[[], None]) -> bool:
        """Ask what is not in `given` yet; False if the server broke. What was answered is kept either way."""
        processor = None if self._processor is None else self._processor_string(self._processor)
        pool = ThreadPoolExecutor(self._section.concurrency)
        waiting: dict[Future[Answer], int] = {
            pool.submit(self._one, ask, processor): number
            for number, ask in enumerate(asks)
            if number not in given
        }
        whole = True
        try:
            while waiting:
                checkpoint()
                done, _ = wait(waiting, timeout=_POLL, return_when=FIRST_COMPLETED)
                for future in done:
                    number = waiting.pop(future)
                    try:
                        given[number] = future.result()
                    except _Unanswered:
                        whole = False
            return whole
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _one(self, ask: Ask, processor: str | None) -> Answer:
        sampling: dict[str, Any] = {"max_new_tokens": ask.max_tokens, "temperature": ask.temperature}
        if ask.temperature > 0:
            sampling["sampling_seed"] = ask.seed % (1 << 31)
        body: dict[str, Any] = {
            "input_ids": list(self._tokenizer.encode_chat(ask.prompt)),
            "sampling_params": sampling,
        }
        if processor is not None:
            body["custom_logit_processor"] = processor
        return _read(self._post("/generate", body), self._tokenizer)

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(
            self._url(path), json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        try:
            with _DIRECT.open(request, timeout=self._section.request_timeout) as reply:
                return json.loads(reply.read())
        except urllib.error.HTTPError as error:
            told = error.read(400).decode(errors="replace")
            if error.code >= 500:
                raise _Unanswered(told) from None
            raise self._failed(
                f"the server refused a question ({error.code}): {' '.join(told.split())}"
            ) from None
        except (OSError, HTTPException, ValueError) as error:
            raise _Unanswered(str(error)) from None

    # ------------------------------------------------------------ looking

    def _healthy(self) -> bool:
        try:
            with _DIRECT.open(self._url("/health"), timeout=max(self._section.health_interval, 1.0)) as reply:
                return reply.status == 200 and self._process.running
        except (OSError, HTTPException):
            return False

    def _require_port(self) -> None:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, self._section.port))
            except OSError as error:
                raise ModelError(
                    what=f"port {self._section.port} cannot be used: {error.strerror}",
                    where=f"{_WHERE}.port",
                    mend="stop what listens there, or name another port",
                ) from None

    def _url(self, path: str) -> str:
        return f"http://{HOST}:{self._section.port}{path}"

    def _failed(self, what: str) -> ModelError:
        tail = self.log_tail()[-8:]
        told = "; its last lines:\n" + "\n".join(tail) if tail else ""
        return ModelError(
            what=what + told, where=f"{_WHERE}: {shlex.join(self._command)}", mend=f"see {self._log}"
        )


def server_command(section: ServerSection, model: str) -> list[str]:
    """The command line, filled in. Raises ConfigError for a wrong placeholder, or a host that others can reach: custom
    processors are code, so whoever reaches the server can run any program."""
    place = f"{_WHERE}.command"
    try:
        words = shlex.split(section.command)
        filled = [
            word.format(python=sys.executable, model=model, host=HOST, port=section.port) for word in words
        ]
    except (KeyError, IndexError, ValueError) as error:
        allowed = "a command line with {python}, {model}, {host} and {port} as its only placeholders"
        raise ConfigError([Problem(place, section.command, f"{allowed} ({error})")]) from error
    hosts = [after for word, after in itertools.pairwise(filled) if word == "--host"]
    hosts += [word.partition("=")[2] for word in filled if word.startswith("--host=")]
    if any(host not in _LOOPBACK for host in hosts):
        raise ConfigError(
            [Problem(place, section.command, f"--host {HOST}: the server is for this machine alone")]
        )
    return filled


def _read(reply: Any, tokenizer: Tokenizer) -> Answer:
    """One answer of `/generate`, without the token that ended it."""
    try:
        text, meta = str(reply["text"]), reply["meta_info"]
        tokens = [int(token) for token in reply.get("output_ids") or tokenizer.encode(text)]
        finish = meta.get("finish_reason") or {}
        ended = finish.get("type") if isinstance(finish, dict) else finish
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _Unanswered("the reply is no answer of /generate") from None
    kept = [token for token in tokens if token not in tokenizer.eos_token_ids]
    return Answer(text, kept, finished=ended != "length")
