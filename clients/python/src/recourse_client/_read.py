"""Reading answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ._complete import completed, kind_of_status, range_of
from ._failure import Failure, Question
from ._forms import read_forms
from ._kinds import KINDS, META_KEY, WIRE_KINDS
from ._paths import convert, literal_of, match_text, store
from ._record import Fields, cut, fields_of, is_like, list_of, number_of, parse_json, plain_text, read_record, text_of
from ._shapes import read
from ._tables import Tables

# Prefixes that runtimes add to the text of a failure.
_WRAPPERS = re.compile(
    r"MCP error -?[0-9]{1,9}: |Error (?:executing|calling) tool '?[^':\s]+'?: "
    r"|Tool '[^'\s]+' execution failed: |\*\*Error:\*\* "
)

# How SDKs, those of clients too, say that what a tool has returned does not match its outputSchema, with the codes for
# invalid requests and arguments: the tool has run.
RETURNED = re.compile(
    r"Output validation error: |\d+ validation errors? for \S+Output\n|validating tool output: "
    r"|(?:Tool \S+ )?(?:structured )?output (?:schema )?validation failed: "
    r"|Tool \S+ returned invalid structured content: "
    r"|Could not serialize the return value of tool \S+ for its output schema: |Tool call result validation failed: "
    r"|Response missing structured content which is expected when calling tool with non-empty outputSchema"
    r"|Structured content does not match the tool's output schema|Failed to validate structured content"
    r"|Tool \S+ has an output schema but did not return structured content|Invalid structured content returned by tool"
)


def read_result(c: Tables, result: Any) -> Failure | Question | None:
    """Reads a tool result, the member "result" of a JSON-RPC answer: a Failure, a Question, or None for neither."""
    r = fields_of(result)
    error, record = r.get("error"), read_record(fields_of(r.get("_meta")).get(META_KEY))
    is_sure = r.get("isError") is True or {"code", "message"} <= fields_of(error).keys()
    if record is not None and is_sure:
        return Failure.of(record, c)
    texts = [text_of(b.get("text")) for b in map(fields_of, list_of(r.get("content"))) if b.get("type") == "text"][:8]
    in_texts = [parse_json(text) if text.strip().startswith("{") else None for text in texts]
    objects: list[Fields] = [o for o in (*in_texts, r.get("structuredContent"), error) if isinstance(o, dict)]
    marks = [o.get("kind") for o in objects]
    if "needsInput:v1" in marks:
        return _read_question(objects[marks.index("needsInput:v1")])
    text = texts[0] if texts else ""
    if is_sure or "toolError:v1" in marks:
        return Failure.of(_read_failed(c, text, objects), c)
    own = read_forms(c, text, objects, False)
    return None if own is None else Failure.of(own if record is None else record, c)


def _read_failed(c: Tables, text: str, objects: list[Any]) -> Fields:
    """Reads an answer that is certainly a failure."""
    plain = {"kind": "unknown", "message": cut(text), "retry": "re_read", "origin": "server"}
    for _ in range(5):
        wrapper = _WRAPPERS.match(text)
        records = (record for record in map(read_record, objects) if record is not None)
        e = next(records, None) or read_forms(c, text, objects, True)
        if e is not None or not wrapper:
            return plain if e is None else e
        text = text[wrapper.end() :]
        objects = [parse_json(text)]
    return plain


def _read_question(o: Fields) -> Question:
    needs = fields_of(o.get("needsInput"))
    q: Fields = {"message": cut(plain_text(o.get("message", "")))}
    option = {"label": "", "value": "", "description": "", "field": ""}
    for name, example in {"reason": "", "fields": [""], "suggestions": {}, "options": [option]}.items():
        given = (o if name == "options" else needs).get(name)
        if given and is_like(example, given):
            q[name] = given
    if "options" in q:
        q["options"] = [{"label": "", "value": "", **one} for one in q["options"]]
    return Question(q)


def _without_advice(message: str, hints: list[str]) -> str:
    """Returns the message of a JSON-RPC error without the advice behind it."""
    for hint in reversed(hints):
        if message.endswith(f" {hint}"):
            message = message.removesuffix(f" {hint}").removesuffix(";")
    return message


def read_error(c: Tables, error: Any) -> Failure:
    """Reads the member "error" of a JSON-RPC answer."""
    raw = fields_of(error)
    data = raw.get("data")
    if (record := read_record(data)) is not None:
        return Failure.of(record, c)
    code, message = plain_text(raw.get("code", "")), plain_text(raw.get("message", ""))
    message = message.removeprefix(f"MCP error {code}: ")
    for entry in c.codes:
        rpc, e = entry.get("rpc", {"code": None}), Fields()
        form = rpc.get("data", {"list": []})
        if str(rpc["code"]) != code or ("shape" in form and not form["shape"].keys() & fields_of(data).keys()):
            continue
        is_own = "data" in rpc and read(c, form, data, e, e) is not None  # the data tell the form
        told = _without_advice(message, list_of(e.get("hints")))
        found = next((f for f in (match_text(t, told) for t in rpc["messages"]) if f is not None), None)
        if is_own or (found is not None and "data" not in rpc):
            inner = c.by_code.get(text_of(e.get("code")))
            e = {"message": cut(told), **e} if found is None else e
            e["code"] = entry["code"]
            store(e, found)
            return Failure.of(completed(c, e, inner if inner is not entry else None), c)  # the object inside says more
    is_own = "rpc" not in c.by_code[code] if code in c.by_code else range_of(c, code) is not None
    own = read_forms(c, message, [data, {**raw, "message": message}] if is_own else [data], True)
    if own is not None:
        return Failure.of(own, c)
    kind = WIRE_KINDS.get(code, "unknown") if code.startswith("-") else "unknown"
    kind = "bad_response" if RETURNED.match(message) else kind
    e = {"kind": kind, "message": cut(message), "upstream": {"code": code} if code else {}, "origin": "server"}
    if KINDS[kind] in ("protocol", "input"):
        e["effect"] = "none"  # the server says that it did not carry it out
    return Failure.of(e if data is None else {**e, "details": {"data": data}}, c)


def read_http(c: Tables, status: int, headers: Mapping[str, str], body: str) -> Failure | None:
    """Reads a whole HTTP answer: None if its status is not a failure. headers maps names to values."""
    if status < 400:
        return None
    headers = {name.lower(): value for name, value in headers.items()}
    for entry in c.codes:
        http, e = entry.get("http"), Fields()
        if not http or http["status"] != status or ("body" in http) != bool(body):
            continue
        if "body" in http and read(c, http["body"], parse_json(body), e, e) is None:
            continue
        for name, template in http.get("headers", {}).items():
            store(e, match_text(template, headers.get(name.lower(), "").strip()))
        fixed = [literal_of(template) for template in entry.get("message", ())]
        if not fixed or None in fixed or text_of(e.get("message")) in fixed:
            if quotas := e.get("quotas"):  # the binding one stands first: that is used up, and is reset last
                used = [q for q in quotas if not q.get("remaining")]
                used.sort(key=lambda q: q.get("resetAt", ""), reverse=True)
                e["quotas"] = used + [q for q in quotas if q.get("remaining")]
            upstream = {**fields_of(e.get("upstream")), "status": status}
            return Failure.of(completed(c, {**e, "code": entry["code"], "upstream": upstream}), c)
    o = fields_of(parse_json(body))
    said = next(filter(None, (text_of(o.get(name)) for name in ("message", "detail", "error", "title"))), "")
    e = {"kind": kind_of_status(status), "origin": "server", "message": said}
    if "jsonrpc" in o and isinstance(o.get("error"), dict):
        e = read_error(c, o["error"]).stated
    wait = convert("afterMs:seconds", parse_json(headers.get("retry-after", ""))) or 0
    upstream = {**fields_of(e.get("upstream")), "status": status}
    return Failure.of({**e, "upstream": upstream, "afterMs": max(number_of(e.get("afterMs")), wait)}, c)
