"""Paths into a record, and templates of texts. After the colon of a path comes the type on the wire, unless it is text:
afterMs:seconds."""

from __future__ import annotations

import math
import re
from datetime import datetime, timezone
from functools import lru_cache
from typing import Any

from ._kinds import MAX_WAIT_MS
from ._record import Fields, dump, fields_of, is_empty, is_like, is_number, is_sentence, parse_json

# A part of a template: (None, text) or (path, the text to use if it is empty).
Part = tuple[str | None, Any]


def convert(path: str, raw: Any) -> Any:
    """Converts a value of the wire for the record; None if it is empty, or of another type."""
    type, value = path.partition(":")[2], _typed(path, raw)
    keeps_empty = path == "message" or type in ("any", "count", "flag", "given")
    return value if keeps_empty or not is_empty(value) else None


def is_of(path: str, raw: Any) -> bool:
    """Says whether a value has the type that a path has on the wire; what only a writer knows is not read."""
    return path.partition(":")[2] not in ("", *_TYPES) or _typed(path, raw) is not None


_TYPES = ["any", "flag", "number", "count", "whole", "ms", "seconds", "instant", "texts", "objects", "object", "given"]


def _typed(path: str, raw: Any) -> Any:
    """Converts a value of the wire for the record; None if it is of another type."""
    name, _, type = path.partition(":")
    whole = int(raw) if is_number(raw) and abs(raw) < 2**53 and raw == int(raw) else None
    match type:
        case "":
            if isinstance(raw, str):
                return raw
            # An identifier may be written as a number.
            is_id = is_number(raw) and name != "message" and not name.startswith("details.")
            return dump(raw if whole is None else whole) if is_id else None
        case "any":
            return raw
        case "flag":
            return raw if isinstance(raw, bool) else None
        case "number":
            return None if whole is None else str(whole)
        case "count" | "whole":
            return whole
        case "ms" | "seconds":
            n = parse_json(raw) if type == "seconds" and isinstance(raw, str) else raw
            n = n if isinstance(n, (int, float)) and not isinstance(n, bool) and n == n else None
            return None if n is None else math.floor(min(max(n * (1 if type == "ms" else 1000), 0), MAX_WAIT_MS) + 0.5)
        case "instant" if whole is not None and 0 <= whole <= 253_402_300_799_999:  # the end of the year 9999
            at = datetime.fromtimestamp(whole // 1000, timezone.utc).replace(microsecond=whole % 1000 * 1000)
            text = at.isoformat(timespec="milliseconds").removesuffix("+00:00")
            return text.rstrip("0").rstrip(".") + "Z"
        case "texts" if isinstance(raw, str):  # a list that is written as one text: OAuth writes scopes so
            return [one for one in (re.split("[ ,]+", raw) if name == "missingScopes" else [raw]) if one.strip()]
        case "texts" | "objects" | "object":
            return raw if is_like({"texts": [""], "objects": [{}], "object": {}}[type], raw) else None
    return raw if type == "given" and isinstance(raw, str) else None


def child(at: Any, step: str) -> Any:
    """Returns a member of an object, or an item of a list: by its index, or by its policy."""
    if isinstance(at, list):
        return next((item for i, item in enumerate(at) if step in (str(i), fields_of(item).get("policy"))), None)
    return fields_of(at).get(step)


def get(e: Any, path: str) -> Any:
    """Returns the value at a path; None if it is empty."""
    place, _, type = path.partition(":")
    for step in place.split("."):
        e = child(e, step)
    return e if type in ("any", "count") or not is_empty(e) else None


def put(at: Any, path: str, raw: Any) -> None:
    """Stores a value of the wire at a path, unless it is empty or of another type."""
    value, steps = convert(path, raw), path.partition(":")[0].split(".")
    for step, below in zip(steps, [*steps[1:], ""]) if value is not None else ():
        there: Any = child(at, step) if below else value
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


@lru_cache(None)
def parts_of(template: str) -> list[Part]:
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


def literal_of(template: str) -> str | None:
    """Returns the text of a template without placeholders; None if it has some."""
    return None if any(path for path, _ in parts_of(template)) else "".join(text for _, text in parts_of(template))


def is_framed(template: str) -> bool:
    return any(is_sentence(path) for path, _ in parts_of(template))


def match_text(template: str, text: str) -> list[tuple[str, str]] | None:
    """Parses a text that a template may have written: paths with their texts; None if it has another form."""
    parts, found = parts_of(template), []
    for i, (path, other) in enumerate(parts):
        end = len(text)
        if path is None:
            end = len(other) if text.startswith(other) else -1
        elif i + 1 < len(parts):
            after, literal = parts[i + 1]
            is_last = i + 2 == len(parts) or is_sentence(path)
            end = -1 if after else text.rfind(literal) if is_last else text.find(literal)
        if end < 0:
            return None
        if path is not None and (other is None or text[:end] != other):
            found.append((path, text[:end]))
        text = text[end:]
    return None if text else found


def store(e: Fields, found: list[tuple[str, str]] | None) -> None:
    """Stores the texts that a template has captured."""
    for path, text in found or ():
        type = path.partition(":")[2]
        value = text if type in ("", "given") else text.split(", ") if type == "texts" else parse_json(text)
        put(e, path, text if value is None and type == "any" else value)
