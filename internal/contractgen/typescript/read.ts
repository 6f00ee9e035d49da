// ---- Reading.

/** How much of a list is read. */
const maxItems = 1000;

/** Stores a value where a path leads to from base; record says that base is one. What is empty, or of another type, is not stored. */
function setPath(base: Fields, record: boolean, path: string, raw: Value): void {
  const steps = path.split(".");
  const [name = "", parent = ""] = [...steps].reverse();
  const inner = record ? 0 : steps.lastIndexOf("error") + 1; // where a record begins
  const computed = record || inner > 0 ? steps.slice(inner).join(".") : "";
  const value = isComputed(computed) ? raw : convert(name, parent, raw);
  if (value === undefined || (!isComputed(computed) && name !== "remaining" && !isRaw(name, parent) && isEmpty(value))) return;
  let at: Fields | Value[] = base;
  for (const [i, step] of steps.entries()) {
    if (i === inner && isComputed(computed)) return setComputed(fieldsOr(at), computed, raw);
    if (i + 1 === steps.length) return place(at, step, value);
    const there: Value = Array.isArray(at) ? at[Number(step)] : own(at, step);
    const next: Fields | Value[] = isObject(there) || Array.isArray(there) ? there : /^\d+$/.test(steps[i + 1] ?? "") ? [] : {};
    if (next !== there) place(at, step, next);
    at = next;
  }
}

const computedPath = /^(message(\.given)?|code\.(name|group|number)|retryable|after(\.seconds)?|verify\.call|call\..+|text\..+|http\.title|quota\.[^.]+\.\w+)$/;
const isComputed = (path: string): boolean => computedPath.test(path);

function place(at: Fields | Value[], name: string, value: Value): void {
  if (!Array.isArray(at)) {
    put(at, name, value);
    return;
  }
  while (at.length < Number(name)) at.push(isObject(value) ? {} : "");
  at[Number(name)] = value;
}

/** Stores what a computed member says. */
function setComputed(e: Fields, path: string, raw: Value): void {
  if (isSentence(path)) {
    if (typeof raw === "string") e.message = raw;
  } else if (path === "code.number") {
    if (isWhole(raw)) e.code = String(raw);
  } else if (path === "after.seconds") {
    if (typeof raw === "number") e.afterMs = boundedMs(raw * 1000);
  } else if (path.startsWith("text.")) {
    if (typeof raw === "string" && raw !== "") put(mapAt(e, "details"), path.slice("text.".length), raw);
  } else if (path.startsWith("quota.") && isWhole(raw)) {
    const [, policy, member = ""] = path.split(".");
    if (member === "resetAtMs" && (raw < 0 || raw > lastInstant)) return;
    const quotas = listOr(e.quotas);
    e.quotas = quotas;
    let q = quotas.find((one) => fieldsOr(one).policy === policy);
    if (!isObject(q)) quotas.push((q = { policy }));
    if (member !== "resetAtMs") q[member] = raw;
    else q.resetAt = new Date(raw).toISOString().replace(/\.?0*Z$/, "Z");
  }
}

/** The end of the year 9999, the last that RFC 3339 can write. */
const lastInstant = 253_402_300_799_999;

const boundedMs = (ms: number): number => Math.round(Math.min(Math.max(ms, 0), maxWaitMs));

type Leaf = "raw" | "number" | "texts" | "list" | "object" | "text";

function leafOf(name: string, parent: string): Leaf {
  if (isRaw(name, parent)) return "raw";
  if (["afterMs", "windowMs", "limit", "remaining", "status"].includes(name)) return "number";
  if (["hints", "missingScopes", "fields"].includes(name)) return "texts";
  if (["violations", "quotas", "succeeded", "failed", "missing"].includes(name)) return "list";
  return ["verify", "resource", "upstream", "details", "args"].includes(name) ? "object" : "text";
}

/** Returns a value in the type of a member; undefined where it has another one. */
function convert(name: string, parent: string, raw: Value): Value {
  switch (leafOf(name, parent)) {
    case "raw":
      return raw;
    case "number":
      if (name.endsWith("Ms")) return typeof raw === "number" ? boundedMs(raw) : undefined;
      return isWhole(raw) ? raw : undefined;
    case "texts":
      return Array.isArray(raw) && raw.every((item) => typeof item === "string") ? raw : undefined;
    case "list":
      return Array.isArray(raw) && raw.every(isObject) ? raw : undefined;
    case "object":
      return isObject(raw) ? raw : undefined;
    default:
      if (typeof raw === "number") return String(raw); // an identifier that is written as a number
      return typeof raw === "string" ? raw : undefined;
  }
}

