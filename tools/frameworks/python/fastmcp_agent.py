from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from rig import converse, play


async def run(task: dict[str, Any]) -> str:
    server = task["url"] if "url" in task else StdioTransport(task["command"][0], task["command"][1:])
    async with Client(server) as client:
        listed = await client.list_tools()

        async def call(name: str, arguments: dict[str, Any]) -> str:
            result = await client.call_tool(name, arguments)
            return "\n".join(block.text for block in result.content if block.type == "text")

        return await converse(task, {tool.name: tool.model_dump(by_alias=True)["inputSchema"] for tool in listed}, call)


play(run)
