# ---- Reading.

_MAX_ITEMS = 1000  # how much of a list is read
_LEAVES = {
    **dict.fromkeys(("afterMs", "windowMs", "limit", "remaining", "status"), "number"), **dict.fromkeys(("hints", "missingScopes", "fields"), "texts"),
    **dict.fromkeys(("violations", "quotas", "succeeded", "failed", "missing"), "list"),
    **dict.fromkeys(("verify", "resource", "upstream", "details", "args"), "object"),
}
_COMPUTED = re.compile(r"message(\.given)?|code\.(name|group|number)|retryable|after(\.seconds)?|verify\.call|call\..+|text\..+"
                       r"|http\.title|quota\.[^.]+\.\w+")


def _ends(path):
    """Returns the last two steps of a path."""
    parent, _, name = path.rpartition(".")
    return name, parent.rpartition(".")[2]


def _leaf(name, parent): return "raw" if _is_raw(name, parent) else _LEAVES.get(name, "text")
def _bounded(ms): return math.floor(min(max(ms, 0), MAX_WAIT_MS) + 0.5)


def _number_text(n):
    return str(int(n)) if n == int(n) else repr(n)


def _set(base, is_record, path, raw):
    """Stores a value where a path leads to from base. What is empty, or of another type, is not stored."""
    steps = path.split(".")
    name, parent = _ends(path)
    inner = 0 if is_record or "error" not in steps else len(steps) - steps[::-1].index("error")  # where a record begins
    own = ".".join(steps[inner:]) if is_record or inner else ""
    computed = _COMPUTED.fullmatch(own) is not None
    value = raw if computed else _convert(name, parent, raw)
    if not computed and not _is_raw(name, parent) and (value is None or (name != "remaining" and _is_empty(value))):
        return
    at = base
    for i, step in enumerate(steps):
        if i == inner and computed:
            return _set_computed(_fields(at), own, raw)
        if i + 1 == len(steps):
            return _place(at, step, value)
        there = _at(at, step)
        if not isinstance(there, (dict, list)):
            there = [] if steps[i + 1].isdigit() else {}
            _place(at, step, there)
        at = there


def _at(at, step):
    if isinstance(at, list):
        return at[int(step)] if step.isdigit() and int(step) < len(at) else None
    return at.get(step)


def _place(at, name, value):
    if isinstance(at, dict):
        at[name] = value
        return
    while len(at) <= int(name):
        at.append({} if isinstance(value, dict) else "")
    at[int(name)] = value


def _set_computed(e, path, raw):
    """Stores what a computed member says."""
    if _is_sentence(path):
        if isinstance(raw, str):
            e["message"] = raw
    elif path == "code.number":
        if _is_whole(raw):
            e["code"] = str(int(raw))
    elif path == "after.seconds":
        if _is_number(raw):
            e["afterMs"] = _bounded(raw * 1000)
    elif path.startswith("text."):
        if _text(raw):
            _map_at(e, "details")[path[5:]] = raw
    elif path.startswith("quota.") and _is_whole(raw):
        _, policy, member = path.split(".")
        if member == "resetAtMs" and not 0 <= raw <= 253_402_300_799_999:  # the end of the year 9999
            return
        quotas = e["quotas"] = _list(e.get("quotas"))
        q = next((q for q in quotas if _fields(q).get("policy") == policy), None)
        if q is None:
            quotas.append(q := {"policy": policy})
        if member != "resetAtMs":
            q[member] = raw
        else:
            text = (_EPOCH + timedelta(milliseconds=raw)).strftime("%Y-%m-%dT%H:%M:%S")
            q["resetAt"] = text + f".{raw % 1000:03d}".rstrip("0").rstrip(".") + "Z"


