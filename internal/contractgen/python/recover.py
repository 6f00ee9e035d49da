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
    """What there is to judge whether a write took effect. result: of the verify call; None: there is no such thing."""
    tool: str
    arguments: dict[str, Any]
    failure: Failure
    verify: dict[str, Any]
    result: dict[str, Any] | None


class Server:
    """What all callers of one server share: a budget of repetitions, a pace after rate limits, a circuit that opens
    when the server cannot be reached, and the mistakes that it has refused."""

    def __init__(self):
        self._mistakes, self._spent, self._resumes, self._next = {}, 0.0, 0.0, 0.0
        self._failures, self._opens, self._until, self._is_trying = 0, 0, 0.0, False

    def mistake(self, call):
        """Returns the failure of a call that was a mistake in the last ten minutes."""
        failure, at = self._mistakes.get(call, (None, 0))
        return failure if _now() - at < 600_000 else None

    def remember(self, call, failure):
        """Notes a call that is a mistake: to make it again would end in the same way."""
        if len(self._mistakes) >= 1000:
            self._mistakes.clear()
        self._mistakes[call] = failure, _now()

    def forget(self):
        """Forgets the mistakes: something was written, and what was wrong may be right now."""
        self._mistakes.clear()

    def take(self):
        """Says whether a repetition is within the budget, and takes it. Each call earns a fifth of one."""
        is_within = self._spent + 1 <= 10
        self._spent += is_within
        return is_within

    def turn(self, least_ms):
        """Returns how long a caller waits for its turn: after a rate limit one comes after the other."""
        now = _now()
        if now >= self._resumes:
            return least_ms
        at = self._next
        self._next = at + min(100, (self._resumes - now) / 10)
        return max(at - now, least_ms)

    def admit(self, is_first):
        """Returns how long a caller waits until it asks again. 0: its call begins, and learn is told how it ends."""
        wait = self._until - _now()
        if self._failures >= 5 and (wait > 0 or self._is_trying):
            return max(wait, 100)
        self._is_trying = self._failures >= 5
        self._spent = max(self._spent - 0.2 * is_first, -90)
        return 0

    def learn(self, is_reached, limit_ms):
        """Takes in how a call has ended: whether it reached the server (None: unknown), and how long all shall wait."""
        self._is_trying = False
        if is_reached is not None:
            self._failures, self._opens = (0, 0) if is_reached else (self._failures + 1, self._opens)
        if is_reached is False and self._failures >= 5:
            self._until = _now() + min(1000 * 2 ** min(self._opens, 8), 30_000)
            self._opens += 1
        resumes = _now() + min(limit_ms, MAX_WAIT_MS)
        if limit_ms > 0 and resumes > self._resumes:
            self._resumes = self._next = resumes


@dataclass
class Options:
    """How recover() works.

    server: what the callers of one server share. trusted: the server is believed that a call took no effect.
    natures: what tools do ("writes", "idempotent", "reads") where the contract does not say it. tools: of tools/list.
    connect(failure) has an account connected; answer(question) returns arguments; landed(verification) returns True,
    False, or None for an open question; succeeded(items) is given what a batch has done. They may be coroutines.
    observe(step) is told of each step, and report is a list that the steps are added to. sleep(seconds) waits.
    attempt_timeout_ms: left out, an attempt may take as long as the call; a quarter of that less, at most 15 s, if
    something could be done then."""
    server: Server | None = None
    timeout_ms: float = 120_000
    attempt_timeout_ms: float | None = None
    trusted: bool = True
    natures: dict[str, str] = field(default_factory=dict)
    tools: list[Any] | None = None
    connect: Callable[[Failure], Any] | None = None
    answer: Callable[[Question], Any] | None = None
    landed: Callable[[Verification], Any] | None = None
    succeeded: Callable[[list[dict[str, Any]]], Any] | None = None
    observe: Callable[[Step], None] | None = None
    report: list[Step] | None = None
    random: Callable[[], float] = _random
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


