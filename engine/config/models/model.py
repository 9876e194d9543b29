"""Configuration of a language model: its weights and its backend."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from engine.config.section import NonNegativeInt, PositiveInt, Section


class VllmSection(Section):
    FIXED = ("cpu_kvcache_gib",)
    REMOVED = {
        "tensor_parallel_size": 1, "pipeline_parallel_size": 1, "max_num_batched_tokens": None, "block_size": None,
        "enable_prefix_caching": True, "enforce_eager": False,
    }  # fmt: skip
    INSTEAD = (
        "leave it out, or name it in `engine_args` (GiB: in the environment variable VLLM_CPU_KVCACHE_SPACE)"
    )

    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] = Field(
        default=0.9,
        description="Share of a GPU's memory for weights and key/values. Models stay loaded while their shares fit.",
    )
    cpu_kvcache_gib: ClassVar[int] = 4
    """GiB for key/values where vLLM runs on the CPU and VLLM_CPU_KVCACHE_SPACE is not set."""
    max_model_len: PositiveInt | None = Field(
        default=None, description="Longest sequence in tokens; none: the model's own maximum."
    )
    engine_args: dict[str, bool | int | float | str] = Field(
        default={},
        description="Further arguments of vLLM's engine, such as `quantization`, `tensor_parallel_size`, "
        "`pipeline_parallel_size`, `max_num_batched_tokens`, `enforce_eager` or `enable_prefix_caching`.",
    )

    def __hash__(self) -> int:
        """Sections are keys of loaded models; a dict alone has no hash."""
        return hash(self.model_dump_json())


class ModelSection(Section):
    backend: Literal["embedded", "transformers", "vllm"] = Field(
        default="embedded",
        description="`embedded`: the built-in small model; `transformers`, `vllm`: any local or hub "
        "model, on that engine.",
    )
    path: str | None = Field(
        default=None,
        description="Folder, GGUF file, smollm2, or hub name; embedded: arithmetic (the default), "
        "statements or dialogues.",
    )
    device: Literal["auto", "cpu", "cuda", "mps"] = Field(default="auto", description="Where the model runs.")
    dtype: Literal["auto", "float32", "bfloat16", "float16", "int8"] = Field(
        default="auto",
        description="Weights' number type. `int8`: linear layers with weights and inputs of 8 bits, on a CPU.",
    )
    max_num_seqs: PositiveInt = Field(
        default=256, description="Sequences in a device batch, probes included."
    )
    threads: NonNegativeInt = Field(
        default=0,
        description="CPU threads; 0: 1 for models up to 20 M parameters, else torch's default.",
    )
    vllm: VllmSection = Field(default=VllmSection(), description="How vLLM runs it, with backend `vllm`.")

    @model_validator(mode="after")
    def _needs_path(self) -> ModelSection:
        if self.backend != "embedded" and not self.path:
            raise ValueError(
                f"`model.path` for backend `{self.backend}`: a model folder, a GGUF file or a hub name"
            )
        if self.backend == "vllm" and self.dtype == "int8":
            raise ValueError("`model.dtype: int8` is for the backends `embedded` and `transformers`")
        return self
