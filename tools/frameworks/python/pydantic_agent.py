from typing import Any

from fastmcp.client.transports import StdioTransport
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from rig import play


async def run(task: dict[str, Any]) -> str:
    server = task["url"] if "url" in task else StdioTransport(task["command"][0], task["command"][1:])
    provider = OpenAIProvider(openai_client=AsyncOpenAI(base_url=task["model"], max_retries=0))
    async with Agent(OpenAIChatModel("scripted", provider=provider), toolsets=[MCPToolset(server)]) as agent:
        return str((await agent.run(task["prompt"])).output)


play(run)
