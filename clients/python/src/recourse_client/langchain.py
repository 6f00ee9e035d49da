"""langchain-mcp-adapters, for LangChain and LangGraph:

client = MultiServerMCPClient(servers, tool_interceptors=[recovering("fieldmcp")])
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from ._contract import Contract, recover
from ._http import plain
from ._options import Options
from ._record import Fields
from ._server import Server

__all__ = ["recovering"]

Interceptor = Callable[[Any, Callable[[Any], Awaitable[Any]]], Awaitable[Any]]


def recovering(contract: str | Contract = "recourse", options: Options | None = None) -> Interceptor:
    """Returns an interceptor that does what the contract says when a call fails. What is left the model reads as a tool
    message of its own, behind which nothing is added."""
    c = contract if isinstance(contract, Contract) else Contract(contract)
    given = options or Options()
    servers: dict[str, Server] = {}

    async def intercept(request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        from langchain_core.messages import ToolMessage  # type: ignore[import-not-found,unused-ignore]

        server = given.server or servers.setdefault(request.server_name, Server())
        session = recover(_Handler(request, handler), c, replace(given, returns=True, server=server))
        result = await session.call_tool(request.name, request.args)
        answer, id = plain(result), getattr(request.runtime, "tool_call_id", None)
        if not answer.get("isError") or id is None:
            return result
        text = "\n".join(block["text"] for block in answer["content"] if block.get("type") == "text")
        return ToolMessage(content=text, status="error", tool_call_id=id, name=request.name, artifact=answer)

    return intercept


class _Handler:
    """What the adapters call a tool with, as a session."""

    def __init__(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> None:
        self.request, self.handler = request, handler

    async def call_tool(self, name: str, arguments: Fields) -> Any:
        return await self.handler(self.request.override(name=name, args=arguments))