/** Stores a text that a template captured. */
function setText(e: Fields, path: string, text: string): void {
  const [name = "", parent = ""] = path.split(".").reverse();
  const leaf = isSentence(path) ? "text" : path === "code.number" || path === "after.seconds" || path.startsWith("quota.") ? "number" : leafOf(name, parent);
  if (leaf === "text") return setPath(e, true, path, text);
  if (leaf === "texts") return setPath(e, true, path, text.split(", "));
  const value = parsed(text);
  if (value !== undefined) setPath(e, true, path, value);
  else if (leaf === "raw") setPath(e, true, path, text);
}

const store = (e: Fields, found: readonly [string, string][]): void => {
  for (const [path, text] of found) setText(e, path, text);
};

/** Returns the JSON value of a text; undefined where it is none. */
function parsed(text: string): Value {
  try {
    return JSON.parse(text) as Value;
  } catch {
    return undefined;
  }
}

/** A record while it is read. */
interface Draft {
  e: Fields;
  /** The booleans that stood on the wire, by the record that they belong to. */
  said: Map<Fields, boolean>;
  /** Words count as codes that the contract does not list. */
  open: boolean;
  /** Gives the kind in place of the code's own entry. */
  as?: CodeEntry;
  /** It is the contract's own object that was read. */
  object?: boolean;
  /** It was in a form that the contract does not write. */
  foreign?: boolean;
}

/** Reads, and forgets what was read where that comes to nothing. */
function attempt(d: Draft, read: () => boolean): boolean {
  const { e, said } = d;
  d.e = fieldsOr(copyOf(e));
  d.said = new Map([...said].map(([record, value]) => [record === e ? d.e : record, value]));
  if (read()) return true;
  d.e = e;
  d.said = said;
  return false;
}

/** Says whether a value is a constant. */
const isConstant = (raw: Value, constant: Json | undefined): boolean =>
  raw === constant || (typeof constant === "object" && constant !== null && JSON.stringify(copyOf(raw)) === JSON.stringify(constant));

/** Says whether an object may have been written in a shape: its constants stand there, and so does a code. */
function fits(shape: Shape, object: Fields): boolean {
  let code = false;
  for (const [name, source] of Object.entries(shape)) {
    if (typeof source === "object" && "is" in source && !isConstant(own(object, name), source.is)) return false;
    if (source !== "code" && source !== "code.number") continue;
    const e: Fields = {};
    setPath(e, true, source, own(object, name));
    code = textOr(e.code) !== "";
  }
  return code;
}

const isMarked = (shape: Shape): boolean => Object.values(shape).some((source) => typeof source === "object" && "is" in source);

/** Stores in base what an object says; record says that base is one. */
function readShape(shape: Shape, object: Fields, base: Fields, record: boolean, d: Draft): void {
  for (const alternatives of [false, true]) { // which of them it was, the others tell
    for (const [name, source] of Object.entries(shape)) {
      const raw = own(object, name);
      if (name === "..." || raw === undefined || raw === null) continue;
      if ((typeof source !== "string" && "oneOf" in source) === alternatives) readSource(name, source, raw, base, record, d);
    }
  }
  const rest = shape["..."];
  if (typeof rest !== "string") return;
  for (const [name, raw] of Object.entries(object)) {
    if (!Object.hasOwn(shape, name)) put(mapAt(base, rest), name, raw);
  }
}

/** Returns the object at a member of base, which is made where it is missing. */
function mapAt(base: Fields, name: string): Fields {
  const there = own(base, name);
  if (isObject(there)) return there;
  const made: Fields = {};
  put(base, name, made);
  return made;
}

