# ---- The record, and paths into it. A record is a dict in its JSON form; what is empty may be missing.

_ORDER = ("v", "kind", "code", "contract", "message", "hints", "retry", "afterMs", "effect", "verify", "violations", "resource",
          "provider", "missingScopes", "quotas", "succeeded", "failed", "missing", "origin", "upstream", "requestId", "details", "truncated")
# The members of its objects: "!" marks one that is written even when it is empty, "?" one that is written when it is there.
_MEMBERS = {
    "verify": ("tool!", "args", "lookAt"), "resource": ("type", "id"), "upstream": ("status", "code", "requestId"),
    "violations": ("pointer!", "param!", "rule", "got?", "want", "message"), "succeeded": ("id!", "value?"),
    "quotas": ("policy", "limit", "windowMs", "remaining!", "resetAt", "partition"), "missing": ("what!", "impact", "message"),
}
_WORDS = {
    "kind": tuple(KINDS), "retry": ("same_call", "re_read", "after_fix", "after_auth", "never"),
    "effect": ("none", "applied", "unknown"), "origin": ("caller", "gateway", "server", "provider"),
}


def _fields(v): return v if isinstance(v, dict) else {}
def _list(v): return v if isinstance(v, list) else []
def _text(v): return v if isinstance(v, str) else ""
def _is_number(v): return isinstance(v, (int, float)) and not isinstance(v, bool)
def _number(v): return v if _is_number(v) else 0
def _is_whole(v): return _is_number(v) and abs(v) < 2**53 and v == int(v)
def _is_code_number(code): return re.fullmatch(r"[+-]?[0-9]+", code) is not None
def _is_raw(name, parent): return parent in ("details", "args") or name in ("got", "value")
def _is_sentence(path): return path in ("message", "message.given")


def _is_empty(v):
    return v is None or v in ("", [], {}) or (_is_number(v) and v == 0)


