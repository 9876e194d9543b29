"""ESM held against its document: every default, number, formula and file name, worked out by hand from the text.

Each test names the section of the document that it was written from. `engine/esm/README.md` says at its end where the
program does otherwise, and why.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch

from engine.config.config import Config
from engine.config.esm import OfflineMineSection, OnlineSection
from engine.config.esm_methods import evaluated_methods
from engine.config.file import load_config
from engine.errors import ConfigError, DataError
from engine.esm.evaluation.eval_stage import Evaluate
from engine.esm.examples import training_examples
from engine.esm.layers import candidate_layers
from engine.esm.library.dpp import GreedyDpp
from engine.esm.library.memory import Entry, EpisodicMemory
from engine.esm.library.memory_stage import BuildMemory
from engine.esm.library.select_stage import Select, control_point_floor
from engine.esm.mining.contrast import Rollout, contrast, split_rollouts
from engine.esm.mining.mine_stage import Mine, candidate_records, top_pairs
from engine.esm.mining.reward import length_regularized_reward
from engine.esm.online.control_point import PROBE_SCALE, Answer, Decider, Plan
from engine.esm.online.controller import Controller
from engine.esm.online.decide import TIE, Hit, Probe, Retrieval, choose, retrieve
from engine.esm.online.variants import retrieving
from engine.events import DecisionTaken, Event, Notice, PairMined
from engine.files import read_jsonl
from engine.lm.loading.load import load_model
from engine.lm.protocol import (
    Branch,
    Completion,
    Finished,
    LanguageModel,
    Request,
    Sampling,
    Steer,
    Unfinished,
    ignore,
)
from tests.run_stage import run_stage

ONLINE = OnlineSection(k_retrieve=3, L=2, probe_tokens=4, beta=2.0, rho=0.5, k_scale=3.0, tau_null=0.1)


def entry(name: str, quality: float, *, right: bool = False, m: int = 1, layer: int = 0) -> Entry:
    return Entry(name, layer, m, quality, None if right else np.array([1.0, 2.0], dtype=np.float32), "x")


def hit(name: str, similarity: float, quality: float, *, right: bool = False) -> Hit:
    return Hit(entry(name, quality, right=right), similarity, similarity * quality)


# ---------------------------------------------------------------- defaults


def test_a_configuration_that_says_nothing_is_the_published_one() -> None:
    config = Config()
    # 1.3: the delimiter is an empty line
    assert config.control_points.segment_delimiter == "\n\n"
    # 0, 6.1: greedy decoding
    assert config.decode.temperature == 0
    # 3.4: contrasts of right with wrong rollouts
    assert config.offline_mine.require_correct_and_incorrect is True
    assert config.offline_mine.pos_source == "rollout"
    # 3.5: no layers named: the top third
    assert config.offline_mine.candidate_layers == []
    # 3.6: both entries of every pair are exported
    assert config.offline_mine.verify is False
    # 4.3, 4.4: the DPP, without a floor for control points
    assert (config.offline_select.method, config.offline_select.min_per_control_point) == ("dpp", 0)
    # 5.1: keys of length 1
    assert config.offline_memory.normalize_keys is True
    # 6.3: before segment m >= 2, no gate set
    assert (config.online.min_tool_m, config.online.max_tool_m) == (2, None)
    # 6.7: nothing is taken out of the method
    assert config.online.variant == "esm"
    # nothing of ours is on
    assert not config.online.carry_steering and not config.online.record_null
    assert config.offline_memory.imports is None


def test_the_field_names_of_section_8() -> None:
    """8: formula, field. What has no number there keeps one of ours."""
    fields = {
        "control_points": ["M", "segment_delimiter"],
        "offline_mine": ["K", "batch_size_examples", "K_pos", "K_neg", "eta0", "keep_top_C", "max_new_tokens",
                         "min_correct_rollouts", "min_incorrect_rollouts"],
        "offline_select": ["B", "lambda_diversity", "epsilon"],
        "offline_memory": ["normalize_keys"],
        "online": ["k_retrieve", "batch_size_examples", "L", "probe_tokens", "beta", "rho", "k_scale", "tau_null",
                   "min_sim", "min_entries", "min_tool_m", "max_tool_m", "variant"],
        "decode": ["max_new_tokens"],
        "eval": ["ablations"],
        "model": ["max_num_seqs"],
    }  # fmt: skip
    config = Config()
    for section, names in fields.items():
        assert set(names) <= set(type(getattr(config, section)).model_fields), section
    ours = (
        config.offline_mine.K, config.offline_mine.K_pos, config.offline_mine.K_neg, config.offline_mine.eta0,
        config.offline_mine.keep_top_C, config.offline_select.B, config.offline_select.lambda_diversity,
        config.offline_select.epsilon, config.online.k_retrieve, config.online.L, config.online.probe_tokens,
        config.online.beta, config.online.rho, config.online.k_scale, config.online.tau_null,
        config.online.min_sim, config.online.min_entries, config.control_points.M, config.decode.max_new_tokens,
    )  # fmt: skip
    assert ours == (8, 4, 4, 0.1, 2000, 512, 1.0, 1e-3, 16, 3, 8, 1.0, 1.0, 4.0, 0.0, 0.0, 1, 8, 256)


def test_greedy_and_esm_are_evaluated_with_two_ablations() -> None:
    """0, 7.2: the main table has greedy and ESM, the ablations no_memory and no_probing."""
    assert [m.name for m in evaluated_methods(Config())] == ["greedy", "esm", "no_memory", "no_probing"]


def test_the_top_third_of_the_layers() -> None:
    """3.5: of 24 layers the last 8, of 4 the last one."""
    assert candidate_layers([], 24) == tuple(range(16, 24))
    assert candidate_layers([], 4) == (3,)


# ---------------------------------------------------------------- mine


def test_the_reward_is_shorter_by_length() -> None:
    """3.2: R - eta |y| / T_max."""
    assert length_regularized_reward(True, 50, 0.1, 200) == pytest.approx(1 - 0.1 * 50 / 200) == 0.975
    assert length_regularized_reward(False, 200, 0.1, 200) == pytest.approx(-0.1)


def rollout(correct: bool, tokens: int, states: Sequence[Sequence[float]], eta: float = 0.1) -> Rollout:
    """`states`: of one layer, a control point each. T_max is 100."""
    reward = length_regularized_reward(correct, tokens, eta, 100)
    array = np.array(states, dtype=np.float32)[:, None]
    return Rollout("", [0] * tokens, correct, reward, "", array, list(range(len(states))))


ROLLOUTS = [
    rollout(True, 20, [[1, 0], [4, 4]]), rollout(True, 10, [[3, 2], [6, 2]]), rollout(True, 40, [[9, 9]]),
    rollout(False, 30, [[0, 1], [0, 2]]), rollout(False, 50, [[2, 3]]), rollout(False, 10, [[8, 8]]),
]  # fmt: skip


def test_positives_are_the_highest_rewards_and_negatives_the_lowest() -> None:
    """3.3, 3.4: only rollouts that reach the control point; K_pos and K_neg of them."""
    mine = OfflineMineSection(K_pos=2, K_neg=2, eta0=0.1)
    sets = split_rollouts(ROLLOUTS, None, 1, mine)
    assert sets is not None
    assert [[r.tokens for r in side] for side in sets] == [[10, 20], [50, 30]]
    second = split_rollouts(ROLLOUTS, None, 2, mine)
    assert second is not None and [[r.tokens for r in side] for side in second] == [[10, 20], [30]]
    assert split_rollouts(ROLLOUTS, None, 3, mine) is None
    # too few of a kind: no pair at this control point
    assert split_rollouts(ROLLOUTS, None, 2, mine.model_copy(update={"min_incorrect_rollouts": 2})) is None
    assert split_rollouts(ROLLOUTS[3:], None, 1, mine) is None


def test_the_gold_solution_stands_in_where_right_rollouts_are_few() -> None:
    """3.4: pos_source gold, always; rollout_or_gold, only below min_correct_rollouts."""
    gold = replace(rollout(True, 5, [[7, 7]]), source="gold")

    def sources(rollouts: Sequence[Rollout], pos_source: Any) -> list[str]:
        sets = split_rollouts(rollouts, gold, 1, OfflineMineSection(pos_source=pos_source))
        return [] if sets is None else [one.source for one in sets[0]]

    assert sources(ROLLOUTS, "rollout") == ["rollout"] * 3
    assert sources(ROLLOUTS, "rollout_or_gold") == ["rollout"] * 3
    assert sources(ROLLOUTS, "gold") == ["gold"]
    assert sources(ROLLOUTS[3:], "rollout") == []
    assert sources(ROLLOUTS[3:], "rollout_or_gold") == sources(ROLLOUTS[3:], "gold") == ["gold"]


def test_the_pair_has_both_means_their_raw_difference_and_the_reward_gap() -> None:
    """3.5 to 3.7: key of the wrong entry is the mean of the negatives, the value the difference as it is."""
    mine = OfflineMineSection(K_pos=2, K_neg=2, eta0=0.1)
    sets = split_rollouts(ROLLOUTS, None, 1, mine)
    assert sets is not None
    pair = contrast(*sets, 1, 0)
    assert pair is not None
    assert pair.right_key.tolist() == [2, 1] and pair.wrong_key.tolist() == [1, 2]
    assert pair.delta.tolist() == [1, -1], "not brought to length 1"
    # Q = mean(0.99, 0.98) - mean(-0.05, -0.03)
    assert pair.quality == pytest.approx(0.985 + 0.04)
    # 3.7: only a positive gap is kept
    assert contrast(sets[1], sets[0], 1, 0) is None


def test_both_entries_of_a_pair_are_exported() -> None:
    """3.6, 3.8: the wrong one with a vector, the right one with none."""
    pair = {
        "pair_id": "a_m1_l2", "example_id": "a", "control_point_m": 1, "layer": 2, "quality": 0.7,
        "source": "rollout", "model": "print",
    }  # fmt: skip
    rows = candidate_records([pair], Config().offline_mine.verify)
    wrong, right = rows
    assert (wrong["kind"], right["kind"], right["vector_path"]) == ("wrong", "right", None)
    assert re.fullmatch(r"keys/\w+_wrong\.pt", wrong["key_path"])
    assert re.fullmatch(r"keys/\w+_right\.pt", right["key_path"])
    assert re.fullmatch(r"vectors/\w+_delta\.pt", str(wrong["vector_path"]))


def test_the_best_pairs_of_all_are_kept() -> None:
    """3.7: the keep_top_C of highest quality, a pair with both of its entries."""
    pairs = [{"quality": quality} for quality in (0.3, 0.9, 0.5)]
    assert top_pairs(pairs, 2) == [{"quality": 0.9}, {"quality": 0.5}]


# ---------------------------------------------------------------- select


def test_the_dpp_s_gains_on_three_items_by_hand() -> None:
    """4.2, 4.3: sum log(1 + Q) + lambda log det(K_S + eps I) on cosines: a and b at 0.6, c orthogonal to a and at 0.8
    to b. lambda = 2, eps = 0.5; keys of other lengths are the same items."""
    keys = np.array([[5, 0], [0.6, 0.8], [0, 2]], dtype=np.float32)
    quality = np.array([0.5, 0.9, 0.2])
    greedy = GreedyDpp(keys, quality, 2.0, 0.5, 3)
    alone = [math.log(1 + q) + 2 * math.log(1.5) for q in quality]
    assert greedy.gains() == pytest.approx(alone, abs=1e-6)
    first = greedy.take(greedy.best())
    assert (first.index, first.objective) == (1, pytest.approx(math.log(1.9) + 2 * math.log(1.5), abs=1e-6))
    # det of a pair is 1.5^2 - cos^2
    gain_a = math.log(1.5) + 2 * (math.log(1.5**2 - 0.36) - math.log(1.5))
    gain_c = math.log(1.2) + 2 * (math.log(1.5**2 - 0.64) - math.log(1.5))
    assert greedy.gains().tolist() == [
        pytest.approx(gain_a, abs=1e-6), -math.inf, pytest.approx(gain_c, abs=1e-6)
    ]  # fmt: skip
    assert greedy.take(greedy.best()).index == 0
    # det of all three, a and c being orthogonal: 1.5^3 - 1.5 * (0.36 + 0.64)
    whole = math.log(1.5 * 1.9 * 1.2) + 2 * math.log(1.5**3 - 1.5)
    assert greedy.take(2).objective == pytest.approx(whole, abs=1e-6)


def test_a_floor_for_each_control_point_takes_the_best_of_it() -> None:
    """4.4"""
    rows = [
        {"control_point_m": m, "quality": quality} for m, quality in ((2, 0.1), (1, 0.2), (1, 0.9), (2, 0.3))
    ]
    assert control_point_floor(rows, 1) == [2, 3]
    assert control_point_floor(rows, 2) == [2, 3, 1, 0], (
        "a library of two entries has one of every control point"
    )


# ---------------------------------------------------------------- online


MEMORY = EpisodicMemory.of(
    [
        entry("w1", 0.5), entry("w2", 1.0), entry("r1", 0.9, right=True), entry("far", 1.0),
        entry("later", 1.0, m=2),
    ],
    np.array([[2, 0], [0.8, 0.6], [0.6, 0.8], [0, 1], [1, 0]], dtype=np.float32),
)  # fmt: skip
STATE = np.array([[3.0, 0.0]], dtype=np.float32)


def test_what_was_mined_after_the_segment_before_is_found_by_cosine() -> None:
    """1.3, 6.3, 6.4: mem_m = m - 1; the k nearest; A-hat = similarity times Q."""
    found = retrieve(MEMORY, 2, STATE, ONLINE)
    assert [h.entry.tool_name for h in found.hits] == ["w1", "w2", "r1"], "k_retrieve is 3"
    assert [h.similarity for h in found.hits] == pytest.approx([1.0, 0.8, 0.6])
    assert [h.ahat for h in found.hits] == pytest.approx([0.5, 0.8, 0.54])
    assert [h.entry.tool_name for h in retrieve(MEMORY, 3, STATE, ONLINE).hits] == ["later"]
    # 6.5: null's is the largest of right entries; 6.6: the L best that can be injected, by A-hat
    assert found.null_ahat() == pytest.approx(0.54)
    assert [h.entry.tool_name for h in found.candidates(2)] == ["w2", "w1"]
    assert [h.entry.tool_name for h in found.candidates(1)] == ["w2"]


def test_null_has_the_best_right_entry_and_nothing_without_one() -> None:
    """6.5: a maximum, neither sum nor mean."""
    hits = [hit("w", 0.9, 1.0), hit("r1", 0.8, 0.5, right=True), hit("r2", 0.6, 0.9, right=True)]
    assert Retrieval(None, 3, hits).null_ahat() == pytest.approx(0.54)
    assert Retrieval(None, 1, hits[:1]).null_ahat() == 0


@pytest.mark.parametrize(
    ("changes", "gate"), [({"min_sim": 0.999, "k_retrieve": 3}, None), ({"min_entries": 5}, "min_entries")]
)
def test_a_memory_that_is_unsure_is_not_used(changes: dict[str, Any], gate: str | None) -> None:
    """6.3: the most similar entry below min_sim, or fewer entries than min_entries: null."""
    online = ONLINE.model_copy(update=changes)
    assert retrieve(MEMORY, 2, STATE, online).gate == gate
    aside = np.array([[1.0, 1.0]], dtype=np.float32)
    near = OnlineSection(min_sim=0.99)
    assert retrieve(MEMORY, 2, aside, near).gate == "min_sim", "cosine 0.9899 to the nearest"


def test_score_is_beta_ahat_plus_rho_times_the_probe_s_gain_and_alpha_k_scale_times_it() -> None:
    """6.7 to 6.9, beta 2, rho 0.5, k_scale 3."""
    hits = [hit("a", 0.9, 0.5), hit("b", 0.8, 0.5)]
    choice = choose(hits, 0.3, Probe([-2.0, -1.0], -1.5), ONLINE)
    # 2 * 0.45 + 0.5 * (-2 + 1.5) and 2 * 0.4 + 0.5 * (-1 + 1.5)
    assert choice.scores == pytest.approx([0.65, 1.05])
    assert choice.null_score == pytest.approx(0.6)
    assert (choice.index, choice.gate) == (1, "chosen") and choice.alpha == pytest.approx(3 * 1.05)
    # without a probe A-hat alone decides
    alone = choose(hits, 0.3, None, ONLINE)
    assert alone.scores == pytest.approx([0.9, 0.8]) and alone.index == 0


@pytest.mark.parametrize(
    ("ahat", "null", "gate"),
    [
        (0.30, 0.31, "null_best"),
        (0.04, 0.0, "tau_null"),
        (0.05, 0.0, "chosen"),
        (0.3, 0.3, "tie"),
        (0.3 + 0.4e-12, 0.3, "tie"),
        (0.3 + 1e-12, 0.3, "chosen"),
    ],
)
def test_null_wins_where_it_is_better_where_both_are_equal_and_below_tau_null(
    ahat: float, null: float, gate: str
) -> None:
    """6.8: beta is 2, so scores differ twice as much; tau_null is 0.1, equal within 1e-12."""
    assert TIE == 1e-12
    choice = choose([Hit(entry("a", 1.0), ahat, ahat)], null, None, ONLINE)
    assert choice.gate == gate and (choice.index is None) is (gate != "chosen")
    assert choice.alpha == (pytest.approx(6 * ahat) if gate == "chosen" else 0)


def decider(online: OnlineSection, m: int = 3) -> Decider:
    variant = retrieving("esm", MEMORY, online)
    return Decider(variant, online, m, "\n\n", 50, 0.0, 7)


def test_probes_are_null_and_l_candidates_at_strength_1() -> None:
    """6.7: L + 1 continuations of probe_tokens tokens each, the candidates at scale 1.0."""
    assert PROBE_SCALE == 1.0
    own = decider(ONLINE)
    plan = own.plan(0, 2, STATE)
    probes = own.probes(plan)
    assert [branch.sampling for branch in probes] == [Sampling(4)] * 3
    assert probes[0].steer is None
    assert [branch.steer.scale for branch in probes[1:] if branch.steer] == [1.0, 1.0]
    # 6.2: (L + 1) * probe_tokens are spent on them, and no token of the answer is
    answer = Answer("x")
    done = [Completion([1] * 4, [-1.0] * 4, "", "length") for _ in range(3)]
    own.take_probes(plan, answer, iter(done))
    assert (answer.probe_tokens, len(answer.tokens)) == (12, 0)
    # 6.7: nothing is probed without candidates, or without tokens for it
    assert own.probes(Plan(0, Retrieval("min_sim"))) == []
    assert decider(ONLINE.model_copy(update={"probe_tokens": 0})).probes(plan) == []


@pytest.mark.parametrize(
    ("variant", "gate", "probed"), [("no_memory", "no_memory", 0), ("no_probing", None, 0)]
)
def test_a_variant_is_esm_without_a_part(variant: Any, gate: str | None, probed: int) -> None:
    """6.7, 7.2: `online.variant` makes the run's own method that."""
    own = decider(ONLINE.model_copy(update={"variant": variant}))
    plan = own.plan(0, 2, STATE)
    assert plan.retrieval.gate == gate and len(own.probes(plan)) == probed
    own.decide(plan, 2)
    if variant == "no_probing":
        assert plan.choice is not None and plan.choice.scores == pytest.approx([1.6, 1.0])


