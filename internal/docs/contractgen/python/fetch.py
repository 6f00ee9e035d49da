# ---- What SDKs drop from an HTTP error.

# Where the status is kept: a name that no server knows, since a status counts for more than words.
_KEPT_STATUS = f"httpStatus-{_random()}"


class KeepFailures:
    """A transport for the HTTP client that an SDK gets, around another: SDKs drop Retry-After and more from an HTTP
    error, but pass on a JSON-RPC error, which it becomes. A lost session and a challenge to sign in stay."""

    def __init__(self, transport: Any) -> None: self.transport = transport
    async def __aenter__(self): return await self.transport.__aenter__() and self
    async def __aexit__(self, *how): await self.transport.__aexit__(*how)
    async def aclose(self): await self.transport.aclose()

    async def handle_async_request(self, request):
        answer = await self.transport.handle_async_request(request)
        id = _fields(_parsed(request.content.decode())).get("id") if answer.status_code >= 400 else None
        if id is None or answer.status_code == 404 or "www-authenticate" in answer.headers:
            return answer
        await answer.aread()
        e = parse_http(answer.status_code, answer.headers, answer.text)
        data = {**e.record, "effect": _settle(e.stated, "writes")["effect"], _KEPT_STATUS: answer.status_code}
        body = {"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": str(e), "data": data}}
        return type(answer)(200, headers={"content-type": "application/json"}, content=_json(body))
