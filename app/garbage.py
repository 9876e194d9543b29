"""When Python looks for garbage: not while the console starts, and never among what is loaded for good.

A full search visits every object of the process. Of modules, classes and style sheets alone that takes some 40 ms, in
which no key is answered; and it comes often while a log is read, since every portion makes thousands of objects.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_NEW_OBJECTS = 5_000
"""Between two searches among what is new: more than drawing a frame or folding a portion holds at a time."""


@contextmanager
def put_off() -> Iterator[None]:
    """Look for no garbage until `settle`."""
    gc.disable()
    try:
        yield
    finally:
        settle()


def settle() -> None:
    """What there is now stays for good; look for garbage among what comes. Does nothing unless it was put off."""
    if gc.isenabled():
        return
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])
    gc.enable()
