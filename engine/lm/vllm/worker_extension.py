"""Extension of vLLM's worker (`worker_extension_cls`): hooks on its decoder layers, and calls to steer them.

One object of this class is mixed into every worker process; under tensor parallelism each has the whole residual
stream, under pipeline parallelism each has its own layers. Names begin with `steer_`: the worker has many others.
"""

from __future__ import annotations

from typing import Any, cast

import cloudpickle
import torch
from torch import Tensor

from engine.lm.decoder_layers import decoder_layers
from engine.lm.vllm.pass_plan import PassPlan, plan_pass
from engine.lm.vllm.request_args import RequestArgs, unpack


class SteeringExtension:
    """Mixed into vLLM's worker: `model_runner` is the worker's."""

    def steer_install(self, num_layers: int) -> dict[str, str]:
        """Install the hooks, once; returns the worker's device and number type. Raises RuntimeError where this vLLM's
        runner lacks the functions that tell which rows belong to which request."""
        self._steer = Steering(cast("Any", self).model_runner, num_layers)
        return self._steer.describe()

    def steer_put_vectors(self, names: list[str], data: bytes) -> None:
        """Keep vectors under their names; `data`: float32, one row a name."""
        rows = torch.frombuffer(bytearray(data), dtype=torch.float32).reshape(len(names), -1)
        self._steer.vectors.update(zip(names, rows, strict=True))

    def steer_take_states(self, requests: list[str]) -> list[dict[int, tuple[list[int], bytes]]]:
        """The captured residual streams of finished requests, which are then dropped: layer -> (positions,
        float32 rows). Layers of another pipeline stage are missing."""
        return [self._steer.take(request) for request in requests]

    def steer_forget_states(self) -> None:
        """Drop the captured states of aborted requests."""
        self._steer.states.clear()

    def steer_set_processor(self, pickled: bytes | None) -> str:
        """Use a logits processor, or none, from now on; returns the first error of the previous processor, or "". The
        pickle comes from the process that started this one."""
        return self._steer.set_processor(None if pickled is None else cloudpickle.loads(pickled))


class Steering:
    """The state of one worker: vectors, hooks, the plan of the current pass."""

    def __init__(self, runner: Any, num_layers: int) -> None:
        for needed in ("_determine_batch_execution_and_padding", "execute_model", "query_start_loc"):
            if not hasattr(runner, needed):
                raise RuntimeError(f"{type(runner).__name__} of this vLLM has no `{needed}`")
        from engine.lm.vllm.sampler import CounterSampler

        self.runner = runner
        self.vectors: dict[str, Tensor] = {}
        """By name, in the host's memory: a pass needs few vectors, and a run may use many."""
        self.states: dict[str, dict[int, dict[int, Tensor]]] = {}
        """request -> layer -> position -> state, on the device until it is taken."""
        self._args: dict[str, RequestArgs | None] = {}
        self._plan = PassPlan()
        self._fired: set[int] = set()
        self._stepping = False
        self._local = self._hook_layers(num_layers)
        self._sampler = CounterSampler(runner.sampler, lambda: self._plan.draws)
        runner.sampler = self._sampler
        self._wrap_runner()

    def describe(self) -> dict[str, str]:
        """The worker's device and number type."""
        return {
            "device": str(self.runner.device),
            "dtype": str(self.runner.dtype).removeprefix("torch."),
        }

    def set_processor(self, processor: Any) -> str:
        """Use `processor` from the next pass on; vLLM then passes it the tokens written so far."""
        error, self._sampler.error = self._sampler.error, ""
        self._sampler.processor = processor
        self.runner.input_batch.logitsprocs_need_output_token_ids = processor is not None
        return error

    def take(self, request: str) -> dict[int, tuple[list[int], bytes]]:
        """Return and drop the captured states of one request."""
        states: dict[int, tuple[list[int], bytes]] = {}
        for layer, rows in self.states.pop(request, {}).items():
            positions = sorted(rows)
            stacked = torch.stack([rows[position] for position in positions])
            states[layer] = (positions, stacked.float().cpu().numpy().tobytes())
        return states

    def _hook_layers(self, num_layers: int) -> set[int]:
        local: set[int] = set()
        for index, layer in enumerate(decoder_layers(self.runner.model, num_layers)):
            if type(layer).__name__ != "PPMissingLayer":
                layer.register_forward_hook(self._hook(index))
                local.add(index)
        return local

    def _wrap_runner(self) -> None:
        """Plan a pass once its inputs are ready, before vLLM decides whether to replay a CUDA graph: a pass with
        injections or captures must run the hooks' Python."""
        execute = self.runner.execute_model
        determine = self.runner._determine_batch_execution_and_padding

        def planned(*args: Any, **kwargs: Any) -> Any:
            if self._stepping:
                self._plan = plan_pass(self.runner, self._args_of)
                if self._plan.touched:
                    kwargs["force_eager"] = True
            return determine(*args, **kwargs)

        def step(scheduler_output: Any, *args: Any, **kwargs: Any) -> Any:
            for finished in scheduler_output.finished_req_ids:
                self._args.pop(finished, None)
            self._plan, self._fired, self._stepping = PassPlan(), set(), True
            try:
                output = execute(scheduler_output, *args, **kwargs)
            finally:
                self._stepping = False
            missed = (self._plan.touched & self._local) - self._fired
            if missed:
                raise RuntimeError(
                    f"the hooks of layers {sorted(missed)} did not run: nothing was steered there"
                )
            return output

        self.runner._determine_batch_execution_and_padding = planned
        self.runner.execute_model = step

    def _args_of(self, request: str) -> RequestArgs | None:
        if request not in self._args:
            params = self.runner.requests[request].sampling_params
            self._args[request] = unpack(params.extra_args) if params is not None else None
        return self._args[request]

    def _hook(self, layer: int) -> Any:
        def run(module: Any, args: Any, output: Any) -> None:
            plan = self._plan
            if not self._stepping or (layer not in plan.injections and layer not in plan.captures):
                return
            self._fired.add(layer)
            self._inject(layer, output)
            self._capture(layer, output)

        return run

    def _inject(self, layer: int, output: Any) -> None:
        planned = self._plan.injections.get(layer)
        if not planned:
            return
        hidden: Tensor = output[0] if isinstance(output, tuple) else output
        matrix = torch.stack([self.vectors[injection.vector] for _, injection in planned])
        matrix *= torch.tensor([injection.scale for _, injection in planned], dtype=torch.float32)[:, None]
        rows = torch.tensor([row for row, _ in planned])
        # In place: the layer has just made this tensor, and a copy would double a long prefill's memory.
        hidden.index_add_(0, rows.to(hidden.device), matrix.to(hidden.device, hidden.dtype))

    def _capture(self, layer: int, output: Any) -> None:
        planned = self._plan.captures.get(layer)
        if not planned:
            return
        rows = torch.tensor([row for row, _, _ in planned])
        for state, (_, request, position) in zip(_stream(output, rows), planned, strict=True):
            self.states.setdefault(request, {}).setdefault(layer, {})[position] = state


def _stream(output: Any, rows: Tensor) -> Tensor:
    """The residual stream at some rows: most of vLLM's layers return it as two tensors that are yet to be added."""
    if not isinstance(output, tuple):
        return output[rows.to(output.device)].float()
    hidden, residual = output[0], output[1] if len(output) > 1 else None
    stream = hidden[rows.to(hidden.device)].float()
    return stream if residual is None else stream + residual[rows.to(residual.device)].float()
