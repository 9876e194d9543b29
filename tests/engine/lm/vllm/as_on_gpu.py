"""Ways of vLLM's to work that only a GPU has, on a machine without one: scheduling ahead, and pipelines.

vLLM's CPU platform turns asynchronous scheduling off, as there is nothing to overlap. What it does with requests,
tokens and passes is the same on every device: the scheduler is a pass ahead of the tokens, which stay on the device.
Only CUDA's streams and events, which order copies, are stood in for: on a CPU every copy is done when it returns.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, cast

import torch

from engine.lm.vllm.worker_extension import SteeringExtension


class _Done:
    """A stream or an event in which everything is over already."""

    device = torch.device("cpu")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.wait_stream = self.record = self.synchronize = lambda *args: None


for _name, _value in {
    "Stream": _Done,
    "Event": _Done,
    "current_stream": _Done,
    "stream": lambda stream: nullcontext(),
}.items():
    setattr(torch.cuda, _name, _value)


class AsOnGpu(SteeringExtension):
    """The product's own extension, in a worker that lacks nothing a GPU's has."""

    def steer_install(self, num_layers: int) -> dict[str, str]:
        """A pipeline's later workers get their room for activations from a warm-up that a CPU's do not do."""
        runner: Any = cast("Any", self).model_runner
        if runner.intermediate_tensors is None and hasattr(runner.model, "make_empty_intermediate_tensors"):
            runner.intermediate_tensors = runner.model.make_empty_intermediate_tensors(
                batch_size=runner.max_num_tokens, dtype=runner.dtype, device=runner.device
            )
        return super().steer_install(num_layers)
