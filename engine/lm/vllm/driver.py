"""Run requests through vLLM's engine and know when each has ended."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import InvalidStateError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import count
from multiprocessing.connection import wait
from typing import Any

import cloudpickle
import numpy as np
from numpy.typing import NDArray
from vllm.sampling_params import RequestOutputKind, SamplingParams  # pyright: ignore[reportMissingImports]
from vllm.v1.engine.exceptions import EngineDeadError  # pyright: ignore[reportMissingImports]

from engine.errors import ModelError
from engine.lm.occurrences import Occurrences
from engine.lm.protocol import LogitsProcessor, Steer, Vector
from engine.lm.vllm.request_args import Injection, RequestArgs


@dataclass
class Run:
    """One request to the engine and what came back. `stop` ends it with the token that completes it, where
    `begun` tokens of the same continuation stand at the end of `prompt` already."""

    prompt: list[int]
    max_tokens: int
    args: RequestArgs
    stop: Occurrences | None = None
    begun: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    ended: str = "length"
    states: NDArray[np.float32] | None = None

    def take(self, tokens: Sequence[int], logprobs: Sequence[float], eos: frozenset[int]) -> bool:
        """Note new tokens; whether the continuation has ended."""
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
        return may and stop.count([*self.begun, *self.tokens]) > 0


class Driver:
    """Speaks to one `LLMEngine`. `num_layers`, `hidden_size`: the model's, to check what is asked."""

    def __init__(self, engine: Any, eos: frozenset[int], num_layers: int, hidden_size: int) -> None:
        self._engine = engine
        self._eos = eos
        self._layers = num_layers
        self.hidden_size = hidden_size
        self._sent: set[str] = set()
        self._unsent: dict[str, bytes] = {}
        self._numbers = count()
        threading.Thread(target=_watch, args=(engine.engine_core,), daemon=True).start()
        with engine_errors("starting"):
            self.workers: list[dict[str, str]] = self._call("steer_install", num_layers)

    def injection(self, steer: Steer, position: int) -> Injection:
        """A steer at a token, its vector at the workers. Raises ValueError for one that does not fit."""
        vector = np.ascontiguousarray(steer.vector, dtype=np.float32)
        if vector.shape != (self.hidden_size,):
            raise ValueError(
                f"steering vector of shape {vector.shape}, the model needs ({self.hidden_size},)"
            )
        if not 0 <= steer.layer < self._layers:
            raise ValueError(f"steering layer {steer.layer}, the model has layers 0 to {self._layers - 1}")
        return Injection(position, steer.layer, float(steer.scale), self._name_of(vector))

    def _name_of(self, vector: Vector) -> str:
        """A vector is sent once, before the next run; from then on its name says it."""
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
        """Raises ValueError for a layer that the model has not."""
        for layer in layers:
            if not 0 <= layer < self._layers:
                raise ValueError(f"layer {layer}, the model has layers 0 to {self._layers - 1}")

    def run(
        self,
        runs: Sequence[Run],
        processor: LogitsProcessor | None = None,
        checkpoint: Callable[[], None] | None = None,
    ) -> None:
        """Bring all runs to their ends. What `checkpoint` raises comes through; nothing then goes on."""
        waiting = [run for run in runs if run.max_tokens > 0]
        if not waiting:
            return
        with engine_errors("generating"), self._processing(processor):
            names: dict[str, Run] = {}
            open_runs: dict[str, Run] = {}
            self._send_vectors()
            try:
                for run in waiting:
                    number = str(next(self._numbers))
                    open_runs[number] = run
                    names[self._submit(number, run)] = run
                self._drain(open_runs, checkpoint)
            except BaseException:
                self._abandon(list(open_runs))
                raise
            self._fetch_states(names)

    def _drain(self, open_runs: dict[str, Run], checkpoint: Callable[[], None] | None) -> None:
        """Step until nothing is left of `open_runs`."""
        while open_runs:
            if checkpoint is not None:
                checkpoint()
            over: list[str] = []
            for output in self._engine.step():
                run = open_runs.get(output.request_id)
                if run is not None and (run.take(*_new(output), self._eos) or output.finished):
                    del open_runs[output.request_id]
                    if not output.finished:
                        over.append(output.request_id)
            if over:
                self._engine.abort_request(over)

    def _submit(self, number: str, run: Run) -> str:
        params = SamplingParams(
            max_tokens=run.max_tokens,
            temperature=0.0,  # the token is chosen by `CounterSampler`
            logprobs=0,
            detokenize=False,
            ignore_eos=True,
            stop_token_ids=sorted(self._eos),
            extra_args=run.args.pack(),
            output_kind=RequestOutputKind.DELTA,
            skip_clone=True,
        )
        return self._engine.add_request(number, {"prompt_token_ids": run.prompt}, params)

    def _fetch_states(self, names: dict[str, Run]) -> None:
        wanted = [name for name, run in names.items() if run.args.capture_positions]
        if not wanted:
            return
        by_worker = self._call("steer_take_states", wanted)
        for index, name in enumerate(wanted):
            layers = {int(layer): part for worker in by_worker for layer, part in dict(worker[index]).items()}
            names[name].states = self._stacked(names[name].args, layers)

    def _stacked(self, args: RequestArgs, layers: dict[int, tuple[list[int], bytes]]) -> NDArray[np.float32]:
        shape = (len(args.capture_positions), len(args.capture_layers), self.hidden_size)
        found = np.empty(shape, dtype=np.float32)
        for place, layer in enumerate(args.capture_layers):
            positions, data = layers[layer]
            rows = np.frombuffer(data, dtype=np.float32).reshape(len(positions), self.hidden_size)
            order = {position: row for row, position in enumerate(positions)}
            found[:, place] = rows[[order[position] for position in args.capture_positions]]
        return found

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
        """End whatever is under way, so that the next call finds an idle engine."""
        with suppress(EngineDeadError):
            self._engine.abort_request(numbers)
            self._call("steer_forget_states")

    def _call(self, method: str, *args: Any) -> list[Any]:
        return self._engine.collective_rpc(method, args=args)


def captured(args: RequestArgs, nonce: str) -> RequestArgs:
    """The same with the prefix cache kept away from what is to be captured. The last token of a prompt always
    runs; an earlier one only if its block is not taken from the cache."""
    return replace(args, unshared_from=min(args.capture_positions), nonce=nonce)


def _new(output: Any) -> tuple[list[int], list[float]]:
    """Tokens since the last output, and their log-probabilities."""
    (found,) = output.outputs
    tokens = list(found.token_ids)
    return tokens, [
        float(entry[token].logprob) for token, entry in zip(tokens, found.logprobs or [], strict=True)
    ]


def _watch(client: Any) -> None:
    """vLLM notices that its engine process was killed, but who waits for an output then waits for ever."""
    wait([process.sentinel for process in client.resources.engine_manager.processes])
    client.resources.engine_dead = True  # what is asked from now on raises at once
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
            what="vLLM's engine process has died; its own message stands in the worker's log",
            where=doing,
            mend="lower `model.vllm.gpu_memory_utilization` or `model.max_num_seqs`, then resume the run",
        ) from error
