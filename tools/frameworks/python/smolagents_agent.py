from typing import Any

from mcp import StdioServerParameters
from rig import play
from smolagents import MCPClient, OpenAIModel, ToolCallingAgent


def run(task: dict[str, Any]) -> str:
    if "url" in task:
        server = {"url": task["url"], "transport": "streamable-http"}
    else:
        command, *args = task["command"]
        server = StdioServerParameters(command=command, args=args)
    model = OpenAIModel("scripted", api_base=task["model"], api_key="none", client_kwargs={"max_retries": 0})
    with MCPClient(server, structured_output=False) as tools:
        return str(ToolCallingAgent(tools=tools, model=model, max_steps=4, verbosity_level=0).run(task["prompt"]))


play(run)
