"""The results of a method as blocks: its tables, its plots, how it was trained."""

from __future__ import annotations

from app.blocks.block import Block, Picture
from app.blocks.plots import curve_plot
from app.methods.page import MethodPage
from app.methods.pages import charts_of, page_of
from app.state.run import RunState


def method_blocks(state: RunState, method: str) -> list[Block]:
    """Those of a method, by its title; none before it has results."""
    page = page_of(method)
    tables = [*page.results(state), *page.more_results(state), *page.training(state)]
    return [*tables, *page.pictures(state), *_curves(page, state)]


def _curves(page: MethodPage, state: RunState) -> list[Picture]:
    """Its charts as pictures; of lines with a running mean the mean alone, and no single points."""
    pictures: list[Picture] = []
    for y, x, series in charts_of(page, state):
        lines = [line for line in series if not (line.faint or line.points)]
        if (drawing := curve_plot(lines, x)) is not None:
            pictures.append(Picture(drawing, y))
    return pictures
