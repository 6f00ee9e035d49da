import type { Nature } from "./decide.js";
import type { HeadersLike } from "./read.js";
import { Server } from "./server.js";
import type { Arguments, Failure, Question, Verify } from "./types.js";

// The parts of every runtime that are used here.
export type Signal = typeof globalThis extends { AbortSignal: { prototype: infer T } } ? T : BareSignal;
export type BareSignal = Record<"addEventListener" | "removeEventListener", (on: "abort", run: () => void) => void>
  & { readonly aborted: boolean; readonly reason?: unknown };
export type HTTPAnswer = { readonly status: number; readonly headers: HeadersLike; text(): Promise<string> };
export type Called =
  { readonly name: string; readonly arguments?: Arguments | undefined; readonly _meta?: Arguments | undefined };
export type Params = { name: string; arguments?: { [name: string]: unknown }; _meta?: { [name: string]: unknown } };
/** A function that calls a tool and passes on the signal. */
export type Caller = (params: Params, signal: Signal) => Promise<unknown>;

/** The member of `_meta` that has a call's idempotency key. */
const keyMember = "io.github.recoursehq/idempotencyKey";

/** Returns params with an idempotency key: a text of the caller's own for each write that it means. Each repetition of
 * the call carries it, whoever makes it, so that a gateway or server that knows such keys does it once. */
export const withKey = <P extends Called>(params: P, key: string): P =>
  ({ ...params, _meta: { ...params._meta, [keyMember]: key } });

/** Returns the same `_meta` for another call. */
export function withoutKey(meta: Arguments | undefined): Arguments | undefined {
  const { [keyMember]: _, ...others } = meta ?? {};
  return meta && others;
}

/** A step of a call, in its attempt-th attempt. A wait is reported before it begins, every other step after its end. */
export interface Step {
  readonly action: "call" | "verify" | "poll" | "connect" | "answer" | "wait" | "decide";
  readonly tool: string;
  readonly attempt: number;
  readonly waitMs?: number;
  readonly failure?: Failure;
  readonly reason?: string;
}

/** The facts for judging whether a write took effect. result: of the verify call; undefined: no such item. */
export interface Verification {
  readonly tool: string;
  readonly arguments: Arguments;
  readonly failure: Failure;
  readonly verify: Verify;
  readonly result: unknown;
}

/** A tool of tools/list. Its annotations say what it does if the contract does not, and the server is trusted. */
export type Tool = Readonly<{ name: string; inputSchema?: unknown; annotations?: Annotations | undefined }>;
export type Annotations = Readonly<{ readOnlyHint?: boolean | undefined; idempotentHint?: boolean | undefined }>;

/** How recover works. server is the state that callers of one server share. timeoutMs limits the whole call (default: 5
 * minutes), attemptTimeoutMs an attempt (default: the same, less a quarter, at most 15 s, if something could follow).
 * returns: what a call ends with is returned as a result in the contract's form, not thrown: a model reads it there.
 * If trusted is false, the server's word that a call took no effect does not count. natures says what tools do if the
 * contract does not; tools are those of tools/list. connect connects an account, and answer returns arguments: the call
 * is repeated with them. observe is called with each step, which is added to report.
 * landed judges whether a write has landed if the contract does not; undefined: open.
 * succeeded gets the items of a batch as soon as they are done.
 */
export interface RecoverOptions {
  readonly server?: Server;
  readonly timeoutMs?: number;
  readonly attemptTimeoutMs?: number;
  readonly signal?: Signal;
  readonly trusted?: boolean;
  readonly returns?: boolean;
  readonly natures?: { readonly [tool: string]: Nature };
  readonly tools?: readonly Tool[];
  readonly connect?: (failure: Failure) => unknown;
  readonly answer?: (question: Question) => Arguments | Promise<Arguments>;
  readonly landed?: (v: Verification) => boolean | undefined | Promise<boolean | undefined>;
  readonly succeeded?: (items: NonNullable<Failure["succeeded"]>) => unknown;
  readonly observe?: (step: Step) => void;
  readonly report?: Step[];
  readonly random?: () => number;
  readonly sleep?: (ms: number, signal: Signal) => Promise<void>;
}

/** The failure with which a call has ended. result: the items that have succeeded, if only a part has failed. answer:
 * the result of the tool in which it was read. */
export class CallFailed extends Error {
  override readonly name = "CallFailed";
  readonly failure: Failure;
  readonly result: unknown;
  readonly answer: unknown;

  constructor(failure: Failure, result?: unknown, cause?: unknown, answer?: unknown) {
    super(failure.message ?? failure.kind.replaceAll("_", " "), { cause });
    this.failure = failure;
    this.result = result;
    this.answer = answer;
  }
}

/** The question with which a call has ended. */
export class InputNeeded extends Error {
  override readonly name = "InputNeeded";
  readonly question: Question;

  constructor(question: Question) {
    super(question.message);
    this.question = question;
  }
}
