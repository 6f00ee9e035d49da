"""A contract as tables, read from JSON."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from ._failure import Failure
from ._kinds import KINDS
from ._paths import get, parts_of
from ._record import (
    Fields,
    advice_of,
    class_of,
    fields_of,
    is_code_word,
    kind_of,
    list_of,
    number_of,
    text_of,
    usual_advice,
)

# The form of the JSON that this version reads. A contract of a later form says more than it understands.
FORM = 1
_CONTRACTS = resources.files("recourse_client").joinpath("contracts")


class ContractError(ValueError):
    """A contract cannot be loaded: there is none of that name, it is broken, or it is of a newer form."""


class Tables:
    """The tables of a contract, and what is looked up in them."""

    name: str
    title: str

    def __init__(self, source: str | os.PathLike[str] | Mapping[str, Any] | Tables) -> None:
        table = source.table if isinstance(source, Tables) else _checked(*_loaded(source))
        self.table: Fields = table
        self.name, self.title = table["name"], table.get("title", "")
        self.codes: list[Fields] = table["codes"]
        by_code = {word: entry for entry in reversed(self.codes) for word in reversed(entry.get("reads", ()))}
        self.by_code: dict[str, Fields] = {**by_code, **{entry["code"]: entry for entry in self.codes}}
        self.open = next((entry for entry in self.codes if "open" in entry), None)  # of words that are not listed
        self.default = self.by_code[table["default"]]
        self.layouts: list[Fields] = table["layouts"]
        self.exceptions: dict[str, type[Failure]] = {}  # for codes that have one of their own
        self.in_ms = '"afterMs:ms"' in json.dumps([table["layouts"], table["forms"], self.codes])

    def __repr__(self) -> str:
        return f"<contract {self.name}>"


# What a table may have instead of nothing.
_EMPTY: Fields = {
    "forms": [],
    "ranges": [],
    "returned": [],
    "verify": {},
    "batch": {},
    "expects": {},
    "readers": [],
    "advised": [],
    "hints": [],
    "literals": "json",
    "showsValues": False,
    "unknownTool": "",
}
_RULE = {"retries": 0, "startMs": 0, "factor": 0, "jitterMs": 0, "jitterFrom": 0}
_POLL = {"wait": "", "next": "", "failure": {}, "status": [""], "pending": [""], "failed": [""], "reason": [""]}
_WANTED: Fields = {
    "name": "",
    "default": "",
    "retry": _RULE,
    "codes": [{"code": "", "kind": "", "for": [{}], "retryable": None}],
}
_ALLOWED: Fields = {
    "title": "",
    "unknownTool": "",
    "literals": "",
    "layouts": [{}],
    "returned": [""],
    "forms": [{}],
    "hints": [{"text": ""}],
    "ranges": [{"from": 0, "to": 0, "kind": ""}],
    "verify": {},
    "poll": _POLL,
    "batch": {},
    "expects": {},
    "readers": [""],
    "advised": [""],
    "codes": [
        {
            "reads": [""],
            "message": [""],
            "set": {},
            "hint": [{"text": ""}],
            "http": {"status": 0},
            "rpc": {"code": 0, "messages": [""]},
            "ask": {"for": [{}], "messages": [""]},
            "otherwise": "",
            "waitMs": 0,
        }
    ],
}
_CONDITIONS = (
    "kind",
    "class",
    "status",
    "params",
    "has",
    "retry",
    "tool",
    "at",
    "nature",
    "resource",
    "upstream_code",
    "rule",
    "basis",
    "effect",
    "origin",
    "code",
    "provider",
)
_TYPES: dict[type, str] = {str: "a text", int: "a number", list: "a list", dict: "an object"}


def _loaded(source: str | os.PathLike[str] | Mapping[str, Any]) -> tuple[str, Any]:
    """Returns what a contract is called in a message, and its JSON."""
    if isinstance(source, Mapping):
        return f"contract {text_of(source.get('name')) or '(without a name)'}", source
    if isinstance(source, str) and re.fullmatch(r"[a-z0-9_-]+", source):
        file = _CONTRACTS.joinpath(source + ".json")
        if not file.is_file():
            raise ContractError(
                f"there is no built-in contract {source}: there are {', '.join(builtin())}. The path of a "
                "file ends in .json"
            )
        return f"contract {source}", json.loads(file.read_text(encoding="utf-8"))
    try:
        return os.fspath(source), json.loads(Path(source).read_text(encoding="utf-8"))
    except OSError as error:
        raise ContractError(f"{os.fspath(source)}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ContractError(
            f"{os.fspath(source)} is not JSON: {error}. recourse contract gen FILE --lang json writes "
            "a contract as JSON"
        ) from None


def builtin() -> list[str]:
    """Returns the names of the built-in contracts."""
    return sorted(file.name[: -len(".json")] for file in _CONTRACTS.iterdir() if file.name.endswith(".json"))


def _checked(what: str, raw: Any) -> Fields:
    """Returns the tables of a contract, with empty ones for those that it does not have."""

    def broken(why: str) -> ContractError:
        return ContractError(f"{what}: {why}")

    if not isinstance(raw, Mapping) or not isinstance(raw.get("form"), int):
        raise broken("this is not a contract as recourse contract gen --lang json writes it: form is missing")
    if raw["form"] > FORM:
        raise broken(
            f"it has form {raw['form']}, and this version of recourse-client reads form {FORM}: install a newer one"
        )
    for why in (*_misses(_WANTED, dict(raw), "", True), *_misses(_ALLOWED, dict(raw), "", False)):
        raise broken(why)
    table = {**_EMPTY, **raw}
    if not table["layouts"]:
        raise broken("layouts is empty")
    for i, entry in enumerate(table["codes"]):
        if entry["kind"] not in KINDS:
            raise broken(f"codes.{i}.kind: {entry['kind']} is not a kind that this version of recourse-client knows")
        for condition in [name for selector in entry["for"] for name in selector]:
            if condition not in _CONDITIONS:
                raise broken(f"codes.{i}.for: this version of recourse-client does not know the condition {condition}")
    codes = [entry["code"] for entry in table["codes"]]
    for name, word in [("default", table["default"])] + [
        ("otherwise", e["otherwise"]) for e in table["codes"] if "otherwise" in e
    ]:
        if word not in codes:
            raise broken(f"{name}: there is no code {word}")
    return table


def _misses(example: Any, value: Any, at: str, must: bool) -> Iterable[str]:
    """Says in which members a value is not like an example, whose members it must have, or may have."""
    if example is not None and (
        isinstance(value, bool) or not isinstance(value, (int, float) if example == 0 else type(example))
    ):
        yield f"{at or 'the contract'} is not {_TYPES[type(example)]}"
    elif isinstance(example, list):
        for i, item in enumerate(value):
            yield from _misses(example[0], item, f"{at}.{i}", must)
    elif isinstance(example, dict):
        for name in example:
            place = f"{at}.{name}" if at else name
            if name in value:
                yield from _misses(example[name], value[name], place, must)
            elif must:
                yield f"{place} is missing"


class Subject:
    """A record as the contract sees it, with the tool of the call, and the point at which the call failed, if known."""

    def __init__(self, e: Fields, tool: str = "", at: str = "") -> None:
        self.e, self.tool, self.at = e, tool, at

    def get(self, path: str) -> Any:
        """Returns the value at a path; None if it is empty."""
        return get(self.e, path)


PLACES = {
    "resource": "resource.type",
    "upstream_code": "upstream.code",
    "rule": "violations.0.rule",
    "basis": "effectBasis",
}


def selects(selector: Any, s: Subject) -> bool:
    """Says whether all conditions of a selector hold."""
    return all(_holds(condition, values, s) for condition, values in (selector or {}).items())


def _holds(condition: str, values: list[str], s: Subject) -> bool:
    e = s.e
    match condition:
        case "kind":
            return kind_of(e) in values
        case "class":
            return class_of(e) in values
        case "status":
            return is_status(values, number_of(get(e, "upstream.status")))
        case "params":
            return {text_of(fields_of(v).get("param")) for v in list_of(e.get("violations"))} == set(values)
        case "has":
            return all(s.get(path) is not None for path in values)
        case "retry":
            return advice_of(e) in values
        case "tool":
            return s.tool in values
        case "at":
            return (s.at or "tool") in values
        case "nature":
            return "known" in values  # authors know their tools
    return text_of(get(e, PLACES.get(condition, condition))) in values


def is_status(values: list[str], status: int) -> bool:
    """Says whether an HTTP status is one of these: 404, 5xx, none."""
    text = str(status) if status else "none"
    return text in values or text[0] + "xx" in values


def choose(c: Tables, s: Subject) -> tuple[Fields, str]:
    """Returns the entry of a record, and the code that the record has there."""
    code = text_of(s.e.get("code"))
    if s.e.get("contract") == c.name and code:
        return c.by_code.get(code) or c.open or c.default, code
    for entry in c.codes:
        word = entry["code"] if entry is not c.open else _filled(entry["code"], s)
        if word and any(selects(selector, s) for selector in entry["for"]):
            return c.by_code.get(word, entry), word  # another's word may be one of the contract's own
    return c.default, c.default["code"]


def _filled(template: str, s: Subject) -> str:
    """Fills in the template of a code; "" if the result is not a word."""
    texts = [text if path is None else text_of(s.get(path)) or text for path, text in parts_of(template)]
    word = "".join(text or "" for text in texts)
    return word if all(texts) and is_code_word(word) else ""


def is_retryable(e: Fields, entry: Fields, code: str) -> bool:
    """Says whether the same call may succeed. A code that is never retryable stays so, and of one that is not listed
    the failure decides. That a call may have taken effect is not overruled, nor is advice other than the kind's."""
    rule, is_same, is_unknown = entry["retryable"], advice_of(e) == "same_call", e.get("effect") == "unknown"
    if rule == "stated":
        return is_same and e.get("retry") == "same_call"
    if rule == "error" or (code != entry["code"] and "open" not in entry):
        return is_same
    if rule is False or is_unknown or is_same != (usual_advice(e) == "same_call"):
        return is_same and rule is not False
    status = number_of(get(e, "upstream.status"))
    return rule if rule is True else is_status(rule, status) if status else is_same
