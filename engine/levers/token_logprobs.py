"""How likely the tokens of a text in flight were, and a nucleus that bounds what is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from engine.lm.protocol import Completion, LogitsProcessor, ScoringModel, Tokenizer, TokenLogprob


@dataclass(frozen=True)
class ScoredToken:
    """A token's text, where it begins, its log-probability (None: nothing stands before it), and the likeliest tokens,
    best first."""

    text: str
    offset: int
    logprob: float | None
    top: list[tuple[str, float]]


@dataclass(frozen=True)
class Nucleus:
    """A logits processor that leaves what `top_p` leaves at this temperature, after the processor `under`."""

    under: LogitsProcessor | None
    temperature: float
    top_p: float

    def __call__(self, written: Sequence[Sequence[int]], logits: Any) -> Any:
        """The logits (rows, vocab_size), -inf outside the nucleus."""
        from engine.lm.sampling import within_nucleus

        return within_nucleus(_through(self.under, written, logits), self.temperature, self.top_p)


class LogprobRecorder:
    """A logits processor of one text that notes the likeliest `top` tokens at every place. `under`: what changes the
    model; `drawn`: what is drawn from, `under` or narrower: logprobs are those of `under`. Probes of candidates do not
    pass through it; a segment that is written anew takes the place of what was noted."""

    def __init__(
        self, tokenizer: Tokenizer, top: int, under: LogitsProcessor | None, drawn: LogitsProcessor | None
    ) -> None:
        self._tokenizer = tokenizer
        self._top = top
        self._under, self._drawn = under, drawn
        self._segment: dict[int, tuple[float, list[tuple[int, float]]]] = {}
        self._tokens: list[TokenLogprob] = []
        self.prompt: list[ScoredToken] = []
        """The prompt's tokens, once they are scored."""
        self._answer: list[ScoredToken] = []
        self._texts: dict[int, str] = {}

    def __call__(self, written: Sequence[Sequence[int]], logits: Any) -> Any:
        """What is drawn from."""
        from engine.lm.sampling import top_logprobs

        full, drawn = _through(self._under, written, logits), _through(self._drawn, written, logits)
        log_mass = float((drawn.logsumexp(dim=-1) - full.logsumexp(dim=-1))[0])
        self._segment[len(written[0])] = log_mass, top_logprobs(full, max(1, self._top))[0]
        return drawn

    def score(self, model: ScoringModel, prompt: Sequence[int]) -> None:
        """Note how likely the prompt's tokens are."""
        first = ScoredToken(self._tokenizer.pieces(prompt[:1])[0], 0, None, [])
        scored = model.score(prompt, max(1, self._top), self._under)
        rest = self._described(prompt[0], scored, len(first.text), lambda _, text: len(text))
        self.prompt = [first, *rest]

    def end_segment(self, done: Completion) -> None:
        """The segment stays as it is."""
        self._tokens += self._under_way(done)
        self._segment.clear()

    def _under_way(self, done: Completion) -> Iterator[TokenLogprob]:
        for place, (token, drawn) in enumerate(zip(done.tokens, done.logprobs, strict=True)):
            log_mass, top = self._segment[place]
            yield TokenLogprob(token, dict(top).get(token, drawn + log_mass), top)

    def answer(self, prompt: Sequence[int], begun: Completion | None, offset: int) -> list[ScoredToken]:
        """The tokens written so far, with those of a segment that was begun; the first begins at `offset`. An
        end-of-text token has a name here, but no place in the text."""
        scored, known = [*self._tokens, *(self._under_way(begun) if begun else ())], self._answer
        before = scored[len(known) - 1].token if known else prompt[-1]
        at = known[-1].offset + self._length(before, known[-1].text) if known else offset
        rest = [*self._described(before, scored[len(known) :], at, self._length)]
        ends = [place for place, token in enumerate(rest, 1) if token.text and token.text[-1] != "\ufffd"]
        self._answer = [*known, *rest[: max(ends, default=0)]]  # what follows may be part of a character
        return [*known, *rest]

    def _described(
        self,
        before: int,
        scored: Sequence[TokenLogprob],
        offset: int,
        length: Callable[[int, str], int],
    ) -> Iterator[ScoredToken]:
        pieces = self._tokenizer.pieces([before, *(token.token for token in scored)])[1:]
        for token, text in zip(scored, pieces, strict=True):
            top = [(self._alone(other), logprob) for other, logprob in token.top[: self._top]]
            yield ScoredToken(text, offset, token.logprob, top)
            offset += length(token.token, text)

    def _length(self, token: int, text: str) -> int:
        """Characters of a token in an answer's text, where special tokens have none."""
        return len(text) if self._tokenizer.decode([token]) else 0

    def _alone(self, token: int) -> str:
        """A token's text as it would stand behind a letter: alone, some lose their space."""
        if token not in self._texts:
            self._texts[token] = self._tokenizer.pieces([*self._tokenizer.encode("a")[-1:], token])[-1]
        return self._texts[token]


def _through(process: LogitsProcessor | None, written: Sequence[Sequence[int]], logits: Any) -> Any:
    return logits if process is None else process(written, logits)