def _convert(name, parent, raw):
    """Returns a value in the type of a member; None where it has another one."""
    match _leaf(name, parent):
        case "raw":
            return raw
        case "number":
            if name.endswith("Ms"):
                return _bounded(raw) if _is_number(raw) else None
            return raw if _is_whole(raw) else None
        case "texts":
            return raw if isinstance(raw, list) and all(isinstance(item, str) for item in raw) else None
        case "list":
            return raw if isinstance(raw, list) and all(isinstance(item, dict) for item in raw) else None
        case "object":
            return raw if isinstance(raw, dict) else None
    return _number_text(raw) if _is_number(raw) else raw if isinstance(raw, str) else None  # an identifier that is a number


def _set_text(e, path, text):
    """Stores a text that a template captured."""
    leaf = "text" if _is_sentence(path) else _leaf(*_ends(path))
    if path in ("code.number", "after.seconds") or path.startswith("quota."):
        leaf = "number"
    if leaf in ("text", "texts"):
        _set(e, True, path, text if leaf == "text" else text.split(", "))
    elif (value := _parsed(text)) is not None:
        _set(e, True, path, value)
    elif leaf == "raw":
        _set(e, True, path, text)


def _store(e, found):
    for path, text in found or ():
        _set_text(e, path, text)


class _Draft:
    """A record while it is read. said: the booleans on the wire, by the record that they belong to. open: words count as codes
    that the contract does not list. instead: the entry that gives the kind. own: it is the contract's own object. foreign: it
    was in a form that the contract does not write."""

    def __init__(self, is_open):
        self.e, self.said, self.open, self.instead, self.own, self.foreign = {}, [], is_open, None, False, False

    def attempt(self, read):
        """Reads, and forgets what was read where that comes to nothing."""
        e, said = self.e, self.said
        self.e = copy.deepcopy(e)
        self.said = [(self.e if record is e else record, value) for record, value in said]
        if read():
            return True
        self.e, self.said = e, said
        return False


def _fits(shape, o):
    """Says whether an object may have been written in a shape: its constants stand there, and so does a code."""
    code = False
    for name, source in shape.items():
        if isinstance(source, dict) and "is" in source and not (name in o and _same(o[name], source["is"])):
            return False
        if source in ("code", "code.number"):
            e = {}
            _set(e, True, source, o.get(name))
            code = _text(e.get("code")) != ""
    return code


def _is_marked(shape): return any(isinstance(source, dict) and "is" in source for source in shape.values())


def _read_shape(shape, o, base, is_record, d):
    for alternatives in (False, True):  # which of them it was, the others tell
        for name, source in shape.items():
            if name != "..." and o.get(name) is not None and (isinstance(source, dict) and "oneOf" in source) == alternatives:
                _read_source(name, source, o[name], base, is_record, d)
    if "..." in shape:
        for name, raw in o.items():
            if name not in shape:
                _map_at(base, shape["..."])[name] = raw


def _map_at(base, name):
    if not isinstance(base.get(name), dict):
        base[name] = {}
    return base[name]


def _read_source(name, source, raw, base, is_record, d):
    if isinstance(source, str):
        if source not in ("retryable", "error.retryable"):
            _set(base, is_record, source, raw)
        elif isinstance(raw, bool):
            d.said.append((base if source == "retryable" else _map_at(base, "error"), raw))
    elif "shape" in source:
        if isinstance(raw, dict):
            _read_shape(source["shape"], raw, base, is_record, d)
        elif "..." in source["shape"]:
            _map_at(base, source["shape"]["..."])[name] = raw  # of another type than is written
    elif "oneOf" in source:
        _read_choice(source["oneOf"], raw, base, is_record, d)
    elif "each" in source and isinstance(raw, list):
        items = base[source["each"]] = _list(base.get(source["each"]))
        for i, item in enumerate(raw[:_MAX_ITEMS]):
            if i == len(items):
                items.append({})
            if isinstance(item, dict):
                _read_shape(source["item"], item, items[i], False, d)


