"""Which rows of a vLLM pass are injected into, captured or sampled, computed from the runner's own numbers.

A pass is a batch of pieces: each request has the tokens from `num_computed_tokens` on that the scheduler chose: a
single token while it decodes, a chunk of its prompt while it prefills, prompt and continuation again after a
preemption. Token `p` of a request is in the pass if the piece covers it, at row `query_start_loc[i] + p -
num_computed_tokens[i]`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from engine.lm.vllm.request_args import Injection, RequestArgs


@dataclass
class Draw:
    """How the token after one request's piece is chosen: `count` is its number in the continuation."""

    temperature: float
    seed: int
    count: int


@dataclass
class PassPlan:
    """`injections`: layer -> (row, injection). `captures`: layer -> (row, request, position). `draws`: a
    draw for each request of the pass; None: a request of another sender."""

    injections: dict[int, list[tuple[int, Injection]]] = field(default_factory=dict)
    captures: dict[int, list[tuple[int, str, int]]] = field(default_factory=dict)
    draws: list[Draw | None] = field(default_factory=list)

    @property
    def touched(self) -> set[int]:
        """Layers with an injection or a capture: their hooks must run, so that no CUDA graph may be replayed."""
        return set(self.injections) | set(self.captures)


def plan_pass(runner: Any, args_of: Callable[[str], RequestArgs | None]) -> PassPlan:
    """The plan of the pass that `runner` (vLLM's model runner) has just prepared its inputs for."""
    plan = PassPlan()
    batch = runner.input_batch
    starts = runner.query_start_loc.np
    for index, request in enumerate(batch.req_ids):
        args = args_of(request)
        if args is None:
            plan.draws.append(None)
            continue
        start = int(starts[index])
        computed = int(batch.num_computed_tokens_cpu[index])
        end = computed + int(starts[index + 1]) - start
        written = end - int(batch.num_prompt_tokens[index]) + args.drawn
        plan.draws.append(Draw(args.temperature, args.seed, max(0, written)))
        if computed <= args.last_position:
            _touch(plan, request, args, range(computed, end), start - computed)
    return plan


def _touch(plan: PassPlan, request: str, args: RequestArgs, piece: range, shift: int) -> None:
    for injection in args.injections:
        if injection.position in piece:
            plan.injections.setdefault(injection.layer, []).append((injection.position + shift, injection))
    for position in args.capture_positions:
        if position in piece:
            for layer in args.capture_layers:
                plan.captures.setdefault(layer, []).append((position + shift, request, position))
