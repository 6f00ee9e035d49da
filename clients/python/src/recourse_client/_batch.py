"""Repeating the failed part of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._answers import data_of, id_of, items_of, whole_of
from ._decide import Decision, settle
from ._failure import Failure, Question
from ._http import plain
from ._record import Fields, dump, encode, fields_of, kind_of, list_of, number_of

if TYPE_CHECKING:
    from ._exchange import Exchange


def _argument(x: Exchange, e: Fields) -> str | None:
    """Returns the argument that lists the items: by the contract, or the only one with what has failed."""
    ids = {f.get("id") for f in list_of(e.get("succeeded")) + list_of(e.get("failed"))}
    found = [name for name, v in x.arguments.items() if ids and ids <= {id_of(item) for item in list_of(v)}]
    named: str | None = x.c.table["batch"].get(x.tool)
    return named or (found[0] if len(found) == 1 else None)


def tells_items(x: Exchange, e: Fields) -> bool:
    """Says whether a failure tells how each item failed: then the code of the whole does not decide about them."""
    return kind_of(e) == "partial" or bool(list_of(e.get("failed")) and _argument(x, e))


async def repeat_items(x: Exchange, result: Any, e: Fields) -> Any:
    """Repeats a call that has failed in part, with only the failed items that may succeed. An item that is never
    mentioned has failed."""
    argument, nature = _argument(x, e), x.nature(x.tool)
    items = {id_of(item): item for item in list_of(x.arguments.get(argument or ""))}
    asked, place = list(items), None
    done: list[Fields] = []
    failed: list[Fields] = []
    while True:
        await _hand(x, done, list_of(e.get("succeeded")))
        again: dict[str, Fields] = {}
        longest = Decision(False)
        for f in list_of(e.get("failed")):
            stated, d = fields_of(f.get("error")), Decision(False)
            if stated and f.get("id") in items and f["id"] not in [s.get("id") for s in done]:
                stated = stated if x.options.trusted else x.believed(stated, x.tool)
                stated = settle(x.c, stated, nature)
                after = max(number_of(stated.get("afterMs")), number_of(e.get("afterMs")))  # of the whole: for each
                d = x.judge({**stated, "afterMs": after} if after else stated, x.tool, x.attempt)
            if d.repeat:
                again[f["id"]] = f
                longest = d if d.wait_ms >= longest.wait_ms else longest
            else:
                failed.append(f)
        answer: Any = None
        next_failed: Failure | Question | None = None
        if again and await x.again(longest, e, "items that failed may succeed: "):
            arguments = {**x.arguments, argument or "": [items[id] for id in again]}
            answer, next_failed = await x.call("call", x.tool, arguments)
        if isinstance(next_failed, Failure) and x.is_sent:
            before, e = e, settle(x.c, next_failed.stated, nature)
            if not tells_items(x, e):
                each = [{"id": id, "error": e} for id in again]
                e = {**before, "message": None, "failed": each, "succeeded": []}
            told = [f.get("id") for f in list_of(e.get("succeeded")) + list_of(e.get("failed"))]
            failed += [f for id, f in again.items() if id not in told]
            items = {id: items[id] for id in again}
            continue
        found: list[Fields] = []
        if answer is not None and not next_failed:
            found, place = items_of(list(again), data_of(plain(answer)))
            await _hand(x, done, found)
        failed += [f for id, f in again.items() if id not in [s["id"] for s in found]]
        break
    told = [f.get("id") for f in done + failed]
    silent = {
        "kind": "bad_response",
        "message": "The answer does not say what became of it.",
        "retry": "never",
        "origin": "server",
    }
    failed += [{"id": id, "error": silent} for id in asked if id not in told]
    values = {s.get("id"): s["value"] for s in done if "value" in s}
    if not failed and place and len(done) == len(asked) and all(id in values for id in asked):
        return whole_of(plain(answer), place, [values[id] for id in asked])
    merged = {"succeeded": done, "failed": encode({"failed": failed}).get("failed", [])}
    text = {"type": "text", "text": dump(merged)}
    whole = {"content": [text], "structuredContent": merged, "isError": bool(failed)}
    if not failed:
        return whole
    if kind_of(e) != "partial" and done:  # the first answer had none
        code = next((entry["code"] for entry in x.c.codes if entry.get("kind") == "partial"), None)
        e = {"kind": "partial", "contract": x.c.name, "code": code, "origin": e.get("origin")}
    raise x.failure({**e, "succeeded": done, "failed": failed}, result, result and whole) from x.cause


async def _hand(x: Exchange, done: list[Fields], items: list[Fields]) -> None:
    items = [item for item in items if item.get("id") not in [s.get("id") for s in done]]
    done += items
    if items and x.options.succeeded:
        await x.hook("call", x.options.succeeded, items)