def _same(a, b):
    """Says whether two JSON values are equal: true is not 1."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(v, b[name]) for name, v in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return isinstance(a, bool) == isinstance(b, bool) and a == b


def _parsed(text):
    """Returns the JSON value of a text; None where it is none."""
    try:
        return json.loads(text, parse_constant=lambda word: [][0])
    except (ValueError, IndexError, RecursionError):
        return None


def _json(v):
    return json.dumps(v, ensure_ascii=False, separators=(",", ":"))


def _kind(e):
    return e.get("kind") if _text(e.get("kind")) in KINDS else "unknown"


def _advice(e):
    advice = _text(e.get("retry")) or KINDS[_kind(e)]["retry"]
    return "re_read" if advice == "same_call" and e.get("effect") in ("unknown", "applied") else advice


def _in_order(v, names):
    v, to = _fields(v), {}
    for name in names:
        bare = name.rstrip("!?")
        if name.endswith("!"):
            to[bare] = v.get(bare, 0 if bare == "remaining" else "")
        elif bare in v if name.endswith("?") else not _is_empty(v.get(bare)):
            to[bare] = v[bare]
    return to


def _encode(e):
    """Returns the JSON form of a record."""
    to = {"v": 1, "kind": _kind(e)}
    for name in _ORDER[2:]:
        value = e.get(name)
        if name == "retry":
            to[name] = _advice(e)
        elif name in ("verify", "resource", "upstream"):
            o = _in_order(value, _MEMBERS[name])
            if isinstance(value, dict) if name == "verify" else o:
                to[name] = o
        elif _is_empty(value) or value is False:
            continue
        elif name in _MEMBERS:
            to[name] = [_in_order(item, _MEMBERS[name]) for item in _list(value)]
        elif name == "failed":
            to[name] = [{"id": _text(f.get("id")), "error": _encode(f["error"]) if isinstance(f.get("error"), dict) else None}
                        for f in map(_fields, _list(value))]
        else:
            to[name] = value
    return to | {name: e[name] for name in sorted(e) if name not in _ORDER}


@dataclass
class _Subject:
    """A record as the contract sees it. bare: the sentence is its own, not the form that the code gives it."""
    e: dict
    entry: dict | None
    bare: bool = False


def _subject(e):
    s = _Subject(e, None)
    s.entry = _choose(s)
    return s


_NOT = object()


def _get(s, base, path):
    """Returns what a path leads to from base, the record of s or an item of one of its lists; None where it is empty."""
    on, parent = s if base is s.e else None, ""
    while True:
        if on is not None and (value := _compute(on, path)) is not _NOT:
            return value
        name, dot, path = path.partition(".")
        if isinstance(base, list):
            base = base[int(name)] if name.isdigit() and int(name) < len(base) else None
        else:
            base = _fields(base).get(name)
        if base is None or not dot:
            return None if name != "remaining" and not _is_raw(name, parent) and _is_empty(base) else base
        on, parent = _subject(base) if name == "error" and isinstance(base, dict) else None, name


def _compute(s, path):
    """Returns the value of a computed member; _NOT where the path names none."""
    e, entry = s.e, s.entry or {}
    after = _number(e.get("afterMs"))
    match path:
        case "message":
            return _message(s)
        case "message.given":
            given = _text(e.get("message"))
            fixed = any(_literal(t) == given for t in entry.get("message", ()))
            return given if given and given != KINDS["unknown"]["sentence"] and not fixed else None
        case "code.name":
            return None if _range(s) else entry.get("name")
        case "code.group":
            return (_range(s) or entry).get("name" if _range(s) else "group")
        case "code.number":
            return int(e["code"]) if _is_code_number(_text(e.get("code"))) else None
        case "retryable":
            return _retryable(s)
        case "after":
            return _wait_text(after) if after else None
        case "after.seconds":
            return math.ceil(after / 1000) or None
        case "verify.call":
            return _call_text(e["verify"]) if isinstance(e.get("verify"), dict) else None
    if path.startswith(("call.", "http.title")):
        return None
    if path.startswith("text."):
        return _text(_fields(e.get("details")).get(path[5:])) or None
    if quota := re.fullmatch(r"quota\.([^.]+)\.(limit|remaining|resetAtMs)", path):
        q = next((q for q in map(_fields, _list(e.get("quotas"))) if q.get("policy") == quota[1]), None)
        if q is None:
            return None
        if quota[2] == "resetAtMs":
            return _instant(q.get("resetAt"))
        return _number(q.get(quota[2])) if quota[2] == "remaining" else _number(q.get("limit")) or None
    return _NOT


def _instant(text):
    """Returns an instant of RFC 3339 in milliseconds; None where the text is none."""
    try:
        return round((datetime.fromisoformat(_text(text)) - _EPOCH).total_seconds() * 1000)
    except (ValueError, TypeError):
        return None


_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def _range_of(code):
    n = int(code) if _is_code_number(code) else None
    return next((r for r in CONTRACT["ranges"] if n is not None and r["from"] <= n <= r["to"]), None)


def _range(s):
    """Returns the range of a code that is not listed."""
    code = _text(s.e.get("code"))
    return None if s.entry and code == s.entry["code"] else _range_of(code)


def _wait_text(ms):
    """Writes a wait for a person."""
    def units(n, per, large, small):
        return f"{n // per} {large}" + (f" {n % per} {small}" if n % per else "")
    if ms < 1000:
        return f"{ms} ms"
    if ms < 60_000:
        return f"{ms / 1000:g} s" if ms % 1000 == 0 else f"{ms // 1000}.{ms % 1000:03d}".rstrip("0") + " s"
    if ms < 3_600_000:
        return units(ms // 1000, 60, "min", "s")
    return units(ms // 60_000, 60, "h", "min") if ms < 86_400_000 else units(ms // 3_600_000, 24, "d", "h")


def _call_text(verify):
    """Writes a call as a text names it: order_get(reference="A-17")."""
    spell = (lambda v: _json(v)) if CONTRACT["literals"] == "json" else (lambda v: re.sub(
        r'"(?:[^"\\]|\\.)*"|true|false|null', lambda m: {"true": "True", "false": "False", "null": "None"}.get(m[0], m[0]), _json(v)))
    return f"{_text(verify.get('tool'))}({', '.join(f'{name}={spell(v)}' for name, v in _fields(verify.get('args')).items())})"


# ---- Templates: texts with {path} and {path|text}, and doubled braces for those that stand for themselves.

@lru_cache(None)
def _parts(template):
    """Takes a template apart: (None, text) or (path, what stands for it when it is empty)."""
    parts, text = [], ""
    for m in re.finditer(r"\{\{|\}\}|\{([^}]*)\}|[^{}]+", template):
        if m[1] is None:
            text += m[0][0] if m[0] in ("{{", "}}") else m[0]
            continue
        if text:
            parts.append((None, text))
        text = ""
        path, bar, other = m[1].partition("|")
        parts.append((path, other if bar else None))
    return (*parts, (None, text)) if text else tuple(parts)


def _literal(template):
    parts = _parts(template)
    return None if any(path is not None for path, _ in parts) else "".join(text for _, text in parts)


def _only_path(template):
    parts = _parts(template)
    return parts[0][0] if len(parts) == 1 and parts[0][1] is None else None


def _frames(template):
    return any(path is not None and _is_sentence(path) for path, _ in _parts(template))


def _render(template, s):
    """Fills a template in; None when a placeholder without another text is empty."""
    text = ""
    for path, other in _parts(template):
        value = None if path is None else _get(s, s.e, path)
        filled = other if value is None else _spell(value)
        if filled is None:
            return None
        text += filled
    return text


def _spell(value):
    if isinstance(value, list):
        return ", ".join(map(_spell, value))
    return value if isinstance(value, str) else _json(value)


def _match(template, text):
    """Takes a text apart that a template may have written: paths with their texts; None where it is of another form."""
    parts, found = _parts(template), []
    for i, (path, other) in enumerate(parts):
        if path is None:
            if not text.startswith(other):
                return None
            text = text[len(other):]
            continue
        end = len(text)
        if i + 1 < len(parts):
            follows, literal = parts[i + 1]
            if follows is not None:
                return None
            if i + 2 == len(parts):
                end -= len(literal)
            else:
                end = text.rfind(literal) if _is_sentence(path) else text.find(literal)
            if end < 0:
                return None
        if other is None or text[:end] != other:
            found.append((path, text[:end]))
        text = text[end:]
    return None if text else found


# ---- Choosing the code of a record.

_BY_CODE = {word: entry for entry in reversed(CODES) for word in reversed(entry.get("reads", ()))} | {entry["code"]: entry for entry in CODES}


def _is_open(entry): return _literal(entry["code"]) is None
def _is_code_word(word): return re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", word) is not None


_OPEN = next(filter(_is_open, CODES), None)  # the entry of words that are not listed


def _selects(selector, s):
    return all(_holds(condition, values, s) for condition, values in (selector or {}).items())


def _holds(condition, values, s):
    e = s.e
    violations = [_fields(v) for v in _list(e.get("violations"))]
    match condition:
        case "kind":
            return _kind(e) in values
        case "class":
            return KINDS[_kind(e)]["class"] in values
        case "origin" | "effect":
            return _text(e.get(condition)) in values
        case "resource":
            return _text(_fields(e.get("resource")).get("type")) in values
        case "status":
            return _is_status(values, _number(_fields(e.get("upstream")).get("status")))
        case "upstream_code":
            return _text(_fields(e.get("upstream")).get("code")) in values
        case "rule":
            return bool(violations) and _text(violations[0].get("rule")) in values
        case "params":
            return {_text(v.get("param")) for v in violations} == set(values)
        case "has":
            return all(_get(s, e, path) is not None for path in values)
        case "tool":
            return "" in values
        case "at":
            return "tool" in values
    return condition == "retry" and _advice(e) in values


def _is_status(values, status):
    text = str(status) if status else "none"
    return any(v == text or (len(v) == 3 and v.endswith("xx") and v[0] == text[0]) for v in values)


def _choose(s):
    """Returns the entry of a record. Every record has one."""
    code = _text(s.e.get("code"))
    if s.e.get("contract") == CONTRACT["name"] and code:
        return _BY_CODE.get(code) or _OPEN or _BY_CODE[CONTRACT["default"]]
    for entry in CODES:
        for selector in entry["for"]:
            word = _code_of(entry, s) if _selects(selector, s) else ""
            if word:
                return _BY_CODE.get(word, entry)
    return _BY_CODE[CONTRACT["default"]]


def _code_of(entry, s):
    if not _is_open(entry):
        return entry["code"]
    word = _render(entry["code"], s) or ""
    return word if _is_code_word(word) else ""


def _sentence(e):
    return _text(e.get("message")) or KINDS[_kind(e)]["sentence"]


def _message(s):
    """Returns the sentence in the form that the code gives it."""
    is_protocol = s.entry and s.entry["code"] == CONTRACT["default"] and KINDS[_kind(s.e)]["class"] == "protocol"
    if s.bare or not s.entry or _is_unlisted(s) or is_protocol:
        return _sentence(s.e)
    texts = (_render(t, _Subject(s.e, s.entry, True)) for t in s.entry.get("message", ()))
    return next((text for text in texts if text is not None), _sentence(s.e))


def _is_unlisted(s):
    code = _text(s.e.get("code"))
    return s.entry is not None and not _is_open(s.entry) and code not in ("", s.entry["code"])


def _retryable(s):
    """Says whether the same call may succeed. A code that is never retryable stays so, and of one that is not listed the
    failure decides. That a call may have taken effect is not overruled otherwise, nor is an advice that departs from the kind's."""
    e, rule = s.e, s.entry["retryable"] if s.entry else "error"
    same = _advice(e) == "same_call"
    if rule == "stated":
        return e.get("retry") == "same_call" and (same or e.get("effect") == "unknown")
    if _is_unlisted(s):
        return same
    if rule is False:
        return False
    if e.get("effect") == "unknown" or same != (KINDS[_kind(e)]["retry"] == "same_call"):
        return same
    status = _number(_fields(e.get("upstream")).get("status"))
    if isinstance(rule, bool):
        return rule
    return same if isinstance(rule, str) or not status else _is_status(rule, status)


def _bound(e):
    """Puts a record in the words of the contract, as far as it decides on repetitions."""
    s = _subject({**e, "kind": _kind(e)})
    e, entry = s.e, s.entry
    if e.get("contract") != CONTRACT["name"] or not e.get("code"):
        e["code"], e["contract"] = _code_of(entry, s), CONTRACT["name"]
    if entry.get("otherwise"):
        s.entry = entry = _BY_CODE[entry["otherwise"]]
        e["code"] = entry["code"]
    silent = entry["retryable"] is False or entry["retryable"] == "stated"
    if not e.get("retry") and silent and not _is_unlisted(s) and KINDS[_kind(e)]["retry"] == "same_call":
        e["retry"] = "never"
    return s