def _read_choice(choices, raw, base, is_record, d):
    """Stores a value that one of several sources may have written: a word of a closed set where it belongs, another value in
    the first path that can hold it."""
    def takes(choice):
        path = choice.get("path")
        if path is None or _convert(*_ends(path), raw) is None or (path in _WORDS and raw not in _WORDS[path]):
            return False
        return _selects(choice.get("for"), _Subject(d.e, None))
    word = next((choice for choice in choices if choice.get("path") in _WORDS and takes(choice)), None)
    if word:
        return _set(base, is_record, word["path"], raw)
    stored = False
    for choice in choices:
        if "path" not in choice:
            if _same(raw, choice.get("is")):
                return _store_selector(choice.get("for", {}), d.e)
        elif not stored and takes(choice):
            _set(base, is_record, choice["path"], raw)
            stored = True


def _store_selector(selector, e):
    """Stores what the conditions of a selector say, where they say one thing."""
    paths = {"kind": "kind", "resource": "resource.type", "upstream_code": "upstream.code", "effect": "effect", "retry": "retry"}
    for condition, values in selector.items():
        if condition in paths and len(values) == 1:
            _set(e, True, paths[condition], values[0])


_LAYOUTS = [CONTRACT["layout"], *(r["layout"] for r in CONTRACT["returns"])]


def _read_object(raw, d):
    return any(d.attempt(lambda layout=layout: _read_object_of(layout, raw, d)) for layout in _LAYOUTS)


def _read_object_of(layout, raw, d):
    if not isinstance(raw, dict):
        return False
    shape = layout.get("shape")
    if shape is None:
        record = _read_record(raw)
        if record is None or record.get("contract") != CONTRACT["name"]:
            return False
        d.e = record
        return True
    if not _fits(shape, raw):
        return False
    _read_shape(shape, raw, d.e, True, d)
    d.own = True
    return _text(d.e.get("code")) in _BY_CODE or d.open or _is_marked(shape)


def _read_record(raw):
    """Reads the record's own JSON form."""
    if not isinstance(raw, dict) or _number(raw.get("v")) <= 0 or not _text(raw.get("kind")):
        return None
    e = {}
    for name, value in raw.items():
        if name not in _ORDER:
            e[name] = value
        elif name != "v" and value is not None:
            if not _is_typed(name, "", value):
                return None
            e[name] = list(map(_text, value)) if _leaf(name, "") == "texts" else copy.deepcopy(value)
    for item in map(_fields, _list(e.get("failed"))):
        item["error"] = item["error"] if isinstance(item.get("error"), dict) else {"kind": "unknown"}
    for q in map(_fields, _list(e.get("quotas"))):
        if _instant(q.get("resetAt")) is None:
            q.pop("resetAt", None)
    return e


def _is_typed(name, parent, value):
    """Says whether a value is of the type that the record has at a member."""
    if value is None:
        return True
    if name in ("truncated", "error"):
        return isinstance(value, bool if name == "truncated" else dict)

    def inner(o):
        return name in ("details", "args") or all(_is_typed(n, name, v) for n, v in o.items())
    match _leaf(name, parent):
        case "text":
            return isinstance(value, str)
        case "object":
            return isinstance(value, dict) and inner(value)
        case "list":
            return isinstance(value, list) and all(item is None or (isinstance(item, dict) and inner(item)) for item in value)
        case "texts":
            return isinstance(value, list) and all(item is None or isinstance(item, str) for item in value)
    return _is_raw(name, parent) or _convert(name, parent, value) is not None


def _believed(e):
    """Takes words from a record that are not known."""
    for name in ("retry", "effect", "origin"):
        if _text(e.get(name)) not in _WORDS[name]:
            e.pop(name, None)
    for item in map(_fields, _list(e.get("failed"))):
        _believed(_fields(item.get("error")))
    return e


def _read_text(text, d):
    """Reads the text of a failure, whichever of the blocks it is."""
    def human(template):
        found = _match(template, text)
        _store(d.e, found)
        return found is not None and _identify(_text(d.e.get("message")), d)

    def form(layout):
        return _read_line(layout, text, d) if "line" in layout else _read_object_of(layout, _parsed(text), d)
    return any(d.attempt(lambda one=one: form(one)) or ("human" in one and d.attempt(lambda one=one: human(one["human"]))) for one in _LAYOUTS)