def test_the_answer_s_budget_counts_what_is_committed_alone() -> None:
    """6.2, 6.10: a segment gets what is left of T_max, stops at the delimiter; the tail goes on without it."""
    own, answer = decider(ONLINE), Answer("x", tokens=[0] * 20, probe_tokens=500)
    plan = own.plan(0, 2, STATE)
    own.decide(plan, 2)
    commit, tail = own.commit(plan, answer, 2), own.tail(0, answer)
    assert (commit.sampling, tail.sampling) == (Sampling(30, 0.0, "\n\n"), Sampling(30, 0.0))
    assert commit.steer is not None and tail.steer is None
    # 6.9: Score = 2 * 0.8 without probes, k_scale 3; 2: the vector as it is
    assert commit.steer.scale == pytest.approx(4.8) and commit.steer.vector.tolist() == [1, 2]


def test_tools_may_be_kept_to_some_segments() -> None:
    """6.3, 6.11: never the first one; min_tool_m and max_tool_m for the others."""
    own = decider(ONLINE.model_copy(update={"min_tool_m": 3, "max_tool_m": 4}))
    assert [own.closed(m) for m in range(1, 6)] == ["first_segment", "tool_range", None, None, "tool_range"]
    assert [decider(ONLINE).closed(m) for m in (1, 2, 9)] == ["first_segment", None, None]


