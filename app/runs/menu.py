"""Any configuration in Kconfig's menu: its fields as they are now go in, what was changed there comes out."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path


def changed_in_menu(path: Path, changes: Sequence[str], edit: Callable[[Path, Path], None]) -> list[str]:
    """The changes, with those that `edit(menu, values)` makes in the file `values`; the configuration's own file is
    left as it is. Raises ConfigError for a wrong configuration, before and after."""
    from engine.config.file import load_config  # pydantic: imported only where the menu is opened
    from engine.config.form import as_typed
    from engine.config.kconfig import all_leaves, config_text, has_line_end, kconfig_text, read_kconfig

    config = load_config(path, changes).model_dump(mode="json")
    leaves = [leaf for leaf in all_leaves() if not has_line_end(str(_value(config, leaf.path)))]
    with tempfile.TemporaryDirectory() as name:
        menu, values = Path(name) / "Kconfig", Path(name) / ".config"
        menu.write_text(kconfig_text(leaves, f"steer-tui: {path.name}"), encoding="utf-8")
        values.write_text(config_text(leaves, config), encoding="utf-8")
        before, _ = read_kconfig(values, leaves)
        edit(menu, values)
        after, _ = read_kconfig(values, leaves)
    typed = {name: text for name, _, text in (change.partition("=") for change in changes)}
    for leaf in leaves:
        was, now = _value(before, leaf.path), _value(after, leaf.path)
        if was != now:
            typed[".".join(leaf.path)] = as_typed(now)
    found = [f"{name}={text}" for name, text in typed.items()]
    load_config(path, found)
    return found


def _value(values: object, path: Sequence[str]) -> object:
    """None where the menu has nothing: an empty string there means no value."""
    for name in path:
        values = values.get(name) if isinstance(values, dict) else None
    return values
