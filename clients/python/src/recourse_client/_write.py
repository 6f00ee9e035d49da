"""Writing failures in the form of a contract."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Literal

from ._answers import shown, verify_call
from ._decide import wait_text
from ._kinds import FOR_PROGRAM, KINDS, MAX_WAIT_MS, META_KEY, RPC_CODES, SENTENCES, STATUSES
from ._paths import child, get, is_framed, literal_of, match_text, parts_of
from ._record import (
    LIKE,
    Fields,
    advice_of,
    class_of,
    dump,
    encode,
    fields_of,
    instant_of,
    is_empty,
    kind_of,
    list_of,
    number_of,
    text_of,
    usual_advice,
)
from ._tables import Subject, Tables, choose, is_retryable, selects


@dataclass(frozen=True)
class Call:
    """What is known of the failed call; what is left out is empty or false.

    method: of JSON-RPC; only tools/call is answered with a tool result. at: where the call stood when it failed, if not
    in the tool. status: the HTTP status that the transport requires. http: the whole HTTP answer can still be written.
    output_schema: the tool declares one, so structuredContent is left out. format_argument: the tool's inputSchema has
    the argument with which a call chooses the texts. result_type: results name their type, as of MCP 2026-07-28. tools:
    those of the server; a hint that names another one is left out."""

    tool: str = ""
    arguments: Any = None
    method: str = "tools/call"
    url: str = ""
    at: str = ""
    status: int = 0
    http: bool = False
    output_schema: bool = False
    format_argument: bool = False
    result_type: bool = False
    tools: Sequence[str] | None = None
    now: datetime | None = None


@dataclass(frozen=True)
class Answer:
    """A failure in the form in which it is sent: the member "result" or "error" of the JSON-RPC answer, with the HTTP
    status around it, or a whole HTTP answer."""

    surface: Literal["result", "error", "http"]
    result: Fields = field(default_factory=dict)
    error: Fields = field(default_factory=dict)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: str = ""


class Bound(Subject):
    """A record in the words of the contract. bare: the sentence is the record's own, not in the form of the code."""

    def __init__(self, c: Tables, e: Fields, call: Call, entry: Fields | None = None, bare: bool = False) -> None:
        super().__init__(e, call.tool, call.at)
        self.c, self.call, self.entry, self.bare = c, call, entry, bare

    def get(self, path: str) -> Any:
        return self.at_path(self.e, path)

    def at_path(self, base: Any, path: str) -> Any:
        """Returns the value at a path into the record, or into an item of one of its lists."""
        if base is self.e:
            return _computed(self, path)
        before, error, rest = path.partition("error.")
        if not error:
            return get(base, path)
        inner = get(base, before + "error")
        if not isinstance(inner, dict):
            return None
        entry = choose(self.c, Bound(self.c, inner, self.call))[0]
        return _computed(Bound(self.c, inner, self.call, entry), rest)

    @property
    def is_unlisted(self) -> bool:
        """Whether its code is not one of the contract's."""
        code = self.e.get("code")
        return bool(self.entry and "open" not in self.entry and code and code != self.entry["code"])


# A value that is there and null: None stands for one that is not there.
NULL: Any = type("Null", (), {"__repr__": lambda self: "null"})()


