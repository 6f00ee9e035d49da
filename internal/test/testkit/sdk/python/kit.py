"""Runs the golden kit of a contract against the package recourse-client, with a module that `recourse contract gen --lang python` wrote:

    python3 kit.py CONTRACT.py KIT [DECISIONS RECOVERIES]

Prints each case that differs, with what is wanted and what came, then how many were run. Form of the kit: contract/testdata/kit/README.md.
"""
import asyncio
import json
import logging
import os
import re
import runpy
import sys
import traceback
from datetime import datetime

import recourse_client
from recourse_client import Failure, Options, Server, recover

contract_path, kit_path, *more = sys.argv[1:]
contract = runpy.run_path(contract_path)["CONTRACT"]
differing = 0


def compare(name, what, want, got):
    global differing
    if want == got:
        return
    differing += 1
    print(f"{name}: {what}\n  want {want}\n  got  {got}")


def spelled(value):
    """Writes JSON so that equal values are equal texts."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def read_http(text):
    head, _, body = text.partition("\n\n")
    status, *lines = head.split("\n")
    return contract.parse_http(int(status), dict(line.split(": ", 1) for line in lines), body)


def read_result(text, meta=False):
    result = json.loads(text)
    if not meta:
        result.pop("_meta", None)
    return contract.parse_result(result)


READ = {"result.json": read_result, "error.json": lambda text: contract.parse_error(json.loads(text)), "http.txt": read_http}


def shown(reading):
    if reading is None:
        return {}
    return {"record" if isinstance(reading, Failure) else "question": reading.record}


with open(kit_path, encoding="utf-8", newline="") as kit:
    archive = kit.read()
files = re.findall(r"^-- (.+)/([^/\n]+) --\n([\s\S]*?)\n(?=-- |\Z)", archive, re.M)
cases = {}
for name, file, data in files:
    cases.setdefault(name, {})[file] = data
def written(given):
    record, question = given.get("record"), given.get("question")
    said = {re.sub("[A-Z]", lambda m: "_" + m[0].lower(), name): value for name, value in given["call"].items()}
    call = recourse_client.Call(**{"method": "", **said}, now=datetime.fromisoformat("2026-07-28T12:00:00+00:00"))
    answer = contract.ask(question, call) if question else contract.write(record, call)
    if answer.surface == "http":
        return [answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.body]
    return json.dumps(answer.result or answer.error, separators=(",", ":"), ensure_ascii=False)


def sent(file, text):
    if file != "http.txt":
        return text
    head, _, body = text.partition("\n\n")
    status, *lines = head.split("\n")
    return [int(status), {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}, body]


for name, case in cases.items():
    file = next(file for file in READ if file in case)
    if "input.json" in case:
        try:
            compare(name, "written", sent(file, case[file]), written(json.loads(case["input.json"])))
        except Exception as error:
            compare(name, "written", sent(file, case[file]), "".join(traceback.format_exception(error)))
    want = json.loads(case["read.json"])
    try:
        compare(name, "read", spelled(want), spelled(shown(READ[file](case[file]))))
        if file == "result.json" and (record := json.loads(case[file]).get("_meta", {}).get(recourse_client.META_KEY)):
            compare(name, "read with _meta", spelled({"record": record}), spelled(shown(read_result(case[file], True))))
    except Exception as error:
        compare(name, "read", spelled(want), repr(error))

decisions = []
if more:
    with open(more[0], encoding="utf-8") as file:
        decisions = file.read().splitlines()
for line in decisions:
    given = json.loads(line)
    d = contract.decide(given["failure"], given["nature"], given["attempt"], given["leftMs"], given["random"])
    got = {"repeat": d.repeat, "waitMs": d.wait_ms, **({"verify": d.verify} if d.verify else {}), "reason": d.reason}
    text = json.dumps(got, separators=(",", ":"), ensure_ascii=False)
    compare(given["name"], "decided", line[line.index('"decision":') + len('"decision":'):-1], text)



class Script:
    """A session that answers by a line of the recoveries."""

    def __init__(self, answers):
        self.answers, self.calls, self.waits = answers, [], []

    async def call_tool(self, name, arguments):
        before = sum(call["tool"] == name for call in self.calls)
        self.calls.append({"tool": name, "arguments": arguments})
        return self.answers[name][min(before, len(self.answers[name]) - 1)]

    async def sleep(self, seconds):
        self.waits.append(round(seconds * 1000))


async def recovered(line):
    script = Script(line["answers"])
    options = Options(random=lambda: 0.5, sleep=script.sleep)
    if line["connect"]:
        options.connect = lambda failure: None
    if "answer" in line:
        options.answer = lambda question: line["answer"]
    made = {"calls": script.calls, "waits": script.waits}
    try:
        result = await recover(script, contract, options).call_tool(line["tool"], line["arguments"])
    except Failure as failure:
        made["kind"], result = failure.kind, failure.result or {}
    return made | ({"result": result["structuredContent"]} if "structuredContent" in result else {})


class Hanging:
    async def call_tool(self, name, arguments):
        await asyncio.sleep(60)


async def ended(timeout_ms):
    try:
        return await recover(Hanging(), contract, Options(timeout_ms=timeout_ms)).call_tool("tool", {})
    except Failure as failure:
        return failure.kind

# Whole recoveries make the same calls after the same waits, and end in the same way.
recoveries = []
if more:
    with open(more[1], encoding="utf-8") as file:
        recoveries = [line for line in map(json.loads, file) if line["contract"] == re.search(r"contract (\S+)", archive)[1]]
for line in recoveries:
    try:
        compare(line["name"], "recovered", spelled(line["want"]), spelled(asyncio.run(recovered(line))))
    except Exception as error:
        compare(line["name"], "recovered", spelled(line["want"]), repr(error))
compare("deadline", "ended", "timeout", asyncio.run(ended(20)))


def lines_of(name):
    with open(os.path.join(os.path.dirname(more[1]), name), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


# Circuits open, wait and close at the same times, and hints name the same calls.
for line in lines_of("circuits.jsonl") if more else ():
    server = Server()
    for i, step in enumerate(line["steps"]):
        at, last = 1e9 + step["at"], 1e9 + step["last"] if "last" in step else 0
        if "ends" in step:
            server.learn(at, step["tool"], step["ends"], {"kind": step.get("kind", "unavailable"), "afterMs": step.get("afterMs", 0)})
        else:
            wait, why = server.admit(at, last, step["tool"])
            got = {"waitMs": int(wait), **({"kind": why["kind"]} if wait else {})}
            compare("circuit: " + line["name"], f"step {i}", {name: step[name] for name in ("waitMs", "kind") if name in step}, got)
for line in lines_of("advice.jsonl") if more else ():
    if line["contract"] == contract.name:
        got = contract.advised(Failure(hints=[line["hint"]]))
        compare(line["hint"], "advised", [(line["tool"], line["args"], line["hint"])] if line["tool"] else [], got)


async def at_once(seconds):
    """Waits no time."""


async def expected(line):
    """Returns the sentence of the failure in a success that does not look like one."""
    expecting = recourse_client.Contract({**contract.table, "form": 1, "verify": {}, "expects": {"get": line["expects"]}})
    try:
        await recover(Scripted(lambda _: line["result"]), expecting, Options(sleep=at_once)).call_tool("get", line["arguments"])
    except Failure as failure:
        return str(failure)
    return ""


class Scripted:
    """A session whose answers come from a function."""

    def __init__(self, answer):
        self.answer, self.sent = answer, 0

    async def call_tool(self, name, arguments):
        self.sent += 1
        return self.answer(self)


for line in lines_of("expects.jsonl") if more else ():
    compare(line["name"], "expects", line["message"], asyncio.run(expected(line)))


async def circuit():
    """Five calls in a row that do not reach the server open the circuit. Then none is sent until one may try."""
    def answer(session):
        if not session.is_up:
            raise ConnectionRefusedError
        return {"content": []}

    async def ended(timeout_ms):
        try:
            await recover(session, contract, Options(server=server, timeout_ms=timeout_ms)).call_tool("tool", {})
            return "a result"
        except Failure as failure:
            return failure.kind
    session, server = Scripted(answer), Server()
    session.is_up = False
    for _ in range(5):
        compare("circuit", "ended", "unreachable", await ended(1000))
    compare("circuit", "ended while it is open", ("unavailable", 5), (await ended(100), session.sent))
    session.is_up = True
    compare("circuit", "ended when a call may try", ("a result", 6), (await ended(5000), session.sent))
    compare("circuit", "ended when it is closed", ("a result", 7), (await ended(100), session.sent))


async def limited():
    """A call that is held back by a limit is not sent, and names the limit."""
    limit = {"v": 1, "kind": "rate_limited", "message": "Slow down.", "afterMs": 60_000}
    session = Scripted(lambda _: {"content": [], "structuredContent": limit, "isError": True})
    server = Server()
    for _ in range(2):
        try:
            await recover(session, contract, Options(server=server, timeout_ms=1000)).call_tool("tool", {})
        except Failure as failure:
            got = failure.kind, failure.record.get("message"), session.sent
            compare("limit", "ended", ("rate_limited", "Slow down.", 1), got)


async def untrusted():
    """An untrusted server's word that a write took no effect does not count."""
    safe = {"v": 1, "kind": "timeout", "retry": "same_call", "effect": "none"}
    limited = {"v": 1, "kind": "rate_limited", "retry": "same_call"}  # a kind is a word, too
    for said, trusted, want in ((safe, True, 4), (safe, False, 1), (limited, True, 4), (limited, False, 1)):
        session = Scripted(lambda _: {"content": [], "structuredContent": said, "isError": True})
        try:
            await recover(session, contract, Options(trusted=trusted, sleep=at_once)).call_tool("tool", {})
        except Failure:
            pass
        compare("trusted", "calls", want, session.sent)

    class StatusError(Exception):
        def __init__(self, status):
            self.response = type("Response", (), {"status_code": status, "headers": {}, "text": json.dumps(limited)})

    class McpError(Exception):
        def __init__(self, code):
            self.error = type("ErrorData", (), {"code": code, "message": "busy", "data": limited})

    # What stands beside a refusal is a word: only the status 429 says that the same call may succeed.
    raised = {StatusError: (429, 400, 401, 403, 405, 413, 422, 503), McpError: (429, 503, -32602, -32600, -32020, -32000)}
    for kind, numbers in raised.items():
        for number in numbers:
            def refuse(session):
                raise kind(number)
            session = Scripted(refuse)
            try:
                await recover(session, contract, Options(trusted=False, sleep=at_once)).call_tool("tool", {})
            except Failure:
                pass
            compare("untrusted", f"calls after {kind.__name__} {number}", 4 if (kind, number) == (StatusError, 429) else 1, session.sent)

    # Nor does somebody sign in, or answer, or look somewhere else, because the server says so.
    unauthenticated = {"v": 1, "kind": "unauthenticated"}
    lost = {"v": 1, "kind": "timeout", "effect": "unknown", "verify": {"tool": "look", "args": {"id": "other"}}}
    for name, said in ("connect", unauthenticated), ("verify", lost):
        session = Scripted(lambda _: {"content": [], "structuredContent": said, "isError": True})
        options = Options(trusted=False, sleep=at_once, natures={"look": "reads"})
        options.connect = lambda failure: None
        if hasattr(options, "landed"):
            options.landed = lambda verification: False
        try:
            await recover(session, contract, options).call_tool("tool", {})
        except Failure:
            pass
        compare("untrusted", name, 1, session.sent)


