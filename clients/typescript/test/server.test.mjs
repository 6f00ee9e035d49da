// What leaves an McpServer of both versions of the official SDK, as its own client reads it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import * as client2 from "@modelcontextprotocol/client";
import * as server2 from "@modelcontextprotocol/server";
import { recover } from "@recoursehq/client";
import { failureFrom, notFound, timeout, use } from "@recoursehq/client/server";
import { z } from "zod";

const sdks = {
  "sdk 1": { Client, McpServer, InMemoryTransport },
  "server 2": { Client: client2.Client, McpServer: server2.McpServer, InMemoryTransport: server2.InMemoryTransport },
};

/** Returns the failure that a client reads. */
async function failed(of, contract, name, args, options) {
  const server = new of.McpServer({ name: "test", version: "1" });
  use(server, contract, options);
  server.registerTool("get_field", { inputSchema: z.object({ id: z.string() }), outputSchema: z.object({ id: z.string() }) }, async ({ id }) => {
    throw notFound("field", id);
  });
  server.registerTool("order_create", {}, async () => {
    throw timeout("John Deere");
  });
  server.registerTool("order_get", { annotations: { readOnlyHint: true } }, async () => {
    throw new DOMException("late", "TimeoutError");
  });
  server.registerTool("boom", {}, async () => {
    throw new Error("the soil is frozen");
  });
  server.registerTool("fine", {}, async () => ({ content: [{ type: "text", text: "done" }] }));
  const [a, b] = of.InMemoryTransport.createLinkedPair();
  const client = new of.Client({ name: "test", version: "1" });
  await Promise.all([server.connect(a), client.connect(b)]);
  try {
    const session = recover(client, contract, { sleep: async () => {}, timeoutMs: 2000 });
    return await session.callTool({ name, arguments: args }).catch((error) => error.failure ?? error);
  } finally {
    await client.close();
  }
}

for (const [name, of] of Object.entries(sdks)) {
  test(`${name}: a thrown failure leaves in the form of the contract`, async () => {
    const failure = await failed(of, "fieldmcp", "get_field", { id: "12" });
    assert.deepEqual([failure.code, failure.message, failure.resource], ["FIELD_NOT_FOUND", 'There is no field "12".', { type: "field", id: "12" }]);
  });

  test(`${name}: a write that was late may have taken effect, a read has not`, async () => {
    const write = await failed(of, "recourse", "order_create", {});
    assert.deepEqual([write.kind, write.effect, write.origin], ["timeout", "unknown", "provider"]);
    const read = await failed(of, "recourse", "order_get", {});
    assert.deepEqual([read.kind, read.effect], ["timeout", "none"]);
  });

  test(`${name}: any other error is internal`, async () => {
    assert.equal((await failed(of, "recourse", "boom", {})).message, "the soil is frozen");
    assert.equal((await failed(of, "recourse", "boom", {}, { reveal: false })).message, "An internal error occurred.");
  });

  test(`${name}: a success is not touched`, async () => {
    assert.equal((await failed(of, "recourse", "fine", {})).content[0].text, "done");
  });
}

test("errors become failures", () => {
  const refused = new TypeError("fetch failed", { cause: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }) });
  assert.deepEqual([failureFrom(refused).kind, failureFrom(refused).effect], ["unreachable", "none"]);
  assert.equal(failureFrom("a text").message, "a text");
});
