// ---- Recovering.

// The parts of every runtime that are used here.
type Signal = typeof globalThis extends { AbortSignal: { prototype: infer T } } ? T : BareSignal;
type BareSignal = Record<"addEventListener" | "removeEventListener", (on: "abort", run: () => void) => void>
  & { readonly aborted: boolean; readonly reason?: unknown };
declare const AbortController: new () => { readonly signal: BareSignal; abort(reason?: unknown): void };
declare const setTimeout: (run: () => void, ms: number) => unknown;
declare const clearTimeout: (timer: unknown) => void;
declare const Response: new (body: string, init: { headers: { [name: string]: string } }) => HTTPAnswer;
type HTTPAnswer = { readonly status: number; readonly headers: HeadersLike; text(): Promise<string> };
export type Called = { readonly name: string; readonly arguments?: Arguments | undefined };
type Params = { name: string; arguments?: { [name: string]: unknown } };
/** The client of an SDK, or a function that calls a tool and passes on the signal. */
export type Caller = { callTool(params: Params): Promise<unknown> } | ((p: Params, signal: Signal) => Promise<unknown>);

/** A step of a call, in its attempt-th attempt. A wait is reported before it begins, every other step after its end. */
export interface Step {
  readonly action: "call" | "verify" | "poll" | "connect" | "answer" | "wait" | "decide";
  readonly tool: string;
  readonly attempt: number;
  readonly waitMs?: number;
  readonly failure?: Failure;
  readonly reason?: string;
}

//{{if has "contract.verify" "contract.record" "contract.advised" ":call"}}
/** The facts for judging whether a write took effect. result: of the verify call; undefined: no such item. */
export interface Verification {
  readonly tool: string;
  readonly arguments: Arguments;
  readonly failure: Failure;
  readonly verify: Verify;
  readonly result: unknown;
}

//{{end}}
/** How recover works. server is the state that callers of one server share. timeoutMs limits the whole call (default: 5
 * minutes), attemptTimeoutMs an attempt (default: the same, less a quarter, at most 15 s, if something could follow).
 * If trusted is false, the server's word that a call took no effect does not count. natures says what tools do if the
 * contract does not; tools are those of tools/list. connect connects an account, and answer returns arguments: the call
 * is repeated with them. observe is called with each step, which is added to report.
//{{if has "contract.verify" "contract.record" "contract.advised" ":call"}}
 * landed judges whether a write has landed if the contract does not; undefined: open.
//{{end}}
//{{if has "contract.batch"}}
 * succeeded gets the items of a batch as soon as they are done.
//{{end}}
 */
export interface RecoverOptions {
  readonly server?: Server;
  readonly timeoutMs?: number;
  readonly attemptTimeoutMs?: number;
  readonly signal?: Signal;
  readonly trusted?: boolean;
  readonly natures?: { readonly [tool: string]: Nature };
  readonly tools?: readonly { readonly name: string; readonly inputSchema?: unknown }[];
  readonly connect?: (failure: Failure) => unknown;
  readonly answer?: (question: Question) => Arguments | Promise<Arguments>;
//{{if has "contract.verify" "contract.record" "contract.advised" ":call"}}
  readonly landed?: (v: Verification) => boolean | undefined | Promise<boolean | undefined>;
//{{end}}
//{{if has "contract.batch"}}
  readonly succeeded?: (items: NonNullable<Failure["succeeded"]>) => unknown;
//{{end}}
  readonly observe?: (step: Step) => void;
  readonly report?: Step[];
  readonly random?: () => number;
  readonly sleep?: (ms: number, signal: Signal) => Promise<void>;
}

/** The failure with which a call has ended. result: the items that have succeeded, if only a part has failed. */
export class CallFailed extends Error {
  override readonly name = "CallFailed";
  readonly failure: Failure;
  readonly result: unknown;

  constructor(failure: Failure, result?: unknown, cause?: unknown) {
    super(failure.message ?? failure.kind.replaceAll("_", " "), { cause });
    this.failure = failure;
    this.result = result;
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
