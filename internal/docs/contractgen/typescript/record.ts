// ---- The record during processing: empty members may be missing.
type Fields = { [name: string]: Value };
type Value = null | boolean | number | string | Value[] | Fields | undefined;
const isObject = (v: unknown): v is Fields => typeof v === "object" && v !== null && !Array.isArray(v);
const isText = (v: unknown): v is string => typeof v === "string";
const textOr = (v: Value): string => (isText(v) ? v : "");
const numberOr = (v: Value): number => (typeof v === "number" ? v : 0);
const listOr = (v: Value): Value[] => (Array.isArray(v) ? v : []);
const fieldsOr = (v: Value): Fields => (isObject(v) ? v : {});
const objectsAt = (e: Fields, list: string): Fields[] => listOr(e[list]).filter(isObject);
const own = (o: Value, name: string): Value => (isObject(o) && Object.hasOwn(o, name) ? o[name] : undefined);
const isEmpty = (v: Value): boolean => !v || (typeof v === "object" && Object.keys(v).length === 0);
/** Sets a member, even one with the name __proto__. */
const put = (o: Fields, name: string, value: Value): Fields =>
  Object.defineProperty(o, name, { value, enumerable: true, configurable: true, writable: true });
/** Returns the result of a function; undefined if it throws: JSON may be broken, or nested too deeply. */
function attempt<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}
const parsed = (text: string): Value => attempt(() => JSON.parse(text) as Value);
const copyOf = (v: unknown): Value => attempt(() => (v === undefined ? undefined : parsed(JSON.stringify(v))));
const ordered = (_: string, v: Value): Value =>
  isObject(v) ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1))) : v;
const canonical = (v: Value): string => JSON.stringify(v, ordered) ?? "";
const isSame = (a: Value, b: Value): boolean => canonical(a) === canonical(b);

function isLike(example: unknown, v: unknown): boolean {
  if (Array.isArray(example)) return Array.isArray(v) && v.every((item) => isLike(example[0], item));
  if (!isObject(example)) return example === anything || typeof v === typeof example;
  return isObject(v) && Object.entries(example).every(([name, one]) => isLike(one, own(v, name) ?? one));
}
const kindOf = (e: Fields): Kind => (Object.hasOwn(kinds, textOr(e["kind"])) ? (e["kind"] as Kind) : "unknown");
const classOf = (e: Fields): string => kinds[kindOf(e)];
const usualAdvice = (e: Fields): Retry => advice[kindOf(e)] ?? advice[classOf(e)] ?? "never";
function adviceOf(e: Fields): string {
  const said = textOr(e["retry"]) || usualAdvice(e);
  return said === "same_call" && (e["effect"] === "unknown" || e["effect"] === "applied") ? "re_read" : said;
}

/** Returns the JSON form of a record. */
function encode(e: Fields): Fields {
  const to: Fields = {};
  for (const [name, value] of Object.entries({ ...e, v: 1, kind: kindOf(e), retry: adviceOf(e) })) {
    if (value === undefined || (Object.hasOwn(like, name) && isEmpty(value))) continue;
    const whole = (v: Value): Value => (isObject(v) ? { ...v, ...fieldsOr(own(needed, name)), ...v } : v);
    put(to, name, Array.isArray(value) ? value.map(whole) : whole(value));
  }
  for (const item of objectsAt(to, "failed")) item["error"] = encode(fieldsOr(item["error"]));
  return to;
}
const stepsOf = (path: string): string[] => (path.split(":")[0] ?? "").split(".");
const typeOf = (path: string): string => path.split(":")[1] ?? "";
const keepsEmpty = (path: string): boolean => path === "message" || /^(any|count|flag|given)$/.test(typeOf(path));
/** Returns a member of an object, or an item of a list: by its index, or by its policy. */
const child = (at: Value, step: string): Value =>
  Array.isArray(at) ? at.find((item, i) => String(i) === step || own(item, "policy") === step) : own(at, step);
const filled = (path: string, value: Value): Value => (isEmpty(value) && !keepsEmpty(path) ? undefined : value);
/** Returns the value at a path; undefined if it is empty. */
const get = (e: Value, path: string): Value => filled(path, stepsOf(path).reduce(child, e));
/** Converts a value of the wire for the record; undefined if it is empty, or of another type. */
const convert = (path: string, raw: Value): Value => filled(path, conversions[typeOf(path)]?.(raw, path));

