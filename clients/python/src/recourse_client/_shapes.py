"""Reading objects of the wire."""

from __future__ import annotations

from typing import Any

from ._paths import convert, is_of, match_text, put, store
from ._record import WORDS, Fields, fields_of, is_code, is_constant, list_of, read_record, same
from ._tables import PLACES, Subject, Tables, selects

MAX_ITEMS = 10_000  # of a list; one that is longer stays whole among the details


def fits(shape: Fields, raw: Any) -> bool:
    """Says whether a value may be in a shape: its constants and a code are present."""

    def stands(source: Any, v: Any) -> bool:
        if is_constant(source):
            return v is not None and same(v, source["is"])
        return not is_code(source) or convert(source, v) is not None

    return (
        isinstance(raw, dict)
        and any(map(is_code, shape.values()))
        and all(stands(source, raw.get(name)) for name, source in shape.items())
    )


def fits_whole(shape: Fields, raw: Any) -> bool:
    """Says whether a value has all members of a shape, each with the right type."""

    def stands(source: Any, v: Any) -> bool:
        if is_constant(source):
            return same(v, source["is"])
        wanted = list if "each" in source else dict if "shape" in source else object if ":" in source else str
        return isinstance(v, wanted if isinstance(source, dict) or wanted is str else object)

    return isinstance(raw, dict) and all(
        raw.get(name) is not None and stands(source, raw[name]) for name, source in shape.items() if name != "..."
    )


def read(c: Tables, source: Any, raw: Any, e: Fields, base: Fields) -> bool | None:
    """Stores the value of a source in base, a part of e. Says whether that has a place for all of it; None: the source
    cannot have written this value."""
    if isinstance(source, str):
        put(base, source, raw)
        return is_of(source, raw)
    if "is" in source:
        return same(raw, source["is"]) or None
    if "shape" in source:
        others = read_shape(c, source["shape"], raw, e, base)
        return None if others is None else not others
    if "own" in source:
        return any(read_own(c, layout, raw, e) for layout in c.layouts) or None
    if "text" in source:
        found = match_text(source["text"], raw) if isinstance(raw, str) else None
        store(base, found)
        return None if found is None else True
    if "list" in source:
        has_room = isinstance(raw, list) and len(raw) <= len(source["list"])
        is_read = (
            [read(c, one, item, e, base) is not None for one, item in zip(source["list"], raw)] if has_room else []
        )
        return (has_room and all(is_read)) or None
    if "oneOf" in source:
        return _read_choice(source["oneOf"], raw, e, base)
    if "each" in source:
        return _read_items(c, source, raw, e, base)
    return True


def _read_items(c: Tables, source: Fields, raw: Any, e: Fields, base: Fields) -> bool:
    if not isinstance(raw, list):
        return False
    items = base[source["each"]] = list_of(base.get(source["each"]))
    items += [{} for _ in raw[len(items) : MAX_ITEMS]]
    is_whole = [_read_item(c, source, item, e, into) for item, into in zip(raw, items)]
    return all(is_whole) and len(raw) <= MAX_ITEMS


def _read_item(c: Tables, source: Fields, item: Any, e: Fields, into: Fields) -> bool:
    """Reads an item: a text is its own name. Says whether it has a place for all of it: what was done is its own value
    then, and what is said about a failed item is a detail of that."""
    known, is_object, members = source["item"], isinstance(item, dict), fields_of(item)
    first = next((s for s in known.values() if isinstance(s, str)), None)
    others = read_shape(c, known, item, e, into) or []
    is_whole = is_object or item is None or first is None or read(c, first, item, e, into) is True
    named = [name for name, v in members.items() if name.endswith("Id") and isinstance(v, str)]
    if "id" in known and len(named) == 1 and not into.get("id"):
        into["id"] = members[named[0]]
        others = [name for name in others if name != named[0]]
    if source["each"] == "failed":
        error = into.setdefault("error", {})
        if "error" in others and "error" not in known and _read_inner(c, known, members["error"], e, into):
            others.remove("error")
        _keep_details(error, members, others)
        return is_whole
    is_whole = is_whole and not others
    if source["each"] != "succeeded" or (is_whole and is_object) or into.get("value") is not None:
        return is_whole
    into["value"] = item
    return True


