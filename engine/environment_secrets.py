"""Values of environment variables that hold keys or passwords, by their names."""

from __future__ import annotations

import os
import re
from collections.abc import Collection

_SHORTEST = 6
_NAME = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL", re.IGNORECASE)


def secret_values(named: Collection[str] = ()) -> list[str]:
    """The values, longest first; of the variables `named` as well."""
    values = {value for name, value in os.environ.items() if name in named or _NAME.search(name)}
    return sorted((value for value in values if len(value) >= _SHORTEST), key=len, reverse=True)
