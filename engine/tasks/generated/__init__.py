"""Problems and texts made by rule, from a seed: what runs where no data set can be had."""

from engine.tasks.generated.arithmetic import Problem, generate
from engine.tasks.generated.splits import SPLITS, Split

__all__ = ["SPLITS", "Problem", "Split", "generate"]
