"""The model behind the stand-in for SGLang, in a process forked from one that has the libraries loaded.

Importing them takes seconds, and a test starts some servers. The first process listens at a socket whose path
`STAND_IN_MODEL` names, and forks one of its own for each server that connects: it loads the model, decodes processors,
answers, and ends with its server.
"""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

SOCKET = "STAND_IN_MODEL"


@contextmanager
def libraries(path: Path) -> Iterator[None]:
    """While it lasts, models of stand-ins that are started here are loaded in processes forked from one."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.stand_in_model", str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert process.stdin is not None and process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    os.environ[SOCKET] = str(path)
    try:
        yield
    finally:
        del os.environ[SOCKET]
        process.stdin.close()
        process.wait()


class ModelApart:
    """The server's side."""

    def __init__(self, path: str) -> None:
        """`path`: of the model."""
        self._connection = Client(os.environ[SOCKET])
        self.ask(path)

    def ask(self, question: Any) -> Any:
        """The path of a model at first, then bodies of requests."""
        self._connection.send(question)
        answer = self._connection.recv()
        if isinstance(answer, str):
            raise RuntimeError(answer)
        return answer


class Model:
    """The model, asked as SGLang's scheduler is."""

    def __init__(self, path: str) -> None:
        from engine.lm.transformers.model import TransformersModel

        self._model = TransformersModel.load(path, device="cpu", dtype="float32", max_num_seqs=8, threads=1)
        self._processor = lru_cache(maxsize=4)(_decoded)

    def ask(self, body: dict[str, Any]) -> dict[str, Any]:
        """The reply to the body of a request."""
        from engine.lm.protocol import Request, Sampling

        sampling = body["sampling_params"]
        request = Request(body["input_ids"], Sampling(sampling["max_new_tokens"], sampling["temperature"]))
        string = body.get("custom_logit_processor")
        assert set(sampling["stop_token_ids"]) == set(self._model.tokenizer.eos_token_ids)
        processor = self._processor(string) if string else None
        found = self._model.generate([request], logits_processor=processor)[0]
        kind = "length" if found.ended == "length" else "stop"
        meta = {"finish_reason": {"type": kind}}
        return {"text": found.text, "output_ids": list(found.tokens), "meta_info": meta}


def _decoded(string: str) -> Any:
    import json

    steer = pickle.loads(bytes.fromhex(json.loads(string)["callable"]))()
    return lambda input_ids, scores: steer(scores, None)


def _serve(connection: Connection) -> None:
    with suppress(EOFError, ConnectionError):
        model: Model | None = None
        while True:
            question = connection.recv()
            try:
                if model is None:
                    model = Model(question)
                    connection.send(None)
                else:
                    connection.send(model.ask(question))
            except Exception as error:
                connection.send(repr(error))


def main(path: str) -> None:
    """Listen until standard input is closed."""
    gc.disable()
    from transformers.models.qwen2 import modeling_qwen2

    from engine.lm.transformers import model

    assert model and modeling_qwen2
    gc.freeze()
    gc.enable()
    listener = Listener(path)
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    print("ready", flush=True)
    while True:
        connection = listener.accept()
        if os.fork() == 0:
            try:
                _serve(connection)
            finally:
                os._exit(0)
        connection.close()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


if __name__ == "__main__":
    main(sys.argv[1])
