import { shownArgument, verifyCall } from "./calls.js";
import { choose, isRetryable, selects, type Subject } from "./choose.js";
import { forProgram, kinds, maxWaitMs, metaKey, rpcCodes, sentences, statusTexts } from "./kinds.js";
import {
  adviceOf, child, classOf, copyOf, encode, type Fields, fieldsOr, get, isEmpty, isObject, isText, kindOf, listOr,
  numberOr, objectsAt, ordered, own, put, stepsOf, textOr, usualAdvice, type Value, waitText,
} from "./record.js";
import { type CodeEntry, type Hint, type Layout, type Selector, Tables } from "./tables.js";
import { frames, literalOf, match, render } from "./templates.js";
import { type Failure, like, type Question, type ToolResult } from "./types.js";

/** Facts about the failed call. Missing ones are empty or false. */
export interface Call {
  /** The JSON-RPC method. Default: tools/call. Only that one is answered with a tool result. */
  readonly method?: string;
  readonly tool?: string;
  readonly arguments?: unknown;
  /** The URL of the request. */
  readonly url?: string;
  /** The point at which the call failed. Default: in the tool. */
  readonly at?: At;
  /** The HTTP status that the transport requires. */
  readonly status?: number;
  /** The whole HTTP answer can still be written. */
  readonly http?: boolean;
  /** The tool declares an outputSchema: structuredContent is left out. */
  readonly outputSchema?: boolean;
  /** The tool's inputSchema has the argument with which a call chooses the texts. */
  readonly formatArgument?: boolean;
  /** Results name their type, as of MCP 2026-07-28. */
  readonly resultType?: boolean;
  /** The tools of the server: a hint that names another one is left out. Default: unknown. */
  readonly tools?: readonly string[];
  /** The present. Default: now. */
  readonly now?: Date;
}

export type At =
  | "credentials_missing" | "credentials_invalid" | "user_missing" | "user_invalid"
  | "session" | "arguments" | "upstream_misconfigured" | "upstream" | "tool";

/** A failure in the form in which it is sent. */
export type Answer =
  /** The member "result" of the JSON-RPC answer. */
  | { readonly surface: "result"; readonly result: ToolResult }
  /** The member "error", and the HTTP status around it. */
  | { readonly surface: "error"; readonly status: number; readonly error: RPCError }
  /** A whole HTTP answer. */
  | { readonly surface: "http"; readonly status: number; readonly headers: Headers; readonly body: string };
export type Headers = { readonly [name: string]: string };
export type RPCError = { readonly code: number; readonly message: string; readonly data?: unknown };

/** A record in the words of the contract. */
interface Bound extends Subject {
  readonly entry: CodeEntry | undefined;
  readonly call: Call;
  /** Returns the value at a path into the record, or into an item of one of its lists. */
  readonly from: (base: Value, path: string) => Value;
}

/** bare: the sentence is the record's own, not in the form of the code. */
function boundTo(c: Tables, e: Fields, call: Call, entry?: CodeEntry, bare = false): Bound {
  const from = (base: Value, path: string): Value => {
    const at = base === e ? -1 : path.indexOf("error.");
    if (base === e) return compute(c, s, path, bare);
    if (at < 0) return get(base, path);
    const inner = get(base, path.slice(0, at + "error".length));
    if (!isObject(inner)) return undefined;
    const [chosen] = choose(c, boundTo(c, inner, call));
    return compute(c, boundTo(c, inner, call, chosen), path.slice(at + "error.".length));
  };
  const s: Bound = { e, call, entry, from, get: (path) => from(e, path), tool: call.tool, at: call.at };
  return s;
}

const sentenceOf = (e: Fields): string => textOr(e["message"]) || sentences[kindOf(e)];
const hasTool = (call: Call, tool: string): boolean => call.tools?.includes(tool) ?? true;
const isUnlisted = ({ e, entry }: Bound): boolean =>
  !!entry && !entry.open && !!e["code"] && e["code"] !== entry.code;
