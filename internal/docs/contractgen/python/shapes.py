# ---- Reading objects of the wire.

_MAX_ITEMS = 10_000  # of a list; one that is longer stays whole among the details


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
    """Stores the value of a source in base, a part of e. Says whether that has a place for all of it; None: the source
    cannot have written this value."""
    if isinstance(source, str):
        _set(base, source, raw)
        return _is_of(source, raw)
#{{if has "is"}}
    if "is" in source:
        return _same(raw, source["is"]) or None
#{{end}}
    if "shape" in source:
        others = _read_shape(source["shape"], raw, e, base)
        return None if others is None else not others
#{{if has "own"}}
    if "own" in source:
        return any(_read_own(layout, raw, e) for layout in CONTRACT["layouts"]) or None
#{{end}}
#{{if has "text"}}
    if "text" in source:
        found = _match(source["text"], raw) if isinstance(raw, str) else None
        _store(base, found)
        return None if found is None else True
#{{end}}
#{{if has "list"}}
    if "list" in source:
        has_room = isinstance(raw, list) and len(raw) <= len(source["list"])
        return has_room and None not in [_read(one, item, e, base) for one, item in zip(source["list"], raw)] or None
#{{end}}
#{{if has "oneOf"}}
    if "oneOf" in source:
        return _read_choice(source["oneOf"], raw, e, base)
#{{end}}
#{{if has "each"}}
    if "each" in source:
        return _read_items(source, raw, e, base)
#{{end}}
    return True


#{{if has "each"}}
def _read_items(source, raw, e, base):
    if not isinstance(raw, list):
        return False
    items = base[source["each"]] = _list(base.get(source["each"]))
    items += [{} for _ in raw[len(items):_MAX_ITEMS]]
    is_whole = [_read_item(source, item, e, into) for item, into in zip(raw, items)]
    return all(is_whole) and len(raw) <= _MAX_ITEMS


def _read_item(source, item, e, into):
    """Reads an item: a text is its own name. Says whether it has a place for all of it: what was done is its own value
    then, and what is said about a failed item is a detail of that."""
    known, is_object, members = source["item"], isinstance(item, dict), _fields(item)
    first = next((s for s in known.values() if isinstance(s, str)), None)
    others = _read_shape(known, item, e, into) or []
    is_whole = is_object or item is None or first is None or _read(first, item, e, into) is True
    named = [name for name, v in members.items() if name.endswith("Id") and isinstance(v, str)]
    if "id" in known and len(named) == 1 and not into.get("id"):
        into["id"] = members[named[0]]
        others = [name for name in others if name != named[0]]
    if source["each"] == "failed":
        error = into.setdefault("error", {})
        if "error" in others and "error" not in known and _read_inner(known, members["error"], e, into):
            others.remove("error")
        _keep_details(error, members, others)
        return is_whole
    is_whole = is_whole and not others
    if source["each"] != "succeeded" or (is_whole and is_object) or into.get("value") is not None:
        return is_whole
    into["value"] = item
    return True


def _read_inner(known, inner, e, into):
    """Reads what a failed item says of its failure in an object of its own. Says whether it is that."""
    error, id = into["error"], into.get("id", "")
    if not isinstance(inner, dict) or error.get("code"):
        return False
    others = _read_shape(known, inner, e, into)
    if id or not error.get("code"):
        into["id"] = id
    if not error.get("code"):
        return False
    _keep_details(error, inner, others)
    return True


#{{end}}
def _read_shape(shape, raw, e, base):
    """Reads an object. Returns the names of the members that base has no place for; a record keeps them in its details.
    None: it does not have this shape."""
    if not isinstance(raw, dict):
        return None
    is_fit, others, rest = True, [], shape.get("...")
#{{if has "oneOf"}}
    # Other members show which of several sources has written a member: they are read first.
    for name, source in sorted(shape.items(), key=lambda m: isinstance(m[1], dict) and "oneOf" in m[1]):
#{{else}}
    for name, source in shape.items():
#{{end}}
        v = raw.get(name)
        if v is None or name == "...":
#{{if has "is"}}
            is_fit = is_fit and not _is_constant(source)
#{{end}}
            continue
        is_whole = _read(source, v, e, base)
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


def _keep_details(e, raw, names):
    """Stores members of an object among the details of e: under other names, where these have something else."""
    for name in [name for name in names if raw[name] is not None]:
        details, free, n = e.setdefault("details", {}), name, 2
        while free in details and not _same(details[free], raw[name]):
            free, n = f"{name}_{n}", n + 1
        details[free] = raw[name]


#{{if has "oneOf"}}
def _read_choice(choices, raw, e, base):
    """Stores a value that one of several sources may have written: a word of a closed set where it belongs, another in
    the first path that can hold it; and what the conditions of a constant say. Says whether there is a place for it."""
    def takes(choice):
        path = choice.get("path")
        is_word = path and raw in _WORDS.get(path, (raw,))
        return is_word and _is_of(path, raw) and _selects(choice.get("for"), e)
    at = next((i for i, choice in enumerate(choices) if "is" in choice and _same(raw, choice["is"])), len(choices))
    words = [choice for choice in choices if choice.get("path") in _WORDS and takes(choice)]
    takers = list(filter(takes, words or choices[:at]))
    for choice in takers[:1]:
        _set(base, choice["path"], raw)
    for condition, values in choices[at].get("for", {}).items() if at < len(choices) and not words else ():
        if condition in ("kind", "resource", "upstream_code", "effect", "retry") and len(values) == 1:
            _set(e, _PLACES.get(condition, condition), values[0])
    return bool(takers) or at < len(choices)


#{{end}}
