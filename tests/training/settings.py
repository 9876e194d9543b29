"""Settings of the embedded model's training: the defaults are those the shipped weights were made with."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class TrainingSettings(BaseModel):
    """Size of the model, length and pace of its training."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: int = Field(default=0, ge=0, description="Seed of initial weights and of every drawn document.")
    hidden_size: int = Field(default=128, ge=16, description="Width d of the residual stream.")
    layers: int = Field(default=4, ge=1, description="Number of decoder layers.")
    heads: int = Field(default=4, ge=1, description="Attention heads; must divide hidden_size.")
    feed_forward: int = Field(default=512, ge=16, description="Inner width of the feed-forward blocks.")
    initial_spread: float = Field(default=0.05, gt=0, description="Standard deviation of initial weights.")
    steps: int = Field(default=4000, ge=1, description="Optimizer steps.")
    batch_documents: int = Field(default=12, ge=1, description="Documents in a step.")
    learning_rate: float = Field(default=2e-3, gt=0, description="Peak learning rate of AdamW.")
    warmup_steps: int = Field(default=100, ge=0, description="Steps of linear warm-up before the cosine.")
    weight_decay: float = Field(default=0.01, ge=0, description="AdamW weight decay of matrices.")
    gradient_clip: float = Field(default=1.0, gt=0, description="Largest gradient norm.")
    threads: int = Field(default=1, ge=1, description="Threads of the CPU that training may use.")
    report_every: int = Field(default=20, ge=1, description="Steps between reports of progress.")
    save_every: int = Field(default=200, ge=1, description="Steps between saved training states.")
