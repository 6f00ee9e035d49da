// ---- Reading.

/** What was read from an answer: a failure or a question. */
export type Reading =
  | { readonly failure: Failure; readonly question?: undefined }
  | { readonly question: Question; readonly failure?: undefined };

const closedSets: { readonly [path: string]: readonly string[] } = {
  kind: Object.keys(kinds),
  retry: ["same_call", "re_read", "after_fix", "after_auth", "never"],
  effect: ["none", "applied", "unknown"],
  origin: ["caller", "gateway", "server", "provider"],
};

/** How much of a list is read. */
const maxItems = 1000;
const layouts = [contract.layout, ...contract.returns.map((r) => r.layout)];
const subjectOf = (e: Fields): Subject => ({ e, get: (path) => get(e, path) });
const isConstant = (source: Source | undefined): source is { is: Json } => typeof source === "object" && "is" in source;
const isChoice = (source: Source): boolean => typeof source === "object" && "oneOf" in source;
const isCode = (source: Source | undefined): boolean => source === "code" || source === "code:number";

const ordered = (_: string, v: Value): Value => (isObject(v) ? sorted(v) : v);
const canonical = (v: Value): string | undefined => JSON.stringify(v, ordered);
const same = (a: Value, b: Value): boolean => canonical(a) === canonical(b);

/** Reads the record's own JSON form, as far as its words are known; undefined where it is none. */
function readRecord(raw: Value): Fields | undefined {
  if (!isObject(raw) || numberOr(raw["v"]) <= 0 || !textOr(raw["kind"])) return undefined;
  const e: Fields = {};
  for (const [name, value] of Object.entries(raw)) {
    if (value === null) continue;
    if (Object.hasOwn(like, name) && !isLike(like[name], value)) return undefined;
    const words = name !== "kind" && Object.hasOwn(closedSets, name) ? closedSets[name] : undefined;
    if (words && !words.includes(textOr(value))) continue;
    put(e, name, value);
  }
  for (const q of objectsAt(e, "quotas")) if (Number.isNaN(Date.parse(textOr(q["resetAt"])))) delete q["resetAt"];
  for (const item of objectsAt(e, "failed")) {
    item["error"] = readRecord({ v: 1, ...fieldsOr(item["error"]) }) ?? { kind: "unknown" };
  }
  return e;
}

/** Stores the texts that a template has captured. */
function store(e: Fields, found: readonly [path: string, text: string][] = []): void {
  for (const [path, text] of found) {
    const type = typeOf(path);
    const value = /^(given|)$/.test(type) ? text : type === "texts" ? text.split(", ") : parsed(text);
    set(e, path, value === undefined && type === "any" ? text : value);
  }
}

/** Says whether a value may have been written in a shape: its constants and a code stand there; or all its members. */
function fits(shape: Shape, raw: Value, whole = false): raw is Fields {
  const stands = (source: Source, value: Value): boolean => {
    if (isConstant(source)) return same(value, source.is as Value);
    if (!whole) return !isCode(source) || convert(source as string, value) !== undefined;
    if (value === undefined || value === null) return false;
    if (isText(source)) return typeOf(source) !== "" || isText(value);
    return "each" in source ? Array.isArray(value) : !("shape" in source) || isObject(value);
  };
  if (!isObject(raw) || (!whole && !Object.values(shape).some(isCode))) return false;
  return Object.entries(shape).every(([name, source]) => name === "..." || stands(source, own(raw, name)));
}

/** Stores in base, a part of e, what a source has written. Says whether it can have written this. */
function read(source: Source, raw: Value, e: Fields, base: Fields): boolean {
  if (isText(source)) set(base, source, raw);
  else if ("is" in source) return same(raw, source.is as Value);
  else if ("shape" in source) return readShape(source.shape, raw, e, base);
  else if ("own" in source) return layouts.some((layout) => readOwn(layout, raw, e));
  else if ("oneOf" in source) readChoice(source.oneOf, raw, e, base);
  else if ("text" in source) {
    const found = isText(raw) ? match(source.text, raw) : undefined;
    store(base, found);
    return found !== undefined;
  } else if ("list" in source) {
    return Array.isArray(raw) && source.list.every((one, i) => raw[i] === undefined || read(one, raw[i], e, base));
  } else {
    const items = listOr(own(base, source.each));
    put(base, source.each, items);
    for (const [i, item] of listOr(raw).slice(0, maxItems).entries()) {
      const into = fieldsOr(items[i]);
      items[i] = into;
      readShape(source.item, item, e, into);
    }
  }
  return true;
}

