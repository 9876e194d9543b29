"""Everyday questions that have nothing to do with any task here: what steering changes in their answers is a side
effect."""

from __future__ import annotations

UNRELATED: tuple[str, ...] = (
    "Why does bread rise while it is baked?",
    "Describe a harbour early in the morning.",
    "What should I pack for a weekend in the mountains?",
    "How do bees find their way back to the hive?",
    "Tell me a short story about a lost umbrella.",
    "What makes a good letter of thanks?",
    "Why is the sky red when the sun goes down?",
    "How can I keep herbs fresh for longer?",
    "Explain to a child what a lighthouse is for.",
    "Which trees lose their leaves in autumn, and why?",
    "Write a polite note to a noisy neighbour.",
    "What is the difference between a violin and a cello?",
    "How is paper made from wood?",
    "Give me three ideas for a rainy afternoon.",
    "Why do cats purr?",
    "Describe the taste of a ripe pear.",
    "What did people use before there were clocks?",
    "How do I introduce two friends to each other?",
    "Why does the moon seem to change its shape?",
    "Suggest a title for a book about old railways.",
    "What is a proverb, and can you name one?",
    "How does a sailing boat move against the wind?",
    "What should be on a sign at the edge of a forest?",
    "Tell me how to say goodbye to a colleague who retires.",
)
