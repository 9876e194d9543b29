"""Configuration of the stage `slsm` (spec SLSM, configuration)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from engine.config.method import MethodSections, StageEntry
from engine.config.models.model import ModelSection
from engine.config.models.openai import OpenAISection
from engine.config.section import CustomClass, PositiveInt, Section

_HOTTEST = 2.0
BOARD_JUDGE, BOARD_TOKENS = "gpt-4o-2024-08-06", 4096
"""The judge of MultiChallenge's authors, and its longest reply."""
Mode = Literal["baseline", "reminder", "never", "on_risk", "always", "on_detection", "remind_on_detection"]
WITHOUT_MEMORY: frozenset[Mode] = frozenset(("baseline", "reminder"))
"""Modes that ask no controller."""
Kind = Literal["facts", "constraints", "assumptions", "unknowns", "edits"]


class SLSMControllerSection(Section):
    kind: Literal["rules", "openai"] | CustomClass = Field(
        default="openai",
        description="`openai`: a model behind a server; `rules`: offline, quotes the conversation; or `module:Class`.",
    )
    openai: OpenAISection = OpenAISection()


class SLSMModelSection(Section):
    kind: Literal["local", "openai", "file"] = Field(
        default="local",
        description="`local`: a model in this process; `openai`: a model behind a server; `file`: answers that are "
        "there already.",
    )
    path: str | None = Field(
        default=None,
        description="With `file`: JSONL with `QUESTION_ID` and `RESPONSE`, an answer or a list of attempts.",
    )
    openai: OpenAISection = OpenAISection()

    @model_validator(mode="after")
    def _uses_what_is_set(self) -> SLSMModelSection:
        if (self.kind == "file") != (self.path is not None):
            raise ValueError("`kind: file` and `path` belong together: set both, or neither")
        default = OpenAISection()
        for name, instead in (("max_tokens", "slsm.max_new_tokens"), ("temperature", "slsm.temperature")):
            if getattr(self.openai, name) != getattr(default, name):
                raise ValueError(
                    f"`openai.{name}` is not used for answers: set `{instead}`, which holds for all models"
                )
        return self


class SLSMJudgeSection(Section):
    FIXED = ("attempts",)

    kind: Literal["exact", "openai", "none"] | CustomClass = Field(
        default="exact",
        description="`exact`: offline, for questions that can be checked; `openai`: a model; `none`: no score; "
        "or `module:Class`.",
    )
    prompt: Literal["default", "multichallenge"] = Field(
        default="default",
        description="With `openai`. `multichallenge`: as its authors judge, with their model and its tokens unless you "
        "name others; an answer without a verdict has failed.",
    )
    attempts: ClassVar[int] = 3
    """Attempts at a verdict before the answer is left out, or has failed."""
    openai: OpenAISection = OpenAISection()

    @model_validator(mode="before")
    @classmethod
    def _default_to_multichallenge_judge(cls, given: Any) -> Any:
        if not isinstance(given, dict) or given.get("prompt") != "multichallenge":
            return given
        openai = given.get("openai", {})
        theirs = {"model": BOARD_JUDGE, "max_tokens": BOARD_TOKENS}
        return {**given, "openai": {**theirs, **openai}} if isinstance(openai, dict) else given

    @model_validator(mode="after")
    def _prompt_is_used(self) -> SLSMJudgeSection:
        if self.prompt != "default" and self.kind != "openai":
            raise ValueError(f"`prompt: {self.prompt}` is for a language model: set `kind: openai`")
        return self

    @property
    def failures_fail(self) -> bool:
        """Whether an answer without a verdict has failed."""
        return self.prompt == "multichallenge"


class SLSMDataSection(Section):
    FIXED = ("turns",)

    path: str | None = Field(
        default=None,
        description="JSONL of MultiChallenge or of plain chats (`messages`), or `hub:ScaleAI/MultiChallenge`; none: "
        "dialogues are generated.",
    )
    conversations: PositiveInt | None = Field(
        default=None,
        description="Most conversations; none: all of a file, and 240 generated ones.",
    )
    turns: ClassVar[int] = 3


