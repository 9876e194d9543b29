"""The weights of a GGUF file, each unpacked into the model's number type when the library asks for it."""

from __future__ import annotations

import math
import mmap
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import transformers
from torch import Tensor
from transformers.modeling_gguf_pytorch_utils import (
    TENSOR_PROCESSORS,
    TensorProcessor,
    get_gguf_hf_weights_map,
)

CHUNK = 2**15
"""Numbers unpacked at a time: their intermediate results stay in the processor's cache, and torch converts so many on
one thread, without waiting for another on busy cores."""
_TABLES = ("token_embd.weight", "output.weight")
"""The largest tensors. The library changes none of their numbers, so that they need no copy in float32."""

_PRIVATE: Any = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}


@dataclass
class FileWeight:
    """Stands for a tensor until the library takes it with `[...]`, as it takes one of a safetensors file."""

    reader: Any
    packed: Any
    processor: Any
    dtype: torch.dtype

    def __getitem__(self, _: Any) -> Tensor:
        """The tensor as the library's own way unpacks it."""
        if self.packed.name in _TABLES:
            tensor = _mapped(_shape(self.packed), self.dtype)
            _unpack(self.packed, tensor)
        else:
            numbers = _mapped(_shape(self.packed), torch.float32)
            _unpack(self.packed, numbers)
            changed = self.processor.process(weights=numbers.numpy(), name=self.packed.name).weights
            tensor = _mapped(changed.shape, self.dtype).copy_(torch.from_numpy(np.ascontiguousarray(changed)))
        self.reader.forget_pages()
        return tensor


def file_model(reader: Any, config: Any, dtype: torch.dtype, options: dict[str, Any]) -> Any:
    """What `from_pretrained` returns with `options` for an opened file. None where one parameter is made of several
    tensors (experts), or the package has no names for the architecture: the library then reads the file its own
    way."""
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
        names[packed.name]: FileWeight(reader, packed, processor, dtype)
        for packed in reader.tensors
        if packed.name in names
    }
    return type(model).from_pretrained(None, config=config, state_dict=weights, dtype=dtype, **options)


def _shape(packed: Any) -> tuple[int, ...]:
    return tuple(reversed(packed.shape.tolist()))


def _mapped(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """An empty tensor whose memory the system gets back as soon as it is dropped."""
    memory = mmap.mmap(-1, math.prod(shape) * dtype.itemsize, **_PRIVATE)
    return torch.frombuffer(memory, dtype=dtype).view(shape)


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
