# ---- Reading.

_MAX_ITEMS = 1000  # how much of a list is read
# Prefixes that runtimes add to the text of a failure.
_WRAPPERS = re.compile(r"MCP error -?[0-9]{1,9}: |Error (?:executing|calling) tool '?[^':\s]+'?: |\*\*Error:\*\* ")


def _fits(shape, raw):
    """Says whether a value may be in a shape: its constants and a code are present."""
    def stands(source, v):
#{{if has "is"}}
        if _is_constant(source):
            return v is not None and _same(v, source["is"])
#{{end}}
        return not _is_code(source) or _converted(source, v) is not None
    return isinstance(raw, dict) and any(map(_is_code, shape.values())) and all(
        stands(source, raw.get(name)) for name, source in shape.items())


#{{if has "contract.forms"}}
def _fits_whole(shape, raw):
    """Says whether a value has all members of a shape, each with the right type."""
    def stands(source, v):
        if _is_constant(source):
            return _same(v, source["is"])
        wanted = list if "each" in source else dict if "shape" in source else object if ":" in source else str
        return isinstance(v, wanted if isinstance(source, dict) or wanted is str else object)
    return isinstance(raw, dict) and all(
        raw.get(name) is not None and stands(source, raw[name]) for name, source in shape.items() if name != "...")


#{{end}}
def _read(source, raw, e, base):
    """Stores the value of a source in base, a part of e. Says whether the source can have written this value."""
    if isinstance(source, str):
        _set(base, source, raw)
#{{if has "is"}}
    elif "is" in source:
        return _same(raw, source["is"])
#{{end}}
    elif "shape" in source:
        return _read_shape(source["shape"], raw, e, base)
#{{if has "own"}}
    elif "own" in source:
        return any(_read_own(layout, raw, e) for layout in CONTRACT["layouts"])
#{{end}}
#{{if has "text"}}
    elif "text" in source:
        found = _match(source["text"], raw) if isinstance(raw, str) else None
        _store(base, found)
        return found is not None
#{{end}}
#{{if has "list"}}
    elif "list" in source:
        return isinstance(raw, list) and all([_read(one, item, e, base) for one, item in zip(source["list"], raw)])
#{{end}}
#{{if has "oneOf"}}
    elif "oneOf" in source:
        _read_choice(source["oneOf"], raw, e, base)
#{{end}}
#{{if has "each"}}
    elif "each" in source:
        items = base[source["each"]] = _list(base.get(source["each"]))
        items += [{} for _ in _list(raw)[len(items):_MAX_ITEMS]]
        for item, into in zip(_list(raw), items):
            _read_item(source, item, e, into)
#{{end}}
    return True


#{{if has "each"}}
def _read_item(source, item, e, into):
    """A text is its own name. What was done and has more than the item has places for is its own value."""
    known, is_object = source["item"], isinstance(item, dict)
    _read_shape(known if is_object else {"": next(iter(known.values()))}, item if is_object else {"": item}, e, into)
    named = [v for k, v in item.items() if k.endswith("Id") and isinstance(v, str)] if is_object else []
    if "id" in known and len(named) == 1 and not into.get("id"):
        into["id"] = named[0]
    if source["each"] == "succeeded" and not (is_object and item.keys() <= known.keys()) and into.get("value") is None:
        into["value"] = item


#{{end}}
def _read_shape(shape, raw, e, base):
    if not isinstance(raw, dict):
        return False
    is_fit = True
#{{if has "oneOf"}}
    # Other members show which of several sources has written a member: they are read first.
    for name, source in sorted(shape.items(), key=lambda m: isinstance(m[1], dict) and "oneOf" in m[1]):
#{{else}}
    for name, source in shape.items():
#{{end}}
        v = raw.get(name)
#{{if has "is"}}
        if v is None or name == "...":
            is_fit = is_fit and not _is_constant(source)
        elif not _read(source, v, e, base):
#{{else}}
        if v is not None and name != "..." and not _read(source, v, e, base):
#{{end}}
            is_fit = False
#{{if has "..."}}
            if isinstance(source, dict) and "..." in source.get("shape", {}):
                base.setdefault(source["shape"]["..."], {})[name] = v  # of another type than is written
    for name in raw if "..." in shape else ():
        if name not in shape:
            base.setdefault(shape["..."], {})[name] = raw[name]
#{{end}}
    return is_fit


def _read_choice(choices, raw, e, base):
    """Stores a value that one of several sources may have written: a word of a closed set where it belongs, another in
    the first path that can hold it; and what the conditions of a constant say."""
    def takes(choice):
        path = choice.get("path")
        is_word = path and raw in _WORDS.get(path, (raw,))
        return is_word and _converted(path, raw) is not None and _selects(choice.get("for"), e)
    at = next((i for i, choice in enumerate(choices) if "is" in choice and _same(raw, choice["is"])), len(choices))
    words = [choice for choice in choices if choice.get("path") in _WORDS and takes(choice)]
    for choice in list(filter(takes, words or choices[:at]))[:1]:
        _set(base, choice["path"], raw)
    for condition, values in choices[at].get("for", {}).items() if at < len(choices) and not words else ():
        if condition in ("kind", "resource", "upstream_code", "effect", "retry") and len(values) == 1:
            _set(e, _PLACES.get(condition, condition), values[0])


