// A server of MCP with nothing but Node, over stdio (node server.mjs) or HTTP (serve()).
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const tools = ["get_field", "order_create", "order_get", "order_count", "unknown_field", "bad"];
const counts = { type: "object", properties: { orders: { type: "number" } }, required: ["orders"] };
const failure = (record) => ({
  content: [{ type: "text", text: record.message ?? "It failed." }],
  isError: true,
  _meta: { "io.github.recoursehq/error": { v: 1, ...record } },
});
const done = (data) => ({ content: [{ type: "text", text: JSON.stringify(data) }], structuredContent: data });

/** Counts calls, and fails as its tools' names say. */
export class Server {
  calls = {};

  call(name, args) {
    this.calls[name] = (this.calls[name] ?? 0) + 1;
    if (name === "get_field" && this.calls[name] === 1) {
      return failure({ kind: "rate_limited", message: "Slow down.", afterMs: 7000, retry: "same_call" });
    }
    if (name === "order_create") {
      const verify = { tool: "order_get", args: { reference: args.reference } };
      return failure({ kind: "timeout", effect: "unknown", message: "No answer came.", verify });
    }
    if (name === "order_count") return done({ orders: "many" }); // not what its outputSchema says
    if (name === "unknown_field") {
      const form = { error: true, code: "FIELD_NOT_FOUND", message: "There is no field 12.", retryable: false };
      return { content: [{ type: "text", text: JSON.stringify(form) }], structuredContent: form, isError: true };
    }
    return done(args);
  }

  answer({ method, params = {}, id }) {
    if (id === undefined) return undefined;
    const answer = (rest) => ({ jsonrpc: "2.0", id, ...rest });
    if (method === "initialize") {
      const serverInfo = { name: "test", version: "1" };
      return answer({ result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo } });
    }
    if (method === "tools/list") {
      return answer({ result: { tools: tools.map((name) => ({
        name, inputSchema: { type: "object" }, annotations: { readOnlyHint: /get/.test(name) },
        ...(name === "order_count" && { outputSchema: counts }),
      })) } });
    }
    if (method === "tools/call" && params.name === "bad") {
      const data = { v: 1, kind: "missing_param", message: "No id." };
      return answer({ error: { code: -32602, message: "Invalid params", data } });
    }
    if (method === "tools/call") return answer({ result: this.call(params.name, params.arguments ?? {}) });
    if (method === "ping") return answer({ result: {} });
    return answer({ error: { code: -32601, message: "Method not found" } });
  }
}

/** Serves over HTTP. Calls of tools are answered by these statuses first. */
export async function serve(statuses) {
  const server = new Server();
  const left = [...statuses];
  const http = createServer(async (request, response) => {
    if (request.method !== "POST") return response.writeHead(405).end();
    let body = "";
    for await (const chunk of request) body += chunk;
    const message = JSON.parse(body);
    const next = message.method === "tools/call" ? left.shift() : undefined;
    if (next) return response.writeHead(next[0], next[1]).end("busy");
    const answer = server.answer(message);
    if (!answer) return response.writeHead(202).end();
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(answer));
  });
  await new Promise((listens) => http.listen(0, "127.0.0.1", listens));
  const close = () => {
    http.closeAllConnections();
    http.close();
  };
  return { url: new URL(`http://127.0.0.1:${http.address().port}/mcp`), server, close };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const server = new Server();
  for await (const line of createInterface({ input: process.stdin })) {
    const answer = server.answer(JSON.parse(line));
    if (answer) console.log(JSON.stringify(answer));
  }
}