function readShape(shape: Shape, raw: Value, e: Fields, base: Fields): boolean {
  if (!isObject(raw)) return false;
  const rest = shape["..."];
  const keep = (at: Source | undefined, name: string, value: Value): void => {
    if (isText(at)) put(memberOf(base, at), name, value);
  };
  let fit = true;
  // Which of several sources has written a member, the others tell: they are read first.
  const sources = Object.entries(shape).sort(([, a], [, b]) => Number(isChoice(a)) - Number(isChoice(b)));
  for (const [name, source] of sources) {
    const value = own(raw, name);
    if (name === "...") continue;
    if (value === undefined || value === null) fit &&= !isConstant(source);
    else if (!read(source, value, e, base)) {
      fit = false;
      if (typeof source === "object" && "shape" in source) keep(source.shape["..."], name, value); // of another type
    }
  }
  for (const [name, value] of Object.entries(raw)) if (!Object.hasOwn(shape, name)) keep(rest, name, value);
  return fit;
}

/** Returns the object at a member of base, which is made where it is missing. */
function memberOf(base: Fields, name: string): Fields {
  const there = own(base, name);
  const member = isObject(there) ? there : {};
  put(base, name, member);
  return member;
}

/**
 * Stores a value that one of several sources may have written: a word of a closed set where it belongs, another in the
 * first path that can hold it; and what the conditions of a constant say.
 */
function readChoice(choices: readonly Choice[], raw: Value, e: Fields, base: Fields): void {
  const takes = ({ path, for: selector }: Choice): boolean => {
    const words = path === undefined ? undefined : closedSets[path];
    if (path === undefined || (words && !words.includes(textOr(raw)))) return false;
    return convert(path, raw) !== undefined && selects(selector, subjectOf(e));
  };
  const at = choices.findIndex((choice) => choice.path === undefined && same(raw, choice.is as Value));
  const word = choices.find((choice) => closedSets[choice.path ?? ""] && takes(choice));
  const taker = word ?? choices.slice(0, at < 0 ? undefined : at).find(takes);
  if (taker?.path !== undefined) set(base, taker.path, raw);
  for (const [condition, values] of Object.entries((!word && choices[at]?.for) || {})) {
    if (!/^(kind|resource|upstream_code|effect|retry)$/.test(condition) || values.length > 1) continue;
    set(e, places[condition] ?? condition, values[0]);
  }
}

/** Reads an object of the contract. */
function readOwn(layout: Layout, raw: Value, e: Fields): boolean {
  if (!layout.shape) {
    const record = readRecord(raw);
    Object.assign(e, record);
    return record?.["contract"] === contract.name;
  }
  if (!fits(layout.shape, raw)) return false;
  readShape(layout.shape, raw, e, e);
  e["retryable"] ??= contract.silence;
  return true;
}

/** Returns the record of an object of the contract. */
function ownObject(layout: Layout, raw: Value, sure: boolean): Fields | undefined {
  const e: Fields = {};
  if (!readOwn(layout, raw, e)) return undefined;
  const marked = Object.values(layout.shape ?? {}).some(isConstant);
  return sure || marked || byCode.has(textOr(e["code"])) ? e : undefined;
}

/** Returns the record of a text of the contract, of either block. */
function ownText(layout: Layout, text: string, sure: boolean): Fields | undefined {
  const { line } = layout;
  const e = line === undefined ? ownObject(layout, parsed(text), sure) : ownLine(layout, line, text, sure);
  const found = e || layout.human === undefined ? undefined : match(layout.human, text);
  if (!found) return e;
  const said: Fields = {};
  store(said, found);
  return identify(said, textOr(said["message"]), sure);
}

