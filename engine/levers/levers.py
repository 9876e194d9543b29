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
from engine.events import DecisionTaken, LeverFit
from engine.levers.deltas_lever import DeltasLever
from engine.levers.esm_lever import EsmLever, esm_did
from engine.levers.evaluated_prompt import EvaluatedPrompt, PromptUsed, as_sent, with_evidence
from engine.levers.evidence_lever import EvidenceLever
from engine.levers.in_flight_batch import InFlight, InFlightBatch
from engine.levers.lever import DELTAS, ESM, EVIDENCE, NOTES, Edited, LeverDid, Message, last_user
from engine.levers.notes_lever import NotesLever, NotesMode
from engine.levers.token_logprobs import LogprobRecorder, Nucleus, ScoredToken
from engine.lm.protocol import LanguageModel

PLAIN = Variant("plain", None)
"""No memory: one uninterrupted text."""
NO_CONVERSATION = "a plain text is no conversation: nothing is added to it"


class PromptTooLong(DataError):
    """A prompt that leaves no room for an answer in the model's context."""


@dataclass(frozen=True)
class Chosen:
    """Which levers act on a question, and how. `online`: fields of the section `online` that differ from the run's;
    `notes`: when a note is given, None: as in the run; `prompt`: whether a question is asked as the run's evaluation
    asked."""

    levers: Collection[str]
    online: Mapping[str, Any] = field(default_factory=dict)
    notes: NotesMode | None = None
    prompt: bool = True


@dataclass(frozen=True)
class Limits:
    """How long an answer gets, and how it is drawn. None: as in the run. `logprobs`: of how many tokens for each place
    beside the answer's own, None: of none; `echo`: the prompt stands before the answer."""

    max_tokens: int | None = None
    temperature: float | None = None
    seed: int | None = None
    stops: tuple[str, ...] = ()
    top_p: float = 1.0
    logprobs: int | None = None
    echo: bool = False


@dataclass(frozen=True)
class Prepared:
    """A question ready to be answered. `did`: what the levers did to its prompt. `again`: given the finished answer,
    the question to answer a second time, or what was found; None: the first answer is the answer."""

    text: InFlight
    chosen: Chosen
    did: list[LeverDid]
    prompt: PromptUsed
    again: Callable[[str], Prepared | LeverDid] | None = None


