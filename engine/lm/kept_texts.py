"""Texts that a model has finished, kept on disk until the stage has stored what it makes of them.

A call to a model can take an hour on a slow machine, and a stage writes its results after the call. A worker that is
killed meanwhile finds here what its predecessor had finished, and decodes only what is missing. The file is emptied
whenever the stage reports progress: then everything before is in the stage's own files.

What was decoded in a few seconds is not kept: it is decoded again, together with the same texts as before, and so with
the same bits. Where texts are missing beside it, a text's states may differ in their last bit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.errors import DataError
from engine.files import append_jsonl, recover_records
from engine.lm.protocol import (
    Between,
    Branch,
    Completion,
    Finished,
    LanguageModel,
    LogitsProcessor,
    ModelInfo,
    Prefixes,
    Request,
    Sampling,
    Steer,
)

FIRST = 10.0
"""Seconds of work since the stage last stored its results before anything is written."""

EVERY = 2.0
"""Seconds between two writes after that."""


class Record(msgspec.Struct, frozen=True):
    """A finished text. `request`: digest of everything that decides it. `states`: float32 of `shape`."""

    request: str
    tokens: list[int]
    logprobs: list[float]
    text: str
    ended: str
    state_ends: list[int] = []
    shape: list[int] = []
    states: bytes = b""


class KeptTexts:
    """The finished texts of one run, in `path`."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """Read what an earlier worker left. A file that is something else is deleted: it saves time, no more."""
        self._path = path
        self._clock = clock
        self._records: dict[str, Record] = {}
        self._unwritten: list[Record] = []
        self._written = clock()
        """When the file was last written; before that, when the work began that it would hold."""
        self._on_disk = path.exists()
        if self._on_disk:
            try:
                self._records = {record.request: record for record in recover_records(path, Record)}
            except DataError:
                self.clear()

    def __len__(self) -> int:
        """Texts that are kept."""
        return len(self._records)

    def find(self, request: str) -> Completion | None:
        """The finished text of a request."""
        record = self._records.get(request)
        return None if record is None else _completion(record)

    def begin(self) -> None:
        """A call to the model begins."""
        if not self._unwritten and not self._on_disk:
            self._written = self._clock()

    def add(self, request: str, completion: Completion) -> None:
        """Keep a text; it is on disk some seconds later."""
        self._unwritten.append(_record(request, completion))
        if self._clock() - self._written >= (EVERY if self._on_disk else FIRST):
            self.write()

    def leave(self) -> None:
        """A call was ended before its end: write what is worth it."""
        if self._on_disk or self._clock() - self._written >= FIRST:
            self.write()

    def write(self) -> None:
        """Bring what is kept to the disk."""
        self._written = self._clock()
        if not self._unwritten:
            return
        append_jsonl(self._path, map(msgspec.to_builtins, self._unwritten))
        self._records |= {record.request: record for record in self._unwritten}
        self._unwritten, self._on_disk = [], True

    def clear(self) -> None:
        """Everything is in the stage's own files."""
        self._records, self._unwritten, self._written = {}, [], self._clock()
        if self._on_disk:
            self._path.unlink(missing_ok=True)
            self._on_disk = False


@dataclass(frozen=True)
class NamedProcessor:
    """A logits processor with the digest of its source, so that texts under it can be kept."""

    process: LogitsProcessor
    digest: str

    def __call__(self, written: Sequence[Sequence[int]], logits: object) -> object:
        return self.process(written, logits)


class KeepingModel:
    """A `LanguageModel` that keeps what it has finished in `kept`."""

    def __init__(self, model: LanguageModel, kept: KeptTexts) -> None:
        self.model = model
        self.kept = kept
        self.info = model.info
        self.tokenizer = model.tokenizer

    @property
    def between(self) -> Between | None:
        return self.model.between

    @between.setter
    def between(self, between: Between | None) -> None:
        self.model.between = between

    def generate(
        self,
        requests: Sequence[Request],
        *,
        logits_processor: LogitsProcessor | None = None,
        checkpoint: Callable[[], None] | None = None,
        finished: Finished | None = None,
    ) -> list[Completion]:
        """As the model's own. With a processor that has no name nothing is kept: it may depend on anything."""
        if logits_processor is not None and not isinstance(logits_processor, NamedProcessor):
            return self.model.generate(
                requests, logits_processor=logits_processor, checkpoint=checkpoint, finished=finished
            )
        under, process = "", None
        if logits_processor is not None:
            under, process = logits_processor.digest, logits_processor.process
        names = [_digest(self.info, r.prompt, (_request(r), under)) for r in requests]
        done = {i: text for i, name in enumerate(names) if (text := self.kept.find(name)) is not None}
        missing = [i for i in range(len(requests)) if i not in done]

        def keep(place: int, text: Completion) -> None:
            self.kept.add(names[missing[place]], text)
            if finished is not None:
                finished(missing[place], text)

        self.kept.begin()
        try:
            _report(done, finished)
            new = self.model.generate(
                [requests[i] for i in missing],
                logits_processor=process,
                checkpoint=checkpoint,
                finished=keep,
            )
        except BaseException:
            self.kept.leave()
            raise
        done.update(zip(missing, new, strict=True))
        return [done[i] for i in range(len(requests))]

    def states(
        self, sequences: Sequence[Sequence[int]], positions: Sequence[Sequence[int]], layers: Sequence[int]
    ) -> list[NDArray[np.float32]]:
        """As the model's own."""
        return self.model.states(sequences, positions, layers)

    def open(self, prompts: Sequence[Sequence[int]]) -> Prefixes:
        """Open prefixes whose continuations are kept, too."""
        return _KeepingPrefixes(self, self.model.open(prompts), prompts)

    def close(self) -> None:
        """End the model's processes, where it has any."""
        cast("Any", self.model).close()


