// Contracts as JSON.
import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { builtin, Contract, ContractError, recover, withKey } from "@recoursehq/client";

test("the built-in contracts load", () => {
  const names = ["commerce", "fieldmcp", "patterns", "recourse", "studies", "terra"];
  assert.deepEqual(Object.keys(builtin).sort(), names);
  assert.deepEqual(names.map((name) => new Contract(name).name), names);
});

const changes = [
  [(t) => (t.form = 2), "it has form 2, and this version of @recoursehq/client reads form 1: install a newer one"],
  [(t) => delete t.form, "this is not a contract as recourse contract gen --lang json writes it: form is missing"],
  [(t) => delete t.codes, "codes is missing"],
  [(t) => delete t.codes[3].kind, "codes.3.kind is missing"],
  [(t) => (t.codes[3].kind = "melted"), "codes.3.kind: melted is not a kind that this version of @recoursehq/client knows"],
  [(t) => (t.codes[3].message = "no list"), "codes.3.message is not a list"],
  [(t) => t.codes[0].for.push({ weather: ["rain"] }), "codes.0.for: this version of @recoursehq/client does not know the condition weather"],
  [(t) => (t.default = "NO_SUCH_CODE"), "default: there is no code NO_SUCH_CODE"],
  [(t) => (t.retry.retries = "3"), "retry.retries is not a number"],
  [(t) => (t.layouts = []), "layouts is empty"],
];
for (const [change, why] of changes) {
  test(`a broken or newer contract: ${why}`, () => {
    const table = structuredClone(builtin.fieldmcp);
    change(table);
    assert.throws(() => new Contract(table), new ContractError(`contract fieldmcp: ${why}`));
  });
}

test("what is no contract says so", () => {
  assert.throws(() => new Contract("fieldmpc"), /there is no built-in contract fieldmpc: there are recourse, fieldmcp, /);
  for (const source of [[], 7, null, {}]) assert.throws(() => new Contract(source), ContractError);
});

test("a server writes, and a client reads", () => {
  const contract = new Contract("fieldmcp");
  const answer = contract.write(contract.failures.FIELD_NOT_FOUND("There is no field 12."), { tool: "get_field" });
  assert.equal(answer.surface, "result");
  assert.equal(contract.parseResult(answer.result).failure.code, "FIELD_NOT_FOUND");
});

test("the first lines of the README work", async (t) => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const [lines] = /^ {4}import (?:.*\n)+?(?=\S)/m.exec(readme.replaceAll("\n\n", "\n"));
  const file = new URL("readme.mjs", import.meta.url);
  writeFileSync(file, lines.replaceAll(/^ {4}/gm, ""));
  t.after(() => rmSync(file));
  const { order } = await import(file);
  const client = { callTool: async ({ arguments: args }) => ({ content: [], structuredContent: args }) };
  assert.deepEqual((await order(client, "A-17")).structuredContent, { reference: "A-17" });
  const down = { callTool: async () => { throw new Error("reset"); } };
  await assert.rejects(order(down, "A-17"), /reset/);
});

const limited = { isError: true, content: [{ type: "text", text: "[rate_limited] Later." }] };
for (const [what, contract, call, answers, keys] of [
  ["each repetition carries", "studies", { name: "study_create", arguments: {} }, [limited, { content: [] }], ["k", "k"]],
  ["a verify call does not carry", "studies", { name: "study_create", arguments: { workspace_id: "w" } },
    [new Error("reset"), { content: [] }], ["k", undefined]],
]) {
  test(`${what} the caller's key`, async () => {
    const got = [];
    const client = {
      callTool: async ({ _meta: meta }) => {
        got.push(meta["io.github.recoursehq/idempotencyKey"]);
        const answer = answers.shift();
        if (answer instanceof Error) throw answer;
        return answer;
      },
    };
    const session = recover(client, contract, { sleep: async () => {} });
    await session.callTool(withKey({ ...call, _meta: { progressToken: 1 } }, "k")).catch(() => {});
    assert.deepEqual(got, keys);
  });
}
