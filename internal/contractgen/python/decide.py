# ---- Deciding.

@dataclass(frozen=True)
class Decision:
    """What is done about a failure. wait_ms: before the call is made again. verify: the call that settles first whether the
    failed one took effect. reason: for the log."""
    repeat: bool
    wait_ms: int = 0
    verify: dict | None = None
    reason: str = ""


_LONGEST_MS = 9_223_372_036_854  # that a record can state
_BEFORE = ("protocol", "input", "auth", "permission", "resource", "state", "allowance")  # classes that are found before the work


def _effect(e, nature):
    """Returns whether a failed call changed anything. What is stated counts, but what only reads has no effect whatever anybody says."""
    if nature == "reads" or _text(e.get("effect")):
        return "none" if nature == "reads" else e["effect"]
    kind = _kind(e)
    if kind == "partial":
        return "applied"
    return "none" if KINDS[kind]["class"] in _BEFORE or kind == "not_implemented" else "unknown"


def _settle(stated, nature):
    """Completes a failure by what the contract says of it: its effect, and its advice where it states none."""
    e = {**stated, "effect": _effect(stated, nature)}
    if e["effect"] == "unknown" and not _text(stated.get("effect")) and stated.get("retry") == "same_call":
        e["effect"] = "none"  # as the server says
    if not _text(stated.get("retry")):
        advice = KINDS[_kind(e)]["retry"]
        again = _retryable(_bound({**stated, "effect": "none"}))
        e["retry"] = "same_call" if again else "never" if advice == "same_call" else advice
    return e


def _stated_wait(e):
    return min(max(_number(e.get("afterMs")), 0), _LONGEST_MS)


def _backoff(e, attempt, random):
    """Returns the wait before a call is made again that has failed attempt times: what was stated is a minimum."""
    rule, stated = CONTRACT["retry"], _stated_wait(e)
    start = stated or (max(rule["startMs"], 1000) if _kind(e) == "rate_limited" else rule["startMs"])
    jitter = rule["jitterMs"] * random if attempt >= rule["jitterFrom"] else 0
    return max(stated, min(start * rule["factor"] ** (attempt - 1) + jitter, MAX_WAIT_MS))


def _judge(e, nature, attempt, left_ms, random):
    unsafe = nature == "writes" and e["effect"] != "none"
    if _text(e.get("retry")) != "same_call" and not (unsafe and e["effect"] == "unknown"):
        return Decision(False, reason=f"{_kind(e)}: the same call would fail again")
    if unsafe:
        verify = _in_order(e["verify"], _MEMBERS["verify"]) if isinstance(e.get("verify"), dict) else None
        return Decision(False, verify=verify, reason="the call may have taken effect: a repetition might do it twice")
    if attempt > CONTRACT["retry"]["retries"]:
        return Decision(False, reason=f"gave up after {attempt} attempts")
    wait = _backoff(e, attempt, random)
    if wait >= left_ms:
        texts = _wait_text(int(wait)), _wait_text(max(int(left_ms), 0))
        return Decision(False, reason="the wait of {} is longer than the {} that are left".format(*texts))
    reasons = {"writes": "the call did not take effect", "idempotent": "the tool is idempotent", "reads": "the tool only reads"}
    return Decision(True, int(wait), reason=reasons[nature])


def decide(failure, nature, attempt, left_ms, random=None):
    """Decides whether to make a call again that failed in its attempt-th attempt (from 1), of a tool that "writes", is
    "idempotent" or "reads". failure is a Failure or a record; random is in [0, 1)."""
    stated = failure.stated if isinstance(failure, Failure) else failure
    return _judge(_settle(stated, nature), nature, attempt, left_ms, _random() if random is None else random)
