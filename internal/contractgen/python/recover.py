# ---- Recovering.

@dataclass
class Step:
    """A step of a call: call, verify, poll, connect, answer, wait or decide. A wait is told before it begins."""
    action: str
    tool: str
    attempt: int
    wait_ms: float = 0
    failure: Failure | None = None
    reason: str = ""


@dataclass
class Verification:
    """What there is to judge whether a write took effect. result is that of the verify call; None: there is no such thing."""
    tool: str
    arguments: dict
    failure: Failure
    verify: dict
    result: dict | None


class Server:
    """What all callers of one server share: a budget of repetitions, a pace, and the mistakes that the server has refused."""

    def __init__(self):
        self.mistakes, self._spent, self._resumes, self._next = {}, 0.0, 0.0, 0.0

    def called(self):
        """Notes a call, which earns a fifth of a repetition."""
        self._spent = max(self._spent - 0.2, -90)

    def take(self):
        """Says whether a repetition is within the budget, and takes it."""
        if self._spent + 1 > 10:
            return False
        self._spent += 1
        return True

    def turn(self, least_ms):
        """Returns how long a caller waits for its turn: after a rate limit one comes after the other."""
        now = _now()
        if now >= self._resumes:
            return least_ms
        at = self._next
        self._next = at + min(100, (self._resumes - now) / 10)
        return max(at - now, least_ms)

    def limit(self, wait_ms):
        """Takes in that the server has limited its callers."""
        resumes = _now() + min(wait_ms, MAX_WAIT_MS)
        if resumes > self._resumes:
            self._resumes = self._next = resumes


@dataclass
class Options:
    """How recover() works. natures: what tools do ("writes", "idempotent", "reads") where the contract does not say it. tools: as
    tools/list has them. connect(failure) has an account connected; answer(question) returns arguments; landed(verification)
    returns True, False, or None for an open question; succeeded(items) is given what a batch has done; observe(step) is told
    of each step. They may be coroutines, but for observe. sleep(seconds) waits. attempt_timeout_ms: left out, an attempt may take as
    long as the call, or a quarter of that less, at most 15 s, where the call could be repeated or verified."""
    server: Server | None = None
    timeout_ms: float = 120_000
    attempt_timeout_ms: float | None = None
    natures: dict = field(default_factory=dict)
    tools: list | None = None
    connect: object = None
    answer: object = None
    landed: object = None
    succeeded: object = None
    observe: object = None
    report: list | None = None
    random: object = _random
    sleep: object = asyncio.sleep


async def recover(session, name, arguments=None, options=None):
    """Calls a tool, and does what the contract says when the call fails. session has an async call_tool(name, arguments). The
    result is returned as the session has returned it, or as a dict where it was merged; Failure and Question are raised."""
    return await _Exchange(session, name, dict(arguments or {}), options or Options()).run()


def _now(): return time.monotonic() * 1000


