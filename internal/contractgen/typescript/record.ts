// ---- The record, and paths into it.

/** A record while it is worked on: what is empty may be missing. */
type Fields = { [name: string]: Value };
type Value = null | boolean | number | string | Value[] | Fields | undefined;

const isObject = (v: unknown): v is Fields => typeof v === "object" && v !== null && !Array.isArray(v);
const textOr = (v: Value): string => (typeof v === "string" ? v : "");
const numberOr = (v: Value): number => (typeof v === "number" ? v : 0);
const listOr = (v: Value): Value[] => (Array.isArray(v) ? v : []);
const fieldsOr = (v: Value): Fields => (isObject(v) ? v : {});
const isWhole = (v: Value): v is number => Number.isSafeInteger(v);

/** Returns a copy of a value as JSON has it; undefined where JSON has none, or it is nested too deeply. */
function copyOf(v: unknown): Value {
  try {
    return v === undefined ? undefined : (JSON.parse(JSON.stringify(v)) as Value);
  } catch {
    return undefined;
  }
}

function own(o: Fields, name: string): Value {
  return Object.hasOwn(o, name) ? o[name] : undefined;
}

/** Sets a member, of whatever name. */
function put(o: Fields, name: string, value: Value): void {
  Object.defineProperty(o, name, { value, enumerable: true, configurable: true, writable: true });
}

function isEmpty(v: Value): boolean {
  return v === undefined || v === null || v === "" || v === 0 || (typeof v === "object" && Object.keys(v).length === 0);
}

function kindOf(e: Fields): Kind {
  const kind = textOr(e.kind);
  return Object.hasOwn(kinds, kind) ? (kind as Kind) : "unknown";
}

function adviceOf(e: Fields): string {
  const advice = textOr(e.retry) || kinds[kindOf(e)].retry;
  return advice === "same_call" && (e.effect === "unknown" || e.effect === "applied") ? "re_read" : advice;
}

const sentenceOf = (e: Fields): string => textOr(e.message) || kinds[kindOf(e)].sentence;

/** The members of each object of the record, in their order; a mark says that one is written even when it is empty. */
const members = {
  verify: ["tool!", "args", "lookAt"],
  violations: ["pointer!", "param!", "rule", "got?", "want", "message"],
  resource: ["type", "id"],
  quotas: ["policy", "limit", "windowMs", "remaining!", "resetAt", "partition"],
  succeeded: ["id!", "value?"],
  missing: ["what!", "impact", "message"],
  upstream: ["status", "code", "requestId"],
} as const;

const order = [
  "v", "kind", "code", "contract", "message", "hints", "retry", "afterMs", "effect", "verify", "violations", "resource", "provider",
  "missingScopes", "quotas", "succeeded", "failed", "missing", "origin", "upstream", "requestId", "details", "truncated",
];

/** Puts an object of the record in order: "!" keeps an empty member, "?" one that is there. */
function inOrder(v: Value, names: readonly string[]): Fields {
  const from = fieldsOr(v);
  const to: Fields = {};
  for (const name of names) {
    const bare = name.replace(/[!?]$/, "");
    const value = own(from, bare);
    if (name.endsWith("!")) to[bare] = value ?? (bare === "remaining" ? 0 : "");
    else if (name.endsWith("?") ? value !== undefined : !isEmpty(value)) to[bare] = value;
  }
  return to;
}

function sorted(o: Fields): Fields {
  const to: Fields = {};
  for (const name of Object.keys(o).sort()) put(to, name, o[name]);
  return to;
}

/** Returns the JSON form of a record. */
function encode(e: Fields): Fields {
  const to: Fields = {};
  for (const name of order) {
    const value = e[name];
    switch (name) {
      case "v":
        to.v = 1;
        continue;
      case "kind":
        to.kind = kindOf(e);
        continue;
      case "retry":
        to.retry = adviceOf(e);
        continue;
      case "verify":
      case "resource":
      case "upstream": {
        const object = inOrder(value, members[name]);
        if (name === "verify" ? isObject(value) : !isEmpty(object)) to[name] = object;
        continue;
      }
      case "violations":
      case "quotas":
      case "succeeded":
      case "missing":
        if (!isEmpty(value)) to[name] = listOr(value).map((item) => inOrder(item, members[name]));
        continue;
      case "failed":
        if (isEmpty(value)) continue;
        to.failed = listOr(value).map(fieldsOr).map(({ id, error }) => ({ id: textOr(id), error: isObject(error) ? encode(error) : null }));
        continue;
      case "details":
        if (!isEmpty(value)) to.details = sorted(fieldsOr(value));
        continue;
      default:
        if (!isEmpty(value) && value !== false) to[name] = value;
    }
  }
  for (const name of Object.keys(e).sort()) {
    if (!order.includes(name) && e[name] !== undefined) put(to, name, e[name]);
  }
  return to;
}

/** A record as the contract sees it. */
interface Subject {
  readonly e: Fields;
  readonly entry: CodeEntry | undefined;
  readonly call: Call;
  /** The sentence is the record's own, not the form that the code gives it. */
  readonly bare?: boolean;
}

