import { complete, kindOfStatus, rangeOf } from "./complete.js";
import { readForms } from "./forms.js";
import { metaKey, wireKinds } from "./kinds.js";
import {
  classOf, convert, copyOf, encode, type Fields, fieldsOr, isEmpty, isLike, isObject, isText, listOr, numberOr,
  objectsAt, own, parsed, set, textOr, type Value,
} from "./record.js";
import { read, readRecord, store } from "./shapes.js";
import type { Tables } from "./tables.js";
import { literalOf, match } from "./templates.js";
import type { Failure, Question } from "./types.js";

/** The failure or question in an answer. */
export type Reading = Readonly<{ failure: Failure; question?: never } | { question: Question; failure?: never }>;

/** Records as they were read: without the advice that an encoded record derives from its kind. */
const stated = new WeakMap<Failure, Fields>();
export const statedBy = (failure: Failure): Fields => stated.get(failure) ?? fieldsOr(copyOf(failure));
export function failureOf(e: Fields): Failure {
  const failure = encode(e) as unknown as Failure;
  stated.set(failure, e);
  return failure;
}

/** Prefixes that runtimes add to the text of a failure. */
const wrapper = new RegExp("^(MCP error -?\\d{1,9}: |Error (?:executing|calling) tool '?[^':\\s]+'?: " +
  "|Tool '[^'\\s]+' execution failed: |\\*\\*Error:\\*\\* )");
/** Returns a copy of an answer: a member that cannot be copied must not hide the others. */
export const copyOfEach = (answer: unknown): Fields =>
  Object.fromEntries(Object.entries(isObject(answer) ? answer : {}).map(([name, value]) => [name, copyOf(value)]));

/** Reads a tool result, the member "result" of a JSON-RPC answer: undefined if it is not a failure. */
export function parseResult(c: Tables, result: unknown): Reading | undefined {
  const { _meta, content, structuredContent, error, isError } = copyOfEach(result);
  const record = readRecord(own(_meta, metaKey));
  const texts = listOr(content).filter((b) => own(b, "type") === "text").slice(0, 8).map((b) => textOr(own(b, "text")));
  const inTexts = texts.map((text) => (text.trim().startsWith("{") ? parsed(text) : undefined));
  const objects = [...inTexts, structuredContent, error].filter(isObject);
  const sure = isError === true || (own(error, "code") !== undefined && own(error, "message") !== undefined);
  if (record && sure) return { failure: failureOf(record) };
  const question = objects.find((o) => o["kind"] === "needsInput:v1");
  if (question) return { question: readQuestion(question) };
  const text = texts[0] ?? "";
  const isMarked = objects.some((o) => o["kind"] === "toolError:v1");
  if (sure || isMarked) return { failure: failureOf(readFailed(c, text, objects)) };
  const e = readForms(c, text, objects, false);
  return e && { failure: failureOf(record ?? e) };
}

/** Reads an answer that is certainly a failure. */
function readFailed(c: Tables, text: string, objects: readonly Value[]): Fields {
  let e = objects.map(readRecord).find(isObject) ?? readForms(c, text, objects, true);
  let rest = text;
  for (let wraps = 0; !e && wraps < 4 && wrapper.test(rest); wraps++) {
    rest = rest.replace(wrapper, "");
    e = readRecord(parsed(rest)) ?? readForms(c, rest, [parsed(rest)], true);
  }
  return e ?? { kind: "unknown", message: cut(text), retry: "re_read", origin: "server" };
}

function readQuestion(o: Fields): Question {
  const q: Fields = { message: cut(plainText(o["message"])) };
  const given = { ...fieldsOr(o["needsInput"]), options: o["options"] };
  const option = { label: "", value: "", description: "", field: "" };
  for (const [name, example] of Object.entries({ reason: "", fields: [""], suggestions: {}, options: [option] })) {
    const value = own(given, name);
    if (!isEmpty(value) && isLike(example, value)) q[name] = value;
  }
  for (const one of objectsAt(q, "options")) for (const name of ["label", "value"]) one[name] ??= "";
  return q as unknown as Question;
}
export const cut = (text: string): string => (text.length > 8192 ? text.slice(0, 8192) + " …" : text);
const plainText = (v: Value): string => (isText(v) ? v : (JSON.stringify(v) ?? ""));

/** How SDKs, those of clients too, say that what a tool has returned does not match its outputSchema, with the codes
 * for invalid requests and arguments: the tool has run. */
const returned = new RegExp("^(Output validation error: |\\d+ validation errors? for \\S+Output\\n" +
  "|(Tool \\S+ )?(structured )?output (schema )?validation failed: |Tool \\S+ returned invalid structured content: " +
  "|Could not serialize the return value of tool \\S+ for its output schema: |Tool call result validation failed: " +
  "|Response missing structured content which is expected when calling tool with non-empty outputSchema" +
  "|validating tool output: |Structured content does not match the tool's output schema" +
  "|Failed to validate structured content|Tool \\S+ has an output schema but did not return structured content)");

