from contextlib import AsyncExitStack
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from rig import converse, play


async def run(task: dict[str, Any]) -> str:
    async with AsyncExitStack() as stack:
        if "url" in task:
            streams = await stack.enter_async_context(streamablehttp_client(task["url"]))
        else:
            command, *args = task["command"]
            streams = await stack.enter_async_context(stdio_client(StdioServerParameters(command=command, args=args)))
        session = await stack.enter_async_context(ClientSession(*streams[:2]))
        await session.initialize()
        listed = await session.list_tools()

        async def call(name: str, arguments: dict[str, Any]) -> str:
            result = await session.call_tool(name, arguments)
            return "\n".join(block.text for block in result.content if block.type == "text")

        return await converse(task, {tool.name: tool.inputSchema for tool in listed.tools}, call)


play(run)
