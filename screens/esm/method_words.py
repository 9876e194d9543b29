"""What each method of the eval stage is, in a few words."""

from __future__ import annotations

METHOD_WORDS = {
    "greedy": "the model alone; what the others are compared with",
    "majority_vote": "the most frequent answer of several samples, not steered",
    "esm": "steered by the entry of the memory that fits the state best",
    "no_memory": "esm without a memory: never steered",
    "no_probing": "esm without probes: the nearest good entry is injected",
    "random_vector": "esm with random directions in place of the mined vectors",
    "mean_vector": "one mean vector for all, without a memory: steered wherever it may be",
    "mean_vector_gated": "esm's memory and gates, with the mean vector in place of each entry's",
    "no_right_entries": "esm without right entries: nothing speaks for null",
    "prompted": "greedy, with a request behind the question; not steered",
    "seal": "one vector away from thoughts that reflect, before every segment; no memory",
    "stable": "as seal, from thoughts that samples repeat; no memory",
    "cast": "one mean vector, only where a condition on the state is met; no memory",
    "stir": "esm with the settings that STIR published",
}
"""Methods with a vector from elsewhere have names of their own, and are not here."""
