from typing import Any

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_openai import ChatOpenAI
from rig import play


async def run(task: dict[str, Any]) -> str:
    if "url" in task:
        connection = {"transport": "http", "url": task["url"]}
    else:
        command, *args = task["command"]
        connection = {"transport": "stdio", "command": command, "args": args}
    client = MultiServerMCPClient({"shop": connection})
    model = ChatOpenAI(model="scripted", base_url=task["model"], max_retries=0)
    agent = create_agent(model, await client.get_tools())
    said = await agent.ainvoke({"messages": [("user", task["prompt"])]})
    return said["messages"][-1].content


play(run)
