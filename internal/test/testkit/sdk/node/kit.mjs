// Runs the golden kit of a contract against the package @recoursehq/client, with a module that `recourse contract gen` wrote:
//   node kit.mjs PACKAGE MODULE KIT [DECISIONS RECOVERIES]
// Prints each case that differs, with the expected and the actual text, then the number of cases. A failure of each code is
// read back, too, and hostile answers are read. The format: contract/testdata/kit/README.md.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { isDeepStrictEqual } from "node:util";

const [packagePath, modulePath, kitPath, decisionsPath, recoveriesPath] = process.argv.slice(2);
const client = await import(pathToFileURL(packagePath));
const { contract } = await import(pathToFileURL(modulePath));

const archive = readFileSync(kitPath, "utf8");
const cases = new Map();
for (const [, name, file, data] of archive.matchAll(/^-- (.+)\/([^/\n]+) --\n([\s\S]*?)\n(?=-- |$(?![\s\S]))/gm)) {
  if (!cases.has(name)) cases.set(name, {});
  cases.get(name)[file] = data;
}

let differing = 0;
function compare(name, what, want, got) {
  if (isDeepStrictEqual(want, got)) return;
  differing++;
  const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  console.log(`${name}: ${what}\n  want ${text(want)}\n  got  ${text(got)}`);
}

// parts parses an HTTP answer of the kit. Header names are case-insensitive.
function parts(http) {
  const end = http.indexOf("\n\n");
  const [status, ...lines] = http.slice(0, end).split("\n");
  const headers = new Headers(lines.map((line) => line.split(/: (.*)/, 2)));
  return { status: Number(status), headers, body: http.slice(end + 2) };
}

const sent = {
  "result.json": (answer) => JSON.stringify(answer.result),
  "error.json": (answer) => JSON.stringify(answer.error),
  "http.txt": (answer) => ({ status: answer.status, headers: [...new Headers(answer.headers)], body: answer.body }),
};

const read = {
  "result.json": (text) => {
    const { _meta, ...rest } = JSON.parse(text);
    return contract.parseResult(rest);
  },
  "error.json": (text) => contract.parseError(JSON.parse(text)),
  "http.txt": (text) => {
    const { status, headers, body } = parts(text);
    return contract.parseHTTP(status, headers, body);
  },
};

