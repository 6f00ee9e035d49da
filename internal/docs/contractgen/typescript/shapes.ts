// ---- Reading objects of the wire.

const closedSets: { readonly [path: string]: readonly string[] } = {
  kind: Object.keys(kinds), retry: ["same_call", "re_read", "after_fix", "after_auth", "after_setup", "never"],
  effect: ["none", "applied", "unknown"], effectBasis: ["known", "stated"],
  origin: ["caller", "gateway", "server", "provider"],
};
const maxItems = 1000; // of a list
/** Of failures; after the first, those of tools that return theirs. */
const layouts: readonly Fields[] = contract.layouts;
//{{if has "is"}}
const isConstant = (source: Value): source is Fields => isObject(source) && "is" in source;
//{{end}}
const isCode = (source: Value): source is string => source === "code" || source === "code:number";

/** Reads the record's own JSON form, with the words that are known; undefined if it is not a record. */
function readRecord(raw: Value): Fields | undefined {
  if (numberOr(own(raw, "v")) <= 0 || !own(raw, "kind") || !isLike(like, raw)) return undefined;
  const isKnown = ([name, value]: [string, Value]): boolean =>
    value !== null && (name === "kind" || closedSets[name]?.includes(textOr(value)) !== false);
  const e = Object.fromEntries(Object.entries(fieldsOr(raw)).filter(isKnown));
  for (const q of objectsAt(e, "quotas")) if (Number.isNaN(Date.parse(textOr(q["resetAt"])))) delete q["resetAt"];
  for (const f of objectsAt(e, "failed")) f["error"] = readRecord({ v: 1, ...fieldsOr(f["error"]) }) ?? {};
  return e;
}

/** Stores the texts that a template has captured. Says whether the template can have written the text. */
function store(e: Fields, found: readonly [path: string, text: string][] | undefined): boolean {
  for (const [path, text] of found ?? []) {
    const type = typeOf(path);
    const value = /^(given|)$/.test(type) ? text : type === "texts" ? text.split(", ") : parsed(text);
    set(e, path, value === undefined && type === "any" ? text : value);
  }
  return found !== undefined;
}

/** Says whether a value may be in a shape: its constants and a code are present. */
function fits(shape: Fields, raw: Value): boolean {
  const stands = ([name, source]: [string, Value]): boolean =>
//{{if has "is"}}
    isConstant(source) ? isSame(own(raw, name), source["is"])
      : !isCode(source) || convert(source, own(raw, name)) !== undefined;
//{{else}}
    !isCode(source) || convert(source, own(raw, name)) !== undefined;
//{{end}}
  return isObject(raw) && Object.values(shape).some(isCode) && Object.entries(shape).every(stands);
}

//{{if has "contract.forms"}}
/** Forms that are read but never written. */
const forms: readonly Fields[] = contract.forms;

/** Says whether a value has all members of a shape, each with the right type. */
function fitsWhole(shape: Fields, raw: Value): boolean {
  const stands = (source: Value, value: Value): boolean => {
    if (isConstant(source)) return isSame(value, source["is"]);
    if (value === undefined || value === null) return false;
    if (isText(source)) return typeOf(source) !== "" || isText(value);
    return own(source, "each") ? Array.isArray(value) : !own(source, "shape") || isObject(value);
  };
  return Object.entries(shape).every(([name, source]) => name === "..." || stands(source, own(raw, name)));
}

//{{end}}
/** Stores the value of a source in base, a part of e. Says whether the source can have written this value. */
function read(source: Value, raw: Value, e: Fields, base: Fields): boolean {
  if (isText(source)) set(base, source, raw);
//{{if has "own"}}
  const { shape, own: isOwn } = fieldsOr(source);
//{{else}}
  const { shape } = fieldsOr(source);
//{{end}}
//{{if has "is"}}
  if (isConstant(source)) return isSame(raw, source["is"]);
//{{end}}
  if (isObject(shape)) return readShape(shape, raw, e, base);
//{{if has "own"}}
  if (isOwn) return layouts.some((layout) => readOwn(layout, raw, e));
//{{end}}
//{{if has "oneOf" "each" "text" "list"}}
  const { oneOf, each, item, text, list } = fieldsOr(source);
  if (oneOf) readChoice(listOr(oneOf).map(fieldsOr), raw, e, base);
  if (isText(each)) readItems(each, fieldsOr(item), raw, e, base);
  if (isText(text)) return isText(raw) && store(base, match(text, raw));
  if (!Array.isArray(list)) return true;
  return Array.isArray(raw) && list.every((one, i) => !(i in raw) || read(one, raw[i], e, base));
//{{else}}
  return true;
//{{end}}
}

