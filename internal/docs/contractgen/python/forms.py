# ---- Reading in the contract's forms.

def _read_own(layout, raw, e):
    """Reads an object of the contract."""
#{{if has "contract.record"}}
    if "shape" not in layout:
        record = _read_record(raw)
        e |= record or {}
        return record is not None and record.get("contract") == CONTRACT["name"]
#{{end}}
    is_own = _fits(layout["shape"], raw)
    if is_own:
        _read_shape(layout["shape"], raw, e, e)
#{{if has "contract.silence"}}
        e.setdefault("retryable", CONTRACT["silence"])
#{{end}}
    return is_own


def _own_object(layout, raw, is_sure):
    """Returns the record of an object of the contract; None if it is not one."""
    e = {}
#{{if has "is"}}
    is_sure = is_sure or any(map(_is_constant, layout.get("shape", {}).values()))
#{{end}}
    return e if _read_own(layout, raw, e) and (is_sure or e.get("code") in _BY_CODE) else None


#{{if has "layouts.line" "layouts.human"}}
def _own_text(layout, text, is_sure):
    """Returns the record of a text of the contract, of either block; None if it is not one."""
#{{if has "layouts.line"}}
    e = _own_line(layout, text, is_sure) if "line" in layout else _own_object(layout, _parsed(text), is_sure)
#{{else}}
    e = _own_object(layout, _parsed(text), is_sure)
#{{end}}
    found = _match(layout["human"], text) if e is None and "human" in layout else None
    if found is not None:
        e = {}
        _store(e, found)
        return e if _identify(e, _text(e.get("message")), is_sure) else None
    return e


#{{end}}
#{{if has "layouts.line"}}
def _own_line(layout, text, is_sure):
    """Reads a line with its hints and its envelope."""
    envelope, hints, e, enveloped = layout.get("envelope"), layout.get("hints", {}), {}, None
    at = text.rfind(envelope["mark"]) if envelope else -1
    if at >= 0 and _read_shape(envelope["shape"], _parsed(text[at + len(envelope["mark"]):]), e, e) is not None:
        text, enveloped = text[:at], e.get("code")
    if hints:  # on lines of their own they are told from the sentence, which goes on with two spaces
        is_line = hints["before"] == "\n"
        mark = re.search("\n(?!  )" if is_line else re.escape(hints["before"]), text)
        given = text[mark.end():].split(hints["between"]) if mark else []
        text = text[:mark.start()] if mark else text
        text = text.replace("\n  ", "\n") if is_line else text
        if mark and "hints" not in e:
            e["hints"] = [hint for hint in given[:_MAX_ITEMS] if hint.strip()]
    found = _match(layout["line"], text)
    _store(e, found)
    if found is None or not any(_is_code(path) for path, _ in found):
        return e if found is not None and _identify(e, text, is_sure) else None
    word = _text(e.get("code"))
#{{if has "code.open"}}
    if _OPEN and _is_code_word(word) and (is_sure or enveloped == word):
        return e
#{{end}}
    return e if word in _BY_CODE else None


#{{end}}
def _identify(e, text, is_sure):
    """Finds the code whose own sentence is in a text, the longest first. Says whether there is one."""
    longest = 0
    for entry in CODES:
        for template in entry.get("message", ()):
            fixed, sentence = [t for path, t in _parts(template) if path is None], text
            if not _is_framed(template):  # it may stand anywhere in the text
                sentence = text[max(text.find(fixed[0]), 0):text.rfind(fixed[-1]) + len(fixed[-1])]
            is_own = is_sure if _is_framed(template) else "http" not in entry or (sentence == text and " " in text)
            length = sum(map(len, fixed))
            if length > longest and is_own and _match(template, sentence) is not None:
                longest, e["code"], e["message"] = length, entry["code"], sentence
    return longest > 0


def _read_forms(text, objects, is_sure):
    """Reads an answer in the contract's own forms, and in other known forms; None for any other answer."""
#{{if has "layouts.line" "layouts.human" "contract.forms"}}
    for raw in objects:
#{{if has "contract.forms"}}
        forms = (form for form in CONTRACT["forms"] if "shape" in form and _fits_whole(form["shape"], raw))
        if form := next(forms, None):
            e = _with_constants({}, form)
            _read_shape(form["shape"], raw, e, e)
            return _completed(e, kind=e.get("kind"))  # it says one because its code leaves it open
#{{end}}
        for layout in CONTRACT["layouts"]:
            if "shape" in layout and (e := _own_object(layout, raw, is_sure)) is not None:
                return _completed(e)
    for layout in CONTRACT["layouts"] if text else ():
#{{if has "layouts.line" "layouts.human"}}
        if (e := _own_text(layout, text, is_sure)) is not None:
#{{else}}
        if (e := _own_object(layout, _parsed(text), is_sure)) is not None:
#{{end}}
            return _completed(e)
#{{if has "contract.forms"}}
    for form in CONTRACT["forms"] if text and is_sure else ():
        if "text" in form and (found := _match(form["text"], text)) is not None:
            e = _with_constants({"message": _cut(text)}, form)
            _store(e, found)
            return _completed(e)
#{{end}}
#{{else}}
    for raw in (*objects, _parsed(text)):
        for layout in CONTRACT["layouts"]:
            if (e := _own_object(layout, raw, is_sure)) is not None:
                return _completed(e)
#{{end}}
    return None


def _with_constants(e, form):
    for path, value in form.get("set", {}).items():
        _set(e, path, value)
    return e
