from types import SimpleNamespace
from typing import Any

import pytest

from engine.config.model import ModelSection
from engine.events import Event, ModelLoaded
from engine.lm.protocol import ModelInfo
from engine.lm.shared_models import SharedModels


class Loaded:
    """A model of which only loading and ending matter."""

    def __init__(self, section: ModelSection) -> None:
        self.section = section
        self.info = ModelInfo(
            name=str(section.path), backend=section.backend, device="cpu", dtype="float32", num_layers=1,
            hidden_size=1, vocab_size=1, parameters=1, fingerprint="",
        )  # fmt: skip
        self.closed = False

    def close(self) -> None:
        self.closed = True


def section(path: str, backend: str = "vllm", share: float = 0.9) -> ModelSection:
    return ModelSection.model_validate(
        {"path": path, "backend": backend, "vllm": {"gpu_memory_utilization": share}}
    )


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`shared(section)` is the loaded model; `shared.events` what was told."""
    monkeypatch.setattr("engine.lm.load.load_model", Loaded)
    events: list[Event] = []
    models = SharedModels(events.append)
    return SimpleNamespace(models=models, events=events)


def test_a_model_is_loaded_once_and_told_of(shared: Any) -> None:
    assert shared.models(section("a")) is shared.models(section("a"))
    (loaded,) = shared.events
    assert isinstance(loaded, ModelLoaded) and loaded.name == "a"


def test_a_vllm_whose_share_is_needed_is_ended(shared: Any) -> None:
    first, plain, second = (
        shared.models(one) for one in (section("a"), section("b", "transformers"), section("c"))
    )
    assert (first.closed, plain.closed, second.closed) == (True, False, False)
    assert shared.models(section("b", "transformers")) is plain
    again = shared.models(section("a"))
    assert again is not first and second.closed


def test_those_that_fit_together_are_kept(shared: Any) -> None:
    first, second = shared.models(section("a", share=0.4)), shared.models(section("b", share=0.4))
    third = shared.models(section("c", share=0.4))
    assert (first.closed, second.closed, third.closed) == (True, False, False)
