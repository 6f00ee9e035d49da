"""Contracts as JSON, and failures as exceptions."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from recourse_client import (
    Contract,
    ContractError,
    Failure,
    InvalidValue,
    MissingParam,
    NotFound,
    Options,
    Partial,
    RateLimited,
    Unavailable,
    builtin,
    recover,
)


def test_the_built_in_contracts_load() -> None:
    assert builtin() == ["commerce", "fieldmcp", "patterns", "recourse", "studies", "terra"]
    assert [Contract(name).name for name in builtin()] == builtin()


def test_a_file_loads(tmp_path: Path) -> None:
    file = tmp_path / "shop.json"
    file.write_text(json.dumps({**Contract("recourse").table, "name": "shop"}))
    assert Contract(file).name == Contract(str(file)).name == "shop"


def changed(change: Any) -> dict[str, Any]:
    table = copy.deepcopy(Contract("fieldmcp").table)
    change(table)
    return table


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.update(form=2), "form 2, and this version of recourse-client reads form 1: install a newer one"),
        (lambda t: t.pop("form"), "form is missing"),
        (lambda t: t.pop("codes"), "codes is missing"),
        (lambda t: t["codes"][3].pop("kind"), "codes.3.kind is missing"),
        (lambda t: t["codes"][3].update(kind="melted"), "codes.3.kind: melted is not a kind that this version"),
        (lambda t: t["codes"][3].update(message="no list"), "codes.3.message is not a list"),
        (lambda t: t["codes"][0]["for"].append({"weather": ["rain"]}), "does not know the condition weather"),
        (lambda t: t.update(default="NO_SUCH_CODE"), "default: there is no code NO_SUCH_CODE"),
        (lambda t: t["retry"].update(retries="3"), "retry.retries is not a number"),
        (lambda t: t.update(layouts=[]), "layouts is empty"),
    ],
)
def test_a_broken_or_newer_contract_says_what_is_wrong(change: Any, message: str) -> None:
    with pytest.raises(ContractError, match=message) as raised:
        Contract(changed(change))
    assert str(raised.value).startswith("contract fieldmcp: ")


def test_what_is_no_contract_says_so(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "other.json").write_text("[]")
    for source, message in {
        "fieldmpc": "there is no built-in contract fieldmpc: there are commerce, fieldmcp",
        str(tmp_path / "missing.json"): "No such file or directory",
        str(tmp_path / "broken.json"): "is not JSON",
        str(tmp_path / "other.json"): "this is not a contract as recourse contract gen --lang json writes it",
    }.items():
        with pytest.raises(ContractError, match=message):
            Contract(source)


def test_failures_are_constructed_as_in_go() -> None:
    assert NotFound("field", "12").record == {
        "v": 1,
        "kind": "not_found",
        "message": 'There is no field "12".',
        "resource": {"type": "field", "id": "12"},
        "retry": "after_fix",
    }
    assert str(MissingParam("a", "range.from")) == "Parameters a and range.from are required."
    assert MissingParam("range.from").record["violations"][0]["pointer"] == "/range/from"
    assert RateLimited(7, hints=["Later."]).record["afterMs"] == 7000
    assert InvalidValue("n", "at least 1", 0).record["violations"][0]["got"] == 0
    assert str(Unavailable()) == "The server is not available at the moment."
    partial = Partial([{"id": "a"}], {"b": NotFound("field", "b")})
    assert partial.record["failed"][0]["error"]["kind"] == "not_found"


def test_a_code_may_have_its_own_exception() -> None:
    contract = Contract("fieldmcp")

    class FieldNotFound(NotFound):
        code, contract = "FIELD_NOT_FOUND", Contract("fieldmcp")

    form = {"error": True, "code": "FIELD_NOT_FOUND", "message": "There is none.", "retryable": False}
    answer = {"content": [], "structuredContent": form, "isError": True}
    assert type(contract.parse_result(answer)) is NotFound
    assert type(FieldNotFound.contract.parse_result(answer)) is FieldNotFound
    assert FieldNotFound("field", "12").record["code"] == "FIELD_NOT_FOUND"


def test_failures_can_be_copied() -> None:
    failure = Failure.of({"kind": "not_found", "message": "No."})
    for other in (copy.copy(failure), pickle.loads(pickle.dumps(failure))):
        assert (type(other), other.record, str(other)) == (NotFound, failure.record, "No.")


def test_a_decision_needs_no_session() -> None:
    contract = Contract("recourse")
    assert contract.decide(RateLimited(7), "reads", 1, 60_000, 0).wait_ms == 7000
    assert not contract.decide(Failure.of({"kind": "timeout"}), "writes", 1, 60_000).repeat


LIMITED = {"isError": True, "content": [{"type": "text", "text": "[rate_limited] Later."}]}


@pytest.mark.parametrize(
    ("arguments", "answers", "keys"),
    [
        ({}, [LIMITED, {"content": []}], ["k", "k"]),
        ({"workspace_id": "w"}, [OSError("reset"), {"content": []}], ["k", None]),  # a verify call is another call
    ],
)
def test_each_repetition_carries_the_key(arguments: Any, answers: list[Any], keys: list[str | None]) -> None:
    got = []

    class Session:
        async def call_tool(self, name: str, arguments: Any, meta: Any = None) -> Any:
            got.append((meta or {}).get("io.github.recoursehq/idempotencyKey"))
            answer = answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

    async def call() -> None:
        async def sleep(_: float) -> None: ...

        session = recover(Session(), "studies", Options(sleep=sleep))
        with contextlib.suppress(Failure):
            await session.call_tool("study_create", arguments, key="k")

    asyncio.run(call())
    assert got == keys
