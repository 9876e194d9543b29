"""The formats' names, their files' endings, and how each tool takes a file. Light, for the command line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    """`use`: how the tool takes FILE, with the layer's counting in its words."""

    suffix: str
    use: str


FORMATS = {
    "gguf": Format(
        ".gguf",
        "llama-cli … --control-vector-scaled FILE:STRENGTH. `direction.N` is block N counted from 0; no layer 0",
    ),
    "repeng": Format(
        ".gguf", "ControlVector.import_gguf(FILE); ControlModel(model, [N]), layers counted from 0"
    ),
    "safetensors": Format(".safetensors", "a tensor `direction.N` for each layer N, counted from 0"),
}