class Scripted:
    """A model of two prefixes that writes what the script says, and notes what it is asked for."""

    def __init__(self, *written: tuple[str, str]) -> None:
        self.written, self.asked = list(written), list[Branch]()
        self.extended: list[str] = []

    def open(self, prompts: Sequence[Sequence[int]]) -> Scripted:
        return self

    def states(self, rows: Sequence[int], layers: Sequence[int]) -> Any:
        return np.stack([STATE for _ in rows])

    def branch(
        self,
        branches: Sequence[Branch],
        finished: Finished = ignore,
        unfinished: Unfinished = ignore,
    ) -> list[Completion]:
        self.asked += branches
        done = [self._next(branch) for branch in branches]
        for place, completion in enumerate(done):
            finished(place, completion)
        return done

    def _next(self, branch: Branch) -> Completion:
        if branch.sampling.max_tokens == ONLINE.probe_tokens:
            return Completion([9], [-1.0], "?", "length")
        text, ended = self.written.pop(0)
        return Completion([1] * len(text), [-1.0] * len(text), text, ended)

    def extend(self, row: int, committed: Completion) -> None:
        self.extended.append(committed.text)

    def close(self, rows: Sequence[int]) -> None:
        pass


def answered(model: Scripted, m: int) -> Answer:
    config = Config(online=ONLINE)
    config = config.model_copy(update={"control_points": config.control_points.model_copy(update={"M": m})})
    controller = Controller(cast("LanguageModel", model), config, retrieving("esm", MEMORY, ONLINE))
    return controller.run(["x"], [[1, 2]])[0]


