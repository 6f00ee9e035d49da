"""Failures as exceptions: authors of servers raise them, and recover() raises them to callers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._paths import put
from ._record import Fields, dump, encode

if TYPE_CHECKING:
    from ._tables import Tables

_BY_KIND: dict[str, type[Failure]] = {}


class Failure(Exception):
    """A failure. record is its JSON form: kind, code, message, retry, afterMs, effect, and so on; members of it may be
    given by name (hints=[...], after_ms=5000). result: of a call that has failed in part, what has succeeded."""

    kind: str = "unknown"
    code: str = ""
    contract: Tables | None = None  # of a code's exception
    result: Any = None
    answer: Any = None  # the result of the session in which it was read

    def __init__(self, message: str = "", **members: Any) -> None:
        stated: Fields = {"kind": self.kind, "message": message}
        if self.contract is not None and self.code:
            stated.update(code=self.code, contract=self.contract.name)
            for path, value in self.contract.by_code[self.code].get("set", {}).items():
                put(stated, path, value)
        given = {re.sub("_(.)", lambda m: m[1].upper(), name): v for name, v in members.items()}
        self._hold({name: v for name, v in {**stated, **given}.items() if v not in (None, "", [], {})})

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if cls.contract is not None:
            cls.contract.exceptions[cls.code] = cls
        elif "kind" in vars(cls):
            _BY_KIND[cls.kind] = cls

    @classmethod
    def of(cls, stated: Mapping[str, Any], contract: Tables | None = None, result: Any = None) -> Failure:
        """Returns the exception for a record: that of its code in the contract, or that of its kind."""
        code = stated.get("code") if contract is not None and stated.get("contract") == contract.name else None
        of_code = contract.exceptions.get(code) if contract is not None and isinstance(code, str) else None
        kind = stated.get("kind")
        best = of_code or (_BY_KIND.get(kind, Failure) if isinstance(kind, str) else Failure)
        failure = best.__new__(best)
        failure._hold(dict(stated), result)
        return failure

    def _hold(self, stated: Fields, result: Any = None) -> None:
        self.stated = stated  # as it was read: without the advice that record derives from its kind
        self.record: Fields = encode(stated)
        self.kind, self.code, self.result = self.record["kind"], self.record.get("code", ""), result
        super().__init__(self.record.get("message") or self.kind.replace("_", " "))

    def __reduce__(self) -> Any:
        return Failure.of, (self.stated, type(self).contract, self.result)

    @property
    def hints(self) -> list[str]:
        """What to do next, in words for a model or a person."""
        return list(self.record.get("hints", ()))


class Question(Exception):
    """A question to the caller, which is not a failure. record: message, reason, fields, suggestions, options."""

    def __init__(self, record: Fields) -> None:
        self.record = record
        super().__init__(record["message"])


def _quoted(value: str) -> str:
    return dump(value if len(value) <= 128 else value[:128] + "…")


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _called(provider: str) -> str:
    return provider or "The server"


def _violation(param: str, rule: str, message: str, **more: Any) -> Fields:
    pointer = "/" + param.replace("~", "~0").replace("/", "~1").replace(".", "/")
    return {"pointer": pointer, "param": param, "rule": rule, "message": message, **more}


class MissingParam(Failure):
    """Required parameters were not given."""

    kind = "missing_param"

    def __init__(self, *params: str, **members: Any) -> None:
        word, verb = ("Parameter", "is") if len(params) == 1 else ("Parameters", "are")
        violations = [_violation(p, "required", f"{p} is required") for p in params]
        super().__init__(
            **{"message": f"{word} {_listed(params)} {verb} required.", "violations": violations, **members}
        )


class _Invalid(Failure):
    rule = ""

    def __init__(self, param: str, want: str, got: Any = None, **members: Any) -> None:
        more = {"want": want} if got is None else {"got": got, "want": want}
        violation = _violation(param, self.rule, f"{param} must be {want}", **more)
        violation = {name: v for name, v in violation.items() if v != "" or name == "got"}
        super().__init__(**{"message": f"Parameter {param} must be {want}.", "violations": [violation], **members})


class InvalidType(_Invalid):
    """A parameter has the wrong type; want names the right one. got: left out, the value stays out of the record."""

    kind, rule = "invalid_type", "type"


class InvalidValue(_Invalid):
    """A parameter has a value outside of what want describes."""

    kind = "invalid_value"


class ConflictingParams(Failure):
    """Parameters exclude each other."""

    kind = "conflicting_params"

    def __init__(self, *params: str, **members: Any) -> None:
        violations = [_violation(p, "not", f"{_listed(params)} exclude each other") for p in params]
        message = f"Parameters {_listed(params)} cannot be used together."
        super().__init__(**{"message": message, "violations": violations, **members})


class UnknownParam(Failure):
    kind = "unknown_param"


class UnknownTool(Failure):
    """There is no tool of that name."""

    kind = "unknown_tool"

    def __init__(self, name: str, **members: Any) -> None:
        resource = {"type": "tool", "id": name}
        super().__init__(**{"message": f"There is no tool named {_quoted(name)}.", "resource": resource, **members})


class TooLarge(Failure):
    kind = "too_large"


class Unauthenticated(Failure):
    """Valid credentials are required."""

    kind = "unauthenticated"


class _OfProvider(Failure):
    sentence = ""

    def __init__(self, provider: str = "", **members: Any) -> None:
        super().__init__(**{"message": self.sentence.format(_called(provider)), "provider": provider, **members})


class TokenExpired(_OfProvider):
    """The access to a provider has expired, and could not be renewed."""

    kind, sentence = "token_expired", "The access to {} has expired."


class TokenRevoked(_OfProvider):
    kind, sentence = "token_revoked", "The access to {} was revoked."


class NotConnected(_OfProvider):
    """No account of a provider has been connected yet."""

    kind, sentence = "not_connected", "No {} account is connected."


class MissingScope(Failure):
    """The access to a provider lacks scopes."""

    kind = "missing_scope"

    def __init__(self, provider: str, *scopes: str, **members: Any) -> None:
        message = f"The access to {provider} lacks the scope{'s' * (len(scopes) != 1)} {_listed(scopes)}."
        super().__init__(**{"message": message, "provider": provider, "missing_scopes": list(scopes), **members})


class PermissionDenied(Failure):
    """The caller may not do this."""

    kind = "permission_denied"


class NotFound(Failure):
    """No resource of a type has an id: NotFound("field", "12")."""

    kind = "not_found"

    def __init__(self, type: str, id: str, **members: Any) -> None:
        resource = {"type": type, "id": id}
        super().__init__(**{"message": f"There is no {type} {_quoted(id)}.", "resource": resource, **members})


class NoMatch(Failure):
    """A search or filter matched no resource of a type."""

    kind = "no_match"

    def __init__(self, type: str, **members: Any) -> None:
        super().__init__(**{"message": f"No {type} matched.", "resource": {"type": type}, **members})


class Conflict(Failure):
    """The call conflicts with the current state; message says how."""

    kind = "conflict"


class InvalidState(Failure):
    """The current state does not allow the call; message says why."""

    kind = "invalid_state"


class RateLimited(Failure):
    """There were too many calls. wait: the least number of seconds to wait; 0 means unknown."""

    kind = "rate_limited"

    def __init__(self, wait: float = 0, **members: Any) -> None:
        super().__init__(**{"after_ms": round(wait * 1000), **members})


class QuotaExhausted(Failure):
    """The quota of a name is used up."""

    kind = "quota_exhausted"

    def __init__(self, policy: str, **members: Any) -> None:
        quotas = [{"policy": policy, "remaining": 0}]
        super().__init__(**{"message": f"The quota {_quoted(policy)} is used up.", "quotas": quotas, **members})


class LimitReached(Failure):
    """No more resources of a type may be created."""

    kind = "limit_reached"

    def __init__(self, type: str, **members: Any) -> None:
        message = f"No more of type {_quoted(type)} may be created."
        super().__init__(**{"message": message, "resource": {"type": type}, **members})


class Unreachable(_OfProvider):
    """The connection to a provider could not be made, or broke."""

    kind, sentence = "unreachable", "{} could not be reached."


class Unavailable(_OfProvider):
    """A provider is down or overloaded."""

    kind, sentence = "unavailable", "{} is not available at the moment."


class Timeout(_OfProvider):
    """A provider did not answer in time."""

    kind, sentence = "timeout", "{} did not answer in time."


class _Answered(Failure):
    verb = ""

    def __init__(self, provider: str = "", status: int = 0, **members: Any) -> None:
        message = f"{_called(provider)} {self.verb}" + (f" (HTTP {status})." if status else ".")
        upstream = {"status": status} if status else {}
        super().__init__(**{"message": message, "provider": provider, "upstream": upstream, **members})


class ServerError(_Answered):
    """A provider failed with an HTTP status of 500 or more."""

    kind, verb = "server_error", "failed"


class ClientError(_Answered):
    """A provider refused the request with a 4xx status."""

    kind, verb = "client_error", "refused the request"


class BadResponse(_OfProvider):
    """A provider's answer cannot be understood."""

    kind, sentence = "bad_response", "{} sent an invalid response."


class InsufficientData(Failure):
    """An analysis lacks data: missing=[{"what": ..., "impact": ...}]."""

    kind = "insufficient_data"


class NoData(Failure):
    """There is no data; message says for what."""

    kind = "no_data"


class Partial(Failure):
    """Some items of a batch were done ({"id": ..., "value": ...}) and others were not (the failures by id)."""

    kind = "partial"

    def __init__(self, succeeded: list[Fields], failed: Mapping[str, Failure], **members: Any) -> None:
        message = f"{len(failed)} of {len(succeeded) + len(failed)} items failed."
        items = [{"id": id, "error": failure.stated} for id, failure in failed.items()]
        super().__init__(
            **{"message": message, "succeeded": succeeded, "failed": items, "effect": "applied", **members}
        )


class JobFailed(Failure):
    """The work ended without success; message says why."""

    kind = "job_failed"


class NotImplementedHere(_OfProvider):
    """What was asked for does not exist here."""

    kind, sentence = "not_implemented", "{} is not implemented."


class Cancelled(Failure):
    """The caller abandoned the call."""

    kind = "cancelled"


class Internal(Failure):
    """Something failed through no fault of the caller: raise Internal() from error. The reason only goes to the log."""

    kind = "internal"
