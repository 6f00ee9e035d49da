"""What comes from the SDKs: results, errors, and what they drop from an HTTP error."""

from __future__ import annotations

from collections.abc import Mapping
from random import random
from typing import Any, NamedTuple

from ._decide import settle
from ._failure import Failure, Question
from ._kinds import META_KEY
from ._read import RETURNED, read_error, read_http, read_result
from ._record import Fields, dump, fields_of, parse_json
from ._tables import Tables
from ._write import Answer


class Raised(NamedTuple):
    """What an error says. is_lost: the server was not reached; is_refused: by an HTTP status; by: that status, or the
    code of the protocol, says that nothing was done."""

    failed: Failure | Question
    is_lost: bool
    is_refused: bool
    by: str | None


def plain(v: Any) -> Fields:
    """Returns an SDK's result as JSON values."""
    if hasattr(v, "model_dump"):
        dumped: Fields = v.model_dump(mode="json", by_alias=True, exclude_none=True)
        return dumped
    if isinstance(v, dict) or not hasattr(v, "content"):
        return fields_of(v)
    members: Fields = {"content": [plain(block) for block in v.content]}
    for name, other in (("structuredContent", "structured_content"), ("isError", "is_error"), ("_meta", "meta")):
        members[name] = getattr(v, name, getattr(v, other, None))
    return {name: value for name, value in members.items() if value is not None}


def raised(c: Tables, error: Exception) -> Raised:
    """Reads what an SDK has raised. Says whether the server was not reached, if an HTTP status refused the call, and by
    what the protocol says that nothing was done. Of what it does not know it may have sent the call, or not."""
    said, response = getattr(error, "error", None), getattr(error, "response", None)
    if (
        said is not None and hasattr(said, "code") and said.code != 408
    ):  # McpError of the official SDK; 408 is its own time-out
        told = {"data": said.data} if getattr(said, "data", None) is not None else {}
        if kept := fields_of(told.get("data")).get(KEPT_STATUS):
            told["data"] = {name: value for name, value in said.data.items() if name != KEPT_STATUS}
        failed: Failure = read_error(c, {"code": said.code, "message": said.message, **told})
        by = "code" if said.code in _REFUSING_CODES and failed.kind != "bad_response" else None
        return _refused(failed, kept) if kept else Raised(failed, False, False, by)
    if type(error).__name__ == "ToolError":  # of FastMCP
        read = read_result(c, {"isError": True, "content": [{"type": "text", "text": str(error)}]})
        return Raised(read or Failure(str(error)), False, False, None)
    if RETURNED.match(str(error)):  # of the client itself
        failed = Failure.of({"kind": "bad_response", "message": str(error), "origin": "server"})
        return Raised(failed, False, False, None)
    status = getattr(response, "status_code", None)
    if isinstance(status, int) and status >= 400:  # of httpx
        return _refused(read_http(c, status, _headers(response), _body(response)) or Failure(str(error)), status)
    is_late = "Timeout" in type(error).__name__ or hasattr(said, "code")  # of Python, asyncio or httpx
    failed = Failure.of({"kind": "timeout" if is_late else "unreachable", "message": str(error)})
    return Raised(failed, True, False, None)


def _refused(failed: Failure, status: int) -> Raised:
    """Returns what is told of a call that an HTTP status has refused: 502 to 504 come from before the server."""
    return Raised(failed, status in (502, 503, 504), True, f"HTTP {status}" if status in _REFUSING_STATUSES else None)


# The HTTP statuses and JSON-RPC codes by which a call is refused before anything is done.
_REFUSING_STATUSES = (400, 401, 403, 405, 406, 413, 415, 421, 429)
_REFUSING_CODES = (-32700, -32600, -32601, -32602, -32020, -32021, -32022)


def sent(answer: Answer) -> Any:
    """Returns an answer as a tool result: that of the official SDK if it is there, else a dict."""
    result, error = answer.result, answer.error
    if answer.surface == "error":
        is_record = bool(fields_of(error.get("data")).get("v"))
        meta = {"_meta": {META_KEY: error["data"]}} if is_record else {}
        result = {"content": [{"type": "text", "text": error["message"]}], "isError": True, **meta}
    try:
        from mcp.types import CallToolResult  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return result
    return CallToolResult.model_validate(result)


def _headers(response: Any) -> Mapping[str, str]:
    return getattr(response, "headers", {})


def _body(response: Any) -> str:
    try:
        return str(getattr(response, "text", ""))
    except Exception:  # a stream that was not read
        return ""


# Where the status is kept: a name that no server knows, since a status counts for more than words.
KEPT_STATUS = f"httpStatus-{random()}"


class FailureKeeper:
    """A transport for the HTTP client that an SDK gets, around another: SDKs drop Retry-After and more from an HTTP
    error, but pass on a JSON-RPC error, which it becomes. A lost session and a challenge to sign in stay."""

    def __init__(self, transport: Any, contract: Tables) -> None:
        self.transport, self.contract = transport, contract

    async def __aenter__(self) -> Any:
        await self.transport.__aenter__()
        return self

    async def __aexit__(self, *how: Any) -> None:
        await self.transport.__aexit__(*how)

    async def aclose(self) -> None:
        await self.transport.aclose()

    async def handle_async_request(self, request: Any) -> Any:
        c = self.contract
        answer = await self.transport.handle_async_request(request)
        id = fields_of(parse_json(request.content.decode())).get("id") if answer.status_code >= 400 else None
        if id is None or answer.status_code == 404 or "www-authenticate" in answer.headers:
            return answer
        await answer.aread()
        e = read_http(c, answer.status_code, answer.headers, answer.text) or Failure()
        data = {**e.record, "effect": settle(c, e.stated, "writes")["effect"], KEPT_STATUS: answer.status_code}
        body = {"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": str(e), "data": data}}
        return type(answer)(200, headers={"content-type": "application/json"}, content=dump(body))
