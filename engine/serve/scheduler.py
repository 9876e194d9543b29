"""The scheduler: it takes requests from the server's thread and has them answered together in its own.

A request waits for one of the places, is answered in flight with the others, and leaves when it has ended or its client
has gone. Only the scheduler's thread touches the model and the log.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter, deque
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
from engine.levers.in_flight_batch import InFlightBatch
from engine.levers.lever import ESM, NOTES, LeverDid
from engine.levers.levers import Levers, Prepared, SteeredAnswer
from engine.serve.pending_request import Failed, PendingRequest

IDLE = 0.1
"""Seconds between two looks for a stop while nothing is asked."""
LOAD_EVERY = 1.0
MOST_FAILURES = 3
"""Failures of the model in a row that end the stage."""
STOPPING = Failed("the server is stopping", stopping=True)


class Busy(Exception):
    """All places are taken, and all that may wait do. `seconds`: when to come again."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"come again in {seconds} seconds")
        self.seconds = seconds


class RequestScheduler:
    """Answers requests. `progress` receives the number of those that have ended and the tokens since the last time."""

    def __init__(
        self,
        levers: Levers,
        section: ServeSection,
        emit: Callable[[Event], None],
        progress: Callable[[int, int], None],
    ) -> None:
        self.levers = levers
        self.reserved = 0
        """Requests that wait, are being read, or are answered."""
        self._section = section
        self._emit = emit
        self._progress = progress
        self._batch = InFlightBatch(levers.model)
        self._in_flight: dict[int, PendingRequest] = {}
        self._waiting: deque[PendingRequest] = deque()
        self._lock = threading.Condition()
        self._submitted: dict[int, PendingRequest] = {}
        """All that have not ended yet."""
        self._closed = False
        self._checking = ThreadPoolExecutor(4, thread_name_prefix="check-answers")
        self._checked: deque[tuple[PendingRequest, Prepared | LeverDid]] = deque()
        self._counts: Counter[str] = Counter()
        self._tokens = 0
        self._reported = ServeLoad(in_flight=0, waiting=0)
        self._reported_at = time.monotonic()
        self._failures = 0
        self._mean_seconds = 0.5
        """A running mean of the seconds that a request needs."""

    # ------------------------------------------------------------ the server's side, from any thread

    def reserve(self, count: int = 1) -> int:
        """Take places in the queue for a request that is being read: `count`. Raises Busy. `submit` or `release`
        follows for each."""
        with self._lock:
            if self.reserved + count > self._section.max_in_flight + self._section.max_waiting:
                self._counts["refused"] += 1
                raise Busy(self._patience())
            self.reserved += count
        return count

    def release(self, count: int = 1) -> None:
        """Give reserved places back."""
        with self._lock:
            self.reserved -= count

    def submit(self, request: PendingRequest) -> None:
        """Have a prepared request answered; its place is given back at its end."""
        with self._lock:
            if not self._closed:
                self._submitted[id(request)] = request
                self._waiting.append(request)
                self._lock.notify_all()
                return
        request.send(STOPPING)
        self.release()

    def cancel(self, request: PendingRequest) -> None:
        """The client has gone; nothing happens where the request has ended."""
        with self._lock:
            request.cancelled = True
            self._lock.notify_all()

    def _patience(self) -> int:
        rounds = math.ceil((self.reserved + 1) / self._section.max_in_flight)
        return max(1, min(60, math.ceil(rounds * self._mean_seconds)))

    # ------------------------------------------------------------ the model's side

    def work(self, checkpoint: Callable[[], None]) -> None:
        """Answer until `checkpoint` raises."""
        while True:
            checkpoint()
            self._drop_cancelled()
            self._take_checked()
            self._start_waiting()
            if self._in_flight:
                self._round()
            else:
                self._wait()
            self._report()

    def close(self) -> None:
        """Tell all that are left that there will be no answer."""
        with self._lock:
            self._closed = True
            left = [*self._submitted.values()]  # also one whose line in the log could not be written
            self._waiting.clear()
        for request in left:
            request.send(STOPPING)
        self._in_flight.clear()
        self._checking.shutdown(wait=False, cancel_futures=True)

    def _wait(self) -> None:
        with self._lock:
            if not self._waiting and not self._checked:
                self._lock.wait(IDLE)

    def _drop_cancelled(self) -> None:
        with self._lock:
            waiting = [request for request in self._waiting if request.cancelled]
            for request in waiting:
                self._waiting.remove(request)
        in_flight = [request for request in self._in_flight.values() if request.cancelled]
        self._batch.drop([request.text for request in in_flight])
        for request in in_flight:
            del self._in_flight[id(request.text)]
        for request in (*in_flight, *waiting):
            self._end(request, "vanished")

    def _start_waiting(self) -> None:
        while len(self._in_flight) < self._section.max_in_flight:
            with self._lock:
                if not self._waiting:
                    return
                request = self._waiting.popleft()
            if not request.began:
                self._announce(request)
            self._in_flight[id(request.text)] = request
            self._batch.add(request.text)

    def _announce(self, request: PendingRequest) -> None:
        request.began = time.monotonic()
        parsed = request.parsed
        question = request.question if self._section.log_texts else ""
        if ESM in parsed.chosen.levers:
            self._emit(QuestionAsked(example=request.name, question=question))
        self._emit(
            RequestTaken(
                request=request.name,
                kind=parsed.kind,
                levers=list(parsed.chosen.levers),
                question=question,
                prompt_tokens=len(request.text.prompt),
                stream=parsed.stream,
                waited=round(request.began - request.arrived, 3),
            )
        )

    def _round(self) -> None:
        try:
            ended = self._batch.step()
        except SteerError as error:
            self._fail_all(error)
            return
        self._failures = 0
        for request in list(self._in_flight.values()):
            decisions = request.new_decisions()
            self._log(request, decisions)
            request.send_updates(decisions)
        for text in ended:
            self._ended(self._in_flight.pop(id(text)))

    def _fail_all(self, error: SteerError) -> None:
        """The model has failed in a call that all shared."""
        self._batch.clear()
        for request in self._in_flight.values():
            request.send(Failed(error.what))
            self._end(request, "failed", error.what)
        self._in_flight.clear()
        self._failures += 1
        if self._failures >= MOST_FAILURES:
            raise error

    def _log(self, request: PendingRequest, decisions: Sequence[DecisionTaken]) -> None:
        for decision in decisions:
            if not self._section.log_texts:
                decision = with_fields(decision, prefix="", segment="", null_probe="", candidates=[])
            self._emit(with_fields(decision, example=request.name))

    # ------------------------------------------------------------ second answers

    def _ended(self, request: PendingRequest) -> None:
        if request.prepared.again is None:
            self._answered(request, self.levers.answered(request.prepared))
        else:
            self._checking.submit(self._check, request)

    def _check(self, request: PendingRequest) -> None:
        """Look at a finished answer, in a thread of its own: a controller may be a server."""
        assert request.prepared.again is not None
        try:
            result = request.prepared.again(request.text.text)
        except SteerError as error:
            result = LeverDid(lever=NOTES, acted=False, what=f"the answer could not be checked: {error}")
        with self._lock:
            self._checked.append((request, result))
            self._lock.notify_all()

    def _take_checked(self) -> None:
        """Go on with answers that were checked: they stand, or are written again."""
        while self._checked:
            request, result = self._checked.popleft()
            if request.cancelled:
                self._end(request, "vanished")
            elif isinstance(result, Prepared):
                request.write_again(result)
                with self._lock:
                    self._waiting.appendleft(request)
            else:
                self._answered(request, self.levers.answered(request.prepared, result))

    # ------------------------------------------------------------ ends

    def _answered(self, request: PendingRequest, answer: SteeredAnswer) -> None:
        self._mean_seconds += 0.1 * (time.monotonic() - request.began - self._mean_seconds)
        self._end(request, "answered", "", answer)  # first the log: whoever has an answer finds it there
        request.send_answer(answer)

    def _end(
        self, request: PendingRequest, outcome: str, why: str = "", answer: SteeredAnswer | None = None
    ) -> None:
        self._counts[outcome] += 1
        text = request.text.answer
        written = request.text.tokens + text.probe_tokens + request.spent
        self._tokens += written
        decisions = text.decisions if answer is None else answer.decisions
        did = [] if answer is None else answer.did
        self._emit(
            RequestAnswered(
                request=request.name,
                outcome=outcome,
                why=why,
                finish=request.text.finish,
                tokens=request.text.tokens,
                probe_tokens=text.probe_tokens + request.spent,
                first=None if request.first is None else round(request.first, 4),
                seconds=round(time.monotonic() - (request.began or request.arrived), 4),
                segments=sum(decision.phase == "segment" for decision in decisions),
                steered=text.steered,
                did=[LeverActed(lever=d.lever, acted=d.acted, what=d.what, tokens=d.tokens) for d in did],
                text=request.text.text if self._section.log_texts else "",
            )
        )
        self._progress(self._counts.total() - self._counts["refused"], written)
        del self._submitted[id(request)]
        self.release()

    def _report(self) -> None:
        """Tell how busy it is, every second in which something changes."""
        seconds = time.monotonic() - self._reported_at
        if seconds < LOAD_EVERY:
            return
        under_way = sum(text.tokens + text.answer.probe_tokens for text in self._batch.texts)
        tokens, before = self._tokens + under_way, self._reported
        load = ServeLoad(
            in_flight=len(self._in_flight),
            waiting=max(0, self.reserved - len(self._in_flight)),
            tokens=tokens,
            tokens_per_second=round(max(0, tokens - before.tokens) / seconds, 1),
            answered=self._counts["answered"],
            vanished=self._counts["vanished"],
            failed=self._counts["failed"],
            refused=self._counts["refused"],
        )
        if with_fields(load, tokens_per_second=before.tokens_per_second) != before:
            self._emit(load)
        self._reported, self._reported_at = load, time.monotonic()
