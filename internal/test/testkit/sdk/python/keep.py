"""Connects through recover_connect() of the package recourse-client, over an HTTP client like
that of an SDK, whose answers are scripted:

    python3 keep.py CONTRACT.json ANSWERS

ANSWERS is a JSON array of [status, headers, body]; when they are used up, connecting succeeds. The client raises what the official
SDK does: a JSON-RPC error where the answer is one, else one that only says that there was a failure. Prints what the call ended with,
and the waits.
"""
import asyncio
import json
import sys

import recourse_client
from recourse_client import Failure, Options, recover

contract_path, answers = sys.argv[1:]
contract = recourse_client.Contract(contract_path)
answers = json.loads(answers)


class Response:
    """As httpx has it."""

    def __init__(self, status_code, *, headers=None, content=""):
        self.status_code, self.headers, self.text = status_code, {k.lower(): v for k, v in (headers or {}).items()}, content

    async def aread(self):
        return self.text.encode()


class Transport:
    async def __aenter__(self): return self
    async def __aexit__(self, *how): pass
    async def aclose(self): pass

    async def handle_async_request(self, request):
        if not answers:
            return Response(200, content='{"jsonrpc":"2.0","id":1,"result":{}}')
        status, headers, body = answers.pop(0)
        return Response(status, headers=headers, content=body)


class RPCError(Exception):
    """A JSON-RPC error, as the official SDK raises it."""

    def __init__(self, error):
        super().__init__(error["message"])
        self.error = type("ErrorData", (), {"data": None, **error})


async def connected():
    request = type("Request", (), {"content": b'{"jsonrpc":"2.0","id":1,"method":"initialize"}'})
    async with contract.keep_failures(Transport()) as transport:
        answer = await transport.handle_async_request(request)
    if answer.status_code >= 400:
        raise RPCError({"code": -32603, "message": "Server returned an error response"})
    message = json.loads(answer.text)
    if "error" in message:
        raise RPCError(message["error"])
    return "connected"


now, waited = recourse_client._exchange.now, 0
recourse_client._exchange.now = lambda: now() + waited


async def sleep(seconds):
    global waited
    waited += seconds * 1000


async def main():
    report = []
    options = Options(sleep=sleep, report=report, random=lambda: 0)
    try:
        ended = await recourse_client.recover_connect(connected, contract, options)
    except Failure as failure:
        assert not any(name.startswith("httpStatus") for name in failure.record), failure.record
        ended = failure.kind
    print(ended, *(round(step.wait_ms) for step in report if step.action == "wait"))


asyncio.run(main())