async def recover(session: Any, name: str, arguments: dict[str, Any] | None = None,
                  options: Options | None = None) -> Any:
    """Calls a tool, and does what the contract says when the call fails. session has async call_tool(name, arguments).
    The result is returned as the session has it, or as a dict where it was merged; Failure and Question are raised."""
    return await _Exchange(session, name, dict(arguments or {}), options or Options()).run()


def _now(): return time.monotonic() * 1000


class _Exchange:
    """One call of the caller's, with all that is done for it."""

    def __init__(self, session, tool, arguments, options):
        self.session, self.tool, self.arguments, self.options = session, tool, arguments, options
        self.server, self.ends = options.server or Server(), _now() + options.timeout_ms
        self.attempt, self.answers, self.is_connected, self.is_sent, self.cause = 0, 0, False, True, None
        self.tools = None if options.tools is None else {t.get("name"): t for t in map(_plain, options.tools)}
        argument = CONTRACT["layout"].get("format", {}).get("argument")
        schema = _fields(_fields((self.tools or {}).get(tool)).get("inputSchema"))
        if argument in _fields(schema.get("properties")):
            arguments.setdefault(argument, "json")

    async def run(self):
        if mistake := self.server.mistake(self.fingerprint()):
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
            if KINDS[_kind(e)]["class"] == "input" and _kind(e) != "unknown_tool" and not self.is_refused:
                self.server.remember(self.fingerprint(), Failure(e))
            if _kind(e) == "partial":
                return await self.repeat_items(result, e)
            if await self.connect(e):
                continue
            e, has_landed, found = await self.verify(e)
            if has_landed:
                return found if found is not None else {"content": []}
            if not await self.again(self.judge(e, self.tool, self.attempt), e):
                raise Failure(e) from self.cause
            before = Failure(e)

    def fingerprint(self):
        """Tells the call from others."""
        return json.dumps([self.tool, self.arguments], sort_keys=True, default=str)

    def left(self): return self.ends - _now()

    def attempt_ms(self, tool):
        """Returns how long one attempt may take: where something could be done after it, it leaves time for that."""
        left, is_last = self.left(), self.nature(tool) == "writes" and self.tool not in CONTRACT["verify"]
        if self.options.attempt_timeout_ms is not None:
            return min(left, self.options.attempt_timeout_ms)
        return left if is_last else left - min(left / 4, 15_000)

    def nature(self, tool):
        reads = tool not in CONTRACT["verify"] and (CONTRACT["readOnly"] or tool in CONTRACT["readers"])
        return self.options.natures.get(tool, "reads" if reads else "writes")

    def judge(self, e, tool, attempt):
        return _judge(e, self.nature(tool), attempt, self.left(), self.options.random())

    def note(self, action, tool=None, **more):
        step = Step(action, tool or self.tool, self.attempt, **more)
        if self.options.report is not None:
            self.options.report.append(step)
        try:
            if self.options.observe:
                self.options.observe(step)
        except Exception:
            pass  # what an observer does wrong is no fault of the call's

    async def wait(self, ms, reason):
        """Waits, and says whether the call goes on."""
        if ms > 0:
            self.note("wait", wait_ms=ms, reason=reason)
            await self.options.sleep(ms / 1000)
        return self.left() > 0

    async def call(self, action, tool, arguments):
        """Makes one call: of the tool, or of another for it. Returns the result, and a failure or question in it."""
        self.is_sent, wait = True, self.server.turn(0)
        while wait := wait or self.server.admit(action == "call" and self.attempt == 0):
            self.is_sent = wait < self.left() and await self.wait(wait, "the server is not called for a while")
            if not self.is_sent:
                e = {"kind": "unavailable", "afterMs": int(wait), "effect": "none", "retry": "same_call"}
                return None, Failure(e)
            wait = 0
        self.attempt += action == "call"
        result, failed = await self.send(tool, arguments)
        if isinstance(failed, Failure) and not self.options.trusted:
            failed = Failure(self.believed(failed.stated, tool))
        self.note(action, tool, failure=failed if isinstance(failed, Failure) else None)
        return result, failed

    async def send(self, tool, arguments):
        self.cause, self.is_refused, limit, is_reached, failed = None, False, self.attempt_ms(tool), None, None
        try:
            async with asyncio.timeout(max(limit, 0) / 1000) as timer:
                result = await self.session.call_tool(tool, dict(arguments))
            failed, is_reached = parse_result(_plain(result)), True
            return result, failed
        except Exception as error:
            self.cause = error
            failed, is_reached, self.is_refused = _raised(error)
            if timer.expired():
                failed = Failure({"kind": "timeout", "origin": "caller"})
                is_reached = False if self.left() > 0 else None
            return None, failed
        finally:
            is_limit = isinstance(failed, Failure) and failed.kind == "rate_limited"
            self.server.learn(is_reached, _number(failed.stated.get("afterMs")) if is_limit else 0)

    def believed(self, stated, tool):
        """Takes from a failure what a server that is not trusted says of the effect."""
        is_said = stated.get("effect") in ("applied", "unknown")
        return stated if is_said else {**stated, "effect": _effect({**stated, "effect": ""}, self.nature(tool))}

    async def again(self, d, e, what=""):
        """Waits for the next attempt, and says whether there is one."""
        wait = 0
        if d.repeat and not self.server.take():
            d = Decision(False, reason="the budget of repetitions is spent")
        if d.repeat and (wait := self.server.turn(d.wait_ms)) >= self.left():
            d = Decision(False, reason="the turn after the limit comes too late")
        self.note("decide", failure=Failure(e), reason=what + d.reason if d.repeat else d.reason)
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
        is_auth = KINDS[_kind(e)]["class"] == "auth" and e["effect"] == "none"
        if not is_auth or not self.options.connect or self.is_connected:
            return False
        self.is_connected = True
        return (await self.hook("connect", self.options.connect, Failure(e)))[0]

    async def ask(self, question):
        self.answers += 1
        if not self.options.answer or self.answers > 5:
            return False
        is_done, given = await self.hook("answer", self.options.answer, question)
        self.arguments = {**self.arguments, **_fields(given)}
        return is_done

    async def verify(self, e):
        """Settles what became of a write of which it is not known: the failure as it is to be judged, whether the write
        has landed, and the result that says so."""
        own = _verify_call(self.tool, self.arguments)
        call = next((v for v in (_fields(e.get("verify")), own) if v and self.may_ask(v.get("tool"))), None)
        if e["effect"] != "unknown" or call is None:
            return e, None, None
        wait = int(_backoff(e, 1, self.options.random()))  # what is on its way may arrive yet
        if wait >= self.left() or not await self.wait(wait, "the write may be on its way"):
            return e, None, None
        is_known, result = await self.look_up(call["tool"], _fields(call.get("args")))
        if not is_known:
            return e, None, None
        plain = None if result is None else _plain(result)
        data, rule, has_landed = _data(plain), CONTRACT["verify"].get(self.tool, {"args": ()}), None
        # Without an argument that the verify call takes from this one, it asks about something else.
        is_asked = _same([call["tool"], call.get("args", {})], [own.get("tool"), own.get("args")]) \
            and all(a["name"] in own["args"] for a in rule["args"])
        if is_asked and "landed" in rule and (plain is None or data is not _NOTHING):
            has_landed = _has_landed(rule["landed"], self.arguments, data)
        if has_landed is None and self.options.landed:
            given = Verification(self.tool, self.arguments, Failure(e), call, plain)
            _, has_landed = await self.hook("decide", self.options.landed, given)
        reasons = {True: "the write has landed", False: "the write has not landed"}
        reason = reasons.get(has_landed, "it stays open whether the write has landed")
        self.note("decide", failure=Failure(e), reason=reason)
        if has_landed:
            self.server.forget()
        return {**e, "effect": "none", "retry": "same_call"} if has_landed is False else e, has_landed, result

    def may_ask(self, tool):
        """Says whether a call that the server names is made: if the server has that tool, and it only reads."""
        return (self.tools is None or tool in self.tools) and self.nature(tool) == "reads"

    async def look_up(self, tool, arguments):
        """Makes the verify call until it is answered: whether it was, and its result, None for no such thing."""
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

    async def repeat_items(self, result, e):
        """Makes a call that has failed in part again, with the items alone that failed and may succeed."""
        argument, nature = CONTRACT["batch"].get(self.tool), self.nature(self.tool)
        items = {_id(item): item for item in _list(self.arguments.get(argument))}
        done, failed = [], []
        while True:
            await self.hand(done, _list(e.get("succeeded")))
            again, longest = {}, Decision(False)
            for f in _list(e.get("failed")):
                stated, d = _fields(f.get("error")), Decision(False)
                if stated and f.get("id") in items and f["id"] not in [s.get("id") for s in done]:
                    stated = stated if self.options.trusted else self.believed(stated, self.tool)
                    d = self.judge(_settle(stated, nature), self.tool, self.attempt)
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
                if _kind(e) != "partial":
                    each = [{"id": id, "error": e} for id in again]
                    e = {**before, "message": None, "failed": each, "succeeded": []}
                told = [f.get("id") for f in _list(e.get("succeeded")) + _list(e.get("failed"))]
                failed += [f for id, f in again.items() if id not in told]
                items = {id: items[id] for id in again}
                continue
            if answer is None or next_failed:
                failed += again.values()
            else:
                await self.hand(done, _items(list(again), _data(_plain(answer))))
            break
        merged = {"succeeded": done, "failed": _encode({"failed": failed}).get("failed", [])}
        text = {"type": "text", "text": _json(merged)}
        whole = {"content": [text], "structuredContent": merged, "isError": bool(failed)}
        if not failed:
            return whole
        result = None if result is None else whole
        raise Failure({**e, "succeeded": done, "failed": failed}, result) from self.cause

    async def hand(self, done, items):
        items = [item for item in items if item.get("id") not in [s.get("id") for s in done]]
        done += items
        if items and self.options.succeeded:
            await self.hook("call", self.options.succeeded, items)

    async def follow(self, result):
        """Waits for the work that a call has begun, where its answer names the call that asks how it gets on."""
        if self.nature(self.tool) != "reads":
            self.server.forget()
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
                if not any(_find(data, at)[0] == [word] for at in rule["status"] for word in rule["pending"]):
                    return result
            elif not _may_succeed(failed.stated):
                raise Failure({**failed.stated, "effect": "applied"}) from self.cause
            else:
                pause = max(pause, _number(failed.stated.get("afterMs")))
        return result