/** Reads the member "error" of a JSON-RPC answer. */
export const parseError = (c: Tables, error: unknown): { readonly failure: Failure } =>
  ({ failure: failureOf(readError(c, error)) });

function readError(c: Tables, error: unknown): Fields {
  const raw = copyOfEach(error);
  const { data } = raw;
  const record = readRecord(data);
  if (record) return record;
  const code = plainText(raw["code"]);
  const given = plainText(raw["message"]);
  const prefix = `MCP error ${code}: `; // of the TypeScript SDK, when it throws
  const message = given.startsWith(prefix) ? given.slice(prefix.length) : given;
  for (const entry of c.codes) {
    const form = entry.rpc?.data;
    const shape = own(form, "shape");
    const isOther = isObject(shape) && Object.keys(shape).every((name) => own(data, name) === undefined);
    if (String(entry.rpc?.code) !== code || isOther) continue;
    const e: Fields = {};
    if (form !== undefined && read(c, form, data, e, e) === undefined) continue; // the data tell the form
    const told = withoutAdvice(message, listOr(e["hints"]).map(textOr));
    const found = entry.rpc?.messages.map((template) => match(template, told)).find((one) => one);
    if (form === undefined && !found) continue;
    const inner = c.byCode.get(textOr(e["code"])); // the object inside says more than the JSON-RPC error
    if (!found) e["message"] ??= cut(told);
    e["code"] = entry.code;
    store(e, found);
    return complete(c, e, inner === entry ? undefined : inner);
  }
  const isOwn = c.byCode.has(code) || rangeOf(c, code) !== undefined;
  const objects = isOwn && !c.byCode.get(code)?.rpc ? [data, { ...raw, message }] : [data];
  const kind = returned.test(message) ? "bad_response" : (code.startsWith("-") && wireKinds[code]) || "unknown";
  const e: Fields = { kind, message: cut(message), upstream: code ? { code } : {}, origin: "server" };
  if (/^(protocol|input)$/.test(classOf(e))) e["effect"] = "none"; // the server has not carried it out
  const known = readForms(c, message, objects, true);
  return known ?? (data === undefined || data === null ? e : { ...e, details: { data } });
}

/** Returns the message of a JSON-RPC error without the advice behind it. */
const withoutAdvice = (message: string, hints: string[]): string =>
  hints.reduceRight(
    (told, hint) => (told.endsWith(` ${hint}`) ? told.slice(0, -hint.length - 1).replace(/;$/, "") : told),
    message,
  );

/** Reads a whole HTTP answer: undefined if its status is not a failure. headers are like those of fetch. */
export function parseHTTP(
  c: Tables, status: number, headers: HeadersLike, body: string,
): { failure: Failure } | undefined {
  return status < 400 ? undefined : { failure: failureOf(readHTTP(c, status, headers, body)) };
}
export type HeadersLike = { get(name: string): string | null };
export function readHTTP(c: Tables, status: number, headers: HeadersLike, body: string): Fields {
  const raw = parsed(body);
  for (const entry of c.codes) {
    const http = entry.http;
    if (http?.status !== status || (http.body === undefined) !== (body === "")) continue;
    const e: Fields = {};
    if (http.body !== undefined && read(c, http.body, raw, e, e) === undefined) continue;
    for (const [name, template] of Object.entries(http.headers ?? {})) {
      store(e, match(template, headers.get(name)?.trim() ?? ""));
    }
    const fixed = entry.message?.map(literalOf) ?? [];
    if (fixed.length > 0 && !fixed.some((text) => text === undefined || text === textOr(e["message"]))) continue;
    set(e, "quotas:objects", listOr(e["quotas"]).sort(binding));
    return complete(c, { ...e, code: entry.code, upstream: { ...fieldsOr(e["upstream"]), status } });
  }
  const error = own(raw, "jsonrpc") === undefined ? undefined : own(raw, "error");
  const said = ["message", "detail", "error", "title"].map((name) => textOr(own(raw, name)));
  const plain: Fields = { kind: kindOfStatus(status), message: said.find((text) => text), origin: "server" };
  const e = isObject(error) ? readError(c, error) : plain;
  const wait = convert("afterMs:seconds", Number(headers.get("Retry-After")?.trim()));
  const upstream = { ...fieldsOr(e["upstream"]), status };
  return { ...e, upstream, afterMs: Math.max(numberOr(e["afterMs"]), numberOr(wait)) };
}

/** Sorts quotas: those that are used up first, and of these the one that is reset last. */
function binding(a: Value, b: Value): number {
  const [left, right] = [a, b].map((q) => numberOr(own(q, "remaining")) > 0);
  const [p, q] = [a, b].map((quota) => Date.parse(textOr(own(quota, "resetAt"))) || 0);
  return left !== right ? (left ? 1 : -1) : left ? 0 : (q ?? 0) - (p ?? 0);
}