class _Exchange:
    def __init__(self, session, tool, arguments, options):
        self.session, self.tool, self.arguments, self.options = session, tool, arguments, options
        self.server, self.ends = options.server or Server(), _now() + options.timeout_ms
        self.attempt, self.answers, self.connected, self.cause = 0, 0, False, None
        argument = CONTRACT["layout"].get("format", {}).get("argument")
        schema = next((_fields(_plain(t).get("inputSchema")) for t in options.tools or () if _plain(t).get("name") == tool), {})
        if argument in _fields(schema.get("properties")) and argument not in arguments:
            arguments[argument] = "json"

    async def run(self):
        if mistake := self.server.mistakes.get(self.fingerprint()):
            self.note("decide", failure=mistake, reason="the same call was a mistake before: it is not sent")
            raise Failure(mistake.stated)
        while True:
            result, failed = await self.call("call", self.tool, self.arguments)
            if isinstance(failed, Question):
                if await self.ask(failed):
                    continue
                raise failed
            if failed is None:
                return await self.follow(result)
            e = _settle(failed.stated, self.nature(self.tool))
            if KINDS[_kind(e)]["class"] == "input" and _kind(e) != "unknown_tool":
                self.server.mistakes[self.fingerprint()] = Failure(e)
            if _kind(e) == "partial":
                return await self.repeat_items(result, e)
            if await self.connect(e):
                continue
            e, landed, found = await self.verify(e)
            if landed:
                return found if found is not None else {"content": []}
            if not await self.again(e):
                raise Failure(e) from self.cause

    def fingerprint(self):
        """Tells the call from others."""
        return json.dumps([self.tool, self.arguments], sort_keys=True, default=str)

    def left(self): return self.ends - _now()

    def attempt_ms(self, tool):
        """Returns how long one attempt may take: where something could be done after it, it leaves time for that."""
        left = self.left()
        if self.options.attempt_timeout_ms is not None:
            return min(left, self.options.attempt_timeout_ms)
        return left if self.nature(tool) == "writes" and self.tool not in CONTRACT["verify"] else left - min(left / 4, 15_000)

    def nature(self, tool):
        reads = tool not in CONTRACT["verify"] and (CONTRACT["readOnly"] or tool in CONTRACT["readers"])
        return self.options.natures.get(tool, "reads" if reads else "writes")

    def note(self, action, tool=None, **more):
        step = Step(action, tool or self.tool, self.attempt, **more)
        if self.options.report is not None:
            self.options.report.append(step)
        if self.options.observe:
            self.options.observe(step)

    async def wait(self, ms, reason):
        """Waits, and says whether the call goes on."""
        if ms > 0:
            self.note("wait", wait_ms=ms, reason=reason)
            await self.options.sleep(ms / 1000)
        return self.left() > 0

    async def call(self, action, tool, arguments):
        """Makes one call: of the tool, or of another on its behalf. Returns the result, and what it says in place of a success."""
        turn = self.server.turn(0)
        if turn > 0 and (turn >= self.left() or not await self.wait(turn, "the server has limited its callers")):
            return None, Failure({"kind": "rate_limited", "afterMs": int(turn), "effect": "none", "origin": "server"})
        if action == "call":
            self.attempt += 1
            if self.attempt == 1:
                self.server.called()
        result, failed = await self.send(tool, arguments)
        if isinstance(failed, Failure) and failed.kind == "rate_limited" and _number(failed.stated.get("afterMs")) > 0:
            self.server.limit(failed.stated["afterMs"])
        self.note(action, tool, failure=failed if isinstance(failed, Failure) else None)
        return result, failed

    async def send(self, tool, arguments):
        self.cause = None
        limit = self.attempt_ms(tool)
        if limit <= 0:
            return None, Failure({"kind": "timeout", "origin": "caller", "effect": "none"})
        try:
            async with asyncio.timeout(limit / 1000) as timer:
                result = await self.session.call_tool(tool, dict(arguments))
        except Exception as error:
            self.cause = error
            return None, Failure({"kind": "timeout", "origin": "caller"}) if timer.expired() else _raised(error)
        return result, parse_result(_plain(result))

    async def again(self, e):
        """Waits for the next attempt, and says whether there is one."""
        d, wait = _judge(e, self.nature(self.tool), self.attempt, self.left(), self.options.random()), 0
        if d.repeat and not self.server.take():
            d = Decision(False, reason="the budget of repetitions is spent")
        if d.repeat and (wait := self.server.turn(d.wait_ms)) >= self.left():
            d = Decision(False, reason="the turn after the limit comes too late")
        self.note("decide", failure=Failure(e), reason=d.reason)
        return d.repeat and await self.wait(wait, d.reason)

    async def hook(self, action, run, *arguments):
        """Runs a function of the caller's. Returns whether it has done its work, and its value."""
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
        if KINDS[_kind(e)]["class"] != "auth" or not self.options.connect or self.connected or e["effect"] != "none":
            return False
        self.connected = True
        return (await self.hook("connect", self.options.connect, Failure(e)))[0]

    async def ask(self, question):
        self.answers += 1
        if not self.options.answer or self.answers > 5:
            return False
        done, given = await self.hook("answer", self.options.answer, question)
        self.arguments = {**self.arguments, **_fields(given)}
        return done

    async def verify(self, e):
        """Settles what became of a write of which it is not known: the failure as it is to be judged, whether the write has
        landed, and the result that says so."""
        own = _verify_call(self.tool, self.arguments)
        call = next((v for v in (_fields(e.get("verify")), own) if v and self.may_ask(v.get("tool"))), None)
        if e["effect"] != "unknown" or call is None:
            return e, None, None
        wait = int(_backoff(e, 1, self.options.random()))  # what is on its way may arrive yet
        if wait >= self.left() or not await self.wait(wait, "the write may be on its way"):
            return e, None, None
        known, result = await self.look_up(call["tool"], _fields(call.get("args")))
        if not known:
            return e, None, None
        plain = None if result is None else _plain(result)
        data, rule, landed = _data(plain), CONTRACT["verify"].get(self.tool, {"args": ()}), None
        # Without an argument that the verify call takes from this one, it asks about something else.
        asks = all(a["name"] in own["args"] for a in rule["args"])
        if asks and "landed" in rule and _call_text(call) == _call_text(own) and (plain is None or data is not _NOT):
            landed = _has_landed(rule["landed"], self.arguments, data)
        if landed is None and self.options.landed:
            _, landed = await self.hook("decide", self.options.landed, Verification(self.tool, self.arguments, Failure(e), call, plain))
        open_question = "it stays open whether the write has landed"
        self.note("decide", failure=Failure(e), reason=open_question if landed is None else f"the write has {'' if landed else 'not '}landed")
        if landed is False:
            e = {**e, "effect": "none", "retry": "same_call"}
        return e, landed, result

    def may_ask(self, tool):
        """Says whether a call that the server names is made: if the server has that tool, and it only reads."""
        listed = self.options.tools
        return (listed is None or tool in [_plain(t).get("name") for t in listed]) and self.nature(tool) == "reads"

    async def look_up(self, tool, arguments):
        """Makes the verify call until it is answered: whether it was, and its result, None where there is no such thing."""
        attempt = 0
        while True:
            attempt += 1
            result, failed = await self.call("verify", tool, arguments)
            if failed is None or isinstance(failed, Question):
                return failed is None, result
            if failed.kind == "not_found":
                return True, None
            d = _judge(_settle(failed.stated, "reads"), "reads", attempt, self.left(), self.options.random())
            if not d.repeat or not self.server.take() or not await self.wait(d.wait_ms, d.reason):
                return False, None

    async def repeat_items(self, result, e):
        """Makes a call that has failed in part again, with the items alone that failed and may succeed."""
        argument, nature = CONTRACT["batch"].get(self.tool), self.nature(self.tool)
        items = {_id(item): item for item in _list(self.arguments.get(argument))}
        done, failed = [], []
        while True:
            await self.hand(done, _list(e.get("succeeded")))
            again, retried, longest = {}, [], Decision(False)
            for f in _list(e.get("failed")):
                d = Decision(False)
                if isinstance(f.get("error"), dict) and f.get("id") in items and f["id"] not in [s.get("id") for s in done]:
                    d = _judge(_settle(f["error"], nature), nature, self.attempt, self.left(), self.options.random())
                (retried if d.repeat else failed).append(f)
                if d.repeat:
                    again[f["id"]] = items[f["id"]]
                    longest = d if d.wait_ms >= longest.wait_ms else longest
            within = bool(again) and self.server.take()
            if again:
                reason = f"items that failed may succeed: {longest.reason}" if within else "the budget of repetitions is spent"
                self.note("decide", failure=Failure(e), reason=reason)
            if not within or not await self.wait(longest.wait_ms, longest.reason):
                failed += retried
                break
            answer, next_failed = await self.call("call", self.tool, {**self.arguments, argument: list(again.values())})
            if next_failed is None:
                await self.hand(done, _items(list(again), _data(_plain(answer))))
                break
            if isinstance(next_failed, Question):
                failed += retried
                break
            before, e = e, _settle(next_failed.stated, nature)
            if _kind(e) != "partial":
                e = {**before, "message": None, "failed": [{"id": id, "error": e} for id in again], "succeeded": []}
            told = [f.get("id") for f in _list(e.get("succeeded")) + _list(e.get("failed"))]
            failed += [f for f in retried if f["id"] not in told]
            items = again
        merged = {"succeeded": done, "failed": [{**f, "error": _encode(_fields(f.get("error")))} for f in failed]}
        whole = {"content": [{"type": "text", "text": _json(merged)}], "structuredContent": merged, "isError": bool(failed)}
        if not failed:
            return whole
        raise Failure({**e, "succeeded": done, "failed": failed}, whole if result is not None else None) from self.cause

    async def hand(self, done, items):
        items = [item for item in items if item.get("id") not in [s.get("id") for s in done]]
        done += items
        if items and self.options.succeeded:
            await self.hook("call", self.options.succeeded, items)

    async def follow(self, result):
        """Waits for the work that a call has begun, where its answer names the call that asks how it gets on."""
        if self.nature(self.tool) != "reads":
            self.server.mistakes.clear()  # what was wrong may be right now
        rule = CONTRACT.get("poll")
        if not rule or rule["wait"] in self.arguments:
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
                if not any(_find(data, at.split("/")[1:])[0][:1] == [word] for at in rule["status"] for word in rule["pending"]):
                    return result
            elif not _retryable(_bound({**failed.stated, "effect": "none"})):
                raise Failure({**failed.stated, "effect": "applied"}) from self.cause
            else:
                pause = max(pause, _stated_wait(failed.stated))
        return result