function readSource(name: string, source: Source, raw: Value, base: Fields, record: boolean, d: Draft): void {
  if (typeof source === "string") {
    if (source !== "retryable" && source !== "error.retryable") return setPath(base, record, source, raw);
    if (typeof raw === "boolean") d.said.set(source === "retryable" ? base : mapAt(base, "error"), raw);
    return;
  }
  if ("is" in source) return;
  if ("shape" in source) {
    const rest = source.shape["..."];
    if (isObject(raw)) readShape(source.shape, raw, base, record, d);
    else if (typeof rest === "string") put(mapAt(base, rest), name, raw); // of another type than is written
    return;
  }
  if ("oneOf" in source) return readChoice(source.oneOf, raw, base, record, d);
  if (!Array.isArray(raw)) return;
  const items = listOr(own(base, source.each));
  put(base, source.each, items);
  for (const [i, item] of raw.slice(0, maxItems).entries()) {
    const into = fieldsOr(items[i]);
    items[i] = into;
    if (isObject(item)) readShape(source.item, item, into, false, d);
  }
}

const closedSets: { readonly [path: string]: readonly string[] } = {
  kind: Object.keys(kinds),
  retry: ["same_call", "re_read", "after_fix", "after_auth", "never"],
  effect: ["none", "applied", "unknown"],
  origin: ["caller", "gateway", "server", "provider"],
};

/** Stores a value that one of several sources may have written: a word of a closed set where it belongs, another value in the first path that can hold it. */
function readChoice(choices: readonly Choice[], raw: Value, base: Fields, record: boolean, d: Draft): void {
  const takes = (choice: Choice): choice is Choice & { readonly path: string } => {
    if (choice.path === undefined) return false;
    const [name = "", parent = ""] = choice.path.split(".").reverse();
    const words = closedSets[choice.path];
    if (convert(name, parent, raw) === undefined || (words && !words.includes(textOr(raw)))) return false;
    return selects(choice.for, { e: d.e, entry: undefined, call: {} });
  };
  const word = choices.find((choice) => choice.path !== undefined && closedSets[choice.path] !== undefined && takes(choice));
  if (word?.path !== undefined) return setPath(base, record, word.path, raw);
  let stored = false;
  for (const choice of choices) {
    if (choice.path === undefined) {
      if (isConstant(raw, choice.is)) return storeSelector(choice.for ?? {}, d.e);
    } else if (!stored && takes(choice)) {
      setPath(base, record, choice.path, raw);
      stored = true;
    }
  }
}

/** Stores what the conditions of a selector say, where they say one thing. */
function storeSelector(selector: Selector, e: Fields): void {
  const paths: { readonly [condition: string]: string } = {
    kind: "kind", resource: "resource.type", upstream_code: "upstream.code", effect: "effect", retry: "retry",
  };
  for (const [condition, values] of Object.entries(selector)) {
    const path = paths[condition];
    if (path !== undefined && values.length === 1) setPath(e, true, path, values[0]);
  }
}

/** Reads an object of the contract; false where it is none. */
function readObject(raw: Value, d: Draft): boolean {
  return [contract.layout, ...contract.returns.map((r) => r.layout)].some((layout) => attempt(d, () => readObjectOf(layout, raw, d)));
}

function readObjectOf(layout: Layout, raw: Value, d: Draft): boolean {
  if (!isObject(raw)) return false;
  if (!layout.shape) {
    const record = readRecord(raw);
    if (record?.contract !== contract.name) return false;
    d.e = record;
    return true;
  }
  if (!fits(layout.shape, raw)) return false;
  readShape(layout.shape, raw, d.e, true, d);
  d.object = true;
  return byCode.has(textOr(d.e.code)) || d.open || isMarked(layout.shape);
}

/** Reads the record's own JSON form. */
function readRecord(raw: Value): Fields | undefined {
  if (!isObject(raw) || numberOr(raw.v) <= 0 || textOr(raw.kind) === "") return undefined;
  const e: Fields = {};
  for (const [name, value] of Object.entries(raw)) {
    if (!order.includes(name)) {
      put(e, name, value);
      continue;
    }
    if (name === "v" || value === null) continue;
    if (!isTyped(name, "", value)) return undefined;
    e[name] = leafOf(name, "") === "texts" ? listOr(value).map(textOr) : value;
  }
  for (const item of listOr(e.failed).map(fieldsOr)) item.error = isObject(item.error) ? item.error : { kind: "unknown" };
  for (const q of listOr(e.quotas).map(fieldsOr)) if (Number.isNaN(Date.parse(textOr(q.resetAt)))) delete q.resetAt;
  return e;
}

