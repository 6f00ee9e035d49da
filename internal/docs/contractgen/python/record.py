class Failure(Exception):
    """A failure. record is its JSON form, version 1: kind, code, message, retry, afterMs, effect, and so on. result: of
    a call that has failed in part, the items that have succeeded."""

    def __init__(self, stated: dict[str, Any], result: dict[str, Any] | None = None) -> None:
        self.stated = stated  # as it was read: without the advice that record derives from its kind
        self.record: dict[str, Any] = _encode(stated)
        self.result = result
        self.kind: str = self.record["kind"]
        super().__init__(self.record.get("message") or self.kind.replace("_", " "))


class Question(Exception):
    """A question to the caller, which is not a failure. record: message, reason, fields, suggestions, options."""

    def __init__(self, record: dict[str, Any]) -> None:
        self.record = record
        super().__init__(record["message"])


# ---- The record: a dict in its JSON form. Empty members may be missing.

# The types of its members. Unlisted ones may be anything.
_LIKE = {
    "kind": "", "code": "", "contract": "", "message": "", "retry": "", "effect": "", "effectBasis": "", "provider": "",
    "origin": "", "requestId": "", "v": 0, "hints": [""], "afterMs": 0,
    "verify": {"tool": "", "args": {}, "from": {}, "lookAt": ""},
    "violations": [{"pointer": "", "param": "", "rule": "", "want": "", "message": ""}],
    "resource": {"type": "", "id": ""}, "missingScopes": [""],
    "quotas": [{"policy": "", "limit": 0, "windowMs": 0, "remaining": 0, "resetAt": "", "partition": ""}],
    "succeeded": [{"id": ""}], "failed": [{"id": "", "error": {}}],
    "missing": [{"what": "", "impact": "", "message": ""}], "details": {}, "truncated": False,
    "upstream": {"status": 0, "code": "", "requestId": ""},
}
# The members that its objects have even if empty.
_NEEDED = {"verify": {"tool": ""}, "violations": {"pointer": "", "param": ""}, "quotas": {"remaining": 0},
           "succeeded": {"id": ""}, "failed": {"id": ""}, "missing": {"what": ""}}
_WORDS = {
    "kind": tuple(KINDS), "retry": ("same_call", "re_read", "after_fix", "after_auth", "after_setup", "never"),
    "effect": ("none", "applied", "unknown"), "effectBasis": ("known", "stated"),
    "origin": ("caller", "gateway", "server", "provider"),
}


def _fields(v): return v if isinstance(v, dict) else {}
def _list(v): return v if isinstance(v, list) else []
def _text(v): return v if isinstance(v, str) else ""
def _is_number(v): return isinstance(v, (int, float)) and not isinstance(v, bool) and math.isfinite(v)
def _number(v): return v if _is_number(v) else 0
def _is_empty(v): return v is None or v is False or v in ("", [], {}) or (_is_number(v) and v == 0)
def _json(v, sort=False): return json.dumps(v, ensure_ascii=False, separators=(",", ":"), sort_keys=sort)
def _same(a, b): return _json(a, True) == _json(b, True)
def _kind(e): return e["kind"] if _text(e.get("kind")) in KINDS else "unknown"
def _class(e): return KINDS[_kind(e)]
def _usual_advice(e): return ADVICE.get(_kind(e), ADVICE[_class(e)])
def _is_sentence(path): return path in ("message", "message:given")
def _is_code(source): return source in ("code", "code:number")
def _is_constant(source): return isinstance(source, dict) and "is" in source
def _is_code_word(word): return re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", word) is not None
def _selects(selector, e): return all(_holds(condition, values, e) for condition, values in (selector or {}).items())
def _cut(text): return text[:8192] + " …" if len(text) > 8192 else text
def _plain_text(v): return v if isinstance(v, str) else _json(v)


def _parsed(text):
    """Returns the JSON value of a text; None if it is not JSON."""
    try:
        return json.loads(text, parse_constant=lambda word: [][0])
    except (ValueError, IndexError, RecursionError):
        return None


def _is_like(example, value):
    if isinstance(example, list):
        return isinstance(value, list) and all(_is_like(example[0], item) for item in value)
    if isinstance(example, dict):
        said = {name: v for name, v in _fields(value).items() if name in example and v is not None}
        return isinstance(value, dict) and all(_is_like(example[name], v) for name, v in said.items())
    return _is_number(value) if _is_number(example) else isinstance(value, type(example))


def _advice(e):
    advice = _text(e.get("retry")) or _usual_advice(e)
    return "re_read" if advice == "same_call" and e.get("effect") in ("unknown", "applied") else advice


def _encode(e):
    """Returns a record in its JSON form."""
    to = {**e, "v": 1, "kind": _kind(e), "retry": _advice(e)}
    to = {name: v for name, v in to.items() if v is not None and not (name in _LIKE and _is_empty(v))}
    for name in _NEEDED.keys() & to.keys():
        needed, value = _NEEDED[name], to[name]
        to[name] = [{**needed, **item} for item in value] if isinstance(value, list) else {**needed, **value}
    for item in to.get("failed", ()):
        item["error"] = _encode(_fields(item.get("error")))
    return to


