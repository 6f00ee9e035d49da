// ---- Choosing and writing.

const byCode = new Map<string, CodeEntry>();
for (const entry of codes) byCode.set(entry.code, entry);
for (const entry of codes) {
  for (const word of entry.reads ?? []) if (!byCode.has(word)) byCode.set(word, entry);
}

const isOpen = (entry: CodeEntry): boolean => literalOf(entry.code) === undefined;
const isCodeWord = (word: string): boolean => /^[A-Za-z0-9_.-]{1,64}$/.test(word);
/** The entry of words that are not listed. */
const open = codes.find(isOpen);

function entryNamed(code: string): CodeEntry {
  const entry = byCode.get(code);
  if (!entry) throw new Error(`${contract.name} lists no code ${code}`);
  return entry;
}

function selects(selector: Selector | undefined, s: Subject): boolean {
  return Object.entries(selector ?? {}).every(([condition, values]) => holds(condition, values, s));
}

function holds(condition: string, values: readonly string[], s: Subject): boolean {
  const e = s.e;
  const violations = listOr(e.violations).map(fieldsOr);
  switch (condition) {
    case "kind":
      return values.includes(kindOf(e));
    case "class":
      return values.includes(kinds[kindOf(e)].class);
    case "origin":
      return values.includes(textOr(e.origin));
    case "resource":
      return values.includes(textOr(fieldsOr(e.resource).type));
    case "status":
      return isStatus(values, numberOr(fieldsOr(e.upstream).status));
    case "upstream_code":
      return values.includes(textOr(fieldsOr(e.upstream).code));
    case "rule":
      return violations.length > 0 && values.includes(textOr(violations[0]?.rule));
    case "params": {
      const params = violations.map((v) => textOr(v.param));
      return params.every((p) => values.includes(p)) && values.every((v) => params.includes(v));
    }
    case "has":
      return values.every((path) => get(s, e, path) !== undefined);
    case "tool":
      return values.includes(s.call.tool ?? "");
    case "at":
      return values.includes(s.call.at || "tool");
    case "effect":
      return values.includes(textOr(e.effect));
    case "retry":
      return values.includes(adviceOf(e));
    default:
      return false;
  }
}

function isStatus(values: readonly string[], status: number): boolean {
  const text = status === 0 ? "none" : String(status);
  return values.some((v) => v === text || (v.length === 3 && v.endsWith("xx") && v[0] === text[0]));
}

/** Returns the entry of a record. Every record has one. */
function choose(s: Subject): CodeEntry {
  const code = textOr(s.e.code);
  if (s.e.contract === contract.name && code) return byCode.get(code) ?? open ?? entryNamed(contract.default);
  for (const entry of codes) {
    for (const selector of entry.for) {
      const word = selects(selector, s) ? codeOf(entry, s) : "";
      if (word) return byCode.get(word) ?? entry; // another's word may be one of the contract's own
    }
  }
  return entryNamed(contract.default);
}

/** Returns the code of a record that an entry was chosen for; "" when it takes another's word and there is none. */
function codeOf(entry: CodeEntry, s: Subject): string {
  if (!isOpen(entry)) return entry.code;
  const word = render(entry.code, s) ?? "";
  return isCodeWord(word) ? word : "";
}

/** Returns the sentence in the form that the code gives it. */
function messageOf(s: Subject): string {
  if (s.bare || !s.entry || isUnlisted(s) || (s.entry.code === contract.default && kinds[kindOf(s.e)].class === "protocol")) return sentenceOf(s.e);
  for (const template of s.entry.message ?? []) {
    const text = render(template, { ...s, bare: true });
    if (text !== undefined) return text;
  }
  return sentenceOf(s.e);
}

/** Says whether the code is a word that the contract does not list, for which another entry stands in. */
function isUnlisted(s: Subject): boolean {
  return s.entry !== undefined && !isOpen(s.entry) && textOr(s.e.code) !== "" && s.e.code !== s.entry.code;
}

/**
 * Says whether the same call may succeed. A code that is never retryable stays so, and of one that is not listed the failure
 * decides. That a call may have taken effect is not overruled otherwise, nor is an advice that departs from the kind's.
 */
