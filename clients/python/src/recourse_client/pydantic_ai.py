"""Pydantic AI, whose MCPToolset takes a Client of fastmcp:

agent = Agent(model, toolsets=[MCPToolset(recovering(Client(url), "fieldmcp"), tool_error_behavior="failed")])
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from ._contract import Contract, know_tools, recover
from ._options import Options
from ._record import Fields

__all__ = ["recovering"]

C = TypeVar("C")


def recovering(client: C, contract: str | Contract = "recourse", options: Options | None = None) -> C:
    """Makes the calls of a Client of fastmcp do what the contract says when one fails, and returns the client. What is
    left is returned as a result in the contract's form."""
    listed: Any = client
    session = recover(_Client(listed.call_tool), contract, replace(options or Options(), returns=True))

    async def call_tool(name: str, arguments: Fields | None = None, **named: Any) -> Any:
        await know_tools(session, listed.list_tools)
        return await session.call_tool(name, arguments, **{**named, "raise_on_error": False})

    client.call_tool = call_tool  # type: ignore[attr-defined]
    return client


class _Client:
    def __init__(self, call_tool: Any) -> None:
        self.call_tool = call_tool
