"""A key whose command cannot be done now says so, instead of doing nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from textual.app import App, ReturnType
from textual.binding import Binding
from textual.dom import DOMNode
from textual.events import Key

_SHOWN_FOR = 3.0


class RefusedKeys(App[ReturnType]):
    """An app that names the command which the screen refuses, and what comes first by the screen's `what_allows`."""

    _refused = ("", 0.0)
    """The last message, and when it was shown."""

    def on_key(self, event: Key) -> None:
        """A key that no widget took."""
        if (refused := self._bound_to(event.key)) is None:
            return
        first = getattr(self.screen, "what_allows", lambda action: "")(refused.action)
        text = f"{self.get_key_display(refused)} {refused.description}: not possible here now{first}."
        last_text, at = self._refused
        if text != last_text or time.monotonic() - at > _SHOWN_FOR:
            self._refused = text, time.monotonic()
            self.notify(text, timeout=_SHOWN_FOR, markup=False)

    def _bound_to(self, key: str) -> Binding | None:
        """The command of the console, not of Textual, that the key would have."""
        active = self.screen.active_bindings.get(key)
        if active is not None and active.enabled:  # there is only nothing to do, such as to scroll
            return None
        bound = (binding for node in self._around() for binding in _bindings(node, key))
        return next((binding for binding in bound if binding.tooltip and not binding.priority), None)

    def _around(self) -> Iterator[DOMNode]:
        """What has the focus and all that it lies in, up to the last dialog."""
        for node in (self.focused or self.screen).ancestors_with_self:
            yield node
            if node.is_modal:
                return


def _bindings(node: DOMNode, key: str) -> Iterator[Binding]:
    for kind in type(node).__mro__:
        for binding in vars(kind).get("BINDINGS", ()):
            if isinstance(binding, Binding) and key in binding.key.split(","):
                yield replace(binding, key=key)
