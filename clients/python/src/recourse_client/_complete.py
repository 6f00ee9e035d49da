"""What the code of a failure adds to what was read."""

from __future__ import annotations

import re
from typing import Any

from ._kinds import KINDS, WIRE_KINDS
from ._paths import convert, get, is_framed, match_text, put, store
from ._record import Fields, class_of, dump, fields_of, list_of, number_of, text_of, usual_advice
from ._tables import Subject, Tables, choose, is_retryable


def kind_of_status(status: Any) -> str:
    general = "unknown" if not 400 <= status <= 599 else "client_error" if status < 500 else "server_error"
    return WIRE_KINDS.get(str(status), general)


def range_of(c: Tables, code: str) -> Fields | None:
    n = int(code) if re.fullmatch(r"[+-]?[0-9]+", code) else None
    return next((r for r in c.table["ranges"] if n is not None and r["from"] <= n <= r["to"]), None)


def completed(
    c: Tables, e: Fields, entry: Fields | None = None, kind: str | None = None, is_item: bool = False
) -> Fields:
    """Completes a record in the contract's form with the meaning of its code; entry, kind: replace the code's."""
    code, status, said = text_of(e.get("code")), number_of(get(e, "upstream.status")), e.get("kind")
    if not is_item and e.get("contract") == c.name:
        return e
    own = c.by_code.get(code) or (c.open if code else None)
    ranged = range_of(c, code)
    retryable = e.pop("retryable", None)
    if said not in KINDS:
        said, e["kind"] = None, ranged["kind"] if ranged else kind_of_status(status)
    if code:
        e["contract"] = c.name
        if not own and not ranged:
            e["upstream"] = {"code": code, **fields_of(e.get("upstream"))}  # the other side's own word
    for one in filter(None, (own, entry)):
        _apply(c, e, one)
    if entry:
        e["code"] = code
    e["kind"], own = kind or e["kind"], entry or own
    if retryable and own and own["retryable"] is False:
        retryable = False  # whatever the other side says
    others = [said] * bool(said) + [kind_of_status(status)] * (400 <= status <= 599)
    for other in others:  # of the kinds with this code, the other one tells more
        if own is None:
            break
        one = _say_retryable({**e, "kind": other, "contract": "", "code": ""}, retryable)
        if choose(c, Subject(one))[0] is own and retryable in (None, is_retryable(one, own, own["code"])):
            e["kind"] = other
            break
    _say_retryable(e, retryable)
    if retryable and own and own["retryable"] == "stated" and not e.get("effect"):  # safe to repeat: it did nothing
        e.update(effect="none", effectBasis="stated")
    type, id = text_of(get(e, "resource.type")), text_of(get(e, "resource.id"))
    if not e.get("message") and e["kind"] == "not_found" and type and id:
        e["message"] = f"There is no {type} {dump(id)}."  # what is not there is all that is told
    for item in list_of(e.get("failed")):
        item["error"] = completed(c, fields_of(item.get("error")), is_item=True)
    return e if is_item else _with_wait(c, {"origin": "server", **e})


def _with_wait(c: Tables, e: Fields) -> Fields:
    """Takes the wait that the other side states beside the members of the contract."""
    said = fields_of(e.get("details"))
    stated = number_of(said.get("retryAfter") or said.get("retry_after"))
    stated = stated * 1000 if stated < 1000 or not c.in_ms else stated  # some mean milliseconds
    wait = convert("afterMs:ms", number_of(said.get("retryAfterMs")) or stated)
    return {**e, "afterMs": wait} if wait and not e.get("afterMs") and class_of(e) in ("allowance", "upstream") else e


def _apply(c: Tables, e: Fields, entry: Fields) -> None:
    """Adds the properties of an entry: its kind, its constants, and the parts of its message."""
    e["kind"] = entry["kind"]
    if entry is c.open:
        store(e, match_text(entry["code"], text_of(e.get("code"))))
    else:
        e["code"] = entry["code"]
    for path, value in entry.get("set", {}).items():
        put(e, path, value)
    said = text_of(e.get("message"))
    for template in entry.get("message", ()):
        if (found := match_text(template, said)) is not None:
            store(e, found)
            e["message"] = e["message"] if is_framed(template) else said
            return


def _say_retryable(e: Fields, retryable: Any) -> Fields:
    """Stores the boolean on the wire as advice. A kind that names a way to retry overrides a mere false."""
    if retryable:
        e["retry"] = "same_call"
    elif retryable is not None and usual_advice(e) == "same_call":
        e["retry"] = "never"
    return e
