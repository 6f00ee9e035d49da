// ---- The record, and paths into it.

/** A record while it is worked on: what is empty may be missing. */
type Fields = { [name: string]: Value };
type Value = null | boolean | number | string | Value[] | Fields | undefined;

/** What the members of the record are like, in their order. Others may be anything. */
const like: Fields = {
  v: 0, kind: "", code: "", contract: "", message: "", hints: [""], retry: "", afterMs: 0, effect: "",
  verify: { tool: "", args: {}, lookAt: "" },
  violations: [{ pointer: "", param: "", rule: "", want: "", message: "" }],
  resource: { type: "", id: "" }, provider: "", missingScopes: [""],
  quotas: [{ policy: "", limit: 0, windowMs: 0, remaining: 0, resetAt: "", partition: "" }],
  succeeded: [{ id: "" }], failed: [{ id: "", error: {} }], missing: [{ what: "", impact: "", message: "" }],
  origin: "", upstream: { status: 0, code: "", requestId: "" }, requestId: "", details: {}, truncated: false,
};
/** What its objects have even where it is empty. */
const needed: { readonly [member: string]: Fields } = {
  verify: { tool: "" }, violations: { pointer: "", param: "" }, quotas: { remaining: 0 },
  succeeded: { id: "" }, failed: { id: "" }, missing: { what: "" },
};

const isObject = (v: unknown): v is Fields => typeof v === "object" && v !== null && !Array.isArray(v);
const isText = (v: unknown): v is string => typeof v === "string";
const textOr = (v: Value): string => (isText(v) ? v : "");
const numberOr = (v: Value): number => (typeof v === "number" ? v : 0);
const listOr = (v: Value): Value[] => (Array.isArray(v) ? v : []);
const fieldsOr = (v: Value): Fields => (isObject(v) ? v : {});
const objectsAt = (e: Fields, list: string): Fields[] => listOr(e[list]).filter(isObject);
const own = (o: Value, name: string): Value => (isObject(o) && Object.hasOwn(o, name) ? o[name] : undefined);
const isEmpty = (v: Value): boolean => !v || (typeof v === "object" && Object.keys(v).length === 0);

/** Sets a member, of whatever name. */
function put(o: Fields, name: string, value: Value): Fields {
  return Object.defineProperty(o, name, { value, enumerable: true, configurable: true, writable: true });
}

const sorted = (o: Fields): Fields =>
  Object.keys(o).sort().reduce((to, name) => put(to, name, o[name]), {} as Fields);

/** Returns a copy of a value as JSON has it; undefined where JSON has none, or it is nested too deeply. */
function copyOf(v: unknown): Value {
  try {
    return v === undefined ? undefined : parsed(JSON.stringify(v));
  } catch {
    return undefined;
  }
}

/** Returns the JSON value of a text; undefined where it is none. */
function parsed(text: string): Value {
  try {
    return JSON.parse(text) as Value;
  } catch {
    return undefined;
  }
}

function isLike(example: Value, v: Value): boolean {
  if (Array.isArray(example)) return Array.isArray(v) && v.every((item) => isLike(example[0], item));
  if (!isObject(example)) return typeof v === typeof example;
  const says = (name: string): boolean => (own(v, name) ?? null) !== null;
  return isObject(v) && Object.entries(example).every(([name, one]) => !says(name) || isLike(one, v[name]));
}

function kindOf(e: Fields): Kind {
  const kind = textOr(e["kind"]);
  return Object.hasOwn(kinds, kind) ? (kind as Kind) : "unknown";
}

function adviceOf(e: Fields): string {
  const advice = textOr(e["retry"]) || kinds[kindOf(e)].retry;
  return advice === "same_call" && (e["effect"] === "unknown" || e["effect"] === "applied") ? "re_read" : advice;
}

/** Returns the JSON form of a record. */
function encode(e: Fields): Fields {
  const to: Fields = {};
  const from: Fields = { ...e, v: 1, kind: kindOf(e), retry: adviceOf(e) };
  const others = Object.keys(e).filter((name) => !Object.hasOwn(like, name)).sort();
  for (const name of [...Object.keys(like), ...others]) {
    const value = from[name];
    if (value === undefined || (Object.hasOwn(like, name) && isEmpty(value))) continue;
    const least = Object.hasOwn(needed, name) ? needed[name] : undefined;
    const whole = (v: Value): Value => (least ? { ...fieldsOr(v), ...least, ...fieldsOr(v) } : v);
    put(to, name, Array.isArray(value) ? value.map(whole) : whole(value));
  }
  for (const item of objectsAt(to, "failed")) item["error"] = encode(fieldsOr(item["error"]));
  if (isObject(to["details"])) to["details"] = sorted(to["details"]);
  return to;
}

const stepsOf = (path: string): string[] => (path.split(":")[0] ?? "").split(".");
const typeOf = (path: string): string => path.split(":")[1] ?? "";
const keepsEmpty = (path: string): boolean => path === "message" || ["any", "count", "given"].includes(typeOf(path));

