"""Load a pretrained causal model and its tokenizer from a folder, a GGUF file or the hub."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import transformers
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError, safe_open
from transformers.utils import logging as hf_logging
from transformers.utils.hub import cached_file

from engine.errors import ModelError, first_line
from engine.lm.fingerprint import fingerprint, parts_fingerprint
from engine.lm.loading.device import memory_errors, pick_device, pick_dtype
from engine.lm.loading.gguf_file import gguf_file, gguf_parts, lacking_packages
from engine.lm.loading.gguf_reader import reading
from engine.lm.loading.gguf_weights import file_model
from engine.lm.loading.hub_cache import looks_local
from engine.lm.loading.int8_linear import Int8Weights, check_int8, round_linear_layers
from engine.lm.loading.load_progress import reading_bars
from engine.lm.loading.weight_files import weight_files
from engine.lm.loading.whole_files import check_files


@dataclass
class Pretrained:
    """A model on its device, its tokenizer, the ids its generation settings end a text with, its fingerprint, its
    number type, and why it has that ("": it was asked for)."""

    model: Any
    tokenizer: Any
    eos: frozenset[int]
    fingerprint: str
    dtype: str
    dtype_reason: str


def load_pretrained(path: str, device: str, dtype: str) -> Pretrained:
    """Load from a local folder, a GGUF file or a hub name. Weights of a GGUF file are unpacked to `dtype`. Raises
    ModelError."""
    target = pick_device(device)
    rounded: dict[str, Int8Weights] | None = {} if dtype == "int8" else None
    if rounded is not None:
        check_int8(target)
    source, options = _source(path)
    check_files(path)
    with quiet(), _explained(path), _reading(source, options) as opened:
        config = transformers.AutoConfig.from_pretrained(source, **options)
        tokenizer = _tokenizer(source, options)
        number_type, reason = pick_dtype(dtype, target, config)
        how = {"attn_implementation": _attention(config), "output_loading_info": True}
        how["ignore_mismatched_sizes"] = True  # the report names them, and `_check_complete` refuses them
        loaded: Any = opened and file_model(opened(), config, number_type, how, rounded)
        loaded = loaded or transformers.AutoModelForCausalLM.from_pretrained(
            source, dtype=number_type, **how, **options
        )
        model, report = loaded
        _check_complete(path, report)
        model = model.requires_grad_(False).to(target).eval()
        if rounded is not None:
            round_linear_layers(model, rounded)
        eos = _eos_ids(getattr(model, "generation_config", None), model.config)
        name = str(number_type).removeprefix("torch.") if rounded is None else "int8"
        return Pretrained(model, tokenizer, eos, model_fingerprint(path), name, reason)


@dataclass
class TextSide:
    """A model without its weights: tokenizer, the ids its settings end a text with, and the number of rows of its
    logits (padding rows after the last token included)."""

    tokenizer: Any
    eos: frozenset[int]
    vocab_size: int


def load_text_side(path: str) -> TextSide:
    """Load everything but the weights. Raises ModelError."""
    source, options = _source(path)
    check_files(path, steered=False)
    with quiet(), _explained(path), _reading(source, options):
        config = transformers.AutoConfig.from_pretrained(source, **options)
        try:
            generation = None if options else transformers.GenerationConfig.from_pretrained(source)
        except OSError:  # a model without generation settings of its own
            generation = None
        tokenizer = _tokenizer(source, options)
        return TextSide(tokenizer, _eos_ids(generation, config), int(config.get_text_config().vocab_size))


def _source(path: str) -> tuple[str, dict[str, str]]:
    """`path` as a local folder, or else as a hub name, and how transformers is told of a GGUF file in it. Raises
    ModelError for one that does not exist, and where packages for GGUF files are missing."""
    file = gguf_file(path)
    if file is not None:
        lacking = lacking_packages()
        if lacking:
            raise ModelError(
                what=f"a GGUF file needs {' and '.join(lacking)}",
                where=path,
                hint="pip install 'steer-tui[gguf]'",
            )
        return str(file.parent), {"gguf_file": file.name}
    local = Path(path).expanduser()
    if looks_local(path) and not local.is_dir():
        raise ModelError(what="no such model folder", where=path, hint="correct `model.path`")
    return str(local) if local.is_dir() else path, {}


def _attention(config: Any) -> str | None:
    """`eager` for models whose attention scores are capped (Gemma 2): the library's fused attention leaves the cap out.
    None: what the library takes."""
    return "eager" if getattr(config.get_text_config(), "attn_logit_softcapping", None) else None


@contextmanager
def _reading(source: str, options: dict[str, str]) -> Iterator[Callable[[], Any] | None]:
    """While open, the library reads all parts of a GGUF file, and its bars tell how far it is. Yields what `reading`
    does; None for a folder."""
    parts = reading(Path(source) / options["gguf_file"]) if options else nullcontext()
    hf_logging.enable_progress_bar()
    try:
        with reading_bars(), parts as whole_file:
            yield whole_file
    finally:
        hf_logging.disable_progress_bar()


def _tokenizer(source: str, options: dict[str, str]) -> Any:
    tokenizer = transformers.AutoTokenizer.from_pretrained(source, **options)
    # Where its files are missing, the library builds an empty tokenizer without a warning.
    if not tokenizer.encode("a", add_special_tokens=False):
        raise ModelError(
            what="the tokenizer's files are missing: it encodes no text",
            where=source,
            hint="put the model's tokenizer.json (and tokenizer_config.json) beside its config.json",
        )
    return tokenizer


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the library's progress bars and warnings: the engine's only output is its log."""
    bars, level = hf_logging.is_progress_bar_enabled(), hf_logging.get_verbosity()
    hf_logging.disable_progress_bar()
    hf_logging.set_verbosity(logging.CRITICAL)
    try:
        yield
    finally:
        hf_logging.set_verbosity(level)
        if bars:
            hf_logging.enable_progress_bar()


