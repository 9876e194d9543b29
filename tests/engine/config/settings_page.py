"""Writes configs/README.md, all settings with their defaults: `python -m tests.engine.config.settings_page`."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from engine.config.form import FormField, form_fields

PAGE = Path(__file__).resolve().parents[3] / "configs" / "README.md"
_BEGINNING = """\
# Configurations and settings

Each YAML file here is a configuration that is ready to run; its first lines say what it needs. `demo.yaml` needs
nothing, those in `real/` are the measured ones. `steer-tui check FILE` says what is missing on this machine.

Below are all settings, section by section, as the console's form (`^o` in the start dialog) has them. A section that is
left out runs with these defaults: the documents', and ours for numbers and data that those do not give. In a file,
`online.k_scale` is written `online: {k_scale: 4}`; on the command line, `--set online.k_scale=4`.
"""


def settings_page() -> str:
    """The text of configs/README.md. Sections with the same fields as an earlier one name that one."""
    parts, earlier = [_BEGINNING], {}
    for section, group in groupby(form_fields(), key=lambda field: field.section):
        rows = "".join(_row(field) for field in group)
        if rows in earlier:
            parts.append(
                f"### {section}\n\nThe fields and defaults of [{earlier[rows]}](#{_anchor(earlier[rows])}).\n"
            )
            continue
        earlier[rows] = section
        parts.append(f"### {section}\n\n| field | default | what it does |\n|---|---|---|\n{rows}")
    parts.append("<!-- Made by `python -m tests.engine.config.settings_page`; do not edit. -->\n")
    return "\n".join(parts)


def _row(field: FormField) -> str:
    name = field.path.rpartition(".")[2]
    choices = (
        f" One of {', '.join(f'`{choice}`' for choice in field.choices)}." if field.kind == "choice" else ""
    )
    said = all(choice in field.help for choice in field.choices)
    text = field.help + ("" if said else choices)
    default = "none" if field.default == "null" else f"`{field.default}`"
    return f"| `{name}` | {default.replace('|', chr(92) + '|')} | {text.replace('|', chr(92) + '|')} |\n"


def _anchor(heading: str) -> str:
    return heading.replace(".", "").lower()


if __name__ == "__main__":
    PAGE.write_text(settings_page(), encoding="utf-8")
