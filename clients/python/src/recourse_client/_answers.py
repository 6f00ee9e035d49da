"""What answers say about writes, items and work."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from ._record import Fields, dump, fields_of, list_of, parse_json, same, text_of
from ._tables import Tables

# Where the list of items is: [(name,)], [()] if it is the data itself, None if there is none.
Place = Any


class Advice(NamedTuple):
    """A call that a hint names, with the arguments that the hint gives."""

    tool: str
    arguments: Fields
    hint: str


def verify_call(c: Tables, tool: str, arguments: Fields) -> Fields:
    """Returns the contract's call that settles whether a tool's call took effect, with its arguments; {} if none."""
    if tool not in c.table["verify"]:
        return {}
    rule = c.table["verify"][tool]
    args: Fields = {}
    hidden: Fields = {}  # where values are that may not be shown
    for a in rule["args"]:
        value = shown(arguments, a["pointer"]) if "pointer" in a else a.get("is")
        if value is not None:
            args[a["name"]] = [value] if a.get("list") else value
        elif "pointer" in a and find(arguments, a["pointer"])[0]:
            hidden[a["name"]] = [a["pointer"]] if a.get("list") else a["pointer"]
    whole = {"tool": rule["tool"], "args": args, "from": hidden, "lookAt": rule.get("lookAt", "")}
    return {name: v for name, v in whole.items() if v}


# Names of arguments whose values must not be shown.
_SECRET = re.compile(
    r"(?i)pass|pwd|secret|token|credential|authorization|cookie|jwt|api.?key|otp$|auth$|bearer"
    r"|(private|access|signing|session|ssh).?(key|id)"
)


def shown(arguments: Any, pointer: str) -> Any:
    """Returns the value at a JSON Pointer into arguments if it can be shown: no secret, and at most 128 bytes long."""
    found = find(arguments, pointer)[0]
    is_hidden = not found or len(dump(found[0]).encode()) > 128 or _SECRET.search(pointer.rpartition("/")[2])
    return None if is_hidden else found[0]


NOTHING = object()


def data_of(result: Any) -> Any:
    """Returns the data of a tool result: structured content, or the JSON of the first text; NOTHING for neither."""
    r = fields_of(result)
    if isinstance(r.get("structuredContent"), dict):
        return r["structuredContent"]
    value = parse_json(text_of(fields_of(next(iter(list_of(r.get("content"))), None)).get("text")))
    return NOTHING if value is None else value


def has_landed_by(rule: Fields, arguments: Fields, data: Any) -> bool | None:
    """Says whether a write has landed, by the data of the verify call; None if that is open."""
    exists, contains = rule.get("exists"), rule.get("contains", False)
    if data is NOTHING:
        return None if exists is None else not exists
    found, is_reached = find(data, rule["path"])
    if exists is not None:
        return bool(found) == exists if is_reached else None
    wanted = find(arguments, rule["pointer"])[0] if "pointer" in rule else [rule.get("is")]
    if not wanted or not is_reached or not (contains or found):
        return None
    return any(same(value, wanted[0]) or (contains and _holds_value(value, wanted[0])) for value in found)


def unmet_by(c: Tables, tool: str, arguments: Fields, result: Any) -> Fields:
    """Returns the failure in a result that says success and does not look like what the contract expects of one; {}."""
    expected = list_of(c.table["expects"].get(tool))
    data = data_of(result) if expected else None
    lacks = ["it is no JSON"] if data is NOTHING else [_lacks(one, arguments, data) for one in expected]
    why = next(filter(None, lacks), "")
    message = f"The server said success, but its answer does not look like one: {why}."
    return {"kind": "bad_response", "origin": "server", "message": message} if why else {}


def _lacks(rule: Fields, arguments: Fields, data: Any) -> str:
    """Says in a clause why data does not meet an expectation."""
    path, pointer = rule["path"], rule.get("notEmptyFor") or rule.get("equals") or ""
    wanted = find(arguments, pointer)[0] if pointer else [True]
    if not wanted:
        return ""  # the call does not ask for it
    found = find(data, path)[0]
    if not found:
        return f"it has no {path}"
    if "notEmptyFor" in rule:
        is_full = isinstance(found[0], list) and found[0]
        return "" if is_full else f"{path} is empty, although the call names {pointer}"
    if "equals" in rule and not any(same(v, wanted[0]) or _scalar(v) == (_scalar(wanted[0]) or None) for v in found):
        return f"{path} is not the {pointer} of the call"
    return ""


def _scalar(value: Any) -> str:
    """Returns the text of a text or number: ids are written as either."""
    is_scalar = isinstance(value, (str, int, float)) and not isinstance(value, bool)
    return value if isinstance(value, str) else dump(value) if is_scalar else ""


def find(value: Any, pointer: str) -> tuple[list[Any], bool]:
    """Returns the value at a JSON Pointer, if not null ("*": any item), and whether all but its last member exists."""
    _, slash, path = pointer.partition("/")
    if not slash:
        return [] if value is None or value is NOTHING else [value], True
    token, slash, rest = path.partition("/")
    token, rest = token.replace("~1", "/").replace("~0", "~"), slash + rest
    if isinstance(value, list) and token == "*":
        found = [v for inner in value for v in find(inner, rest)[0]]
        return found, not value or bool(found)
    if isinstance(value, list) and re.fullmatch("-?[0-9]+", token):
        return find(value[int(token)], rest) if 0 <= int(token) < len(value) else ([], True)
    if isinstance(value, dict) and token in value:
        return find(value[token], rest)
    return [], isinstance(value, dict) and not rest


def _holds_value(value: Any, want: Any) -> bool:
    """Says whether a text contains another, a list an item, or an object the members of another."""
    if isinstance(value, str):
        return isinstance(want, str) and want in value
    if isinstance(value, list):
        return any(same(item, want) or (isinstance(item, dict) and _holds_value(item, want)) for item in value)
    return isinstance(value, dict) and all(same(value.get(name), v) for name, v in fields_of(want).items())


def id_of(item: Any) -> str:
    """Returns the id of an item: itself, or its member "id"."""
    id = item.get("id", item) if isinstance(item, dict) else item
    return id if isinstance(id, str) and id else dump(id)


def _mentions(value: Any, id: str) -> bool:
    """Says whether a text or number anywhere in a value is the id."""
    if isinstance(value, (dict, list)):
        return any(_mentions(inner, id) for inner in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, (str, int, float)) and not isinstance(value, bool) and id_of(value) == id


def _named(entry: Any) -> list[str]:
    """Returns the ids by which an entry of a list names its item."""
    if isinstance(entry, dict):
        return [id_of(v) for name, v in entry.items() if re.search(r"^[iI][dD]$|(Id|ID|_id)$", name)]
    return [entry] if isinstance(entry, str) else []


def items_of(ids: list[str], data: Any) -> tuple[list[Fields], Place]:
    """Returns what a complete success says of items, and where their list is: [(name,)], [()] if it is the data, None.
    Each entry names its item, or there is one for each. Without such a list, a single item gets the whole data, several
    get nothing, and where there are only lists, an item that is not mentioned is missing."""
    members: list[tuple[tuple[str, ...], Any]] = (
        [((), data)] if isinstance(data, list) else [((name,), v) for name, v in fields_of(data).items()]
    )
    lists = [(place, v) for place, v in members if isinstance(v, list)]
    for place, entries in lists:
        found = {id: next((entry for entry in entries if id in _named(entry)), NOTHING) for id in ids}
        if items := [{"id": id, "value": v} for id, v in found.items() if v is not NOTHING]:
            return items, [place]
    if fits := next((m for m in lists if len(m[1]) == len(ids)), None):
        return [{"id": id, "value": v} for id, v in zip(ids, fits[1])], [fits[0]]
    is_plain = bool(lists) and not any(isinstance(v, dict) for _, v in members)
    told = [id for id in ids if not is_plain or _mentions(data, id)]
    return [{"id": id, "value": data} if len(ids) == 1 and data is not NOTHING else {"id": id} for id in told], None


def whole_of(result: Any, place: Any, values: list[Any]) -> Fields:
    """Returns the result of a batch whose items have all succeeded, in the tool's own form: that of its last answer."""
    data = {**fields_of(data_of(result)), place[0][0]: values} if place[0] else values
    whole, content = dict(fields_of(result)), list_of(fields_of(result).get("content"))
    if isinstance(whole.get("structuredContent"), dict):
        whole["structuredContent"] = data
    if content and parse_json(text_of(fields_of(content[0]).get("text"))) is not None:
        whole["content"] = [{**content[0], "text": dump(data)}, *content[1:]]
    return whole


