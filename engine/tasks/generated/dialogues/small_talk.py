"""Small talk between memory and question: questions that have many right answers."""

from __future__ import annotations

import random
from dataclasses import dataclass

from engine.tasks.generated.dialogues.words import Side, of_side

TOPICS: dict[str, tuple[str, ...]] = {
    "fruit": ("pear", "plum", "mango", "cherry", "apple", "grape"),
    "animal": ("horse", "otter", "goat", "tiger", "rabbit", "whale"),
    "color": ("blue", "green", "red", "purple", "orange", "white"),
    "tool": ("hammer", "saw", "drill", "wrench", "shovel", "rake"),
    "sport": ("tennis", "rugby", "judo", "golf", "rowing", "hockey"),
    "drink": ("coffee", "cocoa", "water", "cider", "soda", "lassi"),
    "metal": ("iron", "zinc", "tin", "gold", "nickel", "lead"),
    "bird": ("robin", "crow", "eagle", "stork", "heron", "swan"),
    "fabric": ("silk", "cotton", "wool", "linen", "denim", "felt"),
    "instrument": ("piano", "flute", "drum", "violin", "harp", "guitar"),
}
"""Shared by training and test: a model of this size knows no words for topics that it was not trained on."""

_ASKED = (
    "Name one {}.", "Tell me one {}.", "Give me one {}.", "Which {} comes to mind?", "Suggest one {}.",
    "Can you name one {}?", "Please name one {}.", "Please tell me one {}.", "Can you suggest one {}?", "Say one {}.",
)  # fmt: skip


@dataclass(frozen=True)
class SmallTalk:
    """A question on a topic."""

    topic: str
    question: str

    def answer(self, rng: random.Random) -> str:
        """A sentence with a word of the topic."""
        return f"One {self.topic} is {rng.choice(TOPICS[self.topic])}."


def draw_small_talk(side: Side, rng: random.Random, topic: str | None = None) -> SmallTalk:
    """A question on `topic`, or on a random topic."""
    topic = topic or rng.choice(list(TOPICS))
    return SmallTalk(topic, rng.choice(of_side(_ASKED, side)).format(topic))
