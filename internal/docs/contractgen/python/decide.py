# ---- Deciding.

@dataclass(frozen=True)
class Decision:
    """What is done about a failure. wait_ms: before the call is made again. verify: the call that settles first whether
    the failed one took effect. reason: for the log."""
    repeat: bool
    wait_ms: int = 0
    verify: dict[str, Any] | None = None
    reason: str = ""


def _effect(e, nature):
    """Returns whether a failed call changed anything. A tool that only reads has no effect, whatever is stated."""
    if nature == "reads" or _text(e.get("effect")):
        return "none" if nature == "reads" else e["effect"]
    before = ("protocol", "input", "auth", "permission", "resource", "state", "allowance", "data")
    is_before = _class(e) in before or _kind(e) == "not_implemented" or e.get("retry") == "after_setup"
    return "applied" if _kind(e) == "partial" else "none" if is_before else "unknown"


def _may_succeed(stated):
    """Says whether the contract calls a failure retryable, apart from its effect."""
    e = {**stated, "effect": "none"}
    entry, code = _choose(e)
#{{if has "code.otherwise"}}
    if "otherwise" in entry:
        entry = _BY_CODE[entry["otherwise"]]
        code = entry["code"]
#{{end}}
    return _is_retryable(e, entry, code)


def _settle(stated, nature):
    """Completes a failure with the contract's effect, and with its advice if the failure states none."""
    e = {**stated, "effect": _effect(stated, nature)}
    if e["effect"] == "unknown" and not stated.get("effect") and stated.get("retry") == "same_call":
        e["effect"] = "none"  # as the server says
    if not stated.get("retry"):
        advice = _usual_advice(e)
        e["retry"] = "same_call" if _may_succeed(stated) else "never" if advice == "same_call" else advice
    return e


def _backoff(e, attempt, random):
    """Returns the wait before the next attempt of a call that has failed attempt times. A stated wait is a minimum."""
    rule, stated = CONTRACT["retry"], min(max(_number(e.get("afterMs")), 0), 9_223_372_036_854)  # as a record can state
    start = stated or max(rule["startMs"], 1000 if _kind(e) == "rate_limited" else 0)
    jitter = rule["jitterMs"] * random if attempt >= rule["jitterFrom"] else 0
    return max(stated, min(start * rule["factor"] ** (attempt - 1) + jitter, MAX_WAIT_MS))


def _wait_text(ms):
    """Writes a wait for a person, in its two largest units."""
    if ms < 60_000:
        return f"{ms} ms" if ms < 1000 else f"{ms / 1000:.3f}".rstrip("0").rstrip(".") + " s"
    units = (1000, 60 * 60, 60, "min", "s"), (60_000, 24 * 60, 60, "h", "min"), (3_600_000, float("inf"), 24, "d", "h")
    for unit, most, per, large, small in units:
        n = -(-ms // unit)  # rounded up: a wait is a minimum
        if n < most:
            return f"{n // per} {large}" + (f" {n % per} {small}" if n % per else "")


_REASONS = {"writes": "the call did not take effect", "idempotent": "the tool is idempotent",
            "reads": "the tool only reads"}


def _judge(e, nature, attempt, left_ms, random):
    is_unsafe = nature == "writes" and (e["effect"] != "none" or e.get("effectBasis") == "stated")
    if e["retry"] != "same_call" and not (is_unsafe and e["effect"] != "applied"):
        return Decision(False, reason=f"{_kind(e)}: the same call would fail again")
    if is_unsafe:
        reason = "the call may have taken effect: a repetition might do it twice"
        return Decision(False, verify=e.get("verify"), reason=reason)
    if attempt > CONTRACT["retry"]["retries"]:
        return Decision(False, reason=f"gave up after {attempt} attempts")
    wait = int(_backoff(e, attempt, random))
    if wait >= left_ms:
        left = _wait_text(max(int(left_ms), 0))
        return Decision(False, reason=f"the wait of {_wait_text(wait)} is longer than the {left} that are left")
    return Decision(True, wait, reason=_REASONS[nature])


def decide(failure: Failure | dict[str, Any], nature: str, attempt: int, left_ms: float,
           random: float | None = None) -> Decision:
    """Decides whether to make a call again that failed in its attempt-th attempt (from 1), of a tool that "writes",
    is "idempotent" or "reads". failure is a Failure or a record; random is in [0, 1)."""
    stated = failure.stated if isinstance(failure, Failure) else failure
    return _judge(_settle(stated, nature), nature, attempt, left_ms, _random() if random is None else random)