def _plain(v):
    """Returns what an SDK has returned as JSON has it."""
    if hasattr(v, "model_dump"):
        return v.model_dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(v, dict) or not hasattr(v, "content"):
        return _fields(v)
    plain = {"content": [_plain(block) for block in v.content]}
    for name, names in {"structuredContent": ("structured_content",), "isError": ("is_error",), "_meta": ("meta",)}.items():
        value = next((getattr(v, n) for n in (name, *names) if getattr(v, n, None) is not None), None)
        if value is not None:
            plain[name] = value
    return plain


def _raised(error):
    """Reads what an SDK has raised. Of what it does not know it may have sent the call, or not."""
    said = getattr(error, "error", None)
    if said is not None and hasattr(said, "code"):  # McpError of the official SDK
        data = {"data": said.data} if getattr(said, "data", None) is not None else {}
        if said.code == 408:  # its own time-out
            return Failure({"kind": "timeout", "message": str(error)})
        return parse_error({"code": said.code, "message": said.message, **data})
    if type(error).__name__ == "ToolError":  # of FastMCP
        return parse_result({"isError": True, "content": [{"type": "text", "text": str(error)}]})
    response = getattr(error, "response", None)
    if isinstance(getattr(response, "status_code", None), int):  # of httpx
        return parse_http(response.status_code, response.headers, getattr(response, "text", "")) or Failure({"kind": "unreachable"})
    return Failure({"kind": "timeout" if isinstance(error, TimeoutError) else "unreachable", "message": str(error)})