def _number_in(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else None


def _sentence(e: Fields) -> str:
    return text_of(e.get("message")) or SENTENCES[kind_of(e)]


def _has_tool(call: Call, tool: str) -> bool:
    return call.tools is None or tool in call.tools


def _now_ms(call: Call) -> int:
    return round((call.now or datetime.now(timezone.utc)).timestamp() * 1000)


def _retryable(s: Bound) -> bool:
    entry = s.entry or s.c.default
    return is_retryable(s.e, entry, text_of(s.e.get("code")) if s.is_unlisted else entry["code"])


def _computed(s: Bound, path: str) -> Any:
    """Returns the value at a path, even if it is computed from other members."""
    e, entry, call = s.e, s.entry or {}, s.call
    place, _, type = path.partition(":")
    match path:
        case "message":
            return _sentence(e) if s.bare else _told(s)
        case "message:given":
            given = text_of(e.get("message"))
            is_fixed = given == SENTENCES["unknown"] or given in map(literal_of, entry.get("message", ()))
            return None if is_fixed else given or None
        case "code:name":
            return entry.get("name") or None if _range_name(s) is None else None
        case "code:group":
            return _range_name(s) or entry.get("group") or None
        case "code:number":
            return _number_in(text_of(e.get("code")))
        case "retryable:flag":
            return _retryable(s)
        case "afterMs:wait":
            return wait_text(e["afterMs"]) if e.get("afterMs") else None
        case "afterMs:seconds":
            return math.ceil(number_of(e.get("afterMs")) / 1000) or None
        case "verify:call":
            verify = fields_of(e.get("verify"))
            return _call_text(s.c, verify) if verify and _has_tool(call, text_of(verify.get("tool"))) else None
        case "http:title":
            return STATUSES.get(str(entry["http"]["status"]), "").lower() if "http" in entry else None
    if place == "call":
        if type.startswith("arguments."):
            value = shown(call.arguments, "/" + type[len("arguments.") :])
            return None if value is None else _literal(s.c, value)
        return (call.tool if type == "tool" else call.url) or None
    return _quota(s, place, type) if place.startswith("quotas.") else _plain(e, path)


def _plain(e: Fields, path: str) -> Any:
    """Returns the value at a path; None if it is empty, unless its type may be empty."""
    value: Any = e
    steps = path.partition(":")[0].split(".")
    for step in steps[:-1]:
        value = child(value, step)
    if isinstance(value, dict) and path.endswith(":any") and value.get(steps[-1], "") is None:
        return NULL
    value = child(value, steps[-1])
    keeps = path == "message" or path.partition(":")[2] in ("any", "count", "flag", "given")
    return value if keeps or not is_empty(value) else None


def _quota(s: Bound, place: str, type: str) -> Any:
    """Returns a member of a quota, by its policy."""
    policy = place.split(".")[1]
    quota = None if policy.isdigit() else get(s.e, "quotas." + policy)
    path = place + (":" + type if type else "")
    if isinstance(quota, dict) and type == "count":
        return number_of(quota.get("remaining"))
    if not isinstance(quota, dict) or type != "instant":
        return _plain(s.e, path)
    if (reset := instant_of(quota.get("resetAt"))) is not None:
        return round(reset.timestamp() * 1000)
    after = number_of(s.e.get("afterMs"))  # when the wait is over the binding one is reset
    is_binding = list_of(s.e.get("quotas"))[0] is quota and after > 0
    return _now_ms(s.call) + math.ceil(after / 1000) * 1000 if is_binding else None


def _range_name(s: Bound) -> str | None:
    """Returns the name of the range of an unlisted code."""
    code = text_of(s.e.get("code"))
    n = _number_in(code) if s.entry is None or code != s.entry["code"] else None
    return next((r.get("name") for r in s.c.table["ranges"] if n is not None and r["from"] <= n <= r["to"]), None)


def _render(template: str, s: Subject) -> str | None:
    """Fills a template in; None if a placeholder without a default text is empty."""
    text = ""
    for path, other in parts_of(template):
        value = other if path is None else s.get(path)
        value = other if value is None else value
        if value is None:
            return None
        text += _spelled(value)
    return re.sub(r"\b1 seconds", "1 second", text, count=1) if ":seconds} seconds" in template else text


def _rendered(templates: Sequence[str], s: Subject) -> str | None:
    return next((text for text in (_render(t, s) for t in templates) if text is not None), None)


def _spelled(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_spelled, value))
    return value if isinstance(value, str) else dump(None if value is NULL else value)


def _sorted(value: Any) -> Any:
    return {name: value[name] for name in sorted(value)} if isinstance(value, dict) else value


def _encoded(e: Fields) -> Fields:
    """Returns the JSON form of a record, with its members in order."""
    to = encode(e)
    for item in list_of(to.get("failed")):
        item["error"] = _encoded(fields_of(item.get("error")))
    if "details" in to:
        to["details"] = _sorted(to["details"])
    return {name: to[name] for name in (*LIKE, *sorted(to.keys() - LIKE.keys())) if name in to}


def _becomes_result(s: Bound) -> bool:
    """Says whether a failure is written as a tool result, unless its code has another form."""
    kind = kind_of(s.e)
    told = s.c.table["unknownTool"] == "result" if kind == "unknown_tool" else kind not in FOR_PROGRAM
    return s.call.method == "tools/call" and not s.call.status and told


def _with_advice(message: str, hints: list[str]) -> str:
    """Returns the message of a JSON-RPC error with the advice: few clients show anything else of it."""
    for hint in hints:
        if not message.endswith(hint):
            message += (" " if message.endswith((".", "!", "?")) else "; ") + hint
    return message


