"""ESM once more, read literally from its specification: the oracle that the engine is compared with.

numpy, and a plain transformers model: no key/values, no batch, no line of `engine`. Every token is chosen from a full
pass over all tokens before it, and a vector is added by a forward hook in every one of these passes. Numbers in
brackets are sections of the specification; where the design settles a question, it says so.

`Plain.guesses` makes that affordable: one pass over a text and a guessed continuation gives the logits after each of
its tokens, and the guess counts only as far as every token is the one that the rule chooses there. A wrong guess costs
a pass and changes nothing; without guesses it is one pass a token.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

Array = np.ndarray[Any, np.dtype[Any]]


# --- The model -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Injection:
    """`added` (hidden_size,) goes to the residual stream after layer `layer` at token `position` (2)."""

    position: int
    layer: int
    added: Array


@dataclass
class Written:
    """A continuation. `ended`: eos, stop or length; an end-of-text token counts as a token and is not in the text."""

    tokens: list[int]
    logprobs: list[float]
    text: str
    ended: str

    @property
    def mean_logprob(self) -> float:
        return sum(self.logprobs) / len(self.logprobs)


@dataclass
class Plain:
    """A causal model of the transformers library. `passes` counts its forward passes."""

    path: Path
    guesses: Sequence[Sequence[int]] = ()
    passes: int = 0
    streams: dict[tuple[int, ...], Array] = field(default_factory=dict)
    """Residual streams at last tokens, (layers, hidden_size), of unsteered texts that were asked for before."""
    written: dict[tuple[object, ...], Written] = field(default_factory=dict)
    """Unsteered continuations that were asked for before."""

    def __post_init__(self) -> None:
        self.model: Any = AutoModelForCausalLM.from_pretrained(self.path, dtype=torch.float32).eval()
        self.tokenizer: Any = AutoTokenizer.from_pretrained(self.path)
        self.eos = {self.tokenizer.eos_token_id, self.model.generation_config.eos_token_id}

    def prompt(self, question: str) -> list[int]:
        turn = [{"role": "user", "content": question}]
        text = self.tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True)
        return self.tokenizer.encode(text, add_special_tokens=False)

    def decode(self, tokens: Sequence[int]) -> str:
        return self.tokenizer.decode(
            list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False
        )

    def run(self, tokens: Sequence[int], injections: Sequence[Injection] = ()) -> tuple[Array, Array]:
        """One full pass: logits (tokens, vocab), residual stream after each layer (layers, tokens, hidden_size)."""
        self.passes += 1
        stream: list[Array] = []

        def hook(layer: int) -> Any:
            def add(module: object, inputs: object, output: Any) -> Any:
                hidden = output.clone()
                for one in injections:
                    if one.layer == layer:
                        hidden[0, one.position] += torch.from_numpy(one.added.astype(np.float32))
                stream.append(hidden[0].numpy().copy())
                return hidden

            return add

        handles = [layer.register_forward_hook(hook(at)) for at, layer in enumerate(self.model.model.layers)]
        with torch.inference_mode():
            logits = self.model(input_ids=torch.tensor([list(tokens)]), use_cache=False).logits[0]
        for handle in handles:
            handle.remove()
        return logits.numpy(), np.stack(stream)

    def state(self, tokens: Sequence[int], layer: int, injections: Sequence[Injection] = ()) -> Array:
        """h of the last token of `tokens` at `layer` (1.2)."""
        if injections:
            return self.run(tokens, injections)[1][layer, -1]
        if tuple(tokens) not in self.streams:
            self.streams[tuple(tokens)] = self.run(tokens)[1][:, -1]
        return self.streams[tuple(tokens)][layer]

    def write(
        self,
        prefix: Sequence[int],
        budget: int,
        injections: Sequence[Injection] = (),
        temperature: float = 0.0,
        seed: int = 0,
        stop: str | None = None,
    ) -> Written:
        """Continue `prefix` token by token until an end-of-text token, `stop` or the budget."""
        asked = (tuple(prefix), budget, temperature, seed if temperature else 0, stop)
        if injections:
            return self._write(prefix, budget, injections, temperature, seed, stop)
        if asked not in self.written:
            self.written[asked] = self._write(prefix, budget, (), temperature, seed, stop)
        return self.written[asked]

    def _write(
        self,
        prefix: Sequence[int],
        budget: int,
        injections: Sequence[Injection],
        temperature: float,
        seed: int,
        stop: str | None,
    ) -> Written:
        done = Written([], [], "", "length")
        while len(done.tokens) < budget and done.ended == "length":
            here = [*prefix, *done.tokens]
            guess = self._guess(here)[: budget - len(done.tokens)]
            logits = self.run([*here, *guess], injections)[0][len(here) - 1 :].astype(np.float64)
            for position in range(min(len(guess) + 1, budget - len(done.tokens))):
                token = next_token(logits[position], temperature, uniform(seed, len(done.tokens)))
                done.tokens.append(token)
                done.logprobs.append(float(logits[position, token] - _log_sum_exp(logits[position])))
                if token in self.eos:
                    done.ended = "eos"
                elif stop is not None and stop in self.decode(done.tokens):
                    done.ended = "stop"
                if done.ended != "length" or position == len(guess) or token != guess[position]:
                    break
        done.text = self.decode(done.tokens[:-1] if done.ended == "eos" else done.tokens)
        return done

    def _guess(self, here: Sequence[int]) -> list[int]:
        known = [list(text[len(here) :]) for text in self.guesses if list(text[: len(here)]) == list(here)]
        return max(known, key=len, default=[])


def _log_sum_exp(logits: Array) -> float:
    top = float(logits.max())
    return top + math.log(float(np.exp(logits - top).sum()))


def next_token(logits: Array, temperature: float, u: float) -> int:
    """The most likely token, the lowest id among equals; above temperature 0 the token in whose share of the
    cumulative distribution `u` lies."""
    if temperature == 0:
        return int(np.flatnonzero(logits == logits.max())[0])
    weights = np.exp((logits - logits.max()) / temperature)
    cumulative = np.cumsum(weights / weights.sum())
    return int(np.flatnonzero(cumulative > u * cumulative[-1])[0])


def uniform(seed: int, counter: int) -> float:
    """Draw number `counter` of `seed` in [0, 1): SplitMix64 over a mixed seed."""
    full, gamma = (1 << 64) - 1, 0x9E3779B97F4A7C15

    def mix(z: int) -> int:
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & full
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & full
        return z ^ (z >> 31)

    return (mix((mix((seed + gamma) & full) + (counter + 1) * gamma) & full) >> 11) / (1 << 53)


def seed_of(run_seed: int, purpose: str, item: str, draw: int = 0) -> int:
    """Randomness comes from (run seed, stage, item, draw index) alone (design 2.7)."""
    name = f"{run_seed}\x1f{purpose}\x1f{item}\x1f{draw}".encode()
    return int(hashlib.blake2b(name, digest_size=8).hexdigest(), 16) // 2


def marked(text: str) -> str:
    """The predicted answer: the last `#### n` (7.1)."""
    found = re.findall(r"####\s*(-?\d+)", text)
    return found[-1] if found else ""


# --- Mining (3) ------------------------------------------------------------------------------------------------------


@dataclass
class Rollout:
    """`ends[m - 1]`: its tokens up to and including the one that completes the m-th delimiter."""

    tokens: list[int]
    text: str
    correct: bool
    reward: float
    ends: list[int]


@dataclass
class Pair:
    """Right and wrong rollouts at control point m, contrasted at one layer."""

    name: str
    example: str
    m: int
    layer: int
    quality: float
    positives: list[Rollout]
    negatives: list[Rollout]
    right_key: Array
    wrong_key: Array
    verified: tuple[bool, bool, bool] | None = None

    @property
    def delta(self) -> Array:
        return self.right_key - self.wrong_key  # (3.5), not normalised


def segment_ends(plain: Plain, tokens: Sequence[int], delimiter: str, most: int) -> list[int]:
    """Where delimiters end, in tokens (1.3, 3.3)."""
    ends: list[int] = []
    for count in range(1, len(tokens) + 1):
        if delimiter in plain.decode(tokens[ends[-1] if ends else 0 : count]):
            ends.append(count)
    return ends[:most]


def roll_out(plain: Plain, example: Any, config: Any) -> list[Rollout]:
    """K samples of one example with R - eta |y| / T_max (3.1, 3.2)."""
    mine, points = config.offline_mine, config.control_points
    rollouts: list[Rollout] = []
    for k in range(mine.K):
        seed = seed_of(config.run.seed, "mine", example.id, k)
        y = plain.write(
            plain.prompt(example.question), mine.max_new_tokens, temperature=mine.temperature, seed=seed
        )
        correct = marked(y.text) == example.answer
        reward = int(correct) - mine.eta0 * len(y.tokens) / mine.max_new_tokens
        text_tokens = y.tokens[:-1] if y.ended == "eos" else y.tokens
        ends = segment_ends(plain, text_tokens, points.segment_delimiter, points.M)
        rollouts.append(Rollout(y.tokens, y.text, correct, reward, ends))
    return rollouts


def contrasts(plain: Plain, example: Any, rollouts: Sequence[Rollout], config: Any) -> list[Pair]:
    """The pairs of one example (3.4 to 3.7)."""
    mine, prompt = config.offline_mine, plain.prompt(example.question)
    pairs: list[Pair] = []
    for m in range(1, config.control_points.M + 1):
        valid = [y for y in rollouts if len(y.ends) >= m]
        right = [y for y in valid if y.correct]
        wrong = [y for y in valid if not y.correct]
        if len(right) < mine.min_correct_rollouts or len(wrong) < mine.min_incorrect_rollouts:
            continue
        positives = sorted(right, key=lambda y: y.reward, reverse=True)[: mine.K_pos]
        negatives = sorted(wrong, key=lambda y: y.reward)[: mine.K_neg]
        gap = sum(y.reward for y in positives) / len(positives) - sum(y.reward for y in negatives) / len(
            negatives
        )
        for layer in mine.candidate_layers:
            keys = [
                np.mean([plain.state([*prompt, *y.tokens[: y.ends[m - 1]]], layer) for y in side], axis=0)
                for side in (positives, negatives)
            ]
            name = f"{example.id}_m{m}_l{layer}"
            if gap > 0:
                pairs.append(Pair(name, example.id, m, layer, gap, positives, negatives, *keys))
    return pairs


def verify(plain: Plain, example: Any, pair: Pair, config: Any) -> tuple[bool, bool, bool]:
    """Whether greedy answers on the pair's own problem are right: from the wrong prefix with the vector, without it,
    and from the right prefix without (`offline_mine.verify`: engine/esm/README.md)."""
    prompt = plain.prompt(example.question)

    def is_right(y: Rollout, strength: float) -> bool:
        start = y.tokens[: y.ends[pair.m - 1]]
        prefix = [*prompt, *start]
        steer = [Injection(len(prefix) - 1, pair.layer, strength * pair.delta)] if strength else []
        rest = plain.write(prefix, config.offline_mine.max_new_tokens - len(start), steer)
        return marked(plain.decode(start) + rest.text) == example.answer

    strength = config.online.k_scale * config.online.beta * pair.quality
    wrong, right = pair.negatives[0], pair.positives[0]
    return is_right(wrong, strength), is_right(wrong, 0.0), is_right(right, 0.0)


@dataclass
class Entry:
    """A candidate, library or memory entry; `vector` is None for a right entry (3.6)."""

    name: str
    layer: int
    m: int
    quality: float
    key: Array
    vector: Array | None


def candidates(pairs: Sequence[Pair], config: Any) -> list[Entry]:
    """The entries of the top C pairs by quality, in the order of mining (3.6, 3.7)."""

    def kinds(pair: Pair) -> list[str]:
        if pair.verified is None:
            return ["wrong", "right"]
        steered, wrong, right = pair.verified
        return [kind for kind, kept in (("wrong", steered and not wrong), ("right", right)) if kept]

    useful = [pair for pair in pairs if kinds(pair)]
    best = sorted(useful, key=lambda pair: -pair.quality)[: config.offline_mine.keep_top_C]
    entries: list[Entry] = []
    for pair in (pair for pair in useful if any(pair is kept for kept in best)):
        for kind in kinds(pair):
            key, vector = (pair.wrong_key, pair.delta) if kind == "wrong" else (pair.right_key, None)
            entries.append(Entry(f"{pair.name}_{kind}", pair.layer, pair.m, pair.quality, key, vector))
    return entries


# --- Selection (4) and memory (5) ------------------------------------------------------------------------------------


def select(entries: Sequence[Entry], config: Any) -> list[tuple[int, float]]:
    """Greedy maximisation of sum log(1 + Q) + lambda log det(K_S + epsilon I) (4.3), determinants computed whole. The
    diagonal of K is exactly 1 (design). Returns (index, gain) in order of picking."""
    section = config.offline_select
    weight = section.lambda_diversity if section.method == "dpp" else 0.0
    unit = np.array([entry.key.astype(np.float64) / np.linalg.norm(entry.key) for entry in entries])
    kernel = unit @ unit.T  # (4.2)
    np.fill_diagonal(kernel, 1.0)

    def objective(chosen: Sequence[int]) -> float:
        own = kernel[np.ix_(chosen, chosen)] + section.epsilon * np.eye(len(chosen))
        relevance = sum(math.log(1 + entries[i].quality) for i in chosen)
        return relevance + weight * (np.linalg.slogdet(own)[1] if chosen else 0.0)

    first: list[int] = []  # (4.4): the best of every m, then the second best of every m, and so on
    for rank in range(section.min_per_control_point):
        for m in sorted({entry.m for entry in entries}):
            own = sorted((-entry.quality, i) for i, entry in enumerate(entries) if entry.m == m)
            first += [i for _, i in own[rank : rank + 1]]
    picked: list[tuple[int, float]] = []
    while len(picked) < min(section.B, len(entries)):
        chosen = [i for i, _ in picked]
        before = objective(chosen)
        gains = {i: objective([*chosen, i]) - before for i in range(len(entries)) if i not in chosen}
        top = max(gains.values())
        best = min(i for i, gain in gains.items() if gain >= top - 1e-9)
        pick = first[len(picked)] if len(picked) < len(first) else best
        picked.append((pick, gains[pick]))
    return picked


def memory_keys(library: Sequence[Entry]) -> Array:
    """keys.npy: unit rows (5.1)."""
    return np.array([entry.key / np.linalg.norm(entry.key) for entry in library])


# --- Online (6) ------------------------------------------------------------------------------------------------------


@dataclass
class Offer:
    """A retrieved entry, and what its probe said."""

    entry: Entry
    similarity: float
    ahat: float
    probe: Written | None = None
    score: float | None = None


@dataclass
class Decision:
    """One control point. `offers`: the L candidates, then what else was retrieved, nearest first."""

    m: int
    gate: str
    memory_size: int = 0
    top_similarity: float | None = None
    null_ahat: float | None = None
    null_score: float | None = None
    null_probe: Written | None = None
    offers: list[Offer] = field(default_factory=list)
    chosen: Offer | None = None
    alpha: float = 0.0
    tokens: list[int] = field(default_factory=list)
    segment: str = ""
    ended: str = ""
    null_segment: str | None = None

    @property
    def probe_tokens(self) -> int:
        probes = [self.null_probe, *(offer.probe for offer in self.offers)]
        return sum(len(probe.tokens) for probe in probes if probe is not None)


@dataclass
class Answer:
    tokens: list[int]
    text: str
    probe_tokens: int = 0
    decisions: list[Decision] = field(default_factory=list)


def ablated(method: str, memory: Sequence[Entry], run_seed: int) -> list[Entry]:
    """The memory that a method searches (design 7, ESM)."""
    found: list[Entry] = []
    for entry in memory:
        vector = entry.vector
        if vector is None:
            if method != "no_right_entries":
                found.append(entry)
            continue
        if method == "random_vector":
            draws = np.random.Generator(np.random.Philox(seed_of(run_seed, "random_vector", entry.name)))
            direction = draws.standard_normal(len(vector))
            vector = direction / np.linalg.norm(direction) * np.linalg.norm(vector)
        elif method == "mean_vector_gated":
            mean = mean_vector(memory, entry.layer)
            vector = mean / np.linalg.norm(mean) * np.linalg.norm(vector)
        found.append(Entry(entry.name, entry.layer, entry.m, entry.quality, entry.key, vector))
    return found


def mean_vector(memory: Sequence[Entry], layer: int) -> Array:
    """Mean of all vectors of a layer."""
    return np.mean([e.vector for e in memory if e.layer == layer and e.vector is not None], axis=0)


class Online:
    """Answers of one method. `method`: esm or an ablation."""

    def __init__(self, plain: Plain, memory: Sequence[Entry], config: Any, method: str) -> None:
        self.plain, self.config, self.online, self.method = plain, config, config.online, method
        self.memory = ablated(method, memory, config.run.seed)

    def answer(self, example: Any) -> Answer:
        """Segments, then the tail (6.10). Injections stay only with `carry_steering`."""
        prompt = self.plain.prompt(example.question)
        answer, carried = Answer([], ""), []
        budget, points = self.config.decode.max_new_tokens, self.config.control_points
        ended = False
        for m in range(1, points.M + 2):
            if ended or len(answer.tokens) >= budget:
                break
            prefix, left = [*prompt, *answer.tokens], budget - len(answer.tokens)
            if m <= points.M:
                decision = self._decide(prefix, carried, m)
                added = self._commit(decision, prefix, carried, left, example.id)
                if self.online.carry_steering:
                    carried = added
                ended = decision.ended != "stop"
            else:
                decision, ended = Decision(m, "tail"), True
                seed = seed_of(self.config.run.seed, "tail", example.id)
                _fill(decision, self._write(prefix, left, carried, seed, None))
            answer.tokens += decision.tokens
            answer.text += decision.segment
            answer.probe_tokens += decision.probe_tokens
            answer.decisions.append(decision)
        return answer

    def _write(
        self, prefix: Sequence[int], left: int, injections: Sequence[Injection], seed: int, stop: str | None
    ) -> Written:
        return self.plain.write(prefix, left, injections, self.config.decode.temperature, seed, stop)

    def _commit(
        self, decision: Decision, prefix: Sequence[int], carried: list[Injection], left: int, example: str
    ) -> list[Injection]:
        """Write the segment, steered if an entry was chosen. Returns the injections behind it."""
        added = list(carried)
        seed = seed_of(self.config.run.seed, "commit", example, decision.m)
        delimiter = self.config.control_points.segment_delimiter
        if decision.chosen is not None:
            added.append(self._inject(prefix, decision.chosen.entry, decision.alpha))
            if self.online.record_null:
                decision.null_segment = self._write(prefix, left, carried, seed, delimiter).text
        _fill(decision, self._write(prefix, left, added, seed, delimiter))
        return added

    def _inject(self, prefix: Sequence[int], entry: Entry, strength: float) -> Injection:
        """h + alpha v at the control point: the last token of the prefix (2)."""
        assert entry.vector is not None
        return Injection(len(prefix) - 1, entry.layer, strength * entry.vector)

    def _decide(self, prefix: Sequence[int], carried: list[Injection], m: int) -> Decision:
        online = self.online
        if m == 1:
            return Decision(m, "first_segment")
        if self.method == "no_memory":
            return Decision(m, "no_memory")
        if m < online.min_tool_m or m > (online.max_tool_m or m):
            return Decision(m, "tool_range")  # (6.11)
        decision = self._retrieve(prefix, carried, m)
        if decision.gate:
            return decision
        self._probe(decision, prefix, carried)
        return self._choose(decision)

    def _retrieve(self, prefix: Sequence[int], carried: list[Injection], m: int) -> Decision:
        """Top-k by cosine with the entries mined after segment m - 1 (6.3), then the top L by A-hat (6.6)."""
        online = self.online
        if (
            self.method == "mean_vector"
        ):  # (design 7) one vector a layer, no memory: as if it matched perfectly
            offers = self._mean_offers()
            size = len(offers)
        else:
            own = [entry for entry in self.memory if entry.m == m - 1]
            size = len(own)
            if size < max(1, online.min_entries):
                return Decision(m, "min_entries", size)
            offers = [_offer(entry, self.plain.state(prefix, entry.layer, carried)) for entry in own]
            offers = sorted(offers, key=lambda offer: -offer.similarity)[: online.k_retrieve]
        null = [offer.ahat for offer in offers if offer.entry.vector is None]  # (6.5)
        decision = Decision(m, "", size, offers[0].similarity, max(null, default=0.0), offers=offers)
        tools = [offer for offer in offers if offer.entry.vector is not None]
        if offers[0].similarity < online.min_sim and self.method != "mean_vector":
            decision.gate = "min_sim"
        elif not tools:
            decision.gate = "no_candidates"
        else:
            kept = sorted(tools, key=lambda offer: -offer.ahat)[: online.L]
            decision.offers = [*kept, *(o for o in offers if not any(o is k for k in kept))]
            for offer in kept:
                offer.score = online.beta * offer.ahat
        return decision

    def _mean_offers(self) -> list[Offer]:
        offers: list[Offer] = []
        for layer in sorted({entry.layer for entry in self.memory if entry.vector is not None}):
            own = [e.quality for e in self.memory if e.layer == layer and e.vector is not None]
            quality, vector = sum(own) / len(own), mean_vector(self.memory, layer)
            entry = Entry(f"layer {layer} mean", layer, 0, quality, vector, vector)
            offers.append(Offer(entry, 1.0, quality))
        return offers

    def _probe(self, decision: Decision, prefix: Sequence[int], carried: list[Injection]) -> None:
        """Every candidate at strength 1, and null, from the same prefix (6.7)."""
        if self.method == "no_probing" or self.online.probe_tokens == 0:
            return
        length = self.online.probe_tokens
        decision.null_probe = self.plain.write(prefix, length, carried)
        for offer in decision.offers:
            if offer.score is not None:
                steer = self._inject(prefix, offer.entry, 1.0)
                offer.probe = self.plain.write(prefix, length, [*carried, steer])
                gain = offer.probe.mean_logprob - decision.null_probe.mean_logprob
                offer.score = self.online.beta * offer.ahat + self.online.rho * gain

    def _choose(self, decision: Decision) -> Decision:
        """The largest Score, unless null's is as large or it lies below tau_null (6.8); alpha (6.9)."""
        assert decision.null_ahat is not None
        null_score = decision.null_score = self.online.beta * decision.null_ahat
        tools = [offer for offer in decision.offers if offer.score is not None]
        best = max(tools, key=_score)
        if abs(_score(best) - null_score) <= 1e-12:
            decision.gate = "tie"
        elif _score(best) < null_score:
            decision.gate = "null_best"
        elif _score(best) < self.online.tau_null:
            decision.gate = "tau_null"
        else:
            decision.gate, decision.chosen = "chosen", best
            decision.alpha = self.online.k_scale * _score(best)
        return decision


