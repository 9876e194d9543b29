"""A key whose command cannot be done now says so, instead of doing nothing."""

from __future__ import annotations

from textual.app import App, ReturnType
from textual.binding import Binding


class RefusedKeys(App[ReturnType]):
    """An app that names the command which the screen refuses."""

    async def _check_bindings(self, key: str, priority: bool = False) -> bool:
        done = await super()._check_bindings(key, priority)
        if not done and not priority and (refused := self._bound_to(key)) is not None:
            text = f"{self.get_key_display(refused)} {refused.description}: not possible here now."
            if all(shown.message != text for shown in self._notifications):
                self.notify(text, timeout=3, markup=False)
        return done

    def _bound_to(self, key: str) -> Binding | None:
        active = self.screen.active_bindings.get(key)
        if active is not None and active.enabled:  # there is only nothing to do, such as to scroll
            return None
        for _, bindings in self.screen._modal_binding_chain:
            for binding in bindings.key_to_bindings.get(key, ()):
                if binding.tooltip and not binding.priority:  # a command of the console, not one of Textual's
                    return binding
        return None
