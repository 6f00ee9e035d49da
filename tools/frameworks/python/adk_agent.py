import os
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner
from google.adk.tools.mcp_tool.mcp_session_manager import StdioConnectionParams, StreamableHTTPConnectionParams
from google.adk.tools.mcp_tool.mcp_toolset import McpToolset
from google.genai import types
from mcp import StdioServerParameters
from rig import play


async def run(task: dict[str, Any]) -> str:
    if "url" in task:
        server = StreamableHTTPConnectionParams(url=task["url"])
    else:
        command, *args = task["command"]
        server = StdioConnectionParams(server_params=StdioServerParameters(command=command, args=args))
    os.environ["GOOGLE_GEMINI_BASE_URL"] = task["model"].removesuffix("/v1")
    toolset = McpToolset(connection_params=server)
    runner = InMemoryRunner(LlmAgent(name="shop", model="gemini-scripted", tools=[toolset]), app_name="shop")
    session = await runner.session_service.create_session(app_name="shop", user_id="u")
    said = ""
    try:
        message = types.Content(role="user", parts=[types.Part(text=task["prompt"])])
        async for event in runner.run_async(user_id="u", session_id=session.id, new_message=message):
            if event.error_message:
                raise RuntimeError(event.error_message)
            for part in event.content.parts if event.content else []:
                said = part.text or said
    finally:
        await toolset.close()
    return said


play(run)
