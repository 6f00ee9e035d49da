"""The state that callers of a server share. Times are in milliseconds."""

from __future__ import annotations

from ._failure import Failure
from ._kinds import MAX_WAIT_MS
from ._record import Fields, kind_of, number_of


class _Circuit:
    """Holds calls back after five failures in a row: for a while, then one call at a time may try."""

    def __init__(self) -> None:
        self.failures, self.opens, self.until, self.trying, self.next, self.failed = 0, 0, 0.0, 0.0, 0.0, 0.0

    def wait(self, now: float, last: float) -> float:
        """Returns how long a call waits until it asks again. A call that can wait until last tries early."""
        is_early = last > 0 and last - self.failed >= 1000
        if self.until == 0:
            return 0
        if self.trying > 0 and now < self.trying + 30_000:
            return min(max(now - self.trying, 100), 1000)
        if now >= self.until or (is_early and now >= last):
            return 0
        turn = min(self.next, last) if is_early else self.next
        self.next += 100
        return turn - now

    def fail(self, now: float, least_ms: float) -> None:
        self.failures += 1
        if self.failures >= 5:
            self.until = now + max(min(1000 * 2 ** min(self.opens, 8), 30_000), min(least_ms, MAX_WAIT_MS))
            self.opens, self.failed, self.next = self.opens + 1, now, self.until


class Server:
    """What all callers of one server share: a budget of repetitions, a pace after rate limits, circuits for the way to
    the server and for each tool, and the mistakes that it has refused."""

    def __init__(self) -> None:
        self.mistakes: dict[str, tuple[Failure, float]] = {}  # and until when each is known
        self._way, self._spent, self._resumes, self._next = _Circuit(), 0.0, 0.0, 0.0
        self._tools: dict[str, _Circuit] = {}
        self._limit: Fields = {}

    def take(self, repetitions: float = 1) -> bool:
        """Takes a retry, if the budget allows it. Each call of a caller adds a fifth of one: take(-0.2)."""
        is_within = self._spent + repetitions <= 10
        self._spent = max(self._spent + repetitions * is_within, -90)
        return is_within

    def turn(self, now: float, least_ms: float) -> float:
        """Returns how long a caller waits for its turn: after a rate limit, calls are made one at a time."""
        if now >= self._resumes:
            return least_ms
        at = self._next
        self._next += min(100, (self._resumes - now) / 10)
        return max(at - now, least_ms)

    def admit(self, now: float, last: float, tool: str) -> tuple[float, Fields]:
        """Returns how long a call waits until it asks again, at last until last, and the failure that holds it back.
        0: it begins, and learn is told of its end."""
        if (wait := self.turn(now, 0)) > 0:
            return wait, self._limit
        circuits = self._way, self._tools.get(tool, _Circuit())
        wait = circuits[0].wait(now, last) or circuits[1].wait(now, last)
        for circuit in circuits:
            circuit.trying = now if wait == 0 and circuit.until > 0 else circuit.trying
        return wait, {"kind": "unavailable", "message": "Calls before this one have failed.", "retry": "same_call"}

    def learn(self, now: float, tool: str, ending: str, e: Fields | None = None) -> None:
        """Takes in how an attempt has ended, and its failure: a limit holds back all callers. "answered": it works;
        "unreached": the way to the server is broken; "down": what is behind the tool is; "untold": nothing is known."""
        least_ms = number_of((e or {}).get("afterMs"))
        behind = self._tools.get(tool, _Circuit())
        self._way.trying = behind.trying = 0
        if ending in ("answered", "down"):
            self._way = _Circuit()
        if ending == "answered":
            self._tools.pop(tool, None)
        if ending == "unreached":
            self._way.fail(now, least_ms)
        if ending == "down":
            behind.fail(now, least_ms)
            self._tools = {**(self._tools if len(self._tools) < 1000 else {}), tool: behind}
        resumes = now + min(least_ms, MAX_WAIT_MS)
        if e and kind_of(e) == "rate_limited" and resumes > self._resumes:
            self._resumes, self._next, self._limit = resumes, resumes, e