/** Reads a line, the hints behind it, and an envelope. */
function ownLine({ envelope, hints }: Layout, line: string, text: string, sure: boolean): Fields | undefined {
  const e: Fields = {};
  let enveloped: Value;
  const at = envelope ? text.lastIndexOf(envelope.mark) : -1;
  if (envelope && at >= 0 && readShape(envelope.shape, parsed(text.slice(at + envelope.mark.length)), e, e)) {
    text = text.slice(0, at);
    enveloped = e["code"];
  }
  if (hints) { // on lines of their own they are told from the sentence, which goes on with two spaces
    const lines = hints.before === "\n";
    const cut = lines ? text.search(/\n(?! {2})/) : text.indexOf(hints.before);
    const given = cut < 0 ? [] : text.slice(cut + hints.before.length).split(hints.between, maxItems);
    set(e, "hints:texts", e["hints"] ?? given.filter((hint) => hint.trim()));
    text = cut < 0 ? text : text.slice(0, cut);
    text = lines ? text.replaceAll("\n  ", "\n") : text;
  }
  const found = match(line, text);
  store(e, found);
  if (!found?.some(([path]) => isCode(path))) return found && identify(e, text, sure);
  const word = textOr(e["code"]);
  return byCode.has(word) || (open && isCodeWord(word) && (sure || enveloped === word)) ? e : undefined;
}

/** Finds the code whose own sentence stands in a text, the longest first. */
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

const cut = (text: string): string => (text.length > 8192 ? text.slice(0, 8192) + " …" : text);

/** Reads an answer in the contract's own forms, and in others that it knows. */
function readForms(text: string, objects: readonly Value[], sure: boolean): Fields | undefined {
  const hasObject = contract.layout.shape !== undefined || contract.returns.length > 0;
  for (const raw of objects) {
    for (const { shape, set: constants } of contract.reads) {
      if (!shape || !fits(shape, raw, true)) continue;
      const e = withConstants({}, constants);
      readShape(shape, raw, e, e);
      return complete(e, undefined, e["kind"]); // it says one because its code leaves it open
    }
    const e = hasObject ? firstOf(layouts, (layout) => ownObject(layout, raw, sure)) : undefined;
    if (e) return complete(e);
  }
  const e = text ? firstOf(layouts, (layout) => ownText(layout, text, sure)) : undefined;
  if (e || !text || !sure) return e && complete(e);
  for (const form of contract.reads) {
    const found = form.text === undefined ? undefined : match(form.text, text);
    if (!found) continue;
    const said = withConstants({ message: cut(text) }, form.set);
    store(said, found);
    return complete(said);
  }
  return undefined;
}

