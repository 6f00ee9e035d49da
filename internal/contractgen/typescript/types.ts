/** A failure, in the JSON form of the record, version 1. Durations are whole milliseconds, instants RFC 3339 in UTC. */
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
  readonly verify?: { readonly tool: string; readonly args?: { readonly [name: string]: unknown }; readonly lookAt?: string };
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
  readonly details?: { readonly [name: string]: unknown };
  readonly truncated?: boolean;
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
  readonly options?: readonly { readonly label: string; readonly value: string; readonly description?: string; readonly field?: string }[];
}

export type Kind = keyof typeof kinds;
export type Retry = "same_call" | "re_read" | "after_fix" | "after_auth" | "never";
export type Effect = "none" | "applied" | "unknown";
export type Origin = "caller" | "gateway" | "server" | "provider";

/** What was read from an answer: a failure or a question. */
export type Reading =
  | { readonly failure: Failure; readonly question?: undefined }
  | { readonly question: Question; readonly failure?: undefined };

/** What is known of the call that failed. What is left out is empty or false. */
export interface Call {
  /** The JSON-RPC method. Left out: tools/call. Only that one is answered with a tool result. */
  readonly method?: string;
  readonly tool?: string;
  readonly arguments?: unknown;
  /** The URL of the request. */
  readonly url?: string;
  /** Where the call stood when it failed. */
  readonly at?: At;
  /** The HTTP status that the transport demands. */
  readonly status?: number;
  /** The whole HTTP answer is still to be written. */
  readonly http?: boolean;
  /** The tool declares an outputSchema: structuredContent is left out. */
  readonly outputSchema?: boolean;
  /** The tool's inputSchema has the argument by which a call chooses the texts. */
  readonly formatArgument?: boolean;
  /** Results name their type, as of MCP 2026-07-28. */
  readonly resultType?: boolean;
  /** The tools of the server: a hint that names another one is left out. Left out: not known. */
  readonly tools?: readonly string[];
  /** The present. Left out: now. */
  readonly now?: Date;
}

export type At =
  | "credentials_missing" | "credentials_invalid" | "user_missing" | "user_invalid"
  | "session" | "arguments" | "upstream_misconfigured" | "upstream" | "tool";

/** A failure as it is to be sent. */
export type Answer =
  /** The member "result" of the JSON-RPC answer. */
  | { readonly surface: "result"; readonly result: ToolResult }
  /** The member "error", and the HTTP status around it. */
  | { readonly surface: "error"; readonly status: number; readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } }
  /** A whole HTTP answer. */
  | { readonly surface: "http"; readonly status: number; readonly headers: { readonly [name: string]: string }; readonly body: string };

export interface ToolResult {
  readonly content: { readonly type: "text"; readonly text: string; readonly mimeType?: string }[];
  readonly structuredContent?: { readonly [name: string]: unknown };
  readonly isError?: boolean;
  readonly [member: string]: unknown;
}

/** What the contract says of a code. */
export interface CodeEntry {
  /** The word on the wire; with a placeholder it is another's word, which is passed on. */
  readonly code: string;
  /** What a code that is a number is called. */
  readonly name?: string;
  /** The kind that it is read as. */
  readonly kind: Kind;
  readonly group?: string;
  /** A sentence: when it is used. */
  readonly when?: string;
  /** The failures that it is chosen for; none: only by name. */
  readonly for: readonly Selector[];
  /** Other words that are read as this code. */
  readonly reads?: readonly string[];
  /** What it says beyond its kind, by path. */
  readonly set?: { readonly [path: string]: Json };
  /** Whether the same call may succeed: by the failure itself, by the status of the other side, or as it is said. */
  readonly retryable: boolean | "error" | "stated" | readonly string[];
  /** The least wait where none is stated. */
  readonly waitMs?: number;
  /** The sentence, in one or more forms: the first that can be filled in. */
  readonly message?: readonly Template[];
  readonly hint?: readonly Hint[];
  readonly http?: { readonly status: number; readonly headers?: { readonly [name: string]: Template }; readonly type?: string; readonly body?: Body };
  readonly rpc?: { readonly code: number; readonly messages: readonly Template[]; readonly data?: Body };
  /** The code to use where no HTTP answer can be given. */
  readonly otherwise?: string;
}

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
/** A text with placeholders: {path}, or {path|text}. */
type Template = string;
/** Conditions, all of which have to hold. */
type Selector = { readonly [condition: string]: readonly string[] };
type Hint = { readonly for?: Selector; readonly text: Template; readonly tools?: readonly string[] };
/** Members of an object: a path into the record, or another source. */
type Shape = { readonly [member: string]: Source };
type Source =
  | string
  | { readonly is: Json }
  | { readonly each: string; readonly item: Shape }
  | { readonly shape: Shape }
  | { readonly oneOf: readonly Choice[] };
type Choice = { readonly for?: Selector; readonly path?: string; readonly is?: Json };
/** JSON with templates for texts. */
type Body = Json;
interface Layout {
  /** The object; left out: the record. */
  readonly shape?: Shape;
  /** The line; left out: the text is the object. */
  readonly line?: Template;
  readonly indent?: number;
  readonly hints?: { readonly before: string; readonly between: string };
  readonly envelope?: { readonly mark: string; readonly shape: Shape };
  readonly human?: Template;
  readonly format?: { readonly argument: string; readonly default: string };
  readonly structured?: boolean;
  readonly result?: string;
  readonly isError?: boolean;
  readonly mimeTypes?: boolean;
}
interface Contract {
  readonly name: string;
  /** Where an unknown tool is reported. */
  readonly unknownTool: "rpc" | "result";
  /** How values are spelled in calls. */
  readonly literals: "json" | "python";
  /** There is a place for what was given as an argument. */
  readonly showsValues: boolean;
  readonly default: string;
  readonly layout: Layout;
  /** The layouts of tools that return their failures. */
  readonly returns: readonly { readonly tools: readonly string[]; readonly layout: Layout }[];
  readonly question?: Shape;
  /** Other forms that are read and never written. */
  readonly reads: readonly { readonly text?: Template; readonly shape?: Shape; readonly set?: { readonly [path: string]: Json } }[];
  readonly ranges: readonly { readonly from: number; readonly to: number; readonly kind: Kind; readonly name: string }[];
  /** What it means that an object says nothing about repeating the call. */
  readonly silence?: boolean;
  readonly verify: {
    readonly [tool: string]: { readonly call: string; readonly args: readonly VerifyArg[]; readonly lookAt?: string; readonly landed?: Landed };
  };
  readonly hints: readonly Hint[];
  /** How often a call is repeated, and after which waits. */
  readonly retry: { readonly retries: number; readonly startMs: number; readonly factor: number; readonly jitterMs: number; readonly jitterFrom: number };
  /** How a client waits for work that a call has begun. */
  readonly poll?: { readonly wait: string; readonly next: string; readonly status: readonly string[]; readonly pending: readonly string[] };
  /** The argument that lists the items, by tool. */
  readonly batch: { readonly [tool: string]: string };
  /** Tools that only read: all that verify does not have, or those. */
  readonly readOnly: boolean;
  readonly readers: readonly string[];
}
/** What the answer of a verify call looks like when the write has landed. */
type Landed = { readonly path: string; readonly exists?: boolean; readonly contains?: boolean; readonly pointer?: string; readonly is?: Json };
type VerifyArg = { readonly name: string; readonly pointer?: string; readonly list?: boolean; readonly is?: Json };
