from typing import Any

from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client
from rig import play
from strands import Agent
from strands.models.openai import OpenAIModel
from strands.tools.mcp import MCPClient


def run(task: dict[str, Any]) -> str:
    if "url" in task:
        client = MCPClient(url=task["url"])
    else:
        command, *args = task["command"]
        client = MCPClient(lambda: stdio_client(StdioServerParameters(command=command, args=args)))
    model = OpenAIModel(client_args={"base_url": task["model"], "max_retries": 0}, model_id="scripted")
    with client:
        return str(Agent(model=model, tools=client.list_tools_sync(), callback_handler=None)(task["prompt"]))


play(run)
