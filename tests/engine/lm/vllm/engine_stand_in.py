"""An engine in the place of vLLM's, with the product's worker, sampler and driver: its model is worked out by hand.

The stream of a token begins with its letter's number (a is 1) and a 1; each of two layers adds the stream of the token
before. So the first number after both is that of the letter, twice that of the letter before, and that of the one
before it; modulo 27 it says which letter comes next: 0 is an a, 25 a z, and 26 is the full stop that ends a text.
"""

from __future__ import annotations

import os
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from engine.lm.vllm.worker_extension import SteeringExtension

FULL_STOP = 46
VOCABULARY = 128


class Layer(nn.Module):
    """Adds the stream of the token before, and returns two tensors that are yet to be added."""

    def forward(self, stream: Tensor, begins: list[int]) -> tuple[Tensor, Tensor]:
        before = torch.cat([torch.zeros(1, 2), stream[:-1]])
        before[begins] = 0.0
        return before, stream


class PPMissingLayer(nn.Module):
    """In the place of a layer that another process has."""

    def forward(self, stream: Tensor, begins: list[int]) -> tuple[Tensor, Tensor]:
        return Layer.forward(self, stream, begins)  # type: ignore[arg-type]


class Runner:
    """As vLLM's: in each pass it computes all tokens of all requests again."""

    device, dtype = torch.device("cpu"), torch.float32

    def __init__(self, layers: list[nn.Module]) -> None:
        self.layers = nn.ModuleList(layers)
        self.model = nn.Module()
        self.model.add_module("layers", self.layers)
        self.sampler: Any = SimpleNamespace(logprobs_mode="raw_logprobs")
        self.requests: dict[str, Any] = {}
        self.input_batch = SimpleNamespace(logitsprocs_need_output_token_ids=False)
        self.query_start_loc = SimpleNamespace(np=np.zeros(1, dtype=np.int64))
        self.eager: list[bool] = []

    def _determine_batch_execution_and_padding(self, force_eager: bool = False) -> None:
        self.eager.append(force_eager)

    def execute_model(self, scheduler_output: Any) -> Any:
        """The output of the sampler for each request."""
        requests = self.requests.values()
        sequences = [[*one.prompt, *one.tokens] for one in requests]
        starts = np.cumsum([0, *map(len, sequences)])
        self.query_start_loc.np = starts
        vars(self.input_batch).update(
            req_ids=list(self.requests),
            num_prompt_tokens=[len(one.prompt) for one in requests],
            num_computed_tokens_cpu=[0] * len(sequences),
        )
        self._determine_batch_execution_and_padding()
        stream = torch.tensor([[token - 96.0, 1.0] for tokens in sequences for token in tokens])
        for layer in self.layers:
            first, second = layer(stream, starts[:-1].tolist())
            stream = first + second
        logits = torch.zeros(len(sequences), VOCABULARY)
        for row, number in enumerate(stream[starts[1:] - 1, 0].tolist()):
            letter = int(number) % 27
            logits[row, 97 + letter if letter < 26 else FULL_STOP] = 5.0
        known = self.input_batch.logitsprocs_need_output_token_ids
        written = [list(one.tokens) if known else [] for one in requests]
        return self.sampler(logits, SimpleNamespace(output_token_ids=written))


class Worker(SteeringExtension):
    """vLLM's worker with the product's extension."""

    def __init__(self, layers: list[nn.Module]) -> None:
        self.model_runner = Runner(layers)


class Engine:
    """As vLLM's `LLMEngine` with a single worker. `alive`: its process ends when that is closed."""

    def __init__(self, context: int = 40, layers: list[nn.Module] | None = None) -> None:
        ended, self.alive = os.pipe()
        self.worker = Worker(layers or [Layer(), Layer()])
        self.vllm_config = SimpleNamespace(
            model_config=SimpleNamespace(max_model_len=context), cache_config=SimpleNamespace(block_size=4)
        )
        processes = SimpleNamespace(processes=[SimpleNamespace(sentinel=ended)])
        self.shut: list[object] = []
        self.engine_core = SimpleNamespace(
            resources=SimpleNamespace(engine_manager=processes, engine_dead=False),
            outputs_queue=SimpleQueue(), utility_results={}, shutdown=lambda **how: self.shut.append(how),
        )  # fmt: skip
        self.calls: list[str] = []
        self._finished: list[str] = []

    @property
    def under_way(self) -> dict[str, Any]:
        """The requests that have neither ended nor been aborted, by the worker's names."""
        return self.worker.model_runner.requests

    def add_request(self, number: str, prompt: dict[str, list[int]], params: Any) -> str:
        one = SimpleNamespace(
            number=number, prompt=prompt["prompt_token_ids"], tokens=[], sampling_params=params
        )
        self.under_way[f"{number}-1"] = one
        return f"{number}-1"

    def abort_request(self, numbers: list[str]) -> None:
        for name in [name for name, one in self.under_way.items() if one.number in numbers]:
            self._finished.append(name)
            del self.under_way[name]

    def step(self) -> list[Any]:
        sampled = self.worker.model_runner.execute_model(SimpleNamespace(finished_req_ids=self._finished))
        self._finished = []
        outputs: list[Any] = []
        tokens = sampled.sampled_token_ids[:, 0].tolist()
        logprobs = sampled.logprobs_tensors.logprobs[:, 0].tolist()
        for one, token, logprob in zip(list(self.under_way.values()), tokens, logprobs, strict=True):
            one.tokens.append(token)
            params = one.sampling_params
            ended = token in params.stop_token_ids or len(one.tokens) >= params.max_tokens
            delta = SimpleNamespace(token_ids=[token], logprobs=[{token: SimpleNamespace(logprob=logprob)}])
            outputs.append(SimpleNamespace(request_id=one.number, outputs=[delta], finished=ended))
            if ended:
                self.abort_request([one.number])
        return outputs

    def collective_rpc(self, method: str, args: tuple[Any, ...]) -> list[Any]:
        self.calls.append(method)
        return [getattr(self.worker, method)(*args)]

    def reset_prefix_cache(self) -> bool:
        return True
