"""The record of a failure: a dict in its JSON form, in which empty members may be missing."""

from __future__ import annotations

import json
import math
import re
from datetime import datetime
from typing import Any

from ._kinds import ADVICE, KINDS

Fields = dict[str, Any]

# The types of its members, in their order. Unlisted ones may be anything.
LIKE = {
    "v": 0,
    "kind": "",
    "code": "",
    "contract": "",
    "message": "",
    "hints": [""],
    "retry": "",
    "afterMs": 0,
    "effect": "",
    "effectBasis": "",
    "verify": {"tool": "", "args": {}, "from": {}, "lookAt": ""},
    "violations": [{"pointer": "", "param": "", "rule": "", "want": "", "message": ""}],
    "resource": {"type": "", "id": ""},
    "provider": "",
    "missingScopes": [""],
    "quotas": [{"policy": "", "limit": 0, "windowMs": 0, "remaining": 0, "resetAt": "", "partition": ""}],
    "succeeded": [{"id": ""}],
    "failed": [{"id": "", "error": {}}],
    "missing": [{"what": "", "impact": "", "message": ""}],
    "origin": "",
    "upstream": {"status": 0, "code": "", "requestId": ""},
    "requestId": "",
    "details": {},
    "truncated": False,
}
# The members that its objects have even if empty.
_NEEDED: dict[str, Fields] = {
    "verify": {"tool": ""},
    "violations": {"pointer": "", "param": ""},
    "quotas": {"remaining": 0},
    "succeeded": {"id": ""},
    "failed": {"id": ""},
    "missing": {"what": ""},
}
WORDS = {
    "kind": tuple(KINDS),
    "retry": ("same_call", "re_read", "after_fix", "after_auth", "after_setup", "never"),
    "effect": ("none", "applied", "unknown"),
    "effectBasis": ("known", "stated", "profile"),
    "origin": ("caller", "gateway", "server", "provider"),
}


def fields_of(v: Any) -> Fields:
    return v if isinstance(v, dict) else {}


def list_of(v: Any) -> list[Any]:
    return v if isinstance(v, list) else []


def text_of(v: Any) -> str:
    return v if isinstance(v, str) else ""


def is_number(v: Any) -> bool:
    return isinstance(v, (int, float)) and not isinstance(v, bool) and math.isfinite(v)


def number_of(v: Any) -> Any:
    return v if is_number(v) else 0


def is_empty(v: Any) -> bool:
    return v is None or v is False or v in ("", [], {}) or (is_number(v) and v == 0)


def dump(v: Any, sort: bool = False) -> str:
    return json.dumps(v, ensure_ascii=False, separators=(",", ":"), sort_keys=sort)


def same(a: Any, b: Any) -> bool:
    return dump(a, True) == dump(b, True)


def kind_of(e: Fields) -> str:
    kind = text_of(e.get("kind"))
    return kind if kind in KINDS else "unknown"


def class_of(e: Fields) -> str:
    return KINDS[kind_of(e)]


def usual_advice(e: Fields) -> str:
    return ADVICE.get(kind_of(e), ADVICE[class_of(e)])


def is_sentence(path: str | None) -> bool:
    return path in ("message", "message:given")


def is_code(source: Any) -> bool:
    return source in ("code", "code:number")


def is_constant(source: Any) -> bool:
    return isinstance(source, dict) and "is" in source


def is_code_word(word: str) -> bool:
    return re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", word) is not None


def cut(text: str) -> str:
    return text[:8192] + " …" if len(text) > 8192 else text


def plain_text(v: Any) -> str:
    return v if isinstance(v, str) else dump(v)


def parse_json(text: Any) -> Any:
    """Returns the JSON value of a text; None if it is not JSON."""
    try:
        return json.loads(text, parse_constant=lambda word: [][0])
    except (TypeError, ValueError, IndexError, RecursionError):
        return None


def is_like(example: Any, value: Any) -> bool:
    if isinstance(example, list):
        return isinstance(value, list) and all(is_like(example[0], item) for item in value)
    if isinstance(example, dict):
        said = {name: v for name, v in fields_of(value).items() if name in example and v is not None}
        return isinstance(value, dict) and all(is_like(example[name], v) for name, v in said.items())
    return is_number(value) if is_number(example) else isinstance(value, type(example))


def advice_of(e: Fields) -> str:
    advice = text_of(e.get("retry")) or usual_advice(e)
    return "re_read" if advice == "same_call" and e.get("effect") in ("unknown", "applied") else advice


def encode(e: Fields) -> Fields:
    """Returns a record in its JSON form."""
    to = {**e, "v": 1, "kind": kind_of(e), "retry": advice_of(e)}
    to = {name: v for name, v in to.items() if v is not None and not (name in LIKE and is_empty(v))}
    for name in _NEEDED.keys() & to.keys():
        needed, value = _NEEDED[name], to[name]
        to[name] = (
            [{**item, **needed, **item} for item in value] if isinstance(value, list) else {**value, **needed, **value}
        )
    for item in to.get("failed", ()):
        item["error"] = encode(fields_of(item.get("error")))
    return to


def read_record(raw: Any) -> Fields | None:
    """Reads the record's own JSON form, with the words that are known; None if it is not a record."""
    e = {name: v for name, v in fields_of(raw).items() if v is not None}
    if number_of(e.get("v")) <= 0 or not e.get("kind") or not is_like(LIKE, e):
        return None
    e = {name: v for name, v in e.items() if name == "kind" or v in WORDS.get(name, (v,))}
    if "quotas" in e:
        e["quotas"] = [{name: v for name, v in q.items() if name != "resetAt" or instant_of(v)} for q in e["quotas"]]
    if "failed" in e:
        e["failed"] = [{**f, "error": read_record({"v": 1, **fields_of(f.get("error"))}) or {}} for f in e["failed"]]
    return e


_INSTANT = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,6})\d*)?(?:[Zz]|([+-]\d\d:\d\d))")


def instant_of(text: Any) -> datetime | None:
    """Returns an instant of RFC 3339; None if the text is not one."""
    found = _INSTANT.fullmatch(text) if isinstance(text, str) else None
    try:
        whole = found and f"{found[1]}T{found[2]}.{(found[3] or '').ljust(6, '0')}{found[4] or '+00:00'}"
        return datetime.fromisoformat(whole) if whole else None
    except ValueError:
        return None
