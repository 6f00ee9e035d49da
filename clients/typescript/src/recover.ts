import { advised, dataOf, landedBy, parseCall, unmetBy } from "./answers.js";
import { repeatItems, tellsItems } from "./batch.js";
import { find, verifyCall } from "./calls.js";
import { backoff, type Decision, judge, maySucceed, type Nature, refuse, settle } from "./decide.js";
import { keptStatus } from "./fetch.js";
import {
  type BareSignal, type Called, type Caller, CallFailed, InputNeeded, type Params,
  type RecoverOptions, type Signal, type Step, withoutKey,
} from "./options.js";
import { failureOf, parseError, parseResult, readHTTP, type Reading, statedBy } from "./read.js";
import {
  adviceOf, attempt, canonical, child, classOf, copyOf, type Fields, fieldsOr, isEmpty, isObject, isText, kindOf,
  numberOr, own, textOr, type Value,
} from "./record.js";
import { type Ending, Server } from "./server.js";
import type { Tables } from "./tables.js";
import type { Arguments, Verify } from "./types.js";

// Of every runtime.
declare const AbortController: new () => { readonly signal: BareSignal; abort(reason?: unknown): void };
declare const setTimeout: (run: () => void, ms: number) => unknown;
declare const clearTimeout: (timer: unknown) => void;

/** One call of the caller, with everything that is done for it. */
export type Exchange = ReturnType<typeof exchange>;
function exchange(c: Tables, call: Caller, params: Called, options: RecoverOptions) {
  const { name: tool, arguments: given = {}, _meta: meta } = params;
  const ends = Date.now() + (options.timeoutMs ?? 300_000);
  const state = { server: options.server ?? new Server(), attempt: 0, answers: 0, connected: false };
  const format = c.table.layouts[0].format?.argument ?? "";
  const schema = copyOf(options.tools?.find((t) => t.name === tool)?.inputSchema);
  const hasFormat = child(child(schema, "properties"), format) !== undefined;
  const args: Arguments = hasFormat ? { [format]: "json", ...given } : given;
  const ended = { cause: undefined as unknown, answer: undefined as unknown };
  return { c, call, tool, args, meta, options, ends, ...state, ...ended };
}

/** Calls a tool, and follows the contract if the call fails. */
export async function recovered<R>(c: Tables, caller: Caller, call: Called, options: RecoverOptions): Promise<R> {
  const x = exchange(c, caller, call, options);
  const { connect, answer } = options;
  const { mistakes } = x.server;
  const mistake = mistakes.get(fingerprint(x));
  if (mistake && Date.now() < mistake.until) {
    const reason = "the same call was a mistake before: it is not sent";
    note(x, { action: "decide", failure: mistake.failure, reason });
    throw new CallFailed(mistake.failure);
  }
  for (let before: Fields | undefined; ; ) {
    const outcome = await make(x, "call", x.tool, x.args);
    const { question } = outcome;
    if (question) {
      const asks = answer && !doubts(x, x.tool) && x.answers++ < 5;
      const given = asks ? await hook(x, "answer", () => answer(question)) : undefined;
      if (!given) throw new InputNeeded(question);
      x.args = { ...x.args, ...(given.value as Arguments) };
      continue;
    }
    if (!outcome.e) return (await done(x, outcome.result)) as R;
    x.answer = outcome.result;
    if (outcome.unsent) throw failed(x, before ?? outcome.e);
    before = settle(x.c, outcome.e, natureOf(x, x.tool));
    const failure = failureOf(before);
    if (mistakes.size >= 1000) mistakes.clear();
    const isMistake = classOf(before) === "input" && kindOf(before) !== "unknown_tool" && !outcome.refused;
    const { result } = outcome; // whoever calls a tool that returns its failures reads them there
    const isReturned = x.c.table.returned.includes(x.tool) && isObject(result) && result["isError"] !== true;
    if (isMistake && !isReturned) mistakes.set(fingerprint(x), { failure, until: Date.now() + 600_000 });
    if (tellsItems(x, before)) return (await repeatItems(x, outcome.result, before)) as R;
    const isAuth = classOf(before) === "auth" && before["effect"] === "none";
    const isWord = doubts(x, x.tool) && outcome.by !== 401 && outcome.by !== 403;
    if (connect && isAuth && !isWord && !x.connected) {
      x.connected = true;
      if (await hook(x, "connect", () => connect(failure))) continue;
    }
    if (isReturned && !maySucceed(x.c, before)) return result as R;
    const settled = await verify(x, before);
    if (settled.landed) return (settled.result ?? { content: [] }) as R;
    before = settled.e;
    const repeats = await again(x, decided(x, before, x.tool, x.attempt), before);
    if (!repeats && isReturned) return result as R;
    if (!repeats) throw failed(x, before);
  }
}

