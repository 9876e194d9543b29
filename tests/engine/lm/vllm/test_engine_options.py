"""What vLLM's engine is started with. No vLLM is needed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from engine.config.models.model import ModelSection
from engine.errors import ModelError
from engine.lm.vllm import engine_options
from engine.lm.vllm.engine_options import _arguments, _check_device, _last_line
from tests.exactly import exactly

ALWAYS = {
    "enable_prefix_caching": True, "model": "m", "dtype": "float32", "max_num_seqs": 8,
    "worker_extension_cls": "engine.lm.vllm.worker_extension.SteeringExtension", "disable_log_stats": True,
    "skip_tokenizer_init": True,
}  # fmt: skip
GRAPHS = {"compilation_config": {"mode": 0, "cudagraph_mode": "FULL_DECODE_ONLY"}}


def arguments(on_cpu: bool, **vllm: Any) -> dict[str, Any]:
    section = ModelSection.model_validate({"backend": "vllm", "path": "m", "max_num_seqs": 8, "vllm": vllm})
    return _arguments("m", "float32", section, on_cpu)


def test_on_a_cpu_and_on_a_gpu() -> None:
    on_cpu = arguments(True, max_model_len=512, gpu_memory_utilization=0.5)
    assert on_cpu == ALWAYS | {"max_model_len": 512, "block_size": 32, "enforce_eager": True}
    on_gpu = ALWAYS | {"block_size": 16, "gpu_memory_utilization": 0.5}
    assert arguments(False, gpu_memory_utilization=0.5) == on_gpu | GRAPHS


def test_what_a_user_sets_is_kept() -> None:
    own = {"enable_prefix_caching": False, "quantization": "fp8"}
    assert {name: arguments(True, engine_args=own)[name] for name in own} == own
    eager = arguments(False, engine_args={"enforce_eager": True})
    assert eager["enforce_eager"] is True and "compilation_config" not in eager


@pytest.mark.parametrize(
    ("on_cpu", "own", "named"),
    [(False, {"model": "x", "block_size": 8}, "block_size, model"), (True, {"enforce_eager": False}, "enforce_eager")],
)  # fmt: skip
def test_what_is_set_here_cannot_be_set(on_cpu: bool, own: dict[str, Any], named: str) -> None:
    said = f"{named}: steer-tui sets this itself (model.vllm.engine_args): use the model section's own fields"
    with pytest.raises(ModelError, match=exactly(said)):
        arguments(on_cpu, engine_args=own)


def test_a_device_that_this_vllm_does_not_run_on() -> None:
    for device, on_cpu in (("auto", True), ("cpu", True), ("auto", False), ("cuda", False)):
        _check_device(device, on_cpu)
    for device, runs in (("cuda", "cpu"), ("cpu", "cuda")):
        said = (
            f"the installed vLLM runs on {runs}, not on {device} (model.device): set it to auto or {runs}, or "
            "install the other build of vLLM"
        )
        with pytest.raises(ModelError, match=exactly(said)):
            _check_device(device, runs == "cpu")


def test_the_last_line_of_an_error_is_its_reason() -> None:
    assert _last_line(ValueError("Traceback\n\n  no room \n")) == "no room"
    assert _last_line(ValueError()) == "ValueError"


def test_variables_that_the_user_has_set_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    here = {"VLLM_LOGGING_LEVEL": "DEBUG", "OMP_NUM_THREADS": "7"}
    monkeypatch.setattr(engine_options, "os", SimpleNamespace(environ=here, getpid=lambda: 42))
    engine_options._set_environment(0)
    assert (here["VLLM_LOGGING_LEVEL"], here["VLLM_HOST_IP"], here["OMP_NUM_THREADS"]) == (
        "DEBUG",
        "127.0.0.1",
        "7",
    )
    assert here[engine_options.OWNER] == "42"
    engine_options._set_environment(3)
    assert here["OMP_NUM_THREADS"] == "3"