def _message(s: Bound) -> str:
    """Returns the sentence in the form of the code."""
    e, entry = s.e, s.entry
    if not entry or s.is_unlisted or (entry is s.c.default and class_of(e) == "protocol" and not _becomes_result(s)):
        return _sentence(e)
    bare = Bound(s.c, e, s.call, entry, True)
    fitting = [t for t in entry.get("message", ()) if not (e.get("effect") == "unknown" and "{afterMs:" in t)]
    text = _rendered(fitting, bare)  # of an unknown effect, looking comes before the wait
    return _sentence(e) if text is None else text


def _told(s: Bound) -> str:
    """Returns the sentence, and behind it the contract's advice about the failure."""
    text = _message(s)
    if not s.entry or not _layout(s.c, s.call).get("advises") or (s.call.http and "http" in s.entry):
        return text
    for hint in filter(lambda hint: _is_warning(s.c, hint), map(text_of, list_of(s.e.get("hints")))):
        if hint not in text:
            text += (" " if re.search(r"[.!?]$", text) else ". ") + hint
    return text


def _call_text(c: Tables, verify: Fields) -> str:
    """Writes a call as in texts: order_get(reference='A-17'). Double quotes do not survive in all programs."""

    def place(at: Any) -> str:
        if isinstance(at, list):
            return "[" + "".join(map(place, at)) + "]"
        return "<your " + text_of(at)[1:].replace("/", ".").replace("~1", "/").replace("~0", "~") + ">"

    args = [f"{name}={_single_quoted(_literal(c, value))}" for name, value in fields_of(verify.get("args")).items()]
    taken = [f"{name}={place(at)}" for name, at in fields_of(verify.get("from")).items()]
    return f"{text_of(verify.get('tool'))}({', '.join([*args, *taken])})"


def _single_quoted(text: str) -> str:
    return re.sub(r'"((?:[^"\\]|\\.)*)"', lambda m: m[0] if re.search(r"[\\']", m[1]) else f"'{m[1]}'", text)


def _literal(c: Tables, value: Any) -> str:
    """Writes a value as the contract does in calls."""
    text = dump(value)
    if c.table["literals"] != "python":
        return text
    words = {"true": "True", "false": "False", "null": "None"}
    return re.sub(r'"(?:[^"\\]|\\.)*"|true|false|null', lambda m: words.get(m[0], m[0]), text)


def _is_warning(c: Tables, hint: str) -> bool:
    return any(match_text(h["text"], hint) is not None for h in c.table["hints"])


def _hints(s: Bound, is_fresh: bool) -> list[str]:
    """Returns the hints to write: a warning about the failure, the author's own, and the code's advice."""
    given = [text_of(hint) for hint in list_of(s.e.get("hints"))]
    is_old = not is_fresh and any(_is_warning(s.c, hint) for hint in given)
    warning = None if is_old else _pick(s.c.table["hints"], s)
    # A code of another program comes with its own advice, which may not tell the wait.
    waits = number_of(s.e.get("afterMs")) > 0 and advice_of(s.e) == "same_call"
    is_open = s.entry is not None and "open" in s.entry
    leaves = is_open and given and s.e.get("origin") == "provider" and not waits
    hints = [warning, *given]
    if not is_old and warning is None and ((is_fresh and not leaves) or not given):
        hints.append(_advice_of_code(s))
    return list(dict.fromkeys(hint for hint in hints if hint))


def _advice_of_code(s: Bound) -> str | None:
    """Returns the code's advice; if it usually says otherwise about the same call, only what is chosen by that."""
    entry = s.entry or s.c.default
    usually = is_retryable({**s.e, "effect": "none", "retry": ""}, entry, entry["code"])
    ways = [usual_advice({"kind": kind}) for kind in (kind_of(s.e), entry["kind"])]
    differs = (entry["retryable"] != "stated" and _retryable(s) != usually) or (
        advice_of(s.e) == "never" and any(way not in ("never", "same_call") for way in ways)
    )
    hints = entry.get("hint", [])
    return None if differs and not any("retry" in h.get("for", {}) for h in hints) else _pick(hints, s)


def _pick(hints: Sequence[Fields], s: Bound) -> str | None:
    fitting = [h for h in hints if selects(h.get("for"), s) and all(_has_tool(s.call, t) for t in h.get("tools", ()))]
    return _rendered([hint["text"] for hint in fitting], s)