/** Says whether a value is of the type that the record has at a member. */
function isTyped(name: string, parent: string, value: Value): boolean {
  if (value === null) return true; // says nothing
  if (name === "truncated") return typeof value === "boolean";
  if (name === "error") return isObject(value);
  const all = (o: Fields): boolean => name === "details" || name === "args" || Object.entries(o).every(([inner, v]) => isTyped(inner, name, v));
  switch (leafOf(name, parent)) {
    case "text":
      return typeof value === "string";
    case "object":
      return isObject(value) && all(value);
    case "list":
      return Array.isArray(value) && value.every((item) => item === null || (isObject(item) && all(item)));
    case "texts":
      return Array.isArray(value) && value.every((item) => item === null || typeof item === "string");
    default:
      return convert(name, parent, value) !== undefined;
  }
}

/** Takes words from a record that are not known. */
function believed(e: Fields): Fields {
  for (const name of ["retry", "effect", "origin"]) {
    if (!closedSets[name]?.includes(textOr(e[name]))) delete e[name];
  }
  for (const item of listOr(e.failed)) believed(fieldsOr(fieldsOr(item).error));
  return e;
}

/** Reads the text of a failure, whichever of the blocks it is. */
function readText(text: string, d: Draft): boolean {
  return [contract.layout, ...contract.returns.map((r) => r.layout)].some((layout) => {
    if (attempt(d, () => (layout.line === undefined ? readObjectOf(layout, parsed(text), d) : readLine(layout, layout.line, text, d)))) return true;
    const human = layout.human;
    return human !== undefined && attempt(d, () => {
      const found = match(human, text);
      store(d.e, found ?? []);
      return found !== undefined && identify(textOr(d.e.message), d);
    });
  });
}

function readLine(layout: Layout, line: Template, text: string, d: Draft): boolean {
  let enveloped = false;
  const at = layout.envelope ? text.lastIndexOf(layout.envelope.mark) : -1;
  if (layout.envelope && at >= 0) {
    const object = parsed(text.slice(at + layout.envelope.mark.length));
    if (isObject(object)) {
      readShape(layout.envelope.shape, object, d.e, true, d);
      text = text.slice(0, at);
      enveloped = true;
    }
  }
  const cut = hintsAt(layout, text);
  const whole = cut < 0 ? text : text.slice(0, cut);
  const sentence = layout.hints?.before === "\n" ? whole.replaceAll(continued, "\n") : whole;
  const code = d.e.code;
  const found = match(line, sentence);
  if (!found) return false;
  store(d.e, found);
  if (layout.hints && cut >= 0 && isEmpty(d.e.hints)) {
    d.e.hints = text.slice(cut + layout.hints.before.length).split(layout.hints.between, maxItems).filter((hint) => hint.trim());
  }
  if (!names(line, "code") && !names(line, "code.number")) return identify(sentence, d);
  const word = textOr(d.e.code);
  return byCode.has(word) || (open !== undefined && isCodeWord(word) && (d.open || (enveloped && code === word)));
}

/** Begins every line of a sentence but the first where hints stand on lines of their own. */
const continued = "\n  ";

/** Returns where the hints begin in a text; -1 where there are none. */
function hintsAt(layout: Layout, text: string): number {
  if (!layout.hints) return -1;
  let at = text.indexOf(layout.hints.before);
  while (layout.hints.before === "\n" && at >= 0 && text.startsWith(continued, at)) {
    at = text.indexOf(layout.hints.before, at + continued.length);
  }
  return at;
}

/** Finds the code whose own sentence stands in a text, the longest first. */
function identify(text: string, d: Draft): boolean {
  let best: { code: string; sentence: string } | undefined;
  let longest = 0;
  for (const entry of codes) {
    for (const template of entry.message ?? []) {
      const fixed = partsOf(template).reduce((n, p) => n + (p.path === undefined ? p.text.length : 0), 0);
      if (fixed <= longest) continue;
      if (frames(template)) {
        if (d.open && match(template, text)) [best, longest] = [{ code: entry.code, sentence: text }, fixed];
        continue;
      }
      const sentence = findSentence(template, text);
      if (sentence !== undefined && (!entry.http || (sentence === text && sentence.includes(" ")))) {
        [best, longest] = [{ code: entry.code, sentence }, fixed];
      }
    }
  }
  if (!best) return false;
  d.e.code = best.code;
  d.e.message = best.sentence;
  return true;
}