def test_segments_keep_their_delimiter_and_the_tail_is_not_steered() -> None:
    """6.10: after M segments the rest of the budget is written in one piece, as the last step."""
    model = Scripted(("ab\n\n", "stop"), ("c\n\n", "stop"), ("rest", "eos"))
    answer = answered(model, 2)
    assert answer.text == "ab\n\nc\n\nrest"
    assert [(d.m, d.phase, d.chosen) for d in answer.decisions] == [
        (1, "segment", None), (2, "segment", "w2"), (3, "tail", None)
    ]  # fmt: skip
    assert [d.committed_tokens for d in answer.decisions] == [4, 3, 4]
    # 6.2: probes are spent beside it: (L + 1) of one token that this model writes
    assert (len(answer.tokens), answer.probe_tokens) == (11, 3)
    assert model.extended == ["ab\n\n", "c\n\n"]


def test_a_segment_that_ends_otherwise_ends_the_answer() -> None:
    """6.10: by the end of text or the limit, no further control point and no tail."""
    for ended in ("eos", "length"):
        answer = answered(Scripted(("ab\n\n", "stop"), ("c", ended)), 4)
        assert [(d.m, d.phase, d.ended) for d in answer.decisions] == [
            (1, "segment", "stop"), (2, "segment", ended)
        ]  # fmt: skip


