# ---- A call and what is done for it.

async def recover(session: Any, name: str, arguments: dict[str, Any] | None = None,
                  options: Options | None = None) -> Any:
    """Calls a tool, and does what the contract says when the call fails. session has async call_tool(name, arguments).
    The result is returned as the session has it, or as a dict where it was merged; Failure and Question are raised."""
    return await _Exchange(session, name, dict(arguments or {}), options or Options()).run()


async def recover_connect(connect: Callable[[], Awaitable[Any]], options: Options | None = None) -> Any:
    """Connects to the server, and does what the contract says when that fails: nothing is done by connecting, so
    whatever may pass is tried again. connect() makes a session of its own in each attempt."""
    options = options or Options()
    opening = _Opening(connect)
    await recover(opening, "connect", {}, replace(options, natures={**options.natures, "connect": "reads"}))
    return opening.session


class _Opening:
    def __init__(self, connect):
        self.connect, self.session = connect, None

    async def call_tool(self, name, arguments):
        self.session = await self.connect()
        return {"content": []}


def _now(): return time.monotonic() * 1000


class _Exchange:
    """One call of the caller, with everything that is done for it."""

    def __init__(self, session, tool, arguments, options):
        self.session, self.tool, self.arguments, self.options = session, tool, arguments, options
        self.server, self.ends = options.server or Server(), _now() + options.timeout_ms
        self.attempt, self.answers, self.is_connected, self.is_sent, self.cause = 0, 0, False, True, None
        self.tools = None if options.tools is None else {t.get("name"): t for t in map(_plain, options.tools)}
#{{if has "layouts.format"}}
        argument = CONTRACT["layouts"][0].get("format", {}).get("argument")
        schema = _fields(_fields((self.tools or {}).get(tool)).get("inputSchema"))
        if argument in _fields(schema.get("properties")):
            arguments.setdefault(argument, "json")
#{{end}}

    async def run(self):
        mistake, until = self.server.mistakes.get(self.fingerprint(), (None, 0))
        if mistake and _now() < until:
            self.note("decide", failure=mistake, reason="the same call was a mistake before: it is not sent")
            raise Failure(mistake.stated)
        before = None
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
            e = _settle(failed.stated, self.nature(self.tool))
#{{if has "contract.returned"}}
            is_returned = self.tool in CONTRACT["returned"] and result is not None and not _plain(result).get("isError")
            if _class(e) == "input" and _kind(e) != "unknown_tool" and not self.is_refused and not is_returned:
#{{else}}
            if _class(e) == "input" and _kind(e) != "unknown_tool" and not self.is_refused:
#{{end}}
                mistakes = self.server.mistakes if len(self.server.mistakes) < 1000 else {}
                self.server.mistakes = {**mistakes, self.fingerprint(): (Failure(e), _now() + 600_000)}
#{{if has "contract.batch"}}
            if self.tells_items(e):
                return await self.repeat_items(result, e)
#{{end}}
            if await self.connect(e):
                continue
#{{if has "contract.returned"}}
            if is_returned and not _may_succeed(e):
                return result  # whoever has called the tool reads it there
#{{end}}
#{{if has "contract.verify" "contract.record" "contract.advised" ":call"}}
            e, has_landed, found = await self.verify(e)
            if has_landed:
                return found if found is not None else {"content": []}
#{{end}}
            if not await self.again(self.judge(e, self.tool, self.attempt), e):
#{{if has "contract.returned"}}
                if is_returned:
                    return result
#{{end}}
                raise Failure(e) from self.cause
            before = Failure(e)

    def fingerprint(self): return json.dumps([self.tool, self.arguments], sort_keys=True, default=str)
    def left(self): return self.ends - _now()
    def judge(self, e, tool, n): return _judge(e, self.nature(tool), n, self.left(), self.options.random())

    def nature(self, tool):
#{{if has "contract.readers"}}
        reads = {"*", tool} & set(CONTRACT["readers"]) and tool not in CONTRACT.get("verify", ())
        return self.options.natures.get(tool, "reads" if reads else "writes")
#{{else}}
        return self.options.natures.get(tool, "writes")
