"""OpenAI Agents:

async with MCPServerStreamableHttp(params) as server:
    agent = Agent(name="farm", mcp_servers=[recovering(server, "fieldmcp")])
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from ._contract import Contract, know_tools, recover
from ._options import Options
from ._record import Fields

__all__ = ["recovering"]

S = TypeVar("S")


def recovering(server: S, contract: str | Contract = "recourse", options: Options | None = None) -> S:
    """Makes the calls of an MCPServer do what the contract says when one fails, and returns the server. What is left
    the model reads, instead of being told to try again."""
    listed: Any = server
    session = recover(_Server(listed.call_tool), contract, replace(options or Options(), returns=True))

    async def call_tool(tool_name: str, arguments: Fields | None, meta: Fields | None = None) -> Any:
        await know_tools(session, listed.list_tools)
        return await session.call_tool(tool_name, arguments, *([] if meta is None else [meta]))

    server.call_tool = call_tool  # type: ignore[attr-defined]
    return server


class _Server:
    def __init__(self, call_tool: Any) -> None:
        self.call_tool = call_tool
