/** The types of the record's members; anything is the type of unlisted members. */
const anything: unknown = undefined;
const like = {
  v: 0, kind: "unknown" as Kind, code: "", contract: "", message: "", hints: [""], retry: "never" as Retry, afterMs: 0,
  effect: "none" as Effect, effectBasis: "known" as Basis,
  verify: { tool: "", args: {} as Arguments, from: {} as Arguments, lookAt: "" },
  violations: [{ pointer: "", param: "", rule: "", got: anything, want: "", message: "" }],
  resource: { type: "", id: "" }, provider: "", missingScopes: [""],
  quotas: [{ policy: "", limit: 0, windowMs: 0, remaining: 0, resetAt: "", partition: "" }],
  succeeded: [{ id: "", value: anything }], failed: [{ id: "", error: {} }],
  missing: [{ what: "", impact: "", message: "" }], origin: "server" as Origin,
  upstream: { status: 0, code: "", requestId: "" }, requestId: "", details: {} as Arguments, truncated: false,
};
/** The members that its objects have even if empty. */
const needed = {
  verify: { tool: "" }, violations: { pointer: "", param: "" }, quotas: { remaining: 0 },
  succeeded: { id: "" }, failed: { id: "" }, missing: { what: "" },
};

/** A failure: the JSON form of the record, version 1. Branch on kind, what happened, or on code. retry: the condition
 * for a retry; afterMs: the minimum wait; effect: whether the failed call changed anything (effectBasis: stated if only
 * the server says so); verify: the call that shows it. origin is who failed, upstream the provider's answer. */
export type Failure = Like & Readonly<{ kind: Kind; failed?: readonly Readonly<{ id: string; error: Failure }>[] }>;
type Like = { readonly [K in Exclude<keyof typeof like, "kind" | "failed">]?: Member<(typeof like)[K], Needed<K>> };
type Needed<K> = K extends keyof typeof needed ? Readonly<(typeof needed)[K]> : unknown;
type Member<T, N> =
  T extends readonly (infer U)[] ? readonly Member<U, N>[] : T extends object ? Readonly<Partial<T>> & N : T;
export type Kind = keyof typeof kinds;
export type Retry = "same_call" | "re_read" | "after_fix" | "after_auth" | "after_setup" | "never";
export type Effect = "none" | "applied" | "unknown";
export type Basis = "known" | "stated";
export type Origin = "caller" | "gateway" | "server" | "provider";
export type Arguments = { readonly [name: string]: unknown };
export type Verify = NonNullable<Failure["verify"]>;

/** A question to the caller, which is not a failure: the call is repeated with values for fields. */
export interface Question {
  readonly message: string;
  readonly reason?: string;
  readonly fields?: readonly string[];
  readonly suggestions?: { readonly [field: string]: readonly string[] };
  readonly options?: readonly Readonly<{ label: string; value: string; description?: string; field?: string }>[];
}

//{{if writes}}
export interface ToolResult {
  readonly content: { readonly type: "text"; readonly text: string; readonly mimeType?: string }[];
  readonly structuredContent?: Arguments;
  readonly isError?: boolean;
  readonly [member: string]: unknown;
}
//{{else}}
export type ToolResult = Readonly<{ content: readonly unknown[]; isError?: boolean; [member: string]: unknown }>;
//{{end}}

/** A code of the contract: when it is chosen, whether the same call may succeed, its properties beyond its kind. */
export type CodeEntry = {
  readonly code: string;
  readonly kind: Kind;
  readonly for: Selector[];
  readonly retryable: boolean | string | string[];
  readonly set?: Fields;
//{{if or writes (has "code.open")}}
  /** The code is another program's word, which is passed on. */
  readonly open?: true;
//{{end}}
//{{if or writes (has "code.name")}}
  readonly name?: string;
//{{end}}
//{{if or writes (has "code.group")}}
  readonly group?: string;
//{{end}}
//{{if or writes (has "code.when")}}
  readonly when?: string;
//{{end}}
//{{if or writes (has "code.reads")}}
  /** Other words that are read as this code. */
  readonly reads?: string[];
//{{end}}
//{{if has "code.ask"}}
  /** The question that some calls get instead. */
  readonly ask?: { for: Selector[]; messages: string[]; reason?: string; fields?: string[] };
//{{end}}
//{{if or writes (has "code.message")}}
  /** The sentence, in one or more forms. */
  readonly message?: string[];
//{{end}}
//{{if or writes (has "code.http" "code.message")}}
  readonly http?: { status: number; headers?: { [name: string]: string }; type?: string; body?: Source };
//{{end}}
//{{if or writes (has "code.rpc")}}
  readonly rpc?: { code: number; messages: string[]; data?: Source };
//{{end}}
//{{if or writes (has "code.otherwise")}}
  /** The code to use if no HTTP answer is possible. */
  readonly otherwise?: string;
//{{end}}
//{{if writes}}
  /** The minimum wait if none is stated. */
  readonly waitMs?: number;
  readonly hint?: Hint[];
//{{end}}
};
/** Conditions, all of which hold. */
type Selector = { [condition: string]: string[] };
/**
 * The source of a value on the wire: a path, or an object with one of is (a constant), text (a template), own (the
 * object of the contract), list, each and item, shape, and oneOf. In templates {path} is a member of the record, and
 * {path|text} has a text for an empty one. After the colon of a path comes the type on the wire, unless it is text.
 */
type Source = string | Fields;
//{{if writes}}
type Contract = {
  name: string;
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
//{{if has "contract.returned"}}
  /** The tools whose failures are results to their callers. */
  returned: string[];
//{{end}}
//{{if has "contract.forms"}}
  /** Forms that are read but never written. */
  forms: Fields[];
//{{end}}
//{{if has "contract.ranges"}}
  ranges: { from: number; to: number; kind: Kind; name: string }[];
//{{end}}
//{{if has "contract.silence"}}
  /** The meaning of an object that does not say whether to retry. */
  silence: boolean;
//{{end}}
//{{if has "contract.verify"}}
  verify: Fields;
//{{end}}
//{{if has "contract.poll"}}
  /** How a client waits for work that a call has started. */
  poll: { wait: string; next: string; failure: Fields } & Record<"status" | "pending" | "failed" | "reason", string[]>;
//{{end}}
//{{if has "contract.batch"}}
  /** The argument that lists the items, by tool. */
  batch: Fields;
//{{end}}
//{{if has "contract.readers"}}
  /** The tools that only read; *: all that have no verify call. */
  readers: string[];
//{{end}}
//{{if has "contract.advised"}}
  /** The tools that hints may name. */
  advised: string[];
//{{end}}
};
/** The object; if missing, the record. Or the line; if missing, the text is the object. */
type Layout = {
  shape?: Fields;
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
type Hint = { for?: Selector; text: string; tools?: string[] };
//{{end}}