/** Converters of values of the wire, by the type at the end of a path; undefined: the value has another type. */
const conversions: { readonly [type: string]: (raw: Value, path: string) => Value } = {
  "": (raw, path) => {
    const isName = typeof raw === "number" && !/^(message$|details\.)/.test(path);
    return isName ? String(raw) : isText(raw) ? raw : undefined;
  },
//{{if has ":given"}}
  given: (raw) => (isText(raw) ? raw : undefined),
//{{end}}
//{{if has ":any"}}
  any: (raw) => raw,
//{{end}}
//{{if has ":flag"}}
  flag: (raw) => (typeof raw === "boolean" ? raw : undefined),
//{{end}}
//{{if has ":number"}}
  number: (raw) => wholeOr(raw)?.toString(),
//{{end}}
//{{if has ":count" ":whole"}}
  count: (raw) => wholeOr(raw),
  whole: (raw) => wholeOr(raw),
//{{end}}
//{{if has ":ms"}}
  ms: (raw) => bounded(raw),
//{{end}}
  seconds: (raw) => bounded(isText(raw) && raw.trim() ? Number(raw) : raw, 1000),
//{{if has ":instant"}}
  instant: (raw) => { // up to the end of the year 9999, the last that RFC 3339 can write
    const ms = wholeOr(raw) ?? -1;
    return ms < 0 || ms > 253_402_300_799_999 ? undefined : new Date(ms).toISOString().replace(/\.?0*Z$/, "Z");
  },
//{{end}}
//{{if has ":texts" "layouts.line"}}
  texts: (raw, path) => (isText(raw) ? textsIn(path, raw) : isLike([""], raw) ? raw : undefined),
//{{end}}
//{{if has ":objects" "code.http"}}
  objects: (raw) => (isLike([{}], raw) ? raw : undefined),
//{{end}}
//{{if has ":object"}}
  object: (raw) => (isObject(raw) ? raw : undefined),
//{{end}}
};
const wholeOr = (v: Value): number | undefined => (Number.isSafeInteger(v) ? (v as number) : undefined);
const bounded = (wait: Value, per = 1): number | undefined =>
  typeof wait !== "number" || Number.isNaN(wait) ? undefined : Math.round(Math.min(Math.max(wait * per, 0), maxWaitMs));
/** Returns the items of a list that is written as one text: OAuth writes scopes so. */
const textsIn = (path: string, text: string): string[] =>
  (path.startsWith("missingScopes") ? text.split(/[ ,]+/) : [text]).filter((one) => one.trim());
/** Says whether a value has the type that a path has on the wire; what only a writer knows is not read. */
const isOf = (path: string, raw: Value): boolean => {
  const converter = conversions[typeOf(path)];
  return converter === undefined || converter(raw, path) !== undefined;
};
/** Stores a value of the wire at a path, unless it is empty or of another type. */
function set(base: Fields, path: string, raw: Value): void {
  const value = convert(path, raw);
  const steps = stepsOf(path);
  let at: Value = base;
  for (const [i, step] of value === undefined ? [] : steps.entries()) {
//{{if has "path quotas"}}
    const made: Value = step === "quotas" || /^\d+$/.test(steps[i + 1] ?? "") ? [] : {};
//{{else}}
    const made: Value = /^\d+$/.test(steps[i + 1] ?? "") ? [] : {};
//{{end}}
    const there: Value = i + 1 === steps.length ? value : (child(at, step) ?? made);
    if (isObject(at)) put(at, step, there);
    else if (Array.isArray(at) && /^\d+$/.test(step)) {
      while (at.length < Number(step)) at.push(isObject(there) ? {} : "");
      at[Number(step)] = there;
    }
//{{if has "path quotas"}}
    const isNew = Array.isArray(at) && !/^\d+$/.test(step) && isEmpty(there);
    if (isNew && Array.isArray(at)) at.push(put(fieldsOr(there), "policy", step));
//{{end}}
    at = there;
  }
}