def _read_record(raw):
    """Reads the record's own JSON form, with the words that are known; None if it is not a record."""
    e = {name: v for name, v in _fields(raw).items() if v is not None}
    if _number(e.get("v")) <= 0 or not e.get("kind") or not _is_like(_LIKE, e):
        return None
    e = {name: v for name, v in e.items() if name == "kind" or v in _WORDS.get(name, (v,))}
    if "quotas" in e:
        e["quotas"] = [
            {name: v for name, v in q.items() if name != "resetAt" or _instant(v)} for q in e["quotas"]]
    if "failed" in e:
        e["failed"] = [{**f, "error": _read_record({"v": 1, **_fields(f.get("error"))}) or {}} for f in e["failed"]]
    return e


def _instant(text):
    """Returns an instant of RFC 3339; None if the text is not one."""
    try:
        return datetime.fromisoformat(text)
    except (ValueError, TypeError):
        return None


# ---- Paths into it. After a colon comes the type on the wire, unless it is text: afterMs:seconds.

def _converted(path, raw):
    """Converts a value of the wire for the record; None if it is empty, or of another type."""
    type, value = path.partition(":")[2], _typed(path, raw)
    keeps_empty = path == "message" or type in ("any", "count", "flag", "given")
    return value if keeps_empty or not _is_empty(value) else None


def _is_of(path, raw):
    """Says whether a value has the type that a path has on the wire; what only a writer knows is not read."""
    return path.partition(":")[2] not in ("", *_TYPES) or _typed(path, raw) is not None


_TYPES = "any flag number count whole ms seconds instant texts objects object given".split()


def _typed(path, raw):
    """Converts a value of the wire for the record; None if it is of another type."""
    name, _, type = path.partition(":")
    whole = int(raw) if _is_number(raw) and abs(raw) < 2**53 and raw == int(raw) else None
    match type:
        case "":
            if isinstance(raw, str):
                return raw
            # An identifier may be written as a number.
            is_id = _is_number(raw) and name != "message" and not name.startswith("details.")
            return _json(raw if whole is None else whole) if is_id else None
#{{if has ":any"}}
        case "any":
            return raw
#{{end}}
#{{if has ":flag"}}
        case "flag":
            return raw if isinstance(raw, bool) else None
#{{end}}
#{{if has ":number"}}
        case "number":
            return None if whole is None else str(whole)
#{{end}}
#{{if has ":count" ":whole"}}
        case "count" | "whole":
            return whole
#{{end}}
        case "ms" | "seconds":
            n = _parsed(raw) if type == "seconds" and isinstance(raw, str) else raw
            n = n if isinstance(n, (int, float)) and not isinstance(n, bool) and n == n else None
            return None if n is None else math.floor(min(max(n * (1 if type == "ms" else 1000), 0), MAX_WAIT_MS) + 0.5)