def _plain(v):
    """Returns what an SDK has returned as JSON has it."""
    if hasattr(v, "model_dump"):
        return v.model_dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(v, dict) or not hasattr(v, "content"):
        return _fields(v)
    plain = {"content": [_plain(block) for block in v.content]}
    for name, other in (("structuredContent", "structured_content"), ("isError", "is_error"), ("_meta", "meta")):
        plain[name] = getattr(v, name, getattr(v, other, None))
    return {name: value for name, value in plain.items() if value is not None}


def _raised(error):
    """Reads what an SDK has raised. Says whether the server was reached, and refused the call by an HTTP status. Of
    what it does not know it may have sent the call, or not."""
    said, response = getattr(error, "error", None), getattr(error, "response", None)
    if hasattr(said, "code") and said.code != 408:  # McpError of the official SDK; 408 is its own time-out
        data = {"data": said.data} if getattr(said, "data", None) is not None else {}
        return parse_error({"code": said.code, "message": said.message, **data}), True, False
    if type(error).__name__ == "ToolError":  # of FastMCP
        return parse_result({"isError": True, "content": [{"type": "text", "text": str(error)}]}), True, False
    status = getattr(response, "status_code", None)
    if isinstance(status, int) and status >= 400:  # of httpx
        return parse_http(status, response.headers, getattr(response, "text", "")), status not in (502, 503, 504), True
    is_late = isinstance(error, TimeoutError) or hasattr(said, "code")
    return Failure({"kind": "timeout" if is_late else "unreachable", "message": str(error)}), False, False


