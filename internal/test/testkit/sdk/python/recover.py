"""Makes calls through recover() of the package recourse-client, to a server on stdio:

    python3 recover.py CONTRACT.json CALLS COMMAND...

CALLS is a JSON array of {tool, arguments, title}: whether a write has landed is told by the title. Prints a line for each call:
what it ended with, and what was done for it. Waits take no time: the clock goes forward.
"""
import asyncio
import itertools
import json
import subprocess
import sys

import recourse_client
from recourse_client import Failure, Options, recover

contract_path, calls, *command = sys.argv[1:]
contract = recourse_client.Contract(contract_path)


class RPCError(Exception):
    """A JSON-RPC error, as the official SDK raises it."""

    def __init__(self, error):
        super().__init__(error["message"])
        self.error = type("ErrorData", (), {"data": None, **error})


class Session:
    """A client over newline-delimited JSON-RPC."""

    async def start(self):
        self.child = await asyncio.create_subprocess_exec(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, limit=1 << 24)
        self.ids, self.waiting = itertools.count(1), {}
        self.reader = asyncio.create_task(self.read())
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "testkit", "version": "1"}}
        await self.request("initialize", client)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.child.stdin.write(json.dumps(message).encode() + b"\n")

    async def read(self):
        async for line in self.child.stdout:
            message = json.loads(line)
            waiting = self.waiting.pop(message.get("id"), None)
            if waiting is None or waiting.done():
                continue
            if "error" in message:
                waiting.set_exception(RPCError(message["error"]))
            else:
                waiting.set_result(message["result"])

    async def request(self, method, params):
        id = next(self.ids)
        answer = self.waiting[id] = asyncio.get_running_loop().create_future()
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        return await answer

    async def call_tool(self, name, arguments):
        return await self.request("tools/call", {"name": name, "arguments": arguments})

    async def close(self):
        self.child.stdin.close()
        await self.child.wait()
        await self.reader


now, waited = recourse_client._exchange.now, 0
recourse_client._exchange.now = lambda: now() + waited


async def sleep(seconds):
    global waited
    waited += seconds * 1000


async def main():
    session = Session()
    await session.start()
    tools = (await session.request("tools/list", {}))["tools"]
    for call in json.loads(calls):
        def landed(v, title=call.get("title")):
            return None if title is None else title in json.dumps(v.result)
        report = []
        options = Options(tools=tools, landed=landed, report=report, sleep=sleep, random=lambda: 0.5)
        try:
            ended = {"result": json.dumps(await recover(session, contract, options).call_tool(call["tool"], call["arguments"]), separators=(",", ":"))}
        except Failure as failure:
            ended = {"kind": failure.kind}
        actions = [step.action for step in report]
        print(json.dumps({**ended, "calls": actions.count("call"), "verifies": actions.count("verify"), "polls": actions.count("poll")}))
    await session.close()


asyncio.run(main())
