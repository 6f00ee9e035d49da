"""What a model reads in agent frameworks, with a scripted model and a real server."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from test_sessions import clock, no_sleep  # noqa: F401

from recourse_client import Options

SERVER = [str(Path(__file__).with_name("server.py"))]


def options() -> Options:
    return Options(sleep=no_sleep, random=lambda: 0)  # annotations say which tools read


def needs(name: str) -> Any:
    return pytest.mark.skipif(not find_spec(name), reason=f"no {name}")


def check(read: dict[str, str]) -> None:
    """Checks what the model has read: the field, after a wait; of a lost write, what to do."""
    assert json.loads(read["get_field"]) == {"id": "12"}
    lost = read["order_create"]
    assert "No answer came" in lost
    assert "order_get" in lost, lost


CALLS = [("get_field", {"id": "12"}), ("order_create", {"reference": "A-17"})]


@needs("langchain_mcp_adapters")
def test_langgraph() -> None:
    adapters = import_module("langchain_mcp_adapters.client")
    agents = import_module("langgraph.prebuilt")
    messages = import_module("langchain_core.messages")
    recovering = import_module("recourse_client.langchain").recovering

    async def run() -> dict[str, str]:
        connection = {"transport": "stdio", "command": sys.executable, "args": SERVER}
        natures = {"get_field": "reads", "order_get": "reads"}  # an interceptor does not see the annotations
        interceptors = [recovering("recourse", replace(options(), natures=natures))]
        client = adapters.MultiServerMCPClient({"farm": connection}, tool_interceptors=interceptors)
        async with client.session("farm") as session:
            load = import_module("langchain_mcp_adapters.tools").load_mcp_tools
            tools = await load(session, tool_interceptors=interceptors, server_name="farm")
            graph = import_module("langgraph.graph")
            node = graph.StateGraph(graph.MessagesState).add_node("tools", agents.ToolNode(tools))
            app = node.add_edge(graph.START, "tools").compile()
            calls = [{"name": name, "args": args, "id": name, "type": "tool_call"} for name, args in CALLS]
            said = await app.ainvoke({"messages": [messages.AIMessage(content="", tool_calls=calls)]})
        read = {m.name: text_of(m.content) for m in said["messages"] if m.type == "tool"}
        assert not any("Please fix" in text for text in read.values())
        return read

    check(asyncio.run(run()))


def text_of(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


@needs("agents")
def test_openai_agents() -> None:
    agents, mcp = import_module("agents"), import_module("agents.mcp")
    recovering = import_module("recourse_client.openai_agents").recovering
    responses = import_module("openai.types.responses")
    read: dict[str, str] = {}

    class Scripted(agents.models.interface.Model):  # type: ignore[misc,name-defined]
        async def get_response(self, system_instructions: Any, input: Any, *more: Any, **named: Any) -> Any:
            outputs = [one for one in input if isinstance(one, dict) and one.get("type") == "function_call_output"]
            for one in outputs:
                text = one["output"]
                read[one["call_id"]] = text if isinstance(text, str) else "".join(part["text"] for part in text)
            calls = [] if outputs else CALLS
            made = [
                responses.ResponseFunctionToolCall(
                    type="function_call", call_id=name, name=name, arguments=json.dumps(arguments)
                )
                for name, arguments in calls
            ]
            text = responses.ResponseOutputText(type="output_text", text="done", annotations=[])
            done = responses.ResponseOutputMessage(
                id="1", type="message", role="assistant", status="completed", content=[text]
            )
            return agents.ModelResponse(output=made or [done], usage=agents.Usage(), response_id=None)

        def stream_response(self, *more: Any, **named: Any) -> Any:
            raise NotImplementedError

    async def run() -> None:
        agents.set_tracing_disabled(True)
        async with mcp.MCPServerStdio({"command": sys.executable, "args": SERVER}) as server:
            agent = agents.Agent(name="farm", model=Scripted(), mcp_servers=[recovering(server, "recourse", options())])
            await agents.Runner.run(agent, "go")

    asyncio.run(run())
    check({name: unwrapped(text) for name, text in read.items()})


def unwrapped(text: str) -> str:
    """Returns the text of an MCP content block that a framework writes as JSON."""
    try:
        block = json.loads(text)
    except ValueError:
        return text
    return str(block["text"]) if isinstance(block, dict) and block.get("type") == "text" else text


@needs("pydantic_ai")
def test_pydantic_ai() -> None:
    ai, models = import_module("pydantic_ai"), import_module("pydantic_ai.models.function")
    mcp, messages = import_module("pydantic_ai.mcp"), import_module("pydantic_ai.messages")
    fastmcp = import_module("fastmcp.client")
    recovering = import_module("recourse_client.pydantic_ai").recovering
    read: dict[str, str] = {}

    async def scripted(said: Any, info: Any) -> Any:
        for part in said[-1].parts:
            if hasattr(part, "tool_name"):
                read[part.tool_name] = (
                    part.model_response_str() if hasattr(part, "model_response_str") else str(part.content)
                )
        if read:
            return messages.ModelResponse(parts=[messages.TextPart("done")])
        return messages.ModelResponse(parts=[messages.ToolCallPart(name, args) for name, args in CALLS])

    async def run() -> None:
        transport = import_module("fastmcp.client.transports").StdioTransport(sys.executable, SERVER)
        client = recovering(fastmcp.Client(transport), "recourse", options())
        agent = ai.Agent(
            models.FunctionModel(scripted), toolsets=[mcp.MCPToolset(client, tool_error_behavior="failed")]
        )
        async with agent:
            await agent.run("go")

    asyncio.run(run())
    check(read)