/** Connects to the server, and follows the contract if that fails: nothing is done by connecting, so whatever may pass
 * is tried again. connect makes a session of its own in each attempt. */
export async function connected<S>(
  c: Tables,
  connect: (signal: Signal) => S | Promise<S>,
  options: RecoverOptions,
): Promise<S> {
  let session: S | undefined;
  const open = async (_: Params, signal: Signal): Promise<unknown> => {
    session = await connect(signal);
    return { content: [] };
  };
  const natures = { ...options.natures, connect: "reads" } as const;
  await recovered(c, open, { name: "connect" }, { ...options, natures });
  return session as S;
}

/** The reason for stopping a call whose time is over. */
const timeUp = new Error("The time of the call is over.");
/** Identifies the call. */
const fingerprint = (x: Exchange): string => canonical([x.tool, copyOf(x.args)]);
const left = (x: Exchange): number => x.ends - Date.now();
const random = (x: Exchange): number => (x.options.random ?? Math.random)();
export const failed = (x: Exchange, e: Fields, result?: unknown): CallFailed =>
  new CallFailed(failureOf(e), result, x.cause, x.answer);
export const decided = (x: Exchange, e: Fields, tool: string, attempt: number): Decision =>
  judge(x.c, e, natureOf(x, tool), attempt, left(x), random(x));
export function natureOf(x: Exchange, tool: string): Nature {
  const { verify: verified, readers } = x.c.table;
  const writes = Object.hasOwn(verified, tool);
  const isTrusted = x.options.trusted !== false && !writes;
  const said = isTrusted ? x.options.tools?.find((t) => t.name === tool)?.annotations : undefined;
  const reads = (!writes && readers.some((name) => name === tool || name === "*")) || said?.readOnlyHint === true;
  return x.options.natures?.[tool] ?? (reads ? "reads" : said?.idempotentHint ? "idempotent" : "writes");
}

/** Says whether a call that the server names may be made: the server has that tool, and it only reads. */
const mayAsk = (x: Exchange, tool: string): boolean =>
  (x.options.tools?.some((t) => t.name === tool) ?? tool !== "") && natureOf(x, tool) === "reads";

function note(x: Exchange, step: Omit<Step, "tool" | "attempt"> & { readonly tool?: string }): void {
  const whole: Step = { tool: x.tool, ...step, attempt: x.attempt };
  x.options.report?.push(whole);
  attempt(() => x.options.observe?.(whole)); // what an observer does wrong is no fault of the call's
}

/** Runs something until it ends, or its time is over, or the caller stops the call: the latter two throw the reason. */
async function within<T>(x: Exchange, ms: number, run: (signal: Signal) => T | Promise<T>): Promise<T> {
  const outer = x.options.signal as BareSignal | undefined;
  const stop = new AbortController();
  const aborted = (): void => stop.abort(outer?.reason);
  const timer = setTimeout(() => stop.abort(timeUp), Math.min(Math.max(ms, 0), 2 ** 31 - 1));
  outer?.addEventListener("abort", aborted);
  try {
    if (outer?.aborted) throw outer.reason;
    const { signal } = stop;
    const ended = new Promise<never>((_, fail) => signal.addEventListener("abort", () => fail(signal.reason)));
    return await Promise.race([run(signal as Signal), ended]);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener("abort", aborted);
    stop.abort(timeUp);
  }
}

