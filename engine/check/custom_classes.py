"""Check the classes of the user's own that a configuration names: they are imported and made, as a run would."""

from __future__ import annotations

from collections.abc import Iterator

from engine.check.finding import Finding, Findings, run_checks
from engine.config.config import Config
from engine.custom_class import is_custom, make_custom


def check_custom_classes(config: Config) -> Iterator[Finding]:
    """A finding for each class that one of the run's stages takes."""
    named = [one for one in _named(config, set(config.run.stages)) if is_custom(one[1])]
    return run_checks(*((lambda findings, one=one: _check(findings, *one)) for one in named))


def _named(config: Config, stages: set[str]) -> Iterator[tuple[str, str, type]]:
    if "evolve" in stages:
        from engine.evolution.judges.judge import Judge
        from engine.evolution.reflectors.reflector import Reflector

        yield "evolution.judge.kind", config.evolution.judge.kind, Judge
        yield "evolution.reflector.kind", config.evolution.reflector.kind, Reflector
    if "slsm" in stages:
        from engine.slsm.controllers.controller import MemoryController
        from engine.slsm.judges.judge import AnswerJudge

        yield "slsm.judge.kind", config.slsm.judge.kind, AnswerJudge
        yield "slsm.controller.kind", config.slsm.controller.kind, MemoryController
    if "answer" in stages and is_custom(config.answer.reader):
        from engine.gflownet.answer.readers import Reader  # imports torch: only where there is one

        yield "answer.reader", config.answer.reader, Reader


def _check(findings: Findings, where: str, kind: str, protocol: type) -> None:
    with findings.at(where):
        make_custom(kind, where, protocol)
        findings.here(f"{kind} can be used", where)
