import { type Advice, advised } from "./answers.js";
import { decide, type Decision, type Nature } from "./decide.js";
import { keepFailures } from "./fetch.js";
import { metaKey } from "./kinds.js";
import {
  type Called, type Caller, CallFailed, type HTTPAnswer, InputNeeded, type Params, type RecoverOptions, type Signal,
} from "./options.js";
import { type HeadersLike, parseError, parseHTTP, parseResult, type Reading } from "./read.js";
import { type Fields, own, set, type Value } from "./record.js";
import { connected, recovered } from "./recover.js";
import { Server } from "./server.js";
import { Tables } from "./tables.js";
import type { Failure, Question, ToolResult } from "./types.js";
import { type Answer, ask, type Call, write } from "./write.js";

/** A contract: new Contract("fieldmcp") is a built-in one; its form as JSON is what `recourse contract gen NAME --lang
 * json` writes. Throws a ContractError if it cannot be read. */
export class Contract<Code extends string = string> extends Tables {
  /** Reads a tool result, the member "result" of a JSON-RPC answer: undefined if it is not a failure. */
  parseResult(result: unknown): Reading | undefined {
    return parseResult(this, result);
  }

  /** Reads the member "error" of a JSON-RPC answer. */
  parseError(error: unknown): { readonly failure: Failure } {
    return parseError(this, error);
  }

  /** Reads a whole HTTP answer: undefined if its status is not a failure. headers are like those of fetch. */
  parseHTTP(status: number, headers: HeadersLike, body: string): { readonly failure: Failure } | undefined {
    return parseHTTP(this, status, headers, body);
  }

  /** Decides whether to repeat a call that failed in its attempt-th attempt (from 1). random is in [0, 1). */
  decide(failure: Failure, nature: Nature, attempt: number, leftMs: number, random?: number): Decision {
    return decide(this, failure, nature, attempt, leftMs, random);
  }

  /** Returns the calls in the hints of a failure, for tools that the contract knows. */
  advised(failure: Failure): readonly Advice[] {
    return advised(this, failure);
  }

  /** Returns a fetch for the HTTP transport of an SDK. SDKs drop Retry-After and more from an HTTP error: it becomes a
   * JSON-RPC error, which they pass on. A lost session and a challenge to sign in reach them unchanged. */
  keepFailures<F extends (...request: never[]) => Promise<HTTPAnswer>>(fetch: F): F {
    return keepFailures(this, fetch);
  }

  /** Writes a failure for a call. Every failure has a form. */
  write(failure: Failure, call: Call = {}): Answer {
    return write(this, failure, call);
  }

  /** Writes a question to the caller; a contract without a form for questions writes that a parameter is missing. */
  ask(question: Question, call: Call = {}): Answer {
    return ask(this, question, call);
  }

  /** A failure in the words of the contract, for each code: failures.CODE("What happened.", { requestId: "req-1" }). */
  readonly failures = Object.fromEntries(
    this.codes.filter((entry) => !entry.open).map((entry) => [
      entry.code,
      (message?: string, more?: Partial<Failure>): Failure => {
        const e: Fields = { kind: entry.kind, code: entry.code, contract: this.name };
        for (const [path, value] of Object.entries(entry.set ?? {})) set(e, path, value);
        return { ...e, ...(message === undefined ? {} : { message }), ...more } as Failure;
      },
    ]),
  ) as { readonly [code in Code]: (message?: string, more?: Partial<Failure>) => Failure };
}

type CallTool = (params: Params, ...more: never[]) => Promise<unknown>;

/** Returns a client whose callTool does what the contract says when a call fails; everything else is the client's own.
 * client is one of an SDK, or anything with callTool(params). A function that calls a tool becomes one that recovers.
 */
export function recover<C extends { callTool: CallTool } | Caller>(
  client: C,
  contract?: string | Contract,
  options?: RecoverOptions,
): C extends Caller ? <R = ToolResult>(params: Called) => Promise<R> : C;
export function recover(
  client: { callTool: CallTool } | Caller,
  contract: string | Contract = "recourse",
  options: RecoverOptions = {},
): unknown {
  const c = typeof contract === "string" ? new Contract(contract) : contract;
  const given = { server: new Server(), ...options };
  const run = async (caller: Caller, params: Called, more: RecoverOptions): Promise<unknown> =>
    recovered(c, caller, params, more).catch((ended: unknown) => {
      const result = options.returns === true ? resultOf(c, ended, params, more) : undefined;
      if (result) return result;
      throw ended;
    });
  if (typeof client === "function") return (params: Called) => run(client, params, given);
  const send = (client.callTool as (...all: unknown[]) => Promise<unknown>).bind(client);
  const callTool = async (params: Params, ...more: unknown[]): Promise<unknown> => {
    const call: Caller = (args, signal) => send({ ...params, ...args }, ...withSignal(client.callTool, more, signal));
    const signal = more.map((one) => own(one as Value, "signal") as Signal | undefined).find((one) => one);
    return run(call, params, signal ? { ...given, signal } : given);
  };
  return new Proxy(client, {
    get(target, name) {
      const value: unknown = name === "callTool" ? callTool : Reflect.get(target, name, target);
      return typeof value === "function" && name !== "callTool" ? (value as CallTool).bind(target) : value;
    },
  });
}

/** Returns what a call has ended with as a result, for a model to read: one text says everything. */
function resultOf(c: Contract, ended: unknown, params: Called, options: RecoverOptions): unknown {
  const tools = options.tools?.map((tool) => tool.name);
  const call = { tool: params.name, arguments: params.arguments, outputSchema: true, ...(tools && { tools }) };
  if (ended instanceof CallFailed) return asResult(c.write(ended.failure, call));
  return ended instanceof InputNeeded ? asResult(c.ask(ended.question, call)) : undefined;
}

/** Returns an answer as the result of a tool: the errors of the protocol no tool can send. */
export function asResult(answer: Answer): ToolResult {
  if (answer.surface === "result") return answer.result;
  const { message, data } = answer.surface === "error" ? answer.error : { message: answer.body, data: undefined };
  const meta = own(data as Value, "v") === undefined ? {} : { _meta: { [metaKey]: data } };
  return { content: [{ type: "text", text: message }], isError: true, ...meta };
}

/** Adds the signal to what else an SDK's callTool is given: its options come last, in version 1 after a schema. */
function withSignal(callTool: CallTool, more: readonly unknown[], signal: Signal): unknown[] {
  const at = Math.max(more.length - 1, callTool.length > 1 ? 0 : 1);
  const all = [...more];
  while (all.length <= at) all.push(undefined);
  all[at] = { ...(all[at] as object | undefined), signal };
  return all;
}

/** Connects to the server, and follows the contract if that fails: nothing is done by connecting, so whatever may pass
 * is tried again. connect makes a session of its own in each attempt. */
export async function recoverConnect<S>(
  connect: (signal: Signal) => S | Promise<S>,
  contract: string | Contract = "recourse",
  options: RecoverOptions = {},
): Promise<S> {
  return connected(typeof contract === "string" ? new Contract(contract) : contract, connect, options);
}