/** Waits, and says whether the call continues. */
async function wait(x: Exchange, waitMs: number, reason: string): Promise<boolean> {
  if (waitMs > 0) note(x, { action: "wait", waitMs, reason });
  const { sleep } = x.options;
  const forever = new Promise<void>(() => undefined);
  const ms = sleep ? left(x) : Math.min(waitMs, left(x));
  if (waitMs > 0) await within(x, ms, (signal) => sleep?.(waitMs, signal) ?? forever).catch(() => undefined);
  return left(x) > 0 && x.options.signal?.aborted !== true;
}

/** The result of one call. lost: it did not reach the server; refused: by an HTTP status, before MCP; by: that status,
 * or the code of a JSON-RPC error. */
export type Outcome = Partial<Reading> &
  { result?: unknown; e?: Fields; lost?: boolean; unsent?: boolean; refused?: boolean; by?: unknown };
/** Makes one call: of the tool, or of another one on its behalf. */
export async function make(
  x: Exchange, action: "call" | "verify" | "poll", tool: string, args: Arguments,
): Promise<Outcome> {
  const last = x.ends - Math.min(left(x) / 4, 15_000);
  const admit = () => x.server.admit(Date.now(), last, tool);
  for (let [ms, why] = admit(); ms > 0; [ms, why] = admit()) {
    if (ms < left(x) && (await wait(x, ms, `${kindOf(why)}: calls are held back`))) continue;
    return { e: { ...why, afterMs: Math.ceil(ms), effect: "none" }, unsent: true };
  }
  if (action === "call" && x.attempt++ === 0) x.server.take(-0.2);
  const outcome = await send(x, tool, args);
  const e = outcome.e && believed(x, outcome.e, tool, outcome.by);
  x.server.learn(Date.now(), tool, endingOf(x, e, outcome.lost), e);
  note(x, { action, tool, ...(e && { failure: failureOf(e) }) });
  return e ? { ...outcome, e } : outcome;
}

function endingOf(x: Exchange, e: Fields | undefined, lost = false): Ending {
  if (!e) return "answered";
  if (kindOf(e) === "cancelled" || (kindOf(e) === "timeout" && left(x) <= 0)) return "untold";
  if (lost) return "unreached";
  return classOf(e) === "upstream" && maySucceed(x.c, e) ? "down" : "answered";
}

/** Makes one attempt. If something could be done after it, it leaves time for that. */
async function send(x: Exchange, tool: string, args: Arguments): Promise<Outcome> {
  const isLast = natureOf(x, tool) === "writes" && !Object.hasOwn(x.c.table.verify, x.tool);
  const ms = Math.min(x.options.attemptTimeoutMs ?? left(x) - (isLast ? 0 : Math.min(left(x) / 4, 15_000)), left(x));
  x.cause = undefined;
  try {
    const meta = args === x.args ? x.meta : withoutKey(x.meta); // what remains of a batch is another call
    const params = { name: tool, arguments: { ...args }, ...(meta && { _meta: { ...meta } }) };
    const result = await within(x, ms, (signal) => x.call(params, signal));
    const reading = parseResult(x.c, result);
    const e = reading ? reading.failure && statedBy(reading.failure) : unmetBy(x.c, tool, args, result);
    return { result, ...reading, ...(e && { e }) };
  } catch (cause) {
    x.cause = cause;
    if (x.options.signal?.aborted) return { e: { kind: "cancelled", origin: "caller" } };
    return cause === timeUp ? { e: { kind: "timeout", origin: "caller" }, lost: true } : thrown(x.c, cause);
  }
}

