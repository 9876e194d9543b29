"""The plugin that vLLM loads in each of its processes (entry point group `vllm.general_plugins`)."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress

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
        threading.Thread(target=_die_with, args=(os.getppid(), int(owner)), daemon=True).start()


def _die_with(parent: int, owner: int) -> None:
    """End this process once its parent or the owner ends: it would wait for ever for them, and hold the device. An
    owner that was killed while vLLM was being imported is no parent any more."""
    with suppress(OSError):  # none is left, or its number is another user's
        while os.getppid() == parent:
            os.kill(owner, 0)  # sends nothing: whether there is such a process
            time.sleep(_CHECK_EVERY)
    os._exit(1)