function readShape(shape: Fields, raw: Value, e: Fields, base: Fields): boolean {
  if (!isObject(raw)) return false;
  let fit = true;
//{{if has "oneOf"}}
  // Other members show which of several sources has written a member: they are read first.
  const isChoice = (source: Value): boolean => own(source, "oneOf") !== undefined;
  const sources = Object.entries(shape).sort(([, a], [, b]) => Number(isChoice(a)) - Number(isChoice(b)));
  for (const [name, source] of sources) {
//{{else}}
  for (const [name, source] of Object.entries(shape)) {
//{{end}}
    const value = own(raw, name);
//{{if has "is"}}
    if (value === undefined || value === null) fit &&= !isConstant(source);
    else if (name !== "..." && !read(source, value, e, base)) {
//{{else}}
    if (value !== undefined && value !== null && name !== "..." && !read(source, value, e, base)) {
//{{end}}
      fit = false;
//{{if has "..."}}
      keep(base, own(own(source, "shape"), "..."), name, value); // of another type
//{{end}}
    }
  }
//{{if has "..."}}
  for (const [name, value] of Object.entries(raw)) {
    if (!Object.hasOwn(shape, name)) keep(base, shape["..."], name, value);
  }
//{{end}}
  return fit;
}

/** Keeps a member that a shape does not have in the object for such members. */
function keep(base: Fields, rest: Value, name: string, value: Value): void {
  if (isText(rest)) put(memberOf(base, rest), name, value);
}

function readItems(list: string, shape: Fields, raw: Value, e: Fields, base: Fields): void {
  const items = listOr(own(base, list));
  put(base, list, items);
  for (const [i, item] of listOr(raw).slice(0, maxItems).entries()) {
    const into = fieldsOr(items[i]);
    items[i] = into;
    readItem(list, shape, item, e, into);
  }
}

/** Reads an item: a text is its own name. What was done and has more than the item has places for is its own value. */
function readItem(list: string, shape: Fields, item: Value, e: Fields, into: Fields): void {
  if (isObject(item)) readShape(shape, item, e, into);
  else readShape({ name: Object.values(shape)[0] ?? null }, { name: item }, e, into);
  const members = isObject(item) ? Object.entries(item) : [];
  const named = members.filter(([name, value]) => name.endsWith("Id") && isText(value));
  if ("id" in shape && named.length === 1 && !into["id"]) into["id"] = named[0]?.[1] ?? "";
  const whole = isObject(item) && members.every(([name]) => name in shape);
  if (list === "succeeded" && !whole) into["value"] ??= item;
}

/** Returns the object at a member of base, and creates it if it is missing. */
const memberOf = (base: Fields, name: string): Fields =>
  fieldsOr(own(put(base, name, fieldsOr(own(base, name))), name));

/**
 * Stores a value that one of several sources may have written: a word of a closed set where it belongs, any other in
 * the first suitable path; and the properties in the conditions of a constant.
 */
function readChoice(choices: readonly Fields[], raw: Value, e: Fields, base: Fields): void {
  const takes = ({ path, for: selector }: Fields): boolean => {
    if (!isText(path) || closedSets[path]?.includes(textOr(raw)) === false) return false;
    return convert(path, raw) !== undefined && selects(selector as Selector | undefined, subjectOf(e));
  };
  const at = choices.findIndex((choice) => !choice["path"] && isSame(raw, choice["is"]));
  const word = choices.find((choice) => closedSets[textOr(choice["path"])] && takes(choice));
  const taker = word ?? choices.slice(0, at < 0 ? undefined : at).find(takes);
  if (taker) set(base, textOr(taker["path"]), raw);
  for (const [condition, values] of Object.entries(fieldsOr((!word && choices[at]?.["for"]) || {}))) {
    if (!/^(kind|resource|upstream_code|effect|retry)$/.test(condition) || listOr(values).length > 1) continue;
    set(e, places[condition] ?? condition, child(values, "0"));
  }
}