async def connected():
    """Connecting is tried again while the server is down, and not with invalid credentials."""
    class StatusError(Exception):
        def __init__(self, status):
            self.response = type("Response", (), {"status_code": status, "headers": {}, "text": ""})

    for name, statuses, want in (("down", [502, 503], "session"), ("refused", [401, 502], "unauthenticated")):
        left = list(statuses)

        async def connect():
            if left:
                raise StatusError(left.pop(0))
            return "session"
        try:
            got = await recourse_client.recover_connect(connect, contract, Options(sleep=at_once))
        except Failure as failure:
            got = failure.kind
        compare("recover_connect", name, want, got)


async def observed():
    """An observer that raises does not affect the call, and a refusal by HTTP is not a mistake in the arguments."""
    def observe(step):
        raise ValueError
    logged = []
    handler = logging.Handler()
    handler.emit = lambda record: logged.append(record.getMessage())
    log = logging.getLogger("recourse_client")
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    result = await recover(Scripted(lambda _: {"content": []}), contract, Options(observe=observe)).call_tool("tool", {})
    log.setLevel(logging.NOTSET)
    compare("observe", "ended", {"content": []}, result)
    compare("log", "steps", ["call tool, attempt 1: done"], logged)

    class StatusError(Exception):
        response = type("Response", (), {"status_code": 422, "headers": {}, "text": ""})

    def refuse(session):
        raise StatusError
    session, server = Scripted(refuse), Server()
    for _ in range(2):
        try:
            await recover(session, contract, Options(server=server)).call_tool("tool", {})
        except Failure:
            pass
    compare("refused by HTTP", "calls", 2, session.sent)


