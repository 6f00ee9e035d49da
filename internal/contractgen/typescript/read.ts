// ---- Reading.

/** The failure or question in an answer. */
export type Reading = Readonly<{ failure: Failure; question?: never } | { question: Question; failure?: never }>;

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

/** Reads an object of the contract. */
function readOwn({ shape }: Fields, raw: Value, e: Fields): boolean {
//{{if has "contract.record"}}
  if (!isObject(shape)) return Object.assign(e, readRecord(raw))["contract"] === contract.name;
//{{end}}
  if (!isObject(shape) || !fits(shape, raw)) return false;
  readShape(shape, raw, e, e);
//{{if has "contract.silence"}}
  e["retryable"] ??= contract.silence;
//{{end}}
  return true;
}

/** Returns the record of an object of the contract. */
function ownObject(layout: Fields, raw: Value, sure: boolean): Fields | undefined {
  const e: Fields = {};
//{{if has "is"}}
  sure ||= Object.values(fieldsOr(layout["shape"])).some(isConstant);
//{{end}}
  return readOwn(layout, raw, e) && (sure || byCode.has(textOr(e["code"]))) ? e : undefined;
}

//{{if has "layouts.line" "layouts.human"}}
/** Returns the record of a text of the contract, of either block. */
function ownText(layout: Fields, text: string, sure: boolean): Fields | undefined {
//{{if has "layouts.line"}}
//{{if has "code.open" "code.message"}}
  const { line } = layout;
  const e = isText(line) ? ownLine(layout, line, text, sure) : ownObject(layout, parsed(text), sure);
//{{else}}
  const { line } = layout;
  const e = isText(line) ? ownLine(layout, line, text) : ownObject(layout, parsed(text), sure);
//{{end}}
//{{else}}
  const e = ownObject(layout, parsed(text), sure);
//{{end}}
//{{if and (has "layouts.human") (has "code.message")}}
  const found = e || !isText(layout["human"]) ? undefined : match(layout["human"], text);
  if (!found) return e;
  const said: Fields = {};
  store(said, found);
  return identify(said, textOr(said["message"]), sure);
//{{else}}
  return e;
//{{end}}
}