#{{end}}

    def note(self, action, tool=None, **more):
        step = Step(action, tool or self.tool, self.attempt, **more)
        if self.options.report is not None:
            self.options.report.append(step)
        told = step.reason or step.failure or "done"
        logging.getLogger(__name__).debug("%s %s, attempt %d: %s", action, step.tool, step.attempt, told)
        try:
            if self.options.observe:
                self.options.observe(step)
        except Exception:
            pass  # what an observer does wrong is no fault of the call's

    async def wait(self, ms, reason):
        """Waits, and says whether the call continues."""
        if ms > 0:
            self.note("wait", wait_ms=ms, reason=reason)
            await self.options.sleep(ms / 1000)
        return self.left() > 0

    async def call(self, action, tool, arguments):
        """Makes one call: of the tool, or of another for it. Returns the result, and a failure or question in it."""
        last = self.ends - min(self.left() / 4, 15_000)
        self.is_sent = True
        while (held := self.server.admit(_now(), last, tool))[0] > 0:
            wait, why = held
            self.is_sent = wait < self.left() and await self.wait(wait, f"{_kind(why)}: calls are held back")
            if not self.is_sent:
                return None, Failure({**why, "afterMs": math.ceil(wait), "effect": "none"})
        if action == "call" and self.attempt == 0:
            self.server.take(-0.2)
        self.attempt += action == "call"
        result, failed, is_lost = await self.send(tool, arguments)
        e = failed.stated if isinstance(failed, Failure) else None
        if e and not self.options.trusted:
            e = self.believed(e, tool, self.by)
            failed = Failure(e)
        self.server.learn(_now(), tool, self.ending(e, is_lost), e)
        self.note(action, tool, failure=failed if e else None)
        return result, failed

    def ending(self, e, is_lost):
        if e is None:
            return "answered"
        if _kind(e) == "cancelled" or (_kind(e) == "timeout" and self.left() <= 0):
            return "untold"
        if is_lost:
            return "unreached"
        return "down" if _class(e) == "upstream" and _may_succeed(e) else "answered"

    async def send(self, tool, arguments):
        """Makes one attempt: its result, a failure or question, and whether it did not reach the server. Where
        something could be done after it, it leaves time for that."""
        self.cause, self.is_refused, self.by = None, False, None
        is_last = self.nature(tool) == "writes" and self.tool not in CONTRACT.get("verify", ())
        limit = self.options.attempt_timeout_ms or self.left() - (0 if is_last else min(self.left() / 4, 15_000))
        try:
            async with asyncio.timeout(max(min(limit, self.left()), 0) / 1000) as timer:
                result = await self.session.call_tool(tool, dict(arguments))
            return result, parse_result(_plain(result)), False
        except Exception as error:
            self.cause = error
            if timer.expired():
                return None, Failure({"kind": "timeout", "origin": "caller"}), True
            failed, is_lost, self.is_refused, self.by = _raised(error)
            return None, failed, is_lost
        except asyncio.CancelledError:
            self.server.learn(_now(), tool, "untold")
            raise

    def doubts(self, tool):
        """Says whether nothing that the server says may make a call of a tool run again."""
        return not self.options.trusted and self.nature(tool) == "writes"

    def believed(self, stated, tool, by=None):
        """Removes from a failure what an untrusted server says about the effect, and kinds are words, too. by: the HTTP
        status or the protocol's code that refused the call; that the same call may succeed then, only 429 says."""
        if stated.get("effect") in ("applied", "unknown"):
            return stated
        is_none = by is not None or self.nature(tool) == "reads"
        effect = "none" if is_none else "applied" if _kind(stated) == "partial" else "unknown"
        if by in (None, "HTTP 429") or not self.doubts(tool):
            return {**stated, "effect": effect}
        advice = stated.get("retry") or _usual_advice(stated)
        return {**stated, "effect": effect, "retry": "never" if advice == "same_call" else advice}

    async def again(self, d, e, what=""):
        """Waits for the next attempt, and says whether there is one."""
        wait = 0
        if d.repeat and not self.server.take():
            d = Decision(False, reason="the budget of repetitions is spent")
        if d.repeat and (wait := self.server.turn(_now(), d.wait_ms)) >= self.left():
            d = Decision(False, reason="the turn after the limit comes too late")
        self.note("decide", failure=Failure(e), reason=what + d.reason if d.repeat else d.reason)
        return d.repeat and await self.wait(wait, d.reason)

    async def hook(self, action, run, *arguments):
        """Runs a function of the caller. Returns whether it has done its work, and its value."""
        try:
            async with asyncio.timeout(max(self.left(), 0) / 1000):
                value = run(*arguments)
                value = await value if inspect.isawaitable(value) else value
        except Exception as error:
            self.note(action, reason=f"the hook has failed: {error!r}")
            return False, None
        self.note(action)
        return True, value

    async def connect(self, e):
        is_auth = _class(e) == "auth" and e["effect"] == "none"
        is_word = self.doubts(self.tool) and self.by not in ("HTTP 401", "HTTP 403")
        if not is_auth or is_word or not self.options.connect or self.is_connected:
            return False
        self.is_connected = True
        return (await self.hook("connect", self.options.connect, Failure(e)))[0]

    async def ask(self, question):
        self.answers += 1
        if not self.options.answer or self.doubts(self.tool) or self.answers > 5:
            return False
        is_done, given = await self.hook("answer", self.options.answer, question)
        self.arguments = {**self.arguments, **_fields(given)}
        return is_done

