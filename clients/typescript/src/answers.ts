import { find, verifyCall } from "./calls.js";
import { copyOfEach } from "./read.js";
import {
  child, copyOf, type Fields, fieldsOr, isObject, isSame, isText, listOr, own, parsed, put, textOr, type Value,
} from "./record.js";
import type { Tables } from "./tables.js";
import type { Arguments, Failure } from "./types.js";

/** Returns the data of a tool result: its structured content, or the JSON of its first text. */
export function dataOf(result: unknown): Value {
  const r = copyOfEach(result);
  const data = r["structuredContent"];
  return isObject(data) ? data : parsed(textOr(child(child(r["content"], "0"), "text")));
}

/** Says whether the verify call's answer shows that a write has landed, by the contract's rule; undefined: open. */
export function landedBy(c: Tables, tool: string, args: Arguments, call: Fields, result: unknown): boolean | undefined {
  const { args: taken, landed } = fieldsOr(own(c.table.verify, tool));
  const mine = verifyCall(c, tool, args);
  const data = dataOf(result);
  // The verify call takes an argument from the write. Without it, it would be about something else.
  const asks = listOr(taken).every((a) => own(mine?.["args"], textOr(own(a, "name"))) !== undefined);
  const isMine = isSame([call["tool"], call["args"]], [mine?.["tool"], mine?.["args"]]);
  if (!isObject(landed) || !asks || !isMine) return undefined;
  const { path, exists, pointer, contains, is } = landed;
  if (data === undefined) return result || exists === undefined ? undefined : !exists;
  const { found, reached } = find(data, textOr(path));
  if (exists !== undefined) return reached ? found.length > 0 === exists : undefined;
  const want = isText(pointer) ? find(copyOf(args), pointer).found[0] : is;
  if (want === undefined || !reached || (!contains && found.length === 0)) return undefined;
  return found.some((value) => isSame(value, want) || (contains === true && holdsValue(value, want)));
}

/** Returns the failure in a result that says success and does not look like what the contract expects of one. */
export function unmetBy(c: Tables, tool: string, args: Arguments, result: unknown): Fields | undefined {
  const expected = listOr(own(c.table.expects, tool)).map(fieldsOr);
  const data = expected.length > 0 ? dataOf(result) : undefined;
  const isJSON = data !== undefined && data !== null;
  const why = isJSON ? expected.map((one) => lackedBy(one, args, data)).find(isText) : expected[0] && "it is no JSON";
  const message = `The server said success, but its answer does not look like one: ${why}.`;
  return why ? { kind: "bad_response", origin: "server", message } : undefined;
}

/** Says in a clause why data does not meet an expectation. */
function lackedBy({ path, notEmptyFor, equals }: Fields, args: Arguments, data: Value): string | undefined {
  const pointer = notEmptyFor ?? equals;
  const want = isText(pointer) ? find(copyOf(args), pointer).found[0] : true;
  if (want === undefined) return undefined; // the call does not ask for it
  const { found } = find(data, textOr(path));
  const [first] = found;
  if (found.length === 0) return `it has no ${path}`;
  if (isText(notEmptyFor)) {
    const filled = Array.isArray(first) && first.length > 0;
    return filled ? undefined : `${path} is empty, although the call names ${pointer}`;
  }
  const scalar = (v: Value): string => (isText(v) || typeof v === "number" ? String(v) : "");
  const fits = (v: Value): boolean => isSame(v, want) || (scalar(v) !== "" && scalar(v) === scalar(want));
  return isText(equals) && !found.some(fits) ? `${path} is not the ${pointer} of the call` : undefined;
}

/** Says whether a text contains another, a list an item, or an object the members of another. */
function holdsValue(value: Value, want: Value): boolean {
  if (isText(value)) return isText(want) && value.includes(want);
  const holds = (item: Value): boolean => isSame(item, want) || (isObject(item) && holdsValue(item, want));
  if (Array.isArray(value)) return value.some(holds);
  return isObject(value) && isObject(want) && Object.entries(want).every(([name, v]) => isSame(own(value, name), v));
}

/** Returns the id of an item: itself, or its member "id". */
export function idOf(item: Value): string {
  const id = isObject(item) ? (item["id"] ?? item) : item;
  return textOr(id) || JSON.stringify(id);
}

/** Says whether a text or number anywhere in a value is the id. */
function mentions(v: Value, id: string): boolean {
  if (typeof v === "object" && v) return Object.values(v).some((inner) => mentions(inner, id));
  return (isText(v) || typeof v === "number") && idOf(v) === id;
}

/** The member with a list of items; null: the data itself is the list. */
export type Place = string | null | undefined;

/** Returns what a complete success says of items, and the place of their list, if there is one: each entry names its
 * item, or there is one for each. Without such a list, a single item gets the whole data, several get nothing, and
 * where there are only lists, an item that is not mentioned is missing. */