@dataclass(frozen=True)
class SteeredAnswer:
    """An answer. `finish`: `stop` or `length`; `tokens`: its ids, without those of a stop string; `decisions`: ESM's,
    none without it; `scored`: its tokens, and those of the prompt if it is repeated; None if not asked for."""

    text: str
    tokens: list[int]
    prompt_tokens: int
    finish: str
    did: list[LeverDid]
    decisions: list[DecisionTaken]
    prompt: PromptUsed
    scored: list[ScoredToken] | None = None


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
    prompt: EvaluatedPrompt | None = None

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
        asked, used = self._asked(messages, chosen)
        edits: list[Edited] = []
        if EVIDENCE in chosen.levers and self.evidence is not None:
            edits = [self.evidence.add(messages, self.count_tokens)]
            if edits[0].did.acted:
                asked, used = edits[0].messages, with_evidence(messages)
            edits = [replace(edits[0], messages=asked)]

        def ready(*edits: Edited) -> Prepared:
            prompt = self.model.tokenizer.encode_messages(edits[-1].messages if edits else asked)
            did = [edit.did for edit in edits]
            return self._in_flight(name, prompt, chosen, limits or Limits(), did, used)

        if NOTES not in chosen.levers or self.notes is None:
            return ready(*edits)
        return self._noted(self.notes, messages, asked, chosen.notes or self.notes.run_mode, edits, ready)

    def _asked(self, messages: Sequence[Message], chosen: Chosen) -> tuple[list[Message], PromptUsed]:
        """The messages as the run's evaluation would ask them."""
        if self.prompt is None:
            return as_sent(messages, "no run here evaluated a task")
        if not chosen.prompt:
            return as_sent(messages, "the request wants it so")
        return self.prompt.applied(messages)

    def _noted(
        self,
        notes: NotesLever,
        messages: Sequence[Message],
        asked: Sequence[Message],
        mode: NotesMode,
        edits: list[Edited],
        ready: Callable[..., Prepared],
    ) -> Prepared:
        """The controller reads the conversation as it came; `asked`: as the model gets it."""
        read = notes.read(messages)
        if mode != "on_detection":
            return ready(*edits, notes.add(asked, read, mode, self.count_tokens))

        def again(answer: str) -> Prepared | LeverDid:
            seen = notes.after(asked, read, answer, self.count_tokens)
            return seen if isinstance(seen, LeverDid) else ready(*edits, seen)

        return replace(ready(*edits), again=again)

    def prepare_text(
        self, name: str, text: str | Sequence[int], chosen: Chosen, limits: Limits | None = None
    ) -> Prepared:
        """A plain text, or its tokens, to go on with. Levers that edit conversations leave it alone."""
        self._check(chosen)
        limits = limits or Limits()
        idle = [lever for lever in (EVIDENCE, NOTES) if lever in chosen.levers]
        did = [LeverDid(lever=lever, acted=False, what=NO_CONVERSATION) for lever in idle]
        prompt = self.model.tokenizer.encode(text) if isinstance(text, str) else self._known(text)
        used = PromptUsed(False, why="as sent: a plain text is gone on with")
        ready = self._in_flight(name, prompt, chosen, limits, did, used)
        if limits.echo:
            ready.text.echo = text if isinstance(text, str) else "".join(self.model.tokenizer.pieces(prompt))
        return ready

    def _known(self, tokens: Sequence[int]) -> list[int]:
        size = self.model.info.vocab_size
        if strange := next((token for token in tokens if not 0 <= token < size), None):
            hint = f"give token ids from 0 to {size - 1}"
            raise DataError(what=f"there is no token {strange}", where="prompt", hint=hint)
        return [*tokens]

    def _in_flight(
        self,
        name: str,
        prompt: list[int],
        chosen: Chosen,
        limits: Limits,
        did: list[LeverDid],
        used: PromptUsed,
    ) -> Prepared:
        decider = self._decider(chosen, limits, self._room(prompt))
        if DELTAS in chosen.levers and self.deltas is not None:
            did = [self.deltas.did(), *did]
        text = InFlight(name, prompt, decider, limits.stops)
        if limits.logprobs is not None:
            text.recorder = LogprobRecorder(
                self.model.tokenizer, limits.logprobs, decider.processor, decider.committing
            )
            text.decider = replace(decider, committing=text.recorder)
        return Prepared(text, chosen, did, used)

    def _room(self, prompt: Sequence[int]) -> int | None:
        """Tokens that the model's context leaves for an answer."""
        context = self.model.info.context
        if not prompt:
            raise DataError(what="the prompt is empty", hint="give a text to go on with")
        if context and len(prompt) >= context - 1:
            what = f"the prompt has {len(prompt)} tokens, this model's maximum context length is {context}"
            what += f", of which a prompt may have {context - 2}"
            raise PromptTooLong(what=what, hint="shorten the prompt")
        return context - 1 - len(prompt) if context else None

    def _decider(self, chosen: Chosen, limits: Limits, room: int | None) -> Decider:
        esm = self.esm if ESM in chosen.levers else None
        config = esm.config if esm is not None else self.config
        online = config.online.model_copy(update=dict(chosen.online))
        decider = Decider.of(config, PLAIN if esm is None else esm.variant(online))
        budget = decider.budget if limits.max_tokens is None else limits.max_tokens
        temperature = decider.temperature if limits.temperature is None else limits.temperature
        under = self.deltas.processor if DELTAS in chosen.levers and self.deltas else None
        bounded = temperature > 0 and limits.top_p < 1
        return replace(
            decider,
            online=online,
            points=0 if esm is None else decider.points,
            budget=budget if room is None else min(budget, room),
            temperature=temperature,
            seed=decider.seed if limits.seed is None else limits.seed,
            processor=under,
            committing=Nucleus(under, temperature, limits.top_p) if bounded else under,
        )

    def _check(self, chosen: Chosen) -> None:
        for lever in chosen.levers:
            if lever not in self.names:
                why = next((fit.why for fit in self.fits if fit.lever == lever), "there is no such lever")
                raise DataError(
                    what=f"the lever {lever} is not there: {why}",
                    where=f"steer.{lever}",
                    hint=f"choose among: {', '.join(self.names) or 'none'}",
                )

    def answer(self, prepared: Sequence[Prepared]) -> list[SteeredAnswer]:
        """Answers, written together, in order."""
        batch, current = InFlightBatch(self.model), list(prepared)
        done: dict[int, SteeredAnswer] = {}
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
                done[place] = self.answered(one, further)
        return [done[place] for place in range(len(current))]

    def answered(self, prepared: Prepared, seen: LeverDid | None = None) -> SteeredAnswer:
        """What a text in flight has become. `seen`: what looking at the finished answer gave."""
        text, answer, steered = prepared.text, prepared.text.answer, ESM in prepared.chosen.levers
        during = [esm_did(answer.decisions, answer.probe_tokens)] if steered else []
        tokens = self._within(text)
        scored = [*text.prompt_scored, *text.scored[: len(tokens)]] if text.recorder else None
        return SteeredAnswer(
            text=text.echo + text.text,
            tokens=tokens,
            prompt_tokens=len(text.prompt),
            finish=text.finish,
            did=[*during, *prepared.did, *([seen] if seen else [])],
            decisions=list(answer.decisions) if steered else [],
            prompt=prepared.prompt,
            scored=scored,
        )

    def _within(self, text: InFlight) -> list[int]:
        """The tokens that make up the answer: of one that a stop string ended, those before it."""
        tokens, decode = list(text.answer.tokens), self.model.tokenizer.decode
        while text.stopped and tokens and decode(tokens[:-1]).startswith(text.text):
            tokens.pop()
        return tokens
