"""Reading in the contract's forms."""

from __future__ import annotations

import re
from typing import Any

from ._complete import completed
from ._paths import is_framed, match_text, parts_of, put, store
from ._record import Fields, cut, is_code, is_code_word, is_constant, parse_json, text_of
from ._shapes import MAX_ITEMS, fits_whole, read_own, read_shape
from ._tables import Tables


def _own_object(c: Tables, layout: Fields, raw: Any, is_sure: bool) -> Fields | None:
    """Returns the record of an object of the contract; None if it is not one."""
    e: Fields = {}
    is_sure = is_sure or any(map(is_constant, layout.get("shape", {}).values()))
    return e if read_own(c, layout, raw, e) and (is_sure or e.get("code") in c.by_code) else None


def _own_text(c: Tables, layout: Fields, text: str, is_sure: bool) -> Fields | None:
    """Returns the record of a text of the contract, of either block; None if it is not one."""
    e = _own_line(c, layout, text, is_sure) if "line" in layout else _own_object(c, layout, parse_json(text), is_sure)
    found = match_text(layout["human"], text) if e is None and "human" in layout else None
    if found is not None:
        e = {}
        store(e, found)
        return e if _identify(c, e, text_of(e.get("message")), is_sure) else None
    return e


def _own_line(c: Tables, layout: Fields, text: str, is_sure: bool) -> Fields | None:
    """Reads a line with its hints and its envelope."""
    envelope, hints, enveloped = layout.get("envelope"), layout.get("hints", {}), None
    e: Fields = {}
    at = text.rfind(envelope["mark"]) if envelope else -1
    if (
        envelope
        and at >= 0
        and read_shape(c, envelope["shape"], parse_json(text[at + len(envelope["mark"]) :]), e, e) is not None
    ):
        text, enveloped = text[:at], e.get("code")
    if hints:  # on lines of their own they are told from the sentence, which goes on with two spaces
        is_line = hints["before"] == "\n"
        mark = re.search("\n(?!  )" if is_line else re.escape(hints["before"]), text)
        given = text[mark.end() :].split(hints["between"]) if mark else []
        text = text[: mark.start()] if mark else text
        text = text.replace("\n  ", "\n") if is_line else text
        if mark and "hints" not in e:
            e["hints"] = [hint for hint in given[:MAX_ITEMS] if hint.strip()]
    found = match_text(layout["line"], text)
    store(e, found)
    if found is None or not any(is_code(path) for path, _ in found):
        return e if found is not None and _identify(c, e, text, is_sure) else None
    word = text_of(e.get("code"))
    if c.open and is_code_word(word) and (is_sure or enveloped == word):
        return e
    return e if word in c.by_code else None


def _identify(c: Tables, e: Fields, text: str, is_sure: bool) -> bool:
    """Finds the code whose own sentence is in a text, the longest first. Says whether there is one."""
    longest = 0
    for entry in c.codes:
        for template in entry.get("message", ()):
            fixed, sentence = [t or "" for path, t in parts_of(template) if path is None], text
            if not is_framed(template):  # it may stand anywhere in the text
                sentence = text[max(text.find(fixed[0]), 0) : text.rfind(fixed[-1]) + len(fixed[-1])]
            is_own = is_sure if is_framed(template) else "http" not in entry or (sentence == text and " " in text)
            length = sum(map(len, fixed))
            if length > longest and is_own and match_text(template, sentence) is not None:
                longest, e["code"], e["message"] = length, entry["code"], sentence
    return longest > 0


def read_forms(c: Tables, text: str, objects: list[Any], is_sure: bool) -> Fields | None:
    """Reads an answer in the contract's own forms, and in other known forms; None for any other answer."""
    e: Fields | None
    for raw in objects:
        forms = (form for form in c.table["forms"] if "shape" in form and fits_whole(form["shape"], raw))
        if form := next(forms, None):
            e = _with_constants({}, form)
            read_shape(c, form["shape"], raw, e, e)
            return completed(c, e, kind=e.get("kind"))  # it says one because its code leaves it open
        for layout in c.layouts:
            if "shape" in layout and (e := _own_object(c, layout, raw, is_sure)) is not None:
                return completed(c, e)
    for layout in c.layouts if text else ():
        if (e := _own_text(c, layout, text, is_sure)) is not None:
            return completed(c, e)
    for form in c.table["forms"] if text and is_sure else ():
        if "text" in form and (found := match_text(form["text"], text)) is not None:
            e = _with_constants({"message": cut(text)}, form)
            store(e, found)
            return completed(c, e)
    return None


def _with_constants(e: Fields, form: Fields) -> Fields:
    for path, value in form.get("set", {}).items():
        put(e, path, value)
    return e