/** Returns a member of an object, or an item of a list: by its index, or by its policy. */
function child(at: Value, step: string): Value {
  if (!Array.isArray(at)) return own(at, step);
  return at.find((item, i) => String(i) === step || own(item, "policy") === step);
}

/** Returns what a path leads to; undefined where it is empty. */
function get(e: Value, path: string): Value {
  const value = stepsOf(path).reduce(child, e);
  return isEmpty(value) && !keepsEmpty(path) ? undefined : value;
}

/** The end of the year 9999, the last that RFC 3339 can write. */
const lastInstant = 253_402_300_799_999;
const wholeOr = (v: Value): number | undefined => (Number.isSafeInteger(v) ? (v as number) : undefined);
const bounded = (ms: number): number => Math.round(Math.min(Math.max(ms, 0), maxWaitMs));

/** What becomes of a value of the wire, by the type at the end of a path; undefined: it is of another type. */
const conversions: { readonly [type: string]: (raw: Value, path: string) => Value } = {
  "": (raw, path) => (typeof raw === "number" && path !== "message" ? String(raw) : isText(raw) ? raw : undefined),
  given: (raw) => (isText(raw) ? raw : undefined),
  any: (raw) => raw,
  flag: (raw) => (typeof raw === "boolean" ? raw : undefined),
  number: (raw) => wholeOr(raw)?.toString(),
  count: wholeOr,
  whole: wholeOr,
  ms: (raw) => bounded(numberOr(raw)),
  seconds: (raw) => bounded(numberOr(raw) * 1000),
  instant: (raw) => {
    const ms = wholeOr(raw) ?? -1;
    return ms < 0 || ms > lastInstant ? undefined : new Date(ms).toISOString().replace(/\.?0*Z$/, "Z");
  },
  texts: (raw) => (isLike([""], raw) ? raw : undefined),
  objects: (raw) => (isLike([{}], raw) ? raw : undefined),
  object: (raw) => (isObject(raw) ? raw : undefined),
};

/** Returns a value of the wire as the record has it; undefined where it is empty, or of another type. */
function convert(path: string, raw: Value): Value {
  const value = conversions[typeOf(path)]?.(raw, path); // other types only a writer knows
  return isEmpty(value) && !keepsEmpty(path) && value !== false ? undefined : value;
}

/** Stores a value of the wire at a path. What is empty, or of another type, is not stored. */
function set(base: Fields, path: string, raw: Value): void {
  const value = convert(path, raw);
  if (value === undefined) return;
  let at: Value = base;
  const steps = stepsOf(path);
  for (const [i, step] of steps.entries()) {
    const below = steps[i + 1];
    const made: Value = step === "quotas" || /^\d+$/.test(below ?? "") ? [] : {};
    const there: Value = below === undefined ? value : (child(at, step) ?? made);
    if (isObject(at)) put(at, step, there);
    else if (Array.isArray(at) && /^\d+$/.test(step)) {
      while (at.length < Number(step)) at.push(isObject(there) ? {} : "");
      at[Number(step)] = there;
    } else if (Array.isArray(at) && isObject(there) && isEmpty(there)) at.push(put(there, "policy", step));
    at = there;
  }
}

// ---- Templates.

type Part = { path?: undefined; text: string } | { path: string; or: string | undefined };

const templates = new Map<string, readonly Part[]>();

/** Takes a template apart: {path}, {path|text}, and doubled braces for those that stand for themselves. */
function partsOf(template: string): readonly Part[] {
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
    const [path = "", ...or] = name.split("|");
    parts.push({ path, or: or.length > 0 ? or.join("|") : undefined });
  }
  if (text) parts.push({ text });
  templates.set(template, parts);
  return parts;
}

const isSentence = (path: string | undefined): boolean => path === "message" || path === "message:given";
/** Says whether the sentence of a failure stands in a template as it is. */
const frames = (template: string): boolean => partsOf(template).some((p) => isSentence(p.path));

/** Returns the text of a template without placeholders. */
function literalOf(template: string): string | undefined {
  const texts = partsOf(template).map((p) => (p.path === undefined ? p.text : undefined));
  return texts.includes(undefined) ? undefined : texts.join("");
}

/** Fills a template in; undefined when a placeholder without another text is empty. */
function render(template: string, valueOf: (path: string) => Value): string | undefined {
  const texts = partsOf(template).map((p) => {
    const value = p.path === undefined ? p.text : valueOf(p.path);
    return value === undefined ? p.path && p.or : spell(value);
  });
  return texts.includes(undefined) ? undefined : texts.join("");
}

function spell(value: Value): string {
  return Array.isArray(value) ? value.map(spell).join(", ") : isText(value) ? value : JSON.stringify(value);
}