/** Returns the sentence of a template where it stands in a text. */
function findSentence(template: Template, text: string): string | undefined {
  const parts = partsOf(template);
  const first = parts[0];
  const last = parts[parts.length - 1];
  if (!first || !last || first.path !== undefined || last.path !== undefined) return undefined;
  const from = text.indexOf(first.text);
  if (from < 0) return undefined;
  if (parts.length === 1) return first.text;
  const to = text.lastIndexOf(last.text);
  const sentence = text.slice(from, to + last.text.length);
  return to > from && match(template, sentence) ? sentence : undefined;
}

/** Reads a form that the contract does not write itself. */
function readOther(raw: Value, text: string | undefined, d: Draft): boolean {
  for (const form of contract.reads) {
    const apply = (): void => {
      for (const [path, value] of Object.entries(form.set ?? {})) setPath(d.e, true, path, value as Value);
    };
    if (form.shape && isObject(raw) && Object.entries(form.shape).every(([name, source]) => name === "..." || stands(source, own(raw, name)))) {
      apply();
      readShape(form.shape, raw, d.e, true, d);
      d.foreign = true;
      return true;
    }
    const found = form.text === undefined || text === undefined ? undefined : match(form.text, text);
    if (found && text !== undefined) {
      d.e.message = cut(text);
      apply();
      store(d.e, found);
      return true;
    }
  }
  return false;
}

/** Says whether a value is there, of the type that a source has. */
function stands(source: Source, raw: Value): boolean {
  if (typeof source === "string") {
    const [name = "", parent = ""] = source.split(".").reverse();
    const text = isSentence(source) || (!/^(code\.|text\.|retryable$|after|quota\.)/.test(source) && leafOf(name, parent) === "text");
    return text ? typeof raw === "string" : raw !== undefined && raw !== null;
  }
  if ("is" in source) return isConstant(raw, source.is);
  if ("each" in source) return Array.isArray(raw);
  return "shape" in source ? isObject(raw) : raw !== undefined && raw !== null;
}

const cut = (text: string): string => (text.length > 8192 ? text.slice(0, 8192) + " …" : text);

function kindOfStatus(status: number): Kind {
  if (status < 400 || status > 599) return "unknown";
  return statusKinds[status] ?? (status < 500 ? "client_error" : "server_error");
}

function kindOfRange(code: string): Kind | undefined {
  const n = /^[+-]?\d+$/.test(code) ? Number(code) : NaN;
  return contract.ranges.find((r) => r.from <= n && n <= r.to)?.kind;
}

/** Gives a record that was read in the form of the contract what its code stands for. */
function complete(d: Draft, e: Fields): void {
  const code = textOr(e.code);
  let entry = byCode.get(code) ?? (code ? open : undefined);
  const said = typeof e.kind === "string" && Object.hasOwn(kinds, e.kind) ? kindOf(e) : undefined;
  const status = numberOr(fieldsOr(e.upstream).status);
  if (said === undefined) e.kind = kindOfRange(code) ?? kindOfStatus(status);
  if (code) {
    e.contract = contract.name;
    const upstream = fieldsOr(e.upstream);
    if (!entry && kindOfRange(code) === undefined && !upstream.code) e.upstream = { ...upstream, code }; // the other side's own word
  }
  if (entry) apply(e, entry);
  if (d.as && e === d.e) {
    const word = textOr(e.code);
    entry = d.as;
    apply(e, entry);
    e.code = word;
  }
  if (said !== undefined && d.foreign && e === d.e) e.kind = said; // such a form says one because its code leaves it open
  let retryable = d.said.get(e);
  if (e === d.e && d.object) retryable ??= contract.silence;
  if (retryable !== undefined && entry?.retryable === false) retryable = false; // whatever the other side says
  const others = said === undefined ? [] : [said];
  if (status >= 400 && status <= 599) others.push(kindOfStatus(status));
  if (entry) refine(e, entry, others, retryable);
  if (retryable !== undefined) sayRetryable(e, retryable);
  const { type, id } = fieldsOr(e.resource);
  if (textOr(e.message) === "" && e.kind === "not_found" && textOr(type) !== "" && textOr(id) !== "") {
    e.message = `There is no ${textOr(type)} ${JSON.stringify(id)}.`; // what is not there is all that is told
  }
  for (const item of listOr(e.failed)) {
    const inner = fieldsOr(item).error;
    if (isObject(inner)) complete(d, inner);
  }
}

