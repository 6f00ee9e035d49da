"""What leaves the servers of the SDKs that are installed: as a client of the same SDK reads it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest

from recourse_client import Failure, NotFound, Question, Unavailable, recover
from recourse_client.server import failure_from, use


def tools(server: Any, annotations: Any) -> None:
    @server.tool()
    def get_field(id: str) -> dict[str, str]:
        raise NotFound("field", id)

    @server.tool()
    def order_create(reference: str) -> str:
        raise TimeoutError

    @server.tool(annotations=annotations)
    def order_get(reference: str) -> str:
        raise TimeoutError

    @server.tool()
    async def boom() -> str:
        raise ValueError("the soil is frozen")

    @server.tool()
    def ask():  # type: ignore[no-untyped-def]
        raise Question({"message": "Which farm?", "fields": ["farm"]})

    @server.tool()
    def fine(n: int) -> str:
        return "done"


def first_server() -> Any:
    annotations = import_module("mcp.types").ToolAnnotations(readOnlyHint=True)
    return import_module("mcp.server.fastmcp").FastMCP("test"), annotations


@asynccontextmanager
async def first_session(server: Any) -> AsyncIterator[Any]:
    memory = import_module("mcp.shared.memory")
    async with memory.create_connected_server_and_client_session(server._mcp_server) as session:
        yield session


def second_server() -> Any:
    annotations = import_module("mcp.types").ToolAnnotations(read_only_hint=True)
    return import_module("mcp.server.mcpserver").MCPServer("test"), annotations


@asynccontextmanager
async def second_session(server: Any) -> AsyncIterator[Any]:
    async with import_module("mcp").Client(server) as client:
        yield client


def fast_server() -> Any:
    return import_module("fastmcp").FastMCP("test"), {"readOnlyHint": True}


@asynccontextmanager
async def fast_session(server: Any) -> AsyncIterator[Any]:
    async with import_module("fastmcp").Client(server) as client:
        yield client


def has_fastmcp() -> bool:
    try:  # fastmcp-slim has only the client
        return hasattr(import_module("fastmcp"), "FastMCP")
    except ImportError:
        return False


HAS_MCP = find_spec("mcp") is not None
IS_SECOND = HAS_MCP and hasattr(import_module("mcp"), "Client")
SERVERS = [
    pytest.param(make, session, id=name, marks=pytest.mark.skipif(not is_there, reason=f"no {name}"))
    for make, session, name, is_there in (
        (first_server, first_session, "mcp 1", HAS_MCP and not IS_SECOND),
        (second_server, second_session, "mcp 2", IS_SECOND),
        (fast_server, fast_session, "fastmcp", has_fastmcp()),
    )
]


def failed(make: Callable[[], Any], connect: Any, contract: str, tool: str, arguments: Any, **options: Any) -> Failure:
    """Returns the failure that a client reads."""

    async def run() -> Failure:
        server, annotations = make()
        tools(server, annotations)
        use(server, contract, **options)
        async with connect(server) as session:
            with pytest.raises((Failure, Question)) as raised:
                await recover(session, contract).call_tool(tool, arguments)
            return raised.value  # type: ignore[return-value]

    return asyncio.run(asyncio.wait_for(run(), 60))


@pytest.mark.parametrize(("make", "connect"), SERVERS)
def test_a_raised_failure_leaves_in_the_form_of_the_contract(make: Any, connect: Any) -> None:
    failure = failed(make, connect, "fieldmcp", "get_field", {"id": "12"})
    assert (type(failure), failure.code, str(failure)) == (NotFound, "FIELD_NOT_FOUND", 'There is no field "12".')
    answer = failure.answer
    assert json.loads(answer.content[0].text)["suggestedAction"]
    assert failure.record["resource"] == {"type": "field", "id": "12"}


@pytest.mark.parametrize(("make", "connect"), SERVERS)
def test_a_write_that_was_late_may_have_taken_effect(make: Any, connect: Any) -> None:
    failure = failed(make, connect, "recourse", "order_create", {"reference": "A-17"})
    assert (failure.kind, failure.record["effect"]) == ("timeout", "unknown")


@pytest.mark.parametrize(("make", "connect"), SERVERS)
def test_any_other_exception_is_internal(make: Any, connect: Any) -> None:
    failure = failed(make, connect, "recourse", "boom", {})
    assert (failure.kind, str(failure)) == ("internal", "the soil is frozen")
    hidden = failed(make, connect, "recourse", "boom", {}, reveal=False)
    assert str(hidden) == "An internal error occurred."


@pytest.mark.parametrize(("make", "connect"), SERVERS)
def test_arguments_and_tools_are_the_caller_s(make: Any, connect: Any) -> None:
    failure = failed(make, connect, "recourse", "get_field", {})
    assert (failure.kind, str(failure)) == ("missing_param", "Parameter id is required.")
    failure = failed(make, connect, "recourse", "fine", {"n": "many"})
    assert (failure.kind, str(failure)[:20]) == ("invalid_type", "Parameter n must be ")
    assert failed(make, connect, "recourse", "no_such_tool", {}).kind == "unknown_tool"


@pytest.mark.parametrize(("make", "connect"), SERVERS)
def test_a_question_is_asked(make: Any, connect: Any) -> None:
    assert str(failed(make, connect, "patterns", "ask", {})) == "Which farm?"


@pytest.mark.parametrize(("make", "connect"), SERVERS)
def test_a_success_is_not_touched(make: Any, connect: Any) -> None:
    async def run() -> Any:
        server, annotations = make()
        tools(server, annotations)
        use(server, "fieldmcp")
        async with connect(server) as session:
            return await session.call_tool("fine", {"n": 1})

    assert asyncio.run(run()).content[0].text == "done"


def test_exceptions_become_failures() -> None:
    for error, kind in (
        (ConnectionRefusedError(), "unreachable"),
        (TimeoutError(), "timeout"),
        (KeyError("x"), "internal"),
        (Unavailable("John Deere"), "unavailable"),
    ):
        failure = failure_from(error)
        assert isinstance(failure, Failure)
        assert failure.kind == kind
