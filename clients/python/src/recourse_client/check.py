"""How a server fails, as a test of pytest; `recourse` has to be on the PATH:

def test_failures() -> None:
    check("python", "server.py")
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from typing import Any

__all__ = ["check"]


def check(
    *command: str,
    url: str | None = None,
    fail_on: str = "hides",
    baseline: str | None = None,
    args: Sequence[str] = (),
    program: str = "recourse",
) -> dict[str, Any]:
    """Runs `recourse check` on the server of a command, or of a URL, and returns its report. AssertionError lists the
    findings if one is of a harm that matters and not in the baseline; RuntimeError says why there is no report."""
    line = [program, "check", "--json", "--fail-on", fail_on, *args]
    line += ["--baseline", baseline] if baseline else []
    line += [url] if url else []
    line += ["--", *command] if command else []
    done = subprocess.run(line, capture_output=True, encoding="utf-8", errors="replace")
    try:
        report: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise RuntimeError(f"recourse check: {done.stderr.strip()}") from None
    if done.returncode:
        raise AssertionError("\n".join([done.stderr.strip(), *map(_sentence, report["findings"] or [])]))
    return report


def _sentence(finding: dict[str, Any]) -> str:
    known = f" (known: {finding['known']})" if "known" in finding else ""
    mend = f"{finding['mend']}\n    {finding.get('entry', '')}".rstrip()
    title = f"{finding['harm']}: {finding['title']} ({finding['rule']})"
    return f"{title}\n  {finding.get('tool') or 'the server'}: {finding['said']}{known}\n  mend: {mend}"
