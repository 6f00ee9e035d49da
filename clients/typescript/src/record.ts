import { advice, kinds, maxWaitMs } from "./kinds.js";
import { anything, type Kind, like, needed, type Retry } from "./types.js";

export type Fields = { [name: string]: Value };
export type Value = null | boolean | number | string | Value[] | Fields | undefined;
export const isObject = (v: unknown): v is Fields => typeof v === "object" && v !== null && !Array.isArray(v);
export const isText = (v: unknown): v is string => typeof v === "string";
export const textOr = (v: Value): string => (isText(v) ? v : "");
export const numberOr = (v: Value): number => (typeof v === "number" ? v : 0);
export const listOr = (v: Value): Value[] => (Array.isArray(v) ? v : []);
export const fieldsOr = (v: Value): Fields => (isObject(v) ? v : {});
export const objectsAt = (e: Fields, list: string): Fields[] => listOr(e[list]).filter(isObject);
export const own = (o: Value, name: string): Value => (isObject(o) && Object.hasOwn(o, name) ? o[name] : undefined);
export const isEmpty = (v: Value): boolean => !v || (typeof v === "object" && Object.keys(v).length === 0);
/** Sets a member, even one with the name __proto__. */
export const put = (o: Fields, name: string, value: Value): Fields =>
  Object.defineProperty(o, name, { value, enumerable: true, configurable: true, writable: true });
/** Returns the result of a function; undefined if it throws: JSON may be broken, or nested too deeply. */
export function attempt<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}
export const parsed = (text: string): Value => attempt(() => JSON.parse(text) as Value);
export const copyOf = (v: unknown): Value => attempt(() => (v === undefined ? undefined : parsed(JSON.stringify(v))));
export const ordered = (_: string, v: Value): Value =>
  isObject(v) ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1))) : v;
export const canonical = (v: Value): string => JSON.stringify(v, ordered) ?? "";
export const isSame = (a: Value, b: Value): boolean => canonical(a) === canonical(b);

export function isLike(example: unknown, v: unknown): boolean {
  if (Array.isArray(example)) return Array.isArray(v) && v.every((item) => isLike(example[0], item));
  if (!isObject(example)) return example === anything || typeof v === typeof example;
  return isObject(v) && Object.entries(example).every(([name, one]) => isLike(one, own(v, name) ?? one));
}
export const kindOf = (e: Fields): Kind => (Object.hasOwn(kinds, textOr(e["kind"])) ? (e["kind"] as Kind) : "unknown");
export const classOf = (e: Fields): string => kinds[kindOf(e)];
export const usualAdvice = (e: Fields): Retry => advice[kindOf(e)] ?? advice[classOf(e)] ?? "never";
export function adviceOf(e: Fields): string {
  const said = textOr(e["retry"]) || usualAdvice(e);
  return said === "same_call" && (e["effect"] === "unknown" || e["effect"] === "applied") ? "re_read" : said;
}

/** Returns the JSON form of a record. */
export function encode(e: Fields): Fields {
  const to: Fields = {};
  for (const [name, value] of Object.entries({ ...e, v: 1, kind: kindOf(e), retry: adviceOf(e) })) {
    if (value === undefined || (Object.hasOwn(like, name) && isEmpty(value))) continue;
    const whole = (v: Value): Value => (isObject(v) ? { ...v, ...fieldsOr(own(needed, name)), ...v } : v);
    put(to, name, Array.isArray(value) ? value.map(whole) : whole(value));
  }
  for (const item of objectsAt(to, "failed")) item["error"] = encode(fieldsOr(item["error"]));
  return to;
}
export const stepsOf = (path: string): string[] => (path.split(":")[0] ?? "").split(".");
export const typeOf = (path: string): string => path.split(":")[1] ?? "";
const keepsEmpty = (path: string): boolean => path === "message" || /^(any|count|flag|given)$/.test(typeOf(path));
/** Returns a member of an object, or an item of a list: by its index, or by its policy. */
export const child = (at: Value, step: string): Value =>
  Array.isArray(at) ? at.find((item, i) => String(i) === step || own(item, "policy") === step) : own(at, step);