function isRetryable(s: Subject): boolean {
  const e = s.e;
  const same = adviceOf(e) === "same_call";
  const status = numberOr(fieldsOr(e.upstream).status);
  if (s.entry?.retryable === "stated" && e.effect === "unknown") return e.retry === "same_call";
  const rule = s.entry?.retryable ?? "error";
  if (rule === "stated") return same && e.retry === "same_call";
  if (isUnlisted(s)) return same;
  if (rule === false) return false;
  if (e.effect === "unknown" || same !== (kinds[kindOf(e)].retry === "same_call")) return same;
  if (typeof rule === "boolean") return rule;
  return typeof rule === "string" || status === 0 ? same : isStatus(rule, status);
}

/** Returns the hints to write: a warning about the failure, the author's own, and the code's advice. */
function hintsOf(s: Subject, fresh: boolean): string[] {
  const hints: string[] = [];
  const add = (hint: string | undefined): void => {
    if (hint && !hints.includes(hint)) hints.push(hint);
  };
  const given = listOr(s.e.hints).map(textOr);
  let warned = !fresh && given.some((hint) => contract.hints.some((h) => match(h.text, hint)));
  if (!warned) {
    const warning = pick(contract.hints, s);
    warned = warning !== undefined;
    add(warning);
  }
  given.forEach(add);
  // A word of the other side's own comes with its own advice.
  const leaves = s.entry !== undefined && isOpen(s.entry) && given.length > 0 && s.e.origin === "provider";
  if (!warned && ((fresh && !leaves) || hints.length === 0)) add(pick(s.entry?.hint ?? [], s));
  return hints;
}

function pick(hints: readonly Hint[], s: Subject): string | undefined {
  for (const hint of hints) {
    if (!selects(hint.for, s) || hint.tools?.some((tool) => !hasTool(s.call, tool))) continue;
    const text = render(hint.text, s);
    if (text !== undefined) return text;
  }
  return undefined;
}

/** Puts a record in the words of the contract: its code, the wait and the hints that come with the code, and the same for what it contains. */
function bind(from: Fields, call: Call): Subject {
  const e = fieldsOr(copyOf(from));
  e.kind = kindOf(e);
  let entry = choose({ e, entry: undefined, call });
  const fresh = e.contract !== contract.name;
  if (fresh || !e.code) {
    const code = codeOf(entry, { e, entry, call });
    e.contract = contract.name;
    e.code = code;
  }
  const other = inPlaceOf(entry, call);
  if (other) {
    entry = other;
    e.code = entry.code;
  }
  e.message = sentenceOf(e);
  if (!contract.showsValues) for (const v of listOr(e.violations)) delete fieldsOr(v).got;
  if (!numberOr(e.afterMs)) e.afterMs = waitOf(e, entry, call);
  const silent = entry.retryable === "stated" || entry.retryable === false;
  if (!e.retry && silent && !isUnlisted({ e, entry, call }) && kinds[kindOf(e)].retry === "same_call") e.retry = "never";
  if (!isObject(e.verify) && e.effect === "unknown") e.verify = verifyOf(call);
  for (const item of listOr(e.failed)) {
    const inner: { tools?: readonly string[]; now?: Date } = {};
    if (call.tools) inner.tools = call.tools;
    if (call.now) inner.now = call.now;
    fieldsOr(item).error = bind(fieldsOr(fieldsOr(item).error), inner).e;
  }
  const s: Subject = { e, entry, call };
  if (!entry.message?.some(frames)) e.message = messageOf(s); // a code with a sentence of its own is known by it
  e.hints = hintsOf(s, fresh);
  return s;
}

/** Returns the entry that stands for another because of where the answer is to be written; undefined: none does. */
function inPlaceOf(entry: CodeEntry, call: Call): CodeEntry | undefined {
  if (!call.http) return entry.otherwise ? entryNamed(entry.otherwise) : undefined;
  return codes.find((other) => other.otherwise === entry.code);
}

