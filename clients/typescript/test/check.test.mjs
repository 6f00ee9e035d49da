import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { check } from "@recoursehq/client/check";

// program writes one that says what recourse check would.
function program(stdout, stderr, status) {
  const file = join(mkdtempSync(join(tmpdir(), "recourse-")), "recourse");
  writeFileSync(file, `#!/bin/sh\ncat <<'E'\n${stdout}\nE\necho ${JSON.stringify(stderr)} >&2\nexit ${status}\n`);
  chmodSync(file, 0o755);
  return file;
}

const finding = { rule: "no-stack", harm: "leaks", title: "No failure shows a stack trace", said: "There is one.", mend: "Log it.", entry: "redact: all" };

test("a report, the findings, and what is no report", () => {
  assert.equal(check({ url: "http://127.0.0.1:1/mcp", program: program('{"grade": "A", "findings": null}', "", 0) }).grade, "A");
  assert.throws(
    () => check({ command: ["server"], program: program(JSON.stringify({ findings: [finding] }), "1 of the findings", 1) }),
    /1 of the findings\nleaks: No failure shows a stack trace \(no-stack\)\n {2}the server: There is one\.\n {2}mend: Log it\.\n {4}redact: all/,
  );
  assert.throws(() => check({ program: program("", "no server given", 2) }), /recourse check: no server given/);
  assert.throws(() => check({ program: "/no/such/program" }), /ENOENT/);
});