def _score(offer: Offer) -> float:
    assert offer.score is not None
    return offer.score


def _offer(entry: Entry, query: Array) -> Offer:
    cosine = float(entry.key @ query / (np.linalg.norm(entry.key) * np.linalg.norm(query)))
    return Offer(entry, cosine, cosine * entry.quality)  # (6.4)


def _fill(decision: Decision, done: Written) -> None:
    decision.tokens, decision.segment, decision.ended = done.tokens, done.text, done.ended


# --- Baselines and tables (6.1, 7) -----------------------------------------------------------------------------------


def greedy(plain: Plain, example: Any, config: Any) -> Answer:
    seed = seed_of(config.run.seed, "greedy", example.id)
    decode = config.decode
    y = plain.write(plain.prompt(example.question), decode.max_new_tokens, (), decode.temperature, seed)
    return Answer(y.tokens, y.text)


def majority_vote(plain: Plain, example: Any, config: Any) -> Answer:
    """The first of the samples that give the most frequent answer; the others' tokens are probe tokens."""
    samples = [
        plain.write(
            plain.prompt(example.question),
            config.decode.max_new_tokens,
            temperature=config.offline_mine.temperature,
            seed=seed_of(config.run.seed, "vote", example.id, draw),
        )
        for draw in range(config.eval.votes)
    ]
    votes = Counter(marked(y.text) for y in samples if marked(y.text))
    most = max(votes.values(), default=0)
    winner = next((y for y in samples if votes[marked(y.text)] == most), samples[0])
    others = sum(len(y.tokens) for y in samples if y is not winner)
    return Answer(winner.tokens, winner.text, others)


def mcnemar(fixed: int, broken: int) -> float:
    """Exact two-sided p: a fair coin for each discordant pair."""
    n = fixed + broken
    tail = sum(math.comb(n, i) for i in range(min(fixed, broken) + 1)) / 2**n
    return min(1.0, 2 * tail)


def every_resample(differences: Sequence[int]) -> Array:
    """The mean of every equally likely resample: what a bootstrap draws from."""
    return np.array([sum(one) / len(one) for one in product(differences, repeat=len(differences))])
