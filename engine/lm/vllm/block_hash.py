"""Keep steered key/values apart in vLLM's prefix cache.

vLLM shares a block of key/values between requests whose tokens are equal up to the block's end. Steering changes
them from the steered token on. So the hash of the block that holds a steered token also covers the injection:
everything before it stays shared with the unsteered prefix, and what comes after follows from the hash chain.
Requests with the same injections at the same places share their steered blocks too.
"""

from __future__ import annotations

from typing import Any

from engine.lm.vllm.request_args import RequestArgs, unpack

_MARK = "_steer_tui"


def keep_steered_apart() -> None:
    """Wrap vLLM's hash keys of a block. Requests without `RequestArgs` hash as before."""
    from vllm.v1.core import kv_cache_utils  # pyright: ignore[reportMissingImports]

    plain = kv_cache_utils.generate_block_hash_extra_keys
    if hasattr(plain, _MARK):
        return

    def generate(request: Any, start: int, end: int, multimodal: int) -> tuple[tuple[Any, ...] | None, int]:
        keys, multimodal = plain(request, start, end, multimodal)
        params = getattr(request, "sampling_params", None)
        args = unpack(params.extra_args) if params is not None else None
        steered = block_keys(args, start, end) if args is not None else ()
        return ((*(keys or ()), *steered) or None), multimodal

    setattr(generate, _MARK, True)
    kv_cache_utils.generate_block_hash_extra_keys = generate


def block_keys(args: RequestArgs, start: int, end: int) -> tuple[tuple[str, str], ...]:
    """Keys that distinguish the block of tokens `start` to `end` (exclusive) from an unsteered block."""
    keys = [
        ("steer", f"{i.position} {i.layer} {i.scale!r} {i.vector}")
        for i in args.injections
        if start <= i.position < end
    ]
    if args.unshared_from is not None and start <= args.unshared_from < end:
        keys.append(("capture", args.nonce))
    return tuple(keys)