def _bind(c: Tables, record: Fields, call: Call) -> Bound:
    """Puts a record into the words of the contract: its code, with its wait and hints."""
    e: Fields = json.loads(dump(record))
    e["kind"] = kind_of(e)
    chosen, code = choose(c, Bound(c, e, call))
    is_fresh = e.get("contract") != c.name
    if is_fresh or not e.get("code"):
        e.update(contract=c.name, code=code)
    # Another entry replaces it because of the place of the answer.
    others = (one for one in c.codes if one.get("otherwise") == chosen["code"])
    other = next(others, None) if call.http else c.by_code.get(chosen.get("otherwise", ""))
    if other:
        e["code"] = other["code"]
    entry = other or chosen
    e["message"] = _sentence(e)
    for violation in list_of(e.get("violations")) if not c.table["showsValues"] else ():
        violation.pop("got", None)
    e["afterMs"] = e.get("afterMs") or _wait(e, entry, call)
    s = Bound(c, e, call, entry)
    _advise(s)
    if e.get("effect") == "unknown" and not e.get("verify"):
        e["verify"] = verify_call(c, call.tool, call.arguments)
    if not _has_tool(call, text_of(fields_of(e.get("verify")).get("tool"))):
        e.pop("verify", None)
    inner = Call(method="", tools=call.tools, now=call.now)
    for item in list_of(e.get("failed")):
        item["error"] = _bind(c, fields_of(item.get("error")), inner).e
    if not any(map(is_framed, entry.get("message", ()))):
        e["message"] = _message(s)  # a code with a sentence of its own is known by it
    e["hints"] = _hints(s, is_fresh)
    if e.get("effect") == "unknown" and advice_of(e) == "never" and any(_is_warning(c, hint) for hint in e["hints"]):
        e["retry"] = "re_read"
    if c.layouts[0].get("record") and (e.get("effect") == "applied" or not _helps(e)):
        e.pop("afterMs")
    return s


def _helps(e: Fields) -> bool:
    """Says whether it helps to wait."""
    return advice_of(e) in ("same_call", "re_read") or kind_of(e) == "partial" or class_of(e) == "allowance"


def _wait(e: Fields, entry: Fields, call: Call) -> int:
    """Returns the least wait of a failure that states none: until the quota is reset, or that of the code."""
    reset = instant_of(fields_of(next(iter(list_of(e.get("quotas"))), None)).get("resetAt"))
    if class_of(e) == "allowance" and reset is not None:
        return min(max(round(reset.timestamp() * 1000) - _now_ms(call), 0), MAX_WAIT_MS)
    return int(entry.get("waitMs", 0))


def _advise(s: Bound) -> None:
    """Sets the advice of a record to what its code says."""
    e, entry, layout = s.e, s.entry or s.c.default, s.c.layouts[0]
    is_again = _retryable(s)
    way = usual_advice({"kind": entry["kind"]})
    if e.get("effect") == "applied" and _pick(s.c.table["hints"], s):
        way = "never"
    is_stated = text_of(e.get("retry")) and layout.get("record")
    goes = advice_of(e) == "same_call" or (advice_of(e) == "never" and not is_stated)
    if is_again or goes:
        e["retry"] = "same_call" if is_again else "never" if way == "same_call" else way


def _layout(c: Tables, call: Call) -> Fields:
    return next((layout for layout in c.layouts if call.tool in layout.get("tools", ())), c.layouts[0])


def _value(source: Any, s: Bound, base: Any) -> Any:
    """Writes the value of a source; None if it is empty."""
    if isinstance(source, str):
        return s.at_path(base, source)
    if "is" in source:
        return source["is"]
    if "own" in source:
        return _object(_in_result(s))
    if "text" in source:
        return _render(source["text"], s)
    if "shape" in source:
        return _shape(source["shape"], s, base)
    if "list" in source:
        return [value for value in (_value(one, s, base) for one in source["list"]) if value is not None]
    if "each" in source:
        items = s.at_path(base, source["each"])
        return [_shape(source["item"], s, item) or {} for item in items] if isinstance(items, list) else None
    for choice in source.get("oneOf", ()):
        value = s.at_path(base, choice["path"]) if "path" in choice else choice.get("is")
        if value is not None and selects(choice.get("for"), s):
            return value
    return None


def _shape(shape: Fields, s: Bound, base: Any) -> Fields | None:
    """Writes an object; None if it is empty."""
    values = {name: _value(source, s, base) for name, source in shape.items() if name != "..."}
    written = {name: None if value is NULL else value for name, value in values.items() if value is not None}
    rest = fields_of(_sorted(s.at_path(base, shape["..."]))) if "..." in shape else {}
    return {**written, **{name: value for name, value in rest.items() if name not in shape}} or None