def _read_own(layout, raw, e):
    """Reads an object of the contract."""
#{{if has "contract.record"}}
    if "shape" not in layout:
        record = _read_record(raw)
        e |= record or {}
        return record is not None and record.get("contract") == CONTRACT["name"]
#{{end}}
    is_own = _fits(layout["shape"], raw)
    if is_own:
        _read_shape(layout["shape"], raw, e, e)
#{{if has "contract.silence"}}
        e.setdefault("retryable", CONTRACT["silence"])
#{{end}}
    return is_own


def _own_object(layout, raw, is_sure):
    """Returns the record of an object of the contract; None if it is not one."""
    e = {}
#{{if has "is"}}
    is_sure = is_sure or any(map(_is_constant, layout.get("shape", {}).values()))
#{{end}}
    return e if _read_own(layout, raw, e) and (is_sure or e.get("code") in _BY_CODE) else None


#{{if has "layouts.line" "layouts.human"}}
def _own_text(layout, text, is_sure):
    """Returns the record of a text of the contract, of either block; None if it is not one."""
#{{if has "layouts.line"}}
    e = _own_line(layout, text, is_sure) if "line" in layout else _own_object(layout, _parsed(text), is_sure)
#{{else}}
    e = _own_object(layout, _parsed(text), is_sure)
#{{end}}
    found = _match(layout["human"], text) if e is None and "human" in layout else None
    if found is not None:
        e = {}
        _store(e, found)
        return e if _identify(e, _text(e.get("message")), is_sure) else None
    return e


#{{end}}
#{{if has "layouts.line"}}
def _own_line(layout, text, is_sure):
    """Reads a line with its hints and its envelope."""
    envelope, hints, e, enveloped = layout.get("envelope"), layout.get("hints", {}), {}, None
    at = text.rfind(envelope["mark"]) if envelope else -1
    if at >= 0 and _read_shape(envelope["shape"], _parsed(text[at + len(envelope["mark"]):]), e, e):
        text, enveloped = text[:at], e.get("code")
    if hints:  # on lines of their own they are told from the sentence, which goes on with two spaces
        is_line = hints["before"] == "\n"
        mark = re.search("\n(?!  )" if is_line else re.escape(hints["before"]), text)
        given = text[mark.end():].split(hints["between"]) if mark else []
        text = text[:mark.start()] if mark else text
        text = text.replace("\n  ", "\n") if is_line else text
        if mark and "hints" not in e:
            e["hints"] = [hint for hint in given[:_MAX_ITEMS] if hint.strip()]
    found = _match(layout["line"], text)
    _store(e, found)
    if found is None or not any(_is_code(path) for path, _ in found):
        return e if found is not None and _identify(e, text, is_sure) else None
    word = _text(e.get("code"))
#{{if has "code.open"}}
    if _OPEN and _is_code_word(word) and (is_sure or enveloped == word):
        return e
#{{end}}
    return e if word in _BY_CODE else None


#{{end}}
def _identify(e, text, is_sure):
    """Finds the code whose own sentence is in a text, the longest first. Says whether there is one."""
    longest = 0
    for entry in CODES:
        for template in entry.get("message", ()):
            fixed, sentence = [t for path, t in _parts(template) if path is None], text
            if not _is_framed(template):  # it may stand anywhere in the text
                sentence = text[max(text.find(fixed[0]), 0):text.rfind(fixed[-1]) + len(fixed[-1])]
            is_own = is_sure if _is_framed(template) else "http" not in entry or (sentence == text and " " in text)
            length = sum(map(len, fixed))
            if length > longest and is_own and _match(template, sentence) is not None:
                longest, e["code"], e["message"] = length, entry["code"], sentence
    return longest > 0


def _read_forms(text, objects, is_sure):
    """Reads an answer in the contract's own forms, and in other known forms; None for any other answer."""
#{{if has "layouts.line" "layouts.human" "contract.forms"}}
    for raw in objects:
#{{if has "contract.forms"}}
        forms = (form for form in CONTRACT["forms"] if "shape" in form and _fits_whole(form["shape"], raw))
        if form := next(forms, None):
            e = _with_constants({}, form)
            _read_shape(form["shape"], raw, e, e)
            return _completed(e, kind=e.get("kind"))  # it says one because its code leaves it open
#{{end}}
        for layout in CONTRACT["layouts"]:
            if "shape" in layout and (e := _own_object(layout, raw, is_sure)) is not None:
                return _completed(e)
    for layout in CONTRACT["layouts"] if text else ():
#{{if has "layouts.line" "layouts.human"}}
        if (e := _own_text(layout, text, is_sure)) is not None:
#{{else}}
        if (e := _own_object(layout, _parsed(text), is_sure)) is not None:
#{{end}}
            return _completed(e)
