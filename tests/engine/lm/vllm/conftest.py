"""Real vLLM engines on small models, each started once. Run by `make test-vllm`, in an environment of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Literal

import pytest

from engine.config.models.model import ModelSection, VllmSection
from engine.lm.transformers.model import TransformersModel
from tests.literal_model import LiteralModel
from tests.tiny_models import save_tiny

SMALL = {"max_model_len": 512}


@contextmanager
def running(
    folder: Path,
    dtype: Literal["float32", "bfloat16", "float16"] = "float32",
    max_num_seqs: int = 64,
    *,
    ahead: bool | None = None,
    **options: Any,
) -> Iterator[Any]:
    """An engine on the model in a folder; its processes end with the context (each takes about 2 GB). `ahead`: as on a
    GPU, and whether it schedules a pass before it knows the tokens of the last."""
    from engine.lm.vllm.engine_options import ENVIRONMENT, start

    ENVIRONMENT["VLLM_CPU_KVCACHE_SPACE"] = "1"
    section = ModelSection(
        backend="vllm", path=str(folder), dtype=dtype, max_num_seqs=max_num_seqs, threads=1,
        vllm=VllmSection(**{**SMALL, **options}),
    )  # fmt: skip
    with nullcontext() if ahead is None else _as_on_gpu(ahead):
        model = start(str(folder), section)
    try:
        assert model.engine.vllm_config.scheduler_config.async_scheduling is bool(ahead)
        yield model
    finally:
        model.close()


@contextmanager
def _as_on_gpu(ahead: bool) -> Iterator[None]:
    """vLLM's CPU platform turns scheduling ahead off: on again, in a worker whose CUDA is stood in for."""
    from vllm.platforms.cpu import CpuPlatform  # pyright: ignore[reportMissingImports]

    from engine.lm.vllm import engine_options

    plain, arguments = CpuPlatform.check_and_update_config.__func__, engine_options._arguments

    def keep(platform: Any, config: Any) -> None:
        plain(platform, config)
        config.scheduler_config.async_scheduling = ahead

    def extended(*given: Any) -> dict[str, Any]:
        return arguments(*given) | {"worker_extension_cls": "tests.engine.lm.vllm.as_on_gpu.AsOnGpu"}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CpuPlatform, "check_and_update_config", classmethod(keep))
        patch.setattr(engine_options, "_arguments", extended)
        yield


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A random model whose heads vLLM's CPU attention takes."""
    return lambda architecture: save_tiny(
        tmp_path_factory.mktemp(architecture), architecture, hidden_size=128
    )


def literal_of(folder: Path) -> LiteralModel:
    """The slow reference on the same weights, in float64."""
    model = TransformersModel.load(str(folder), device="cpu", dtype="float64")
    return LiteralModel(model.network.model, list(model.network.layers), model.tokenizer, model.info)
