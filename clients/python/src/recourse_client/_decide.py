"""Deciding whether to make a call again."""

from __future__ import annotations

from dataclasses import dataclass

from ._kinds import MAX_WAIT_MS
from ._record import Fields, class_of, kind_of, number_of, text_of, usual_advice
from ._tables import Subject, Tables, choose, is_retryable


@dataclass(frozen=True)
class Decision:
    """What is done about a failure. wait_ms: before the call is made again. verify: the call that settles first whether
    the failed one took effect. reason: for the log."""

    repeat: bool
    wait_ms: int = 0
    verify: Fields | None = None
    reason: str = ""


def effect_of(e: Fields, nature: str) -> str:
    """Returns whether a failed call changed anything. A tool that only reads has no effect, whatever is stated."""
    if nature == "reads" or text_of(e.get("effect")):
        return "none" if nature == "reads" else text_of(e["effect"])
    before = ("protocol", "input", "auth", "permission", "resource", "state", "allowance", "data")
    is_before = class_of(e) in before or kind_of(e) == "not_implemented" or e.get("retry") == "after_setup"
    return "applied" if kind_of(e) == "partial" else "none" if is_before else "unknown"


def may_succeed(c: Tables, stated: Fields) -> bool:
    """Says whether the contract calls a failure retryable, apart from its effect."""
    e = {**stated, "effect": "none"}
    entry, code = choose(c, Subject(e))
    if "otherwise" in entry:
        entry = c.by_code[entry["otherwise"]]
        code = entry["code"]
    return is_retryable(e, entry, code)


def settle(c: Tables, stated: Fields, nature: str) -> Fields:
    """Completes a failure with the contract's effect, and with its advice if the failure states none."""
    e = {**stated, "effect": effect_of(stated, nature)}
    if e["effect"] == "unknown" and not stated.get("effect") and stated.get("retry") == "same_call":
        e["effect"] = "none"  # as the server says
    if not stated.get("retry"):
        advice = usual_advice(e)
        e["retry"] = "same_call" if may_succeed(c, stated) else "never" if advice == "same_call" else advice
    return e


def backoff(c: Tables, e: Fields, attempt: int, random: float) -> float:
    """Returns the wait before the next attempt of a call that has failed attempt times. A stated wait is a minimum."""
    rule, stated = (
        c.table["retry"],
        min(max(number_of(e.get("afterMs")), 0), 9_223_372_036_854),
    )  # as a record can state
    start = stated or max(rule["startMs"], 1000 if kind_of(e) == "rate_limited" else 0)
    jitter = rule["jitterMs"] * random if attempt >= rule["jitterFrom"] else 0
    wait: float = max(stated, min(start * rule["factor"] ** (attempt - 1) + jitter, MAX_WAIT_MS))
    return wait


def wait_text(ms: int) -> str:
    """Writes a wait for a person, in its two largest units."""
    if ms < 60_000:
        return f"{ms} ms" if ms < 1000 else f"{ms / 1000:.3f}".rstrip("0").rstrip(".") + " s"
    unit, per, large, small = (
        (1000, 60, "min", "s")
        if ms <= 3_599_000
        else (60_000, 60, "h", "min")
        if ms <= 86_340_000
        else (3_600_000, 24, "d", "h")
    )
    n = -(-ms // unit)  # rounded up: a wait is a minimum
    return f"{n // per} {large}" + (f" {n % per} {small}" if n % per else "")


_REASONS = {
    "writes": "the call did not take effect",
    "idempotent": "the tool is idempotent",
    "reads": "the tool only reads",
}


def judge(c: Tables, e: Fields, nature: str, attempt: int, left_ms: float, random: float) -> Decision:
    """Decides about a settled failure of a call that has failed attempt times."""
    is_unsafe = nature == "writes" and (e["effect"] != "none" or e.get("effectBasis") == "stated")
    if e["retry"] != "same_call" and not (is_unsafe and e["effect"] != "applied"):
        return Decision(False, reason=f"{kind_of(e)}: the same call would fail again")
    if is_unsafe:
        reason = "the call may have taken effect: a repetition might do it twice"
        return Decision(False, verify=e.get("verify"), reason=reason)
    if attempt > c.table["retry"]["retries"]:
        return Decision(False, reason=f"gave up after {attempt} attempts")
    wait = int(backoff(c, e, attempt, random))
    if wait >= left_ms:
        left = wait_text(max(int(left_ms), 0))
        return Decision(False, reason=f"the wait of {wait_text(wait)} is longer than the {left} that are left")
    return Decision(True, wait, reason=_REASONS[nature])