#{{if has "contract.forms"}}
    for form in CONTRACT["forms"] if text and is_sure else ():
        if "text" in form and (found := _match(form["text"], text)) is not None:
            e = _with_constants({"message": _cut(text)}, form)
            _store(e, found)
            return _completed(e)
#{{end}}
#{{else}}
    for raw in (*objects, _parsed(text)):
        for layout in CONTRACT["layouts"]:
            if (e := _own_object(layout, raw, is_sure)) is not None:
                return _completed(e)
#{{end}}
    return None


def _with_constants(e, form):
    for path, value in form.get("set", {}).items():
        _set(e, path, value)
    return e


def _kind_of_status(status):
    general = "unknown" if not 400 <= status <= 599 else "client_error" if status < 500 else "server_error"
    return WIRE_KINDS.get(str(status), general)


#{{if has "contract.ranges"}}
def _range_of(code):
    n = int(code) if re.fullmatch(r"[+-]?[0-9]+", code) else None
    return next((r for r in CONTRACT["ranges"] if n is not None and r["from"] <= n <= r["to"]), None)


#{{end}}
def _completed(e, entry=None, kind=None, is_item=False):
    """Completes a record in the contract's form with the meaning of its code; entry, kind: replace the code's."""
    code, status, said = _text(e.get("code")), _number(_get(e, "upstream.status")), e.get("kind")
    if not is_item and e.get("contract") == CONTRACT["name"]:
        return e
#{{if has "code.open"}}
    own = _BY_CODE.get(code) or (_OPEN if code else None)
#{{else}}
    own = _BY_CODE.get(code)
#{{end}}
#{{if has "contract.ranges"}}
    ranged = _range_of(code)
#{{end}}
    retryable = e.pop("retryable", None)
    if said not in KINDS:
#{{if has "contract.ranges"}}
        said, e["kind"] = None, ranged["kind"] if ranged else _kind_of_status(status)
#{{else}}
        said, e["kind"] = None, _kind_of_status(status)
#{{end}}
    if code:
        e["contract"] = CONTRACT["name"]
#{{if has "contract.ranges"}}
        if not own and not ranged:
#{{else}}
        if not own:
#{{end}}
            e["upstream"] = {"code": code, **_fields(e.get("upstream"))}  # the other side's own word
    for one in filter(None, (own, entry)):
        _apply(e, one)
    if entry:
        e["code"] = code
    e["kind"], own = kind or e["kind"], entry or own
    if retryable and own and own["retryable"] is False:
        retryable = False  # whatever the other side says
    others = [said] * bool(said) + [_kind_of_status(status)] * (400 <= status <= 599)
    for other in others if own else ():  # of the kinds with this code, the other one tells more
        one = _say_retryable({**e, "kind": other, "contract": "", "code": ""}, retryable)
        if _choose(one)[0] is own and retryable in (None, _is_retryable(one, own, own["code"])):
            e["kind"] = other
            break
    _say_retryable(e, retryable)
#{{if has "retryable.stated"}}
    if retryable and own and own["retryable"] == "stated" and not e.get("effect"):  # safe to repeat: it did nothing
        e.update(effect="none", effectBasis="stated")
#{{end}}
#{{if has "path resource.type"}}
    type, id = _text(_get(e, "resource.type")), _text(_get(e, "resource.id"))
    if not e.get("message") and e["kind"] == "not_found" and type and id:
        e["message"] = f"There is no {type} {_json(id)}."  # what is not there is all that is told
#{{end}}
#{{if has "path failed"}}
    for item in _list(e.get("failed")):
        item["error"] = _completed(_fields(item.get("error")), is_item=True)
#{{end}}
    return e if is_item else {"origin": "server", **e}


def _apply(e, entry):
    """Adds the properties of an entry: its kind, its constants, and the parts of its message."""
    e["kind"] = entry["kind"]
#{{if has "code.open"}}
    if entry is _OPEN:
        _store(e, _match(entry["code"], _text(e.get("code"))))
    else:
        e["code"] = entry["code"]
#{{else}}
    e["code"] = entry["code"]
#{{end}}
    for path, value in entry.get("set", {}).items():
        _set(e, path, value)
#{{if has "code.message"}}
    said = _text(e.get("message"))
    for template in entry.get("message", ()):
        if (found := _match(template, said)) is not None:
            _store(e, found)
            e["message"] = e["message"] if _is_framed(template) else said
            return
#{{end}}


def _say_retryable(e, retryable):
    """Stores the boolean on the wire as advice. A kind that names a way to retry overrides a mere false."""
    if retryable:
        e["retry"] = "same_call"
    elif retryable is not None and _usual_advice(e) == "same_call":
        e["retry"] = "never"
    return e


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
    records = (record for record in map(_read_record, objects) if record is not None)
    if record := next(records, None):
        return record
    for _ in range(5):
        wrapper = _WRAPPERS.match(text)
        e = _read_forms(text, objects, True)
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
        if found is not None and ("data" not in rpc or _read(form, data, e, e)):
            inner = _BY_CODE.get(e.get("code"))
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
        if "body" in http and not _read(http["body"], _parsed(body), e, e):
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
