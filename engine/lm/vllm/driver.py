"""Run requests through vLLM's engine until each has ended."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import InvalidStateError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from multiprocessing.connection import wait
from typing import Any

import cloudpickle
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray
from vllm.sampling_params import RequestOutputKind, SamplingParams  # pyright: ignore[reportMissingImports]
from vllm.v1.engine.exceptions import EngineDeadError  # pyright: ignore[reportMissingImports]

from engine.errors import ModelError
from engine.lm.occurrences import Occurrences
from engine.lm.positions import check_layers, steering_vector
from engine.lm.protocol import LogitsProcessor, Steer, Vector
from engine.lm.vllm.request_args import Injection, RequestArgs


@dataclass
class EngineRequest:
    """One request to the engine, and its output. `stop` ends it with the token that completes the string; `written`:
    tokens of the same continuation that are at the end of `prompt` already."""

    prompt: list[int]
    max_tokens: int
    args: RequestArgs
    stop: Occurrences | None = None
    written: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    ended: str = "length"
    states: NDArray[np.float32] | None = None

    def take(self, tokens: Sequence[int], logprobs: Sequence[float], eos: frozenset[int]) -> bool:
        """Add new tokens; returns whether the continuation has ended."""
        for token, logprob in zip(tokens, logprobs, strict=True):
            self.tokens.append(token)
            self.logprobs.append(logprob)
            if token in eos:
                self.ended = "eos"
                return True
            if self.stop is not None and self._stops_with(self.stop, token):
                self.ended = "stop"
                return True
        return len(self.tokens) >= self.max_tokens

    def _stops_with(self, stop: Occurrences, token: int) -> bool:
        may = bool(stop.may_complete(np.array([token], dtype=np.int64))[0])
        return may and stop.ends_segment([*self.written, *self.tokens])


class Driver:
    """Sends requests to one `LLMEngine`. `num_layers`, `hidden_size`: the model's, to check requests."""

    def __init__(self, engine: Any, eos: frozenset[int], num_layers: int, hidden_size: int) -> None:
        self._engine = engine
        self._eos = eos
        self._layers = num_layers
        self.hidden_size = hidden_size
        self._sent: set[str] = set()
        self._unsent: dict[str, bytes] = {}
        self._numbers = count()
        self.between: Callable[[object, Sequence[EngineRequest], int], None] = lambda mark, requests, left: (
            None
        )
        """Called between steps with a mark of the run, its requests, and the number of those that have not ended."""
        threading.Thread(target=_watch, args=(engine.engine_core,), daemon=True).start()
        with engine_errors("starting"):
            self.workers: list[dict[str, str]] = self._call("steer_install", num_layers)

    def injection(self, steer: Steer, position: int) -> Injection:
        """The injection of `steer` at a token; its vector is sent before the next run. Raises ValueError."""
        vector = steering_vector(steer, self._layers, self.hidden_size)
        return Injection(position, steer.layer, float(steer.scale), self._name_of(vector))

    def _name_of(self, vector: Vector) -> str:
        """The name under which the workers know `vector`; a new vector is sent before the next run."""
        data = vector.tobytes()
        name = sha256(data).hexdigest()[:32]
        if name not in self._sent:
            self._unsent[name] = data
        return name

    def _send_vectors(self) -> None:
        if self._unsent:
            self._call("steer_put_vectors", list(self._unsent), b"".join(self._unsent.values()))
            self._sent |= self._unsent.keys()
            self._unsent = {}

    def check_layers(self, layers: Iterable[int]) -> None:
        """Raises ValueError for a layer that the model does not have."""
        check_layers(layers, self._layers)

    def run(
        self,
        requests: Sequence[EngineRequest],
        processor: LogitsProcessor | None = None,
        ended: Callable[[EngineRequest], None] = lambda request: None,
    ) -> None:
        """Run all requests to their ends; `ended` is called for each that has tokens to write, when it has ended. If
        `between` or `ended` raises, all are aborted and the error is raised."""
        waiting = [request for request in requests if request.max_tokens > 0]
        if not waiting:
            return
        with engine_errors("generating"), self._processing(processor):
            names: dict[str, EngineRequest] = {}
            unfinished: dict[str, EngineRequest] = {}
            self._send_vectors()
            try:
                for request in waiting:
                    number = str(next(self._numbers))
                    unfinished[number] = request
                    names[self._submit(number, request)] = request
                self._drain(waiting, unfinished, ended)
            except BaseException:
                self._abandon(list(unfinished))
                raise
            self._fetch_states(names)

    def _drain(
        self,
        requests: Sequence[EngineRequest],
        unfinished: dict[str, EngineRequest],
        ended: Callable[[EngineRequest], None],
    ) -> None:
        """Step the engine until `unfinished` is empty."""
        mark = object()
        while unfinished:
            self.between(mark, requests, len(unfinished))
            through: list[EngineRequest] = []
            abort: list[str] = []
            for output in self._engine.step():
                request = unfinished.get(output.request_id)
                if request is not None and (request.take(*_new(output), self._eos) or output.finished):
                    through.append(unfinished.pop(output.request_id))
                    if not output.finished:
                        abort.append(output.request_id)
            if abort:
                self._engine.abort_request(abort)
            for request in through:
                ended(request)

    def _submit(self, number: str, request: EngineRequest) -> str:
        params = SamplingParams(
            max_tokens=request.max_tokens,
            temperature=0.0,  # the token is chosen by `CounterSampler`
            logprobs=0,
            detokenize=False,
            ignore_eos=True,
            stop_token_ids=sorted(self._eos),
            extra_args=request.args.pack(),
            output_kind=RequestOutputKind.DELTA,
            skip_clone=True,
        )
        return self._engine.add_request(number, {"prompt_token_ids": request.prompt}, params)

    def _fetch_states(self, names: dict[str, EngineRequest]) -> None:
        capturing = [name for name, request in names.items() if request.args.capture_positions]
        if not capturing:
            return
        by_worker = self._call("steer_take_states", capturing)
        for index, name in enumerate(capturing):
            layers = {int(layer): rows for worker in by_worker for layer, rows in dict(worker[index]).items()}
            names[name].states = self._stacked(names[name].args, layers)

    def _stacked(self, args: RequestArgs, layers: dict[int, tuple[list[int], bytes]]) -> NDArray[np.float32]:
        shape = (len(args.capture_positions), len(args.capture_layers), self.hidden_size)
        states = np.empty(shape, dtype=np.float32)
        for column, layer in enumerate(args.capture_layers):
            positions, data = layers[layer]
            rows = np.frombuffer(data, dtype=np.float32).reshape(len(positions), self.hidden_size)
            order = {position: row for row, position in enumerate(positions)}
            states[:, column] = rows[[order[position] for position in args.capture_positions]]
        return states

    @contextmanager
    def _processing(self, processor: LogitsProcessor | None) -> Any:
        if processor is None:
            yield
            return
        self._call("steer_set_processor", cloudpickle.dumps(processor))
        try:
            yield
        finally:
            errors = [error for error in self._call("steer_set_processor", None) if error]
        if errors:
            raise ValueError(f"the logits processor failed: {errors[0]}")

    def _abandon(self, numbers: list[str]) -> None:
        """Abort these requests and drop their states, so that the engine is idle at the next call."""
        with suppress(EngineDeadError):
            self._engine.abort_request(numbers)
            self._call("steer_forget_states")

    def _call(self, method: str, *args: Any) -> list[Any]:
        return self._engine.collective_rpc(method, args=args)