def _read_inner(c: Tables, known: Fields, inner: Any, e: Fields, into: Fields) -> bool:
    """Reads what a failed item says of its failure in an object of its own. Says whether it is that."""
    error, id = into["error"], into.get("id", "")
    if not isinstance(inner, dict) or error.get("code"):
        return False
    others = read_shape(c, known, inner, e, into) or []
    if id or not error.get("code"):
        into["id"] = id
    if not error.get("code"):
        return False
    _keep_details(error, inner, others)
    return True


def read_shape(c: Tables, shape: Fields, raw: Any, e: Fields, base: Fields) -> list[str] | None:
    """Reads an object. Returns the names of the members that base has no place for; a record keeps them in its details.
    None: it does not have this shape."""
    if not isinstance(raw, dict):
        return None
    is_fit, rest = True, shape.get("...")
    others: list[str] = []
    # Other members show which of several sources has written a member: they are read first.
    for name, source in sorted(shape.items(), key=lambda m: isinstance(m[1], dict) and "oneOf" in m[1]):
        v = raw.get(name)
        if v is None or name == "...":
            is_fit = is_fit and not is_constant(source)
            continue
        is_whole = read(c, source, v, e, base)
        is_fit = is_fit and is_whole is not None
        inner = source.get("shape", {}).get("...") if isinstance(source, dict) else None
        if not is_whole and inner and not isinstance(v, dict):
            base.setdefault(inner, {})[name] = v  # of another type than is written
        elif not is_whole:
            others.append(name)
    for name in [name for name in raw if name not in shape]:
        if rest:
            base.setdefault(rest, {})[name] = raw[name]
        else:
            others.append(name)
    if base is e:
        _keep_details(e, raw, others)
        others = []
    return others if is_fit else None


def _keep_details(e: Fields, raw: Fields, names: list[str]) -> None:
    """Stores members of an object among the details of e: under other names, where these have something else."""
    for name in [name for name in names if raw[name] is not None]:
        details, free, n = e.setdefault("details", {}), name, 2
        while free in details and not same(details[free], raw[name]):
            free, n = f"{name}_{n}", n + 1
        details[free] = raw[name]


def _read_choice(choices: list[Fields], raw: Any, e: Fields, base: Fields) -> bool:
    """Stores a value that one of several sources may have written: a word of a closed set where it belongs, another in
    the first path that can hold it; and what the conditions of a constant say. Says whether there is a place for it."""

    def takes(choice: Fields) -> bool:
        path = choice.get("path")
        is_word = path is not None and raw in WORDS.get(path, (raw,))
        return is_word and path is not None and is_of(path, raw) and selects(choice.get("for"), Subject(e))

    at = next((i for i, choice in enumerate(choices) if "is" in choice and same(raw, choice["is"])), len(choices))
    words = [choice for choice in choices if choice.get("path") in WORDS and takes(choice)]
    takers = list(filter(takes, words or choices[:at]))
    for choice in takers[:1]:
        put(base, choice["path"], raw)
    for condition, values in choices[at].get("for", {}).items() if at < len(choices) and not words else ():
        if condition in ("kind", "resource", "upstream_code", "effect", "retry") and len(values) == 1:
            put(e, PLACES.get(condition, condition), values[0])
    return bool(takers) or at < len(choices)


def read_own(c: Tables, layout: Fields, raw: Any, e: Fields) -> bool:
    """Reads an object of the contract."""
    if "shape" not in layout:
        record = read_record(raw)
        e |= record or {}
        return record is not None and record.get("contract") == c.name
    is_own = fits(layout["shape"], raw)
    if is_own:
        read_shape(c, layout["shape"], raw, e, e)
        if "silence" in c.table:
            e.setdefault("retryable", c.table["silence"])
    return is_own