def parse_call(text: str) -> tuple[str, Fields] | None:
    """Reads a call as written in texts: study_get(study_id='s-1', lean=True); None if it is not one."""
    text = re.sub(r"""("(?:[^"\\]|\\.)*")|'([^'"\\]*)'""", lambda m: m[1] or f'"{m[2]}"', text)
    whole = re.fullmatch(r"""\s*([^\s"'=,(]+)\((.*)\)\s*""", text, re.S)
    rest = "," + whole[2].strip() if whole and whole[2].strip() else ""
    arguments: Fields = {}
    while rest.strip():
        head = re.match(r"""\s*,\s*([^\s"',()=]+)\s*=\s*(True|False|None|'[^'\\]*'|)""", rest)
        if head is None:
            return None
        value, end = {"True": True, "False": False, "None": None}.get(head[2], head[2][1:-1]), head.end()
        if not head[2]:
            try:
                value, end = json.JSONDecoder().raw_decode(rest, head.end())
            except (ValueError, RecursionError):
                return None
        arguments[head[1]], rest = value, rest[end:]
    return (whole[1], arguments) if whole else None


def advised(c: Tables, hints: list[str]) -> list[Advice]:
    """Returns the calls that the hints of a failure name, of tools that the contract knows: the tool, the arguments
    that the hint gives, and the hint."""
    advice: list[Advice] = []
    for hint in hints if c.table["advised"] else ():
        names = "|".join(map(re.escape, sorted(c.table["advised"], key=len, reverse=True)))
        if found := re.search(rf"(?<![A-Za-z0-9_-])(?:{names})(?![A-Za-z0-9_-])", hint):
            rest = hint[found.end() :]
            call = parse_call(found[0] + rest[: rest.find(")") + 1]) if rest.startswith("(") else None
            given = re.match(r" with \w+='[^']*'(,? and \w+='[^']*')*", rest, re.A)
            pairs = re.findall(r"(\w+)='([^']*)'", given[0], re.A) if given else ()
            advice.append(Advice(found[0], call[1] if call else dict(pairs), hint))
    return advice
