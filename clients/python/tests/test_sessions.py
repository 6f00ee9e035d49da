"""What recover() does with the sessions of the SDKs that are installed."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from server import serve

from recourse_client import (
    BadResponse,
    Contract,
    Failure,
    MissingParam,
    NotFound,
    Options,
    Step,
    Timeout,
    _exchange,
    recover,
)

SERVER = [str(Path(__file__).with_name("server.py"))]


@asynccontextmanager
async def session_over_stdio() -> AsyncIterator[Any]:
    """The session of either version of the official SDK."""
    mcp = import_module("mcp")
    params = mcp.StdioServerParameters(command=sys.executable, args=SERVER)
    async with (
        import_module("mcp.client.stdio").stdio_client(params) as streams,
        mcp.ClientSession(*streams) as session,
    ):
        await session.initialize()
        yield session


@asynccontextmanager
async def client_over_stdio() -> AsyncIterator[Any]:
    """The client of version 2 of the official SDK."""
    mcp = import_module("mcp")
    async with mcp.Client(mcp.StdioServerParameters(command=sys.executable, args=SERVER)) as client:
        yield client


@asynccontextmanager
async def fastmcp_over_stdio() -> AsyncIterator[Any]:
    stdio = import_module("fastmcp.client.transports").StdioTransport(command=sys.executable, args=SERVER)
    async with import_module("fastmcp").Client(stdio) as client:
        yield client


def client(connect: Any, name: str, is_there: bool) -> Any:
    return pytest.param(connect, id=name, marks=pytest.mark.skipif(not is_there, reason=f"no {name}"))


HAS_MCP = find_spec("mcp") is not None
CLIENTS = [
    client(session_over_stdio, "mcp.ClientSession", HAS_MCP),
    client(client_over_stdio, "mcp.Client", HAS_MCP and hasattr(import_module("mcp"), "Client")),
    client(fastmcp_over_stdio, "fastmcp.Client", find_spec("fastmcp") is not None),
]


_now, _slept = _exchange.now, 0.0


async def no_sleep(seconds: float) -> None:
    """Waits take no time: the clock goes forward."""
    global _slept
    _slept += seconds * 1000


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_exchange, "now", lambda: _now() + _slept)


def run(work: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(work(), 60))  # type: ignore[arg-type]


def data(result: Any) -> Any:
    name = "structured_content" if hasattr(result, "structured_content") else "structuredContent"
    return getattr(result, name)


@pytest.mark.parametrize("client", CLIENTS)
def test_waits_as_long_as_the_server_asks(client: Any) -> None:
    async def work() -> None:
        async with client() as session:
            report: list[Step] = []
            options = Options(natures={"get_field": "reads"}, sleep=no_sleep, report=report, random=lambda: 0)
            result = await recover(session, "recourse", options).call_tool("get_field", {"id": "12"})
            assert data(result) == {"id": "12"}
            assert [round(step.wait_ms) for step in report if step.action == "wait"] == [7000]

    run(work)


@pytest.mark.parametrize("client", CLIENTS)
def test_reads_a_failure_in_the_form_of_a_contract(client: Any) -> None:
    async def work() -> None:
        async with client() as session:
            with pytest.raises(NotFound, match="There is no field 12") as raised:
                await recover(session, "fieldmcp").call_tool("unknown_field", {})
            assert raised.value.code == "FIELD_NOT_FOUND"
            assert raised.value.answer is not None

    run(work)


@pytest.mark.parametrize("client", CLIENTS)
def test_reads_a_json_rpc_error(client: Any) -> None:
    async def work() -> None:
        async with client() as session:
            with pytest.raises(MissingParam, match="No id"):
                await recover(session).call_tool("bad", {})

    run(work)


@pytest.mark.parametrize("client", CLIENTS)
def test_does_not_take_a_result_that_the_sdk_rejects_for_a_refusal(client: Any) -> None:
    async def work() -> None:
        async with client() as session:
            await session.list_tools()  # with what results look like
            with pytest.raises(BadResponse) as raised:
                await recover(session).call_tool("order_count", {})
            assert raised.value.record.get("effect") != "none"

    run(work)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("landed", [True, False, None])
def test_makes_the_verify_call_of_a_lost_write(client: Any, landed: bool | None) -> None:
    async def work() -> None:
        async with client() as session:
            options = Options(natures={"order_get": "reads"}, sleep=no_sleep, landed=lambda v: landed)
            call = recover(session, "recourse", options).call_tool("order_create", {"reference": "A-17"})
            if landed:
                assert data(await call) == {"reference": "A-17"}
            else:
                with pytest.raises(Timeout):
                    await call

    run(work)


@pytest.mark.parametrize("client", CLIENTS)
def test_everything_else_is_the_session_s_own(client: Any) -> None:
    async def work() -> None:
        async with client() as session:
            tools = await recover(session).list_tools()
            assert "get_field" in [tool.name for tool in getattr(tools, "tools", tools)]

    run(work)


@pytest.mark.skipif(not find_spec("mcp"), reason="no mcp")
def test_keeps_what_the_sdk_drops_from_an_http_error() -> None:
    httpx = import_module("httpx2" if find_spec("httpx2") else "httpx")
    mcp, http = import_module("mcp"), import_module("mcp.client.streamable_http")
    contract = Contract("recourse")

    async def work() -> None:
        with serve([(429, {"Retry-After": "7"})] * 2) as (url, server):
            transport = contract.keep_failures(httpx.AsyncHTTPTransport())
            async with (
                httpx.AsyncClient(transport=transport) as client,
                http.streamable_http_client(url, http_client=client) as streams,
                mcp.ClientSession(*streams[:2]) as session,
            ):
                await session.initialize()
                report: list[Step] = []
                options = Options(natures={"order_get": "reads"}, sleep=no_sleep, report=report, random=lambda: 0)
                result = await recover(session, contract, options).call_tool("order_get", {"id": "1"})
                assert data(result) == {"id": "1"}
                assert [round(step.wait_ms / 1000) for step in report if step.action == "wait"] == [7, 14]
                assert server.calls["order_get"] == 1

    run(work)


@pytest.mark.skipif(not find_spec("fastmcp"), reason="no fastmcp")
def test_a_client_that_is_opened_later() -> None:
    async def work() -> None:
        stdio = import_module("fastmcp.client.transports").StdioTransport(command=sys.executable, args=SERVER)
        async with recover(import_module("fastmcp").Client(stdio), "fieldmcp") as session:
            with pytest.raises(NotFound):
                await session.call_tool("unknown_field", {})

    run(work)


def test_a_failure_says_what_it_was() -> None:
    class Down:
        async def call_tool(self, name: str, arguments: Any) -> Any:
            raise ConnectionRefusedError("no connection")

    async def work() -> None:
        with pytest.raises(Failure) as raised:
            await recover(Down(), options=Options(sleep=no_sleep)).call_tool("order_create", {})
        assert (raised.value.kind, raised.value.record["effect"]) == ("unreachable", "unknown")
        assert isinstance(raised.value.__cause__, ConnectionRefusedError)

    run(work)