const some = <T extends Value>(value: T): T | undefined => (isEmpty(value) ? undefined : value);

/** Returns the value at a path, even if it is computed from other members. */
function compute(c: Tables, s: Bound, path: string, bare = false): Value {
  const { e, entry, call } = s;
  const [place = "", type = ""] = path.split(":");
  switch (path) {
    case "message":
      return bare ? sentenceOf(e) : toldOf(c, s);
    case "message:given": {
      const given = textOr(e["message"]);
      const fixed = given === sentences.unknown || entry?.message?.some((t) => literalOf(t) === given);
      return fixed ? undefined : given || undefined;
    }
    case "code:name":
      return rangeNameOf(c, s) === undefined ? some(entry?.name) : undefined;
    case "code:group":
      return some(rangeNameOf(c, s) ?? entry?.group);
    case "code:number":
      return /^[+-]?\d+$/.test(textOr(e["code"])) ? Number(e["code"]) : undefined;
    case "retryable:flag":
      return isRetryable(e, entry ?? c.fallback, isUnlisted(s) ? textOr(e["code"]) : (entry ?? c.fallback).code);
    case "afterMs:wait":
      return e["afterMs"] ? waitText(numberOr(e["afterMs"])) : undefined;
    case "afterMs:seconds":
      return Math.ceil(numberOr(e["afterMs"]) / 1000) || undefined;
    case "verify:call":
      return isObject(e["verify"]) && hasTool(call, textOr(e["verify"]["tool"])) ? callText(c, e["verify"]) : undefined;
    case "http:title":
      return entry?.http && statusText(entry.http.status).toLowerCase();
  }
  if (place === "call" && type.startsWith("arguments.")) {
    const value = shownArgument(call.arguments, "/" + type.slice("arguments.".length));
    return value === undefined ? undefined : literal(c, value);
  }
  if (place === "call") return some(type === "tool" ? call.tool : call.url);
  const [list, policy = ""] = stepsOf(path);
  const quota = list === "quotas" && !/^\d+$/.test(policy) ? child(e["quotas"], policy) : undefined;
  if (isObject(quota) && type === "count") return numberOr(quota["remaining"]);
  if (!isObject(quota) || type !== "instant") return get(e, path);
  const reset = Date.parse(textOr(quota["resetAt"]));
  if (!Number.isNaN(reset)) return reset;
  const afterMs = numberOr(e["afterMs"]); // when the wait is over the binding one is reset
  return child(e["quotas"], "0") === quota && afterMs > 0 ? nowMs(call) + Math.ceil(afterMs / 1000) * 1000 : undefined;
}

const nowMs = (call: Call): number => (call.now ?? new Date()).getTime();
const statusText = (status: number): string => statusTexts[status] ?? "";

/** Returns the name of the range of an unlisted code. */
function rangeNameOf(c: Tables, { e, entry }: Bound): string | undefined {
  const code = textOr(e["code"]);
  const n = /^[+-]?\d+$/.test(code) && code !== entry?.code ? Number(code) : NaN;
  return c.table.ranges.find((r) => r.from <= n && n <= r.to)?.name;
}

/** Returns the JSON form of a record, with its members in order. */
function encoded(e: Fields): Fields {
  const to = encode(e);
  const names = [...Object.keys(like), ...Object.keys(to).sort().filter((name) => !Object.hasOwn(like, name))];
  for (const item of objectsAt(to, "failed")) item["error"] = encoded(fieldsOr(item["error"]));
  if (to["details"]) to["details"] = ordered("", to["details"]);
  return Object.fromEntries(names.filter((name) => to[name] !== undefined).map((name) => [name, to[name]]));
}

/** Says whether a failure is written as a tool result, unless its code has another form. */
const becomesResult = (c: Tables, { e, call }: Bound): boolean =>
  (call.method ?? "tools/call") === "tools/call" && !call.status &&
  (kindOf(e) === "unknown_tool" ? c.table.unknownTool === "result" : !forProgram.includes(kindOf(e)));

