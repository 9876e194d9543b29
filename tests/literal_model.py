"""The language model's operations in their plainest form: no key/values, no batch, one full pass a token.

Slow on purpose: it is what the fast paths are compared with. Steering is recomputed in every pass, by adding
the vector at the token it was injected at. `LiteralModel.guesses` makes it less slow: one pass over a text and a
guessed continuation gives what a pass after each of its tokens would. Which token follows is decided as without it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from engine.lm.protocol import (
    Between,
    Branch,
    Completion,
    Finished,
    LogitsProcessor,
    ModelInfo,
    Request,
    Sampling,
    Steer,
    Tokenizer,
    Unfinished,
    go_on,
    ignore,
)
from engine.lm.sampling import uniforms

Injection = tuple[int, Steer]
"""(token index, what is added there)."""
_Pass = tuple[tuple[int, ...], tuple[tuple[int, int, float, bytes], ...]]
"""Its tokens, and what is added where."""
_REMEMBERED = 20_000


class LiteralModel:
    """`LanguageModel` over a Hugging Face causal model and its decoder layers."""

    def __init__(self, model: Any, layers: Sequence[Any], tokenizer: Tokenizer, info: ModelInfo) -> None:
        self._model = model
        self._layers = layers
        self._tokenizer = tokenizer
        self._info = info
        self.between: Between = go_on
        self.guesses: Sequence[Sequence[int]] = ()
        """Texts that may be written, with their prompts. A wrong one changes nothing."""
        self._done: OrderedDict[_Pass, tuple[Any, NDArray[np.float32]]] = OrderedDict()

    @property
    def info(self) -> ModelInfo:
        return self._info

    @property
    def tokenizer(self) -> Tokenizer:
        return self._tokenizer

    def run(self, tokens: Sequence[int], injections: Sequence[Injection]) -> tuple[Any, NDArray[np.float32]]:
        """One pass: of the last token its logits (1, vocab) and its residual stream (layers, hidden_size). A pass that
        was made is remembered: a commit that goes on as a probe began asks for the same ones."""
        added = tuple(map(_added, injections))
        asked = (tuple(tokens), added)
        if asked not in self._done:
            text = self._guess(tokens)
            logits, states = self._run(text, injections)
            # No token sees a later one: after each token of the guess stands what a pass up to it would give.
            for last in range(len(tokens) - 1, len(text)):
                done = logits[last : last + 1].clone(), states[:, last].copy()
                self._done[tuple(text[: last + 1]), added] = done
            while len(self._done) > _REMEMBERED:
                self._done.popitem(last=False)
        return self._done[asked]

    def _guess(self, tokens: Sequence[int]) -> list[int]:
        """The longest guess that begins with `tokens`; where there is none, `tokens`."""
        begun = [text for text in self.guesses if list(text[: len(tokens)]) == list(tokens)]
        return list(max(begun, key=len, default=tokens))

    def _run(self, tokens: Sequence[int], injections: Sequence[Injection]) -> tuple[Any, NDArray[np.float32]]:
        """Logits (tokens, vocab), and the residual stream (layers, tokens, hidden_size)."""
        seen: list[Any] = []

        def hook(layer: int) -> Any:
            def look(module: object, args: object, output: Any) -> Any:
                hidden = output[0] if isinstance(output, tuple) else output
                for position, steer in injections:
                    if steer.layer == layer:
                        added = torch.as_tensor(np.asarray(steer.vector)) * steer.scale
                        hidden = hidden.clone()
                        hidden[0, position] += added.to(hidden)
                seen.append(hidden[0].detach().float().numpy().copy())
                return (hidden, *output[1:]) if isinstance(output, tuple) else hidden

            return look

        handles = [layer.register_forward_hook(hook(index)) for index, layer in enumerate(self._layers)]
        try:
            with torch.no_grad():
                output = self._model(input_ids=torch.tensor([list(tokens)]), use_cache=False)
        finally:
            for handle in handles:
                handle.remove()
        return output.logits[0].float(), np.stack(seen)

    def go_on(
        self,
        prompt: Sequence[int],
        injections: Sequence[Injection],
        sampling: Sampling,
        seed: int,
        processor: LogitsProcessor | None = None,
    ) -> Completion:
        """Continue a prompt by one full pass a token."""
        tokens: list[int] = []
        logprobs: list[float] = []
        ended = "length"
        while len(tokens) < sampling.max_tokens:
            logits = self.run([*prompt, *tokens], injections)[0]
            if processor is not None:
                logits: Any = processor([tokens], logits.clone())
            scores = logits[0].double().log_softmax(-1).numpy()
            token = _pick(logits[0].numpy(), sampling.temperature, seed, len(tokens))
            tokens.append(token)
            logprobs.append(float(scores[token]))
            if token in self._tokenizer.eos_token_ids:
                ended = "eos"
                break
            if sampling.stop is not None and sampling.stop in self._tokenizer.decode(tokens):
                ended = "stop"
                break
        text = self._tokenizer.decode(tokens[:-1] if ended == "eos" else tokens)
        return Completion(tokens=tokens, logprobs=logprobs, text=text, ended=ended)

    def generate(
        self,
        requests: Sequence[Request],
        *,
        logits_processor: LogitsProcessor | None = None,
        finished: Finished = ignore,
        unfinished: Unfinished = ignore,
    ) -> list[Completion]:
        """One at a time; captured states by one more pass over prompt and continuation."""
        found = []
        for request in requests:
            injections = [] if request.steer is None else [(len(request.prompt) - 1, request.steer)]
            completion = self.go_on(
                request.prompt, injections, request.sampling, request.seed, logits_processor
            )
            if request.capture_layers:
                self._capture(request, injections, completion)
            finished(len(found), completion)
            found.append(completion)
        return found

    def _capture(self, request: Request, injections: Sequence[Injection], completion: Completion) -> None:
        ends: list[int] = []
        text_tokens = completion.tokens[:-1] if completion.ended == "eos" else completion.tokens
        if request.capture_after is not None:
            for count in range(1, len(text_tokens) + 1):
                segment = text_tokens[ends[-1] if ends else 0 : count]
                if request.capture_after in self._tokenizer.decode(segment):
                    ends.append(count)
        states = self._run([*request.prompt, *completion.tokens], injections)[1]
        at = [len(request.prompt) + end - 1 for end in ends]
        completion.state_ends = ends
        completion.states = states[list(request.capture_layers)][:, at].transpose(1, 0, 2)

    def states(
        self, sequences: Sequence[Sequence[int]], positions: Sequence[Sequence[int]], layers: Sequence[int]
    ) -> list[NDArray[np.float32]]:
        """A pass a position, over the tokens up to it."""
        return [
            np.array([self.run(tokens[: at + 1], [])[1][list(layers)] for at in wanted])
            for tokens, wanted in zip(sequences, positions, strict=True)
        ]

    def open(self, prompts: Sequence[Sequence[int]]) -> LiteralPrefixes:
        return LiteralPrefixes(self, prompts)


@dataclass
class LiteralRow:
    """A prefix, and what has been injected into it for good by kept commits."""

    tokens: list[int]
    injections: list[Injection] = field(default_factory=list)


class LiteralPrefixes:
    """`Prefixes` that compute everything anew from the tokens. What a kept continuation brings is the
    injections it was made under."""

    def __init__(self, model: LiteralModel, prompts: Sequence[Sequence[int]]) -> None:
        self._model = model
        self._rows = {index: LiteralRow(list(prompt)) for index, prompt in enumerate(prompts)}
        self._opened = len(prompts)

    def add(self, prompt: Sequence[int]) -> int:
        self._rows[self._opened] = LiteralRow(list(prompt))
        self._opened += 1
        return self._opened - 1

    def states(self, rows: Sequence[int], layers: Sequence[int]) -> NDArray[np.float32]:
        found = []
        for row in rows:
            prefix = self._rows[row]
            found.append(self._model.run(prefix.tokens, prefix.injections)[1][list(layers)])
        return np.array(found)

    def branch(
        self,
        branches: Sequence[Branch],
        finished: Finished = ignore,
        unfinished: Unfinished = ignore,
    ) -> list[Completion]:
        done: list[Completion] = []
        for branch in branches:
            done.append(self._branch(branch))
            finished(len(done) - 1, done[-1])
        return done

    def _branch(self, branch: Branch) -> Completion:
        prefix = self._rows[branch.row]
        injections = list(prefix.injections)
        if branch.continue_from is not None:
            # Made anew in full: it must come out as it was begun.
            assert isinstance(branch.continue_from.kept, list)
            injections = branch.continue_from.kept
        elif branch.steer is not None:
            injections.append((len(prefix.tokens) - 1, branch.steer))
        completion = self._model.go_on(prefix.tokens, injections, branch.sampling, branch.seed)
        if branch.keep:
            completion.kept = injections
        return completion

    def extend(self, row: int, committed: Completion) -> None:
        prefix = self._rows[row]
        if committed.kept is not None:
            assert isinstance(committed.kept, list)
            prefix.injections = committed.kept
        prefix.tokens = [*prefix.tokens, *committed.tokens]

    def close(self, rows: Sequence[int]) -> None:
        for row in rows:
            self._rows.pop(row, None)


def _added(injection: Injection) -> tuple[int, int, float, bytes]:
    position, steer = injection
    return position, steer.layer, steer.scale, np.asarray(steer.vector).tobytes()


def _pick(logits: NDArray[np.float32], temperature: float, seed: int, step: int) -> int:
    if temperature == 0:
        return int(np.flatnonzero(logits == logits.max())[0])
    scaled = logits.astype(np.float64) / temperature
    weights = np.exp(scaled - scaled.max())
    cumulative = np.cumsum(weights / weights.sum())
    draw = float(uniforms(np.array([seed], np.uint64), np.array([step], np.uint64))[0])
    return min(int(np.searchsorted(cumulative, draw * cumulative[-1], side="right")), len(logits) - 1)