def test_the_decision_has_each_probe_s_log_probability() -> None:
    """6.7: the mean of each candidate's and of null's probe, and their differences."""

    class Probing(Scripted):
        logprobs = iter((-1.0, -0.5, -2.0))

        def _next(self, branch: Branch) -> Completion:
            done = super()._next(branch)
            short = branch.sampling.max_tokens == ONLINE.probe_tokens
            return replace(done, logprobs=[next(self.logprobs)] * len(done.tokens)) if short else done

    decision = answered(Probing(("ab\n\n", "stop"), ("c", "eos")), 2).decisions[1]
    assert decision.null_logprob == -1.0
    probed = [(c.entry, c.logprob, c.delta_logprob) for c in decision.candidates if c.probed]
    assert probed == [("w2", -0.5, 0.5), ("w1", -2.0, -1.0)]
    assert (decision.chosen, decision.logprob, decision.delta_logprob) == ("w2", -0.5, 0.5)
    # Score of w2: 2 * 0.8 + 0.5 * 0.5; alpha three times that
    assert decision.score == pytest.approx(1.85) and decision.alpha == pytest.approx(5.55)


# ---------------------------------------------------------------- variant and ablations


def configured(tmp_path: Path, text: str) -> Config:
    path = tmp_path / "run.yaml"
    path.write_text(text)
    return load_config(path)


