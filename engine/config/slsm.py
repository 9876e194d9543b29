"""Configuration of the stage `slsm` (spec SLSM, configuration)."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from engine.config.method import MethodSections, StageEntry
from engine.config.model import ModelSection
from engine.config.openai import OpenAISection
from engine.config.section import PositiveInt, Section


class SLSMControllerSection(Section):
    kind: Literal["rules", "openai"] = Field(
        default="rules",
        description="`rules`: offline, quotes the conversation; `openai`: a model behind a server.",
    )
    openai: OpenAISection = OpenAISection()


class SLSMModelSection(Section):
    kind: Literal["local", "openai"] = Field(
        default="local", description="`local`: a model in this process; `openai`: a model behind a server."
    )
    openai: OpenAISection = OpenAISection()


class SLSMJudgeSection(Section):
    kind: Literal["exact", "openai", "none"] = Field(
        default="exact",
        description="`exact`: offline, for questions that can be checked; `openai`: a model; `none`: no score.",
    )
    attempts: PositiveInt = Field(
        default=3, description="Attempts at a verdict before the answer is left out."
    )
    openai: OpenAISection = OpenAISection()


class SLSMDataSection(Section):
    path: str | None = Field(
        default=None,
        description="JSONL of MultiChallenge or of plain chats (`messages`), or `hub:ScaleAI/MultiChallenge`; none: "
        "dialogues are generated.",
    )
    conversations: PositiveInt = Field(
        default=240, description="Maximum number of conversations; number of generated ones."
    )


class SLSMSection(Section):
    """Conversation memory and its notes."""

    disable_controller: bool = Field(
        default=False, description="True: use mode `baseline` instead of `inject`."
    )
    memory_mode: Literal["structured", "flat"] = Field(
        default="structured", description="Form of the memory: items, or plain text."
    )
    inject: Literal["never", "on_risk", "always", "on_detection"] = Field(
        default="on_risk", description="When the memory note is injected."
    )
    compare: list[Literal["baseline", "never", "on_risk", "always", "on_detection"]] = Field(
        default=[], description="Modes to run side by side; empty: the mode of `inject`."
    )
    compare_memory: list[Literal["structured", "flat"]] = Field(
        default=[], description="Memory modes to run side by side; empty: `memory_mode`."
    )
    risk_modes: list[Literal["proceed", "verify", "clarify"]] = Field(
        default=["verify", "clarify"], description="Plans at which `on_risk` injects."
    )
    note_max_items: PositiveInt = Field(default=6, description="Maximum lines of a structured note.")
    gate_facts_by_evidence: bool = Field(
        default=True, description="Leave out items whose quote does not occur in its turn."
    )
    attempts: PositiveInt = Field(
        default=1, description="Answers to each conversation; a single one that passes is enough."
    )
    temperature: float = Field(
        default=0.0, ge=0, le=5, description="Temperature of the model's answers; 0 is greedy."
    )
    max_new_tokens: PositiveInt = Field(default=64, description="Longest answer, in tokens.")
    batch_size: PositiveInt = Field(default=32, description="Conversations answered together.")
    concurrency: PositiveInt = Field(
        default=4, description="Concurrent requests to a controller, model or judge server."
    )
    model: ModelSection | None = Field(default=None, description="Local model, if it is not the run's model.")
    answers: SLSMModelSection = SLSMModelSection()
    controller: SLSMControllerSection = SLSMControllerSection()
    judge: SLSMJudgeSection = SLSMJudgeSection()
    data: SLSMDataSection = SLSMDataSection()


class SLSMSections(MethodSections):
    """The section and stage of SLSM."""

    stage_entries: ClassVar = (StageEntry("slsm", "engine.slsm.slsm_stage:RunSLSM"),)

    slsm: SLSMSection = SLSMSection()
