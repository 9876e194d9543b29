"""Arguments that travel with each request to vLLM's workers, in `SamplingParams.extra_args`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

KEY = "steer_tui"
"""Key of the packed arguments in `extra_args`."""


@dataclass(frozen=True)
class Injection:
    """Add `scale` times the vector called `vector` after decoder layer `layer` at token `position` of the
    sequence. Positions, not steps: a prompt may be prefilled in chunks or, after a preemption, again."""

    position: int
    layer: int
    scale: float
    vector: str


@dataclass(frozen=True)
class RequestArgs:
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
        """The arguments as plain numbers, strings and lists."""
        return {
            KEY: {
                "injections": [[i.position, i.layer, i.scale, i.vector] for i in self.injections],
                "capture_positions": list(self.capture_positions),
                "capture_layers": list(self.capture_layers),
                "temperature": self.temperature,
                "seed": self.seed,
                "drawn": self.drawn,
                "unshared_from": self.unshared_from,
                "nonce": self.nonce,
            }
        }

    @property
    def last_position(self) -> int:
        """The last token at which anything is injected or captured; -1: nowhere."""
        return max([i.position for i in self.injections] + list(self.capture_positions), default=-1)


def unpack(extra_args: Mapping[str, Any] | None) -> RequestArgs | None:
    """The arguments that `pack` packed; None for a request of another sender."""
    packed = (extra_args or {}).get(KEY)
    if packed is None:
        return None
    return RequestArgs(
        injections=tuple(Injection(*injection) for injection in packed["injections"]),
        capture_positions=tuple(packed["capture_positions"]),
        capture_layers=tuple(packed["capture_layers"]),
        temperature=packed["temperature"],
        seed=packed["seed"],
        drawn=packed["drawn"],
        unshared_from=packed["unshared_from"],
        nonce=packed["nonce"],
    )