_CONTINUED = "\n  "  # begins every line of a sentence but the first where hints stand on lines of their own


def _read_line(layout, text, d):
    line, envelope, hints, enveloped = layout["line"], layout.get("envelope"), layout.get("hints"), False
    at = text.rfind(envelope["mark"]) if envelope else -1
    if at >= 0 and isinstance(o := _parsed(text[at + len(envelope["mark"]):]), dict):
        _read_shape(envelope["shape"], o, d.e, True, d)
        text, enveloped = text[:at], True
    cut = text.find(hints["before"]) if hints else -1
    while hints and hints["before"] == "\n" and cut >= 0 and text.startswith(_CONTINUED, cut):
        cut = text.find(hints["before"], cut + len(_CONTINUED))
    sentence = text if cut < 0 else text[:cut]
    if hints and hints["before"] == "\n":
        sentence = sentence.replace(_CONTINUED, "\n")
    code = d.e.get("code")
    found = _match(line, sentence)
    if found is None:
        return False
    _store(d.e, found)
    if cut >= 0 and _is_empty(d.e.get("hints")):
        d.e["hints"] = [hint for hint in text[cut + len(hints["before"]):].split(hints["between"])[:_MAX_ITEMS] if hint.strip()]
    if not any(path in ("code", "code.number") for path, _ in _parts(line)):
        return _identify(sentence, d)
    word = _text(d.e.get("code"))
    return word in _BY_CODE or (_OPEN is not None and _is_code_word(word) and (d.open or (enveloped and code == word)))


def _identify(text, d):
    """Finds the code whose own sentence stands in a text, the longest first."""
    best, longest = None, 0
    for entry in CODES:
        for template in entry.get("message", ()):
            fixed = sum(len(t) for path, t in _parts(template) if path is None)
            if fixed <= longest:
                continue
            if _frames(template):
                if d.open and _match(template, text):
                    best, longest = (entry["code"], text), fixed
                continue
            sentence = _find_sentence(template, text)
            if sentence is not None and ("http" not in entry or (sentence == text and " " in sentence)):
                best, longest = (entry["code"], sentence), fixed
    if best:
        d.e["code"], d.e["message"] = best
    return best is not None


def _find_sentence(template, text):
    """Returns the sentence of a template where it stands in a text."""
    parts = _parts(template)
    if not parts or parts[0][0] is not None or parts[-1][0] is not None:
        return None
    start, end = text.find(parts[0][1]), text.rfind(parts[-1][1])
    if start < 0 or len(parts) == 1:
        return parts[0][1] if start >= 0 else None
    sentence = text[start:end + len(parts[-1][1])]
    return sentence if end > start and _match(template, sentence) is not None else None


def _read_other(raw, text, d):
    """Reads a form that the contract does not write itself."""
    for form in CONTRACT["reads"]:
        shape = form.get("shape")
        is_object = shape is not None and isinstance(raw, dict) and all(name == "..." or _stands(source, raw, name) for name, source in shape.items())
        found = _match(form["text"], text) if "text" in form and text is not None and not is_object else None
        if not is_object and found is None:
            continue
        if found is not None:
            d.e["message"] = _cut(text)
        for path, value in form.get("set", {}).items():
            _set(d.e, True, path, value)
        _store(d.e, found)
        if is_object:
            _read_shape(shape, raw, d.e, True, d)
            d.foreign = True
        return True
    return False


def _stands(source, o, name):
    """Says whether a member is there, of the type that a source has."""
    raw = o.get(name)
    if isinstance(source, str):
        other = re.match(r"code\.|text\.|retryable$|after|quota\.", source)
        is_text = _is_sentence(source) or (not other and _leaf(*_ends(source)) == "text")
        return isinstance(raw, str) if is_text else raw is not None
    if "is" in source:
        return name in o and _same(raw, source["is"])
    return isinstance(raw, list) if "each" in source else isinstance(raw, dict) if "shape" in source else raw is not None


