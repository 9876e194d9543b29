"""The process behind `equivalence`: reads a line `["gold", "pred"]`, writes a line `true` or `false`.

SymPy computes what an answer says: 9^99999999 or a factorial takes it hours and all memory, and no grammar tells such
answers from harmless ones. So each question has its seconds of processor time and its memory, and the system ends a
process that wants more. Processor time, not the clock: the verdict must not depend on what else the machine does.
"""

from __future__ import annotations

import json
import logging
import resource
import sys

SECONDS = 1
"""At least; the system counts whole ones."""
MEMORY = 1 << 30
"""Bytes beyond those that the libraries take."""


def main() -> None:
    """Answer until standard input ends."""
    logging.disable()  # the libraries warn that nobody limits their time
    _equal("1", "x^2")  # imports what is imported at first use
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    _limit_memory()
    for line in sys.stdin:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        resource.setrlimit(resource.RLIMIT_CPU, (int(usage.ru_utime + usage.ru_stime) + 1 + SECONDS, most))
        gold, pred = json.loads(line)
        sys.stdout.write(f"{json.dumps(_equal(gold, pred))}\n")
        sys.stdout.flush()


def _equal(gold: str, pred: str) -> bool:
    from math_verify import parse, verify

    try:
        parsed = [parse(f"${text}$", parsing_timeout=None) for text in (gold, pred)]  # pyright: ignore[reportArgumentType]
        return bool(verify(*parsed, timeout_seconds=None))  # pyright: ignore[reportArgumentType]
    except Exception:  # SymPy raises whatever its parts raise
        return False


def _limit_memory() -> None:
    kind = getattr(resource, "RLIMIT_DATA", resource.RLIMIT_AS)
    _, most = resource.getrlimit(kind)
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    limit = 4 * taken + MEMORY
    resource.setrlimit(kind, (limit if most == resource.RLIM_INFINITY else min(limit, most), most))


if __name__ == "__main__":
    main()
