"""One thing that a check looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from engine.errors import ConfigError, SteerError

Kind = Literal["here", "absent", "wrong"]


@dataclass(frozen=True)
class Finding:
    """`kind`: `here`, not here yet (`absent`: the configuration is right, the machine is not ready), or `wrong`.

    `where`: the field that asks for it; `mend`: what to do.
    """

    kind: Kind
    what: str
    where: str
    mend: str = ""


@dataclass
class Findings:
    """Gathers findings of calls that may raise SteerErrors: each becomes what is wrong at a field."""

    found: list[Finding] = field(default_factory=list)

    @contextmanager
    def at(self, where: str) -> Iterator[None]:
        """What is raised in the block is wrong at `where`."""
        try:
            yield
        except ConfigError as error:
            self.found += [
                Finding("wrong", f"{one.value}, expected {one.allowed}", one.where) for one in error.problems
            ]
        except SteerError as error:
            self.found.append(Finding("wrong", f"{error.what} ({error.where})", where, error.mend))

    def here(self, what: str, where: str) -> None:
        """Something is as it should be."""
        self.found.append(Finding("here", what, where))

    def absent(self, what: str, where: str, mend: str) -> None:
        """Something is not here yet."""
        self.found.append(Finding("absent", what, where, mend))


def gathered(*checks: Callable[[Findings], None]) -> Iterator[Finding]:
    """The findings of each check in turn."""
    for check in checks:
        findings = Findings()
        check(findings)
        yield from findings.found
