"""The plugin that vLLM loads in each of its processes (entry point group `vllm.general_plugins`)."""

from __future__ import annotations

import os
import threading
import time

from engine.lm.vllm.block_hash import keep_steered_apart

OWNER = "STEER_TUI_VLLM_OWNER"
"""Environment variable: id of the process that started this engine."""
_CHECK_EVERY = 1.0
"""Seconds."""


def register() -> None:
    """Called by vLLM, in some processes more than once. Servers that steer-tui did not start stay as they are."""
    keep_steered_apart()
    owner = os.environ.get(OWNER)
    if owner is not None and int(owner) != os.getpid():
        threading.Thread(target=_die_with_parent, args=(os.getppid(),), daemon=True).start()


def _die_with_parent(parent: int) -> None:
    """End this process once its parent ends: it would wait for ever for a killed owner, and hold the device."""
    while os.getppid() == parent:
        time.sleep(_CHECK_EVERY)
    os._exit(1)
