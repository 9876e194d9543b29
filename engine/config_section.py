"""What every section of the configuration is made of."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=80)]
PositiveInt = Annotated[int, Field(ge=1)]
NonNegativeInt = Annotated[int, Field(ge=0)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class Section(BaseModel):
    """Base of all sections: nothing unknown, nothing changed after loading, no silent conversions."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, protected_namespaces=())


class ModelSection(Section):
    backend: Literal["embedded", "transformers"] = Field(
        default="embedded",
        description="`embedded`: the small model that comes along; `transformers`: any local or hub model.",
    )
    path: str | None = Field(
        default=None,
        description="Folder or hub name; embedded: arithmetic (if none is named), statements, dialogues.",
    )
    device: Literal["auto", "cpu", "cuda", "mps"] = Field(default="auto", description="Where the model runs.")
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        default="auto", description="Weights' number type."
    )
    max_num_seqs: PositiveInt = Field(
        default=256, description="Sequences in one device batch, probes included."
    )
    threads: NonNegativeInt = Field(
        default=0,
        description="CPU threads; 0: one for models up to 20 M parameters, else what torch takes.",
    )

    @model_validator(mode="after")
    def _needs_path(self) -> ModelSection:
        if self.backend == "transformers" and not self.path:
            raise ValueError("backend `transformers` needs `model.path`: a model folder or a hub name")
        return self
