import sys
from typing import Any

from agent_framework import Agent, MCPStdioTool, MCPStreamableHTTPTool
from agent_framework.openai import OpenAIChatClient
from openai import AsyncOpenAI
from rig import play


async def run(task: dict[str, Any]) -> str:
    if "url" in task:
        tool = MCPStreamableHTTPTool("shop", task["url"])
    else:
        command, *args = task["command"]
        tool = MCPStdioTool("shop", command, args=args)
    client = OpenAIChatClient("scripted", async_client=AsyncOpenAI(base_url=task["model"], max_retries=0))
    if "set" in sys.argv:
        client.function_invocation_configuration["include_detailed_errors"] = True
    async with tool, Agent(client, tools=tool) as agent:
        return str(await agent.run(task["prompt"]))


play(run)