for (const [name, files] of cases) {
  const file = Object.keys(sent).find((one) => files[one] !== undefined);
  if (files["input.json"] !== undefined) {
    const { record, question, call: said } = JSON.parse(files["input.json"]);
    const call = { method: "", ...said, now: new Date("2026-07-28T12:00:00Z") };
    const answer = question ? contract.ask(question, call) : contract.write(record, call);
    const want = file === "http.txt" ? parts(files[file]) : files[file];
    compare(name, "written", file === "http.txt" ? { ...want, headers: [...want.headers] } : want, sent[file](answer));
    if (record && file === "result.json") {
      const result = JSON.parse(files[file]);
      compare(name, "read with _meta", result._meta[client.metaKey], contract.parseResult(result)?.failure);
    }
  }
  const reading = read[file](files[file]);
  const want = JSON.parse(files["read.json"]);
  compare(name, "read", want, reading === undefined ? {} : JSON.parse(JSON.stringify({ record: reading.failure, question: reading.question })));
}
// Decisions about failures are the same, byte for byte.
const decisions = decisionsPath ? readFileSync(decisionsPath, "utf8").trimEnd().split("\n") : [];
for (const line of decisions) {
  const { name, failure, nature, attempt, leftMs, random } = JSON.parse(line);
  const want = line.slice(line.indexOf('"decision":') + '"decision":'.length, -1);
  compare(name, "decided", want, JSON.stringify(contract.decide(failure, nature, attempt, leftMs, random)));
}
// Whole recoveries make the same calls after the same waits, and end in the same way.
const [, contractName] = /contract (\S+)/.exec(archive);
const lines = recoveriesPath ? readFileSync(recoveriesPath, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line)) : [];
const recoveries = lines.filter((line) => line.contract === contractName);
for (const { name, tool, arguments: args, answers, connect, answer, want } of recoveries) {
  const made = { calls: [], waits: [] };
  const next = {};
  const caller = async (params) => {
    made.calls.push({ tool: params.name, arguments: params.arguments });
    const i = (next[params.name] = (next[params.name] ?? -1) + 1);
    const list = answers[params.name];
    return list[Math.min(i, list.length - 1)];
  };
  const options = { random: () => 0.5, sleep: async (ms) => void made.waits.push(ms) };
  if (connect) options.connect = () => {};
  if (answer) options.answer = () => answer;
  try {
    made.result = (await client.recover(caller, contract, options)({ name: tool, arguments: args })).structuredContent;
  } catch (error) {
    made.kind = error.failure?.kind ?? String(error.stack);
    made.result = error.result?.structuredContent;
  }
  compare(name, "recovered", sorted(want), sorted(JSON.parse(JSON.stringify(made))));
}
function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
}
// A call that is stopped, or whose time is over, ends immediately, and its failure says so.
if (recoveriesPath) {
  const hangs = () => new Promise(() => {});
  const ended = (options) => client.recover(hangs, contract, options)({ name: "tool" }).then(() => "a result", (error) => error.failure?.kind ?? String(error));
  compare("deadline", "ended", "timeout", await ended({ timeoutMs: 20 }));
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 20);
  compare("signal", "ended", "cancelled", await ended({ signal: stop.signal }));
}
// Five calls in a row that do not reach the server open the circuit that callers share. Then none is sent until one may try.
if (contractName === "recourse") {
  const server = new client.Server();
  let sent = 0;
  let up = false;
  const caller = async () => {
    sent++;
    if (!up) throw new Error("connect ECONNREFUSED");
    return { content: [] };
  };
  const ended = (timeoutMs) => client.recover(caller, contract, { server, timeoutMs })({ name: "tool" }).then(() => "a result", (error) => error.failure?.kind);
  for (let i = 0; i < 5; i++) compare("circuit", "ended", "unreachable", await ended(1000));
  compare("circuit", "ended while it is open", ["unavailable", 5], [await ended(100), sent]);
  up = true;
  compare("circuit", "ended when a call may try", ["a result", 6], [await ended(5000), sent]);
  compare("circuit", "ended when it is closed", ["a result", 7], [await ended(100), sent]);
}
// Circuits open, wait and close at the same times, and hints name the same calls.
const linesOf = (name) => readFileSync(new URL(name, pathToFileURL(recoveriesPath)), "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
for (const { name, steps } of recoveriesPath ? linesOf("circuits.jsonl") : []) {
  const server = new client.Server();
  for (const [i, { at, tool, last, ends, kind, afterMs, waitMs }] of steps.entries()) {
    if (ends) {
      server.learn(1e9 + at, tool, ends, { kind: kind ?? "unavailable", afterMs });
      continue;
    }
    const [wait, why] = server.admit(1e9 + at, last ? 1e9 + last : 0, tool);
    compare(`circuit: ${name}`, `step ${i}`, [waitMs, kind], [Math.floor(wait), wait ? why.kind : undefined]);
  }
}
for (const { contract: name, hint, tool, args } of recoveriesPath ? linesOf("advice.jsonl") : []) {
  if (name !== contractName) continue;
  compare(hint, "advised", tool ? [{ tool, args, hint }] : [], contract.advised({ kind: "unknown", hints: [hint] }));
}
// A success that does not look like one is a failure, with the same sentence.
for (const { name, expects, arguments: args, result, message } of recoveriesPath ? linesOf("expects.jsonl") : []) {
  const expecting = new client.Contract({ ...contract.table, form: 1, verify: {}, expects: { get: expects } });
  const ended = await client.recover(async () => result, expecting)({ name: "get", arguments: args }).then(
    () => "",
    (error) => error.failure.message,
  );
  compare(name, "expects", message, ended);
}
// An observer that throws does not affect the call, and a refusal by HTTP does not count as a mistake in the arguments.
{
  const observe = () => {
    throw new Error("the observer");
  };
  const ok = await client.recover(async () => ({ content: [] }), contract, { observe })({ name: "tool" });
  compare("observe", "ended", [], ok.content);
  const server = new client.Server();
  let sent = 0;
  const caller = async () => {
    sent++;
    throw Object.assign(new Error("unprocessable"), { code: 422 });
  };
  for (let i = 0; i < 2; i++) await client.recover(caller, contract, { server, sleep: async () => {} })({ name: "tool" }).catch(() => {});
  compare("refused by HTTP", "calls", 2, sent);
}
// A call that is held back by a limit is not sent, and names the limit.
if (contractName === "recourse") {
  const limit = { v: 1, kind: "rate_limited", message: "Slow down.", afterMs: 60_000 };
  const server = new client.Server();
  let sent = 0;
  const caller = async () => void sent++ ?? { content: [], structuredContent: limit, isError: true };
  for (let i = 0; i < 2; i++) {
    const failure = await client.recover(caller, contract, { server, timeoutMs: 1000 })({ name: "tool" }).catch((error) => error.failure);
    compare("limit", "ended", ["rate_limited", "Slow down.", 1], [failure.kind, failure.message, sent]);
  }
}
// An untrusted server's word that a write took no effect does not count.
if (contractName === "recourse") {
  const safe = { v: 1, kind: "timeout", retry: "same_call", effect: "none" };
  const limited = { v: 1, kind: "rate_limited", retry: "same_call" }; // a kind is a word, too
  for (const [said, trusted, want] of [[safe, true, 4], [safe, false, 1], [limited, true, 4], [limited, false, 1]]) {
    let sent = 0;
    const caller = async () => void sent++ ?? { content: [], structuredContent: said, isError: true };
    await client.recover(caller, contract, { trusted, sleep: async () => {} })({ name: "tool" }).catch(() => {});
    compare("trusted", "calls", want, sent);
  }
  // What stands beside a refusal is a word: only the status 429 says that the same call may succeed.
  const data = { ...limited, httpStatus: 429, upstream: { status: 429 } };
  const body = JSON.stringify(limited);
  const raised = [
    ...[429, 400, 401, 403, 405, 413, 422, 503].flatMap((n) => [[n, { status: n }], [n, { code: n }]]), // an HTTP status
    ...[429, 503, -32602, -32600, -32020, -32000, -32603].map((code) => [0, { code, data }]), // a JSON-RPC error
    [0, { code: 429, data: undefined }],
  ];
  for (const [status, members] of raised) {
    let sent = 0;
    const refused = async () => { sent++; throw Object.assign(new Error(`busy: ${body}`), members); };
    await client.recover(refused, contract, { trusted: false, sleep: async () => {} })({ name: "tool" }).catch(() => {});
    compare("untrusted", `calls after ${JSON.stringify(members)}`, status === 429 ? 4 : 1, sent);
  }
  // Nor does somebody sign in, or look somewhere else, because the server says so.
  const unauthenticated = { v: 1, kind: "unauthenticated" };
  const lost = { v: 1, kind: "timeout", effect: "unknown", verify: { tool: "look", args: { id: "other" } } };
  for (const [name, said] of [["connect", unauthenticated], ["verify", lost]]) {
    let sent = 0;
    const caller = async () => void sent++ ?? { content: [], structuredContent: said, isError: true };
    const options = { trusted: false, natures: { look: "reads" }, connect: () => {}, landed: () => false, sleep: async () => {} };
    await client.recover(caller, contract, options)({ name: "tool" }).catch(() => {});
    compare("untrusted", name, 1, sent);
  }
}
// The headers of an HTTP error reach an SDK as a JSON-RPC error; statuses on which the SDK itself acts are unchanged.
const limited = async (url) => new Response("{}", { status: Number(url), headers: { "Retry-After": "12" } });
const request = { method: "POST", body: JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/call" }) };
const kept = await (await contract.keepFailures(limited)("429", request)).json();
compare("keepFailures", "error", [7, "rate_limited", 12000, "none"], [kept.id, kept.error.data.kind, kept.error.data.afterMs, kept.error.data.effect]);
compare("keepFailures", "lost session", 404, (await contract.keepFailures(limited)("404", request)).status);
// Connecting is tried again while the server is down, and not with invalid credentials.
if (/(recourse|terra)[^/]*$/.test(modulePath)) {
  for (const [name, statuses, want] of [["down", [502, 503], "session"], ["refused", [401, 502], "unauthenticated"]]) {
    const left = [...statuses];
    const connect = async () => {
      const status = left.shift();
      if (status) throw Object.assign(new Error(`HTTP ${status}`), { code: status });
      return "session";
    };
    const got = await client.recoverConnect(connect, contract, { sleep: async () => {} }).catch((error) => error.failure?.kind ?? String(error));
    compare("recoverConnect", name, want, got);
  }
}
// A constructor's failure is read back with its code, on one of the surfaces.
for (const [code, failure] of Object.entries(contract.failures)) {
  const codes = [true, false].map((http) => readBack(contract.write(failure("What happened.", { requestId: "req-1" }), { http })));
  compare(`failures.${code}`, "made, written and read", code, codes.find((c) => c === code) ?? codes[0]);
}
function readBack(answer) {
  const reading = {
    result: () => contract.parseResult(answer.result),
    error: () => contract.parseError(answer.error),
    http: () => contract.parseHTTP(answer.status, new Headers(answer.headers), answer.body),
  }[answer.surface]();
  return reading?.failure?.code;
}
// No answer of a server makes the parser throw, nor its result the writer.
const nested = {};
for (let i = 0, at = nested; i < 100_000; i++) at = at.a = {};
const inText = (text) => ({ content: [{ type: "text", text }], isError: true });
const metaOf = (text) => ({ content: [], isError: true, _meta: { [client.metaKey]: JSON.parse(text) } });
const hostile = [
  undefined, null, 7, "x", [], { isError: true, content: 7 }, { isError: true, content: [null, 7, { type: "text", text: 9 }] },
  { ...inText("[timeout] x"), structuredContent: nested }, { ...inText("x"), n: 1n }, inText("[".repeat(1e6)), inText('{"a":'.repeat(1e5)),
  inText("[timeout] " + " [envelope] ".repeat(1e5)), inText("[timeout] " + " Suggestions: ".repeat(1e5)), inText("MCP error 1: ".repeat(1e5)),
  inText('{"__proto__":{"a":1},"error":true,"code":"__proto__","message":"x","constructor":1}'),
  metaOf('{"v":1,"kind":"__proto__","code":"constructor","contract":"toString","details":{"__proto__":{"a":1}},"failed":[null,{}]}'),
  { content: [], error: { code: "constructor", message: "x", data: { code: 1, retryable: "x", details: [] } } },
];
for (const [i, result] of hostile.entries()) {
  const text = JSON.stringify(result?.content?.[0]?.text) ?? "";
  const limits = `{"error":${text || 1},"errorCode":429,"rateLimits":{"minuteRemaining":-1,"minuteResetAt":${Number.MAX_SAFE_INTEGER}}}`;
  for (const parse of [
    () => contract.parseResult(result),
    () => contract.parseError(result?.error ?? result),
    () => contract.parseHTTP(429, new Headers({ "Retry-After": "-1" }), limits),
  ]) {
    try {
      const failure = parse()?.failure;
      if (failure) contract.write(failure, { arguments: result });
    } catch (error) {
      compare(`hostile answer ${i}`, "read", "no exception", String(error));
    }
  }
}
compare("hostile answers", "Object.prototype", undefined, {}.a);
console.log(`${cases.size} cases, ${decisions.length} decisions, ${recoveries.length} recoveries, ${differing} differences`);
if (cases.size === 0 || (decisionsPath && decisions.length === 0) || differing > 0) process.exitCode = 1;
