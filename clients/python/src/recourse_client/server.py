"""Servers whose failures leave in the form of a contract.

server = FastMCP("farm")            # of fastmcp, of mcp 1, or an MCPServer of mcp 2
use(server, "fieldmcp")

@server.tool()
def get_field(id: str) -> Field:
    raise NotFound("field", id)
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ._complete import kind_of_status
from ._contract import Contract
from ._decide import effect_of
from ._failure import (
    Failure,
    Internal,
    InvalidType,
    InvalidValue,
    MissingParam,
    Question,
    Timeout,
    UnknownTool,
    Unreachable,
)
from ._http import plain, sent
from ._paths import convert
from ._record import Fields, class_of, fields_of
from ._write import Answer, Call

__all__ = ["failure_from", "use"]

_LOG = logging.getLogger(__name__)


def use(server: Any, contract: str | Contract = "recourse", reveal: bool = True) -> None:
    """Makes a server write its tools' failures in the form of a contract, once its tools are there or later. Any
    exception becomes a failure (see failure_from); the log has its traceback."""
    guard = _Guard(server, contract if isinstance(contract, Contract) else Contract(contract), reveal)
    if hasattr(server, "add_middleware"):  # of fastmcp
        server.add_middleware(_middleware(guard))
        return
    inner = server.call_tool
    is_first = hasattr(server, "_mcp_server")  # version 1 of the official SDK

    async def call_tool(name: str, arguments: Fields, *more: Any) -> Any:
        return await guard.run(lambda: inner(name, arguments, *more), name, arguments)

    if is_first:
        server._mcp_server.call_tool(validate_input=False)(call_tool)
    else:
        server.call_tool = call_tool


def failure_from(error: BaseException, reveal: bool = True) -> Failure | Question:
    """Turns an exception into a failure. A Failure or a Question in its chain is that; time-outs, broken connections
    and failed HTTP answers are recognized; an SDK's ToolError keeps its text. Anything else is internal, with its own
    text unless reveal is False."""
    chain = list(_chain(error))
    for one in chain:
        if isinstance(one, (Failure, Question)):
            return one
    for one in chain:
        if (known := _known(one)) is not None:
            return known
    told = next((e for e in chain if type(e).__name__ == "ToolError" and not isinstance(e.__cause__, Exception)), None)
    if told is not None:
        return Failure(str(told))
    return Internal(str(chain[-1]) if reveal else "")


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _known(error: BaseException) -> Failure | None:
    status = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(status, int) and status >= 400:  # of httpx or requests
        kind, headers = kind_of_status(status), getattr(error, "response").headers  # noqa: B009
        wait = convert("afterMs:seconds", headers.get("retry-after", "")) or 0
        return Failure.of({"kind": kind, "upstream": {"status": status}, "afterMs": wait, "origin": "provider"})
    if isinstance(error, TimeoutError) or "Timeout" in type(error).__name__:
        return Timeout()
    if isinstance(error, ConnectionRefusedError) or type(error).__name__ in ("gaierror", "ConnectError"):
        return Unreachable(effect="none")
    if isinstance(error, ConnectionError) or type(error).__name__ in ("ReadError", "WriteError", "RemoteProtocolError"):
        return Unreachable()
    is_of_arguments = type(error).__name__ == "ValidationError" and hasattr(error, "errors")
    return _mistake(error) if is_of_arguments else None  # of pydantic


def _mistake(error: Any) -> Failure | None:
    """Reads what pydantic says of the arguments of a call; None if it speaks of something else."""
    found, title = error.errors(), str(getattr(error, "title", ""))
    if not found or not (title.startswith("call[") or title.endswith("Arguments")):  # as the SDKs name them
        return None
    missing = [_param(one) for one in found if one["type"].startswith("missing")]
    if missing:
        return MissingParam(*missing)
    first = found[0]
    want = str(first["msg"]).removeprefix("Input should be ").removeprefix("a valid ")
    is_type = first["type"].endswith(("_type", "_parsing"))
    return (InvalidType if is_type else InvalidValue)(_param(first), want)


def _param(one: Fields) -> str:
    return ".".join(map(str, one["loc"]))


class _Guard:
    """Runs the tools of a server, and turns their exceptions into answers."""

    def __init__(self, server: Any, contract: Contract, reveal: bool) -> None:
        self.server, self.contract, self.reveal = server, contract, reveal

    async def run(self, call: Callable[[], Awaitable[Any]], name: str, arguments: Fields | None) -> Any:
        try:
            return await call()
        except Exception as error:
            if _is_protocol_error(error):
                raise
            answer = self.answer(error, name, arguments, await self.tools())
            if answer.surface == "error" and (refused := _protocol_error(answer)):
                raise refused from error
            return sent(answer)

    async def tools(self) -> dict[str, Fields]:
        """Returns the tools of the server, by name."""
        listing = getattr(self.server, "list_tools", None) or self.server.get_tools  # of fastmcp 2
        found = await listing()
        listed = found.values() if isinstance(found, dict) else found
        return {tool.name: plain(tool.to_mcp_tool() if hasattr(tool, "to_mcp_tool") else tool) for tool in listed}

    def answer(self, error: Exception, name: str, arguments: Fields | None, tools: dict[str, Fields]) -> Answer:
        tool = tools.get(name, {})
        properties = fields_of(fields_of(tool.get("inputSchema")).get("properties"))
        argument = self.contract.layouts[0].get("format", {}).get("argument")
        call = Call(
            tool=name,
            arguments=arguments,
            output_schema="outputSchema" in tool,
            format_argument=argument in properties,
            tools=list(tools),
        )
        failure = failure_from(error, self.reveal) if name in tools else UnknownTool(name)
        if isinstance(failure, Question):
            return self.contract.ask(failure, call)
        e = dict(failure.stated)
        is_input = class_of(e) == "input"
        e.setdefault("origin", "caller" if is_input else "provider" if e.get("provider") else "server")
        said = fields_of(tool.get("annotations"))
        nature = "reads" if said.get("readOnlyHint") else "idempotent" if said.get("idempotentHint") else "writes"
        e.setdefault("effect", effect_of(e, nature))
        told = _LOG.info if is_input else _LOG.warning
        told("%s failed: %s: %s", name, failure.kind, failure, exc_info=error if failure.kind == "internal" else None)
        return self.contract.write(e, call)


def _is_protocol_error(error: Exception) -> bool:
    """Says whether an exception is meant for the protocol: McpError and MCPError, also UrlElicitationRequiredError."""
    return hasattr(error, "error") and hasattr(getattr(error, "error"), "code")  # noqa: B009


def _protocol_error(answer: Answer) -> Exception | None:
    """Returns the exception that version 2 of the SDK sends as an error; version 1 has none for tools."""
    exceptions, error = import_module("mcp.shared.exceptions"), answer.error
    is_second = hasattr(exceptions, "MCPError")
    return exceptions.MCPError(error["code"], error["message"], error.get("data")) if is_second else None


def _middleware(guard: _Guard) -> Any:
    """Returns the middleware of fastmcp that writes failures."""
    middleware = import_module("fastmcp.server.middleware").Middleware
    result = import_module("fastmcp.tools.tool" if find_spec("fastmcp.tools.tool") else "fastmcp.tools").ToolResult

    class Failures(middleware):  # type: ignore[misc,valid-type]
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            message = context.message
            answered = await guard.run(lambda: call_next(context), message.name, message.arguments)
            if isinstance(answered, result):
                return answered
            if hasattr(result, "from_mcp_result"):
                return result.from_mcp_result(answered)
            said = plain(answered)  # before version 4 the text is all that a failure can have
            text = "\n".join(block.get("text", "") for block in said["content"])
            if said.get("isError"):
                raise import_module("fastmcp.exceptions").ToolError(text)
            return result(content=text, structured_content=said.get("structuredContent"))

    return Failures()
