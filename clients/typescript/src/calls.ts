import { copyOf, type Fields, isEmpty, isObject, isText, objectsAt, own, put, textOr, type Value } from "./record.js";
import type { Tables } from "./tables.js";

/** Names of arguments whose values must not be shown. */
const secretName = new RegExp(
  "pass|pwd|secret|token|credential|authorization|cookie|jwt|api.?key|otp$|auth$|bearer" +
    "|(private|access|signing|session|ssh).?(key|id)", "i",
);

/** Returns the value at a JSON Pointer into arguments if it can be shown: no secret, and at most 128 bytes long. */
export function shownArgument(args: unknown, pointer: string): Value {
  const value = find(copyOf(args), pointer).found[0];
  const long = encodeURI(JSON.stringify(value ?? 0)).replace(/%../g, "x").length > 128;
  return long || secretName.test(pointer.slice(pointer.lastIndexOf("/"))) ? undefined : value;
}

/** Returns the contract's call that settles whether a tool's call took effect, with its arguments. */
export function verifyCall(c: Tables, tool: string, args: unknown): Fields | undefined {
  const rule = own(c.table.verify, tool);
  if (!isObject(rule)) return undefined;
  const given: Fields = {};
  const from: Fields = {}; // what may not be shown
  for (const { name, pointer, is, list } of objectsAt(rule, "args")) {
    const value = isText(pointer) ? shownArgument(args, pointer) : is;
    const hidden = value === undefined && isText(pointer) && find(copyOf(args), pointer).found.length > 0;
    if (hidden) put(from, textOr(name), list ? [pointer] : pointer);
    if (value !== undefined) put(given, textOr(name), list ? [value] : value);
  }
  const { tool: asked, lookAt } = rule;
  const taken = { ...(!isEmpty(given) && { args: given }), ...(!isEmpty(from) && { from }) };
  return { tool: asked, ...taken, ...(lookAt && { lookAt }) };
}

/** Returns the value at a JSON Pointer, if not null; "*" is any item. reached: all but the last member exists. */
export function find(value: Value, pointer: string): { readonly found: Value[]; readonly reached: boolean } {
  const [, raw, rest = ""] = /^\/([^/]*)(.*)$/s.exec(pointer) ?? [];
  if (raw === undefined) return { found: value === null || value === undefined ? [] : [value], reached: true };
  const token = raw.replaceAll("~1", "/").replaceAll("~0", "~");
  if (Array.isArray(value) && token === "*") {
    const found = value.flatMap((inner) => find(inner, rest).found);
    return { found, reached: value.length === 0 || found.length > 0 };
  }
  if (Array.isArray(value) && /^-?\d+$/.test(token)) {
    return token in value ? find(value[Number(token)], rest) : { found: [], reached: true };
  }
  if (own(value, token) !== undefined) return find(own(value, token), rest);
  return { found: [], reached: isObject(value) && rest === "" };
}