function isRaw(name: string, parent: string): boolean {
  return parent === "details" || parent === "args" || name === "got" || name === "value";
}

/** Returns what a path leads to from base, which is the record of s or an item of one of its lists; undefined where it is empty. */
function get(s: Subject, base: Value, path: string): Value {
  let at = base;
  let on: Subject | undefined = base === s.e ? s : undefined;
  let parent = "";
  for (let rest = path; ; ) {
    const computed = on && compute(on, rest);
    if (computed) return computed.value;
    const dot = rest.indexOf(".");
    const name = dot < 0 ? rest : rest.slice(0, dot);
    at = Array.isArray(at) ? at[Number(name)] : own(fieldsOr(at), name);
    if (at === undefined) return undefined;
    if (dot < 0) return name !== "remaining" && !isRaw(name, parent) && isEmpty(at) ? undefined : at;
    rest = rest.slice(dot + 1);
    on = name === "error" && isObject(at) ? subjectOf(at, s.call) : undefined;
    parent = name;
  }
}

function subjectOf(e: Fields, call: Call): Subject {
  const s: Subject = { e, entry: undefined, call };
  return { ...s, entry: choose(s) };
}

const some = (value: Value) => ({ value: isEmpty(value) ? undefined : value });

/** Returns the value of a computed member; undefined where the path names none. */
function compute(s: Subject, path: string): { value: Value } | undefined {
  const e = s.e;
  const afterMs = numberOr(e.afterMs);
  switch (path) {
    case "message":
      return { value: messageOf(s) };
    case "message.given": {
      const given = textOr(e.message);
      const fixed = s.entry?.message?.some((t) => literalOf(t) === given) ?? false;
      return { value: given !== "" && given !== kinds.unknown.sentence && !fixed ? given : undefined };
    }
    case "code.name":
      return some(rangeOf(s) === undefined ? s.entry?.name : undefined);
    case "code.group":
      return some(rangeOf(s) ?? s.entry?.group);
    case "code.number":
      return { value: /^[+-]?\d+$/.test(textOr(e.code)) ? Number(e.code) : undefined };
    case "retryable":
      return { value: isRetryable(s) };
    case "after":
      return some(afterMs && waitText(afterMs));
    case "after.seconds":
      return some(Math.ceil(afterMs / 1000));
    case "verify.call":
      return { value: isObject(e.verify) && hasTool(s.call, textOr(e.verify.tool)) ? callText(e.verify) : undefined };
    case "call.tool":
      return some(s.call.tool);
    case "call.url":
      return some(s.call.url);
    case "http.title":
      return { value: s.entry?.http && statusText(s.entry.http.status).toLowerCase() };
  }
  if (path.startsWith("call.arguments.")) {
    const value = argument(s.call.arguments, "/" + path.slice("call.arguments.".length));
    return { value: value === undefined ? undefined : literal(value) };
  }
  if (path.startsWith("text.")) {
    const text = own(fieldsOr(s.e.details), path.slice("text.".length));
    return { value: typeof text === "string" ? text : undefined };
  }
  const quota = /^quota\.([^.]+)\.(limit|remaining|resetAtMs)$/.exec(path);
  return quota ? { value: quotaMember(s, quota[1] ?? "", quota[2] ?? "") } : undefined;
}

/** Returns the name of the range of a code that is not listed. */
function rangeOf(s: Subject): string | undefined {
  const code = textOr(s.e.code);
  const n = /^[+-]?\d+$/.test(code) && code !== s.entry?.code ? Number(code) : NaN;
  return contract.ranges.find((r) => r.from <= n && n <= r.to)?.name;
}

const nowMs = (call: Call): number => (call.now ?? new Date()).getTime();

function quotaMember(s: Subject, policy: string, member: string): Value {
  const quotas = listOr(s.e.quotas).map(fieldsOr);
  const at = quotas.findIndex((q) => q.policy === policy);
  const q = quotas[at];
  if (!q) return undefined;
  if (member === "limit") return numberOr(q.limit) || undefined;
  if (member === "remaining") return numberOr(q.remaining);
  const reset = Date.parse(textOr(q.resetAt));
  if (!Number.isNaN(reset)) return reset;
  const afterMs = numberOr(s.e.afterMs);
  return at === 0 && afterMs > 0 ? nowMs(s.call) + Math.ceil(afterMs / 1000) * 1000 : undefined; // the binding one is reset when the wait is over
}

/** Writes a wait for a person. */
function waitText(ms: number): string {
  const units = (n: number, per: number, large: string, small: string): string =>
    `${Math.floor(n / per)} ${large}` + (n % per ? ` ${n % per} ${small}` : "");
  if (ms < 1000) return `${ms} ms`;
  if (ms < 60_000) return `${ms / 1000} s`;
  if (ms < 3_600_000) return units(Math.floor(ms / 1000), 60, "min", "s");
  if (ms < 86_400_000) return units(Math.floor(ms / 60_000), 60, "h", "min");
  return units(Math.floor(ms / 3_600_000), 24, "d", "h");
}

