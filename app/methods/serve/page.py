"""The steered server: its state, how to ask it, and its requests."""

from __future__ import annotations

from app.methods.page import MethodPage
from app.methods.serve.requests import REQUESTS
from app.methods.serve.server import server_blocks

PAGE = MethodPage(
    title="Server",
    about="Answers programs as OpenAI's interface does, with the run's levers on every answer.",
    help="""\
# The steered server

Programs ask the model here as they would ask OpenAI's, and the levers that the run found act on every answer.

*Server* has the address, the file with the key, a command to try, how busy the server is, and the levers: those that
are *always* used unless a request says otherwise, those that a request may ask for, and why the others do not fit.
*Requests* has a row for each request that has ended (with `n` for each answer): its answer, how many segments were
steered, and a sentence for each lever. The screen *ESM* of the same run shows every decision while it is taken, with
the question beside it.

A pause lets all requests wait; a stop ends the server, and whoever waits gets an error. Resuming the run opens it again
at the same address, with the same key.
""",
    shown_by={"serve": "results"},
    cases=(REQUESTS,),
    more_results=server_blocks,
)
