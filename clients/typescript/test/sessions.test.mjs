// What recover() does with the clients of both versions of the official SDK.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import * as v2 from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioTransport2 } from "@modelcontextprotocol/client/stdio";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallFailed, Contract, recover, recoverConnect } from "@recoursehq/client";
import { serve } from "./server.mjs";

const now = Date.now;
let slept = 0;
Date.now = () => now() + slept;
const sleep = async (ms) => void (slept += ms); // waits take no time: the clock goes forward

const sdks = {
  "sdk 1": { Client, Stdio: StdioClientTransport, HTTP: StreamableHTTPClientTransport },
  "client 2": { Client: v2.Client, Stdio: StdioTransport2, HTTP: v2.StreamableHTTPClientTransport },
};
const server = { command: process.execPath, args: [fileURLToPath(new URL("server.mjs", import.meta.url))] };

async function connected(of, transport) {
  const client = new of.Client({ name: "test", version: "1" });
  await client.connect(transport);
  return client;
}

for (const [name, of] of Object.entries(sdks)) {
  const over = (title, run) =>
    test(`${name}: ${title}`, async () => {
      const client = await connected(of, new of.Stdio(server));
      try {
        await run(client);
      } finally {
        await client.close();
      }
    });

  over("waits as long as the server asks", async (client) => {
    const report = [];
    const options = { natures: { get_field: "reads" }, sleep, report, random: () => 0 };
    const result = await recover(client, "recourse", options).callTool({ name: "get_field", arguments: { id: "12" } });
    assert.deepEqual(result.structuredContent, { id: "12" });
    assert.deepEqual(report.filter(({ action }) => action === "wait").map(({ waitMs }) => waitMs), [7000]);
  });

  over("reads a failure in the form of a contract", async (client) => {
    const error = await recover(client, "fieldmcp").callTool({ name: "unknown_field", arguments: {} }).catch((e) => e);
    assert.ok(error instanceof CallFailed);
    assert.deepEqual([error.failure.kind, error.failure.code, error.message], ["not_found", "FIELD_NOT_FOUND", "There is no field 12."]);
    assert.equal(error.answer.isError, true);
  });

  over("reads a JSON-RPC error", async (client) => {
    const error = await recover(client).callTool({ name: "bad", arguments: {} }).catch((e) => e);
    assert.deepEqual([error.failure?.kind, error.message], ["missing_param", "No id."]);
  });

  over("does not take a result that the SDK rejects for a refusal", async (client) => {
    await client.listTools(); // with what results look like
    const error = await recover(client).callTool({ name: "order_count", arguments: {} }).catch((e) => e);
    assert.deepEqual([error.failure?.kind, error.failure?.effect === "none"], ["bad_response", false], error.message);
  });

  for (const landed of [true, false, undefined]) {
    over(`makes the verify call of a lost write (landed: ${landed})`, async (client) => {
      const session = recover(client, "recourse", { natures: { order_get: "reads" }, sleep, landed: () => landed });
      const ended = await session.callTool({ name: "order_create", arguments: { reference: "A-17" } }).catch((e) => e);
      if (landed) assert.deepEqual(ended.structuredContent, { reference: "A-17" });
      else assert.equal(ended.failure.kind, "timeout");
    });
  }

  over("leaves everything else to the client", async (client) => {
    const { tools } = await recover(client).listTools();
    assert.ok(tools.some((tool) => tool.name === "get_field"));
  });

  over("stops at the caller's signal", async (client) => {
    const stop = new AbortController();
    stop.abort();
    const call = [{ name: "order_get", arguments: {} }, ...(of === sdks["sdk 1"] ? [undefined] : []), { signal: stop.signal }];
    const error = await recover(client).callTool(...call).catch((e) => e);
    assert.equal(error.failure?.kind, "cancelled");
  });

  test(`${name}: keeps what the SDK drops from an HTTP error`, async () => {
    const contract = new Contract("recourse");
    const { url, server, close } = await serve([[429, { "Retry-After": "7" }], [429, { "Retry-After": "7" }]]);
    const client = await connected(of, new of.HTTP(url, { fetch: contract.keepFailures(fetch) }));
    try {
      const report = [];
      const session = recover(client, contract, { natures: { order_get: "reads" }, sleep, report, random: () => 0 });
      const result = await session.callTool({ name: "order_get", arguments: { id: "1" } });
      assert.deepEqual(result.structuredContent, { id: "1" });
      assert.deepEqual(report.filter(({ action }) => action === "wait").map(({ waitMs }) => waitMs), [7000, 14000]);
      assert.equal(server.calls.order_get, 1);
    } finally {
      await client.close();
      close();
    }
  });
}

test("connecting waits for a server that is down", async () => {
  let tries = 0;
  const open = async () => {
    if (++tries < 3) throw Object.assign(new Error("bad gateway"), { code: 502 });
    return "session";
  };
  assert.deepEqual([await recoverConnect(open, "recourse", { sleep }), tries], ["session", 3]);
});