def _verify_call(tool, arguments):
    """Returns the contract's call that settles whether a tool's call took effect, filled in; {} where there is none."""
    if tool not in CONTRACT["verify"]:
        return {}
    rule, args = CONTRACT["verify"][tool], {}
    for a in rule["args"]:
        value = _shown(arguments, a["pointer"]) if "pointer" in a else a.get("is")
        if value is not None:
            args[a["name"]] = [value] if a.get("list") else value
    return {"tool": rule["call"], "args": args, "lookAt": rule.get("lookAt", "")}


# Names of arguments that hold what must not be shown.
_SECRET = re.compile(r"(?i)pass|pwd|secret|token|credential|authorization|cookie|jwt|api.?key|otp$|auth$|bearer"
                     r"|(private|access|signing|session|ssh).?(key|id)")


def _shown(arguments, pointer):
    found = _find(arguments, pointer)[0]
    is_hidden = not found or len(_json(found[0]).encode()) > 128 or _SECRET.search(pointer.rpartition("/")[2])
    return None if is_hidden else found[0]


_NOTHING = object()


def _data(result):
    """Returns the data of a tool result: structured content, or the JSON of the first text; _NOTHING for neither."""
    r = _fields(result)
    if isinstance(r.get("structuredContent"), dict):
        return r["structuredContent"]
    value = _parsed(_text(_fields(next(iter(_list(r.get("content"))), None)).get("text")))
    return _NOTHING if value is None else value