def test_an_ablation_that_esm_itself_is_is_left_out_or_refused(tmp_path: Path) -> None:
    """6.7, 7.2: two rows of the same numbers tell nothing."""
    config = configured(tmp_path, "online: {variant: no_probing}\n")
    assert config.eval.ablations == ["no_memory"]
    assert Config.model_validate(config.model_dump()) == config, "a resolved configuration is read as it was"
    assert configured(tmp_path, "online: {variant: no_memory}\n").eval.ablations == []
    with pytest.raises(ConfigError) as caught:
        configured(tmp_path, "online: {variant: no_probing}\neval: {ablations: [no_probing, mean_vector]}\n")
    assert len(caught.value.problems) == 1
    assert "eval.ablations without no_probing: where online.variant is no_probing" in str(caught.value)


# ---------------------------------------------------------------- a run


SMALL = """
run: {name: small, seed: 0, stages: [mine, select, memory, eval]}
task: {train_size: 6, eval_size: 4}
decode: {max_new_tokens: 120}
offline_mine: {K: 4, max_new_tokens: 120, candidate_layers: [2]}
online: {L: 2, probe_tokens: 3, k_scale: 1.0}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Event]]:
    """The four stages with the section's own settings but for their sizes: the folder of ESM, and its log."""
    folder = tmp_path_factory.mktemp("run")
    config = configured(folder, SMALL)
    model = load_model(config.model)
    events = [
        e
        for stage in (Mine(), Select(), BuildMemory(), Evaluate())
        for e in run_stage(stage, config, folder, model)
    ]
    return folder / "esm", events


def test_the_files_of_a_run(run: tuple[Path, list[Event]]) -> None:
    """3.8, 4.5, 5.1, 7.2: their names and folders, below the folder of the method."""
    folder, _ = run
    names = {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.parent.name not in ("keys", "vectors")
    }
    expected = {
        "mine/rollouts.jsonl", "mine/candidates.jsonl", "mine/keys", "mine/vectors", "library/library.jsonl",
        "library/keys", "library/vectors", "memory/keys.npy", "memory/entries.jsonl", "tables/main_results_single.csv",
        "tables/ablation.csv", "tables/diagnostics_T120.csv", "tables/diagnostics_T120.json", "tables/compare_T120.csv",
        "tables/compare_T120.json", "cases/cases_T120.md",
        *(f"eval/{tag}/{file}.jsonl" for tag in ("greedy", "esm", "no_memory", "no_probing")
          for file in ("per_example", "summary")),
    }  # fmt: skip
    assert expected <= names
    assert {path.name for path in (folder / "eval").iterdir()} == {"greedy", "esm", "no_memory", "no_probing"}


