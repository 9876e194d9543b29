"""Answers of a run given again under another choice.

`python -m engine what-if RUN` reads requests from standard input, one JSON object a line, and answers each by one
line: an event, which it also appends to `RUN/<system>/what_if.jsonl`, or `{"error": "..."}`. The run's own log and
figures are not touched. `system` says whose answer it is; the other fields are those of the request class in
`engine/<system>/what_if.py`:

    {"system": "esm", "method": "esm", "example": "...", "m": 2, "entries": ["Backward → Forward, step 2"]}
    {"system": "evolution", "iteration": 3, "split": "validation", "example": "...", "of": 1, "scales": [0.5, 1]}
    {"system": "slsm", "conversation": "...", "mode": "baseline", "source": "structured"}
    {"system": "pool", "query": "...", "recorded": [18, 2718], "pairs": [[3, 7]]}
    {"system": "gflownet", "sample_id": "...", "temperature": 2.0}

`levers` is no method: a question is answered with each lever on or off (`engine/services/all_levers.py`).

    {"system": "levers", "question": "Tom has 14 pens and buys 5. How many?", "model": "run"}
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import IO, Any, ClassVar, Protocol

from msgspec.structs import replace
from pydantic import ValidationError

from engine.config.section import Section
from engine.events import AnswerTried, LeversTried, PathsTried, WhatIfTried, encode
from engine.plugins import plugins
from engine.run.directory import RunDirectory
from engine.run.stage import StageContext
from engine.services.line_service import error_line, kept_line, serve_lines
from engine.services.run_context import run_context
from engine.versions import versions


class WhatIfMethod(Protocol):
    """How a method tries another choice. `form`: of its requests; `stage`: whose results they are about; `tried`: from
    a request to the event."""

    form: ClassVar[type[Section]]
    stage: ClassVar[str]

    def __init__(self, context: StageContext) -> None: ...

    def tried(self, request: Any) -> WhatIfTried | AnswerTried | PathsTried | LeversTried: ...


SYSTEMS: Mapping[str, str] = {
    "esm": "engine.esm.what_if:WhatIf",
    "evolution": "engine.evolution.what_if:WhatIf",
    "gflownet": "engine.gflownet.what_if:WhatIf",
    "slsm": "engine.slsm.what_if:WhatIf",
    "pool": "engine.pool.what_if:WhatIf",
    "levers": "engine.services.all_levers:AllLevers",
}
"""Each imported at its first request; those of other packages are entry points (`steer_tui.what_ifs`)."""


def kind_of(system: str) -> type[WhatIfMethod]:
    """What answers for a system. Raises KeyError."""
    others = plugins("what_ifs")
    if system in others:
        return others[system]
    module, _, name = SYSTEMS[system].partition(":")
    return getattr(import_module(module), name)


class OpenWhatIfs:
    """The methods of a run that have been asked about, each loaded at its first request."""

    def __init__(self, run_dir: Path) -> None:
        self._run_dir = run_dir
        self._opened: dict[str, WhatIfMethod] = {}

    def reply(self, line: str) -> bytes:
        """One reply to one line. Raises SteerError for what the run does not have."""
        try:
            request = json.loads(line)
            system = request.pop("system", "esm")
            kind = kind_of(system)
        except (ValueError, AttributeError, KeyError, TypeError):
            return error_line(f"this is not a request; `system` is one of {', '.join(SYSTEMS)}")
        if system not in self._opened:
            self._opened[system] = kind(run_context(self._run_dir, kind.stage))
        tries = self._opened[system]
        try:
            asked = tries.form.model_validate_json(json.dumps(request))
        except ValidationError as error:
            first = error.errors()[0]
            return error_line(f"this is not a request: {'.'.join(map(str, first['loc']))}: {first['msg']}")
        event = tries.tried(asked)
        if not isinstance(event, LeversTried) and not event.exact:
            event = replace(event, difference=event.difference + self._versions())
        encoded = encode(replace(event, time=time.time(), stage=tries.stage))
        return kept_line(self._run_dir / system / "what_if.jsonl", encoded)

    def _versions(self) -> str:
        """Which programs are others than when the run was made, as the end of a sentence."""
        directory = RunDirectory(self._run_dir)
        then = directory.read().versions if directory.record.is_file() else {}
        now = versions()
        changed = [name for name in now if then.get(name, now[name]) != now[name]]
        words = ", ".join(f"{name} was {then[name]}, is {now[name]}" for name in changed)
        return f"; {words}" if changed else ""


def serve(run_dir: Path, requests: IO[str], replies: IO[bytes]) -> None:
    """Answer until the requests end."""
    serve_lines(lambda: OpenWhatIfs(run_dir).reply, requests, replies)