class SLSMSection(Section):
    """Conversation memory and its notes."""

    OLDER = {"detector": "both", "gate_kinds": ["facts", "constraints", "assumptions", "unknowns", "edits"]}

    disable_controller: bool = Field(
        default=False, description="True: no controller; `baseline` instead of the mode of `inject`."
    )
    memory_mode: Literal["structured", "flat"] = Field(
        default="structured", description="Form of the memory: items, or plain text."
    )
    inject: Literal["reminder", "never", "on_risk", "always", "on_detection", "remind_on_detection"] = Field(
        default="on_risk",
        description="When the memory note is injected; of several modes in `compare`, the one of the verdict.",
    )
    compare: list[Mode] = Field(
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
        default=True, description="Leave out items of `gate_kinds` whose quote does not occur in its turn."
    )
    gate_kinds: list[Kind] = Field(
        default=["facts"], description="Kinds of items that are left out without their quote."
    )
    detector: Literal["controller", "checks", "both"] = Field(
        default="controller",
        description="What finds conflicts of an answer with the memory. `checks`: exact checks of what can be checked; "
        "`both`: these, and the controller for everything else.",
    )
    attempts: PositiveInt = Field(
        default=1, description="Answers to each conversation; a single one that passes is enough."
    )
    temperature: float = Field(
        default=0.0, ge=0, le=5, description="Temperature of the model's answers; 0 is greedy."
    )
    max_new_tokens: PositiveInt | None = Field(
        default=None,
        description="Longest answer, in tokens; none: 1024, and 64 for generated conversations.",
    )
    batch_size: PositiveInt = Field(default=32, description="Conversations answered together.")
    concurrency: PositiveInt = Field(
        default=4, description="Concurrent requests to a controller, model or judge server."
    )
    model: ModelSection | None = Field(default=None, description="Local model, if it is not the run's model.")
    answers: SLSMModelSection = SLSMModelSection()
    controller: SLSMControllerSection = SLSMControllerSection()
    judge: SLSMJudgeSection = SLSMJudgeSection()
    data: SLSMDataSection = SLSMDataSection()

    @model_validator(mode="after")
    def _check_no_controller_modes(self) -> SLSMSection:
        if self.disable_controller and self.uses_controller:
            asking = ", ".join(mode for mode in self.modes if mode not in WITHOUT_MEMORY)
            raise ValueError(
                f"`disable_controller: true` asks no controller, but `compare` names {asking}: take these modes "
                "out, or set `disable_controller: false`"
            )
        return self

    @model_validator(mode="after")
    def _answers_fit_the_modes(self) -> SLSMSection:
        if self.answers.kind == "file":
            if set(self.modes) != {"baseline"}:
                raise ValueError(
                    "`answers: {kind: file}` are answers without a note: set `compare: [baseline]`"
                )
            if self.attempts != 1:
                raise ValueError("`answers: {kind: file}` has the attempts of its lists: set `attempts: 1`")
        return self

    @model_validator(mode="after")
    def _check_temperature(self) -> SLSMSection:
        if self.answers.kind == "openai" and self.temperature > _HOTTEST:
            raise ValueError(
                f"`temperature` {self.temperature:g} is more than servers take: at most {_HOTTEST:g}"
            )
        return self

    @property
    def modes(self) -> list[Mode]:
        """The modes to run, each once."""
        return list(dict.fromkeys(self.compare)) or ["baseline" if self.disable_controller else self.inject]

    @property
    def uses_controller(self) -> bool:
        """Whether any of the modes keeps a memory."""
        return not WITHOUT_MEMORY.issuperset(self.modes)

    @property
    def gated_kinds(self) -> frozenset[str]:
        """The kinds of items that need their quote."""
        return frozenset(self.gate_kinds) if self.gate_facts_by_evidence else frozenset()

    @property
    def answer_tokens(self) -> int:
        """Longest answer, in tokens."""
        return self.max_new_tokens or (64 if self.data.path is None else 1024)


class SLSMSections(MethodSections):
    """The section and stage of SLSM."""

    stage_entries: ClassVar = (
        StageEntry(
            "slsm", "engine.slsm.slsm_stage:RunSLSM", writes=("slsm",), reads=("run.seed", "model", "slsm")
        ),
    )

    slsm: SLSMSection = SLSMSection()
