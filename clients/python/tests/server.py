"""A server of MCP with nothing but the standard library, over stdio (python server.py) or HTTP (serve())."""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOOLS = ("get_field", "order_create", "order_get", "order_count", "lost", "unknown_field", "bad")
COUNTS = {"type": "object", "properties": {"orders": {"type": "number"}}, "required": ["orders"]}


def failure(**record: Any) -> dict[str, Any]:
    text = {"type": "text", "text": record.get("message", "It failed.")}
    return {"content": [text], "isError": True, "_meta": {"io.github.recoursehq/error": {"v": 1, **record}}}


def done(**data: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": json.dumps(data)}], "structuredContent": data}


class Server:
    """Counts calls, and fails as its tools' names say."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self.calls[name] += 1
        if name == "get_field" and self.calls[name] == 1:
            return failure(kind="rate_limited", message="Slow down.", afterMs=7000, retry="same_call")
        if name == "order_create":
            verify = {"tool": "order_get", "args": {"reference": arguments["reference"]}}
            return failure(kind="timeout", effect="unknown", message="No answer came.", verify=verify)
        if name == "order_count":
            return done(orders="many")  # not what its outputSchema says
        if name == "unknown_field":
            form = {"error": True, "code": "FIELD_NOT_FOUND", "message": "There is no field 12.", "retryable": False}
            return {"content": [{"type": "text", "text": json.dumps(form)}], "structuredContent": form, "isError": True}
        return done(**arguments)

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        method, params, id = message.get("method"), message.get("params", {}), message.get("id")
        if id is None:
            return None
        if method == "initialize":
            info = {"name": "test", "version": "1"}
            version = params["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        elif method == "tools/list":
            said = {name: {"readOnlyHint": "get" in name} for name in TOOLS}
            schema = {"type": "object"}
            tools = [{"name": n, "inputSchema": schema, "annotations": said[n]} for n in TOOLS]
            result = {"tools": [{**t, "outputSchema": COUNTS} if t["name"] == "order_count" else t for t in tools]}
        elif method == "tools/call" and params["name"] == "bad":
            error = {
                "code": -32602,
                "message": "Invalid params",
                "data": {"v": 1, "kind": "missing_param", "message": "No id."},
            }
            return {"jsonrpc": "2.0", "id": id, "error": error}
        elif method == "tools/call":
            result = self.call(params["name"], params.get("arguments") or {})
        elif method == "ping":
            result = {}
        else:
            return {"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}}
        return {"jsonrpc": "2.0", "id": id, "result": result}


@contextmanager
def serve(statuses: list[tuple[int, dict[str, str]]]) -> Iterator[tuple[str, Server]]:
    """Serves over HTTP. Calls of tools are answered by these statuses first."""
    server, left = Server(), list(statuses)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send(405, {}, b"")

        do_DELETE = do_GET

        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if message.get("method") == "tools/call" and left:
                status, headers = left.pop(0)
                return self.send(status, headers, b"busy")
            answer = server.answer(message)
            kind = {"Content-Type": "application/json"}
            return self.send(202, {}, b"") if answer is None else self.send(200, kind, json.dumps(answer).encode())

        def send(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{http.server_port}/mcp", server
    finally:
        http.shutdown()
        http.server_close()


if __name__ == "__main__":
    stdio = Server()
    for line in sys.stdin:
        answer = stdio.answer(json.loads(line))
        if answer is not None:
            print(json.dumps(answer), flush=True)
