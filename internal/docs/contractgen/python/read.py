# ---- Reading answers.

# Prefixes that runtimes add to the text of a failure.
_WRAPPERS = re.compile(r"MCP error -?[0-9]{1,9}: |Error (?:executing|calling) tool '?[^':\s]+'?: |\*\*Error:\*\* ")


def parse_result(result: Any) -> Failure | Question | None:
    """Reads a tool result, the member "result" of a JSON-RPC answer: a Failure, a Question, or None for neither."""
    r = _fields(result)
    error, record = r.get("error"), _read_record(_fields(r.get("_meta")).get(META_KEY))
    is_sure = r.get("isError") is True or {"code", "message"} <= _fields(error).keys()
    if record is not None and is_sure:
        return Failure(record)
    texts = [_text(b.get("text")) for b in map(_fields, _list(r.get("content"))) if b.get("type") == "text"][:8]
    objects = [_parsed(text) if text.strip().startswith("{") else None for text in texts]
    objects = [o for o in (*objects, r.get("structuredContent"), error) if isinstance(o, dict)]
    marks = [o.get("kind") for o in objects]
    if "needsInput:v1" in marks:
        return _read_question(objects[marks.index("needsInput:v1")])
    text = texts[0] if texts else ""
    if is_sure or "toolError:v1" in marks:
        return Failure(_read_failed(text, objects))
    read = _read_forms(text, objects, False)
    return None if read is None else Failure(read if record is None else record)


def _read_failed(text, objects):
    """Reads an answer that is certainly a failure."""
    plain = {"kind": "unknown", "message": _cut(text), "retry": "re_read", "origin": "server"}
    for _ in range(5):
        wrapper = _WRAPPERS.match(text)
        records = (record for record in map(_read_record, objects) if record is not None)
        e = next(records, None) or _read_forms(text, objects, True)
        if e is not None or not wrapper:
            return plain if e is None else e
        text = text[wrapper.end():]
        objects = [_parsed(text)]
    return plain


def _read_question(o):
    needs, q = _fields(o.get("needsInput")), {"message": _cut(_plain_text(o.get("message", "")))}
    option = {"label": "", "value": "", "description": "", "field": ""}
    for name, example in {"reason": "", "fields": [""], "suggestions": {}, "options": [option]}.items():
        given = (o if name == "options" else needs).get(name)
        if given and _is_like(example, given):
            q[name] = given
    if "options" in q:
        q["options"] = [{"label": "", "value": "", **one} for one in q["options"]]
    return Question(q)


def parse_error(error: Any) -> Failure:
    """Reads the member "error" of a JSON-RPC answer."""
    raw = _fields(error)
    data = raw.get("data")
    if (record := _read_record(data)) is not None:
        return Failure(record)
    code, message = _plain_text(raw.get("code", "")), _plain_text(raw.get("message", ""))
    message = message.removeprefix(f"MCP error {code}: ")
#{{if has "code.rpc"}}
    for entry in CODES:
        rpc, e = entry.get("rpc", {"code": None}), dict[str, Any]()
        form = rpc.get("data", {"list": []})
        if str(rpc["code"]) != code or ("shape" in form and not form["shape"].keys() & _fields(data).keys()):
            continue
        found = next((f for f in (_match(t, message) for t in rpc["messages"]) if f is not None), None)
        if found is not None if "data" not in rpc else _read(form, data, e, e) is not None:  # the data tell the form
            inner = _BY_CODE.get(e.get("code"))
            e = {"message": _cut(message), **e} if found is None else e
            e["code"] = entry["code"]
            _store(e, found)
            return Failure(_completed(e, inner if inner is not entry else None))  # the object inside says more
#{{end}}
#{{if has "contract.ranges"}}
    is_own = "rpc" not in _BY_CODE[code] if code in _BY_CODE else _range_of(code) is not None
#{{else}}
    is_own = "rpc" not in _BY_CODE.get(code, {"rpc": {}})
#{{end}}
    e = _read_forms(message, [data, {**raw, "message": message}] if is_own else [data], True)
    if e is not None:
        return Failure(e)
    kind = WIRE_KINDS.get(code, "unknown") if code.startswith("-") else "unknown"
    e = {"kind": kind, "message": _cut(message), "upstream": {"code": code} if code else {}, "origin": "server"}
    if KINDS[kind] in ("protocol", "input"):
        e["effect"] = "none"  # the server says that it did not carry it out
    return Failure(e if data is None else {**e, "details": {"data": data}})


def parse_http(status: int, headers: Mapping[str, str], body: str) -> Failure | None:
    """Reads a whole HTTP answer: None if its status is not a failure. headers maps names to values."""
    if status < 400:
        return None
    headers = {name.lower(): value for name, value in headers.items()}
#{{if has "code.http"}}
    for entry in CODES:
        http, e = entry.get("http"), dict[str, Any]()
        if not http or http["status"] != status or ("body" in http) != bool(body):
            continue
        if "body" in http and _read(http["body"], _parsed(body), e, e) is None:
            continue
        for name, template in http.get("headers", {}).items():
            _store(e, _match(template, headers.get(name.lower(), "").strip()))
        fixed = [_literal(template) for template in entry.get("message", ())]
        if not fixed or None in fixed or _text(e.get("message")) in fixed:
            if quotas := e.get("quotas"):  # the binding one stands first: that is used up, and is reset last
                used = [q for q in quotas if not q.get("remaining")]
                used.sort(key=lambda q: q.get("resetAt", ""), reverse=True)
                e["quotas"] = used + [q for q in quotas if q.get("remaining")]
            upstream = {**_fields(e.get("upstream")), "status": status}
            return Failure(_completed({**e, "code": entry["code"], "upstream": upstream}))
#{{end}}
    o = _fields(_parsed(body))
    said = next(filter(None, (_text(o.get(name)) for name in ("message", "detail", "error", "title"))), "")
    e = {"kind": _kind_of_status(status), "origin": "server", "message": said}
    if "jsonrpc" in o and isinstance(o.get("error"), dict):
        e = parse_error(o["error"]).stated
    wait = _converted("afterMs:seconds", _parsed(headers.get("retry-after", ""))) or 0
    upstream = {**_fields(e.get("upstream")), "status": status}
    return Failure({**e, "upstream": upstream, "afterMs": max(_number(e.get("afterMs")), wait)})
