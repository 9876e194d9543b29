"""The desk: it takes requests from the server's thread and has them answered together in its own.

A request waits for one of the places, is answered in flight with the others, and leaves when it has ended or its client
has gone. Only the desk's thread touches the model and the log.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from msgspec.structs import replace as with_fields

from engine.config.serve import ServeSection
from engine.errors import SteerError
from engine.events import (
    DecisionTaken,
    Event,
    LeverActed,
    QuestionAsked,
    RequestAnswered,
    RequestTaken,
    ServeLoad,
)
from engine.levers.flight import Flight
from engine.levers.lever import ESM, NOTES, LeverDid
from engine.levers.levers import Answered, Levers, Prepared, answered
from engine.serve.ticket import Failed, Ticket

IDLE = 0.1
"""Seconds between two looks for a stop while nothing is asked."""
LOAD_EVERY = 1.0
STRIKES = 3
"""Failures of the model in a row that end the stage."""
STOPPING = Failed("the server is stopping", stopping=True)


class Busy(Exception):
    """All places are taken, and all that may wait do. `seconds`: when to come again."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"come again in {seconds} seconds")
        self.seconds = seconds


class Desk:
    """Answers tickets. `progress` is told the number of requests that have ended and the tokens since the last time."""

    def __init__(
        self,
        levers: Levers,
        section: ServeSection,
        emit: Callable[[Event], None],
        progress: Callable[[int, int], None] = lambda done, tokens: None,
    ) -> None:
        self.levers = levers
        self._section = section
        self._emit = emit
        self._progress = progress
        self._flight = Flight(levers.model)
        self._flying: dict[int, Ticket] = {}
        self._waiting: deque[Ticket] = deque()
        self._lock = threading.Condition()
        self._held = 0
        self._entered: dict[int, Ticket] = {}
        """All whose end has not been told yet."""
        self._closed = False
        self._checking = ThreadPoolExecutor(4, thread_name_prefix="check-answers")
        self._checked: dict[int, Ticket] = {}
        self._found: deque[tuple[Ticket, Prepared | LeverDid]] = deque()
        self._counts: dict[str, int] = dict.fromkeys(("answered", "vanished", "failed", "refused"), 0)
        self._tokens = 0
        self._told_tokens = 0
        self._told = (0, 0, 0)
        self._told_at = time.monotonic()
        self._strikes = 0
        self._second = 0.5
        """A running mean of the seconds that a request needs."""

    # ------------------------------------------------------------ the server's side, from any thread

    def hold(self) -> None:
        """Take a place in the queue for a request that is being read. Raises Busy. `enter` or `release` follows."""
        with self._lock:
            if self._held >= self._section.max_in_flight + self._section.max_waiting:
                self._counts["refused"] += 1
                raise Busy(self._patience())
            self._held += 1

    def release(self) -> None:
        """Give a held place back."""
        with self._lock:
            self._held -= 1

    def enter(self, ticket: Ticket) -> None:
        """Have a prepared ticket answered; its held place is given back at its end."""
        with self._lock:
            if not self._closed:
                self._entered[id(ticket)] = ticket
                self._waiting.append(ticket)
                self._lock.notify_all()
                return
        ticket.tell(STOPPING)
        self.release()

    def leave(self, ticket: Ticket) -> None:
        """The client has gone."""
        with self._lock:
            ticket.left = True
            self._lock.notify_all()

    @property
    def held(self) -> int:
        """Requests that wait, are being read, or are answered."""
        return self._held

    def _patience(self) -> int:
        rounds = math.ceil((self._held + 1) / self._section.max_in_flight)
        return max(1, min(60, math.ceil(rounds * self._second)))

    # ------------------------------------------------------------ the model's side

    def work(self, checkpoint: Callable[[], None]) -> None:
        """Answer until `checkpoint` raises."""
        while True:
            checkpoint()
            self._drop_vanished()
            self._take_found()
            self._take_up()
            if self._flying:
                self._round()
            else:
                self._wait()
            self._report()

    def close(self, why: Failed = STOPPING) -> None:
        """Tell all that are left that there will be no answer."""
        with self._lock:
            self._closed = True
            left = [*self._entered.values()]  # also one whose line in the log could not be written
            self._waiting.clear()
        for ticket in left:
            ticket.tell(why)
        self._flying.clear()
        self._checking.shutdown(wait=False, cancel_futures=True)

    def _wait(self) -> None:
        with self._lock:
            if not self._waiting and not self._found:
                self._lock.wait(IDLE)

    def _drop_vanished(self) -> None:
        gone = [ticket for ticket in self._flying.values() if ticket.left]
        self._flight.drop([ticket.text for ticket in gone])
        for ticket in gone:
            del self._flying[id(ticket.text)]
            self._end(ticket, "vanished")
        with self._lock:
            waiting = [ticket for ticket in self._waiting if ticket.left]
            for ticket in waiting:
                self._waiting.remove(ticket)
        for ticket in waiting:
            self._end(ticket, "vanished")

    def _take_up(self) -> None:
        while len(self._flying) < self._section.max_in_flight:
            with self._lock:
                if not self._waiting:
                    return
                ticket = self._waiting.popleft()
            if not ticket.began:
                self._announce(ticket)
            self._flying[id(ticket.text)] = ticket
            self._flight.add(ticket.text)

    def _announce(self, ticket: Ticket) -> None:
        ticket.began = time.monotonic()
        wanted = ticket.wanted
        question = wanted.question if self._section.log_texts else ""
        if ESM in wanted.chosen.levers:
            self._emit(QuestionAsked(example=ticket.request, question=question))
        self._emit(
            RequestTaken(
                request=ticket.request,
                kind=wanted.kind,
                levers=list(wanted.chosen.levers),
                question=question,
                prompt_tokens=len(ticket.text.prompt),
                stream=wanted.stream,
                waited=round(ticket.began - ticket.came, 3),
            )
        )

    def _round(self) -> None:
        try:
            ended = self._flight.step()
        except SteerError as error:
            self._fail_all(error)
            return
        self._strikes = 0
        for ticket in list(self._flying.values()):
            decisions = ticket.new_decisions()
            self._log(ticket, decisions)
            ticket.tell_news(decisions)
        for text in ended:
            self._ended(self._flying.pop(id(text)))

    def _fail_all(self, error: SteerError) -> None:
        """The model has failed in a call that all shared."""
        self._flight.clear()
        for ticket in self._flying.values():
            ticket.tell(Failed(error.what))
            self._end(ticket, "failed", error.what)
        self._flying.clear()
        self._strikes += 1
        if self._strikes >= STRIKES:
            raise error

    def _log(self, ticket: Ticket, decisions: Sequence[DecisionTaken]) -> None:
        for decision in decisions:
            if not self._section.log_texts:
                decision = with_fields(decision, prefix="", segment="", null_probe="", candidates=[])
            self._emit(with_fields(decision, example=ticket.request))

    # ------------------------------------------------------------ second answers

    def _ended(self, ticket: Ticket) -> None:
        prepared = ticket.prepared
        assert prepared is not None
        if prepared.again is None:
            self._answered(ticket, answered(prepared))
            return
        with self._lock:
            self._checked[id(ticket)] = ticket
        self._checking.submit(self._check, ticket, prepared)

    def _check(self, ticket: Ticket, prepared: Prepared) -> None:
        """Look at a finished answer, in a thread of its own: a controller may be a server."""
        assert prepared.again is not None
        try:
            found = prepared.again(prepared.text.text)
        except SteerError as error:
            found = LeverDid(lever=NOTES, acted=False, what=f"the answer could not be checked: {error}")
        with self._lock:
            self._found.append((ticket, found))
            self._lock.notify_all()

    def _take_found(self) -> None:
        """Go on with answers that were checked: they stand, or are written again."""
        while self._found:
            with self._lock:
                ticket, found = self._found.popleft()
                del self._checked[id(ticket)]
            if ticket.left:
                self._end(ticket, "vanished")
            elif isinstance(found, Prepared):
                first = ticket.text.answer
                ticket.spent += len(first.tokens) + first.probe_tokens
                ticket.prepared, ticket.decided = found, 0
                with self._lock:
                    self._waiting.appendleft(ticket)
            else:
                assert ticket.prepared is not None
                self._answered(ticket, answered(ticket.prepared, found))

    # ------------------------------------------------------------ ends

    def _answered(self, ticket: Ticket, answer: Answered) -> None:
        self._second += 0.1 * (time.monotonic() - ticket.began - self._second)
        self._end(ticket, "answered", "", answer)  # first the log: whoever has an answer finds it there
        ticket.tell(answer)

    def _end(self, ticket: Ticket, outcome: str, why: str = "", answer: Answered | None = None) -> None:
        self._counts[outcome] += 1
        text = ticket.text.answer
        written = ticket.text.tokens + text.probe_tokens + ticket.spent
        self._tokens += written
        points = [d for d in text.decisions if d.phase == "segment"] if answer is None else answer.decisions
        did = [] if answer is None else answer.did
        self._emit(
            RequestAnswered(
                request=ticket.request,
                outcome=outcome,
                why=why,
                finish=ticket.text.finish,
                tokens=ticket.text.tokens,
                probe_tokens=text.probe_tokens + ticket.spent,
                first=None if ticket.first is None else round(ticket.first, 4),
                seconds=round(time.monotonic() - (ticket.began or ticket.came), 4),
                segments=sum(decision.phase == "segment" for decision in points),
                steered=text.steered,
                did=[LeverActed(lever=d.lever, acted=d.acted, what=d.what, tokens=d.tokens) for d in did],
                text=ticket.text.text if self._section.log_texts else "",
            )
        )
        self._progress(sum(self._counts.values()) - self._counts["refused"], written)
        del self._entered[id(ticket)]
        self.release()

    def _report(self) -> None:
        """Tell how busy it is, every second in which something changes."""
        now = time.monotonic()
        if now - self._told_at < LOAD_EVERY:
            return
        flying = sum(text.tokens + text.answer.probe_tokens for text in self._flight.texts)
        tokens = self._tokens + flying
        state = (len(self._flying), self._held, sum(self._counts.values()))
        if state != self._told or tokens != self._told_tokens:
            self._emit(
                ServeLoad(
                    in_flight=len(self._flying),
                    waiting=max(0, self._held - len(self._flying)),
                    tokens=tokens,
                    tokens_per_second=round(max(0, tokens - self._told_tokens) / (now - self._told_at), 1),
                    answered=self._counts["answered"],
                    vanished=self._counts["vanished"],
                    failed=self._counts["failed"],
                    refused=self._counts["refused"],
                )
            )
        self._told, self._told_tokens, self._told_at = state, tokens, now
