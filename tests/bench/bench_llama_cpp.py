"""An exported GGUF control vector in llama.cpp itself, against this program's own steering of the same weights.

    python -m tests.bench.bench_llama_cpp FOLDER MODEL.gguf

FOLDER holds llama.cpp's shared libraries (libllama, libllama-common, libggml and a CPU backend, release 0.5.0). MODEL
is a llama model with any quantization: its weights are written out as float32, so that both sides compute with the same
numbers. llama.cpp's own loader reads the exported file and its own adapter adds the vector, to every token; here the
hook adds it to every token, too. Prints the largest difference of the last token's logits without and with the vector,
for three layers, what the vector moves them by, and how far ours at a neighbouring layer would be off.
"""

from __future__ import annotations

import ctypes
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from engine.lm.protocol import Vector
from engine.vectors.formats import vector_file
from engine.vectors.layer_vectors import LayerVectors

TEXTS = ("The capital of France is", "12 + 7 = 19\n\n19 - 4 = ", "My dog is called Rex, and he likes")
_LOADER = "_Z26common_control_vector_loadRKSt6vectorI31common_control_vector_load_infoSaIS0_EE"


_LOG = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)


class _Opaque(ctypes.Structure):
    """Parameters by value, of which only the defaults are used. Larger than any release's, which costs nothing."""

    _fields_ = [("bytes", ctypes.c_uint64 * 64)]


class _Batch(ctypes.Structure):
    _fields_ = [
        ("n_tokens", ctypes.c_int32), ("token", ctypes.c_void_p), ("embd", ctypes.c_void_p), ("pos", ctypes.c_void_p),
        ("n_seq_id", ctypes.c_void_p), ("seq_id", ctypes.c_void_p), ("logits", ctypes.c_void_p),
    ]  # fmt: skip


class _String(ctypes.Structure):
    """libstdc++'s std::string, its characters elsewhere."""

    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_size_t), ("room", ctypes.c_size_t * 2)]


class _LoadInfo(ctypes.Structure):
    _fields_ = [("strength", ctypes.c_float), ("fname", _String)]


class _Pointers(ctypes.Structure):
    """libstdc++'s std::vector."""

    _fields_ = [("first", ctypes.c_void_p), ("last", ctypes.c_void_p), ("end", ctypes.c_void_p)]


class _Loaded(ctypes.Structure):
    _fields_ = [("n_embd", ctypes.c_int32), ("data", _Pointers)]


class LlamaCpp:
    """A model in llama.cpp, on the CPU."""

    def __init__(self, folder: Path, model: Path) -> None:
        def library(name: str) -> ctypes.CDLL:
            [path] = folder.glob(name)
            return ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)

        library("libggml-base*.so*")
        library("libggml.*so*").ggml_backend_load_all_from_path(str(folder).encode())
        self.lib, self.common = library("libllama.*so*"), library("libllama-common.so*")
        for name in ("llama_model_default_params", "llama_context_default_params"):
            getattr(self.lib, name).restype = _Opaque
        self.lib.llama_model_load_from_file.restype = ctypes.c_void_p
        self.lib.llama_model_load_from_file.argtypes = [ctypes.c_char_p, _Opaque]
        self.lib.llama_init_from_model.restype = ctypes.c_void_p
        self.lib.llama_init_from_model.argtypes = [ctypes.c_void_p, _Opaque]
        self.lib.llama_batch_get_one.restype = _Batch
        self.lib.llama_decode.argtypes = [ctypes.c_void_p, _Batch]
        self.lib.llama_get_logits_ith.restype = ctypes.POINTER(ctypes.c_float)
        self.lib.llama_get_logits_ith.argtypes = [ctypes.c_void_p, ctypes.c_int32]
        self.lib.llama_set_adapter_cvec.argtypes = [
            ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int32, ctypes.c_int32, ctypes.c_int32,
        ]  # fmt: skip
        self._silent = _LOG(lambda level, text, data: None)
        self.lib.llama_log_set(self._silent, None)
        params = self.lib.llama_model_default_params()
        self.model = self.lib.llama_model_load_from_file(str(model).encode(), params)
        assert self.model, "llama.cpp did not load the model"

    def logits(self, tokens: Sequence[int], vocab: int, control: Path | None, layers: int) -> np.ndarray:
        """Of the last token, under the control vector of a file."""
        context = self.lib.llama_init_from_model(self.model, self.lib.llama_context_default_params())
        assert context
        self.lib.llama_set_n_threads(ctypes.c_void_p(context), 1, 1)
        if control is not None:
            loaded = self._read(control)
            size = (loaded.data.last - loaded.data.first) // 4
            done = self.lib.llama_set_adapter_cvec(context, loaded.data.first, size, loaded.n_embd, 1, layers)
            assert done == 0, "llama.cpp refused the control vector"
        ids = (ctypes.c_int32 * len(tokens))(*tokens)
        assert self.lib.llama_decode(context, self.lib.llama_batch_get_one(ids, len(tokens))) == 0
        found = np.ctypeslib.as_array(self.lib.llama_get_logits_ith(context, -1), (vocab,)).copy()
        self.lib.llama_free(ctypes.c_void_p(context))
        return found

    def _read(self, path: Path) -> _Loaded:
        """By llama.cpp's own loader."""
        name = str(path).encode()
        infos = (_LoadInfo * 1)(_LoadInfo(1.0, _String(name, len(name))))
        start = ctypes.addressof(infos)
        given = _Pointers(start, start + ctypes.sizeof(infos), start + ctypes.sizeof(infos))
        load = getattr(self.common, _LOADER)
        load.restype, load.argtypes = _Loaded, [ctypes.POINTER(_Pointers)]
        loaded = load(ctypes.byref(given))
        assert loaded.n_embd > 0, "llama.cpp's loader refused the file"
        return loaded


