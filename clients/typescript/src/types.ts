import { kinds } from "./kinds.js";

/** The types of the record's members; anything is the type of unlisted members. */
export const anything: unknown = undefined;
export const like = {
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
export const needed = {
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
export type Basis = "known" | "stated" | "profile";
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

export interface ToolResult {
  readonly content: { readonly type: "text"; readonly text: string; readonly mimeType?: string }[];
  readonly structuredContent?: Arguments;
  readonly isError?: boolean;
  readonly [member: string]: unknown;
}