type Part = { text: string; path?: string; or?: string | undefined };
/** Parses a template: texts, {path} and {path|text}. Doubled braces are literal braces. */
function partsOf(template: string): readonly Part[] {
  const parts: Part[] = [];
  for (const [token, path, or] of template.matchAll(/\{\{|\}\}|\{([^}|]*)(?:\|([^}]*))?\}|[^{}]+/g)) {
    const last = parts.at(-1);
    const text = /^[{}]/.test(token) ? token.charAt(0) : token;
    if (path !== undefined) parts.push({ text: "", path, or });
    else if (last && last.path === undefined) last.text += text;
    else parts.push({ text });
  }
  return parts;
}
const isSentence = (path: string | undefined): boolean => path === "message" || path === "message:given";
/** Says whether a template contains the sentence of a failure unchanged. */
const frames = (template: string): boolean => partsOf(template).some((p) => isSentence(p.path));

/** Returns the text of a template without placeholders. */
function literalOf(template: string): string | undefined {
  const parts = partsOf(template);
  return parts.some((p) => p.path !== undefined) ? undefined : parts.map((p) => p.text).join("");
}

/** Fills a template in; undefined if a placeholder without a default text is empty. */
function render(template: string, valueOf: (path: string) => Value): string | undefined {
  const texts = partsOf(template).map((p) => {
    const value = p.path === undefined ? p.text : valueOf(p.path);
    return value === undefined ? p.path && p.or : spell(value);
  });
  const one = template.includes(":seconds} seconds") ? /\b1 seconds/ : undefined;
  return texts.includes(undefined) ? undefined : one ? texts.join("").replace(one, "1 second") : texts.join("");
}
const spell = (value: Value): string =>
  Array.isArray(value) ? value.map(spell).join(", ") : isText(value) ? value : JSON.stringify(value);

/** Parses a text that a template may have written; undefined if it has another form. */
function match(template: string, text: string): readonly [path: string, text: string][] | undefined {
  const parts = partsOf(template);
  const found: [string, string][] = [];
  for (const [i, p] of parts.entries()) {
    const next = parts[i + 1];
    let end = text.length;
    if (p.path === undefined) end = text.startsWith(p.text) ? p.text.length : -1;
    else if (next && i + 2 < parts.length && !isSentence(p.path)) end = text.indexOf(next.text);
    else if (next) end = text.lastIndexOf(next.text);
    if (end < 0 || (p.path !== undefined && next?.path !== undefined)) return undefined;
    if (p.path !== undefined && text.slice(0, end) !== p.or) found.push([p.path, text.slice(0, end)]);
    text = text.slice(end);
  }
  return text === "" ? found : undefined;
}

/** Writes a wait for a person, in its two largest units, rounded up, since it is a minimum. */
function waitText(ms: number): string {
  if (ms < 60_000) return ms < 1000 ? `${ms} ms` : `${ms / 1000} s`;
  const [unit, per, large, small] = ms <= 3_599_000 ? [1000, 60, "min", "s"] as const
    : ms <= 86_340_000 ? [60_000, 60, "h", "min"] as const : [3_600_000, 24, "d", "h"] as const;
  const n = Math.ceil(ms / unit);
  return `${Math.floor(n / per)} ${large}` + (n % per ? ` ${n % per} ${small}` : "");
}

// ---- Choosing the code of a record.