def _has_landed(rule, arguments, data):
    """Says whether a write has landed, by the data of the verify call; None where that is open."""
    exists, contains = rule.get("exists"), rule.get("contains", False)
    if data is _NOTHING:
        return None if exists is None else not exists
    found, is_reached = _find(data, rule["path"])
    if exists is not None:
        return bool(found) == exists if is_reached else None
    wanted = _find(arguments, rule["pointer"])[0] if "pointer" in rule else [rule.get("is")]
    if not wanted or not is_reached or not (contains or found):
        return None
    return any(_same(value, wanted[0]) or (contains and _holds_value(value, wanted[0])) for value in found)


def _find(value, pointer):
    """Returns what a JSON Pointer leads to, other than null, "*" being each item; and if all but its end is there."""
    _, slash, path = pointer.partition("/")
    if not slash:
        return [] if value is None or value is _NOTHING else [value], True
    token, slash, rest = path.partition("/")
    token, rest = token.replace("~1", "/").replace("~0", "~"), slash + rest
    if isinstance(value, list) and token == "*":
        found = [v for inner in value for v in _find(inner, rest)[0]]
        return found, not value or bool(found)
    if isinstance(value, list) and re.fullmatch("-?[0-9]+", token):
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
    return isinstance(value, dict) and all(_same(value.get(name), v) for name, v in _fields(want).items())


def _id(item):
    """Returns the id of an item: itself, or its member "id"."""
    id = item.get("id", item) if isinstance(item, dict) else item
    return id if isinstance(id, str) and id else _json(id)


def _items(ids, data):
    """Returns the items of a call that has succeeded as a whole, each with its part of the result."""
    lists = [data] if isinstance(data, list) else list(_fields(data).values())
    whole = [data] if len(ids) == 1 and data is not _NOTHING else []
    values = next((v for v in lists if isinstance(v, list) and len(v) == len(ids)), whole)
    return [{"id": id, "value": v} for id, v in zip(ids, values)] if values else [{"id": id} for id in ids]


def _parse_call(text):
    """Reads a call as texts name it: study_get(study_id="s-1", lean=True); None where it is none."""
    whole = re.fullmatch(r"""\s*([^\s"'=,(]+)\((.*)\)\s*""", text, re.S)
    rest, arguments = "," + whole[2].strip() if whole and whole[2].strip() else "", {}
    while rest.strip():
        head = re.match(r"""\s*,\s*([^\s"',()=]+)\s*=\s*(True|False|None|'[^'\\]*'|)""", rest)
        try:
            if not head[2]:
                value, end = json.JSONDecoder().raw_decode(rest, head.end())
            else:
                value, end = {"True": True, "False": False, "None": None}.get(head[2], head[2][1:-1]), head.end()
        except (TypeError, ValueError, RecursionError):
            return None
        arguments[head[1]], rest = value, rest[end:]
    return whole and (whole[1], arguments)
