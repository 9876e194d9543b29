"""What reads Parquet files: pyarrow, which is an extra."""

from __future__ import annotations

from importlib.util import find_spec

from engine.errors import DataError


def require_pyarrow(where: str) -> None:
    """Raises DataError unless Parquet files can be read."""
    if find_spec("pyarrow") is None:
        raise DataError(
            what="Parquet files need the package pyarrow, which is not installed",
            where=where,
            hint="pip install 'steer-tui[parquet]'",
        )
