from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai_like import OpenAILike
from llama_index.tools.mcp import BasicMCPClient, McpToolSpec
from rig import play


async def run(task: dict[str, Any]) -> str:
    client = BasicMCPClient(task["url"]) if "url" in task else BasicMCPClient(task["command"][0], task["command"][1:])
    model = OpenAILike(
        "scripted", api_base=task["model"], api_key="none", max_retries=0, is_chat_model=True, is_function_calling_model=True
    )
    tools = await McpToolSpec(client).to_tool_list_async()
    return str(await FunctionAgent(tools=tools, llm=model).run(task["prompt"]))


play(run)
