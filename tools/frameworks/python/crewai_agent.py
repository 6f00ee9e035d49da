from typing import Any

from crewai import LLM, Agent
from crewai_tools import MCPServerAdapter
from mcp import StdioServerParameters
from rig import play


def run(task: dict[str, Any]) -> str:
    if "url" in task:
        server = {"url": task["url"], "transport": "streamable-http"}
    else:
        command, *args = task["command"]
        server = StdioServerParameters(command=command, args=args)
    model = LLM(model="openai/scripted", base_url=task["model"], api_key="none", max_retries=0)
    with MCPServerAdapter(server) as tools:
        agent = Agent(role="clerk", goal="orders", backstory="None.", llm=model, tools=tools, verbose=False)
        return str(agent.kickoff(task["prompt"]))


play(run)
