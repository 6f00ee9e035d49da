"""Contracts, and sessions that do what a contract says."""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from ._answers import Advice, advised
from ._decide import Decision, judge, settle
from ._exchange import KEY, RAISES, Exchange
from ._failure import Failure, Question
from ._http import FailureKeeper, sent
from ._options import Options
from ._read import read_error, read_http, read_result
from ._record import Fields
from ._server import Server
from ._tables import Tables
from ._write import Answer, Call, ask, write

_LOG = logging.getLogger("recourse_client")


class Contract(Tables):
    """A contract: Contract("fieldmcp") is a built-in one, Contract("shop.json") one that recourse contract gen --lang
    json has written, and Contract({...}) the same as an object. Raises ContractError if it cannot be read."""

    def parse_result(self, result: Any) -> Failure | Question | None:
        """Reads a tool result, the member "result" of a JSON-RPC answer: None if it is not a failure."""
        return read_result(self, result)

    def parse_error(self, error: Any) -> Failure:
        """Reads the member "error" of a JSON-RPC answer."""
        return read_error(self, error)

    def parse_http(self, status: int, headers: Mapping[str, str], body: str) -> Failure | None:
        """Reads a whole HTTP answer: None if its status is not a failure."""
        return read_http(self, status, headers, body)

    def decide(
        self, failure: Failure | Fields, nature: str, attempt: int, left_ms: float, random_part: float | None = None
    ) -> Decision:
        """Decides whether to make a call again that failed in its attempt-th attempt (from 1), of a tool that "writes",
        is "idempotent" or "reads". failure is a Failure or a record; random_part is in [0, 1)."""
        stated = failure.stated if isinstance(failure, Failure) else failure
        part = random.random() if random_part is None else random_part
        return judge(self, settle(self, stated, nature), nature, attempt, left_ms, part)

    def advised(self, failure: Failure) -> list[Advice]:
        """Returns the calls that the hints of a failure name, of tools that the contract knows."""
        return advised(self, failure.hints)

    def write(self, failure: Failure | Fields, call: Call | None = None) -> Answer:
        """Writes a failure for a call. Every failure has a form."""
        return write(self, failure.stated if isinstance(failure, Failure) else failure, call or Call())

    def ask(self, question: Question | Fields, call: Call | None = None) -> Answer:
        """Writes a question; a contract without a form for questions writes that a parameter is missing."""
        return ask(self, question.record if isinstance(question, Question) else question, call or Call())

    def keep_failures(self, transport: Any) -> Any:
        """Wraps the transport of the HTTP client that an SDK gets, httpx.AsyncHTTPTransport() say, so that it keeps
        what the SDKs drop from an HTTP error, such as Retry-After."""
        return FailureKeeper(transport, self)


class Recovering:
    """A session whose call_tool does what the contract says when a call fails. Everything else is the session's own."""

    def __init__(self, session: Any, contract: Contract, options: Options) -> None:
        self.session, self.contract, self.options = session, contract, options

    async def call_tool(
        self,
        name: str,
        arguments: Fields | None = None,
        *more: Any,
        options: Options | None = None,
        key: str | None = None,
        **named: Any,
    ) -> Any:
        """Calls a tool. The result is the session's, or a dict where it was merged from several; Failure and Question
        are raised. options: for this call, in place of those of recover(). key: an idempotency key, a text of the
        caller's own for each write that it means. Each repetition of the call carries it in its meta, whoever makes it,
        so that a gateway or server that knows such keys does it once."""
        given = options or self.options
        if key is not None:
            named["meta"] = {**(named.get("meta") or {}), KEY: key}
        given = given if given.server else replace(given, server=self.options.server)
        if hasattr(self.session, "call_tool_mcp"):  # a Client of FastMCP
            named = {RAISES: False, **named}
        exchange = Exchange(self.contract, self.session, name, dict(arguments or {}), given, more, named)
        if not given.returns:
            return await exchange.run()
        try:
            return await exchange.run()
        except (Failure, Question) as ended:
            tools = None if exchange.tools is None else [str(tool) for tool in exchange.tools]
            call = Call(tool=name, arguments=arguments, tools=tools, output_schema=True)  # one text says everything
            if isinstance(ended, Question):
                return sent(self.contract.ask(ended, call))
            return sent(self.contract.write(ended, call))

    async def __aenter__(self) -> Recovering:
        await self.session.__aenter__()
        return self

    async def __aexit__(self, *how: Any) -> Any:
        return await self.session.__aexit__(*how)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.session, name)


async def know_tools(session: Recovering, list_tools: Callable[[], Awaitable[Any]]) -> None:
    """Has a session know the tools of its server, and their annotations, unless the options have them."""
    if session.options.tools is None:
        try:
            session.options.tools = list(await list_tools())
        except Exception:
            _LOG.debug("tools/list has failed", exc_info=True)  # the call itself will tell


def recover(session: Any, contract: str | Contract = "recourse", options: Options | None = None) -> Recovering:
    """Returns the session with a call_tool that does what the contract says when a call fails. session is a
    ClientSession or Client of the official SDK, a Client of FastMCP, or anything with async call_tool(name, arguments).
    """
    c = contract if isinstance(contract, Contract) else Contract(contract)
    options = options or Options()
    return Recovering(session, c, options if options.server else replace(options, server=Server()))


async def recover_connect(
    connect: Callable[[], Awaitable[Any]], contract: str | Contract = "recourse", options: Options | None = None
) -> Any:
    """Connects to the server, and does what the contract says when that fails: nothing is done by connecting, so
    whatever may pass is tried again. connect() makes a session of its own in each attempt. Returns the session."""
    options = options or Options()
    opening = _Opening(connect)
    natures = {**options.natures, "connect": "reads"}
    await recover(opening, contract, replace(options, natures=natures)).call_tool("connect")
    return opening.session


class _Opening:
    def __init__(self, connect: Callable[[], Awaitable[Any]]) -> None:
        self.connect = connect
        self.session: Any = None

    async def call_tool(self, name: str, arguments: Fields) -> Fields:
        self.session = await self.connect()
        return {"content": []}
