"""The weights of a GGUF file, each unpacked into the model's number type when the library asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Semaphore
from typing import Any

import numpy as np
import torch
import transformers
from torch import Tensor, nn
from transformers.modeling_gguf_pytorch_utils import (
    TENSOR_PROCESSORS,
    TensorProcessor,
    get_gguf_hf_weights_map,
)

from engine.lm.loading.int8_linear import LOADING_THREADS, Int8Weights
from engine.lm.loading.mapped import free_unused, mapped

CHUNK = 2**16
"""Numbers unpacked at a time: with more their intermediate results would leave the processor's cache, with fewer the
threads would wait for each other between them."""
_UNPACKING = Semaphore(LOADING_THREADS)
_TABLES = ("token_embd.weight", "output.weight")
"""The largest tensors. The library changes none of their numbers, so that they need no copy in float32."""


@dataclass
class FileWeight:
    """Stands for a tensor until the library takes it with `[...]`, as it takes one of a safetensors file."""

    reader: Any
    packed: Any
    processor: Any
    dtype: torch.dtype
    name: str
    """The parameter's."""
    rounded: dict[str, Int8Weights] | None = None
    """Where the tensor goes, in 8 bits, in place of the library, which then gets one number that stands for all:
    nothing is held twice."""

    def __getitem__(self, _: Any) -> Tensor:
        """The tensor as the library's own way unpacks it, however many threads the library has."""
        with _UNPACKING:
            tensor = self._tensor()
            if self.rounded is not None:
                self.rounded[self.name] = Int8Weights(tensor)
                tensor = torch.zeros(1, dtype=self.dtype).expand(tensor.shape)
            self.reader.forget_pages()
            free_unused()
            return tensor

    def _tensor(self) -> Tensor:
        table = self.packed.name in _TABLES
        numbers = mapped(tuple(reversed(self.packed.shape.tolist())), self.dtype if table else torch.float32)
        _unpack(self.packed, numbers)
        if table:
            return numbers
        changed = self.processor.process(weights=numbers.numpy(), name=self.packed.name).weights
        whole = torch.from_numpy(np.ascontiguousarray(changed))
        return whole if self.rounded is not None else mapped(whole.shape, self.dtype).copy_(whole)


def file_model(
    reader: Any,
    config: Any,
    dtype: torch.dtype,
    options: dict[str, Any],
    rounded: dict[str, Int8Weights] | None = None,
) -> Any:
    """What `from_pretrained` returns with `options` for an opened file; with `rounded`, the weights of linear layers
    are put there in 8 bits, by the parameter's name, and not into the model. None where one parameter is made of
    several tensors (experts), or the package has no names for the architecture: the library then reads the file its
    own way."""
    if any("_exps." in packed.name for packed in reader.tensors):
        return None
    architecture = reader.get_field("general.architecture").contents()
    processor = TENSOR_PROCESSORS.get(architecture, TensorProcessor)(config=config.to_dict())
    with torch.device("meta"):
        model: Any = transformers.AutoModelForCausalLM.from_config(config)
    try:
        names = get_gguf_hf_weights_map(model, processor)
    except NotImplementedError:
        return None
    weights = {
        names[packed.name]: FileWeight(reader, packed, processor, dtype, names[packed.name])
        for packed in reader.tensors
        if packed.name in names
    }
    if rounded is not None:
        for path, part in model.named_modules():
            name = f"{path}.weight"
            if type(part) is nn.Linear and name in weights:
                weights[name].rounded = rounded
    return type(model).from_pretrained(None, config=config, state_dict=weights, dtype=dtype, **options)


def _unpack(packed: Any, numbers: Tensor) -> None:
    """Write a tensor of the file into `numbers`."""
    import gguf  # in the extra [gguf]

    rows = packed.data.reshape(-1, packed.data.shape[-1])
    flat = numbers.view(len(rows), -1)
    step = max(1, CHUNK // flat.shape[1])
    for start in range(0, len(rows), step):
        # As one long row: the package works through sixteen rows at a time, which costs more than the numbers do.
        chunk = gguf.dequantize(rows[start : start + step].reshape(1, -1), packed.tensor_type)
        flat[start : start + step] = torch.from_numpy(np.require(chunk, requirements="W")).view(
            -1, flat.shape[1]
        )