/** Reads an error that an SDK has thrown. After an unknown error, the call may or may not have been sent. */
function thrown(c: Tables, error: unknown): Outcome {
  const { code, status, message, data } = Object(error) as Arguments;
  const text = isText(message) ? message : String(error);
  const refusedBy = (by: number, e: Fields): Outcome => ({ e, lost: by >= 502 && by <= 504, refused: true, by });
  const numbers = "data" in Object(error) ? [status] : [status, code]; // with data: of a JSON-RPC error
  const http = numbers.find((n): n is number => typeof n === "number" && n >= 400 && n <= 599);
  const body = text.includes("{") ? text.slice(text.indexOf("{")) : "";
  if (http) return refusedBy(http, readHTTP(c, http, { get: () => null }, body));
  const isLate = code === -32001 || code === "REQUEST_TIMEOUT"; // of the SDK itself
  if (typeof code !== "number" || code === -32000 || isLate) {
    return { e: { kind: isLate ? "timeout" : "unreachable", message: text }, lost: true };
  }
  const { [keptStatus]: kept, ...told } = fieldsOr(copyOf(data));
  const e = statedBy(parseError(c, { code, message: text, data: kept === undefined ? data : told }).failure);
  if (typeof kept === "number") return refusedBy(kept, e);
  return { e, by: kindOf(e) === "bad_response" ? 0 : Math.min(code, 0) };
}

/** Says whether nothing that the server says may make a call of a tool run again. */
const doubts = (x: Exchange, tool: string): boolean => x.options.trusted === false && natureOf(x, tool) === "writes";

/** Removes from a failure what an untrusted server says about the effect, and kinds are words, too. What counts is the
 * HTTP status, or the protocol's code, that refused the call; and only 429 says that the same call may succeed. */
export function believed(x: Exchange, e: Fields, tool: string, by?: unknown): Fields {
  if (x.options.trusted !== false || e["effect"] === "applied" || e["effect"] === "unknown") return e;
  const isRefused = /^(40[01356]|41[35]|421|429|-32(700|60[012]|02[012]))$/.test(String(by));
  const isNone = isRefused || natureOf(x, tool) === "reads";
  const effect = isNone ? "none" : kindOf(e) === "partial" ? "applied" : "unknown";
  const said = isRefused && by !== 429 && doubts(x, tool) ? adviceOf(e) : undefined;
  return { ...e, effect, ...(said && { retry: said === "same_call" ? "never" : said }) };
}

/** Waits for the next attempt, and says whether there is one. */
export async function again(x: Exchange, d: Decision, e: Fields, what = ""): Promise<boolean> {
  if (d.repeat && !x.server.take()) d = refuse("the budget of repetitions is spent");
  const waitMs = d.repeat ? x.server.turn(Date.now(), d.waitMs) : 0;
  if (d.repeat && waitMs >= left(x)) d = refuse("the turn after the limit comes too late");
  note(x, { action: "decide", failure: failureOf(e), reason: d.repeat ? what + d.reason : d.reason });
  return d.repeat && wait(x, waitMs, d.reason);
}

/** Runs a function of the caller. */
export async function hook(
  x: Exchange, action: Step["action"], run: () => unknown,
): Promise<{ value: unknown } | undefined> {
  try {
    const value = await within(x, left(x), run);
    note(x, { action });
    return { value };
  } catch (error) {
    note(x, { action, reason: `the hook has failed: ${String(error)}` });
    return undefined;
  }
}

/** Settles a write with an unknown effect: returns whether it has landed, or the failure to judge. */
async function verify(x: Exchange, e: Fields): Promise<{ e: Fields; landed?: boolean | undefined; result?: unknown }> {
  const calls = doubts(x, x.tool) ? [] : [e["verify"]]; // an untrusted server could name one that finds nothing
  calls.push(verifyCall(x.c, x.tool, x.args));
  const advice = doubts(x, x.tool) ? [] : advised(x.c, failureOf(e));
  const named = advice.map(({ tool, args }) => ({ tool, args: copyOf(args) }));
  calls.push(...named.filter(({ args }) => !isEmpty(args)));
  const told = calls.filter(isObject).find((v) => mayAsk(x, textOr(v["tool"])));
  const call = told && completed(x, told);
  if (e["effect"] !== "unknown" || !call) return { e };
  const waitMs = Math.floor(backoff(x.c, e, 1, random(x))); // what is on its way may arrive yet
  if (waitMs >= left(x) || !(await wait(x, waitMs, "the write may be on its way"))) return { e };
  const found = await lookUp(x, textOr(call["tool"]), fieldsOr(call["args"]));
  if (!found) return { e };
  const landed = await hasLanded(x, e, call, found.result);
  const reason = landed ? "the write has landed" : "the write has not landed";
  const open = "it stays open whether the write has landed";
  note(x, { action: "decide", failure: failureOf(e), reason: landed === undefined ? open : reason });
  if (landed) x.server.mistakes.clear();
  return { e: landed === false ? { ...e, effect: "none", retry: "same_call" } : e, landed, result: found.result };
}

