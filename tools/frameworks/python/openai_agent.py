from typing import Any

from agents import Agent, OpenAIResponsesModel, Runner
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from openai import AsyncOpenAI
from rig import play


async def run(task: dict[str, Any]) -> str:
    if "url" in task:
        server = MCPServerStreamableHttp({"url": task["url"]})
    else:
        command, *args = task["command"]
        server = MCPServerStdio({"command": command, "args": args})
    model = OpenAIResponsesModel("scripted", AsyncOpenAI(base_url=task["model"], max_retries=0))
    async with server:
        said = await Runner.run(Agent(name="shop", model=model, mcp_servers=[server]), task["prompt"])
    return str(said.final_output)


play(run)
