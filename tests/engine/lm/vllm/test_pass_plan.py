"""Which rows of vLLM's passes are touched, and which blocks of key/values are kept apart: without vLLM."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.lm.vllm.block_hash import block_keys
from engine.lm.vllm.pass_plan import plan_pass
from engine.lm.vllm.request_args import Injection, RequestArgs, unpack

ONE = Injection(9, 1, 2.0, "a")
"""A steer at the last token of a prompt of ten."""


def pass_of(*pieces: tuple[str, int, int, int]) -> Any:
    """The runner's numbers in a pass of pieces (request, prompt length, computed tokens, scheduled tokens)."""
    return SimpleNamespace(
        input_batch=SimpleNamespace(
            req_ids=[name for name, _, _, _ in pieces],
            num_prompt_tokens=np.array([prompt for _, prompt, _, _ in pieces]),
            num_computed_tokens_cpu=np.array([computed for _, _, computed, _ in pieces]),
        ),
        query_start_loc=SimpleNamespace(np=np.cumsum([0, *(count for *_, count in pieces)])),
    )


def test_the_steered_token_comes_in_the_second_chunk() -> None:
    args = {"r": RequestArgs((ONE,))}
    assert plan_pass(pass_of(("r", 10, 0, 6)), args.get).touched == set()
    assert plan_pass(pass_of(("r", 10, 6, 4)), args.get).injections == {1: [(3, ONE)]}
    assert plan_pass(pass_of(("r", 10, 10, 1)), args.get).touched == set()


def test_before_the_prompt_s_end_there_is_no_draw_below_the_first() -> None:
    """Draws are counted by numbers without a sign; what is drawn behind a chunk is thrown away."""
    args = {"r": RequestArgs(drawn=2)}
    for computed, scheduled, count in ((0, 6, 0), (6, 4, 2), (10, 1, 3)):
        (draw,) = plan_pass(pass_of(("r", 10, computed, scheduled)), args.get).draws
        assert draw is not None and draw.count == count


def test_recomputed_after_a_preemption_it_lies_in_the_middle() -> None:
    plan = plan_pass(pass_of(("p", 3, 7, 1), ("r", 10, 0, 14)), {"r": RequestArgs((ONE,))}.get)
    assert plan.injections == {1: [(10, ONE)]}
    assert plan.draws[0] is None, "a request of another sender is left to vLLM"
    assert plan.draws[1] is not None and plan.draws[1].count == 4, "four tokens are written already"


def test_captures_and_draws_of_a_mixed_batch() -> None:
    args = {
        "decode": RequestArgs((ONE,), temperature=0.5, seed=3, drawn=2),
        "read": RequestArgs(capture_positions=(4, 1), capture_layers=(2, 0)),
    }
    plan = plan_pass(pass_of(("decode", 10, 12, 1), ("read", 5, 0, 5)), args.get)
    assert plan.injections == {}
    assert plan.captures == {layer: [(5, "read", 4), (2, "read", 1)] for layer in (2, 0)}
    first = plan.draws[0]
    assert first is not None and (first.temperature, first.seed, first.count) == (0.5, 3, 5)


@given(
    length=st.integers(1, 60),
    tokens=st.integers(0, 20),
    cuts=st.lists(st.integers(1, 20), min_size=1),
    data=st.data(),
)
def test_however_a_sequence_is_cut_each_position_is_met_once(
    length: int, tokens: int, cuts: list[int], data: Any
) -> None:
    position = data.draw(st.integers(0, length - 1))
    args = {"r": RequestArgs((Injection(position, 0, 1.0, "v"),))}
    met: list[int] = []
    computed, total = 0, length + tokens
    while computed < total:
        count = min(cuts[len(met) % len(cuts)] if computed < length else 1, total - computed)
        plan = plan_pass(pass_of(("other", 2, 5, 1), ("r", length, computed, count)), args.get)
        met += [computed + row - 1 for row, _ in plan.injections.get(0, [])]
        computed += count
    assert met == [position]


def test_blocks_are_apart_from_the_steered_one_on() -> None:
    args = RequestArgs((Injection(37, 1, 2.0, "a"),), unshared_from=70, nonce="7")
    keys = [block_keys(args, start, start + 16) for start in range(0, 96, 16)]
    assert [bool(key) for key in keys] == [False, False, True, False, True, False]
    assert keys[2] != block_keys(RequestArgs((Injection(37, 1, 2.5, "a"),)), 32, 48)
    assert keys[2] == block_keys(RequestArgs((Injection(37, 1, 2.0, "a"),)), 32, 48)


def test_what_travels_comes_back() -> None:
    args = RequestArgs((ONE, Injection(3, 0, -0.5, "b")), (1, 2), (0,), 0.7, 2**63 + 5, 4, 1, "n")
    assert unpack(msgspec.msgpack.decode(msgspec.msgpack.encode(args.pack()))) == args
    assert unpack(None) is unpack({"other": 1}) is None
    assert args.last_position == 9 and RequestArgs().last_position == -1
    assert RequestArgs((ONE,), capture_positions=(4, 12)).last_position == 12


def test_a_block_is_kept_apart_from_its_first_token_on() -> None:
    """Of blocks of 16 tokens: the one that begins with the steered or captured token, not the one before."""
    captured = RequestArgs(capture_positions=(16,), unshared_from=16, nonce="n")
    assert block_keys(captured, 0, 16) == block_keys(captured, 32, 48) == ()
    assert block_keys(captured, 16, 32) == (("capture", "n"),)
    for position, steered in ((15, [True, False]), (16, [False, True]), (31, [False, True])):
        args = RequestArgs((Injection(position, 1, 2.0, "a"),))
        found = [block_keys(args, start, start + 16) for start in (0, 16)]
        key = ("steer", f"{position} 1 2.0 a")
        assert found == [((key,) if here else ()) for here in steered]
