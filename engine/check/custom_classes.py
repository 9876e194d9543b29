"""Check the classes of the user's own that a configuration names: they are imported and made, as a run would."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from pkgutil import resolve_name

from engine.check.finding import Finding, Findings, run_checks
from engine.config.config import Config
from engine.custom_class import is_custom, make_custom

_FIELDS = {
    "evolution.judge.kind": ("evolve", "engine.evolution.judges.judge:Judge"),
    "evolution.reflector.kind": ("evolve", "engine.evolution.reflectors.reflector:Reflector"),
    "slsm.judge.kind": ("slsm", "engine.slsm.judges.judge:AnswerJudge"),
    "slsm.controller.kind": ("slsm", "engine.slsm.controllers.controller:MemoryController"),
    "answer.reader": ("answer", "engine.gflownet.answer.readers:Reader"),
}
"""The fields that take a class, each with its stage and the protocol, imported only where a class is named."""


def check_custom_classes(config: Config) -> Iterator[Finding]:
    """A finding for each class that one of the run's stages takes."""
    named = [
        (field, kind, protocol)
        for field, (stage, protocol) in _FIELDS.items()
        if stage in config.run.stages and is_custom(kind := attrgetter(field)(config))
    ]
    return run_checks(*((lambda findings, one=one: _check(findings, *one)) for one in named))


def _check(findings: Findings, where: str, kind: str, protocol: str) -> None:
    with findings.at(where):
        make_custom(kind, where, resolve_name(protocol))
        findings.here(f"{kind} can be used", where)