#{{if has "contract.verify" "contract.record" "contract.advised" ":call"}}
    async def verify(self, e):
        """Settles what became of a write of which it is not known: the failure as it is to be judged, whether the write
        has landed, and the result that says so."""
#{{if has "contract.verify"}}
        own = _verify_call(self.tool, self.arguments)
#{{else}}
        own = {}
#{{end}}
#{{if has "contract.advised"}}
        named = [{"tool": tool, "args": args} for tool, args, _ in advised(Failure(e)) if args]
#{{else}}
        named = []
#{{end}}
        told = (_fields(e.get("verify")), own, *named)
        if self.doubts(self.tool):  # an untrusted server could name one that finds nothing
            told = (own,)
        call = next((v for v in told if v and self.may_ask(v.get("tool"))), None)
        if e["effect"] != "unknown" or call is None:
            return e, None, None
        if isinstance(call.get("from"), dict):  # what was not shown
            taken = {name: self.take(at) for name, at in call["from"].items()}
            call = {**call, "args": {**_fields(call.get("args")), **taken}}
        wait = int(_backoff(e, 1, self.options.random()))  # what is on its way may arrive yet
        if wait >= self.left() or not await self.wait(wait, "the write may be on its way"):
            return e, None, None
        is_known, result = await self.look_up(call["tool"], _fields(call.get("args")))
        if not is_known:
            return e, None, None
        plain = None if result is None else _plain(result)
        has_landed = None
#{{if has "landed"}}
        data, rule = _data(plain), CONTRACT["verify"].get(self.tool, {"args": ()})
        # The verify call takes an argument from the write. Without it, it would be about something else.
        is_asked = _same([call["tool"], call.get("args", {})], [own.get("tool"), own.get("args")]) \
            and all(a["name"] in own["args"] for a in rule["args"])
        if is_asked and "landed" in rule and (plain is None or data is not _NOTHING):
            has_landed = _has_landed(rule["landed"], self.arguments, data)
#{{end}}
        if has_landed is None and self.options.landed:
            given = Verification(self.tool, self.arguments, Failure(e), call, plain)
            _, has_landed = await self.hook("decide", self.options.landed, given)
        reasons = {True: "the write has landed", False: "the write has not landed"}
        reason = reasons.get(has_landed, "it stays open whether the write has landed")
        self.note("decide", failure=Failure(e), reason=reason)
        if has_landed:
            self.server.mistakes = {}
        return {**e, "effect": "none", "retry": "same_call"} if has_landed is False else e, has_landed, result

    def take(self, at):
        """Returns the values of the call's own arguments at JSON Pointers."""
        if isinstance(at, list):
            return [self.take(one) for one in at]
        return next(iter(_find(self.arguments, _text(at))[0]), None)

    def may_ask(self, tool):
        """Says whether a call that the server names may be made: the server has that tool, and it only reads."""
        return (self.tools is None or tool in self.tools) and self.nature(tool) == "reads"

    async def look_up(self, tool, arguments):
        """Makes the verify call until it is answered: whether it was, and its result, None for no such item."""
        attempt = 0
        while True:
            attempt += 1
            result, failed = await self.call("verify", tool, arguments)
            if failed is None or isinstance(failed, Question):
                return failed is None, result
            if failed.kind == "not_found":
                return True, None
            d = self.judge(_settle(failed.stated, "reads"), tool, attempt)
            if not d.repeat or not self.server.take() or not await self.wait(d.wait_ms, d.reason):
                return False, None