function firstOf<T, R>(items: readonly T[], find: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

function withConstants(e: Fields, constants: Constants = {}): Fields {
  for (const [path, value] of Object.entries(constants)) set(e, path, value as Value);
  return e;
}

function kindOfStatus(status: number): Kind {
  if (status < 400 || status > 599) return "unknown";
  return statusKinds[status] ?? (status < 500 ? "client_error" : "server_error");
}

function rangeOf(code: string): Contract["ranges"][number] | undefined {
  const n = /^[+-]?\d+$/.test(code) ? Number(code) : NaN;
  return contract.ranges.find((r) => r.from <= n && n <= r.to);
}

/** Gives a record that was read in the contract's form what its code stands for. inner, kind: instead of its code's. */
function complete(e: Fields, inner?: CodeEntry, kind?: Value, item = false): Fields {
  if (!item && e["contract"] === contract.name) return e;
  const code = textOr(e["code"]);
  const entry = inner ?? byCode.get(code) ?? (code ? open : undefined);
  const said = textOr(e["kind"]) in kinds ? kindOf(e) : undefined;
  const status = statusOf(e);
  let retryable = e["retryable"];
  delete e["retryable"];
  e["kind"] = said ?? rangeOf(code)?.kind ?? kindOfStatus(status);
  if (code) {
    e["contract"] = contract.name;
    if (!entry && !rangeOf(code)) memberOf(e, "upstream")["code"] ??= code; // the other side's own word
  }
  const named = byCode.get(code);
  if (inner && named) apply(e, named);
  if (entry) apply(e, entry);
  if (inner) e["code"] = code;
  e["kind"] = kind ?? e["kind"];
  if (retryable && entry?.retryable === false) retryable = false; // whatever the other side says
  for (const other of [said, status >= 400 && status <= 599 ? kindOfStatus(status) : undefined]) {
    if (!entry || other === undefined) continue; // of the kinds with this code, the other one tells more
    const one = sayRetryable({ ...e, kind: other, contract: "", code: "" }, retryable);
    if (choose(subjectOf(one)).entry !== entry) continue;
    if (retryable !== undefined && isRetryable(one, entry, entry.code) !== retryable) continue;
    e["kind"] = other;
    break;
  }
  sayRetryable(e, retryable);
  const [type, id] = [get(e, "resource.type"), get(e, "resource.id")];
  if (!e["message"] && e["kind"] === "not_found" && isText(type) && id) {
    e["message"] = `There is no ${type} ${JSON.stringify(id)}.`; // what is not there is all that is told
  }
  for (const f of objectsAt(e, "failed")) f["error"] = complete(fieldsOr(f["error"]), undefined, undefined, true);
  return item ? e : { ...e, origin: e["origin"] ?? "server" };
}

/** Adds what an entry says: its kind, its constants, and what its message holds. */
function apply(e: Fields, entry: CodeEntry): void {
  e["kind"] = entry.kind;
  if (entry === open) store(e, match(entry.code, textOr(e["code"])));
  else e["code"] = entry.code;
  const said = textOr(withConstants(e, entry.set)["message"]);
  const template = entry.message?.find((t) => match(t, said));
  if (template === undefined) return;
  store(e, match(template, said));
  if (!frames(template)) e["message"] = said;
}

/** States what the wire's boolean says. That there is no way says less than a kind that names one. */
function sayRetryable(e: Fields, retryable: Value): Fields {
  if (retryable === true) e["retry"] = "same_call";
  else if (retryable === false && kinds[kindOf(e)].retry === "same_call") e["retry"] = "never";
  return e;
}

/** Records as they were read: without the advice that an encoded one derives from its kind. */
const stated = new WeakMap<Failure, Fields>();
const statedBy = (failure: Failure): Fields => stated.get(failure) ?? fieldsOr(copyOf(failure));

function failureOf(e: Fields): Failure {
  const failure = encode(e) as unknown as Failure;
  stated.set(failure, e);
  return failure;
}

/** What runtimes put before the text of a failure. */
const wrapper = /^(MCP error -?\d{1,9}: |Error (?:executing|calling) tool '?[^':\s]+'?: |\*\*Error:\*\* )/;

/** Returns a copy of what an answer holds: a member that cannot be copied must not hide the others. */
function copyOfEach(answer: unknown): Fields {
  const copy: Fields = {};
  for (const [name, value] of Object.entries(isObject(answer) ? answer : {})) put(copy, name, copyOf(value));
  return copy;
}

/** Reads a tool result, the member "result" of a JSON-RPC answer: undefined where it is no failure. */
export function parseResult(result: unknown): Reading | undefined {
  const r = copyOfEach(result);
  const error = r["error"];
  const record = readRecord(own(r["_meta"], metaKey));
  const blocks = listOr(r["content"]).filter((b) => own(b, "type") === "text").slice(0, 8);
  const texts = blocks.map((b) => textOr(own(b, "text")));
  const inTexts = texts.map((text) => (text.trim().startsWith("{") ? parsed(text) : undefined));
  const objects = [...inTexts, r["structuredContent"], error].filter(isObject);
  const sure = r["isError"] === true || (own(error, "code") !== undefined && own(error, "message") !== undefined);
  if (record && sure) return { failure: failureOf(record) };
  const question = objects.find((o) => o["kind"] === "needsInput:v1");
  if (question) return { question: readQuestion(question) };
  const text = texts[0] ?? "";
  const marked = objects.some((o) => o["kind"] === "toolError:v1");
  if (sure || marked) return { failure: failureOf(readFailed(text, objects)) };
  const e = readForms(text, objects, false);
  return e && { failure: failureOf(record ?? e) };
}

/** Reads an answer that is a failure by a sure sign. */
function readFailed(text: string, objects: readonly Value[]): Fields {
  const record = firstOf(objects, readRecord);
  if (record) return record;
  let rest = text;
  for (let wraps = 0; wraps <= 4; wraps++) {
    const e = readForms(rest, objects, true);
    if (e) return e;
    const [wrapped] = wrapper.exec(rest) ?? [];
    if (wrapped === undefined) break;
    rest = rest.slice(wrapped.length);
    objects = [parsed(rest)];
  }
  return { kind: "unknown", message: cut(text), retry: "re_read", origin: "server" };
}

function readQuestion(o: Fields): Question {
  const q: Fields = { message: o["message"] === undefined ? "" : cut(plainText(o["message"])) };
  const given = { ...fieldsOr(o["needsInput"]), options: o["options"] };
  const option = { label: "", value: "", description: "", field: "" };
  for (const [name, example] of Object.entries({ reason: "", fields: [""], suggestions: {}, options: [option] })) {
    const value = own(given, name);
    if (!isEmpty(value) && isLike(example, value)) q[name] = value;
  }
  for (const one of objectsAt(q, "options")) for (const name of ["label", "value"]) one[name] ??= "";
  return q as unknown as Question;
}

/** Returns a string, and anything else as it is spelled. */
const plainText = (v: Value): string => (isText(v) ? v : (JSON.stringify(v) ?? ""));

/** Reads the member "error" of a JSON-RPC answer. */
export function parseError(error: unknown): { readonly failure: Failure } {
  const raw = copyOfEach(error);
  return { failure: failureOf(readRecord(raw["data"]) ?? readError(raw, raw["data"])) };
}

function readError(raw: Fields, data: Value): Fields {
  const code = plainText(raw["code"]);
  const prefix = `MCP error ${code}: `; // of the TypeScript SDK, when it throws
  const message = plainText(raw["message"]).replace(prefix, (found, at: number) => (at === 0 ? "" : found));
  for (const entry of codes) {
    const form = entry.rpc?.data;
    const members = typeof form === "object" && "shape" in form ? Object.keys(form.shape) : undefined;
    if (String(entry.rpc?.code) !== code || members?.every((name) => own(data, name) === undefined)) continue;
    const e: Fields = {};
    const found = firstOf(entry.rpc?.messages ?? [], (template) => match(template, message));
    if (!found || (form !== undefined && !read(form, data, e, e))) continue;
    const inner = byCode.get(textOr(e["code"])); // the object inside says more than the JSON-RPC error
    e["code"] = entry.code;
    store(e, found);
    return complete(e, inner === entry ? undefined : inner);
  }
  const named = byCode.get(code);
  const ownNumber = named ? !named.rpc : rangeOf(code) !== undefined;
  const e = readForms(message, ownNumber ? [data, { ...raw, message }] : [data], true);
  if (e) return e;
  const kind = own(rpcKinds as Fields, code) as Kind | undefined ?? "unknown";
  const plain: Fields = { kind, message: cut(message), upstream: code ? { code } : {}, origin: "server" };
  if (/^(protocol|input)$/.test(kinds[kind].class)) plain["effect"] = "none"; // the server has not carried it out
  return data === undefined || data === null ? plain : { ...plain, details: { data } };
}

/** Reads a whole HTTP answer: undefined where its status is none of a failure. headers are like those of fetch. */
export function parseHTTP(
  status: number, headers: { get(name: string): string | null }, body: string,
): { readonly failure: Failure } | undefined {
  const header = (name: string): string => headers.get(name)?.trim() ?? "";
  return status < 400 ? undefined : { failure: failureOf(readHTTP(status, header, body)) };
}

function readHTTP(status: number, header: (name: string) => string, body: string): Fields {
  const raw = parsed(body);
  for (const entry of codes) {
    const http = entry.http;
    if (http?.status !== status || (http.body === undefined) !== (body === "")) continue;
    const e: Fields = {};
    if (http.body !== undefined && !read(http.body, raw, e, e)) continue;
    for (const [name, template] of Object.entries(http.headers ?? {})) store(e, match(template, header(name)));
    const fixed = entry.message?.map(literalOf) ?? [];
    if (fixed.length > 0 && !fixed.some((text) => text === undefined || text === textOr(e["message"]))) continue;
    set(e, "quotas:objects", listOr(e["quotas"]).sort(binding));
    memberOf(e, "upstream")["status"] = status;
    return complete({ ...e, code: entry.code });
  }
  const error = own(raw, "jsonrpc") === undefined ? undefined : own(raw, "error");
  const said = ["message", "detail", "error", "title"].map((name) => textOr(own(raw, name)));
  const plain: Fields = { kind: kindOfStatus(status), message: said.find((text) => text), origin: "server" };
  const e = isObject(error) ? statedBy(parseError(error).failure) : plain;
  const wait = convert("afterMs:seconds", Number(header("Retry-After")));
  const upstream = { ...fieldsOr(e["upstream"]), status };
  return { ...e, upstream, afterMs: Math.max(numberOr(e["afterMs"]), numberOr(wait)) };
}

/** Orders quotas: those that are used up first, and of these the one that is reset last. */
function binding(a: Value, b: Value): number {
  const [left, right] = [a, b].map((q) => numberOr(own(q, "remaining")) > 0);
  const [p, q] = [a, b].map((quota) => Date.parse(textOr(own(quota, "resetAt"))) || 0);
  return left !== right ? (left ? 1 : -1) : left ? 0 : (q ?? 0) - (p ?? 0);
}