/** Returns the message of a JSON-RPC error with the advice: few clients show anything else of it. */
const withAdvice = (message: string, hints: string[]): string =>
  hints.reduce(
    (told, hint) => (told.endsWith(hint) ? told : `${told}${/[.!?]$/.test(told) ? "" : ";"} ${hint}`),
    message,
  );

/** Returns the sentence in the form of the code. */
function messageOf(c: Tables, s: Bound): string {
  const { e, entry, call } = s;
  if (!entry || isUnlisted(s) || (entry === c.fallback && classOf(e) === "protocol" && !becomesResult(c, s))) {
    return sentenceOf(e);
  }
  const bare = boundTo(c, e, call, entry, true);
  const soon = (t: string): boolean => e["effect"] === "unknown" && t.includes("{afterMs:"); // looking comes first
  return entry.message?.map((t) => (soon(t) ? undefined : render(t, bare.get))).find((text) => text !== undefined) ??
    sentenceOf(e);
}

/** Returns the sentence, and behind it the contract's advice about the failure. */
function toldOf(c: Tables, s: Bound): string {
  if (!s.entry || !layoutOf(c, s.call).advises || (s.call.http && s.entry.http)) return messageOf(c, s);
  const hints = listOr(s.e["hints"]).map(textOr).filter((hint) => isWarning(c, hint));
  const add = (text: string, hint: string): string =>
    text.includes(hint) ? text : text + (/[.!?]$/.test(text) ? " " : ". ") + hint;
  return hints.reduce(add, messageOf(c, s));
}

/** Writes the texts in a value in single quotes, where these need no escapes: double ones do not always survive. */
const singleQuoted = (text: string): string =>
  text.replace(/"((?:[^"\\]|\\.)*)"/g, (whole, inner: string) => (/[\\']/.test(inner) ? whole : `'${inner}'`));

/** Writes a call as in texts: order_get(reference='A-17'). */
function callText(c: Tables, verify: Fields): string {
  const write = (value: Value): string => singleQuoted(literal(c, value));
  const args = Object.entries(fieldsOr(verify["args"])).map(([name, value]) => `${name}=${write(value)}`);
  const place = (at: Value): string => {
    if (Array.isArray(at)) return `[${at.map(place).join("")}]`;
    const path = textOr(at).slice(1).replaceAll("/", ".").replaceAll("~1", "/").replaceAll("~0", "~");
    return `<your ${path}>`;
  };
  const from = Object.entries(fieldsOr(verify["from"])).map(([name, at]) => `${name}=${place(at)}`);
  return `${textOr(verify["tool"])}(${[...args, ...from].join(", ")})`;
}

/** Writes a value as the contract does in calls. */
function literal(c: Tables, value: Value): string {
  const json = JSON.stringify(value ?? null);
  if (c.table.literals !== "python") return json;
  const words: { readonly [word: string]: string } = { true: "True", false: "False", null: "None" };
  return json.replace(/"(?:[^"\\]|\\.)*"|true|false|null/g, (word) => words[word] ?? word);
}

const isWarning = (c: Tables, hint: string): boolean => c.table.hints.some((h) => match(h.text, hint));

/** Returns the hints to write: a warning about the failure, the author's own, and the code's advice. */
function hintsOf(c: Tables, s: Bound, fresh: boolean): string[] {
  const given = listOr(s.e["hints"]).map(textOr);
  const old = !fresh && given.some((hint) => isWarning(c, hint));
  const warning = old ? undefined : pick(c.table.hints, s);
  const hints = [warning, ...given];
  // A code of another program comes with its own advice, which may not tell the wait.
  const waits = numberOr(s.e["afterMs"]) > 0 && adviceOf(s.e) === "same_call";
  const leaves = s.entry?.open && given.length > 0 && s.e["origin"] === "provider" && !waits;
  const advises = !old && warning === undefined && ((fresh && !leaves) || given.length === 0);
  if (advises) hints.push(adviceOfCode(c, s));
  return [...new Set(hints.filter((hint) => hint !== undefined && hint !== ""))] as string[];
}