def _cut(text): return text[:8192] + " …" if len(text) > 8192 else text


def _kind_of_status(status):
    if not 400 <= status <= 599:
        return "unknown"
    return STATUS_KINDS.get(str(status), "client_error" if status < 500 else "server_error")


def _complete(d, e):
    """Gives a record that was read in the form of the contract what its code stands for."""
    code = _text(e.get("code"))
    entry = _BY_CODE.get(code) or (_OPEN if code else None)
    said = e["kind"] if _text(e.get("kind")) in KINDS else None
    status = _number(_fields(e.get("upstream")).get("status"))
    ranged = _range_of(code)
    if said is None:
        e["kind"] = ranged["kind"] if ranged else _kind_of_status(status)
    if code:
        e["contract"] = CONTRACT["name"]
        if not entry and not ranged and not _fields(e.get("upstream")).get("code"):
            e["upstream"] = {**_fields(e.get("upstream")), "code": code}  # the other side's own word
    if entry:
        _apply(e, entry)
    if d.instead and e is d.e:
        word, entry = _text(e.get("code")), d.instead
        _apply(e, entry)
        e["code"] = word
    if said is not None and d.foreign and e is d.e:
        e["kind"] = said  # such a form says one because its code leaves it open
    retryable = next((value for record, value in reversed(d.said) if record is e), None)
    if retryable is None and e is d.e and d.own:
        retryable = CONTRACT.get("silence")
    if retryable is not None and entry and entry["retryable"] is False:
        retryable = False  # whatever the other side says
    others = [said] if said is not None else []
    if 400 <= status <= 599:
        others.append(_kind_of_status(status))
    if entry:
        _refine(e, entry, others, retryable)
    if retryable is not None:
        _say_retryable(e, retryable)
    resource = _fields(e.get("resource"))
    if not _text(e.get("message")) and e["kind"] == "not_found" and _text(resource.get("type")) and _text(resource.get("id")):
        e["message"] = f"There is no {resource['type']} {_json(resource['id'])}."  # what is not there is all that is told
    for item in _list(e.get("failed")):
        if isinstance(_fields(item).get("error"), dict):
            _complete(d, item["error"])


def _refine(e, entry, others, retryable):
    """Gives a record the first of other kinds for which the contract has the same code: it tells more than the code."""
    for kind in others:
        other = {**e, "kind": kind, "contract": "", "code": ""}
        s = _subject(other)
        if s.entry is not entry:
            continue
        if retryable is not None:
            _say_retryable(other, retryable)
            if _retryable(s) != retryable:
                continue
        e["kind"] = kind
        return


def _apply(e, entry):
    """Adds what an entry says: its kind, its constants, and what its message holds."""
    e["kind"] = entry["kind"]
    if _is_open(entry):
        _store(e, _match(entry["code"], _text(e.get("code"))))
    else:
        e["code"] = entry["code"]
    for path, value in entry.get("set", {}).items():
        _set(e, True, path, value)
    for template in entry.get("message", ()):
        said = _text(e.get("message"))
        found = _match(template, said)
        if found is None:
            continue
        _store(e, found)
        if not _frames(template):
            e["message"] = said
        return


def _say_retryable(e, retryable):
    """States what the wire's boolean says. That there is no way says less than a kind that names one."""
    if retryable:
        e["retry"] = "same_call"
    elif KINDS[_kind(e)]["retry"] == "same_call":
        e["retry"] = "never"


def _draft(is_open, read):
    d = _Draft(is_open)
    if not read(d):
        return None
    _believed(d.e)
    if d.e.get("contract") != CONTRACT["name"]:
        _complete(d, d.e)
        d.e["origin"] = d.e.get("origin") or "server"
    return Failure(d.e)