const filled = (path: string, value: Value): Value => (isEmpty(value) && !keepsEmpty(path) ? undefined : value);
/** Returns the value at a path; undefined if it is empty. */
export const get = (e: Value, path: string): Value => filled(path, stepsOf(path).reduce(child, e));
/** Converts a value of the wire for the record; undefined if it is empty, or of another type. */
export const convert = (path: string, raw: Value): Value => filled(path, conversions[typeOf(path)]?.(raw, path));

/** Converters of values of the wire, by the type at the end of a path; undefined: the value has another type. */
const conversions: { readonly [type: string]: (raw: Value, path: string) => Value } = {
  "": (raw, path) => {
    const isName = typeof raw === "number" && !/^(message$|details\.)/.test(path);
    return isName ? String(raw) : isText(raw) ? raw : undefined;
  },
  given: (raw) => (isText(raw) ? raw : undefined),
  any: (raw) => raw,
  flag: (raw) => (typeof raw === "boolean" ? raw : undefined),
  number: (raw) => wholeOr(raw)?.toString(),
  count: (raw) => wholeOr(raw),
  whole: (raw) => wholeOr(raw),
  ms: (raw) => bounded(raw),
  seconds: (raw) => bounded(isText(raw) && raw.trim() ? Number(raw) : raw, 1000),
  instant: (raw) => { // up to the end of the year 9999, the last that RFC 3339 can write
    const ms = wholeOr(raw) ?? -1;
    return ms < 0 || ms > 253_402_300_799_999 ? undefined : new Date(ms).toISOString().replace(/\.?0*Z$/, "Z");
  },
  texts: (raw, path) => (isText(raw) ? textsIn(path, raw) : isLike([""], raw) ? raw : undefined),
  objects: (raw) => (isLike([{}], raw) ? raw : undefined),
  object: (raw) => (isObject(raw) ? raw : undefined),
};
const wholeOr = (v: Value): number | undefined => (Number.isSafeInteger(v) ? (v as number) : undefined);
export const bounded = (wait: Value, per = 1): number | undefined =>
  typeof wait !== "number" || Number.isNaN(wait) ? undefined : Math.round(Math.min(Math.max(wait * per, 0), maxWaitMs));
/** Returns the items of a list that is written as one text: OAuth writes scopes so. */
const textsIn = (path: string, text: string): string[] =>
  (path.startsWith("missingScopes") ? text.split(/[ ,]+/) : [text]).filter((one) => one.trim());
/** Says whether a value has the type that a path has on the wire; what only a writer knows is not read. */
export const isOf = (path: string, raw: Value): boolean => {
  const converter = conversions[typeOf(path)];
  return converter === undefined || converter(raw, path) !== undefined;
};
/** Stores a value of the wire at a path, unless it is empty or of another type. */
export function set(base: Fields, path: string, raw: Value): void {
  const value = convert(path, raw);
  const steps = stepsOf(path);
  let at: Value = base;
  for (const [i, step] of value === undefined ? [] : steps.entries()) {
    const made: Value = step === "quotas" || /^\d+$/.test(steps[i + 1] ?? "") ? [] : {};
    const there: Value = i + 1 === steps.length ? value : (child(at, step) ?? made);
    if (isObject(at)) put(at, step, there);
    else if (Array.isArray(at) && /^\d+$/.test(step)) {
      while (at.length < Number(step)) at.push(isObject(there) ? {} : "");
      at[Number(step)] = there;
    }
    const isNew = Array.isArray(at) && !/^\d+$/.test(step) && isEmpty(there);
    if (isNew && Array.isArray(at)) at.push(put(fieldsOr(there), "policy", step));
    at = there;
  }
}

/** Writes a wait for a person, in its two largest units, rounded up, since it is a minimum. */
export function waitText(ms: number): string {
  if (ms < 60_000) return ms < 1000 ? `${ms} ms` : `${ms / 1000} s`;
  const [unit, per, large, small] = ms <= 3_599_000 ? [1000, 60, "min", "s"] as const
    : ms <= 86_340_000 ? [60_000, 60, "h", "min"] as const : [3_600_000, 24, "d", "h"] as const;
  const n = Math.ceil(ms / unit);
  return `${Math.floor(n / per)} ${large}` + (n % per ? ` ${n % per} ${small}` : "");
}