#{{end}}
#{{if has "contract.batch"}}
    def batch_argument(self, e):
        """Returns the argument that lists the items: by the contract, or the only one with what has failed."""
        ids = {f.get("id") for f in _list(e.get("succeeded")) + _list(e.get("failed"))}
        found = [name for name, v in self.arguments.items() if ids and ids <= {_id(item) for item in _list(v)}]
        return CONTRACT["batch"].get(self.tool) or (found[0] if len(found) == 1 else None)

    def tells_items(self, e):
        """Says whether a failure tells how each item failed: then the code of the whole does not decide about them."""
        return _kind(e) == "partial" or bool(_list(e.get("failed")) and self.batch_argument(e))

    async def repeat_items(self, result, e):
        """Repeats a call that has failed in part, with only the failed items that may succeed. An item that is never
        mentioned has failed."""
        argument, nature = self.batch_argument(e), self.nature(self.tool)
        items = {_id(item): item for item in _list(self.arguments.get(argument))}
        asked, done, failed, answer, place = list(items), [], [], None, None
        while True:
            await self.hand(done, _list(e.get("succeeded")))
            again, longest = {}, Decision(False)
            for f in _list(e.get("failed")):
                stated, d = _fields(f.get("error")), Decision(False)
                if stated and f.get("id") in items and f["id"] not in [s.get("id") for s in done]:
                    stated = stated if self.options.trusted else self.believed(stated, self.tool)
                    stated = _settle(stated, nature)
                    after = max(_number(stated.get("afterMs")), _number(e.get("afterMs")))  # of the whole: for each
                    d = self.judge({**stated, "afterMs": after} if after else stated, self.tool, self.attempt)
                if d.repeat:
                    again[f["id"]] = f
                    longest = d if d.wait_ms >= longest.wait_ms else longest
                else:
                    failed.append(f)
            answer, next_failed = None, None
            if again and await self.again(longest, e, "items that failed may succeed: "):
                arguments = {**self.arguments, argument: [items[id] for id in again]}
                answer, next_failed = await self.call("call", self.tool, arguments)
            if isinstance(next_failed, Failure) and self.is_sent:
                before, e = e, _settle(next_failed.stated, nature)
                if not self.tells_items(e):
                    each = [{"id": id, "error": e} for id in again]
                    e = {**before, "message": None, "failed": each, "succeeded": []}
                told = [f.get("id") for f in _list(e.get("succeeded")) + _list(e.get("failed"))]
                failed += [f for id, f in again.items() if id not in told]
                items = {id: items[id] for id in again}
                continue
            found = []
            if answer is not None and not next_failed:
                found, place = _items(list(again), _data(_plain(answer)))
                await self.hand(done, found)
            failed += [f for id, f in again.items() if id not in [s["id"] for s in found]]
            break
        told = [f.get("id") for f in done + failed]
        silent = {"kind": "bad_response", "message": "The answer does not say what became of it.", "retry": "never",
                  "origin": "server"}
        failed += [{"id": id, "error": silent} for id in asked if id not in told]
        values = {s.get("id"): s["value"] for s in done if "value" in s}
        if not failed and place and len(done) == len(asked) and all(id in values for id in asked):
            return _whole(_plain(answer), place, [values[id] for id in asked])
        merged = {"succeeded": done, "failed": _encode({"failed": failed}).get("failed", [])}
        text = {"type": "text", "text": _json(merged)}
        whole = {"content": [text], "structuredContent": merged, "isError": bool(failed)}
        if not failed:
            return whole
        result = None if result is None else whole
        if _kind(e) != "partial" and done:  # the first answer had none
            code = next((c["code"] for c in CODES if c.get("kind") == "partial"), None)
            e = {"kind": "partial", "contract": CONTRACT["name"], "code": code, "origin": e.get("origin")}
        raise Failure({**e, "succeeded": done, "failed": failed}, result) from self.cause

    async def hand(self, done, items):
        items = [item for item in items if item.get("id") not in [s.get("id") for s in done]]
        done += items
        if items and self.options.succeeded:
            await self.hook("call", self.options.succeeded, items)