def test_mining_depends_on_nothing_online(tmp_path: Path) -> None:
    """0, 3: stage I comes before any setting of the controller."""
    config = configured(tmp_path, SMALL.replace("train_size: 6", "train_size: 2"))
    blind = config.model_copy(update={"online": None})
    run_stage(Mine(), blind, tmp_path, load_model(config.model))
    assert (tmp_path / "esm/mine/candidates.jsonl").exists()


def test_every_contrast_is_two_entries(run: tuple[Path, list[Event]]) -> None:
    """3.6, 3.8: no entry is tried out; vectors are as long as they were mined."""
    folder, events = run
    pairs = [event for event in events if isinstance(event, PairMined)]
    rows = read_jsonl(folder / "mine/candidates.jsonl")
    assert len(rows) == 2 * len(pairs) > 0
    assert {event.steered_correct for event in pairs} == {None}
    by_name = {row["tool_name"]: row for row in rows}
    assert len(list((folder / "mine/keys").iterdir())) == 2 * len(pairs)
    assert len(list((folder / "mine/vectors").iterdir())) == len(pairs)
    for pair in pairs:
        wrong, right = by_name[f"{pair.pair}_wrong"], by_name[f"{pair.pair}_right"]
        key, other, delta = (
            torch.load(folder / "mine" / path, weights_only=True).numpy()
            for path in (wrong["key_path"], right["key_path"], wrong["vector_path"])
        )
        np.testing.assert_allclose(delta, other - key, atol=1e-5)
        assert pair.delta_norm == pytest.approx(float(np.linalg.norm(delta)), rel=1e-4)
        assert wrong["quality"] == right["quality"] == pair.quality > 0
        assert right["vector_path"] is None


def test_rewards_in_the_file(run: tuple[Path, list[Event]]) -> None:
    """3.2, 3.8: each rollout with text, prediction, verdict and reward."""
    for line in read_jsonl(run[0] / "mine/rollouts.jsonl"):
        assert len(line["rollouts"]) == 4
        for one in line["rollouts"]:
            assert {"text", "pred", "correct", "reward"} <= one.keys()
            assert one["reward"] == pytest.approx(one["correct"] - 0.1 * one["tokens"] / 120)


def test_library_and_memory_have_the_documented_fields(run: tuple[Path, list[Event]]) -> None:
    """4.5, 5.1: rows of entries.jsonl are those of keys.npy, float32 of length 1."""
    folder, _ = run
    library = read_jsonl(folder / "library/library.jsonl")
    entries, keys = read_jsonl(folder / "memory/entries.jsonl"), np.load(folder / "memory/keys.npy")
    needed = {"lib_id", "tool_name", "layer", "control_point_m", "quality", "vector_path"}
    assert all(needed <= row.keys() for row in library)
    assert keys.dtype == np.float32 and keys.shape[0] == len(entries) == len(library)
    np.testing.assert_allclose(np.linalg.norm(keys, axis=1), 1, atol=1e-5)
    assert len(list((folder / "library/vectors").iterdir())) == sum(
        row["vector_path"] is not None for row in library
    )


def test_answers_and_tables_have_the_documented_fields(run: tuple[Path, list[Event]]) -> None:
    """6.2, 7.2: text, pred, gold, correct and tokens of each example; esm's steps and budgets; summary and tables."""
    folder, events = run
    for tag in ("greedy", "esm", "no_memory", "no_probing"):
        lines = read_jsonl(folder / f"eval/{tag}/per_example.jsonl")
        (summary,) = read_jsonl(folder / f"eval/{tag}/summary.jsonl")
        right = sum(line["correct"] for line in lines)
        assert (summary["n"], summary["acc"], summary["T_max"]) == (4, right / 4, 120)
        for line in lines:
            assert {"text", "pred", "gold", "correct", "tokens_used"} <= line.keys()
            assert line["tokens_used"] <= 120
            assert line["budget_used"] == line["tokens_used"] + line["probe_tokens_used"]
            most = sum(step["gate"] not in ("first_segment", "tail") for step in line["steps"]) * (2 + 1) * 3
            assert line["probe_tokens_used"] <= most
        if tag == "esm":
            assert any(line["probe_tokens_used"] for line in lines)
            steps = [step for line in lines for step in line["steps"] if step["probes"]]
            assert steps and all(step["null_logprob"] < 0 for step in steps)
            assert all(0 < len(step["probes"]) <= 2 for step in steps)
        else:
            assert not any(line["probe_tokens_used"] for line in lines)
    with (folder / "tables/main_results_single.csv").open(newline="") as file:
        assert [row["method"] for row in csv.DictReader(file)] == ["greedy", "esm"]
    with (folder / "tables/ablation.csv").open(newline="") as file:
        assert {"no_memory", "no_probing"} <= {row["method"] for row in csv.DictReader(file)}
    compared = json.loads((folder / "tables/compare_T120.json").read_text())
    assert [row["method"] for row in compared] == ["esm", "no_memory", "no_probing"]
    # 6.7: no_memory writes what greedy writes
    texts = [
        [line["text"] for line in read_jsonl(folder / f"eval/{tag}/per_example.jsonl")]
        for tag in ("greedy", "no_memory")
    ]
    assert texts[0] == texts[1]
    assert all(
        d.alpha == pytest.approx(d.score)
        for d in events
        if isinstance(d, DecisionTaken) and d.score is not None
    )