/** A record as the contract sees it, with the tool of the call, and the point at which the call failed, if known. */
type Subject = { e: Fields; get: (path: string) => Value; tool?: string | undefined; at?: string | undefined };
const subjectOf = (e: Fields): Subject => ({ e, get: (path) => get(e, path) });
const byCode = new Map<string, CodeEntry>(codes.map((entry) => [entry.code, entry]));
//{{if has "code.reads"}}
for (const entry of codes) {
  for (const word of entry.reads ?? []) if (!byCode.has(word)) byCode.set(word, entry);
}
//{{end}}
const fallback = byCode.get(contract.default) as CodeEntry;
//{{if has "code.open"}}
/** The entry for unlisted words. */
const open = codes.find((entry) => entry.open);
const isCodeWord = (word: string): boolean => /^[A-Za-z0-9_.-]{1,64}$/.test(word);
//{{end}}
const statusOf = (e: Fields): number => numberOr(get(e, "upstream.status"));
const places: { readonly [condition: string]: string } = {
  resource: "resource.type", upstream_code: "upstream.code", rule: "violations.0.rule", basis: "effectBasis",
};
/** The values of conditions, unless they are at a path of their name. */
const wordOf: Record<string, (e: Fields) => string> = { kind: kindOf, class: classOf, retry: adviceOf };
//{{if has "for.nature"}}
wordOf["nature"] = () => "known"; // authors know their tools
//{{end}}
//{{if has "for.status" "for.params" "for.has" "for.tool" "for.at"}}
/** The conditions that are more than a word. */
const tests: { readonly [condition: string]: (values: readonly string[], s: Subject) => boolean } = {
//{{if has "for.status"}}
  status: (values, { e }) => isStatus(values, statusOf(e)),
//{{end}}
//{{if has "for.params"}}
  params: (values, { e }) => {
    const params = listOr(e["violations"]).map((v) => textOr(own(v, "param")));
    return params.every((p) => values.includes(p)) && values.every((v) => params.includes(v));
  },
//{{end}}
//{{if has "for.has"}}
  has: (values, s) => values.every((path) => s.get(path) !== undefined),
//{{end}}
//{{if has "for.tool" "for.at"}}
  tool: (values, { tool }) => values.includes(tool ?? ""),
  at: (values, { at }) => values.includes(at || "tool"),
//{{end}}
};
//{{end}}
const selects = (selector: Selector | undefined, s: Subject): boolean =>
  Object.entries(selector ?? {}).every(([condition, values]) =>
//{{if has "for.status" "for.params" "for.has" "for.tool" "for.at"}}
    tests[condition]?.(values, s) ??
//{{end}}
    values.includes(wordOf[condition]?.(s.e) ?? textOr(get(s.e, places[condition] ?? condition))));
//{{if has "for.status" "retryable.status"}}
const isStatus = (values: readonly string[], status: number): boolean =>
  values.includes(String(status || "none")) || values.includes(String(status).charAt(0) + "xx");
//{{end}}

/** Returns the entry of a record, and the code that the record has there. */
function choose(s: Subject): readonly [entry: CodeEntry, code: string] {
  const code = textOr(s.e["code"]);
//{{if has "code.open"}}
  if (s.e["contract"] === contract.name && code) return [byCode.get(code) ?? open ?? fallback, code];
  for (const entry of codes) {
    const word = entry.open ? (render(entry.code, s.get) ?? "") : entry.code;
    if ((entry.open && !isCodeWord(word)) || !entry.for.some((selector) => selects(selector, s))) continue;
    return [byCode.get(word) ?? entry, word]; // another's word may be one of the contract's own
  }
  return [fallback, fallback.code];
//{{else}}
  if (s.e["contract"] === contract.name && code) return [byCode.get(code) ?? fallback, code];
  const entry = codes.find((one) => one.for.some((selector) => selects(selector, s))) ?? fallback;
  return [entry, entry.code];
//{{end}}
}

/**
 * Says whether the same call may succeed. A code that is never retryable stays so, and for an unlisted one the failure
 * decides. A possible effect of the call is not overruled, nor is advice that departs from the kind's.
 */
function isRetryable(e: Fields, entry: CodeEntry, code: string): boolean {
  const rule = entry.retryable;
  const advised = adviceOf(e) === "same_call";
//{{if has "retryable.stated"}}
  if (rule === "stated") return advised && e["retry"] === "same_call";
//{{end}}
//{{if has "code.open"}}
  if (rule === "error" || (code !== entry.code && !entry.open)) return advised;
//{{else}}
  if (rule === "error" || code !== entry.code) return advised;
//{{end}}
  if (rule === false) return false;
//{{if has "retryable.status"}}
  if (e["effect"] === "unknown" || advised !== (usualAdvice(e) === "same_call")) return advised;
  return rule === true || (statusOf(e) === 0 ? advised : isStatus(listOr(rule) as string[], statusOf(e)));
//{{else}}
  return e["effect"] !== "unknown" && advised === (usualAdvice(e) === "same_call") ? true : advised;
//{{end}}
}