/** Returns a verify call with the arguments that were not shown, from the call itself; undefined: one is missing. */
function completed(x: Exchange, call: Fields): Fields | undefined {
  const taken = Object.entries(fieldsOr(call["from"])).map(([name, at]): [string, Value] => [name, ownValue(x, at)]);
  if (taken.some(([, value]) => value === undefined)) return undefined;
  return taken.length > 0 ? { ...call, args: { ...fieldsOr(call["args"]), ...Object.fromEntries(taken) } } : call;
}

/** Returns the value at a JSON Pointer into the call's own arguments, in a list if that is in one. */
function ownValue(x: Exchange, at: Value): Value {
  if (isText(at)) return find(copyOf(x.args), at).found[0];
  const value = Array.isArray(at) && at.length === 1 && isText(at[0]) ? ownValue(x, at[0]) : undefined;
  return value === undefined ? undefined : [value];
}

/** Makes the verify call until it is answered. Its result is undefined if the item does not exist. */
async function lookUp(x: Exchange, tool: string, args: Fields): Promise<{ readonly result: unknown } | undefined> {
  for (let attempt = 1; ; attempt++) {
    const outcome = await make(x, "verify", tool, args);
    const { e } = outcome;
    if (outcome.question) return undefined;
    if (!e || kindOf(e) === "not_found") return { result: e ? undefined : outcome.result };
    const d = decided(x, settle(x.c, e, "reads"), tool, attempt);
    if (!d.repeat || !x.server.take() || !(await wait(x, d.waitMs, d.reason))) return undefined;
  }
}

async function hasLanded(x: Exchange, e: Fields, call: Fields, result: unknown): Promise<boolean | undefined> {
  const verdict = landedBy(x.c, x.tool, x.args, call, result);
  if (verdict !== undefined) return verdict;
  const judged = x.options.landed;
  const given = { tool: x.tool, arguments: x.args, failure: failureOf(e), verify: call as unknown as Verify, result };
  return judged && ((await hook(x, "decide", () => judged(given)))?.value as boolean | undefined);
}

/** Ends the call with its result, or with the result of the work that it has started, if it names the call to poll. */
async function done(x: Exchange, result: unknown): Promise<unknown> {
  if (natureOf(x, x.tool) !== "reads") x.server.mistakes.clear(); // what was wrong may be right now
  const rule = x.c.table.poll;
  const call = rule && x.args[rule.wait] === undefined ? parseCall(textOr(own(dataOf(result), rule.next))) : undefined;
  if (!rule || !call || !mayAsk(x, call.tool)) return result;
  for (let pause = 1000; pause < left(x) && (await wait(x, pause, "the work goes on")); ) {
    const next = await make(x, "poll", call.tool, call.args);
    pause = Math.max(Math.min(2 * pause, 15_000), numberOr(next.e?.["afterMs"]));
    if (next.question) throw new InputNeeded(next.question);
    if (next.e && !maySucceed(x.c, next.e)) throw failed(x, { ...next.e, effect: "applied" });
    if (next.e) continue;
    result = next.result;
    const data = dataOf(result);
    const at = (pointer: string): string => textOr(find(data, pointer).found[0]);
    const isOneOf = (words: string[]): boolean => rule.status.some((pointer) => words.includes(at(pointer)));
    const message = rule.reason.map(at).find((text) => text);
    if (isOneOf(rule.failed)) throw failed(x, { ...rule.failure, ...(message && { message }) });
    if (!isOneOf(rule.pending)) return result;
  }
  return result;
}