def _verify_call(tool, arguments):
    """Returns the contract's call that settles whether a tool's call took effect, filled in; {} where there is none."""
    rule = CONTRACT["verify"].get(tool)
    if rule is None:
        return {}
    args = {}
    for a in rule["args"]:
        value = a.get("is") if "pointer" not in a else _shown(arguments, a["pointer"])
        if value is not None:
            args[a["name"]] = [value] if a.get("list") else value
    return {"tool": rule["call"], "args": args, "lookAt": rule.get("lookAt", "")}


# Names of arguments that hold what must not be shown.
_SECRET = re.compile(r"(?i)pass|pwd|secret|token|credential|authorization|cookie|jwt|api.?key|(private|access|signing|session|ssh).?(key|id)"
                     r"|otp$|auth$|bearer")


def _shown(arguments, pointer):
    found = _find(arguments, _tokens(pointer))[0]
    is_long = bool(found) and len(_json(found[0]).encode()) > 128
    return None if not found or is_long or _SECRET.search(_tokens(pointer)[-1]) else found[0]


def _data(result):
    """Returns the data of a tool result: its structured content, or the JSON of its first text; _NOT where it has neither."""
    r = _fields(result)
    if isinstance(r.get("structuredContent"), dict):
        return r["structuredContent"]
    value = _parsed(_text(_fields(next(iter(_list(r.get("content"))), None)).get("text")))
    return _NOT if value is None else value