def captured(args: RequestArgs, nonce: str) -> RequestArgs:
    """`args` with the prefix cache off from the first captured position on: the last token of a prompt always runs, an
    earlier token only if its block is not taken from the cache."""
    return replace(args, unshared_from=min(args.capture_positions), nonce=nonce)


def _new(output: Any) -> tuple[list[int], list[float]]:
    """Tokens since the last output, and their log-probabilities."""
    (delta,) = output.outputs
    tokens = list(delta.token_ids)
    return tokens, [
        float(entry[token].logprob) for token, entry in zip(tokens, delta.logprobs or [], strict=True)
    ]


def _watch(client: Any) -> None:
    """Raise EngineDeadError in every waiting caller once an engine process ends: vLLM would let them wait for ever."""
    wait([process.sentinel for process in client.resources.engine_manager.processes])
    client.resources.engine_dead = True  # later calls raise at once
    client.outputs_queue.put_nowait(EngineDeadError())
    for future in list(client.utility_results.values()):
        with suppress(InvalidStateError):
            future.set_exception(EngineDeadError())


@contextmanager
def engine_errors(doing: str) -> Any:
    """Turn the end of vLLM's engine process into a ModelError."""
    try:
        yield
    except EngineDeadError as error:
        raise ModelError(
            what="vLLM's engine process has died; its own message is in the worker's log",
            where=doing,
            hint="lower `model.vllm.gpu_memory_utilization` or `model.max_num_seqs`, then resume the run",
        ) from error
