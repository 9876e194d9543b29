"""The length-regularised reward of a rollout (spec ESM 3.2)."""


def length_regularized_reward(correct: bool, tokens: int, eta: float, t_max: int) -> float:
    """R - eta * |y| / T_max, with R in {0, 1} and |y| in tokens."""
    return float(correct) - eta * tokens / t_max
