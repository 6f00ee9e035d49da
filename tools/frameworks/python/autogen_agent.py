from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient
from autogen_ext.tools.mcp import McpWorkbench, StdioServerParams, StreamableHttpServerParams
from rig import play


async def run(task: dict[str, Any]) -> str:
    if "url" in task:
        server = StreamableHttpServerParams(url=task["url"])
    else:
        command, *args = task["command"]
        server = StdioServerParams(command=command, args=args)
    able = {"vision": False, "function_calling": True, "json_output": False, "family": "unknown", "structured_output": False}
    model = OpenAIChatCompletionClient(model="scripted", base_url=task["model"], max_retries=0, model_info=able)
    async with McpWorkbench(server) as workbench:
        agent = AssistantAgent("shop", model, workbench=workbench, reflect_on_tool_use=True)
        return str((await agent.run(task=task["prompt"])).messages[-1].content)


play(run)