def test_a_vector_is_added_to_the_last_token_of_the_prefix_in_prefill_alone(
    run: tuple[Path, list[Event]],
) -> None:
    """2: h + alpha v at the last position of the layer's output, as the next layer gets it; at no other position, and
    at no generated token."""
    config = configured(run[0].parent, SMALL)
    model: Any = load_model(config.model)
    prompt = model.tokenizer.encode_chat(training_examples(config)[0].question)
    row = next(row for row in read_jsonl(run[0] / "library/library.jsonl") if row["vector_path"])
    vector = torch.load(run[0] / "library" / row["vector_path"], weights_only=True).numpy()
    inputs: list[Any] = []
    handle = model.network.layers[row["layer"] + 1].register_forward_pre_hook(
        lambda module, args, kwargs: inputs.append((args or list(kwargs.values()))[0][0].numpy().copy()),
        with_kwargs=True,
    )
    streams: list[Any] = []
    try:
        for steer in (None, Steer(vector, row["layer"], 0.01)):
            model.generate([Request(prompt, Sampling(2), steer=steer)])
            streams.append(np.concatenate(inputs))
            inputs.clear()
    finally:
        handle.remove()
    plain, steered = streams  # the passes end with the last token of the prompt and the first that is written
    before = len(prompt) - 1
    np.testing.assert_allclose(steered[-2] - plain[-2], 0.01 * vector, atol=1e-4)
    np.testing.assert_allclose(steered[:before], plain[:before], atol=1e-6)
    np.testing.assert_allclose(steered[-1], plain[-1], atol=1e-3)
    assert np.abs(vector).max() > 1


def test_a_run_with_pairs_goes_on_where_verification_keeps_nothing(tmp_path: Path) -> None:
    """3.6: without verification there is nothing that could fail here; with it a warning, and esm leaves all alone."""
    config = configured(
        tmp_path,
        SMALL.replace("candidate_layers: [2]", "candidate_layers: [2], verify: true").replace(
            "k_scale: 1.0", "k_scale: 0.0"
        ),
    )
    model = load_model(config.model)
    events = [
        e
        for stage in (Mine(), Select(), BuildMemory(), Evaluate())
        for e in run_stage(stage, config, tmp_path, model)
    ]
    warnings = [e.text for e in events if isinstance(e, Notice) and e.level == "warning"]
    assert any("nothing to inject" in text for text in warnings)
    assert not any(e.chosen for e in events if isinstance(e, DecisionTaken))


def test_a_library_that_verification_leaves_empty_is_one_that_never_steers(tmp_path: Path) -> None:
    """3.6: and without verification an empty file of candidates is an error."""
    config = configured(tmp_path, SMALL)
    verified = configured(
        tmp_path, SMALL.replace("candidate_layers: [2]", "candidate_layers: [2], verify: true")
    )
    model = load_model(config.model)
    candidates = tmp_path / "esm/mine/candidates.jsonl"
    candidates.parent.mkdir(parents=True)
    candidates.write_text("")
    with pytest.raises(DataError, match="there are no candidates"):
        run_stage(Select(), config, tmp_path, model)
    for stage in (Select(), BuildMemory(), Evaluate()):
        events = run_stage(stage, verified, tmp_path, model)
    assert np.load(tmp_path / "esm/memory/keys.npy").shape == (0, model.info.hidden_size)
    gates = {event.gate for event in events if isinstance(event, DecisionTaken) and event.method == "esm"}
    assert gates <= {"first_segment", "min_entries", "tail"} and "min_entries" in gates
