"""Steering by token cluster, as a logits processor: adds DELTAS[c] to the logit of every token of cluster c.

`ClusterDeltaProcessor` is for an SGLang server (send `ClusterDeltaProcessor.to_str()` with each request),
`ClusterDeltaLogitsProcessor` for `model.generate` of transformers. The file needs torch and nothing else.
"""

from __future__ import annotations

import base64
import json
import pickle
import zlib
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

# ---- values
VOCAB_SIZE = 4
DELTAS = {"0": 0.0, "1": 0.0, "2": 0.0}
PACKED_CLUSTER_IDS = "eNpjYGT6DwABCgED"
# ---- end of values

CLUSTER_IDS = zlib.decompress(base64.b64decode(PACKED_CLUSTER_IDS))
"""One byte per row of the logits: the row's cluster, or 255 for a padding row."""


def added_to_logits() -> torch.Tensor:
    """What is added to the logits: float32 (VOCAB_SIZE,)."""
    table = torch.zeros(256)
    for cluster, delta in DELTAS.items():
        table[int(cluster)] = delta
    return table[torch.tensor(list(CLUSTER_IDS))]


@lru_cache(maxsize=8)
def _row(device: torch.device, dtype: torch.dtype, width: int) -> torch.Tensor:
    """`added_to_logits` for logits of this kind. An error here would end the server that asks, so a row of
    another width than the vocabulary's is cut, or filled with zeros."""
    row = torch.zeros(width)
    row[:VOCAB_SIZE] = added_to_logits()[:width]
    return row.to(device=device, dtype=dtype)


def _steered(logits: torch.Tensor) -> torch.Tensor:
    return logits + _row(logits.device, logits.dtype, logits.shape[-1])


def _base(package: str, module: str, name: str) -> Any:
    """The library's base class where the library is installed, else `object`."""
    try:
        return getattr(import_module(module), name) if find_spec(package) else object
    except Exception:  # installed, but not for this machine
        return object


SGLangBase: Any = _base("sglang", "sglang.srt.sampling.custom_logit_processor", "CustomLogitProcessor")
TransformersBase: Any = _base("transformers", "transformers", "LogitsProcessor")


class ClusterDeltaProcessor(SGLangBase):
    """For SGLang: `--enable-custom-logit-processor`."""

    def __call__(self, logits: torch.Tensor, custom_param_list: Any = None) -> torch.Tensor:
        """`logits`: (rows, vocabulary); the parameters of the requests are not used."""
        return _steered(logits)

    @classmethod
    def to_str(cls) -> str:
        """The string that SGLang decodes into this class. It carries this file's text: pickling the class
        itself would name a module that the server does not have, or bytecode of another Python."""
        return json.dumps({"callable": pickle.dumps(_Text(Path(__file__).read_text("utf-8"))).hex()})


class ClusterDeltaLogitsProcessor(TransformersBase):
    """For transformers."""

    def __call__(self, input_ids: Any, scores: torch.Tensor) -> torch.Tensor:
        """`scores`: (rows, vocabulary); what was written so far is not used."""
        return _steered(scores)


class _Text:
    """Pickles as the program in `text`, and is unpickled as its class for SGLang."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        run = "(lambda names: (exec({}, names), names['ClusterDeltaProcessor'])[1])({{'__name__': 'processor'}})"
        return eval, (run.format(repr(self.text)),)
