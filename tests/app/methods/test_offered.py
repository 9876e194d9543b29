"""Which tabs and kinds of cases a method has in a run."""

from __future__ import annotations

from app.methods.pages import offered, pages
from app.state.run import RunState
from engine import events as ev

ALL = ["decisions", "pairs", "entries", "results", "training"]


def state_with(*stages: str) -> RunState:
    state = RunState()
    state.apply(ev.WorkerStarted(pid=1, attempt=1, stages=list(stages)))
    return state


def test_of_a_run_that_serves_esm_has_its_decisions_alone() -> None:
    assert offered(pages()["ESM"], state_with("serve")) == ["decisions"]
    assert "results" in offered(pages()["Server"], state_with("serve"))


def test_a_run_with_a_stage_of_the_method_has_all_of_it() -> None:
    assert offered(pages()["ESM"], state_with("mine", "serve")) == ALL
    assert offered(pages()["ESM"], RunState()) == ALL, "before the log is read"
    assert offered(pages()["ESM"], state_with("pool")) == ALL, (
        "nothing of it is in the run, and nothing as a guest"
    )
