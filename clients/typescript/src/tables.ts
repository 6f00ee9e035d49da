import { builtin } from "./contracts.js";
import { kinds } from "./kinds.js";
import { child, type Fields, fieldsOr, isObject, isText, own, type Value } from "./record.js";
import type { Kind } from "./types.js";

/** A code of the contract: when it is chosen, whether the same call may succeed, its properties beyond its kind. */
export type CodeEntry = {
  readonly code: string;
  readonly kind: Kind;
  readonly for: Selector[];
  readonly retryable: boolean | string | string[];
  readonly set?: Fields;
  /** The code is another program's word, which is passed on. */
  readonly open?: true;
  readonly name?: string;
  readonly group?: string;
  readonly when?: string;
  /** Other words that are read as this code. */
  readonly reads?: string[];
  /** The question that some calls get instead. */
  readonly ask?: { for: Selector[]; messages: string[]; reason?: string; fields?: string[] };
  /** The sentence, in one or more forms. */
  readonly message?: string[];
  readonly http?: { status: number; headers?: { [name: string]: string }; type?: string; body?: Source };
  readonly rpc?: { code: number; messages: string[]; data?: Source };
  /** The code to use if no HTTP answer is possible. */
  readonly otherwise?: string;
  /** The minimum wait if none is stated. */
  readonly waitMs?: number;
  readonly hint?: Hint[];
};
/** Conditions, all of which hold. */
export type Selector = { [condition: string]: string[] };
/**
 * The source of a value on the wire: a path, or an object with one of is (a constant), text (a template), own (the
 * object of the contract), list, each and item, shape, and oneOf. In templates {path} is a member of the record, and
 * {path|text} has a text for an empty one. After the colon of a path comes the type on the wire, unless it is text.
 */
type Source = string | Fields;
type Table = {
  name: string;
  title?: string;
  codes: CodeEntry[];
  default: string;
  /** Of failures; after the first, those of tools that return theirs. */
  layouts: [Layout, ...Layout[]];
  /** Where an unknown tool is reported. */
  unknownTool: string;
  /** How values are written in calls: as in JSON, or as in Python. */
  literals: string;
  /** There is a place for the given value of an argument. */
  showsValues: boolean;
  question?: Fields;
  hints: Hint[];
  /** The number of attempts, and the waits between them. */
  retry: Record<"retries" | "startMs" | "factor" | "jitterMs" | "jitterFrom", number>;
  /** The tools whose failures are results to their callers. */
  returned: string[];
  /** Forms that are read but never written. */
  forms: Fields[];
  ranges: { from: number; to: number; kind: Kind; name: string }[];
  /** The meaning of an object that does not say whether to retry. */
  silence?: boolean;
  verify: Fields;
  /** How a client waits for work that a call has started. */
  poll?: { wait: string; next: string; failure: Fields } & Record<"status" | "pending" | "failed" | "reason", string[]>;
  /** The argument that lists the items, by tool. */
  batch: Fields;
  /** What a success looks like, by tool. */
  expects: Fields;
  /** The tools that only read; *: all that have no verify call. */
  readers: string[];
  /** The tools that hints may name. */
  advised: string[];
};
/** The object; if missing, the record. Or the line; if missing, the text is the object. */
export type Layout = {
  shape?: Fields;
  /** Whether the object is the record. */
  record?: boolean;
  line?: string;
  hints?: { before: string; between: string };
  envelope?: { mark: string; shape: Fields };
  human?: string;
  format?: { argument: string; default: string; tools?: string[] };
  tools?: string[];
  indent?: number;
  structured?: boolean;
  /** The member of the result that has the object. */
  result?: string;
  isError?: boolean;
  mimeTypes?: boolean;
  /** Whether the hints of the contract follow the message. */
  advises?: boolean;
};
export type Hint = { for?: Selector; text: string; tools?: string[] };

/** The tables of a contract, and what is looked up in them. */
export class Tables {
  readonly name: string;
  readonly codes: readonly CodeEntry[];
  readonly byCode = new Map<string, CodeEntry>();
  /** The entry for unlisted words. */
  readonly open: CodeEntry | undefined;
  readonly fallback: CodeEntry;
  /** A wait beside the members of the contract may be in milliseconds. */
  readonly inMs: boolean;
  readonly table: Table;

  /** source is the name of a built-in contract, or one as `recourse contract gen NAME --lang json` writes it. */
  constructor(source: unknown) {
    this.table = checked(source);
    this.name = this.table.name;
    this.codes = this.table.codes;
    for (const entry of this.codes) this.byCode.set(entry.code, entry);
    for (const entry of this.codes) {
      for (const word of entry.reads ?? []) if (!this.byCode.has(word)) this.byCode.set(word, entry);
    }
    this.open = this.codes.find((entry) => entry.open);
    this.fallback = this.byCode.get(this.table.default) as CodeEntry;
    this.inMs = JSON.stringify([this.table.layouts, this.table.forms, this.codes]).includes('"afterMs:ms"');
  }
}