def _in_result(s: Bound) -> Bound:
    """Returns the record with its code for tool results, if its own code is for another kind of answer."""

    def fits(entry: Fields) -> bool:
        return not entry.keys() & {"open", "otherwise", "rpc"}

    if s.entry and fits(s.entry):
        return s
    others = (e for e in s.c.codes if fits(e) and any(selects(selector, s) for selector in e["for"]))
    entry = next(others, s.c.default)
    inner = Bound(s.c, {**s.e, "contract": s.c.name, "code": entry["code"]}, s.call, entry)
    inner.e["hints"] = _hints(inner, False)
    return inner


def _object(s: Bound) -> Fields:
    """Returns the contract's object: its shape, or the record itself."""
    layout = _layout(s.c, s.call)
    return _shape(layout["shape"], s, s.e) or {} if "shape" in layout else _encoded(s.e)


# The characters that Unicode calls white space.
_SPACES = "\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"


def _trimmed(text: str) -> str:
    return re.sub(f"^[{_SPACES}]+|[{_SPACES}]+\\Z", "", text)


def _one_line(text: str) -> str:
    return " ".join(filter(None, re.split(f"[{_SPACES}]+", text))) if re.search(r"[\r\n]", text) else text


def _line(layout: Fields, s: Bound) -> str:
    """Writes the line, its hints, and structure as JSON. Nothing in them can be mistaken for their marks."""
    hints, envelope = layout.get("hints"), layout.get("envelope")
    marks = [mark for mark in ((hints or {}).get("before", ""), (envelope or {}).get("mark", "")) if mark.strip()]

    def unmarked(text: str) -> str:
        for mark in marks:
            lower = mark.lower()
            text = text.replace(mark, mark.upper() if lower == mark else lower)
        return text

    line = _render(layout.get("line", ""), s)
    text = _message(s) if line is None else line
    if hints and re.search(r"[\r\n]", text):
        text = re.sub(r"\r\n|\r|\n", "\n  ", _trimmed(text)) if hints["before"] == "\n" else _one_line(text)
    text = unmarked(text)
    if hints:
        separator = hints["between"].strip()
        given = [text_of(hint) for hint in list_of(s.e.get("hints"))]
        given = [hint.replace(separator, ",") if separator else hint for hint in given]
        if given:
            text += hints["before"] + hints["between"].join(unmarked(_one_line(_trimmed(hint))) for hint in given)
    if not envelope or is_empty(s.e.get("details")):
        return text
    mark: str = envelope["mark"].strip()
    return text + str(envelope["mark"]) + dump(_shape(envelope["shape"], s, s.e)).replace(mark, "\\u005b" + mark[1:])


def _content(layout: Fields, call: Call, human: str | None, form: str | None, form_type: str) -> list[Fields]:
    """Returns the content that the call asks for."""
    chooser = layout.get("format", {})
    takes = call.format_argument or call.tool in chooser.get("tools", ())
    asked = fields_of(call.arguments).get(chooser.get("argument")) if chooser and takes else None
    format = asked if asked in ("markdown", "json", "both") else chooser.get("default")
    blocks = [
        (human, "text/markdown", form is None or format != "json"),
        (form, form_type, human is None or format in ("json", "both")),
    ]
    return [
        {"type": "text", "text": text, **({"mimeType": type} if layout.get("mimeTypes") else {})}
        for text, type, is_wanted in blocks
        if text is not None and is_wanted
    ]


def _spaced(value: Any, layout: Fields) -> str:
    indent = layout.get("indent", 0)
    return json.dumps(value, ensure_ascii=False, indent=indent) if indent else dump(value)


def _result(s: Bound) -> Fields:
    call, layout = s.call, _layout(s.c, s.call)
    human = _render(layout["human"], s) or "" if "human" in layout else None
    form = _line(layout, s) if "line" in layout else _spaced(_object(s), layout)
    type = "text/markdown" if "line" in layout else "application/json"
    result: Fields = {"content": _content(layout, call, human, form, type)}
    if layout.get("structured") and (not call.output_schema or layout.get("tools")):
        result["structuredContent"] = _object(s)
    if layout.get("result"):
        result[layout["result"]] = _object(s)
    if layout.get("isError"):
        result["isError"] = True
    if call.result_type:
        result["resultType"] = "complete"
    return {**result, "_meta": {META_KEY: _encoded(s.e)}}


def _problem(s: Bound, status: int) -> Fields:
    return {"type": "about:blank", "title": STATUSES.get(str(status), ""), "status": status, "detail": _message(s)}