/** Writes a call as a text names it: order_get(reference="A-17"). */
function callText(verify: Fields): string {
  const args = Object.entries(fieldsOr(verify.args)).map(([name, value]) => `${name}=${literal(value)}`);
  return `${textOr(verify.tool)}(${args.join(", ")})`;
}

/** Spells a value as the contract does in calls. */
function literal(value: Value): string {
  const json = JSON.stringify(value ?? null);
  if (contract.literals !== "python") return json;
  return json.replace(/"(?:[^"\\]|\\.)*"|true|false|null/g, (word) => ({ true: "True", false: "False", null: "None" })[word] ?? word);
}

/** Names of arguments that hold what must not be shown. */
const secretName = /pass|pwd|secret|token|credential|authorization|cookie|jwt|api.?key|(private|access|signing|session|ssh).?(key|id)|otp$|auth$|bearer/i;

/** Returns the value at a JSON Pointer into a call's arguments, to be shown: no secret, and at most 128 bytes long. */
function argument(args: unknown, pointer: string): Value {
  let at = copyOf(args);
  let last = "";
  for (const token of pointer.split("/").slice(1)) {
    last = token.replaceAll("~1", "/").replaceAll("~0", "~");
    at = Array.isArray(at) ? at[Number(last)] : own(fieldsOr(at), last);
  }
  const long = at !== undefined && bytesOf(JSON.stringify(at)) > 128;
  return long || secretName.test(last) ? undefined : at;
}

/** Returns the length of a text in UTF-8. */
function bytesOf(text: string): number {
  let n = 0;
  for (const c of text) n += c <= "\u007f" ? 1 : c <= "\u07ff" ? 2 : c.length === 1 ? 3 : 4;
  return n;
}

const hasTool = (call: Call, tool: string): boolean => call.tools?.includes(tool) ?? true;

// ---- Templates.

type Part = { readonly path?: undefined; readonly text: string } | { readonly path: string; readonly or: string | undefined };

const templates = new Map<Template, readonly Part[]>();

/** Takes a template apart: {path}, {path|text}, and doubled braces for those that stand for themselves. */
function partsOf(template: Template): readonly Part[] {
  const known = templates.get(template);
  if (known) return known;
  const parts: Part[] = [];
  let text = "";
  for (const [token, name] of template.matchAll(/\{\{|\}\}|\{([^}]*)\}|[^{}]+/g)) {
    if (name === undefined) {
      text += token === "{{" || token === "}}" ? token.charAt(0) : token;
      continue;
    }
    if (text) parts.push({ text });
    text = "";
    const bar = name.indexOf("|");
    parts.push(bar < 0 ? { path: name, or: undefined } : { path: name.slice(0, bar), or: name.slice(bar + 1) });
  }
  if (text) parts.push({ text });
  templates.set(template, parts);
  return parts;
}

/** Returns the text of a template without placeholders. */
function literalOf(template: Template): string | undefined {
  const parts = partsOf(template);
  return parts.some((p) => p.path !== undefined) ? undefined : parts.map((p) => (p.path === undefined ? p.text : "")).join("");
}

/** Returns the placeholder that a template consists of. */
function onlyPath(template: Template): string | undefined {
  const [first, second] = partsOf(template);
  return !second && first?.path !== undefined && first.or === undefined ? first.path : undefined;
}

const isSentence = (path: string): boolean => path === "message" || path === "message.given";
const frames = (template: Template): boolean => partsOf(template).some((p) => p.path !== undefined && isSentence(p.path));
const names = (template: Template, path: string): boolean => partsOf(template).some((p) => p.path === path);

/** Fills a template in; undefined when a placeholder without another text is empty. */
function render(template: Template, s: Subject): string | undefined {
  let text = "";
  for (const p of partsOf(template)) {
    if (p.path === undefined) {
      text += p.text;
      continue;
    }
    const value = get(s, s.e, p.path);
    const filled = value === undefined ? p.or : asText(value);
    if (filled === undefined) return undefined;
    text += filled;
  }
  return text;
}

function asText(value: Value): string {
  if (typeof value === "string") return value;
  return Array.isArray(value) ? value.map(asText).join(", ") : JSON.stringify(value);
}

/** Takes a text apart that a template may have written; undefined where it is of another form. */
function match(template: Template, text: string): [path: string, text: string][] | undefined {
  const parts = partsOf(template);
  const found: [string, string][] = [];
  for (const [i, p] of parts.entries()) {
    if (p.path === undefined) {
      if (!text.startsWith(p.text)) return undefined;
      text = text.slice(p.text.length);
      continue;
    }
    let end = text.length;
    const next = parts[i + 1];
    if (next) {
      if (next.path !== undefined) return undefined;
      if (i + 2 === parts.length) end -= next.text.length;
      else end = isSentence(p.path) ? text.lastIndexOf(next.text) : text.indexOf(next.text);
      if (end < 0) return undefined;
    }
    if (p.or === undefined || text.slice(0, end) !== p.or) found.push([p.path, text.slice(0, end)]);
    text = text.slice(end);
  }
  return text === "" ? found : undefined;
}