/** Gives a record the first of other kinds for which the contract has the same code: it tells more than the code. */
function refine(e: Fields, entry: CodeEntry, others: readonly Kind[], retryable: boolean | undefined): void {
  for (const kind of others) {
    const other: Fields = { ...e, kind, contract: "", code: "" };
    const s = subjectOf(other, {});
    if (s.entry !== entry) continue;
    if (retryable !== undefined) {
      sayRetryable(other, retryable);
      if (isRetryable(s) !== retryable) continue;
    }
    e.kind = kind;
    return;
  }
}

/** Adds what an entry says: its kind, its constants, and what its message holds. */
function apply(e: Fields, entry: CodeEntry): void {
  e.kind = entry.kind;
  if (isOpen(entry)) store(e, match(entry.code, textOr(e.code)) ?? []);
  else e.code = entry.code;
  for (const [path, value] of Object.entries(entry.set ?? {})) setPath(e, true, path, value as Value);
  for (const template of entry.message ?? []) {
    const said = textOr(e.message);
    const found = match(template, said);
    if (!found) continue;
    store(e, found);
    if (!frames(template)) e.message = said;
    return;
  }
}

/** States what the wire's boolean says. That there is no way says less than a kind that names one. */
function sayRetryable(e: Fields, retryable: boolean): void {
  if (retryable) e.retry = "same_call";
  else if (kinds[kindOf(e)].retry === "same_call") e.retry = "never";
}

/** An answer as far as it can tell of a failure. */
interface Said {
  readonly text: string;
  readonly objects: readonly Value[];
  /** It says that it is a failure. */
  readonly sure: boolean;
}

/** Reads by read, and completes the record by what its code stands for. */
function draft(isOpenDraft: boolean, read: (d: Draft) => boolean): Reading | undefined {
  const d: Draft = { e: {}, said: new Map(), open: isOpenDraft };
  if (!read(d)) return undefined;
  believed(d.e);
  if (d.e.contract === contract.name) return asReading(d.e);
  complete(d, d.e);
  if (!d.e.origin) d.e.origin = "server";
  return asReading(d.e);
}

/** Records as they were read: without the advice that an encoded one derives from its kind. */
const stated = new WeakMap<Failure, Fields>();

function asReading(e: Fields): Reading {
  const failure = encode(e) as unknown as Failure;
  stated.set(failure, e);
  return { failure };
}
const plain = (e: Fields): Reading => asReading({ ...e, origin: "server" });

function readForms(said: Said, isOpenDraft: boolean): Reading | undefined {
  const hasObject = contract.layout.shape !== undefined || contract.returns.length > 0;
  for (const raw of said.objects) {
    const reading = draft(isOpenDraft, (d) => readOther(raw, undefined, d) || (hasObject && readObject(raw, d)));
    if (reading) return reading;
  }
  if (!said.text) return undefined;
  return draft(isOpenDraft, (d) => readText(said.text, d) || (said.sure && readOther(undefined, said.text, d)));
}

/** What runtimes put before the text of a failure. */
const wrappers = [/^MCP error -?\d{1,9}: /, /^Error (?:executing|calling) tool '?[^':\s]+'?: /, /^\*\*Error:\*\* /];

/** Reads an answer that is a failure by a sure sign. */
function readFailed(said: Said): Reading {
  for (const raw of said.objects) {
    const record = readRecord(raw);
    if (record) return asReading(believed(record));
  }
  let form: Said | undefined = said;
  for (let wraps = 0; form && wraps <= 4; wraps++) {
    const reading = readForms(form, true);
    if (reading) return reading;
    form = unwrapped(form);
  }
  return plain({ kind: "unknown", message: cut(said.text) });
}

function unwrapped(said: Said): Said | undefined {
  const wrapper = wrappers.map((w) => w.exec(said.text)?.[0]).find((found) => found !== undefined);
  if (wrapper === undefined) return undefined;
  const text = said.text.slice(wrapper.length);
  const object = parsed(text);
  return { text, objects: isObject(object) ? [object] : [], sure: said.sure };
}

