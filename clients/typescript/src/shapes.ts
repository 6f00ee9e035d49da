import { places, selects, subjectOf } from "./choose.js";
import { readOwn } from "./forms.js";
import { kinds } from "./kinds.js";
import {
  child, convert, type Fields, fieldsOr, isLike, isObject, isOf, isSame, isText, listOr, numberOr, objectsAt, own,
  parsed, put, set, textOr, typeOf, type Value,
} from "./record.js";
import { type Selector, Tables } from "./tables.js";
import { match } from "./templates.js";
import { like } from "./types.js";

export const closedSets: { readonly [path: string]: readonly string[] } = {
  kind: Object.keys(kinds), retry: ["same_call", "re_read", "after_fix", "after_auth", "after_setup", "never"],
  effect: ["none", "applied", "unknown"], effectBasis: ["known", "stated", "profile"],
  origin: ["caller", "gateway", "server", "provider"],
};
export const maxItems = 10_000; // of a list; one that is longer stays whole among the details
export const isConstant = (source: Value): source is Fields => isObject(source) && "is" in source;
export const isCode = (source: Value): source is string => source === "code" || source === "code:number";

/** Reads the record's own JSON form, with the words that are known; undefined if it is not a record. */
export function readRecord(raw: Value): Fields | undefined {
  if (numberOr(own(raw, "v")) <= 0 || !own(raw, "kind") || !isLike(like, raw)) return undefined;
  const isKnown = ([name, value]: [string, Value]): boolean =>
    value !== null && (name === "kind" || closedSets[name]?.includes(textOr(value)) !== false);
  const e = Object.fromEntries(Object.entries(fieldsOr(raw)).filter(isKnown));
  for (const q of objectsAt(e, "quotas")) if (Number.isNaN(Date.parse(textOr(q["resetAt"])))) delete q["resetAt"];
  for (const f of objectsAt(e, "failed")) f["error"] = readRecord({ v: 1, ...fieldsOr(f["error"]) }) ?? {};
  return e;
}

/** Stores the texts that a template has captured. Says whether the template can have written the text. */
export function store(e: Fields, found: readonly [path: string, text: string][] | undefined): boolean {
  for (const [path, text] of found ?? []) {
    const type = typeOf(path);
    const value = /^(given|)$/.test(type) ? text : type === "texts" ? text.split(", ") : parsed(text);
    set(e, path, value === undefined && type === "any" ? text : value);
  }
  return found !== undefined;
}

/** Says whether a value may be in a shape: its constants and a code are present. */
export function fits(shape: Fields, raw: Value): boolean {
  const stands = ([name, source]: [string, Value]): boolean =>
    isConstant(source) ? isSame(own(raw, name), source["is"])
      : !isCode(source) || convert(source, own(raw, name)) !== undefined;
  return isObject(raw) && Object.values(shape).some(isCode) && Object.entries(shape).every(stands);
}

/** Says whether a value has all members of a shape, each with the right type. */
export function fitsWhole(shape: Fields, raw: Value): boolean {
  const stands = (source: Value, value: Value): boolean => {
    if (isConstant(source)) return isSame(value, source["is"]);
    if (value === undefined || value === null) return false;
    if (isText(source)) return typeOf(source) !== "" || isText(value);
    return own(source, "each") ? Array.isArray(value) : !own(source, "shape") || isObject(value);
  };
  return Object.entries(shape).every(([name, source]) => name === "..." || stands(source, own(raw, name)));
}

/** Stores the value of a source in base, a part of e. Says whether that has a place for all of it; undefined: the
 * source cannot have written this value. */
export function read(c: Tables, source: Value, raw: Value, e: Fields, base: Fields): boolean | undefined {
  if (isText(source)) {
    set(base, source, raw);
    return isOf(source, raw);
  }
  const { shape, own: isOwn } = fieldsOr(source);
  if (isConstant(source)) return isSame(raw, source["is"]) || undefined;
  if (isObject(shape)) {
    const others = readShape(c, shape, raw, e, base);
    return others && others.length === 0;
  }
  if (isOwn) return c.table.layouts.some((layout) => readOwn(c, layout, raw, e)) || undefined;
  const { oneOf } = fieldsOr(source);
  if (oneOf) return readChoice(listOr(oneOf).map(fieldsOr), raw, e, base);
  const { each, item } = fieldsOr(source);
  if (isText(each)) return readItems(c, each, fieldsOr(item), raw, e, base);
  const { text, list } = fieldsOr(source);
  if (isText(text)) return (isText(raw) && store(base, match(text, raw))) || undefined;
  if (!Array.isArray(list)) return true;
  const items = Array.isArray(raw) && raw.length <= list.length ? raw : undefined;
  return items?.every((one, i) => read(c, list[i], one, e, base) !== undefined) || undefined;
}

/** Reads an object. Returns the names of the members that base has no place for; a record keeps them in its details.
 * undefined: it does not have this shape. */
