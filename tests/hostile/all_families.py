"""All families of parsers, by name."""

from __future__ import annotations

from tests.hostile.families import (
    configurations,
    data,
    esm,
    logs,
    replies,
    requests,
    snapshots,
    sweeps,
    tensors,
)
from tests.hostile.family import Family

FAMILIES: dict[str, Family] = {
    family.name: family
    for module in (replies, logs, configurations, data, tensors, esm, snapshots, requests, sweeps)
    for family in module.FAMILIES
}