/** Returns the code's advice: if it usually says otherwise about the same call, only what is chosen by that holds. */
function adviceOfCode(c: Tables, s: Bound): string | undefined {
  const { code, hint = [], retryable: rule } = s.entry ?? c.fallback;
  const usually = isRetryable({ ...s.e, effect: "none", retry: "" }, s.entry ?? c.fallback, code);
  const ways = [kindOf(s.e), (s.entry ?? c.fallback).kind].map((kind) => usualAdvice({ kind }));
  const differs =
    (rule !== "stated" && (compute(c, s, "retryable:flag") === true) !== usually) ||
    (adviceOf(s.e) === "never" && ways.some((way) => way !== "never" && way !== "same_call"));
  return differs && !hint.some((h) => own(h.for, "retry")) ? undefined : pick(hint, s);
}

function pick(hints: readonly Hint[], s: Bound): string | undefined {
  const fitting = hints.filter((hint) => selects(hint.for, s) && !hint.tools?.some((tool) => !hasTool(s.call, tool)));
  return fitting.map((hint) => render(hint.text, s.get)).find((text) => text !== undefined);
}

/** Puts a record into the words of the contract: its code, with its wait and hints. */
function bind(c: Tables, from: Fields, call: Call): Bound {
  const e = fieldsOr(copyOf(from));
  e["kind"] = kindOf(e);
  const chosen = choose(c, boundTo(c, e, call));
  const fresh = e["contract"] !== c.name;
  if (fresh || !e["code"]) Object.assign(e, { contract: c.name, code: chosen[1] });
  // Another entry replaces it because of the place of the answer.
  const { code, otherwise = "" } = chosen[0];
  const other = call.http ? c.codes.find((one) => one.otherwise === code) : c.byCode.get(otherwise);
  if (other) e["code"] = other.code;
  const entry = other ?? chosen[0];
  e["message"] = sentenceOf(e);
  for (const v of objectsAt(e, "violations")) if (!c.table.showsValues) delete v["got"];
  const reset = Date.parse(textOr(child(child(e["quotas"], "0"), "resetAt")));
  const limited = classOf(e) === "allowance" && !Number.isNaN(reset);
  e["afterMs"] ||= limited ? Math.min(Math.max(reset - nowMs(call), 0), maxWaitMs) : (entry.waitMs ?? 0);
  const s = boundTo(c, e, call, entry);
  const again = compute(c, s, "retryable:flag") === true;
  const way = e["effect"] === "applied" && pick(c.table.hints, s) ? "never" : usualAdvice({ kind: entry.kind });
  const stated = textOr(e["retry"]) && c.table.layouts[0].record;
  const goes = adviceOf(e) === "same_call" || (adviceOf(e) === "never" && !stated);
  if (again || goes) e["retry"] = again ? "same_call" : way === "same_call" ? "never" : way;
  if (!isObject(e["verify"]) && e["effect"] === "unknown") e["verify"] = verifyCall(c, call.tool ?? "", call.arguments);
  if (isObject(e["verify"]) && !hasTool(call, textOr(e["verify"]["tool"]))) delete e["verify"];
  const within: Call = { ...(call.tools && { tools: call.tools }), ...(call.now && { now: call.now }) };
  for (const item of objectsAt(e, "failed")) item["error"] = bind(c, fieldsOr(item["error"]), within).e;
  if (!entry.message?.some(frames)) e["message"] = messageOf(c, s); // a code with a sentence of its own is known by it
  const hints = (e["hints"] = hintsOf(c, s, fresh));
  const warns = hints.some((hint) => isWarning(c, hint));
  if (e["effect"] === "unknown" && adviceOf(e) === "never" && warns) e["retry"] = "re_read";
  // A wait that helps nobody is left out.
  const helps = ["same_call", "re_read"].includes(adviceOf(e)) || kindOf(e) === "partial" || classOf(e) === "allowance";
  if (c.table.layouts[0].record && (e["effect"] === "applied" || !helps)) delete e["afterMs"];
  return s;
}