def _read_forms(text, objects, sure, is_open):
    has_object = "shape" in CONTRACT["layout"] or bool(CONTRACT["returns"])
    for raw in objects:
        read = _draft(is_open, lambda d, raw=raw: _read_other(raw, None, d) or (has_object and _read_object(raw, d)))
        if read:
            return read
    return _draft(is_open, lambda d: _read_text(text, d) or (sure and _read_other(None, text, d))) if text else None


# What runtimes put before the text of a failure.
_WRAPPERS = re.compile(r"MCP error -?[0-9]{1,9}: |Error (?:executing|calling) tool '?[^':\s]+'?: |\*\*Error:\*\* ")


def _read_failed(text, objects):
    """Reads an answer that is a failure by a sure sign."""
    for raw in objects:
        if (record := _read_record(raw)) is not None:
            return Failure(_believed(record))
    whole = text
    for _ in range(5):
        if read := _read_forms(text, objects, True, True):
            return read
        wrapper = _WRAPPERS.match(text)
        if not wrapper:
            break
        text = text[wrapper.end():]
        objects = [o for o in (_parsed(text),) if isinstance(o, dict)]
    return Failure({"kind": "unknown", "message": _cut(whole), "origin": "server"})


def parse_result(result):
    """Reads a tool result, the member "result" of a JSON-RPC answer: a Failure, a Question, or None where it is neither."""
    r = _fields(result)
    error = r.get("error")
    sure = r.get("isError") is True or (isinstance(error, dict) and "code" in error and "message" in error)
    record = _read_record(_fields(r.get("_meta")).get(META_KEY))
    if record is not None and sure:
        return Failure(_believed(record))
    texts = [_text(b.get("text")) for b in map(_fields, _list(r.get("content"))) if b.get("type") == "text"][:8]
    objects = [_parsed(text) if text.strip().startswith("{") else None for text in texts] + [r.get("structuredContent"), error]
    objects = [o for o in objects if isinstance(o, dict)]
    question = next((o for o in objects if o.get("kind") == "needsInput:v1"), None)
    if question:
        return _read_question(question)
    text = texts[0] if texts else ""
    if sure or any(o.get("kind") == "toolError:v1" for o in objects):
        return _read_failed(text, objects)
    read = _read_forms(text, objects, False, False)
    return Failure(_believed(record)) if read and record is not None else read


def _read_question(o):
    def are_texts(v): return isinstance(v, list) and all(isinstance(item, str) for item in v)
    q = {"message": _cut(_plain_text(o["message"])) if "message" in o else ""}
    needs = _fields(o.get("needsInput"))
    reason, fields, suggestions = needs.get("reason", ""), needs.get("fields", []), needs.get("suggestions", {})
    if isinstance(reason, str) and are_texts(fields) and isinstance(suggestions, dict) and all(map(are_texts, suggestions.values())):
        q |= _in_order(needs, ("reason", "fields", "suggestions"))
    options = o.get("options")
    if isinstance(options, list) and options and all(isinstance(p, dict) and are_texts(list(p.values())) for p in options):
        q["options"] = [_in_order(option, ("label!", "value!", "description", "field")) for option in options]
    return Question(q)


def _plain_text(v): return v if isinstance(v, str) else _json(v)


