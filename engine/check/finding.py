"""The result of checking a single thing, and a collector of results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from engine.errors import ConfigError, ModelAbsent, SteerError

Kind = Literal["here", "absent", "wrong"]


@dataclass(frozen=True)
class Finding:
    """`kind`: `here`, not here yet (`absent`: the configuration is right, the machine is not ready), or `wrong`.

    `where`: the field that needs it; `hint`: how to correct it. `fetched`: what is not here yet comes by itself when a
    stage needs it, given a network.
    """

    kind: Kind
    what: str
    where: str
    hint: str = ""
    fetched: bool = False

    @property
    def stops(self) -> bool:
        """Whether a stage fails, or lacks something, unless somebody does something about it."""
        return self.kind == "wrong" or (self.kind == "absent" and not self.fetched)


@dataclass
class Findings:
    """Collects findings, and turns SteerErrors of calls into findings of kind `wrong`."""

    all: list[Finding] = field(default_factory=list)

    @contextmanager
    def at(self, where: str) -> Iterator[None]:
        """Turn an error raised in the block into a finding of kind `wrong` at `where`."""
        try:
            yield
        except ConfigError as error:
            for problem in error.problems:
                self.wrong(f"{problem.value}, expected {problem.allowed}", problem.where)
        except ModelAbsent as error:
            self.absent(error.what, where, error.hint)
        except SteerError as error:
            self.wrong(f"{error.what} ({error.where})", where, error.hint)

    def here(self, what: str, where: str) -> None:
        """Add a finding for something that is right and here."""
        self.all.append(Finding("here", what, where))

    def wrong(self, what: str, where: str, hint: str = "") -> None:
        """Add a finding for something that is wrong."""
        self.all.append(Finding("wrong", what, where, hint))

    def absent(self, what: str, where: str, hint: str, fetched: bool = False) -> None:
        """Add a finding for something that is not here yet."""
        self.all.append(Finding("absent", what, where, hint, fetched))


def run_checks(*checks: Callable[[Findings], None]) -> Iterator[Finding]:
    """The findings of each check in turn."""
    for check in checks:
        findings = Findings()
        check(findings)
        yield from findings.all
