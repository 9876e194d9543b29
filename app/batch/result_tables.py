"""The results of a run so far, as tables, and the files that hold them."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from app.blocks.block import Table
from app.blocks.printed import printed
from app.methods.pages import pages
from app.result_tables import servers, stages
from app.state.run import RunState
from app.wording.verdict_text import verdict_sentence, verdicts
from engine.run.directory import RunDirectory


def print_results(state: RunState, console: Console, directory: RunDirectory) -> None:
    """Print all tables, what each method reached, and the folder of all files; nothing before a stage is finished."""
    blocks = [block for page in pages().values() for block in page.results(state)]
    tables = [block for block in [*blocks, *servers(state), *stages(state)] if isinstance(block, Table)]
    for table in tables:
        # A line that is too long for the terminal goes on in the next.
        console.print(printed(table, ("model", "files")), crop=False)
    for verdict in verdicts(state.stages):
        console.print(Text(verdict_sentence(verdict)), soft_wrap=True)
    if tables:
        console.print(Text(f"all files: {directory.path}"), soft_wrap=True)