def parse_error(error):
    """Reads the member "error" of a JSON-RPC answer."""
    raw = _fields(error)
    data = raw.get("data")
    if (record := _read_record(data)) is not None:
        return Failure(_believed(record))
    code = _plain_text(raw["code"]) if "code" in raw else ""
    message = (_plain_text(raw["message"]) if "message" in raw else "").removeprefix(f"MCP error {code}: ")
    for entry in CODES:
        rpc = entry.get("rpc")
        if not rpc or str(rpc["code"]) != code:
            continue
        if isinstance(rpc.get("data"), dict) and not any(name in _fields(data) for name in rpc["data"]):
            continue

        def read(d, entry=entry, rpc=rpc):
            if "data" in rpc and not _read_body(rpc["data"], data, d):
                return False
            inner = _BY_CODE.get(_text(d.e.get("code")))
            if inner and inner is not entry:
                d.instead = inner  # the object inside says more than the JSON-RPC error
            d.e["code"] = entry["code"]
            found = next((f for f in (_match(t, message) for t in rpc["messages"]) if f is not None), None)
            _store(d.e, found)
            return found is not None
        if failure := _draft(True, read):
            return failure
    named = _BY_CODE.get(code)
    own_number = "rpc" not in named if named else _range_of(code) is not None
    if failure := _read_forms(message, [data, {**raw, "message": message}] if own_number else [data], True, True):
        return failure
    kind = RPC_KINDS.get(code, "unknown")
    e = {"kind": kind, "message": _cut(message), "upstream": {"code": code}, "origin": "server"}
    if KINDS[kind]["class"] in ("protocol", "input"):
        e["effect"] = "none"  # the server says that it did not carry it out
    if data is not None:
        e["details"] = {"data": data}
    return Failure(e)


def _read_body(body, raw, d):
    """Says whether a value may have been written by a body, and stores what it says. Members may be missing: they may have
    come out empty."""
    if body == "{shape}":
        return _read_object(raw, d)
    if isinstance(body, str):
        if (constant := _literal(body)) is not None:
            return _same(raw, constant)
        if (path := _only_path(body)) is not None:
            _set(d.e, True, path, raw)
            return True
        found = _match(body, raw) if isinstance(raw, str) else None
        _store(d.e, found)
        return found is not None
    if isinstance(body, list):
        return isinstance(raw, list) and len(raw) <= len(body) and all(_read_body(b, item, d) for b, item in zip(body, raw))
    if not isinstance(body, dict):
        return _same(raw, body)
    return isinstance(raw, dict) and all(
        _read_body(b, raw[name], d) if name in raw else _literal(b) is None if isinstance(b, str) else isinstance(b, (dict, list))
        for name, b in body.items())


def parse_http(status, headers, body):
    """Reads a whole HTTP answer: None where its status is none of a failure. headers maps names to values."""
    if status < 400:
        return None
    headers = {name.lower(): value for name, value in headers.items()}
    for entry in CODES:
        http = entry.get("http")
        if not http or http["status"] != status or ("body" not in http) != (body == ""):
            continue

        def read(d, entry=entry, http=http):
            if "body" in http and not _read_body(http["body"], _parsed(body), d):
                return False
            for name, template in http.get("headers", {}).items():
                _store(d.e, _match(template, headers.get(name.lower(), "").strip()))
            if not _is_empty(d.e.get("quotas")):
                d.e["quotas"] = sorted(_list(d.e["quotas"]), key=_binding)
            fixed = [_literal(t) for t in entry.get("message", ())]
            if fixed and None not in fixed and _text(d.e.get("message")) not in fixed:
                return False
            d.e["code"] = entry["code"]
            _map_at(d.e, "upstream")["status"] = status
            return True
        if failure := _draft(True, read):
            return failure
    o = _fields(_parsed(body))
    if "jsonrpc" in o and isinstance(o.get("error"), dict):
        e = copy.deepcopy(parse_error(o["error"]).stated)
    else:
        e = {"kind": _kind_of_status(status), "origin": "server"}
        e["message"] = next(filter(None, (_text(o.get(name)) for name in ("message", "detail", "error", "title"))), "")
    _map_at(e, "upstream")["status"] = status
    try:
        seconds = float(headers.get("retry-after", ""))
    except ValueError:
        seconds = 0
    if seconds > 0:
        e["afterMs"] = max(_number(e.get("afterMs")), _bounded(seconds * 1000))
    return Failure(e)


def _binding(q):
    """Orders quotas: those that are used up first, and of these the one that is reset last."""
    return (1, 0) if _number(_fields(q).get("remaining")) > 0 else (0, -(_instant(_fields(q).get("resetAt")) or 0))