export function readShape(c: Tables, shape: Fields, raw: Value, e: Fields, base: Fields): string[] | undefined {
  if (!isObject(raw)) return undefined;
  const others: string[] = [];
  let fit = true;
  // Other members show which of several sources has written a member: they are read first.
  const isChoice = (source: Value): boolean => own(source, "oneOf") !== undefined;
  const sources = Object.entries(shape).sort(([, a], [, b]) => Number(isChoice(a)) - Number(isChoice(b)));
  for (const [name, source] of sources) {
    const value = own(raw, name);
    if (value === undefined || value === null) fit &&= !isConstant(source);
    if (value === undefined || value === null || name === "...") continue;
    const isWhole = read(c, source, value, e, base);
    fit &&= isWhole !== undefined;
    const rest = own(own(source, "shape"), "...");
    if (!isWhole && isText(rest) && !isObject(value)) put(memberOf(base, rest), name, value);
    else if (!isWhole) others.push(name);
  }
  const { "...": rest } = shape;
  for (const [name, value] of Object.entries(raw)) {
    if (Object.hasOwn(shape, name)) continue;
    if (isText(rest)) put(memberOf(base, rest), name, value);
    else others.push(name);
  }
  if (base === e) keepDetails(e, raw, others);
  return !fit ? undefined : base === e ? [] : others;
}

/** Stores members of an object among the details of e: under other names, where these have something else. */
function keepDetails(e: Fields, object: Fields, names: readonly string[]): void {
  for (const name of names) {
    const value = own(object, name);
    const details = fieldsOr(own(e, "details"));
    const isTaken = (free: string): boolean => Object.hasOwn(details, free) && !isSame(own(details, free), value);
    let free = name;
    for (let n = 2; isTaken(free); n++) free = `${name}_${n}`;
    if (value !== null) put(memberOf(e, "details"), free, value);
  }
}

function readItems(c: Tables, list: string, shape: Fields, raw: Value, e: Fields, base: Fields): boolean {
  if (!Array.isArray(raw)) return false;
  const items = listOr(own(base, list));
  put(base, list, items);
  let isWhole = raw.length <= maxItems;
  for (const [i, item] of raw.slice(0, maxItems).entries()) {
    const into = fieldsOr(items[i]);
    items[i] = into;
    isWhole = readItem(c, list, shape, item, e, into) && isWhole;
  }
  return isWhole;
}

/** Reads an item: a text is its own name. Says whether it has a place for all of it: what was done is its own value
 * then, and what is said about a failed item is a detail of that. */
function readItem(c: Tables, list: string, shape: Fields, item: Value, e: Fields, into: Fields): boolean {
  const members = fieldsOr(item);
  const first = Object.values(shape).find(isText);
  let others = readShape(c, shape, item, e, into) ?? [];
  let isWhole = isObject(item) || item === null || first === undefined || read(c, first, item, e, into) === true;
  const ids = Object.entries(members).filter(([name, value]) => name.endsWith("Id") && isText(value));
  if ("id" in shape && ids.length === 1 && !into["id"]) {
    into["id"] = members[ids[0]?.[0] ?? ""];
    others = others.filter((name) => name !== ids[0]?.[0]);
  }
  if (list === "failed") {
    const error = memberOf(into, "error");
    const isTold = others.includes("error") && !("error" in shape) && readInner(c, shape, members["error"], e, into);
    keepDetails(error, members, isTold ? others.filter((name) => name !== "error") : others);
    return isWhole;
  }
  isWhole &&= others.length === 0;
  if (list !== "succeeded" || (isWhole && isObject(item)) || into["value"] !== undefined) return isWhole;
  into["value"] = item;
  return true;
}

/** Reads what a failed item says of its failure in an object of its own. Says whether it is that. */
function readInner(c: Tables, shape: Fields, object: Value, e: Fields, into: Fields): boolean {
  const error = memberOf(into, "error");
  if (!isObject(object) || error["code"]) return false;
  const { id } = into;
  const others = readShape(c, shape, object, e, into) ?? [];
  if (id || !error["code"]) put(into, "id", id ?? "");
  if (!error["code"]) return false;
  keepDetails(error, object, others);
  return true;
}

/** Returns the object at a member of base, and creates it if it is missing. */
const memberOf = (base: Fields, name: string): Fields =>
  fieldsOr(own(put(base, name, fieldsOr(own(base, name))), name));

/**
 * Stores a value that one of several sources may have written: a word of a closed set where it belongs, any other in
 * the first suitable path; and the properties in the conditions of a constant. Says whether there is a place for it.
 */
function readChoice(choices: readonly Fields[], raw: Value, e: Fields, base: Fields): boolean {
  const takes = ({ path, for: selector }: Fields): boolean => {
    if (!isText(path) || closedSets[path]?.includes(textOr(raw)) === false) return false;
    return isOf(path, raw) && selects(selector as Selector | undefined, subjectOf(e));
  };
  const at = choices.findIndex((choice) => !choice["path"] && isSame(raw, choice["is"]));
  const word = choices.find((choice) => closedSets[textOr(choice["path"])] && takes(choice));
  const taker = word ?? choices.slice(0, at < 0 ? undefined : at).find(takes);
  if (taker) set(base, textOr(taker["path"]), raw);
  for (const [condition, values] of Object.entries(fieldsOr((!word && choices[at]?.["for"]) || {}))) {
    if (!/^(kind|resource|upstream_code|effect|retry)$/.test(condition) || listOr(values).length > 1) continue;
    set(e, places[condition] ?? condition, child(values, "0"));
  }
  return taker !== undefined || at >= 0;
}
