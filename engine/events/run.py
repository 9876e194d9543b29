"""Events of every run: its workers, its stages, the model it loads, a training's steps."""

from __future__ import annotations

import msgspec

from engine.events.base import Event
from engine.events.verdict import Verdict


class Header(Event, tag=True, kw_only=True, frozen=True):
    """First line of a log."""

    schema_version: int
    name: str
    run_id: str
    seed: int
    stages: list[str]
    versions: dict[str, str] = {}


class WorkerStarted(Event, tag=True, kw_only=True, frozen=True):
    """A worker process started on the run, for the first time (`attempt` 1) or again."""

    pid: int
    attempt: int
    stages: list[str]


class WorkerStopped(Event, tag=True, kw_only=True, frozen=True):
    """A worker's last event. `status`: finished, stopped (on request) or failed. All finished work is on disk."""

    status: str
    kept: str = ""


class StageStarted(Event, tag=True, kw_only=True, frozen=True):
    """A stage started; an earlier attempt had finished `done` of `total` `unit`s."""

    total: int
    done: int = 0
    unit: str = "items"


class StageProgress(Event, tag=True, kw_only=True, frozen=True):
    """`tokens`: generated so far by this attempt at the stage (for throughput), `elapsed`: its seconds."""

    done: int
    total: int
    tokens: int = 0
    elapsed: float = 0.0
    note: str = ""


class StageFinished(Event, tag=True, kw_only=True, frozen=True):
    """A stage finished. `seconds`: of all attempts; `summary`: its figures by name; `files`: what it wrote, relative to
    the run directory; `verdict`: what its method reached, of a stage that evaluates one."""

    seconds: float
    summary: dict[str, float | int | str] = {}
    files: list[str] = []
    verdict: Verdict | None = None


class StageFinishedBefore(Event, tag=True, kw_only=True, frozen=True):
    """The stage was finished by an earlier attempt."""


class StageSkipped(StageFinishedBefore, tag=True, kw_only=True, frozen=True):
    """Its name in older logs; no stage was skipped by the user there."""


class StagesChosen(Event, tag=True, kw_only=True, frozen=True):
    """What the user chose about the run's stages, whole each time. `stale`: to be done again, or resting on such a
    stage; their results so far are in the folder `kept`, below the run's. `skipped`: left out for now."""

    stale: list[str] = []
    skipped: list[str] = []
    kept: str = ""


class StageBegunAgain(Event, tag=True, kw_only=True, frozen=True):
    """A stale stage is done anew from here on: what the log has of it before is of an earlier attempt, whose files are
    in the folder `kept`, below the run's."""

    kept: str


class StagePaused(Event, tag=True, kw_only=True, frozen=True):
    """The stage is paused between two items."""


class StageResumed(Event, tag=True, kw_only=True, frozen=True):
    """The stage continues after a pause."""


class StageStopped(Event, tag=True, kw_only=True, frozen=True):
    """The stage was asked to stop; `done` items are kept. `texts` of `tokens` were under way: the next attempt goes on
    with them where they are `kept`, and writes them again where they are not."""

    done: int = 0
    texts: int = 0
    tokens: int = 0
    kept: bool = False


class StageFailed(Event, tag=True, kw_only=True, frozen=True):
    """A stage failed: what is wrong, where, and how to correct it; `traceback` only for unforeseen errors."""

    what: str
    where: str = ""
    hint: str = msgspec.field(default="", name="mend")
    traceback: str = ""


class Notice(Event, tag=True, kw_only=True, frozen=True):
    """A message to the user. `level`: info or warning."""

    text: str
    level: str = "info"


class Preparing(Event, tag=True, kw_only=True, frozen=True):
    """What the worker does before a stage's own work can begin; it holds until a model loads or the stage starts."""

    doing: str


class ModelLoading(Event, tag=True, kw_only=True, frozen=True):
    """A language model is being loaded. `size`: bytes of its weights on this machine, 0 if they are not here;
    `doing`: what is under way, `share` of it done (0 to 1), as far as the library reports it."""

    name: str
    size: int = 0
    doing: str = ""
    share: float = 0.0


class ModelLoaded(Event, tag=True, kw_only=True, frozen=True):
    """A language model was loaded: its identity and its size; `dtype_reason`: why this number type, where it was left
    open."""

    name: str
    backend: str
    device: str
    dtype: str
    num_layers: int
    hidden_size: int
    parameters: int = 0
    fingerprint: str = ""
    seconds: float = 0.0
    dtype_reason: str = ""


class ModelWorking(Event, tag=True, kw_only=True, frozen=True):
    """A call to a language model goes on: `done` of its `sequences` are written. `tokens_per_second` of the last
    seconds; `text`: the newest of a sequence under way.

    With a `role` it is the answers of that role's server, since the stage began in this attempt: `done` of `sequences`
    that were asked for, `under_way` are at the server; `tokens_per_second` over the time with requests under way."""

    sequences: int
    done: int
    tokens: int
    tokens_per_second: float
    text: str = ""
    role: str = ""
    under_way: int = 0


class ServerUsage(Event, tag=True, kw_only=True, frozen=True):
    """What a stage's role (reflector, judge, controller, model, vision) has used of its server so far, over all
    attempts at the run.

    `requests` were sent, further attempts (`retries`) included; `failures`: given up after the last attempt. Tokens
    are as the server counted them; `unreported` answers came without a count. `seconds` passed with requests under way,
    `waited` before them (backoff, Retry-After, limits). `cost` in the prices' unit: None where no price is configured.
    """

    role: str
    server: str
    model: str
    requests: int = 0
    answered: int = 0
    retries: int = 0
    failures: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    unreported: int = 0
    seconds: float = 0.0
    waited: float = 0.0
    cost: float | None = None