/** Returns a copy of what an answer holds: a member that cannot be copied must not hide the others. */
function copyOfEach(answer: unknown): Fields {
  const copy: Fields = {};
  if (isObject(answer)) for (const [name, value] of Object.entries(answer)) put(copy, name, copyOf(value));
  return copy;
}

/** Reads a tool result, the member "result" of a JSON-RPC answer: undefined where it is no failure. */
export function parseResult(result: unknown): Reading | undefined {
  const r = copyOfEach(result);
  const error = r["error"];
  const sure = r["isError"] === true || (isObject(error) && error.code !== undefined && error.message !== undefined);
  const record = readRecord(own(fieldsOr(r["_meta"]), metaKey));
  if (record && sure) return asReading(believed(record));
  const texts = listOr(r["content"]).map(fieldsOr).filter((b) => b["type"] === "text").slice(0, 8).map((b) => textOr(b["text"]));
  const objects = [...texts.map((text) => (text.trim().startsWith("{") ? parsed(text) : undefined)), r["structuredContent"], error].filter(isObject);
  const question = objects.find((o) => o.kind === "needsInput:v1");
  if (question) return { question: readQuestion(question) };
  const said: Said = { text: texts[0] ?? "", objects, sure: sure || objects.some((o) => o.kind === "toolError:v1") };
  if (said.sure) return readFailed(said);
  const reading = readForms(said, false);
  return reading && record ? asReading(believed(record)) : reading;
}

function readQuestion(o: Fields): Question {
  const q: Fields = { message: o.message === undefined ? "" : cut(plainText(o.message)) };
  const isText = (v: Value): boolean => typeof v === "string";
  const areTexts = (v: Value): boolean => Array.isArray(v) && v.every(isText);
  const { reason, fields, suggestions } = fieldsOr(o.needsInput);
  const suggested = suggestions === undefined || (isObject(suggestions) && Object.values(suggestions).every(areTexts));
  if ((reason === undefined || isText(reason)) && (fields === undefined || areTexts(fields)) && suggested) {
    Object.assign(q, inOrder({ reason, fields, suggestions }, ["reason", "fields", "suggestions"]));
  }
  if (Array.isArray(o.options) && o.options.every((option) => isObject(option) && Object.values(option).every(isText))) {
    const options = o.options.map((option) => inOrder(option, ["label!", "value!", "description", "field"]));
    if (options.length > 0) q.options = options;
  }
  return q as unknown as Question;
}

/** Returns a string, and anything else as it is spelled. */
const plainText = (v: Value): string => (typeof v === "string" ? v : JSON.stringify(v));

/** Reads the member "error" of a JSON-RPC answer. */
export function parseError(error: unknown): Reading {
  const raw = copyOfEach(error);
  const record = readRecord(raw["data"]);
  if (record) return asReading(believed(record));
  const code = raw.code === undefined ? "" : plainText(raw.code);
  const prefix = `MCP error ${code}: `; // of the TypeScript SDK, when it throws
  let message = raw.message === undefined ? "" : plainText(raw.message);
  if (message.startsWith(prefix)) message = message.slice(prefix.length);
  for (const entry of codes) {
    const rpc = entry.rpc;
    if (!rpc || String(rpc.code) !== code) continue;
    if (isObject(rpc.data) && !Object.keys(rpc.data).some((name) => Object.hasOwn(fieldsOr(raw["data"]), name))) continue;
    const reading = draft(true, (d) => {
      if (rpc.data !== undefined && !readBody(rpc.data, raw["data"], d)) return false;
      const inner = byCode.get(textOr(d.e.code));
      if (inner && inner !== entry) d.as = inner; // the object inside says more than the JSON-RPC error
      d.e.code = entry.code;
      const found = rpc.messages.map((t) => match(t, message)).find((f) => f !== undefined);
      store(d.e, found ?? []);
      return found !== undefined;
    });
    if (reading) return reading;
  }
  const named = byCode.get(code);
  const ownNumber = named ? !named.rpc : kindOfRange(code) !== undefined;
  const objects = ownNumber ? [raw["data"], { ...raw, message }] : [raw["data"]];
  const reading = readForms({ text: message, objects, sure: true }, true);
  if (reading) return reading;
  const kind = (Object.hasOwn(rpcKinds, code) ? rpcKinds[code] : undefined) ?? "unknown";
  const e: Fields = { kind, message: cut(message), upstream: { code } };
  if (kinds[kind].class === "protocol" || kinds[kind].class === "input") e.effect = "none"; // the server says that it did not carry it out
  if (raw["data"] !== undefined && raw["data"] !== null) e.details = { data: raw["data"] };
  return plain(e);
}

