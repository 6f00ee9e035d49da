# ---- What answers say about writes, items and work.

def _verify_call(tool, arguments):
    """Returns the contract's call that settles whether a tool's call took effect, with its arguments; {} if none."""
    if tool not in CONTRACT["verify"]:
        return {}
    rule, args = CONTRACT["verify"][tool], {}
    for a in rule["args"]:
        value = _shown(arguments, a["pointer"]) if "pointer" in a else a.get("is")
        if value is not None:
            args[a["name"]] = [value] if a.get("list") else value
    return {"tool": rule["tool"], "args": args, "lookAt": rule.get("lookAt", "")}


# Names of arguments whose values must not be shown.
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
    """Says whether a write has landed, by the data of the verify call; None if that is open."""
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
    """Returns the value at a JSON Pointer, if not null ("*": any item), and whether all but its last member exists."""
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
    """Says whether a text contains another, a list an item, or an object the members of another."""
    if isinstance(value, str):
        return isinstance(want, str) and want in value
    if isinstance(value, list):
        return any(_same(item, want) or (isinstance(item, dict) and _holds_value(item, want)) for item in value)
    return isinstance(value, dict) and all(_same(value.get(name), v) for name, v in _fields(want).items())


def _id(item):
    """Returns the id of an item: itself, or its member "id"."""
    id = item.get("id", item) if isinstance(item, dict) else item
    return id if isinstance(id, str) and id else _json(id)


def _mentions(value, id):
    """Says whether a text or number anywhere in a value is the id."""
    if isinstance(value, (dict, list)):
        return any(_mentions(inner, id) for inner in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, (str, int, float)) and not isinstance(value, bool) and _id(value) == id


def _named(entry):
    """Returns the ids by which an entry of a list names its item."""
    if isinstance(entry, dict):
        return [_id(v) for name, v in entry.items() if re.search(r"^[iI][dD]$|(Id|ID|_id)$", name)]
    return [entry] if isinstance(entry, str) else []


def _items(ids, data):
    """Returns what a complete success says of items, and where their list is: [(name,)], [()] if it is the data, None.
    Each entry names its item, or there is one for each. Without such a list, a single item gets the whole data, several
    get nothing, and where there are only lists, an item that is not mentioned is missing."""
    members = [((), data)] if isinstance(data, list) else [((name,), v) for name, v in _fields(data).items()]
    lists = [(place, v) for place, v in members if isinstance(v, list)]
    for place, entries in lists:
        found = {id: next((entry for entry in entries if id in _named(entry)), _NOTHING) for id in ids}
        if items := [{"id": id, "value": v} for id, v in found.items() if v is not _NOTHING]:
            return items, [place]
    if fits := next((m for m in lists if len(m[1]) == len(ids)), None):
        return [{"id": id, "value": v} for id, v in zip(ids, fits[1])], [fits[0]]
    is_plain = bool(lists) and not any(isinstance(v, dict) for _, v in members)
    told = [id for id in ids if not is_plain or _mentions(data, id)]
    return [{"id": id, "value": data} if len(ids) == 1 and data is not _NOTHING else {"id": id} for id in told], None


def _whole(result, place, values):
    """Returns the result of a batch whose items have all succeeded, in the tool's own form: that of its last answer."""
    data = {**_fields(_data(result)), place[0][0]: values} if place[0] else values
    whole, content = dict(_fields(result)), _list(_fields(result).get("content"))
    if isinstance(whole.get("structuredContent"), dict):
        whole["structuredContent"] = data
    if content and _parsed(_text(_fields(content[0]).get("text"))) is not None:
        whole["content"] = [{**content[0], "text": _json(data)}, *content[1:]]
    return whole


def _parse_call(text):
    """Reads a call as written in texts: study_get(study_id="s-1", lean=True); None if it is not one."""
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


#{{if has "contract.advised"}}
def advised(failure: Failure) -> list[tuple[str, dict[str, Any], str]]:
    """Returns the calls that the hints of a failure name, of tools that the contract knows: the tool, the arguments
    that the hint gives, and the hint."""
    advice = []
    for hint in failure.record.get("hints", ()):
        names = "|".join(map(re.escape, sorted(CONTRACT["advised"], key=len, reverse=True)))
        if found := re.search(rf"(?<![A-Za-z0-9_-])(?:{names})(?![A-Za-z0-9_-])", hint):
            rest = hint[found.end():]
            call = _parse_call(found[0] + rest[:rest.find(")") + 1]) if rest.startswith("(") else None
            given = re.match(r" with \w+='[^']*'(,? and \w+='[^']*')*", rest, re.A)
            pairs = re.findall(r"(\w+)='([^']*)'", given[0], re.A) if given else ()
            advice.append((found[0], call[1] if call else dict(pairs), hint))
    return advice
#{{end}}
