# ---- Reading objects of the wire.

_MAX_ITEMS = 1000  # how much of a list is read


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
    """Stores the value of a source in base, a part of e. Says whether the source can have written this value."""
    if isinstance(source, str):
        _set(base, source, raw)
#{{if has "is"}}
    elif "is" in source:
        return _same(raw, source["is"])
#{{end}}
    elif "shape" in source:
        return _read_shape(source["shape"], raw, e, base)
#{{if has "own"}}
    elif "own" in source:
        return any(_read_own(layout, raw, e) for layout in CONTRACT["layouts"])
#{{end}}
#{{if has "text"}}
    elif "text" in source:
        found = _match(source["text"], raw) if isinstance(raw, str) else None
        _store(base, found)
        return found is not None
#{{end}}
#{{if has "list"}}
    elif "list" in source:
        return isinstance(raw, list) and all([_read(one, item, e, base) for one, item in zip(source["list"], raw)])
#{{end}}
#{{if has "oneOf"}}
    elif "oneOf" in source:
        _read_choice(source["oneOf"], raw, e, base)
#{{end}}
#{{if has "each"}}
    elif "each" in source:
        items = base[source["each"]] = _list(base.get(source["each"]))
        items += [{} for _ in _list(raw)[len(items):_MAX_ITEMS]]
        for item, into in zip(_list(raw), items):
            _read_item(source, item, e, into)
#{{end}}
    return True


#{{if has "each"}}
def _read_item(source, item, e, into):
    """A text is its own name. What was done and has more than the item has places for is its own value."""
    known, is_object = source["item"], isinstance(item, dict)
    _read_shape(known if is_object else {"": next(iter(known.values()))}, item if is_object else {"": item}, e, into)
    named = [v for k, v in item.items() if k.endswith("Id") and isinstance(v, str)] if is_object else []
    if "id" in known and len(named) == 1 and not into.get("id"):
        into["id"] = named[0]
    if source["each"] == "succeeded" and not (is_object and item.keys() <= known.keys()) and into.get("value") is None:
        into["value"] = item


#{{end}}
def _read_shape(shape, raw, e, base):
    if not isinstance(raw, dict):
        return False
    is_fit = True
#{{if has "oneOf"}}
    # Other members show which of several sources has written a member: they are read first.
    for name, source in sorted(shape.items(), key=lambda m: isinstance(m[1], dict) and "oneOf" in m[1]):
#{{else}}
    for name, source in shape.items():
#{{end}}
        v = raw.get(name)
#{{if has "is"}}
        if v is None or name == "...":
            is_fit = is_fit and not _is_constant(source)
        elif not _read(source, v, e, base):
#{{else}}
        if v is not None and name != "..." and not _read(source, v, e, base):
#{{end}}
            is_fit = False
#{{if has "..."}}
            if isinstance(source, dict) and "..." in source.get("shape", {}):
                base.setdefault(source["shape"]["..."], {})[name] = v  # of another type than is written
    for name in raw if "..." in shape else ():
        if name not in shape:
            base.setdefault(shape["..."], {})[name] = raw[name]
#{{end}}
    return is_fit


def _read_choice(choices, raw, e, base):
    """Stores a value that one of several sources may have written: a word of a closed set where it belongs, another in
    the first path that can hold it; and what the conditions of a constant say."""
    def takes(choice):
        path = choice.get("path")
        is_word = path and raw in _WORDS.get(path, (raw,))
        return is_word and _converted(path, raw) is not None and _selects(choice.get("for"), e)
    at = next((i for i, choice in enumerate(choices) if "is" in choice and _same(raw, choice["is"])), len(choices))
    words = [choice for choice in choices if choice.get("path") in _WORDS and takes(choice)]
    for choice in list(filter(takes, words or choices[:at]))[:1]:
        _set(base, choice["path"], raw)
    for condition, values in choices[at].get("for", {}).items() if at < len(choices) and not words else ():
        if condition in ("kind", "resource", "upstream_code", "effect", "retry") and len(values) == 1:
            _set(e, _PLACES.get(condition, condition), values[0])
