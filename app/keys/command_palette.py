"""The command palette: every command of the current screen, searched by its words."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from textual.binding import ActiveBinding
from textual.command import DiscoveryHit, Hit, Hits, Provider

from app.keys.commands import commands_without_key

Entry = tuple[str, str, Any]


class BoundCommands(Provider):
    """Every command of the screen and its focused widget that has a name, once, with its first key; then
    `commands_without_key`. Where the screen's `names_of_actions` has a name for a command, it has that one."""

    def _entries(self) -> Iterator[Entry]:
        entries: dict[str, Entry] = {}
        for active in self.screen.active_bindings.values():
            if (entry := self._entry(active)) is not None:
                entries.setdefault(active.binding.action, entry)
        yield from entries.values()
        for command, node in commands_without_key(self.screen):
            yield command.label, command.help, partial(self.app.run_action, command.action, node)

    def _entry(self, active: ActiveBinding) -> Entry | None:
        binding = active.binding
        # Arrows and the like are not worth looking up.
        moves = not binding.show and not binding.tooltip
        if not binding.description or moves or not active.enabled or binding.action in _NOT_HERE:
            return None
        name = getattr(self.screen, "names_of_actions", dict)().get(binding.action, binding.description)
        key = self.app.get_key_display(binding).partition(" …")[0]
        run = partial(self.app.run_action, binding.action, active.node)
        return (f"{name}  ({key})", binding.tooltip, run)

    async def discover(self) -> Hits:
        for name, help_text, run in self._entries():
            yield DiscoveryHit(name, run, help=help_text or None)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for name, help_text, run in self._entries():
            score = max(matcher.match(name), matcher.match(help_text) * 0.8 if help_text else 0.0)
            if score > 0:
                yield Hit(score, matcher.highlight(name), run, help=help_text or None)


_NOT_HERE = ("app.command_palette", "app.interrupt")