@contextmanager
def _explained(path: str) -> Iterator[None]:
    """Turn what the library raises for a bad model into a ModelError."""
    hint = (
        "`model.path` needs a folder with config.json, tokenizer and safetensors of a causal model, "
        "a whole GGUF file, or a hub name that can be reached or is in the local cache"
    )
    with library_errors("cannot load the model", path, hint), memory_errors(path):
        yield


@contextmanager
def library_errors(what: str, where: str, hint: str) -> Iterator[None]:
    """Turn whatever a model's files make the libraries raise into a ModelError."""
    try:
        yield
    except (SafetensorError, StrictDataclassError, OSError, ValueError, TypeError, AttributeError,
            ArithmeticError, RuntimeError, LookupError, ImportError) as error:  # fmt: skip
        cause = error.__cause__ if isinstance(error, StrictDataclassError) else None  # it names the field
        raise ModelError(what=f"{what}: {first_line(cause or error)}", where=where, hint=hint) from error


def _check_complete(path: str, report: Any) -> None:
    """Raise ModelError for missing weights: the library would only warn and fill them with random numbers."""
    missing = sorted(report["missing_keys"])
    wrong = sorted(name for name, *_ in report["mismatched_keys"])
    faults = {"missing": missing, "of another shape than config.json says": wrong}
    named = [f"{len(names)} {fault} ({', '.join(names[:3])})" for fault, names in faults.items() if names]
    if named:
        raise ModelError(
            what=f"weights do not fit the model: {'; '.join(named)}",
            where=path,
            hint="copy or download the model again: config.json and weights must belong together",
        )


def _eos_ids(generation: Any, config: Any) -> frozenset[int]:
    """End-of-sequence ids of the generation settings and of the configuration, none to several."""
    ids: set[int] = set()
    for settings in (generation, config.get_text_config()):
        value = getattr(settings, "eos_token_id", None)
        ids |= set(value) if isinstance(value, (list, tuple)) else {value} if value is not None else set()
    return frozenset(ids)


def model_fingerprint(path: str) -> str:
    """Fingerprint of the model in a folder, a GGUF file or of a hub name, the same for every backend. Raises
    ModelError."""
    file = gguf_file(path)
    if file is not None:
        return parts_fingerprint(gguf_parts(file))
    config, weights = _files(path)
    return fingerprint(config, weights)


def parameter_count(path: str) -> int:
    """Parameters in the model's weight files, without loading them; 0 for files other than safetensors."""
    _, weights = _files(path)
    count = 0
    for file in weights:
        if file.suffix == ".safetensors":
            with safe_open(file, framework="numpy") as tensors:
                count += sum(math.prod(tensors.get_slice(name).get_shape()) for name in tensors.keys())  # noqa: SIM118
    return count


def _files(path: str) -> tuple[Path, list[Path]]:
    """config.json and the weight files of a local folder or of a hub name's snapshot."""
    source, _ = _source(path)
    config = Path(source) / "config.json"
    if not config.is_file():
        config = Path(str(cached_file(source, "config.json")))
    # A hub snapshot's folder holds exactly the files that were fetched for this revision.
    return config, weight_files(config.parent)