asyncio.run(observed())
if contract.name in ("recourse", "terra"):
    asyncio.run(connected())
if contract.name == "recourse":
    asyncio.run(circuit())
    asyncio.run(limited())
    asyncio.run(untrusted())

# No answer of a server makes the parser raise.
nested = {}
for _ in range(100_000):
    nested = {"a": nested}


def in_text(text):
    return {"content": [{"type": "text", "text": text}], "isError": True}


hostile = [
    None, 7, "x", [], {"isError": True, "content": 7}, {"isError": True, "content": [None, 7, {"type": "text", "text": 9}]},
    in_text("[" * 1_000_000), in_text('{"a":' * 100_000), in_text("[timeout] " + " [envelope] " * 100_000), in_text("MCP error 1: " * 100_000),
    in_text("[timeout] " + " Suggestions: " * 100_000), {**in_text("[timeout] x"), "structuredContent": nested},
    {"content": [], "error": {"code": "constructor", "message": "x", "data": {"code": 1, "retryable": "x", "details": []}}},
    {"content": [], "error": {"code": 1e308, "message": "x"}}, in_text('{"error":true,"code":"X","message":"x","retryAfter":1e999}'),
]
for i, result in enumerate(hostile):
    for parse in (lambda: contract.parse_result(result), lambda: contract.parse_error(result),
                  lambda: contract.parse_http(429, {"Retry-After": "-1"}, '{"error":1,"errorCode":429,"rateLimits":{"minuteResetAt":1e300}}')):
        try:
            parse()
        except Exception as error:
            compare(f"hostile answer {i}", "read", "no exception", repr(error)[:300])
print(f"{len(cases)} cases, {len(decisions)} decisions, {len(recoveries)} recoveries, {differing} differences")
sys.exit(not cases or bool(more and not decisions) or differing > 0)