def _question_for(s: Bound) -> Fields | None:
    """Returns the question that the call gets instead of the failure."""
    asks = (s.entry or {}).get("ask") if "question" in s.c.table else None
    if not asks or not any(selects(selector, s) for selector in asks["for"]):
        return None
    message = _rendered(asks["messages"], s)
    fields = asks.get("fields", [])
    return None if message is None else {"message": message, "reason": asks.get("reason", ""), "fields": fields}


def write(c: Tables, record: Fields, call: Call) -> Answer:
    """Writes a failure for a call. Every failure has a form."""
    s = _bind(c, record, call)
    entry, kind = s.entry or c.default, kind_of(s.e)
    is_of_tool, status = call.method == "tools/call" and not call.status, call.status or 200
    question = _question_for(s) if is_of_tool else None
    if question:
        return ask(c, question, call)
    if "http" in entry and call.http:
        return _whole(s, entry["http"])
    if kind == "unknown_session" and call.status == 404:
        headers = {"Content-Type": "application/problem+json"}
        return Answer("http", status=status, headers=headers, body=dump(_problem(s, 404)))
    if rpc := entry.get("rpc"):
        hints = list_of(_in_result(s).e.get("hints"))[:1]  # the data have no more
        error: Fields = {"code": rpc["code"], "message": _with_advice(_rendered(rpc["messages"], s) or "", hints)}
        if "data" in rpc:
            data = _value(rpc["data"], s, s.e)
            error["data"] = {} if data is None else data
        return Answer("error", error=error, status=status)
    if _becomes_result(s):
        return Answer("result", result=_result(s))
    is_ours = KINDS[kind] == "protocol" and entry is c.default  # the contract has no word for it
    own = _encoded({**s.e, "code": kind, "contract": "recourse", "hints": []} if is_ours else s.e)
    data = {**own, **_problem(s, call.status)} if call.status else own
    message = _with_advice(_message(s), [] if is_ours else list_of(s.e.get("hints")))
    return Answer("error", error={"code": RPC_CODES[kind], "message": message, "data": data}, status=status)


def _whole(s: Bound, http: Fields) -> Answer:
    rendered = {name: _render(template, s) for name, template in http.get("headers", {}).items()}
    headers = {name: _one_line(value) for name, value in rendered.items() if value is not None}
    headers["Content-Type" if "type" in http else "Content-Length"] = http.get("type", "0")
    body = ""
    if "body" in http:
        value = _value(http["body"], s, s.e)
        body = dump({} if value is None else value)
    return Answer("http", status=http["status"], headers=headers, body=body)


def ask(c: Tables, question: Fields, call: Call) -> Answer:
    """Writes a question to the caller; a contract without a form for questions writes that a parameter is missing."""
    if "question" not in c.table:
        return write(c, _as_failure(question), call)
    s, layout = Bound(c, {}, call), c.layouts[0]
    object = _shape(c.table["question"], s, question) or {}
    form = None if "line" in layout else _spaced(object, layout)
    human = None if "human" not in layout and form is not None else _question_text(question)
    result: Fields = {"content": _content(layout, call, human, form, "application/json")}
    if layout.get("structured") and not call.output_schema:
        result["structuredContent"] = object
    if call.result_type:
        result["resultType"] = "complete"
    return Answer("result", result=result)


def _as_failure(question: Fields) -> Fields:
    """Turns a question into the failure that a parameter is missing."""
    violations = [
        {
            "pointer": "/" + param.replace("~", "~0").replace("/", "~1").replace(".", "/"),
            "param": param,
            "rule": "required",
            "message": f"{param} is required",
        }
        for param in question.get("fields", ())
    ]
    return {"kind": "missing_param", "message": question["message"], "violations": violations}


def _question_text(q: Fields) -> str:
    """Puts a question into Markdown: the sentence, then the choices."""
    text: str = q["message"]
    for name, values in sorted(q.get("suggestions", {}).items()):
        if choices := ", ".join(f"`{_one_line(v)}`" for v in values):
            text += f"\n\nSuggestions for `{_one_line(name)}`: {choices}."
    if q.get("options"):
        text += "\n"
    for o in q.get("options", ()):
        field = f"`{_one_line(o['field'])}` = " if o.get("field") else ""
        text += f"\n- {_one_line(o['label'])}: {field}`{_one_line(o['value'])}`"
        if o.get("description"):
            text += f" ({_one_line(o['description'])})"
    return text
