"""The picture that moves: whose turn it is when, and that it stands still where motion is unwanted."""

from __future__ import annotations

from tests.bench.draw_moving_picture import moving


def test_each_frame_has_its_seconds() -> None:
    first, second = (
        '<svg viewBox="0 0 2 1"><g class="one"/></svg>',
        '<svg viewBox="0 0 2 1"><g class="two"/></svg>',
    )
    picture = moving([first, second], [1, 3])
    assert "@keyframes turn0 { 0.00%, 25.00% { opacity: 1 } 25.01%, 100% { opacity: 0 } }" in picture
    assert "@keyframes turn1 { 0%, 24.99% { opacity: 0 } 25.00%, 100.00% { opacity: 1 } }" in picture
    assert picture.count("4s step-end infinite") == 2
    assert '<g class="turn turn1"><g class="two"/></g>' in picture
    assert picture.startswith('<svg viewBox="0 0 2 1">') and "prefers-reduced-motion" in picture
