"""The stage `serve`: it answers requests with the levers of finished runs until it is stopped."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path

from engine.config.serve import ServeSection
from engine.errors import wrong_value
from engine.events import ServeOpened
from engine.levers.levers import Levers
from engine.levers.load import load_levers
from engine.lm.kept_texts import KeepingModel
from engine.lm.protocol import LanguageModel
from engine.run.stage import StageContext, StageResult
from engine.serve.guard import Guard
from engine.serve.http import SteeredServer
from engine.serve.key import server_key
from engine.serve.listening import bound, serving, url_of
from engine.serve.scheduler import RequestScheduler


class Serve:
    """Never ends by itself: a stop ends it, and a resumed run serves again, under the same key."""

    def run(self, context: StageContext) -> StageResult:
        """Serve until `checkpoint` raises."""
        section = context.config.serve
        key = server_key(section, context.run_dir)
        listening = bound(section.host, section.port)
        with listening:
            levers = _levers(context, section)
            defaults = _default_levers(section, levers)
            progress = lambda done, tokens: context.progress(done, 0, tokens)  # noqa: E731
            scheduler = RequestScheduler(levers, section, context.emit, progress)
            server = SteeredServer(scheduler, section, key, defaults, context.config.run.seed)
            context.start(0, unit="requests")
            if key.secret is None and not ip_address(listening.getsockname()[0]).is_loopback:
                text = f"anybody who reaches {section.host} can use this server: it asks for no key"
                context.notice(text, level="warning")
            app = Guard(
                server.app, section.host, key.secret is None, section.max_body, section.client_timeout
            )
            with serving(app, listening, section.client_timeout):
                url, name = url_of(listening, section.host), levers.model_name
                context.emit(
                    ServeOpened(url=url, model=name, key=key.place, levers=levers.fits, usual=defaults)
                )
                try:
                    scheduler.work(context.checkpoint)
                finally:
                    scheduler.close()
        return StageResult()


def _levers(context: StageContext, section: ServeSection) -> Levers:
    runs = [Path(run).expanduser() for run in section.runs] or [context.run_dir]
    return load_levers(
        runs, context.config.model, lambda model: _not_kept(context.load_model(model)), context.servers
    )


def _not_kept(model: LanguageModel) -> LanguageModel:
    """Texts of requests are not kept for a later attempt: their clients are gone by then."""
    return model.model if isinstance(model, KeepingModel) else model


def _default_levers(section: ServeSection, levers: Levers) -> list[str]:
    """Levers of a request that does not choose. Raises ConfigError for one that is not there."""
    if section.levers is None:
        return levers.names
    for lever in section.levers:
        if lever not in levers.names:
            why = next((fit.why for fit in levers.fits if fit.lever == lever), "")
            raise wrong_value("serve.levers", f"{lever} ({why})", f"of {', '.join(levers.names) or 'none'}")
    return [*section.levers]