/** Returns the wait that the record implies without stating it. */
function waitOf(e: Fields, entry: CodeEntry, call: Call): number {
  const reset = Date.parse(textOr(fieldsOr(listOr(e.quotas)[0]).resetAt));
  if (kinds[kindOf(e)].class === "allowance" && !Number.isNaN(reset)) return Math.min(Math.max(reset - nowMs(call), 0), maxWaitMs);
  return entry.waitMs ?? 0;
}

/** Fills in the call that settles whether the failed one took effect. */
function verifyOf(call: Call): Value {
  const rule = Object.hasOwn(contract.verify, call.tool ?? "") ? contract.verify[call.tool ?? ""] : undefined;
  if (!rule) return undefined;
  const args: Fields = {};
  for (const a of rule.args) {
    const value = a.pointer === undefined ? (a.is as Value) : argument(call.arguments, a.pointer);
    if (value !== undefined) put(args, a.name, a.list ? [value] : value);
  }
  const verify: Fields = { tool: rule.call };
  if (!isEmpty(args)) verify.args = args;
  if (rule.lookAt) verify.lookAt = rule.lookAt;
  return verify;
}

const layoutOf = (call: Call): Layout => contract.returns.find((r) => r.tools.includes(call.tool ?? ""))?.layout ?? contract.layout;
const isReturned = (call: Call): boolean => layoutOf(call) !== contract.layout;

/** Writes the object of base; undefined when nothing is in it. */
function writeShape(shape: Shape, s: Subject, base: Value): Fields | undefined {
  const object: Fields = {};
  for (const [name, source] of Object.entries(shape)) {
    if (name === "...") continue;
    const value = writeSource(source, s, base);
    if (value !== undefined) put(object, name, value);
  }
  const rest = shape["..."];
  if (typeof rest === "string") {
    for (const [name, value] of Object.entries(sorted(fieldsOr(get(s, base, rest))))) {
      if (!Object.hasOwn(shape, name)) put(object, name, value);
    }
  }
  return Object.keys(object).length > 0 ? object : undefined;
}