/** The form of the JSON that this version reads. A contract of a later form says more than it understands. */
const form = 1;
const us = "this version of @recoursehq/client";

/** A contract cannot be loaded: there is none of that name, it is broken, or it is of a newer form. */
export class ContractError extends Error {
  override readonly name = "ContractError";
}

/** The members that a contract has, or may have: a value of the type of each. */
const required: Fields = {
  name: "", default: "", codes: [{ code: "", kind: "", for: [{}] }], layouts: [{}],
  retry: { retries: 0, startMs: 0, factor: 0, jitterMs: 0, jitterFrom: 0 },
};
const hints = [{ text: "" }];
const allowed: Fields = {
  title: "", unknownTool: "", literals: "", returned: [""], forms: [{}], hints, verify: {}, batch: {}, expects: {},
  readers: [""], advised: [""], ranges: [{ from: 0, to: 0, kind: "" }],
  poll: { wait: "", next: "", failure: {}, status: [""], pending: [""], failed: [""], reason: [""] },
  codes: [{
    reads: [""], message: [""], set: {}, hint: hints, http: { status: 0 }, rpc: { code: 0, messages: [""] },
    ask: { for: [{}], messages: [""] }, otherwise: "", waitMs: 0,
  }],
};
const conditions = new Set(
  "kind class status params has retry tool at nature resource upstream_code rule basis effect origin".split(" "),
);
/** What a contract may leave out. */
const empty = {
  forms: [], ranges: [], returned: [], verify: {}, batch: {}, expects: {}, readers: [], advised: [], hints: [],
  literals: "json", showsValues: false, unknownTool: "",
};

/** Returns the tables of a contract. Throws what is wrong with it. */
function checked(source: unknown): Table {
  const raw = isText(source) ? builtin[source] : source;
  if (raw === undefined) {
    const names = Object.keys(builtin).join(", ");
    throw new ContractError(`there is no built-in contract ${String(source)}: there are ${names}`);
  }
  const name = isObject(raw) && isText(raw["name"]) ? raw["name"] : "(without a name)";
  const broken = (why: string): ContractError => new ContractError(`contract ${name}: ${why}`);
  if (!isObject(raw) || typeof raw["form"] !== "number") {
    throw broken("this is not a contract as recourse contract gen --lang json writes it: form is missing");
  }
  if (raw["form"] > form) {
    throw broken(`it has form ${raw["form"]}, and ${us} reads form ${form}: install a newer one`);
  }
  const [why] = [...misses(required, raw, "", true), ...misses(allowed, raw, "", false)];
  if (why) throw broken(why);
  const table = { ...empty, ...raw } as unknown as Table;
  if (table.layouts.length === 0) throw broken("layouts is empty");
  const words = new Set(table.codes.map((entry) => entry.code));
  for (const [i, entry] of table.codes.entries()) {
    if (!Object.hasOwn(kinds, entry.kind)) {
      throw broken(`codes.${i}.kind: ${entry.kind} is not a kind that ${us} knows`);
    }
    const unknown = entry.for.flatMap((selector) => Object.keys(selector)).find((name) => !conditions.has(name));
    if (unknown) throw broken(`codes.${i}.for: ${us} does not know the condition ${unknown}`);
    if (entry.otherwise && !words.has(entry.otherwise)) throw broken(`otherwise: there is no code ${entry.otherwise}`);
  }
  if (!words.has(table.default)) throw broken(`default: there is no code ${table.default}`);
  return table;
}

/** Says in which members a value is not like an example, whose members it must have, or may have. */
function misses(example: Value, value: Value, at: string, must: boolean): string[] {
  const typeName = (v: Value): string =>
    Array.isArray(v) ? "list" : isText(v) ? "text" : isObject(v) ? "object" : typeof v;
  const wanted = typeName(example);
  if (typeName(value) !== wanted) return [`${at || "it"} is not ${wanted === "object" ? "an" : "a"} ${wanted}`];
  if (Array.isArray(value)) return value.flatMap((one, i) => misses(child(example, "0"), one, `${at}.${i}`, must));
  return Object.entries(fieldsOr(example)).flatMap(([name, one]) => {
    const place = at ? `${at}.${name}` : name;
    const given = own(value, name);
    return given !== undefined ? misses(one, given, place, must) : must ? [`${place} is missing`] : [];
  });
}
