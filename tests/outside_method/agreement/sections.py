"""Its section and its stage."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from engine.config.method import MethodSections, StageEntry
from engine.config.section import PositiveInt, Section


class AgreementSection(Section):
    samples: Annotated[int, Field(ge=2, le=100)] = Field(default=4, description="Answers sampled a question.")
    max_new_tokens: PositiveInt = Field(default=120, description="Longest answer.")


class AgreementSections(MethodSections):
    """What this method adds to a configuration."""

    stage_entries: ClassVar = (StageEntry("agreement", "agreement.stage:MeasureAgreement"),)

    agreement: AgreementSection = AgreementSection()