#{{if has ":instant"}}
        case "instant" if whole is not None and 0 <= whole <= 253_402_300_799_999:  # the end of the year 9999
            text = datetime.fromtimestamp(whole // 1000, timezone.utc).replace(microsecond=whole % 1000 * 1000)
            text = text.isoformat(timespec="milliseconds").removesuffix("+00:00")
            return text.rstrip("0").rstrip(".") + "Z"
#{{end}}
#{{if has ":texts" ":objects" ":object"}}
        case "texts" if isinstance(raw, str):  # a list that is written as one text: OAuth writes scopes so
            return [one for one in (re.split("[ ,]+", raw) if name == "missingScopes" else [raw]) if one.strip()]
        case "texts" | "objects" | "object":
            return raw if _is_like({"texts": [""], "objects": [{}], "object": {}}[type], raw) else None
#{{end}}
    return raw if type == "given" and isinstance(raw, str) else None


def _child(at, step):
    """Returns a member of an object, or an item of a list: by its index, or by its policy."""
    if isinstance(at, list):
        return next((item for i, item in enumerate(at) if step in (str(i), _fields(item).get("policy"))), None)
    return _fields(at).get(step)


def _get(e, path):
    """Returns the value at a path; None if it is empty."""
    place, _, type = path.partition(":")
    for step in place.split("."):
        e = _child(e, step)
    return e if type in ("any", "count") or not _is_empty(e) else None


def _set(at, path, raw):
    """Stores a value of the wire at a path, unless it is empty or of another type."""
    value, steps = _converted(path, raw), path.partition(":")[0].split(".")
    for step, below in zip(steps, [*steps[1:], ""]) if value is not None else ():
        there = _child(at, step) if below else value
        if there is None:
            there = [] if below.isdigit() or step == "quotas" else {}
        if isinstance(at, dict):
            at[step] = there
        elif step.isdigit():
            at += [{} if below else ""] * (int(step) + 1 - len(at))
            at[int(step)] = there
        elif not there:
            there["policy"] = step
            at.append(there)
        at = there


# ---- Templates: texts with {path} and {path|text}, and doubled braces for literal braces.

@lru_cache(None)
def _parts(template):
    """Parses a template: (None, text) or (path, text to use if it is empty)."""
    parts, text = [], ""
    for m in re.finditer(r"\{\{|\}\}|\{([^}]*)\}|[^{}]+", template):
        if m[1] is None:
            text += m[0][0] if m[0] in ("{{", "}}") else m[0]
            continue
        path, bar, other = m[1].partition("|")
        parts += [(None, text)] * bool(text) + [(path, other if bar else None)]
        text = ""
    return parts + [(None, text)] * bool(text)


def _literal(template):
    """Returns the text of a template without placeholders; None if it has some."""
    return None if any(path for path, _ in _parts(template)) else "".join(text for _, text in _parts(template))


def _is_framed(template): return any(_is_sentence(path) for path, _ in _parts(template))


def _match(template, text):
    """Parses a text that a template may have written: paths with their texts; None if it has another form."""
    parts, found = _parts(template), []
    for i, (path, other) in enumerate(parts):
        end = len(text)
        if path is None:
            end = len(other) if text.startswith(other) else -1
        elif i + 1 < len(parts):
            after, literal = parts[i + 1]
            is_last = i + 2 == len(parts) or _is_sentence(path)
            end = -1 if after else text.rfind(literal) if is_last else text.find(literal)
        if end < 0:
            return None
        if path is not None and (other is None or text[:end] != other):
            found.append((path, text[:end]))
        text = text[end:]
    return None if text else found


def _store(e, found):
    """Stores the texts that a template has captured."""
    for path, text in found or ():
        type = path.partition(":")[2]
        value = text if type in ("", "given") else text.split(", ") if type == "texts" else _parsed(text)
        _set(e, path, text if value is None and type == "any" else value)


# ---- Choosing the code of a record.

#{{if has "code.reads"}}
_BY_CODE = {word: entry for entry in reversed(CODES) for word in reversed(entry.get("reads", ()))}
_BY_CODE |= {entry["code"]: entry for entry in CODES}
#{{else}}
_BY_CODE = {entry["code"]: entry for entry in CODES}
#{{end}}
#{{if has "code.open"}}
_OPEN = next((entry for entry in CODES if "open" in entry), None)  # of words that are not listed
#{{end}}
_PLACES = {"resource": "resource.type", "upstream_code": "upstream.code", "rule": "violations.0.rule",
           "basis": "effectBasis"}


def _holds(condition, values, e):
    match condition:
        case "kind":
            return _kind(e) in values
        case "class":
            return _class(e) in values
#{{if has "for.status"}}
        case "status":
            return _is_status(values, _number(_get(e, "upstream.status")))
#{{end}}
#{{if has "for.params"}}
        case "params":
            return {_text(_fields(v).get("param")) for v in _list(e.get("violations"))} == set(values)
#{{end}}
#{{if has "for.has"}}
        case "has":
            return all(_get(e, path) is not None for path in values)
#{{end}}
#{{if has "for.retry"}}
        case "retry":
            return _advice(e) in values
#{{end}}
    return _text(_get(e, _PLACES.get(condition, condition))) in values


def _is_status(values, status):
    text = str(status) if status else "none"
    return text in values or text[0] + "xx" in values


def _choose(e):
    """Returns the entry of a record, and the code that the record has there."""
    code, default = _text(e.get("code")), _BY_CODE[CONTRACT["default"]]
#{{if has "code.open"}}
    if e.get("contract") == CONTRACT["name"] and code:
        return _BY_CODE.get(code) or _OPEN or default, code
    for entry in CODES:
        word = entry["code"] if entry is not _OPEN else _filled(entry["code"], e)
        if word and any(_selects(selector, e) for selector in entry["for"]):
            return _BY_CODE.get(word, entry), word  # another's word may be one of the contract's own
    return default, default["code"]
#{{else}}
    if e.get("contract") == CONTRACT["name"] and code:
        return _BY_CODE.get(code, default), code
    entry = next((entry for entry in CODES if any(_selects(selector, e) for selector in entry["for"])), default)
    return entry, entry["code"]
#{{end}}


def _filled(template, e):
    """Fills in the template of a code; "" if the result is not a word."""
    texts = [text if path is None else _text(_get(e, path)) or text for path, text in _parts(template)]
    return "".join(texts) if all(texts) and _is_code_word("".join(texts)) else ""


def _is_retryable(e, entry, code):
    """Says whether the same call may succeed. A code that is never retryable stays so, and of one that is not listed
    the failure decides. That a call may have taken effect is not overruled, nor is advice other than the kind's."""
    rule, same, is_unknown = entry["retryable"], _advice(e) == "same_call", e.get("effect") == "unknown"
#{{if has "retryable.stated"}}
    if rule == "stated":
        return same and e.get("retry") == "same_call"
#{{end}}
    if rule == "error" or (code != entry["code"] and "open" not in entry):
        return same
    if rule is False or is_unknown or same != (_usual_advice(e) == "same_call"):
        return same and rule is not False
#{{if has "retryable.status"}}
    status = _number(_get(e, "upstream.status"))
    return rule if rule is True else _is_status(rule, status) if status else same
#{{else}}
    return True
#{{end}}