#{{end}}
    async def follow(self, result):
        """Waits for the work that a call has started, if its answer names the call to poll."""
        if self.nature(self.tool) != "reads":
            self.server.mistakes = {}  # what was wrong may be right now
#{{if has "contract.poll"}}
        rule = CONTRACT["poll"]
        if rule["wait"] in self.arguments:
            return result
        call = _parse_call(_text(_fields(_data(_plain(result))).get(rule["next"])))
        pause = 1000
        while call and self.may_ask(call[0]) and pause < self.left() and await self.wait(pause, "the work goes on"):
            answer, failed = await self.call("poll", *call)
            pause = min(2 * pause, 15_000)
            if isinstance(failed, Question):
                raise failed
            if failed is None:
                result, data = answer, _data(_plain(answer))
                said = [word for at in rule["status"] for word in _find(data, at)[0]]
                if any(word in rule["failed"] for word in said):
                    reasons = [text for at in rule["reason"] for text in map(_text, _find(data, at)[0]) if text]
                    raise Failure({**rule["failure"], **({"message": reasons[0]} if reasons else {})})
                if not any(word in rule["pending"] for word in said):
                    return result
            elif not _may_succeed(failed.stated):
                raise Failure({**failed.stated, "effect": "applied"}) from self.cause
            else:
                pause = max(pause, _number(failed.stated.get("afterMs")))
#{{end}}
        return result


def _plain(v):
    """Returns an SDK's result as JSON values."""
    if hasattr(v, "model_dump"):
        return v.model_dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(v, dict) or not hasattr(v, "content"):
        return _fields(v)
    plain = {"content": [_plain(block) for block in v.content]}
    for name, other in (("structuredContent", "structured_content"), ("isError", "is_error"), ("_meta", "meta")):
        plain[name] = getattr(v, name, getattr(v, other, None))
    return {name: value for name, value in plain.items() if value is not None}


def _raised(error):
    """Reads what an SDK has raised. Says whether the server was not reached, if an HTTP status refused the call, and by
    what the protocol says that nothing was done. Of what it does not know it may have sent the call, or not."""
    said, response = getattr(error, "error", None), getattr(error, "response", None)
    if hasattr(said, "code") and said.code != 408:  # McpError of the official SDK; 408 is its own time-out
        told = {"data": said.data} if getattr(said, "data", None) is not None else {}
        if kept := _fields(told.get("data")).get(_KEPT_STATUS):
            told["data"] = {name: value for name, value in said.data.items() if name != _KEPT_STATUS}
        failed = parse_error({"code": said.code, "message": said.message, **told})
        by = "code" if said.code in _REFUSING_CODES else None
        return _refused(failed, kept) if kept else (failed, False, False, by)
    if type(error).__name__ == "ToolError":  # of FastMCP
        return parse_result({"isError": True, "content": [{"type": "text", "text": str(error)}]}), False, False, None
    status = getattr(response, "status_code", None)
    if isinstance(status, int) and status >= 400:  # of httpx
        return _refused(parse_http(status, response.headers, getattr(response, "text", "")), status)
    is_late = isinstance(error, TimeoutError) or hasattr(said, "code")
    return Failure({"kind": "timeout" if is_late else "unreachable", "message": str(error)}), True, False, None


def _refused(failed, status):
    """Returns what is told of a call that an HTTP status has refused: 502 to 504 come from before the server."""
    return failed, status in (502, 503, 504), True, f"HTTP {status}" if status in _REFUSING_STATUSES else None


# The HTTP statuses and JSON-RPC codes by which a call is refused before anything is done.
_REFUSING_STATUSES = (400, 401, 403, 405, 406, 413, 415, 421, 429)
_REFUSING_CODES = (-32700, -32600, -32601, -32602, -32020, -32021, -32022)
