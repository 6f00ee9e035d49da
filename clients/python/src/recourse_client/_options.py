"""How recover() works, and what it tells of its work."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ._failure import Failure, Question
from ._record import Fields
from ._server import Server


@dataclass
class Step:
    """A step of a call: call, verify, poll, connect, answer, wait or decide. A wait is reported before it begins."""

    action: str
    tool: str
    attempt: int
    wait_ms: float = 0
    failure: Failure | None = None
    reason: str = ""


@dataclass
class Verification:
    """The facts for judging whether a write took effect. result: of the verify call; None: the item does not exist."""

    tool: str
    arguments: Fields
    failure: Failure
    verify: Fields
    result: Fields | None


@dataclass
class Options:
    """How recover() works.

    server: what the callers of one server share. trusted: the server is believed that a call took no effect.
    natures: what tools do ("writes", "idempotent", "reads"). tools: of tools/list; their annotations say the same if
    the contract does not, and the server is trusted.
    connect(failure) has an account connected; answer(question) returns arguments; they may be coroutines, as all hooks.
    landed(verification) returns True, False, or None for an open question.
    succeeded(items) is given what a batch has done.
    returns: what a call ends with is returned as a result in the contract's form, not raised: a model reads it there.
    observe(step) is told of each step, and report is a list that the steps are added to. sleep(seconds) waits.
    attempt_timeout_ms: left out, an attempt may take as long as the call; a quarter of that less, at most 15 s, if
    something could be done then."""

    server: Server | None = None
    timeout_ms: float = 300_000
    attempt_timeout_ms: float | None = None
    trusted: bool = True
    returns: bool = False
    natures: Mapping[str, str] = field(default_factory=dict)
    tools: list[Any] | None = None
    connect: Callable[[Failure], Any] | None = None
    answer: Callable[[Question], Any] | None = None
    landed: Callable[[Verification], Any] | None = None
    succeeded: Callable[[list[Fields]], Any] | None = None
    observe: Callable[[Step], None] | None = None
    report: list[Step] | None = None
    random: Callable[[], float] = random.random
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
