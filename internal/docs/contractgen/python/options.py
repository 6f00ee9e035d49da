# ---- Recovering.

@dataclass
class Step:
    """A step of a call: call, verify, poll, connect, answer, wait or decide. A wait is reported before it begins."""
    action: str
    tool: str
    attempt: int
    wait_ms: float = 0
    failure: Failure | None = None
    reason: str = ""


#{{if has "contract.verify" "contract.record" "contract.advised" ":call"}}
@dataclass
class Verification:
    """The facts for judging whether a write took effect. result: of the verify call; None: the item does not exist."""
    tool: str
    arguments: dict[str, Any]
    failure: Failure
    verify: dict[str, Any]
    result: dict[str, Any] | None


#{{end}}
@dataclass
class Options:
    """How recover() works.

    server: what the callers of one server share. trusted: the server is believed that a call took no effect.
    natures: what tools do ("writes", "idempotent", "reads") where the contract does not say it. tools: of tools/list.
    connect(failure) has an account connected; answer(question) returns arguments; they may be coroutines, as all hooks.
#{{if has "contract.verify" "contract.record" "contract.advised" ":call"}}
    landed(verification) returns True, False, or None for an open question.
#{{end}}
#{{if has "contract.batch"}}
    succeeded(items) is given what a batch has done.
#{{end}}
    observe(step) is told of each step, and report is a list that the steps are added to. sleep(seconds) waits.
    attempt_timeout_ms: left out, an attempt may take as long as the call; a quarter of that less, at most 15 s, if
    something could be done then."""
    server: Server | None = None
    timeout_ms: float = 300_000
    attempt_timeout_ms: float | None = None
    trusted: bool = True
    natures: dict[str, str] = field(default_factory=dict)
    tools: list[Any] | None = None
    connect: Callable[[Failure], Any] | None = None
    answer: Callable[[Question], Any] | None = None
#{{if has "contract.verify" "contract.record" "contract.advised" ":call"}}
    landed: Callable[[Verification], Any] | None = None
#{{end}}
#{{if has "contract.batch"}}
    succeeded: Callable[[list[dict[str, Any]]], Any] | None = None
#{{end}}
    observe: Callable[[Step], None] | None = None
    report: list[Step] | None = None
    random: Callable[[], float] = _random
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