/** Says whether a value may have been written by a body, and stores what it says. Members may be missing: they may have come out empty. */
function readBody(body: Body, raw: Value, d: Draft): boolean {
  if (body === "{shape}") return readObject(raw, d);
  if (typeof body === "string") {
    const constant = literalOf(body);
    if (constant !== undefined) return raw === constant;
    const path = onlyPath(body);
    if (path !== undefined) {
      setPath(d.e, true, path, raw);
      return true;
    }
    const found = typeof raw === "string" ? match(body, raw) : undefined;
    store(d.e, found ?? []);
    return found !== undefined;
  }
  if (typeof body !== "object" || body === null) return isConstant(raw, body);
  if (Array.isArray(body)) {
    return Array.isArray(raw) && raw.length <= body.length && raw.every((item, i) => readBody(body[i] as Body, item, d));
  }
  if (!isObject(raw)) return false;
  return Object.entries(body).every(([name, member]) => {
    const value = own(raw, name);
    if (value !== undefined) return readBody(member, value, d);
    return typeof member === "string" ? literalOf(member) === undefined : typeof member === "object" && member !== null;
  });
}

/** Reads a whole HTTP answer: undefined where its status is none of a failure. headers are those of fetch, or like them. */
export function parseHTTP(status: number, headers: { get(name: string): string | null }, body: string): Reading | undefined {
  if (status < 400) return undefined;
  for (const entry of codes) {
    const http = entry.http;
    if (!http || http.status !== status || (http.body === undefined) !== (body === "")) continue;
    const reading = draft(true, (d) => {
      if (http.body !== undefined && !readBody(http.body, parsed(body), d)) return false;
      for (const [name, template] of Object.entries(http.headers ?? {})) store(d.e, match(template, (headers.get(name) ?? "").trim()) ?? []);
      if (!isEmpty(d.e.quotas)) d.e.quotas = listOr(d.e.quotas).sort(binding);
      const message = textOr(d.e.message);
      const fixed = (entry.message ?? []).map(literalOf);
      if (fixed.length > 0 && !fixed.some((text) => text === undefined || text === message)) return false;
      d.e.code = entry.code;
      mapAt(d.e, "upstream").status = status;
      return true;
    });
    if (reading) return reading;
  }
  const object = fieldsOr(parsed(body));
  const inner = object["jsonrpc"] !== undefined && isObject(object["error"]) ? parseError(object["error"]) : undefined;
  const e: Fields = inner?.failure ? fieldsOr(copyOf(stated.get(inner.failure))) : { kind: kindOfStatus(status) };
  if (!inner) e.message = [object.message, object.detail, object["error"], object["title"]].map(textOr).find((text) => text !== "");
  mapAt(e, "upstream").status = status;
  const seconds = Number(headers.get("Retry-After") ?? "");
  if (seconds > 0) e.afterMs = Math.max(numberOr(e.afterMs), boundedMs(seconds * 1000));
  return inner ? asReading(e) : plain(e);
}

/** Orders quotas: those that are used up first, and of these the one that is reset last. */
function binding(a: Value, b: Value): number {
  const [p, q] = [fieldsOr(a), fieldsOr(b)];
  const [left, right] = [numberOr(p.remaining) > 0, numberOr(q.remaining) > 0];
  if (left !== right) return left ? 1 : -1;
  return left ? 0 : (Date.parse(textOr(q.resetAt)) || 0) - (Date.parse(textOr(p.resetAt)) || 0);
}

/** Turns a question into the failure that a parameter is missing. */
function asFailure(q: Question): Failure {
  const violations = (q.fields ?? []).map((param) => ({
    pointer: "/" + param.replaceAll("~", "~0").replaceAll("/", "~1").replaceAll(".", "/"),
    param,
    rule: "required",
    message: `${param} is required`,
  }));
  return { kind: "missing_param", message: q.message, violations };
}