function writeSource(source: Source, s: Subject, base: Value): Value {
  if (typeof source === "string") return get(s, base, source);
  if ("is" in source) return source.is as Value;
  if ("shape" in source) return writeShape(source.shape, s, base);
  if ("each" in source) {
    const items = get(s, base, source.each);
    return Array.isArray(items) ? items.map((item) => writeShape(source.item, s, item) ?? {}) : undefined;
  }
  for (const choice of source.oneOf) {
    if (!selects(choice.for, s)) continue;
    const value = choice.path === undefined ? (choice.is as Value) : get(s, base, choice.path);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** Writes JSON with templates; undefined where it comes out empty, unless it is the whole. */
function writeBody(body: Body, s: Subject, inside = false): Value {
  if (body === "{shape}") return objectOf(inResult(s));
  if (typeof body === "string") {
    const path = onlyPath(body);
    return path === undefined ? render(body, s) : get(s, s.e, path);
  }
  if (typeof body !== "object" || body === null) return body;
  if (Array.isArray(body)) return (body as readonly Body[]).map((item) => writeBody(item, s, true)).filter((item) => item !== undefined);
  const object: Fields = {};
  for (const [name, member] of Object.entries(body)) {
    const value = writeBody(member, s, true);
    if (value !== undefined) put(object, name, value);
  }
  const isEmptied = inside && Object.keys(object).length === 0 && Object.keys(body).length > 0;
  return isEmptied ? undefined : object;
}

/** Returns the subject with the code that it has in a tool result, where its own stands for another answer. */
function inResult(s: Subject): Subject {
  const fits = (entry: CodeEntry): boolean => !isOpen(entry) && !entry.otherwise && !entry.rpc;
  if (s.entry && fits(s.entry)) return s;
  const entry = codes.find((c) => fits(c) && c.for.some((selector) => selects(selector, s))) ?? entryNamed(contract.default);
  const e = { ...s.e, contract: contract.name, code: entry.code };
  const inner: Subject = { e, entry, call: s.call };
  return { ...inner, e: Object.assign(e, { hints: hintsOf(inner, false) }) };
}

/** Returns the contract's object: its shape, or the record itself. */
function objectOf(s: Subject): Fields {
  const shape = layoutOf(s.call).shape;
  return shape ? (writeShape(shape, s, s.e) ?? {}) : encode(s.e);
}

/** What Unicode calls white space. */
const spaces = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;

const oneLine = (text: string): string => (/[\r\n]/.test(text) ? text.split(spaces).filter((word) => word).join(" ") : text);

const trimmed = (text: string): string => text.replace(leading, "").replace(trailing, "");
const leading = new RegExp(`^(?:${spaces.source})`);
const trailing = new RegExp(`(?:${spaces.source})$`);

/** Writes a sentence so that it cannot be taken for the hints that follow it. */
function fold(layout: Layout, sentence: string): string {
  if (!layout.hints || !/[\r\n]/.test(sentence)) return sentence;
  if (layout.hints.before !== "\n") return oneLine(sentence);
  return trimmed(sentence).replace(/\r\n|\r|\n/g, continued);
}

/** Writes the line, the hints behind it, and structure as one line of JSON. */
function writeLine(layout: Layout, s: Subject): string {
  const marks = [layout.hints?.before ?? "", layout.envelope?.mark ?? ""].filter((mark) => mark.trim());
  const unmark = (text: string): string => {
    for (const mark of marks) {
      const lower = mark.toLowerCase();
      text = text.replaceAll(mark, () => (lower === mark ? mark.toUpperCase() : lower));
    }
    return text;
  };
  const clean = (hint: string): string => unmark(oneLine(trimmed(hint)));
  let text = unmark(fold(layout, render(layout.line ?? "", s) ?? messageOf(s)));
  if (layout.hints) {
    const separator = layout.hints.between.trim();
    const hints = listOr(s.e.hints).map((hint) => clean(separator ? textOr(hint).replaceAll(separator, ",") : textOr(hint)));
    if (hints.length > 0) text += layout.hints.before + hints.join(layout.hints.between);
  }
  if (layout.envelope && !isEmpty(s.e.details)) {
    const mark = layout.envelope.mark.trim();
    const json = JSON.stringify(writeShape(layout.envelope.shape, s, s.e));
    text += layout.envelope.mark + json.replaceAll(mark, () => "\\u005b" + mark.slice(1));
  }
  return text;
}

function formatOf(layout: Layout, call: Call): string {
  const fallback = layout.format?.default ?? "";
  if (!layout.format || !call.formatArgument) return fallback;
  const value = own(fieldsOr(copyOf(call.arguments)), layout.format.argument);
  return value === "markdown" || value === "json" || value === "both" ? value : fallback;
}

/** Returns the content that the call asks for. */
function contentOf(layout: Layout, call: Call, human: string | undefined, form: string | undefined, formType: string): ToolResult["content"] {
  const content: ToolResult["content"] = [];
  const add = (text: string, mimeType: string): void => {
    content.push(layout.mimeTypes ? { type: "text", text, mimeType } : { type: "text", text });
  };
  const format = formatOf(layout, call);
  if (human !== undefined && (form === undefined || format !== "json")) add(human, "text/markdown");
  if (form !== undefined && (human === undefined || format === "json" || format === "both")) add(form, formType);
  return content;
}

function resultOf(s: Subject): ToolResult {
  const layout = layoutOf(s.call);
  const human = layout.human === undefined ? undefined : (render(layout.human, s) ?? "");
  const form = layout.line === undefined ? JSON.stringify(objectOf(s), null, layout.indent) : writeLine(layout, s);
  const result: { -readonly [K in keyof ToolResult]: ToolResult[K] } = {
    content: contentOf(layout, s.call, human, form, layout.line === undefined ? "application/json" : "text/markdown"),
  };
  if (layout.structured && (!s.call.outputSchema || isReturned(s.call))) result.structuredContent = objectOf(s);
  if (layout.result) result[layout.result] = objectOf(s);
  if (layout.isError) result.isError = true;
  if (s.call.resultType) result["resultType"] = "complete";
  result["_meta"] = { [metaKey]: encode(s.e) };
  return result;
}

const statusText = (status: number): string => statusTexts[status] ?? "";

function problemOf(s: Subject, status: number): Fields {
  return { type: "about:blank", title: statusText(status), status, detail: messageOf(s) };
}

/** Writes a failure for a call. Every failure has a form. */
export function write(failure: Failure, call: Call = {}): Answer {
  const s = bind(fieldsOr(copyOf(failure)), call);
  const entry = s.entry;
  const kind = kindOf(s.e);
  if (entry?.http && call.http) {
    const headers: { [name: string]: string } = {};
    for (const [name, template] of Object.entries(entry.http.headers ?? {})) {
      const value = render(template, s);
      if (value !== undefined) headers[name] = oneLine(value);
    }
    const body = entry.http.body === undefined ? "" : JSON.stringify(writeBody(entry.http.body, s));
    headers[entry.http.type ? "Content-Type" : "Content-Length"] = entry.http.type ?? "0";
    return { surface: "http", status: entry.http.status, headers, body };
  }
  if (kind === "unknown_session" && call.status === 404) {
    return { surface: "http", status: 404, headers: { "Content-Type": "application/problem+json" }, body: JSON.stringify(problemOf(s, 404)) };
  }
  const status = call.status ?? 200;
  if (entry?.rpc) {
    const error = { code: entry.rpc.code, message: entry.rpc.messages.map((t) => render(t, s)).find((text) => text !== undefined) ?? "" };
    const data = entry.rpc.data === undefined ? undefined : writeBody(entry.rpc.data, s);
    return { surface: "error", status, error: data === undefined ? error : { ...error, data } };
  }
  const asResult = kind === "unknown_tool" ? contract.unknownTool === "result" : kinds[kind].class !== "protocol";
  if ((call.method ?? "tools/call") === "tools/call" && !call.status && asResult) return { surface: "result", result: resultOf(s) };
  const data = call.status ? { ...encode(s.e), ...problemOf(s, call.status) } : encode(s.e);
  return { surface: "error", status, error: { code: kinds[kind].rpc, message: messageOf(s), data } };
}

/** Writes a question to the caller for a tool call; a contract without a form for questions writes that a parameter is missing. */
export function ask(question: Question, call: Call = {}): Answer {
  if (!contract.question) return write(asFailure(question), call);
  const q = fieldsOr(copyOf(question));
  const object = writeShape(contract.question, { e: {}, entry: undefined, call }, q) ?? {};
  const layout = contract.layout;
  const form = layout.line === undefined ? JSON.stringify(object, null, layout.indent) : undefined;
  const human = layout.human === undefined && form !== undefined ? undefined : questionText(question);
  const result: { -readonly [K in keyof ToolResult]: ToolResult[K] } = { content: contentOf(layout, call, human, form, "application/json") };
  if (layout.structured && !call.outputSchema) result.structuredContent = object;
  if (call.resultType) result["resultType"] = "complete";
  return { surface: "result", result };
}

/** Puts a question in Markdown: the sentence, then what there is to choose from. */
function questionText(q: Question): string {
  let text = q.message;
  for (const [field, values] of Object.entries(q.suggestions ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (values.length > 0) text += `\n\nSuggestions for \`${oneLine(field)}\`: ${values.map((v) => `\`${oneLine(v)}\``).join(", ")}.`;
  }
  if (q.options?.length) text += "\n";
  for (const o of q.options ?? []) {
    text += `\n- ${oneLine(o.label)}: ${o.field ? `\`${oneLine(o.field)}\` = ` : ""}\`${oneLine(o.value)}\``;
    if (o.description) text += ` (${oneLine(o.description)})`;
  }
  return text;
}

/** A failure in the words of the contract, for each of its codes: failures.CODE("What happened.", {requestId: "req-1"}). */
export const failures = Object.fromEntries(
  codes.filter((entry) => !isOpen(entry)).map((entry) => [
    entry.code,
    (message?: string, more?: Partial<Failure>): Failure => {
      const e: Fields = { kind: entry.kind, code: entry.code, contract: contract.name };
      for (const [path, value] of Object.entries(entry.set ?? {})) setPath(e, true, path, value as Value);
      return { ...e, ...(message === undefined ? {} : { message }), ...more } as Failure;
    },
  ]),
) as { readonly [code in Code]: (message?: string, more?: Partial<Failure>) => Failure };
