"""One call, with everything that is done for it."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import math
import time
from collections.abc import Awaitable, Callable
from typing import Any

from ._answers import NOTHING, advised, data_of, find, has_landed_by, parse_call, unmet_by, verify_call
from ._batch import repeat_items, tells_items
from ._decide import Decision, backoff, judge, may_succeed, settle
from ._failure import Failure, Question
from ._http import plain, raised
from ._options import Options, Step, Verification
from ._read import read_result
from ._record import Fields, class_of, fields_of, kind_of, list_of, number_of, same, text_of, usual_advice
from ._server import Server
from ._tables import Tables

_LOG = logging.getLogger("recourse_client")
# The argument of FastMCP's call_tool that makes it return failures, with the record: its ToolError has only the text.
RAISES = "raise_on_error"
# The member of a call's meta that has its idempotency key.
KEY = "io.github.recoursehq/idempotencyKey"


def now() -> float:
    """Returns the time in milliseconds."""
    return time.monotonic() * 1000


class Late(Exception):
    """Something did not end in time."""


async def within(ms: float, work: Awaitable[Any]) -> Any:
    """Runs something until it ends; raises Late if its time is over before."""
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=max(ms, 0) / 1000)
        if not done:
            raise Late
        return task.result()
    finally:
        task.cancel()


class Exchange:
    """One call of the caller, with everything that is done for it."""

    def __init__(
        self,
        c: Tables,
        session: Any,
        tool: str,
        arguments: Fields,
        options: Options,
        more: tuple[Any, ...] = (),
        named: Fields | None = None,
    ) -> None:
        self.c, self.session, self.tool, self.arguments, self.options = c, session, tool, arguments, options
        self.more, self.named = more, named or {}  # what else the session's call_tool is given
        self.server, self.ends = options.server or Server(), now() + options.timeout_ms
        self.attempt, self.answers, self.is_connected, self.is_sent, self.is_refused = 0, 0, False, True, False
        self.cause: Exception | None = None
        self.by: str | None = None
        self.tools = None if options.tools is None else {t.get("name"): t for t in map(plain, options.tools)}
        argument = c.layouts[0].get("format", {}).get("argument")
        schema = fields_of(fields_of((self.tools or {}).get(tool)).get("inputSchema"))
        if argument in fields_of(schema.get("properties")):
            arguments.setdefault(argument, "json")

    async def run(self) -> Any:
        """Makes the call. Returns its result; raises a Failure or a Question."""
        mistake, until = self.server.mistakes.get(self.fingerprint(), (None, 0))
        if mistake and now() < until:
            self.note("decide", failure=mistake, reason="the same call was a mistake before: it is not sent")
            raise self.failure(mistake.stated)
        before: Failure | None = None
        while True:
            result, failed = await self.call("call", self.tool, self.arguments)
            if isinstance(failed, Question):
                if not await self.ask(failed):
                    raise failed
                continue
            if failed is None:
                return await self.follow(result)
            if not self.is_sent:
                raise before or failed
            e = settle(self.c, failed.stated, self.nature(self.tool))
            is_returned = (
                self.tool in self.c.table["returned"] and result is not None and not plain(result).get("isError")
            )
            if class_of(e) == "input" and kind_of(e) != "unknown_tool" and not self.is_refused and not is_returned:
                mistakes = self.server.mistakes if len(self.server.mistakes) < 1000 else {}
                self.server.mistakes = {**mistakes, self.fingerprint(): (self.failure(e), now() + 600_000)}
            if tells_items(self, e):
                return await repeat_items(self, result, e)
            if await self.connect(e):
                continue
            if is_returned and not may_succeed(self.c, e):
                return result  # whoever has called the tool reads it there
            e, has_landed, found = await self.verify(e)
            if has_landed:
                return found if found is not None else {"content": []}
            if not await self.again(self.judge(e, self.tool, self.attempt), e):
                if is_returned:
                    return result
                raise self.failure(e, result) from self.cause
            before = self.failure(e)

    def failure(self, e: Fields, answer: Any = None, result: Any = None) -> Failure:
        failure = Failure.of(e, self.c, result)
        failure.answer = answer
        return failure

    def fingerprint(self) -> str:
        """Identifies the call."""
        return json.dumps([self.tool, self.arguments], sort_keys=True, default=str)

    def left(self) -> float:
        return self.ends - now()

    def judge(self, e: Fields, tool: str, n: int) -> Decision:
        return judge(self.c, e, self.nature(tool), n, self.left(), self.options.random())

    def nature(self, tool: str) -> str:
        """Returns what a tool does: "writes", "idempotent" or "reads". By the option, or else by the contract, or else
        by the annotations of a server that is trusted."""
        if tool in self.options.natures:
            return self.options.natures[tool]
        writes, said = tool in self.c.table["verify"], fields_of((self.tools or {}).get(tool)).get("annotations")
        if writes or not self.options.trusted:
            said = None
        if (not writes and {"*", tool} & set(self.c.table["readers"])) or fields_of(said).get("readOnlyHint"):
            return "reads"
        return "idempotent" if fields_of(said).get("idempotentHint") else "writes"

    def note(self, action: str, tool: str | None = None, **more: Any) -> None:
        """Tells the caller of a step."""
        step = Step(action, tool or self.tool, self.attempt, **more)
        if self.options.report is not None:
            self.options.report.append(step)
        told = step.reason or step.failure or "done"
        _LOG.debug("%s %s, attempt %d: %s", action, step.tool, step.attempt, told)
        try:
            if self.options.observe:
                self.options.observe(step)
        except Exception:
            pass  # what an observer does wrong is no fault of the call's

    async def wait(self, ms: float, reason: str) -> bool:
        """Waits, and says whether the call continues."""
        if ms > 0:
            self.note("wait", wait_ms=ms, reason=reason)
            await self.options.sleep(ms / 1000)
        return self.left() > 0

    async def call(self, action: str, tool: str, arguments: Fields) -> tuple[Any, Failure | Question | None]:
        """Makes one call: of the tool, or of another for it. Returns the result, and a failure or question in it."""
        last = self.ends - min(self.left() / 4, 15_000)
        self.is_sent = True
        while (held := self.server.admit(now(), last, tool))[0] > 0:
            wait, why = held
            self.is_sent = wait < self.left() and await self.wait(wait, f"{kind_of(why)}: calls are held back")
            if not self.is_sent:
                return None, self.failure({**why, "afterMs": math.ceil(wait), "effect": "none"})
        if action == "call" and self.attempt == 0:
            self.server.take(-0.2)
        self.attempt += action == "call"
        result, failed, is_lost = await self.send(action, tool, arguments)
        e = failed.stated if isinstance(failed, Failure) else None
        if e and not self.options.trusted:
            e = self.believed(e, tool, self.by)
            failed = self.failure(e)
        self.server.learn(now(), tool, self.ending(e, is_lost), e)
        self.note(action, tool, failure=failed if e else None)
        return result, failed

    def ending(self, e: Fields | None, is_lost: bool) -> str:
        if e is None:
            return "answered"
        if kind_of(e) == "cancelled" or (kind_of(e) == "timeout" and self.left() <= 0):
            return "untold"
        if is_lost:
            return "unreached"
        return "down" if class_of(e) == "upstream" and may_succeed(self.c, e) else "answered"

    async def send(self, action: str, tool: str, arguments: Fields) -> tuple[Any, Failure | Question | None, bool]:
        """Makes one attempt: its result, a failure or question, and whether it did not reach the server. Where
        something could be done after it, it leaves time for that."""
        self.cause, self.is_refused, self.by = None, False, None
        is_last = self.nature(tool) == "writes" and self.tool not in self.c.table["verify"]
        limit = self.options.attempt_timeout_ms or self.left() - (0 if is_last else min(self.left() / 4, 15_000))
        try:
            more = self.more if action == "call" else ()
            named = {name: v for name, v in self.named.items() if action == "call" or name == RAISES}
            if arguments is not self.arguments and named.get("meta"):  # what remains of a batch is another call
                named["meta"] = {name: v for name, v in named["meta"].items() if name != KEY}
            result = await within(
                min(limit, self.left()), self.session.call_tool(tool, dict(arguments), *more, **named)
            )
            failed = read_result(self.c, plain(result))
            if failed is None and (e := unmet_by(self.c, tool, arguments, plain(result))):
                failed = self.failure(e)
            return result, failed, False
        except Late as late:
            self.cause = late
            return None, self.failure({"kind": "timeout", "origin": "caller"}), True
        except Exception as error:
            self.cause = error
            failed, is_lost, self.is_refused, self.by = raised(self.c, error)
            return None, failed, is_lost
        except asyncio.CancelledError:
            self.server.learn(now(), tool, "untold")
            raise

    def doubts(self, tool: str) -> bool:
        """Says whether nothing that the server says may make a call of a tool run again."""
        return not self.options.trusted and self.nature(tool) == "writes"

    def believed(self, stated: Fields, tool: str, by: str | None = None) -> Fields:
        """Removes from a failure what an untrusted server says about the effect, and kinds are words, too. by: the HTTP
        status or the protocol's code that refused the call; that the same call may succeed then, only 429 says."""
        if stated.get("effect") in ("applied", "unknown"):
            return stated
        is_none = by is not None or self.nature(tool) == "reads"
        effect = "none" if is_none else "applied" if kind_of(stated) == "partial" else "unknown"
        if by in (None, "HTTP 429") or not self.doubts(tool):
            return {**stated, "effect": effect}
        advice = stated.get("retry") or usual_advice(stated)
        return {**stated, "effect": effect, "retry": "never" if advice == "same_call" else advice}

    async def again(self, d: Decision, e: Fields, what: str = "") -> bool:
        """Waits for the next attempt, and says whether there is one."""
        wait: float = 0
        if d.repeat and not self.server.take():
            d = Decision(False, reason="the budget of repetitions is spent")
        if d.repeat and (wait := self.server.turn(now(), d.wait_ms)) >= self.left():
            d = Decision(False, reason="the turn after the limit comes too late")
        self.note("decide", failure=self.failure(e), reason=what + d.reason if d.repeat else d.reason)
        return d.repeat and await self.wait(wait, d.reason)

    async def hook(self, action: str, run: Callable[..., Any], *arguments: Any) -> tuple[bool, Any]:
        """Runs a function of the caller. Returns whether it has done its work, and its value."""
        try:
            value = run(*arguments)
            value = await within(self.left(), value) if inspect.isawaitable(value) else value
        except Exception as error:
            self.note(action, reason=f"the hook has failed: {error!r}")
            return False, None
        self.note(action)
        return True, value

    async def connect(self, e: Fields) -> bool:
        """Has an account connected, once. Says whether it is."""
        is_auth = class_of(e) == "auth" and e["effect"] == "none"
        is_word = self.doubts(self.tool) and self.by not in ("HTTP 401", "HTTP 403")
        if not is_auth or is_word or not self.options.connect or self.is_connected:
            return False
        self.is_connected = True
        return (await self.hook("connect", self.options.connect, self.failure(e)))[0]

    async def ask(self, question: Question) -> bool:
        """Adds the answer to a question to the arguments. Says whether there is one."""
        self.answers += 1
        if not self.options.answer or self.doubts(self.tool) or self.answers > 5:
            return False
        is_done, given = await self.hook("answer", self.options.answer, question)
        self.arguments = {**self.arguments, **fields_of(given)}
        return is_done

    async def verify(self, e: Fields) -> tuple[Fields, bool | None, Any]:
        """Settles what became of a write of which it is not known: the failure as it is to be judged, whether the write
        has landed, and the result that says so."""
        own = verify_call(self.c, self.tool, self.arguments)
        named = [{"tool": tool, "args": args} for tool, args, _ in advised(self.c, list_of(e.get("hints"))) if args]
        told = [fields_of(e.get("verify")), own, *named]
        if self.doubts(self.tool):  # an untrusted server could name one that finds nothing
            told = [own]
        call = next((v for v in told if v and self.may_ask(v.get("tool"))), None)
        if e["effect"] != "unknown" or call is None:
            return e, None, None
        if isinstance(call.get("from"), dict):  # what was not shown
            taken = {name: self.take(at) for name, at in call["from"].items()}
            if any(value is None for value in taken.values()):
                return e, None, None
            call = {**call, "args": {**fields_of(call.get("args")), **taken}}
        wait = int(backoff(self.c, e, 1, self.options.random()))  # what is on its way may arrive yet
        if wait >= self.left() or not await self.wait(wait, "the write may be on its way"):
            return e, None, None
        is_known, result = await self.look_up(call["tool"], fields_of(call.get("args")))
        if not is_known:
            return e, None, None
        has_landed = await self.landed(e, call, own, None if result is None else plain(result))
        reasons = {True: "the write has landed", False: "the write has not landed"}
        reason = "it stays open whether the write has landed" if has_landed is None else reasons[has_landed]
        self.note("decide", failure=self.failure(e), reason=reason)
        if has_landed:
            self.server.mistakes = {}
        return {**e, "effect": "none", "retry": "same_call"} if has_landed is False else e, has_landed, result

    async def landed(self, e: Fields, call: Fields, own: Fields, result: Fields | None) -> bool | None:
        """Says whether a write has landed, by the result of the verify call; None: that stays open."""
        has_landed: bool | None = None
        data, rule = data_of(result), self.c.table["verify"].get(self.tool, {"args": ()})
        # The verify call takes an argument from the write. Without it, it would be about something else.
        is_asked = same([call["tool"], call.get("args", {})], [own.get("tool"), own.get("args", {})]) and all(
            a["name"] in own.get("args", {}) for a in rule["args"]
        )
        if is_asked and "landed" in rule and (result is None or data is not NOTHING):
            has_landed = has_landed_by(rule["landed"], self.arguments, data)
        if has_landed is None and self.options.landed:
            given = Verification(self.tool, self.arguments, self.failure(e), call, result)
            _, has_landed = await self.hook("decide", self.options.landed, given)
        return has_landed

    def take(self, at: Any) -> Any:
        """Returns the value at a JSON Pointer into the call's own arguments, in a list if that is in one."""
        if isinstance(at, list):
            value = self.take(at[0]) if len(at) == 1 and isinstance(at[0], str) else None
            return None if value is None else [value]
        return next(iter(find(self.arguments, at)[0]), None) if isinstance(at, str) else None

    def may_ask(self, tool: Any) -> bool:
        """Says whether a call that the server names may be made: the server has that tool, and it only reads."""
        return isinstance(tool, str) and (self.tools is None or tool in self.tools) and self.nature(tool) == "reads"

    async def look_up(self, tool: str, arguments: Fields) -> tuple[bool, Any]:
        """Makes the verify call until it is answered: whether it was, and its result, None for no such item."""
        attempt = 0
        while True:
            attempt += 1
            result, failed = await self.call("verify", tool, arguments)
            if failed is None or isinstance(failed, Question):
                return failed is None, result
            if failed.kind == "not_found":
                return True, None
            d = self.judge(settle(self.c, failed.stated, "reads"), tool, attempt)
            if not d.repeat or not self.server.take() or not await self.wait(d.wait_ms, d.reason):
                return False, None

    async def follow(self, result: Any) -> Any:
        """Waits for the work that a call has started, if its answer names the call to poll."""
        if self.nature(self.tool) != "reads":
            self.server.mistakes = {}  # what was wrong may be right now
        rule = self.c.table.get("poll")
        if rule is None or rule["wait"] in self.arguments:
            return result
        call = parse_call(text_of(fields_of(data_of(plain(result))).get(rule["next"])))
        pause: float = 1000
        while call and self.may_ask(call[0]) and pause < self.left() and await self.wait(pause, "the work goes on"):
            answer, failed = await self.call("poll", *call)
            pause = min(2 * pause, 15_000)
            if isinstance(failed, Question):
                raise failed
            if failed is None:
                result, data = answer, data_of(plain(answer))
                said = [word for at in rule["status"] for word in find(data, at)[0]]
                if any(word in rule["failed"] for word in said):
                    reasons = [text for at in rule["reason"] for text in map(text_of, find(data, at)[0]) if text]
                    raise self.failure({**rule["failure"], **({"message": reasons[0]} if reasons else {})})
                if not any(word in rule["pending"] for word in said):
                    return result
            elif not may_succeed(self.c, failed.stated):
                raise self.failure({**failed.stated, "effect": "applied"}) from self.cause
            else:
                pause = max(pause, number_of(failed.stated.get("afterMs")))
        return result