const layoutOf = (c: Tables, { tool = "" }: Call): Layout =>
  c.table.layouts.find((layout) => layout.tools?.includes(tool)) ?? c.table.layouts[0];

/** Writes the value of a source; undefined if it is empty. */
function write1(c: Tables, source: Value, s: Bound, base: Value): Value {
  if (isText(source)) return s.from(base, source);
  const { is, own: isOwn, text, shape, list, each, item, oneOf } = fieldsOr(source);
  if (is !== undefined) return is;
  if (isOwn) return objectOf(c, inResult(c, s));
  if (isText(text)) return render(text, s.get);
  if (isObject(shape)) return writeShape(c, shape, s, base);
  if (Array.isArray(list)) return list.map((one) => write1(c, one, s, base)).filter((value) => value !== undefined);
  if (isText(each)) {
    const items = s.from(base, each);
    return Array.isArray(items) ? items.map((one) => writeShape(c, fieldsOr(item), s, one) ?? {}) : undefined;
  }
  for (const choice of listOr(oneOf).map(fieldsOr)) {
    const value = isText(choice["path"]) ? s.from(base, choice["path"]) : choice["is"];
    if (value !== undefined && selects(choice["for"] as Selector | undefined, s)) return value;
  }
  return undefined;
}

/** Writes an object; undefined if it is empty. */
function writeShape(c: Tables, shape: Fields, s: Bound, base: Value): Fields | undefined {
  const object: Fields = {};
  for (const [name, source] of Object.entries(shape)) {
    const value = name === "..." ? undefined : write1(c, source, s, base);
    if (value !== undefined) put(object, name, value);
  }
  const rest = isText(shape["..."]) ? s.from(base, shape["..."]) : undefined;
  for (const [name, value] of Object.entries(fieldsOr(ordered("", rest)))) {
    if (!Object.hasOwn(shape, name)) put(object, name, value);
  }
  return some(object);
}

/** Returns the record with its code for tool results, if its own code is for another kind of answer. */
function inResult(c: Tables, s: Bound): Bound {
  const fits = (entry: CodeEntry): boolean => !entry.open && !entry.otherwise && !entry.rpc;
  if (s.entry && fits(s.entry)) return s;
  const entry = c.codes.find((c) => fits(c) && c.for.some((selector) => selects(selector, s))) ?? c.fallback;
  const inner = boundTo(c, { ...s.e, contract: c.name, code: entry.code }, s.call, entry);
  inner.e["hints"] = hintsOf(c, inner, false);
  return inner;
}

/** Returns the contract's object: its shape, or the record itself. */
function objectOf(c: Tables, s: Bound): Fields {
  const { shape } = layoutOf(c, s.call);
  return shape ? (writeShape(c, shape, s, s.e) ?? {}) : encoded(s.e);
}

/** The characters that Unicode calls white space. */
const spaces = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;
const trimmed = (text: string): string => text.replace(new RegExp(`^${spaces.source}|${spaces.source}$`, "g"), "");
const words = (text: string): string[] => text.split(spaces).filter((word) => word);
const oneLine = (text: string): string => (/[\r\n]/.test(text) ? words(text).join(" ") : text);

/** Writes a sentence so that it cannot be mistaken for the hints after it. */
function fold(layout: Layout, sentence: string): string {
  if (!layout.hints || !/[\r\n]/.test(sentence)) return sentence;
  return layout.hints.before === "\n" ? trimmed(sentence).replace(/\r\n|\r|\n/g, "\n  ") : oneLine(sentence);
}

