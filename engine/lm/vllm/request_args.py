"""Arguments that travel with each request to vLLM's workers, in `SamplingParams.extra_args`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

KEY = "steer_tui"
"""Key of the packed arguments in `extra_args`."""


class Injection(msgspec.Struct, frozen=True):
    """Add `scale` times the vector called `vector` after decoder layer `layer` at token `position` of the
    sequence. Positions, not steps: a prompt may be prefilled in chunks or, after a preemption, again."""

    position: int
    layer: int
    scale: float
    vector: str


class RequestArgs(msgspec.Struct, frozen=True):
    """One request's steering, capture and draws.

    `injections`: in order of position. `capture_positions`, `capture_layers`: residual streams to return.
    `temperature`, `seed`: as in `Sampling` and `Request`. `drawn`: number of tokens of this continuation
    that are in the prompt already. `unshared_from`: key/values from the block of this position on do not
    come from the prefix cache, because cached tokens run in no pass and cannot be captured; `nonce` keeps them
    to this request."""

    injections: tuple[Injection, ...] = ()
    capture_positions: tuple[int, ...] = ()
    capture_layers: tuple[int, ...] = ()
    temperature: float = 0.0
    seed: int = 0
    drawn: int = 0
    unshared_from: int | None = None
    nonce: str = ""

    def pack(self) -> dict[str, Any]:
        """The arguments as plain numbers, texts, lists and mappings."""
        return {KEY: msgspec.to_builtins(self)}

    @property
    def last_position(self) -> int:
        """The last token at which anything is injected or captured; -1: nowhere."""
        return max([i.position for i in self.injections] + list(self.capture_positions), default=-1)


def unpack(extra_args: Mapping[str, Any] | None) -> RequestArgs | None:
    """The arguments that `pack` packed; None for a request of another sender."""
    packed = (extra_args or {}).get(KEY)
    return None if packed is None else msgspec.convert(packed, RequestArgs)
