"""What the programs have in common: a task on each line of the input, and a line of output for how the agent has ended."""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
from collections.abc import Callable
from typing import Any
from urllib.request import Request, urlopen


def say(**end: str) -> None:
    sys.stdout.write(f"\n@@{json.dumps(end)}\n")
    sys.stdout.flush()


def play(run: Callable[[dict[str, Any]], Any]) -> None:
    """Runs an agent for each task (url or command, model, prompt): run returns what the model says at last."""
    say()
    for line in sys.stdin:
        try:
            said = run(json.loads(line))
            say(done=str(asyncio.run(said) if inspect.iscoroutine(said) else said))
        except BaseException as error:  # whatever it is, the next agent runs
            say(threw=f"{type(error).__name__}: {error}")


async def converse(task: dict[str, Any], tools: dict[str, Any], call: Callable[[str, dict[str, Any]], Any]) -> str:
    """Is the agent of a client that brings none: it hands the model the text of a result, or of what a call raises."""
    functions = [{"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in tools.items()]
    messages: list[dict[str, Any]] = [{"role": "user", "content": task["prompt"]}]
    while True:
        said = await asyncio.to_thread(ask, task["model"], {"model": "scripted", "messages": messages, "tools": functions})
        messages.append(said)
        for one in said.get("tool_calls", []):
            try:
                text = await call(one["function"]["name"], json.loads(one["function"]["arguments"]))
            except Exception as error:
                text = str(error)
            messages.append({"role": "tool", "tool_call_id": one["id"], "content": text})
        if not said.get("tool_calls"):
            return str(said["content"])


def ask(model: str, body: dict[str, Any]) -> dict[str, Any]:
    request = Request(f"{model}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(request) as answer:
        return json.load(answer)["choices"][0]["message"]
