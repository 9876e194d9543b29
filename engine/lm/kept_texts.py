"""Texts that a model has written, kept on disk until the stage has stored what it makes of them.

A call to a model can take an hour on a slow machine, and a stage writes its results after the call. A worker that is
killed meanwhile finds here what its predecessor had finished, and decodes only what is missing; one that was stopped
left the texts under way as well, which go on where they ended. The file is emptied whenever the stage reports progress:
then everything before is in the stage's own files.

What was decoded in a few seconds is not kept: it is decoded again, together with the same texts as before, and so with
the same bits. Where texts are missing beside it, or its beginning was kept, a text's states may differ in their last
bit.
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
    Unfinished,
    ignore,
)

FIRST = 10.0
"""Seconds of work since the stage last stored its results before anything is written."""

EVERY = 2.0
"""Seconds between two writes after that."""


class Record(msgspec.Struct, frozen=True):
    """A text. `request`: digest of everything that decides it. `states`: float32 of `shape`. `begun`: it goes on."""

    request: str
    tokens: list[int]
    logprobs: list[float]
    text: str
    ended: str
    state_ends: list[int] = []
    shape: list[int] = []
    states: bytes = b""
    begun: bool = False


@dataclass(frozen=True)
class UnderWay:
    """Texts that were under way when a call was ended, and their tokens. `kept`: they go on there; else they are
    written again."""

    texts: int = 0
    tokens: int = 0
    kept: bool = False


class KeptTexts:
    """The texts of one run that no stage has stored yet, in `path`."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """Read what an earlier worker left. A file that is something else is deleted: it saves time, no more."""
        self._path = path
        self._clock = clock
        self._records: dict[str, Record] = {}
        self._unwritten: list[Record] = []
        self.under_way = UnderWay()
        """Of the call that was ended last."""
        self._written = clock()
        """When the file was last written; before that, when the work began that it would hold."""
        self._called = clock()
        """When the last call began: its texts may be older than what the stage stored last."""
        self._on_disk = path.exists()
        if self._on_disk:
            try:
                self._records = {record.request: record for record in recover_records(path, Record)}
            except DataError:
                self.clear()

    def __len__(self) -> int:
        """Finished texts that are kept."""
        return sum(not record.begun for record in self._records.values())

    def in_words(self) -> str:
        """`12 finished, 16 begun (1,248 tokens)`; empty where nothing is kept."""
        begun = [len(record.tokens) for record in self._records.values() if record.begun]
        parts = [f"{len(self):,} finished"] if len(self) else []
        parts += [f"{len(begun):,} begun ({sum(begun):,} tokens)"] if begun else []
        return ", ".join(parts)

    def find(self, request: str) -> Completion | None:
        """The finished text of a request."""
        record = self._records.get(request)
        return None if record is None or record.begun else _completion(record)

    def begun(self, request: str, sampling: Sampling) -> Completion | None:
        """What is written of a request."""
        record = self._records.get(request)
        if record is None or not record.begun or not 0 < len(record.tokens) <= sampling.max_tokens:
            return None
        return _completion(record)

    def call(
        self,
        names: Sequence[str],
        decode: Callable[[Sequence[int], Finished, Unfinished], list[Completion]],
        finished: Finished,
        unfinished: Unfinished,
    ) -> list[Completion]:
        """The texts of a call by their requests' names (empty: nothing of it is kept). Those that are here are told
        first, the others are decoded and kept."""
        done = {i: text for i, name in enumerate(names) if name and (text := self.find(name)) is not None}
        missing = [i for i in range(len(names)) if i not in done]
        under_way: list[tuple[str, Completion]] = []

        def keep(place: int, text: Completion) -> None:
            if name := names[missing[place]]:
                self.add(name, text)
            finished(missing[place], text)

        def leave(place: int, text: Completion) -> None:
            under_way.append((names[missing[place]], text))
            unfinished(missing[place], text)

        self.begin()
        try:
            for number, text in done.items():
                finished(number, text)
            new = decode(missing, keep, leave)
        except BaseException:
            self.leave(under_way)
            raise
        done.update(zip(missing, new, strict=True))
        return [done[i] for i in range(len(names))]

    def begin(self) -> None:
        """A call to the model begins."""
        self.under_way, self._called = UnderWay(), self._clock()
        if not self._unwritten and not self._on_disk:
            self._written = self._clock()

    def add(self, request: str, completion: Completion) -> None:
        """Keep a text; it is on disk some seconds later."""
        self._unwritten.append(_record(request, completion))
        if self._is_due():
            self.write()

    def leave(self, under_way: Sequence[tuple[str, Completion]] = ()) -> None:
        """A call was ended before its end: write what is worth it, with the texts that are under way."""
        is_worth_it = self._on_disk or self._is_due() or self._clock() - self._called >= FIRST
        tokens = sum(len(text.tokens) for _, text in under_way)
        self.under_way = UnderWay(
            len(under_way), tokens, is_worth_it and all(request for request, _ in under_way)
        )
        if is_worth_it:
            self._unwritten += [_record(request, text, begun=True) for request, text in under_way if request]
            self.write()

    def _is_due(self) -> bool:
        return self._clock() - self._written >= (EVERY if self._on_disk else FIRST)

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
    def between(self) -> Between:
        return self.model.between

    @between.setter
    def between(self, between: Between) -> None:
        self.model.between = between

    def generate(
        self,
        requests: Sequence[Request],
        *,
        logits_processor: LogitsProcessor | None = None,
        finished: Finished = ignore,
        unfinished: Unfinished = ignore,
    ) -> list[Completion]:
        """As the model's own. With a processor that has no name nothing is kept: it may depend on anything."""
        process, under = logits_processor, "" if logits_processor is None else None
        if isinstance(logits_processor, NamedProcessor):
            process, under = logits_processor.process, logits_processor.digest
        names = [
            "" if under is None else _digest(self.info, r.prompt, (_request(r), under)) for r in requests
        ]

        def decode(missing: Sequence[int], finished: Finished, unfinished: Unfinished) -> list[Completion]:
            return self.model.generate(
                [
                    replace(requests[i], begun=self.kept.begun(names[i], requests[i].sampling))
                    for i in missing
                ],
                logits_processor=process,
                finished=finished,
                unfinished=unfinished,
            )

        return self.kept.call(names, decode, finished, unfinished)

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

    def branch(
        self,
        branches: Sequence[Branch],
        finished: Finished = ignore,
        unfinished: Unfinished = ignore,
    ) -> list[Completion]:
        names = [self._name(branch) for branch in branches]

        def decode(missing: Sequence[int], finished: Finished, unfinished: Unfinished) -> list[Completion]:
            left = [_anew(branches[i], self._kept.begun(names[i], branches[i].sampling)) for i in missing]
            return self._prefixes.branch(left, finished, unfinished)

        return self._kept.call(names, decode, finished, unfinished)

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


def _anew(branch: Branch, begun: Completion | None) -> Branch:
    """The branch, from where it was left, or its beginning, where the part that it continues has no key/values any
    more."""
    earlier = branch.continue_from
    if earlier is not None and earlier.kept is not None:
        return branch
    return replace(branch, continue_from=None, begun=begun)


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


def _record(request: str, completion: Completion, begun: bool = False) -> Record:
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
        begun,
    )


def _completion(record: Record) -> Completion:
    states = None
    if record.shape:
        states = np.frombuffer(record.states, dtype=np.float32).reshape(record.shape).copy()
    return Completion(
        record.tokens, record.logprobs, record.text, record.ended, states, list(record.state_ends)
    )
