"""The levers that finished runs left, on one model, and answers with a choice of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from engine.config.config import Config
from engine.errors import DataError
from engine.esm.online.control_point import Decider
from engine.esm.online.variants import Variant
from engine.events import DecisionTaken
from engine.levers.deltas_lever import DeltasLever
from engine.levers.esm_lever import EsmLever, esm_did
from engine.levers.evidence_lever import EvidenceLever
from engine.levers.in_flight_batch import InFlight, InFlightBatch
from engine.levers.lever import DELTAS, ESM, EVIDENCE, NOTES, Edited, LeverDid, LeverFit, Message, last_user
from engine.levers.notes_lever import NotesLever, NotesMode
from engine.lm.protocol import LanguageModel

PLAIN = Variant("plain", None)
"""No memory: one uninterrupted text."""
NO_CONVERSATION = "a plain text is no conversation: nothing is added to it"


@dataclass(frozen=True)
class Chosen:
    """Which levers act on a question, and how. `online`: fields of the section `online` that differ from the run's;
    `deltas_scale`: what the deltas are multiplied by; `notes`: when a note is given, None: as in the run."""

    levers: Collection[str]
    online: Mapping[str, Any] = field(default_factory=dict)
    deltas_scale: float = 1.0
    notes: NotesMode | None = None


@dataclass(frozen=True)
class Limits:
    """How long an answer gets, and how it is drawn. None: as in the run."""

    max_tokens: int | None = None
    temperature: float | None = None
    seed: int | None = None
    stops: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prepared:
    """A question ready to be answered. `did`: what the levers did to its prompt. `again`: given the finished answer,
    the question to answer a second time, or what was found; None: the first answer is the answer."""

    text: InFlight
    chosen: Chosen
    did: list[LeverDid]
    again: Callable[[str], Prepared | LeverDid] | None = None


@dataclass(frozen=True)
class Answered:
    """An answer. `finish`: `stop` or `length`; `tokens`: its ids; `decisions`: ESM's, none without it."""

    text: str
    tokens: list[int]
    prompt_tokens: int
    finish: str
    did: list[LeverDid]
    decisions: list[DecisionTaken]


