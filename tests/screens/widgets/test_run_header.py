"""The first line of a run's screen: what is being loaded, then the model; its number type where that was chosen."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from rich.style import Style

from app.state.run import RunState
from engine import events as ev
from screens.widgets.run_header import RunHeader


def test_loading_then_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    state = RunState()
    session: Any = SimpleNamespace(state=state)
    header = RunHeader(session, "ESM")
    monkeypatch.setattr(header, "_style", lambda name: Style())
    state.apply(ev.Header(schema_version=1, name="demo", run_id="1", seed=1, stages=[], versions={}))
    state.apply(ev.ModelLoading(name="smollm2", size=98_362_432, doing="unpacking", share=0.45))
    assert header._run().plain.endswith("demo/1  loading model smollm2, 98 MB: unpacking 45%")
    loaded: dict[str, Any] = {"name": "smollm2", "backend": "transformers", "device": "cpu", "num_layers": 30}
    state.apply(ev.ModelLoaded(**loaded, hidden_size=576, dtype="bfloat16", dtype_reason="faster"))
    assert header._run().plain.endswith("demo/1  smollm2 on cpu, bfloat16")
    state.apply(ev.ModelLoaded(**loaded, hidden_size=576, dtype="float32"))
    assert header._run().plain.endswith("demo/1  smollm2 on cpu")
