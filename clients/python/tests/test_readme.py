"""The lines with which the README begins."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from recourse_client import Unreachable


def test_the_first_lines_work(capsys: pytest.CaptureFixture[str]) -> None:
    text = Path(__file__).parents[1].joinpath("README.md").read_text()
    lines = re.search(r"(?m)^    from recourse_client import(?:.*\n|\n)+?(?=^\S)", text)
    assert lines
    program: dict[str, Any] = {}
    exec(re.sub("(?m)^    ", "", lines[0]), program)

    class Session:
        async def call_tool(self, name: str, arguments: Any) -> Any:
            if arguments["reference"] == "A-17":
                return {"content": [], "structuredContent": arguments}
            raise ConnectionError("reset")

    async def run() -> None:
        assert (await program["order"](Session(), "A-17"))["structuredContent"] == {"reference": "A-17"}
        await program["order"](Session(), "B-1")

    asyncio.run(run())
    assert capsys.readouterr().out.startswith(f"{Unreachable.kind} reset ")
