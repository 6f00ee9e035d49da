"""Runs the golden kit of a contract against a module that `recourse contract gen --lang python` wrote:

    python3 kit.py MODULE.py KIT [DECISIONS]

Prints each case that differs, with what is wanted and what came, then how many were run. Form of the kit: contract/testdata/kit/README.md.
"""
import importlib.util
import json
import re
import sys

module_path, kit_path, *more = sys.argv[1:]
spec = importlib.util.spec_from_file_location("contract", module_path)
contract = sys.modules["contract"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(contract)
differing = 0


def compare(name, what, want, got):
    global differing
    if want == got:
        return
    differing += 1
    print(f"{name}: {what}\n  want {want}\n  got  {got}")


def spelled(value):
    """Spells JSON so that equal values are equal texts."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def read_http(text):
    head, _, body = text.partition("\n\n")
    status, *lines = head.split("\n")
    return contract.parse_http(int(status), dict(line.split(": ", 1) for line in lines), body)


def read_result(text, meta=False):
    result = json.loads(text)
    if not meta:
        result.pop("_meta", None)
    return contract.parse_result(result)


READ = {"result.json": read_result, "error.json": lambda text: contract.parse_error(json.loads(text)), "http.txt": read_http}


def shown(reading):
    if reading is None:
        return {}
    return {"record" if isinstance(reading, contract.Failure) else "question": reading.record}


with open(kit_path, encoding="utf-8", newline="") as kit:
    files = re.findall(r"^-- (.+)/([^/\n]+) --\n([\s\S]*?)\n(?=-- |\Z)", kit.read(), re.M)
cases = {}
for name, file, data in files:
    cases.setdefault(name, {})[file] = data
for name, case in cases.items():
    file = next(file for file in READ if file in case)
    want = json.loads(case["read.json"])
    try:
        compare(name, "read", spelled(want), spelled(shown(READ[file](case[file]))))
        if file == "result.json" and (record := json.loads(case[file]).get("_meta", {}).get(contract.META_KEY)):
            compare(name, "read with _meta", spelled({"record": record}), spelled(shown(read_result(case[file], True))))
    except Exception as error:
        compare(name, "read", spelled(want), repr(error))

decisions = []
if more:
    with open(more[0], encoding="utf-8") as file:
        decisions = file.read().splitlines()
for line in decisions:
    given = json.loads(line)
    d = contract.decide(given["failure"], given["nature"], given["attempt"], given["leftMs"], given["random"])
    got = {"repeat": d.repeat, "waitMs": d.wait_ms, **({"verify": d.verify} if d.verify else {}), "reason": d.reason}
    text = json.dumps(got, separators=(",", ":"), ensure_ascii=False)
    compare(given["name"], "decided", line[line.index('"decision":') + len('"decision":'):-1], text)

# Nothing that a server sends makes the parser raise.
nested = {}
for _ in range(100_000):
    nested = {"a": nested}


def in_text(text):
    return {"content": [{"type": "text", "text": text}], "isError": True}


hostile = [
    None, 7, "x", [], {"isError": True, "content": 7}, {"isError": True, "content": [None, 7, {"type": "text", "text": 9}]},
    in_text("[" * 1_000_000), in_text('{"a":' * 100_000), in_text("[timeout] " + " [envelope] " * 100_000), in_text("MCP error 1: " * 100_000),
    in_text("[timeout] " + " Suggestions: " * 100_000), {**in_text("[timeout] x"), "structuredContent": nested},
    {"content": [], "error": {"code": "constructor", "message": "x", "data": {"code": 1, "retryable": "x", "details": []}}},
    {"content": [], "error": {"code": 1e308, "message": "x"}}, in_text('{"error":true,"code":"X","message":"x","retryAfter":1e999}'),
]
for i, result in enumerate(hostile):
    for parse in (lambda: contract.parse_result(result), lambda: contract.parse_error(result),
                  lambda: contract.parse_http(429, {"Retry-After": "-1"}, '{"error":1,"errorCode":429,"rateLimits":{"minuteResetAt":1e300}}')):
        try:
            parse()
        except Exception as error:
            compare(f"hostile answer {i}", "read", "no exception", repr(error)[:300])
print(f"{len(cases)} cases, {len(decisions)} decisions, {differing} differences")
sys.exit(not cases or bool(more and not decisions) or differing > 0)
