/** A failure: the JSON form of the record, version 1. Durations are whole milliseconds, instants RFC 3339 in UTC. */
export interface Failure {
  readonly v?: number;
  /** What happened. Branch on it, or on the code. */
  readonly kind: Kind;
  readonly code?: string;
  readonly contract?: string;
  /** One sentence for a person or a model. Left out: that of the kind. */
  readonly message?: string;
  readonly hints?: readonly string[];
  /** What has to come before the call is made again. Left out: as the kind calls for. */
  readonly retry?: Retry;
  /** The least wait before the call is made again. */
  readonly afterMs?: number;
  /** Whether the failed call changed anything. */
  readonly effect?: Effect;
  /** The call that settles an unknown effect. */
  readonly verify?: Verify;
  readonly violations?: readonly Violation[];
  readonly resource?: { readonly type?: string; readonly id?: string };
  /** Display name of the side that was asked. */
  readonly provider?: string;
  readonly missingScopes?: readonly string[];
  /** The limits, the binding one first. */
  readonly quotas?: readonly Quota[];
  readonly succeeded?: readonly { readonly id: string; readonly value?: unknown }[];
  readonly failed?: readonly { readonly id: string; readonly error: Failure }[];
  readonly missing?: readonly { readonly what: string; readonly impact?: string; readonly message?: string }[];
  /** Who failed. */
  readonly origin?: Origin;
  /** What the side that was asked answered. */
  readonly upstream?: { readonly status?: number; readonly code?: string; readonly requestId?: string };
  readonly requestId?: string;
  readonly details?: Arguments;
  readonly truncated?: boolean;
}

export interface Verify {
  readonly tool: string;
  readonly args?: Arguments;
  readonly lookAt?: string;
}

/** One way in which the arguments break a tool's inputSchema. */
export interface Violation {
  /** RFC 6901, into the arguments. */
  readonly pointer: string;
  /** The same place as a person writes it: order.items.0.sku. */
  readonly param: string;
  /** The keyword of JSON Schema. */
  readonly rule?: string;
  readonly got?: unknown;
  readonly want?: string;
  readonly message?: string;
}

/** The state of one limit. */
export interface Quota {
  readonly policy?: string;
  readonly limit?: number;
  readonly windowMs?: number;
  readonly remaining: number;
  readonly resetAt?: string;
  readonly partition?: string;
}

/** A question to the caller, which is no failure: the call is made again with the answer. */
export interface Question {
  readonly message: string;
  /** One word for programs. */
  readonly reason?: string;
  /** The parameters that the answer goes into. */
  readonly fields?: readonly string[];
  /** Possible values, by field. */
  readonly suggestions?: { readonly [field: string]: readonly string[] };
  readonly options?: readonly {
    readonly label: string;
    readonly value: string;
    readonly description?: string;
    readonly field?: string;
  }[];
}

export type Kind = keyof typeof kinds;
export type Retry = "same_call" | "re_read" | "after_fix" | "after_auth" | "never";
export type Effect = "none" | "applied" | "unknown";
export type Origin = "caller" | "gateway" | "server" | "provider";
export type Arguments = { readonly [name: string]: unknown };

export interface ToolResult {
  readonly content: { readonly type: "text"; readonly text: string; readonly mimeType?: string }[];
  readonly structuredContent?: Arguments;
  readonly isError?: boolean;
  readonly [member: string]: unknown;
}

/** What the contract says of a code. */
export interface CodeEntry {
  /** The word on the wire; with a placeholder it is another's word, which is passed on. */
  readonly code: string;
  /** What a code that is a number is called. */
  readonly name?: string;
  readonly kind: Kind;
  readonly group?: string;
  /** When it is used. */
  readonly when?: string;
  /** The failures that it is chosen for; none: only by name. */
  readonly for: readonly Selector[];
  /** Other words that are read as this code. */
  readonly reads?: readonly string[];
  /** What it says beyond its kind, by path. */
  readonly set?: Constants;
  /** Whether the same call may succeed; or by the failure itself, as it is said, by the other side's status. */
  readonly retryable: boolean | "error" | "stated" | readonly string[];
  /** The sentence, in one or more forms. */
  readonly message?: readonly string[];
  readonly http?: { status: number; headers?: { readonly [name: string]: string }; type?: string; body?: Source };
  readonly rpc?: { code: number; messages: readonly string[]; data?: Source };
  /** The code to use where no HTTP answer can be given. */
  readonly otherwise?: string;
}

// The contract. Texts are templates: {path} is a member of the record, {path|text} the text where that is empty.
// After the colon of a path stands what is on the wire where that is no text: afterMs:seconds.
type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
type Constants = { readonly [path: string]: Json };
/** Conditions, all of which have to hold. */
type Selector = { readonly [condition: string]: readonly string[] };
/** Where a value on the wire comes from: a path, a constant, a template, the contract's own object, parts, choices. */
type Source =
  | string | { is: Json } | { text: string } | { own: true } | { list: readonly Source[] }
  | { each: string; item: Shape } | { shape: Shape } | { oneOf: readonly Choice[] };
type Shape = { readonly [member: string]: Source };
type Choice = { for?: Selector; path?: string; is?: Json };
interface Layout {
  /** The object; left out: the record. */
  shape?: Shape;
  /** The line; left out: the text is the object. */
  line?: string;
  hints?: { before: string; between: string };
  envelope?: { mark: string; shape: Shape };
  human?: string;
  format?: { argument: string; default: string };
}
interface Contract {
  name: string;
  default: string;
  layout: Layout;
  /** The layouts of tools that return their failures. */
  returns: readonly { tools?: readonly string[]; layout: Layout }[];
  /** Other forms that are read and never written. */
  reads: readonly { text?: string; shape?: Shape; set?: Constants }[];
  ranges: readonly { from: number; to: number; kind: Kind; name: string }[];
  /** What it means that an object says nothing about repeating the call. */
  silence?: boolean;
  verify: { readonly [tool: string]: VerifyRule };
  /** How often a call is repeated, and after which waits. */
  retry: Record<"retries" | "startMs" | "factor" | "jitterMs" | "jitterFrom", number>;
  /** How a client waits for work that a call has begun. */
  poll?: { wait: string; next: string; status: readonly string[]; pending: readonly string[] };
  /** The argument that lists the items, by tool. */
  batch: { readonly [tool: string]: string };
  /** Tools that only read: all that verify does not have, or those. */
  readOnly: boolean;
  readers: readonly string[];
}
type VerifyRule = { call: string; args: readonly Argument[]; lookAt?: string; landed?: Landed };
type Argument = { name: string; pointer?: string; list?: boolean; is?: Json };
/** What the answer of a verify call looks like when the write has landed. */
type Landed = { path: string; exists?: boolean; contains?: boolean; pointer?: string; is?: Json };