export function itemsOf(ids: readonly string[], data: Value): { items: Fields[]; list: Place } {
  const members: [Place, Value][] = Array.isArray(data) ? [[null, data]] : Object.entries(fieldsOr(data));
  const lists = members.filter((m): m is [Place, Value[]] => Array.isArray(m[1]));
  const isID = ([name]: [string, Value]): boolean => /^id$/i.test(name) || /(Id|ID|_id)$/.test(name);
  const named = (entry: Value): string[] =>
    isObject(entry) ? Object.entries(entry).filter(isID).map(([, v]) => idOf(v)) : isText(entry) ? [entry] : [];
  for (const [list, entries] of lists) {
    const found = ids.map((id) => [id, entries.find((entry) => named(entry).includes(id))] as const);
    const items = found.filter(([, value]) => value !== undefined).map(([id, value]) => ({ id, value }));
    if (items.length > 0) return { items, list };
  }
  const fits = lists.find(([, entries]) => entries.length === ids.length);
  if (fits) return { items: ids.map((id, i) => ({ id, value: fits[1][i] })), list: fits[0] };
  const isPlain = lists.length > 0 && !members.some(([, v]) => isObject(v));
  const told = ids.filter((id) => !isPlain || mentions(data, id));
  const items = told.map((id) => (ids.length > 1 || data === undefined ? { id } : { id, value: data }));
  return { items, list: undefined };
}

/** Returns the result of a batch whose items have all succeeded, in the tool's own form: that of its last answer. */
export function wholeOf(result: unknown, list: Place, values: Value[]): Fields | undefined {
  if (list === undefined || values.includes(undefined)) return undefined;
  const whole = copyOfEach(result);
  const data = list === null ? values : { ...fieldsOr(dataOf(result)), [list]: values };
  const [first, ...rest] = listOr(whole["content"]);
  const isJSON = parsed(textOr(child(first, "text"))) !== undefined;
  const content = isJSON ? { content: [{ ...fieldsOr(first), text: JSON.stringify(data) }, ...rest] } : {};
  return { ...whole, ...(isObject(whole["structuredContent"]) && { structuredContent: data }), ...content };
}

const bareWords: Fields = { True: true, False: false, None: null };

/** Reads a call as written in texts: study_get(study_id="s-1", lean=True). */
export function parseCall(text: string): { readonly tool: string; readonly args: Fields } | undefined {
  const quoted = /("(?:[^"\\]|\\.)*")|'([^'"\\]*)'/g;
  const plain = text.replace(quoted, (_, told?: string, inner?: string) => told ?? `"${inner}"`);
  const [, tool, inner = ""] = /^\s*([^\s"'=,(]+)\((.*)\)\s*$/s.exec(plain) ?? [];
  const args: Fields = {};
  for (let rest = inner.trim() && "," + inner; rest.trim(); ) {
    const [head = "", name] = /^\s*,\s*([^\s"',()=]+)\s*=\s*/.exec(rest) ?? [];
    rest = rest.slice(head.length);
    // A value ends before a comma or at the end: at the first of these places that makes it valid.
    const ends = [...rest.matchAll(/,|$/g)].map((m) => rest.slice(0, m.index).trim());
    const isValue = (one: string): boolean => Object.hasOwn(bareWords, one) || parsed(one) !== undefined;
    const word = ends.find((one) => isValue(one) || /^'[^'\\]*'$/.test(one));
    if (name === undefined || word === undefined) return undefined;
    const value = word.startsWith("'") ? word.slice(1, -1) : parsed(word);
    put(args, name, Object.hasOwn(bareWords, word) ? bareWords[word] : value);
    rest = rest.slice(rest.indexOf(word) + word.length);
  }
  return tool === undefined ? undefined : { tool, args };
}

/** A call that a hint names, with the arguments in the hint: the caller has to add the others. */
export type Advice = { readonly tool: string; readonly args: Arguments; readonly hint: string };

/** Returns the calls in the hints of a failure, for tools that the contract knows. */
export function advised(c: Tables, failure: Failure): readonly Advice[] {
  return (failure.hints ?? []).flatMap((hint) => {
    const found = c.table.advised.flatMap((tool) => {
      const at = hint.search(new RegExp(`(?<![A-Za-z0-9_-])${tool.replace(/\W/g, "\\$&")}(?![A-Za-z0-9_-])`));
      return at < 0 ? [] : [{ tool, at }];
    });
    const { tool, at } = found.sort((a, b) => a.at - b.at)[0] ?? { tool: "", at: 0 };
    const rest = hint.slice(at + tool.length);
    const [given = ""] = /^ with \w+='[^']*'(,? and \w+='[^']*')*/.exec(rest) ?? [];
    const called = rest.startsWith("(") ? parseCall(tool + rest.slice(0, rest.indexOf(")") + 1))?.args : undefined;
    const args = called ?? Object.fromEntries([...given.matchAll(/(\w+)='([^']*)'/g)].map(([, name, v]) => [name, v]));
    return tool === "" ? [] : [{ tool, args, hint }];
  });
}