/** Writes the line, its hints, and structure as one line of JSON. */
function writeLine(c: Tables, layout: Layout, s: Bound): string {
  const marks = [layout.hints?.before ?? "", layout.envelope?.mark ?? ""].filter((mark) => mark.trim());
  const unmark = (text: string, mark: string): string => {
    const lower = mark.toLowerCase();
    return text.replaceAll(mark, () => (lower === mark ? mark.toUpperCase() : lower));
  };
  let text = marks.reduce(unmark, fold(layout, render(layout.line ?? "", s.get) ?? messageOf(c, s)));
  if (layout.hints) {
    const separator = layout.hints.between.trim();
    const whole = (hint: string): string => (separator ? hint.replaceAll(separator, ",") : hint);
    const hints = listOr(s.e["hints"]).map((hint) => marks.reduce(unmark, oneLine(trimmed(whole(textOr(hint))))));
    if (hints.length > 0) text += layout.hints.before + hints.join(layout.hints.between);
  }
  if (!layout.envelope || isEmpty(s.e["details"])) return text;
  const mark = layout.envelope.mark.trim();
  const json = JSON.stringify(writeShape(c, layout.envelope.shape, s, s.e));
  return text + layout.envelope.mark + json.replaceAll(mark, () => "\\u005b" + mark.slice(1));
}

/** Returns the content that the call asks for. */
function contentOf(
  layout: Layout, call: Call, human: string | undefined, form: string | undefined, formType: string,
): ToolResult["content"] {
  const content: ToolResult["content"] = [];
  const takesFormat = call.formatArgument || layout.format?.tools?.includes(call.tool ?? "");
  const asked = layout.format && takesFormat ? own(copyOf(call.arguments), layout.format.argument) : undefined;
  const format = /^(markdown|json|both)$/.test(textOr(asked)) ? asked : layout.format?.default;
  const add = (text: string | undefined, mimeType: string, wanted: boolean): void => {
    if (text === undefined || !wanted) return;
    content.push(layout.mimeTypes ? { type: "text", text, mimeType } : { type: "text", text });
  };
  add(human, "text/markdown", form === undefined || format !== "json");
  add(form, formType, human === undefined || format === "json" || format === "both");
  return content;
}

type Result = { -readonly [K in keyof ToolResult]: ToolResult[K] };

function resultOf(c: Tables, s: Bound): ToolResult {
  const { call } = s;
  const layout = layoutOf(c, call);
  const human = layout.human === undefined ? undefined : (render(layout.human, s.get) ?? "");
  const isObjectForm = layout.line === undefined;
  const form = isObjectForm ? JSON.stringify(objectOf(c, s), null, layout.indent) : writeLine(c, layout, s);
  const type = isObjectForm ? "application/json" : "text/markdown";
  const result: Result = { content: contentOf(layout, call, human, form, type) };
  if (layout.structured && (!call.outputSchema || layout.tools)) result.structuredContent = objectOf(c, s);
  if (layout.result) result[layout.result] = objectOf(c, s);
  if (layout.isError) result.isError = true;
  if (call.resultType) result["resultType"] = "complete";
  result["_meta"] = { [metaKey]: encoded(s.e) };
  return result;
}

function problemOf(c: Tables, s: Bound, status: number): Fields {
  return { type: "about:blank", title: statusText(status), status, detail: messageOf(c, s) };
}

/** Returns the question that the call gets instead of the failure. */
function questionOf(c: Tables, s: Bound): Question | undefined {
  const asks = c.table.question && s.entry?.ask;
  if (!asks || !asks.for.some((selector) => selects(selector, s))) return undefined;
  const message = asks.messages.map((t) => render(t, s.get)).find((text) => text !== undefined);
  return message === undefined ? undefined : { message, reason: asks.reason ?? "", fields: asks.fields ?? [] };
}