def _tokens(pointer):
    return [t.replace("~1", "/").replace("~0", "~") for t in pointer.split("/")[1:]]


def _has_landed(rule, arguments, data):
    """Says whether a write has landed, by the data of the verify call; None where that is open."""
    exists = rule.get("exists")
    if data is _NOT:
        return None if exists is None else not exists
    found, reached = _find(data, _tokens(rule["path"]))
    if exists is not None:
        return bool(found) == exists if reached else None
    wanted = _find(arguments, _tokens(rule["pointer"]))[0] if "pointer" in rule else [rule.get("is")]
    contains = rule.get("contains", False)
    if not wanted or not reached or (not contains and not found):
        return None
    return any(_same(value, wanted[0]) or (contains and _holds_value(value, wanted[0])) for value in found)


def _find(value, path):
    """Returns what a path leads to, other than None, and whether all but its end is there."""
    if not path:
        return [] if value is None or value is _NOT else [value], True
    token, rest = path[0], path[1:]
    if isinstance(value, list):
        if token == "*":
            found = [v for inner in value for v in _find(inner, rest)[0]]
            return found, not value or bool(found)
        if not re.fullmatch("-?[0-9]+", token):
            return [], False
        return _find(value[int(token)], rest) if 0 <= int(token) < len(value) else ([], True)
    if isinstance(value, dict) and token in value:
        return _find(value[token], rest)
    return [], isinstance(value, dict) and not rest


def _holds_value(value, want):
    """Says whether a text holds another, a list an item, or an object the members of another."""
    if isinstance(value, str):
        return isinstance(want, str) and want in value
    if isinstance(value, list):
        return any(_same(item, want) or (isinstance(item, dict) and _holds_value(item, want)) for item in value)
    return isinstance(value, dict) and isinstance(want, dict) and all(_same(value.get(name), v) for name, v in want.items())


def _id(item):
    """Returns the id of an item: itself, or its member "id"."""
    id = item.get("id", item) if isinstance(item, dict) else item
    return id if isinstance(id, str) and id else _json(id)


def _items(ids, data):
    """Returns the items of a call that has succeeded as a whole, each with its part of the result."""
    lists = [data] if isinstance(data, list) else list(_fields(data).values())
    values = next((v for v in lists if isinstance(v, list) and len(v) == len(ids)), [data] if len(ids) == 1 and data is not _NOT else None)
    return [{"id": id} for id in ids] if values is None else [{"id": id, "value": v} for id, v in zip(ids, values)]


def _parse_call(text):
    """Reads a call as texts name it: study_get(study_id="s-1", lean=True); None where it is none."""
    whole = re.fullmatch(r"""\s*([^\s"'=,(]+)\((.*)\)\s*""", text, re.S)
    if not whole:
        return None
    arguments, rest = {}, whole[2].strip()
    while rest:
        head = re.match(r"""([^\s"',()=]+)\s*=\s*""", rest)
        if not head:
            return None
        rest = rest[head.end():]
        if word := re.match(r"True|False|None|'[^'\\]*'", rest):
            value, end = {"True": True, "False": False, "None": None}.get(word[0], word[0][1:-1]), word.end()
        else:
            try:
                value, end = json.JSONDecoder().raw_decode(rest)
            except (ValueError, RecursionError):
                return None
        arguments[head[1]], rest = value, rest[end:].strip()
        if rest and not rest.startswith(","):
            return None
        rest = rest[1:].strip()
    return whole[1], arguments