class _KeepingPrefixes:
    """`Prefixes` that finds finished continuations. One that is found has no key/values: `extend` then prefills its
    tokens, which is the same for an unsteered continuation; steered ones whose key/values are wanted are not kept."""

    def __init__(self, model: KeepingModel, prefixes: Prefixes, prompts: Sequence[Sequence[int]]) -> None:
        self._model = model
        self._kept = model.kept
        self._prefixes = prefixes
        self._tokens = {row: list(prompt) for row, prompt in enumerate(prompts)}

    def add(self, prompt: Sequence[int]) -> int:
        row = self._prefixes.add(prompt)
        self._tokens[row] = list(prompt)
        return row

    def states(self, rows: Sequence[int], layers: Sequence[int]) -> NDArray[np.float32]:
        return self._prefixes.states(rows, layers)

    def branch(self, branches: Sequence[Branch], finished: Finished | None = None) -> list[Completion]:
        names = [self._name(branch) for branch in branches]
        done = {i: text for i, name in enumerate(names) if name and (text := self._kept.find(name))}
        missing = [i for i in range(len(branches)) if i not in done]

        def keep(place: int, text: Completion) -> None:
            if name := names[missing[place]]:
                self._kept.add(name, replace(text, kept=None))
            if finished is not None:
                finished(missing[place], text)

        self._kept.begin()
        try:
            _report(done, finished)
            new = self._prefixes.branch([_anew(branches[i]) for i in missing], finished=keep)
        except BaseException:
            self._kept.leave()
            raise
        done.update(zip(missing, new, strict=True))
        return [done[i] for i in range(len(branches))]

    def extend(self, row: int, committed: Completion) -> None:
        self._prefixes.extend(row, committed)
        self._tokens[row] += committed.tokens

    def close(self, rows: Sequence[int]) -> None:
        self._prefixes.close(rows)
        for row in rows:
            self._tokens.pop(row, None)

    def _name(self, branch: Branch) -> str:
        """Empty for what cannot be kept: the key/values of a steered continuation, and a text under a processor."""
        if branch.processor is not None or (branch.steer is not None and branch.keep):
            return ""
        earlier = branch.continue_from.tokens if branch.continue_from else None
        what = (_sampling(branch.sampling), _steer(branch.steer), branch.seed, earlier)
        return _digest(self._model.info, self._tokens[branch.row], what)


def _report(done: dict[int, Completion], finished: Finished | None) -> None:
    """Hand on what was finished before the call."""
    if finished is not None:
        for place, text in done.items():
            finished(place, text)


def _anew(branch: Branch) -> Branch:
    """The branch, from its beginning where the part that it continues has no key/values any more."""
    earlier = branch.continue_from
    return branch if earlier is None or earlier.kept is not None else replace(branch, continue_from=None)


def _request(request: Request) -> Any:
    captured = (request.capture_layers, request.capture_after)
    return (_sampling(request.sampling), _steer(request.steer), request.seed, captured)


def _sampling(sampling: Sampling) -> Any:
    return (sampling.max_tokens, sampling.temperature, sampling.stop)


def _steer(steer: Steer | None) -> Any:
    if steer is None:
        return None
    vector = sha256(np.ascontiguousarray(steer.vector, dtype=np.float32).tobytes()).hexdigest()
    return (vector, steer.layer, steer.scale)


def _digest(info: ModelInfo, prompt: Sequence[int], what: Any) -> str:
    data = msgspec.json.encode((info.fingerprint, info.dtype, list(prompt), what))
    return sha256(data).hexdigest()[:32]


def _record(request: str, completion: Completion) -> Record:
    states = completion.states
    return Record(
        request,
        completion.tokens,
        completion.logprobs,
        completion.text,
        completion.ended,
        completion.state_ends,
        [] if states is None else list(states.shape),
        b"" if states is None else np.ascontiguousarray(states, dtype=np.float32).tobytes(),
    )


def _completion(record: Record) -> Completion:
    states = None
    if record.shape:
        states = np.frombuffer(record.states, dtype=np.float32).reshape(record.shape).copy()
    return Completion(
        record.tokens, record.logprobs, record.text, record.ended, states, list(record.state_ends)
    )