def as_float32(source: Path, target: Path) -> None:
    """The same model with every tensor written out."""
    from gguf import GGUFReader, GGUFValueType, GGUFWriter, quants

    reader = GGUFReader(source)
    architecture = reader.fields["general.architecture"].contents()
    writer = GGUFWriter(target, architecture)
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        kind = field.types[0]
        inner = field.types[-1] if kind == GGUFValueType.ARRAY else None
        value = 0 if name == "general.file_type" else field.contents()
        writer.add_key_value(name, value, kind, sub_type=inner)
    for tensor in reader.tensors:
        writer.add_tensor(
            tensor.name, np.ascontiguousarray(quants.dequantize(tensor.data, tensor.tensor_type), np.float32)
        )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@torch.no_grad()
def our_logits(network: Any, tokens: Sequence[int], steer: tuple[int, Vector] | None) -> np.ndarray:
    """Of the last token, the vector added to the layer's output at every token."""
    handle = None
    if steer is not None:
        layer, vector = steer

        def add(module: object, args: object, output: Any) -> Any:
            hidden = output[0] if isinstance(output, tuple) else output
            hidden = hidden + torch.from_numpy(vector)
            return (hidden, *output[1:]) if isinstance(output, tuple) else hidden

        handle = network.model.layers[layer].register_forward_hook(add)
    logits = network(input_ids=torch.tensor([list(tokens)])).logits[0, -1].float().numpy()
    if handle is not None:
        handle.remove()
    return logits


def main() -> None:
    if len(sys.argv) != 3 or not list(Path(sys.argv[1]).glob("libllama.*so*")):
        print("llama.cpp: no libllama in the folder, skipped")
        return
    folder, source = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as work:
        model = Path(work) / "model.gguf"
        as_float32(source, model)
        network: Any = AutoModelForCausalLM.from_pretrained(
            source.parent, gguf_file=source.name, dtype=torch.float32
        ).eval()
        tokenizer: Any = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
        theirs = LlamaCpp(folder, model)
        config = network.config
        random = np.random.default_rng(0)
        for layer in (1, config.num_hidden_layers // 2, config.num_hidden_layers - 2):
            direction = random.standard_normal(config.hidden_size)
            vector = (20 * direction / np.linalg.norm(direction)).astype(np.float32)
            path = Path(work) / "vector.gguf"
            path.write_bytes(vector_file("gguf", LayerVectors({layer: vector}), "bench", 1.0))
            plain, steered, moved, beside = [], [], [], []
            for text in TEXTS:
                tokens = tokenizer.encode(text)
                before, after = (our_logits(network, tokens, s) for s in (None, (layer, vector)))
                plain.append(np.abs(theirs.logits(tokens, len(before), None, 0) - before).max())
                own = theirs.logits(tokens, len(before), path, config.num_hidden_layers)
                steered.append(np.abs(own - after).max())
                moved.append(np.abs(after - before).max())
                beside += [
                    np.abs(own - our_logits(network, tokens, (other, vector))).max()
                    for other in (layer - 1, layer + 1)
                ]
            print(
                f"layer {layer:2} of 0 to {config.num_hidden_layers - 1}: logits differ by {max(plain):.1e} without, "
                f"{max(steered):.1e} with the vector, which moves them by {min(moved):.1f} to {max(moved):.1f}; "
                f"from ours at a neighbouring layer by at least {min(beside):.1e}",
                flush=True,
            )


if __name__ == "__main__":
    main()