/** Takes a text apart that a template may have written; undefined where it is of another form. */
function match(template: string, text: string): readonly [path: string, text: string][] | undefined {
  const parts = partsOf(template);
  const found: [string, string][] = [];
  for (const [i, p] of parts.entries()) {
    const next = parts[i + 1];
    let end = text.length;
    if (p.path === undefined) end = text.startsWith(p.text) ? p.text.length : -1;
    else if (next?.path !== undefined) end = -1;
    else if (next && i + 2 < parts.length && !isSentence(p.path)) end = text.indexOf(next.text);
    else if (next) end = text.lastIndexOf(next.text);
    if (end < 0) return undefined;
    if (p.path !== undefined && text.slice(0, end) !== p.or) found.push([p.path, text.slice(0, end)]);
    text = text.slice(end);
  }
  return text === "" ? found : undefined;
}

/** Writes a wait for a person: in the two largest of its units. */
function waitText(ms: number): string {
  if (ms < 60_000) return ms < 1000 ? `${ms} ms` : `${ms / 1000} s`;
  const units = (n: number, per: number, large: string, small: string): string =>
    `${Math.floor(n / per)} ${large}` + (n % per ? ` ${n % per} ${small}` : "");
  const whole = (unit: number): number => Math.ceil(ms / unit); // a wait is a minimum
  if (whole(1000) < 3600) return units(whole(1000), 60, "min", "s");
  if (whole(60_000) < 1440) return units(whole(60_000), 60, "h", "min");
  return units(whole(3_600_000), 24, "d", "h");
}

// ---- Choosing the code of a record.

/** A record as the contract sees it. */
interface Subject {
  readonly e: Fields;
  readonly get: (path: string) => Value;
  /** Of the call, where that is known. */
  readonly tool?: string | undefined;
  /** Where the call stood when it failed. */
  readonly at?: string | undefined;
}

const byCode = new Map<string, CodeEntry>(codes.map((entry) => [entry.code, entry]));
for (const entry of codes) {
  for (const word of entry.reads ?? []) if (!byCode.has(word)) byCode.set(word, entry);
}
const fallback = byCode.get(contract.default) as CodeEntry;
/** The entry of words that are not listed. */
const open = codes.find((entry) => literalOf(entry.code) === undefined);
const isCodeWord = (word: string): boolean => /^[A-Za-z0-9_.-]{1,64}$/.test(word);
const statusOf = (e: Fields): number => numberOr(get(e, "upstream.status"));

const places: { readonly [condition: string]: string } = {
  resource: "resource.type", upstream_code: "upstream.code", rule: "violations.0.rule",
};

/** The conditions that are more than a text at a place. */
const tests: { readonly [condition: string]: (values: readonly string[], s: Subject) => boolean } = {
  kind: (values, { e }) => values.includes(kindOf(e)),
  class: (values, { e }) => values.includes(kinds[kindOf(e)].class),
  status: (values, { e }) => isStatus(values, statusOf(e)),
  params: (values, { e }) => {
    const params = listOr(e["violations"]).map((v) => textOr(own(v, "param")));
    return params.every((p) => values.includes(p)) && values.every((v) => params.includes(v));
  },
  has: (values, s) => values.every((path) => s.get(path) !== undefined),
  tool: (values, { tool }) => values.includes(tool ?? ""),
  at: (values, { at }) => values.includes(at || "tool"),
  retry: (values, { e }) => values.includes(adviceOf(e)),
};

function selects(selector: Selector | undefined, s: Subject): boolean {
  const holds = ([condition, values]: [string, readonly string[]]): boolean =>
    tests[condition]?.(values, s) ?? values.includes(textOr(get(s.e, places[condition] ?? condition)));
  return Object.entries(selector ?? {}).every(holds);
}

function isStatus(values: readonly string[], status: number): boolean {
  const text = status === 0 ? "none" : String(status);
  return values.includes(text) || values.includes(text.charAt(0) + "xx");
}

/** Returns the entry of a record, and the code that the record has there. */
function choose(s: Subject): { readonly entry: CodeEntry; readonly code: string } {
  const code = textOr(s.e["code"]);
  if (s.e["contract"] === contract.name && code) return { entry: byCode.get(code) ?? open ?? fallback, code };
  for (const entry of codes) {
    const word = entry === open ? (render(entry.code, s.get) ?? "") : entry.code;
    if ((entry === open && !isCodeWord(word)) || !entry.for.some((selector) => selects(selector, s))) continue;
    return { entry: byCode.get(word) ?? entry, code: word }; // another's word may be one of the contract's own
  }
  return { entry: fallback, code: fallback.code };
}

/**
 * Says whether the same call may succeed. A code that is never retryable stays so, and of one that is not listed the
 * failure decides. That a call may have taken effect is not overruled, nor is advice that departs from the kind's.
 */
function isRetryable(e: Fields, entry: CodeEntry, code: string): boolean {
  const rule = entry.retryable;
  const advised = adviceOf(e) === "same_call";
  const isUnknown = e["effect"] === "unknown";
  if (rule === "stated") return e["retry"] === "same_call" && (advised || isUnknown);
  if (rule === "error" || (entry !== open && code !== entry.code)) return advised;
  if (rule === false) return false;
  if (isUnknown || advised !== (kinds[kindOf(e)].retry === "same_call")) return advised;
  return rule === true || (statusOf(e) === 0 ? advised : isStatus(rule, statusOf(e)));
}
