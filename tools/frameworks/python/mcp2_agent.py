from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from rig import converse, play


async def run(task: dict[str, Any]) -> str:
    if "url" in task:
        server = task["url"]
    else:
        command, *args = task["command"]
        server = stdio_client(StdioServerParameters(command=command, args=args))
    async with Client(server) as client:
        listed = await client.list_tools()

        async def call(name: str, arguments: dict[str, Any]) -> str:
            result = await client.call_tool(name, arguments)
            return "\n".join(block.text for block in result.content if block.type == "text")

        return await converse(task, {tool.name: tool.input_schema for tool in listed.tools}, call)


play(run)
