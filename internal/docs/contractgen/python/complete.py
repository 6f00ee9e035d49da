# ---- What the code of a failure adds to what was read.

def _kind_of_status(status):
    general = "unknown" if not 400 <= status <= 599 else "client_error" if status < 500 else "server_error"
    return WIRE_KINDS.get(str(status), general)


#{{if has "contract.ranges"}}
def _range_of(code):
    n = int(code) if re.fullmatch(r"[+-]?[0-9]+", code) else None
    return next((r for r in CONTRACT["ranges"] if n is not None and r["from"] <= n <= r["to"]), None)


#{{end}}
def _completed(e, entry=None, kind=None, is_item=False):
    """Completes a record in the contract's form with the meaning of its code; entry, kind: replace the code's."""
    code, status, said = _text(e.get("code")), _number(_get(e, "upstream.status")), e.get("kind")
    if not is_item and e.get("contract") == CONTRACT["name"]:
        return e
#{{if has "code.open"}}
    own = _BY_CODE.get(code) or (_OPEN if code else None)
#{{else}}
    own = _BY_CODE.get(code)
#{{end}}
#{{if has "contract.ranges"}}
    ranged = _range_of(code)
#{{end}}
    retryable = e.pop("retryable", None)
    if said not in KINDS:
#{{if has "contract.ranges"}}
        said, e["kind"] = None, ranged["kind"] if ranged else _kind_of_status(status)
#{{else}}
        said, e["kind"] = None, _kind_of_status(status)
#{{end}}
    if code:
        e["contract"] = CONTRACT["name"]
#{{if has "contract.ranges"}}
        if not own and not ranged:
#{{else}}
        if not own:
#{{end}}
            e["upstream"] = {"code": code, **_fields(e.get("upstream"))}  # the other side's own word
    for one in filter(None, (own, entry)):
        _apply(e, one)
    if entry:
        e["code"] = code
    e["kind"], own = kind or e["kind"], entry or own
    if retryable and own and own["retryable"] is False:
        retryable = False  # whatever the other side says
    others = [said] * bool(said) + [_kind_of_status(status)] * (400 <= status <= 599)
    for other in others if own else ():  # of the kinds with this code, the other one tells more
        one = _say_retryable({**e, "kind": other, "contract": "", "code": ""}, retryable)
        if _choose(one)[0] is own and retryable in (None, _is_retryable(one, own, own["code"])):
            e["kind"] = other
            break
    _say_retryable(e, retryable)
#{{if has "retryable.stated"}}
    if retryable and own and own["retryable"] == "stated" and not e.get("effect"):  # safe to repeat: it did nothing
        e.update(effect="none", effectBasis="stated")
#{{end}}
#{{if has "path resource.type"}}
    type, id = _text(_get(e, "resource.type")), _text(_get(e, "resource.id"))
    if not e.get("message") and e["kind"] == "not_found" and type and id:
        e["message"] = f"There is no {type} {_json(id)}."  # what is not there is all that is told
#{{end}}
#{{if has "path failed"}}
    for item in _list(e.get("failed")):
        item["error"] = _completed(_fields(item.get("error")), is_item=True)
#{{end}}
    return e if is_item else _with_wait({"origin": "server", **e})


def _with_wait(e):
    """Takes the wait that the other side states beside the members of the contract."""
    said = _fields(e.get("details"))
    stated = _number(said.get("retryAfter") or said.get("retry_after"))
#{{if has "path afterMs:ms"}}
    stated = stated * 1000 if stated < 1000 else stated  # some mean milliseconds
#{{else}}
    stated *= 1000
#{{end}}
    wait = _converted("afterMs:ms", _number(said.get("retryAfterMs")) or stated)
    return {**e, "afterMs": wait} if wait and not e.get("afterMs") and _class(e) in ("allowance", "upstream") else e


def _apply(e, entry):
    """Adds the properties of an entry: its kind, its constants, and the parts of its message."""
    e["kind"] = entry["kind"]
#{{if has "code.open"}}
    if entry is _OPEN:
        _store(e, _match(entry["code"], _text(e.get("code"))))
    else:
        e["code"] = entry["code"]
#{{else}}
    e["code"] = entry["code"]
#{{end}}
    for path, value in entry.get("set", {}).items():
        _set(e, path, value)
#{{if has "code.message"}}
    said = _text(e.get("message"))
    for template in entry.get("message", ()):
        if (found := _match(template, said)) is not None:
            _store(e, found)
            e["message"] = e["message"] if _is_framed(template) else said
            return
#{{end}}


def _say_retryable(e, retryable):
    """Stores the boolean on the wire as advice. A kind that names a way to retry overrides a mere false."""
    if retryable:
        e["retry"] = "same_call"
    elif retryable is not None and _usual_advice(e) == "same_call":
        e["retry"] = "never"
    return e