/** Writes a failure for a call. Every failure has a form. */
export function write(c: Tables, failure: Failure, call: Call = {}): Answer {
  const s = bind(c, fieldsOr(copyOf(failure)), call);
  const { http, rpc } = s.entry ?? c.fallback;
  const kind = kindOf(s.e);
  const status = call.status ?? 200;
  const question = (call.method ?? "tools/call") === "tools/call" && !call.status ? questionOf(c, s) : undefined;
  if (question) return ask(c, question, call);
  if (http && call.http) {
    const headers: { [name: string]: string } = {};
    for (const [name, template] of Object.entries(http.headers ?? {})) {
      const value = render(template, s.get);
      if (value !== undefined) headers[name] = oneLine(value);
    }
    headers[http.type ? "Content-Type" : "Content-Length"] = http.type ?? "0";
    const body = http.body === undefined ? "" : JSON.stringify(write1(c, http.body, s, s.e) ?? {});
    return { surface: "http", status: http.status, headers, body };
  }
  if (kind === "unknown_session" && call.status === 404) {
    const headers = { "Content-Type": "application/problem+json" };
    return { surface: "http", status, headers, body: JSON.stringify(problemOf(c, s, 404)) };
  }
  if (rpc) {
    const said = rpc.messages.map((t) => render(t, s.get)).find((text) => text !== undefined) ?? "";
    const [hint] = listOr(inResult(c, s).e["hints"]).map(textOr); // the data have no more
    const message = withAdvice(said, hint ? [hint] : []);
    const data = rpc.data === undefined ? undefined : (write1(c, rpc.data, s, s.e) ?? {});
    return { surface: "error", status, error: { code: rpc.code, message, ...(data !== undefined && { data }) } };
  }
  if (becomesResult(c, s)) return { surface: "result", result: resultOf(c, s) };
  const isOurs = kinds[kind] === "protocol" && s.entry === c.fallback; // the contract has no word for it
  const record = encoded(isOurs ? { ...s.e, code: kind, contract: "recourse", hints: [] } : s.e);
  const data = call.status ? { ...record, ...problemOf(c, s, call.status) } : record;
  const message = withAdvice(messageOf(c, s), isOurs ? [] : listOr(s.e["hints"]).map(textOr));
  return { surface: "error", status, error: { code: rpcCodes[kind], message, data } };
}

/** Writes a question to the caller; a contract without a form for questions writes that a parameter is missing. */
export function ask(c: Tables, question: Question, call: Call = {}): Answer {
  if (!c.table.question) return write(c, asFailure(question), call);
  const object = writeShape(c, c.table.question, boundTo(c, {}, call), copyOf(question)) ?? {};
  const [layout] = c.table.layouts;
  const form = layout.line === undefined ? JSON.stringify(object, null, layout.indent) : undefined;
  const human = layout.human === undefined && form !== undefined ? undefined : questionText(question);
  const result: Result = { content: contentOf(layout, call, human, form, "application/json") };
  if (layout.structured && !call.outputSchema) result.structuredContent = object;
  if (call.resultType) result["resultType"] = "complete";
  return { surface: "result", result };
}

/** Turns a question into the failure that a parameter is missing. */
function asFailure({ message, fields = [] }: Question): Failure {
  const violations = fields.map((param) => {
    const pointer = "/" + param.replaceAll("~", "~0").replaceAll("/", "~1").replaceAll(".", "/");
    return { pointer, param, rule: "required", message: `${param} is required` };
  });
  return { kind: "missing_param", message, violations };
}

/** Puts a question into Markdown: the sentence, then the choices. */
function questionText(q: Question): string {
  let text = q.message;
  for (const [field, values] of Object.entries(q.suggestions ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))) {
    const list = values.map((v) => `\`${oneLine(v)}\``).join(", ");
    if (list) text += `\n\nSuggestions for \`${oneLine(field)}\`: ${list}.`;
  }
  if (q.options?.length) text += "\n";
  for (const o of q.options ?? []) {
    text += `\n- ${oneLine(o.label)}: ${o.field ? `\`${oneLine(o.field)}\` = ` : ""}\`${oneLine(o.value)}\``;
    if (o.description) text += ` (${oneLine(o.description)})`;
  }
  return text;
}
