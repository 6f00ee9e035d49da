"""Reads failures with the package recourse-client:

    python3 members.py CONTRACT.json ANSWERS

ANSWERS is a file with a JSON array of {result}, {error} or {status, body}. Prints a JSON line for each: the failure as the module's
parser reads it, and the one with which recover() ends a call that is answered so.
"""
import asyncio
import json
import sys

import recourse_client
from recourse_client import Failure, Options, recover

contract_path, answers = sys.argv[1:]
contract = recourse_client.Contract(contract_path)


class RPCError(Exception):
    """A JSON-RPC error, as the official SDK raises it."""

    def __init__(self, error):
        self.error = type("ErrorData", (), {"data": None, **error})


class StatusError(Exception):
    """An HTTP error, as httpx raises it."""

    def __init__(self, status, body):
        self.response = type("Response", (), {"status_code": status, "headers": {}, "text": body})


class Session:
    def __init__(self, answer):
        self.answer = answer

    async def call_tool(self, name, arguments):
        if "error" in self.answer:
            raise RPCError(self.answer["error"])
        if "status" in self.answer:
            raise StatusError(self.answer["status"], self.answer["body"])
        return self.answer["result"]


async def sleep(seconds):
    pass


async def ended(answer):
    try:
        await recover(Session(answer), contract, Options(sleep=sleep)).call_tool("get_field", {})
        return None
    except Failure as failure:
        return failure.record


def parsed(answer):
    if "error" in answer:
        return contract.parse_error(answer["error"])
    if "status" in answer:
        return contract.parse_http(answer["status"], {}, answer["body"])
    return contract.parse_result(answer["result"])


with open(answers, encoding="utf-8") as file:
    for answer in json.load(file):
        reading = parsed(answer)
        print(json.dumps([reading and reading.record, asyncio.run(ended(answer))], ensure_ascii=False))
