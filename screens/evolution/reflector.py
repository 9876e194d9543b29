"""The tabs Reflector and Server: what the reflector has learnt so far, and the state of the model server."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.style import Style
from rich.text import Text

from app.blocks.model_text import clean
from app.figures import fixed
from app.state.evolution import EvolutionState
from app.state.run import RunState
from screens.panes.page import PagePane


class ReflectorPane(PagePane):
    """The summaries, newest last, as the reflector gets them."""

    def draw(self, state: RunState, palette: dict[str, Style]) -> RenderableType:
        evolution = state.evolution
        replies = [(item, item.reply) for item in evolution.iterations.values() if item.reply is not None]
        if not replies:
            return Text("The reflector has not replied yet.", palette["dim"])
        who = evolution.began.reflector if evolution.began is not None else ""
        parts: list[RenderableType] = [
            Text.assemble((f"what {who} has learnt so far", palette["heading"])),
            Text("The reflector gets all of this again in each iteration.", palette["dim"]),
            Text(),
        ]
        for item, reply in replies:
            head = Text.assemble((f"iteration {item.iteration}", palette["strong"]))
            if item.best:
                head.append("  ★", palette["accent"])
            if reply.attempts > 1:
                head.append(f"  after {reply.attempts} attempts", palette["warn"])
            body = (
                Text(f"no valid reply: {reply.aborted}", palette["bad"])
                if reply.aborted
                else Text(clean(reply.summary))
            )
            parts += [
                head,
                body,
                *_came_of(evolution, item.iteration + 1, palette),
                Text(f"sent: {reply.message}", palette["dim"]) if reply.message else Text(),
                Text(),
            ]
        return Group(*parts)


def _came_of(state: EvolutionState, iteration: int, palette: dict[str, Style]) -> list[RenderableType]:
    """What the deltas of a reply did in the iteration that tried them."""
    tried = state.iterations.get(iteration)
    if tried is None or tried.minibatch is None:
        return []
    text = Text(f"→ iteration {iteration}: {tried.minibatch.mean_tokens:.1f} tokens, ", palette["strong"])
    text.append(f"{fixed(tried.minibatch.correctness)} correct")
    if (gain := state.gain(iteration)) is not None and (score := state.deciding(tried)) is not None:
        before, of = gain
        text.append(f"; composite on {state.decided_on} {fixed(score.composite)}, {of} {fixed(before)}")
    return [text.append("  ★ kept as best" if tried.best else "", palette["accent"])]


class ServerPane(PagePane):
    """The model server's state and the end of its log."""

    def draw(self, state: RunState, palette: dict[str, Style]) -> RenderableType:
        server = state.evolution.server
        if server is None:
            return Text("No server has been started yet.", palette["dim"])
        tone = {"healthy": "good", "failed": "bad"}.get(server.state, "warn")
        title = Text.assemble((server.server, palette["strong"]), "  ", (server.state, palette[tone]))
        if server.detail:
            title.append(f"\n{server.detail}")
        return Group(title, Text(), *(Text(clean(line)) for line in server.log))