//{{end}}
//{{if has "layouts.line"}}
/** Reads a line with its hints and its envelope. */
//{{if has "code.open" "code.message"}}
function ownLine({ envelope, hints }: Fields, line: string, text: string, sure: boolean): Fields | undefined {
//{{else}}
function ownLine({ envelope, hints }: Fields, line: string, text: string): Fields | undefined {
//{{end}}
  const e: Fields = {};
//{{if has "code.open"}}
  let enveloped: Value;
//{{end}}
  const mark = textOr(own(envelope, "mark"));
  const at = mark ? text.lastIndexOf(mark) : -1;
  if (at >= 0 && readShape(fieldsOr(own(envelope, "shape")), parsed(text.slice(at + mark.length)), e, e)) {
    text = text.slice(0, at);
//{{if has "code.open"}}
    enveloped = e["code"];
//{{end}}
  }
  if (isObject(hints)) { // on lines of their own they are told from the sentence, which goes on with two spaces
    const before = textOr(hints["before"]);
    const lines = before === "\n";
    const cut = lines ? text.search(/\n(?! {2})/) : text.indexOf(before);
    const given = cut < 0 ? [] : text.slice(cut + before.length).split(textOr(hints["between"]), maxItems);
    set(e, "hints:texts", e["hints"] ?? given.filter((hint) => hint.trim()));
    text = cut < 0 ? text : text.slice(0, cut);
    text = lines ? text.replaceAll("\n  ", "\n") : text;
  }
  const found = match(line, text);
  store(e, found);
//{{if has "code.message"}}
  if (!found?.some(([path]) => isCode(path))) return found && identify(e, text, sure);
//{{else}}
  if (!found?.some(([path]) => isCode(path))) return undefined;
//{{end}}
  const word = textOr(e["code"]);
//{{if has "code.open"}}
  if (open && isCodeWord(word) && (sure || enveloped === word)) return e;
//{{end}}
  return byCode.has(word) ? e : undefined;
}

//{{end}}
//{{if has "code.message"}}
/** Finds the code whose own sentence is in a text, the longest first. */
function identify(e: Fields, text: string, sure: boolean): Fields | undefined {
  let longest = 0;
  for (const entry of codes) {
    for (const template of entry.message ?? []) {
      const fixed = partsOf(template).flatMap((p) => (p.path === undefined ? [p.text] : []));
      const [first = "", last = first] = [fixed[0], fixed.at(-1)];
      const from = Math.max(text.indexOf(first), 0); // it may stand anywhere in the text
      const sentence = frames(template) ? text : text.slice(from, text.lastIndexOf(last) + last.length);
      const mine = frames(template) ? sure : !entry.http || (sentence === text && text.includes(" "));
      if (fixed.join("").length <= longest || !mine || !match(template, sentence)) continue;
      longest = fixed.join("").length;
      Object.assign(e, { code: entry.code, message: sentence });
    }
  }
  return longest > 0 ? e : undefined;
}

//{{end}}
/** Reads an answer in the contract's own forms, and in other known forms. */
function readForms(text: string, objects: readonly Value[], sure: boolean): Fields | undefined {
//{{if has "layouts.line" "layouts.human" "contract.forms"}}
  for (const raw of objects) {
//{{if has "contract.forms"}}
    const form = forms.find(({ shape }) => isObject(shape) && fitsWhole(shape, raw));
    if (form) {
      const e = withConstants({}, form["set"]);
      readShape(fieldsOr(form["shape"]), raw, e, e);
      return complete(e, undefined, e["kind"]); // it says one because its code leaves it open
    }
//{{end}}
    const e = layouts.map((layout) => (layout["shape"] ? ownObject(layout, raw, sure) : undefined)).find(isObject);
    if (e) return complete(e);
  }
//{{if has "layouts.line" "layouts.human"}}
  const e = text ? layouts.map((layout) => ownText(layout, text, sure)).find(isObject) : undefined;
//{{else}}
  const e = text ? layouts.map((layout) => ownObject(layout, parsed(text), sure)).find(isObject) : undefined;
//{{end}}
//{{if has "contract.forms"}}
  if (e || !text || !sure) return e && complete(e);
  for (const form of forms) {
    const found = isText(form["text"]) ? match(form["text"], text) : undefined;
    if (!found) continue;
    const said = withConstants({ message: cut(text) }, form["set"]);
    store(said, found);
    return complete(said);
  }
  return undefined;
//{{else}}
  return e && complete(e);
//{{end}}
//{{else}}
  const raws = [...objects, parsed(text)];
  const e = raws.flatMap((raw) => layouts.map((layout) => ownObject(layout, raw, sure))).find(isObject);
  return e && complete(e);
//{{end}}
}

function withConstants(e: Fields, constants: Value): Fields {
  for (const [path, value] of Object.entries(fieldsOr(constants))) set(e, path, value);
  return e;
}
const isFailed = (status: number): boolean => status >= 400 && status <= 599;
const kindOfStatus = (status: number): Kind =>
  !isFailed(status) ? "unknown" : wireKinds[status] ?? (status < 500 ? "client_error" : "server_error");

//{{if has "contract.ranges"}}
function rangeOf(code: string): (typeof contract.ranges)[number] | undefined {
  const n = /^[+-]?\d+$/.test(code) ? Number(code) : NaN;
  return contract.ranges.find((r) => r.from <= n && n <= r.to);
}

//{{end}}
/** Completes a record in the contract's form with the meaning of its code. inner, kind: replace the code's. */
function complete(from: Fields, inner?: CodeEntry, kind?: Value, isItem = false): Fields {
  if (!isItem && from["contract"] === contract.name) return from;
  const { retryable, ...e }: Fields = from;
  const code = textOr(e["code"]);
  const said = closedSets["kind"]?.includes(textOr(e["kind"])) ? kindOf(e) : undefined;
  const status = statusOf(e);
//{{if has "code.open"}}
  const entry = inner ?? byCode.get(code) ?? (code ? open : undefined);
//{{else}}
  const entry = inner ?? byCode.get(code);
//{{end}}
//{{if has "contract.ranges"}}
  const range = rangeOf(code);
  e["kind"] = said ?? range?.kind ?? kindOfStatus(status);
  if (code && !entry && !range) e["upstream"] = { code, ...fieldsOr(e["upstream"]) }; // the other side's own word
//{{else}}
  e["kind"] = said ?? kindOfStatus(status);
  if (code && !entry) e["upstream"] = { code, ...fieldsOr(e["upstream"]) }; // the other side's own word
//{{end}}
  if (code) e["contract"] = contract.name;
  for (const one of [inner && byCode.get(code), entry]) if (one) apply(e, one);
  if (inner) e["code"] = code;
  e["kind"] = kind ?? e["kind"];
  const again = retryable && entry?.retryable === false ? false : retryable; // whatever the other side says
  for (const other of entry ? [said, isFailed(status) ? kindOfStatus(status) : undefined] : []) {
    if (!entry || other === undefined) continue; // of the kinds with this code, the other one tells more
    const one = sayRetryable({ ...e, kind: other, contract: "", code: "" }, again);
    if (choose(subjectOf(one))[0] !== entry) continue;
    if (again !== undefined && isRetryable(one, entry, entry.code) !== again) continue;
    e["kind"] = other;
    break;
  }
//{{if has "retryable.stated"}}
  if (again === true && entry?.retryable === "stated" && !e["effect"]) { // safe to repeat: it did nothing
    Object.assign(e, { effect: "none", effectBasis: "stated" });
  }
//{{end}}
//{{if has "path resource.type"}}
  const [type, id] = [get(e, "resource.type"), get(e, "resource.id")];
  if (!e["message"] && e["kind"] === "not_found" && isText(type) && id) {
    e["message"] = `There is no ${type} ${JSON.stringify(id)}.`; // what is not there is all that is told
  }
//{{end}}
//{{if has "path failed"}}
  for (const f of objectsAt(e, "failed")) f["error"] = complete(fieldsOr(f["error"]), undefined, undefined, true);
//{{end}}
  return isItem ? sayRetryable(e, again) : { origin: "server", ...sayRetryable(e, again) };
}

/** Adds the properties of an entry: its kind, its constants, and the parts of its message. */
function apply(e: Fields, entry: CodeEntry): void {
  e["kind"] = entry.kind;
//{{if has "code.open"}}
  if (entry.open) store(e, match(entry.code, textOr(e["code"])));
  else e["code"] = entry.code;
//{{else}}
  e["code"] = entry.code;
//{{end}}
  for (const [path, value] of Object.entries(entry.set ?? {})) set(e, path, value);
//{{if has "code.message"}}
  const said = textOr(e["message"]);
  const template = entry.message?.find((t) => match(t, said));
  if (template === undefined) return;
  store(e, match(template, said));
  if (!frames(template)) e["message"] = said;
//{{end}}
}

/** Stores the boolean on the wire as advice. A kind that names a way to retry overrides a mere false. */
const sayRetryable = (e: Fields, retryable: Value): Fields =>
  retryable === true ? { ...e, retry: "same_call" }
  : retryable === false && usualAdvice(e) === "same_call" ? { ...e, retry: "never" } : e;

/** Records as they were read: without the advice that an encoded record derives from its kind. */
const stated = new WeakMap<Failure, Fields>();
const statedBy = (failure: Failure): Fields => stated.get(failure) ?? fieldsOr(copyOf(failure));
function failureOf(e: Fields): Failure {
  const failure = encode(e) as unknown as Failure;
  stated.set(failure, e);
  return failure;
}

/** Prefixes that runtimes add to the text of a failure. */
const wrapper = /^(MCP error -?\d{1,9}: |Error (?:executing|calling) tool '?[^':\s]+'?: |\*\*Error:\*\* )/;
/** Returns a copy of an answer: a member that cannot be copied must not hide the others. */
const copyOfEach = (answer: unknown): Fields =>
  Object.fromEntries(Object.entries(isObject(answer) ? answer : {}).map(([name, value]) => [name, copyOf(value)]));

/** Reads a tool result, the member "result" of a JSON-RPC answer: undefined if it is not a failure. */
export function parseResult(result: unknown): Reading | undefined {
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
  if (sure || isMarked) return { failure: failureOf(readFailed(text, objects)) };
  const e = readForms(text, objects, false);
  return e && { failure: failureOf(record ?? e) };
}

/** Reads an answer that is certainly a failure. */
function readFailed(text: string, objects: readonly Value[]): Fields {
  let e = objects.map(readRecord).find(isObject) ?? readForms(text, objects, true);
  let rest = text;
  for (let wraps = 0; !e && wraps < 4 && wrapper.test(rest); wraps++) {
    rest = rest.replace(wrapper, "");
    e = readForms(rest, [parsed(rest)], true);
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
const cut = (text: string): string => (text.length > 8192 ? text.slice(0, 8192) + " …" : text);
const plainText = (v: Value): string => (isText(v) ? v : (JSON.stringify(v) ?? ""));

/** Reads the member "error" of a JSON-RPC answer. */
export const parseError = (error: unknown): { readonly failure: Failure } => ({ failure: failureOf(readError(error)) });

function readError(error: unknown): Fields {
  const raw = copyOfEach(error);
  const { data } = raw;
  const record = readRecord(data);
  if (record) return record;
  const code = plainText(raw["code"]);
  const given = plainText(raw["message"]);
  const prefix = `MCP error ${code}: `; // of the TypeScript SDK, when it throws
  const message = given.startsWith(prefix) ? given.slice(prefix.length) : given;
//{{if has "code.rpc"}}
  for (const entry of codes) {
    const form = entry.rpc?.data;
    const shape = own(form, "shape");
    const isOther = isObject(shape) && Object.keys(shape).every((name) => own(data, name) === undefined);
    if (String(entry.rpc?.code) !== code || isOther) continue;
    const e: Fields = {};
    const found = entry.rpc?.messages.map((template) => match(template, message)).find((one) => one);
    if (!found || (form !== undefined && !read(form, data, e, e))) continue;
    const inner = byCode.get(textOr(e["code"])); // the object inside says more than the JSON-RPC error
    e["code"] = entry.code;
    store(e, found);
    return complete(e, inner === entry ? undefined : inner);
  }
//{{end}}
//{{if has "contract.ranges"}}
  const isOwn = byCode.has(code) || rangeOf(code) !== undefined;
//{{else}}
  const isOwn = byCode.has(code);
//{{end}}
//{{if has "code.rpc"}}
  const objects = isOwn && !byCode.get(code)?.rpc ? [data, { ...raw, message }] : [data];
//{{else}}
  const objects = isOwn ? [data, { ...raw, message }] : [data];
//{{end}}
  const kind = (code.startsWith("-") && wireKinds[code]) || "unknown";
  const e: Fields = { kind, message: cut(message), upstream: code ? { code } : {}, origin: "server" };
  if (/^(protocol|input)$/.test(classOf(e))) e["effect"] = "none"; // the server has not carried it out
  return readForms(message, objects, true) ?? (data === undefined || data === null ? e : { ...e, details: { data } });
}

/** Reads a whole HTTP answer: undefined if its status is not a failure. headers are like those of fetch. */
export const parseHTTP = (status: number, headers: HeadersLike, body: string): { failure: Failure } | undefined =>
  status < 400 ? undefined : { failure: failureOf(readHTTP(status, headers, body)) };
export type HeadersLike = { get(name: string): string | null };
function readHTTP(status: number, headers: HeadersLike, body: string): Fields {
  const raw = parsed(body);
//{{if has "code.http"}}
  for (const entry of codes) {
    const http = entry.http;
    if (http?.status !== status || (http.body === undefined) !== (body === "")) continue;
    const e: Fields = {};
    if (http.body !== undefined && !read(http.body, raw, e, e)) continue;
    for (const [name, template] of Object.entries(http.headers ?? {})) {
      store(e, match(template, headers.get(name)?.trim() ?? ""));
    }
//{{if has "code.message"}}
    const fixed = entry.message?.map(literalOf) ?? [];
    if (fixed.length > 0 && !fixed.some((text) => text === undefined || text === textOr(e["message"]))) continue;
//{{end}}
    set(e, "quotas:objects", listOr(e["quotas"]).sort(binding));
    return complete({ ...e, code: entry.code, upstream: { ...fieldsOr(e["upstream"]), status } });
  }
//{{end}}
  const error = own(raw, "jsonrpc") === undefined ? undefined : own(raw, "error");
  const said = ["message", "detail", "error", "title"].map((name) => textOr(own(raw, name)));
  const plain: Fields = { kind: kindOfStatus(status), message: said.find((text) => text), origin: "server" };
  const e = isObject(error) ? readError(error) : plain;
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