@dataclass(frozen=True)
class Levers:
    """One model with the levers that fit it; `fits` also tells of those that do not, and why. `config`: of the first
    run, for everything that no lever names. `load_levers` makes it."""

    model: LanguageModel
    config: Config
    fits: list[LeverFit]
    esm: EsmLever | None = None
    deltas: DeltasLever | None = None
    notes: NotesLever | None = None
    evidence: EvidenceLever | None = None

    @property
    def model_name(self) -> str:
        """What the model is called to others: of a path, its last part."""
        name = self.model.info.name
        return Path(name).name if Path(name).is_absolute() else name

    @property
    def names(self) -> list[str]:
        """Levers that can be chosen."""
        return [fit.lever for fit in self.fits if fit.fits]

    def count_tokens(self, text: str) -> int:
        """By the model's tokenizer."""
        return len(self.model.tokenizer.encode(text))

    def prepare(
        self, name: str, messages: Sequence[Message], chosen: Chosen, limits: Limits | None = None
    ) -> Prepared:
        """A conversation that ends with a question, as the levers leave it. `name` seeds what is drawn. Several threads
        may prepare. Raises DataError for a lever that is not there, a prompt that is too long, or no question."""
        last_user(messages)
        self._check(chosen)

        def ready(*edits: Edited) -> Prepared:
            prompt = self.model.tokenizer.encode_messages(edits[-1].messages if edits else [*messages])
            return self._in_flight(name, prompt, chosen, limits or Limits(), [edit.did for edit in edits])

        edits: list[Edited] = []
        if EVIDENCE in chosen.levers and self.evidence is not None:
            edits = [self.evidence.add(messages, self.count_tokens)]
        if NOTES not in chosen.levers or self.notes is None:
            return ready(*edits)
        return self._noted(self.notes, messages, chosen.notes or self.notes.run_mode, edits, ready)

    def _noted(
        self,
        notes: NotesLever,
        messages: Sequence[Message],
        mode: NotesMode,
        edits: list[Edited],
        ready: Callable[..., Prepared],
    ) -> Prepared:
        """The controller reads the conversation as it came, before evidence was added."""
        read, edited = notes.read(messages), edits[-1].messages if edits else messages
        if mode != "on_detection":
            return ready(*edits, notes.add(edited, read, mode, self.count_tokens))

        def again(answer: str) -> Prepared | LeverDid:
            seen = notes.after(edited, read, answer, self.count_tokens)
            return seen if isinstance(seen, LeverDid) else ready(*edits, seen)

        return replace(ready(*edits), again=again)

    def prepare_text(self, name: str, text: str, chosen: Chosen, limits: Limits | None = None) -> Prepared:
        """A plain text to go on with. Levers that edit conversations leave it alone."""
        self._check(chosen)
        idle = [lever for lever in (EVIDENCE, NOTES) if lever in chosen.levers]
        did = [LeverDid(lever=lever, acted=False, what=NO_CONVERSATION) for lever in idle]
        return self._in_flight(name, self.model.tokenizer.encode(text), chosen, limits or Limits(), did)

    def _in_flight(
        self, name: str, prompt: list[int], chosen: Chosen, limits: Limits, did: list[LeverDid]
    ) -> Prepared:
        decider = self._decider(chosen, limits, self._room(prompt))
        if DELTAS in chosen.levers and self.deltas is not None:
            did = [self.deltas.did(chosen.deltas_scale), *did]
        return Prepared(InFlight(name, prompt, decider, limits.stops), chosen, did)

    def _room(self, prompt: Sequence[int]) -> int | None:
        """Tokens that the model's context leaves for an answer."""
        context = self.model.info.context
        if not prompt:
            raise DataError(what="the prompt is empty", mend="give a text to go on with")
        if context and len(prompt) >= context - 1:
            raise DataError(
                what=f"the prompt has {len(prompt)} tokens, the model's context {context}",
                mend="shorten the prompt",
            )
        return context - 1 - len(prompt) if context else None

    def _decider(self, chosen: Chosen, limits: Limits, room: int | None) -> Decider:
        esm = self.esm if ESM in chosen.levers else None
        config = esm.config if esm is not None else self.config
        online = config.online.model_copy(update=dict(chosen.online))
        decider = Decider.of(config, PLAIN if esm is None else esm.variant(online))
        budget = limits.max_tokens or decider.budget
        under = (
            self.deltas.processor(chosen.deltas_scale) if DELTAS in chosen.levers and self.deltas else None
        )
        return replace(
            decider,
            online=online,
            points=0 if esm is None else decider.points,
            budget=budget if room is None else min(budget, room),
            temperature=decider.temperature if limits.temperature is None else limits.temperature,
            seed=decider.seed if limits.seed is None else limits.seed,
            processor=under,
        )

    def _check(self, chosen: Chosen) -> None:
        for lever in chosen.levers:
            if lever not in self.names:
                why = next((fit.why for fit in self.fits if fit.lever == lever), "there is no such lever")
                raise DataError(
                    what=f"the lever {lever} is not there: {why}",
                    where="steer",
                    mend=f"choose among: {', '.join(self.names) or 'none'}",
                )

    def answer(self, prepared: Sequence[Prepared]) -> list[Answered]:
        """Answers, written together, in order."""
        batch, current = InFlightBatch(self.model), list(prepared)
        done: dict[int, Answered] = {}
        for one in current:
            batch.add(one.text)
        while len(batch):
            for text in batch.step():
                place = next(i for i, one in enumerate(current) if one.text is text)
                one = current[place]
                further = one.again(text.text) if one.again is not None else None
                if isinstance(further, Prepared):
                    current[place] = further
                    batch.add(further.text)
                    continue
                done[place] = answered(one, further)
        return [done[place] for place in range(len(current))]


def answered(prepared: Prepared, seen: LeverDid | None = None) -> Answered:
    """What a text in flight has become. `seen`: what looking at the finished answer gave."""
    text, answer, steered = prepared.text, prepared.text.answer, ESM in prepared.chosen.levers
    during = [esm_did(answer.decisions, answer.probe_tokens)] if steered else []
    return Answered(
        text=text.text,
        tokens=list(answer.tokens),
        prompt_tokens=len(text.prompt),
        finish=text.finish,
        did=[*during, *prepared.did, *([seen] if seen else [])],
        decisions=list(answer.decisions) if steered else [],
    )
