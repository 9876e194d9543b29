"""What vLLM loads in each of its processes (entry point group `vllm.general_plugins`)."""

from __future__ import annotations

import os
import threading
import time

from engine.lm.vllm.block_hash import keep_steered_apart

OWNER = "STEER_TUI_VLLM_OWNER"
"""Environment: id of the process whose engine this is."""
_LOOK_EVERY = 1.0
"""Seconds."""


def register() -> None:
    """Called by vLLM, in some processes more than once. Servers of others are left as they are."""
    keep_steered_apart()
    owner = os.environ.get(OWNER)
    if owner is not None and int(owner) != os.getpid():
        threading.Thread(target=_die_with_parent, args=(os.getppid(),), daemon=True).start()


def _die_with_parent(parent: int) -> None:
    """vLLM's engine process waits for ever for an owner that was killed: nothing may stay on the device."""
    while os.getppid() == parent:
        time.sleep(_LOOK_EVERY)
    os._exit(1)
