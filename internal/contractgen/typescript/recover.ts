// ---- Recovering.

// What every runtime has, as far as it is needed here.
type Signal = typeof globalThis extends { AbortSignal: { prototype: infer T } } ? T : BareSignal;
interface BareSignal {
  readonly aborted: boolean;
  readonly reason?: unknown;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}
declare const AbortController: new () => { readonly signal: BareSignal; abort(reason?: unknown): void };
declare const setTimeout: (run: () => void, ms: number) => unknown;
declare const clearTimeout: (timer: unknown) => void;
declare const Response: new (body: string, init: { headers: { [name: string]: string } }) => HTTPAnswer;
interface HTTPAnswer {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

type Params = { name: string; arguments?: { [name: string]: unknown } };
/** The client of an SDK, or a function that calls a tool and hands on the signal. */
export type Caller =
  | { callTool(params: Params): Promise<unknown> }
  | ((params: Params, signal: Signal) => Promise<unknown>);

/** A step of a call. A wait is told before it begins, and everything else when it has ended. */
export interface Step {
  readonly action: "call" | "verify" | "poll" | "connect" | "answer" | "wait" | "decide";
  readonly tool: string;
  /** Of the call, from 1. */
  readonly attempt: number;
  readonly waitMs?: number;
  readonly failure?: Failure;
  readonly reason?: string;
}

/** What there is to judge whether a write took effect. */
export interface Verification {
  readonly tool: string;
  readonly arguments: Arguments;
  readonly failure: Failure;
  readonly verify: Verify;
  /** Of the verify call; undefined: there is no such thing. */
  readonly result: unknown;
}

export interface RecoverOptions {
  /** What the callers of one server share. Left out: this call has it for itself. */
  readonly server?: Server;
  /** The time of the call with all repetitions and waits; left out: 2 minutes. */
  readonly timeoutMs?: number;
  /** The time of an attempt. Left out: the call's; a quarter less, at most 15 s, if something could be done then. */
  readonly attemptTimeoutMs?: number;
  readonly signal?: Signal;
  /** False: the server is not believed that a call took no effect. */
  readonly trusted?: boolean;
  /** What tools do, where the contract does not say it. */
  readonly natures?: { readonly [tool: string]: Nature };
  /** The tools of the server, as tools/list has them. */
  readonly tools?: readonly { readonly name: string; readonly inputSchema?: unknown }[];
  /** Has an account connected; the call is made once more when it returns. */
  readonly connect?: (failure: Failure) => unknown;
  /** Answers a question with arguments, with which the call is made again. */
  readonly answer?: (question: Question) => Arguments | Promise<Arguments>;
  /** Judges whether a write has landed, where the contract does not say how; undefined: it stays open. */
  readonly landed?: (v: Verification) => boolean | undefined | Promise<boolean | undefined>;
  /** Is given the items of a batch as soon as they have succeeded. */
  readonly succeeded?: (items: NonNullable<Failure["succeeded"]>) => unknown;
  /** Is told of each step. */
  readonly observe?: (step: Step) => void;
  /** The steps are added to it. */
  readonly report?: Step[];
  readonly random?: () => number;
  /** Waits. */
  readonly sleep?: (ms: number, signal: Signal) => Promise<void>;
}

/** The failure that a call has ended with. */
export class CallFailed extends Error {
  readonly failure: Failure;
  /** The items that have succeeded, of a call that has failed in part. */
  readonly result: unknown;

  constructor(failure: Failure, result?: unknown, cause?: unknown) {
    super(failure.message ?? failure.kind.replaceAll("_", " "), { cause });
    [this.name, this.failure, this.result] = ["CallFailed", failure, result];
  }
}

/** The question that a call has ended with. */
export class InputNeeded extends Error {
  readonly question: Question;

  constructor(question: Question) {
    super(question.message);
    [this.name, this.question] = ["InputNeeded", question];
  }
}

/**
 * What all callers of one server share: a budget of repetitions, a pace after rate limits, a circuit that opens when
 * the server cannot be reached, and the mistakes that it has refused.
 */
export class Server {
  readonly #mistakes = new Map<string, { readonly failure: Failure; readonly at: number }>();
  #spent = 0;
  #resumes = 0;
  #next = 0;
  #failures = 0;
  #opens = 0;
  #until = 0;
  #trying = false;

  /** Returns the failure of a call that was a mistake in the last ten minutes. */
  mistake(call: string): Failure | undefined {
    const known = this.#mistakes.get(call);
    return known && Date.now() - known.at < 600_000 ? known.failure : undefined;
  }

  /** Notes a call that is a mistake: to make it again would end in the same way. */
  remember(call: string, failure: Failure): void {
    if (this.#mistakes.size >= 1000) this.#mistakes.clear();
    this.#mistakes.set(call, { failure, at: Date.now() });
  }

  /** Forgets the mistakes: something was written, and what was wrong may be right now. */
  forget(): void {
    this.#mistakes.clear();
  }

  /** Says whether a repetition is within the budget, and takes it. Each call earns a fifth of one. */
  take(): boolean {
    if (this.#spent + 1 > 10) return false;
    this.#spent++;
    return true;
  }

  /** Returns how long a caller waits for its turn: after a rate limit one comes after the other. */
  turn(leastMs: number): number {
    const now = Date.now();
    if (now >= this.#resumes) return leastMs;
    const at = this.#next;
    this.#next = at + Math.min(100, (this.#resumes - now) / 10);
    return Math.max(at - now, leastMs);
  }

  /** Returns how long a caller waits until it asks again. 0: its call begins, and learn is told how it ends. */
  admit(first: boolean): number {
    const wait = this.#until - Date.now();
    if (this.#failures >= 5 && (wait > 0 || this.#trying)) return Math.max(wait, 100);
    this.#trying = this.#failures >= 5;
    if (first) this.#spent = Math.max(this.#spent - 0.2, -90);
    return 0;
  }

  /** Takes in how a call has ended: whether it reached the server, if that is known, and how long that limits calls. */
  learn(reached: boolean | undefined, limitMs: number): void {
    const now = Date.now();
    this.#trying = false;
    if (reached === true) this.#failures = this.#opens = 0;
    const openMs = Math.min(1000 * 2 ** this.#opens, 30_000);
    if (reached === false && ++this.#failures >= 5) [this.#until, this.#opens] = [now + openMs, this.#opens + 1];
    const resumes = now + Math.min(limitMs, maxWaitMs);
    if (limitMs > 0 && resumes > this.#resumes) this.#resumes = this.#next = resumes;
  }
}

/** Calls a tool, and does what the contract says when the call fails. It throws CallFailed or InputNeeded. */
export async function recover<R = ToolResult>(
  caller: Caller, params: { name: string; arguments?: Arguments | undefined }, options: RecoverOptions = {},
): Promise<R> {
  return (await new Exchange(caller, params.name, params.arguments ?? {}, options).run()) as R;
}

/**
 * Returns a fetch for the HTTP transport of an SDK. Of an answer that is no success SDKs drop Retry-After, and more: it
 * becomes a JSON-RPC error, which they hand on. A lost session and a challenge to sign in reach them as they are.
 */
export function keepFailures<F extends (...request: never[]) => Promise<HTTPAnswer>>(fetch: F): F {
  const send = async (...request: Parameters<F>): Promise<HTTPAnswer> => {
    const answer = await fetch(...request);
    const body = isObject(request[1]) && isText(request[1]["body"]) ? parsed(request[1]["body"]) : undefined;
    const id = own(body, "id");
    const asIs = answer.status < 400 || answer.status === 404 || answer.headers.get("WWW-Authenticate") !== null;
    if (asIs || id === undefined) return answer;
    const { failure } = parseHTTP(answer.status, answer.headers, await answer.text()) as { failure: Failure };
    const effect = failure.effect ?? effectOf(statedBy(failure), "writes");
    const data = { ...failure, effect, httpStatus: answer.status };
    const error = { code: -32603, message: failure.message ?? failure.kind, data };
    const headers = { "Content-Type": "application/json" };
    return new Response(JSON.stringify({ jsonrpc: "2.0", id, error }), { headers });
  };
  return send as F;
}

/** What one call has led to: a result, a failure or a question. */
interface Outcome {
  readonly result?: unknown;
  readonly e?: Fields;
  readonly question?: Question;
  /** Whether the server was reached; undefined: that is not known. */
  readonly reached?: boolean | undefined;
  /** The call was not made. */
  readonly unsent?: boolean;
  /** It was refused by an HTTP status, before MCP. */
  readonly refused?: boolean;
}

/** One call of the caller's, with all that is done for it. */
class Exchange {
  readonly caller: Caller;
  readonly tool: string;
  readonly options: RecoverOptions;
  readonly server: Server;
  readonly ends: number;
  args: Arguments;
  attempt = 0;
  answers = 0;
  connected = false;
  cause: unknown;

  constructor(caller: Caller, tool: string, args: Arguments, options: RecoverOptions) {
    [this.caller, this.tool, this.options] = [caller, tool, options];
    this.server = options.server ?? new Server();
    this.ends = Date.now() + (options.timeoutMs ?? 120_000);
    const format = contract.layout.format?.argument ?? "";
    const schema = copyOf(options.tools?.find((t) => t.name === tool)?.inputSchema);
    this.args = child(child(schema, "properties"), format) === undefined ? args : { [format]: "json", ...args };
  }

  async run(): Promise<unknown> {
    const mistake = this.server.mistake(this.fingerprint());
    if (mistake) {
      this.note({ action: "decide", failure: mistake, reason: "the same call was a mistake before: it is not sent" });
      throw new CallFailed(mistake);
    }
    for (let before: Fields | undefined; ; ) {
      const { result, e: failed, question, unsent, refused } = await this.call("call", this.tool, this.args);
      if (question && !(await this.ask(question))) throw new InputNeeded(question);
      if (question) continue;
      if (!failed) return this.follow(result);
      if (unsent) throw this.failed(before ?? failed);
      const e = settle(failed, this.natureOf(this.tool));
      const kind = kindOf(e);
      const mistaken = kinds[kind].class === "input" && kind !== "unknown_tool" && !refused;
      if (mistaken) this.server.remember(this.fingerprint(), failureOf(e));
      if (kind === "partial") return this.repeatItems(result, e);
      if (await this.connect(e)) continue;
      const settled = await this.verify(e);
      if (settled.landed) return settled.result ?? { content: [] };
      before = settled.e;
      if (!(await this.again(this.judge(before, this.tool, this.attempt), before))) throw this.failed(before);
    }
  }

  /** Tells the call from others. */
  fingerprint = (): string => canonical([this.tool, copyOf(this.args)]) ?? "";
  left = (): number => this.ends - Date.now();
  random = (): number => (this.options.random ?? Math.random)();
  failed = (e: Fields, result?: unknown): CallFailed => new CallFailed(failureOf(e), result, this.cause);
  judge = (e: Fields, tool: string, attempt: number): Decision =>
    judge(e, this.natureOf(tool), attempt, this.left(), this.random());

  /** Returns how long one attempt may take: where something could be done after it, it leaves time for that. */
  attemptMs(tool: string): number {
    const last = this.natureOf(tool) === "writes" && !Object.hasOwn(contract.verify, this.tool);
    const reserve = last ? 0 : Math.min(this.left() / 4, 15_000);
    return Math.min(this.options.attemptTimeoutMs ?? this.left() - reserve, this.left());
  }

  natureOf(tool: string): Nature {
    const reads = !Object.hasOwn(contract.verify, tool) && (contract.readOnly || contract.readers.includes(tool));
    return this.options.natures?.[tool] ?? (reads ? "reads" : "writes");
  }

  /** Says whether a call that the server names is made: if the server has that tool, and it only reads. */
  mayAsk(tool: string): boolean {
    const listed = this.options.tools?.some((t) => t.name === tool) ?? tool !== "";
    return listed && this.natureOf(tool) === "reads";
  }

  note(step: Omit<Step, "tool" | "attempt"> & { readonly tool?: string }): void {
    const whole: Step = { tool: this.tool, ...step, attempt: this.attempt };
    this.options.report?.push(whole);
    try {
      this.options.observe?.(whole);
    } catch {
      // What an observer does wrong is no fault of the call's.
    }
  }

  /** Runs something until it has ended, or its time is over, or the caller stops the call: both throw why. */
  async within<T>(ms: number, run: (signal: Signal) => T | Promise<T>): Promise<T> {
    const outer = this.options.signal as BareSignal | undefined;
    const stop = new AbortController();
    const aborted = (): void => stop.abort(outer?.reason);
    const timer = setTimeout(() => stop.abort(timeUp), Math.min(Math.max(ms, 0), 2 ** 31 - 1));
    outer?.addEventListener("abort", aborted);
    try {
      if (outer?.aborted) throw outer.reason;
      const ended = new Promise<never>((_, reject) => {
        stop.signal.addEventListener("abort", () => reject(stop.signal.reason));
      });
      return await Promise.race([run(stop.signal as Signal), ended]);
    } finally {
      clearTimeout(timer);
      outer?.removeEventListener("abort", aborted);
      stop.abort(timeUp);
    }
  }

  /** Waits, and says whether the call goes on. */
  async wait(ms: number, reason: string): Promise<boolean> {
    if (ms > 0) this.note({ action: "wait", waitMs: ms, reason });
    try {
      if (ms > 0) await this.within(this.left(), (signal) => (this.options.sleep ?? sleep)(ms, signal));
    } catch {
      return false;
    }
    return this.left() > 0 && this.options.signal?.aborted !== true;
  }

  /** Makes one call: of the tool, or of another on its behalf. */
  async call(action: "call" | "verify" | "poll", tool: string, args: Arguments): Promise<Outcome> {
    const first = action === "call" && this.attempt === 0;
    for (let wait = this.server.turn(0) || this.server.admit(first); wait > 0; wait = this.server.admit(first)) {
      if (wait < this.left() && (await this.wait(wait, "the server is not called for a while"))) continue;
      const e = { kind: "unavailable", afterMs: Math.floor(wait), effect: "none", retry: "same_call" };
      return { e, unsent: true };
    }
    if (action === "call") this.attempt++;
    const outcome = await this.send(tool, args);
    const e = outcome.e && this.believed(outcome.e, tool);
    this.server.learn(outcome.reached, e && kindOf(e) === "rate_limited" ? numberOr(e["afterMs"]) : 0);
    this.note({ action, tool, ...(e && { failure: failureOf(e) }) });
    return e ? { ...outcome, e } : outcome;
  }

  async send(tool: string, args: Arguments): Promise<Outcome> {
    const { caller } = this;
    const call = typeof caller === "function" ? caller : (params: Params) => caller.callTool(params);
    this.cause = undefined;
    try {
      const made = (signal: Signal) => call({ name: tool, arguments: { ...args } }, signal);
      const result = await this.within(this.attemptMs(tool), made);
      return { result, reached: true, ...outcomeOf(parseResult(result)) };
    } catch (cause) {
      this.cause = cause;
      if (this.options.signal?.aborted) return { e: { kind: "cancelled", origin: "caller" } };
      if (cause !== timeUp) return thrown(cause);
      return { e: { kind: "timeout", origin: "caller" }, reached: this.left() > 0 ? false : undefined };
    }
  }

  /** Takes from a failure what a server that is not trusted says of the effect. */
  believed(e: Fields, tool: string): Fields {
    if (this.options.trusted !== false || e["effect"] === "applied" || e["effect"] === "unknown") return e;
    return { ...e, effect: effectOf({ ...e, effect: "" }, this.natureOf(tool)) };
  }

  /** Waits for the next attempt, and says whether there is one. */
  async again(d: Decision, e: Fields, what = ""): Promise<boolean> {
    if (d.repeat && !this.server.take()) d = refuse("the budget of repetitions is spent");
    const waitMs = d.repeat ? this.server.turn(d.waitMs) : 0;
    if (d.repeat && waitMs >= this.left()) d = refuse("the turn after the limit comes too late");
    this.note({ action: "decide", failure: failureOf(e), reason: d.repeat ? what + d.reason : d.reason });
    return d.repeat && this.wait(waitMs, d.reason);
  }

  /** Runs a function of the caller's. */
  async hook<T>(action: Step["action"], run: () => T | Promise<T>): Promise<{ value: T } | undefined> {
    try {
      const value = await this.within(this.left(), run);
      this.note({ action });
      return { value };
    } catch (error) {
      this.note({ action, reason: `the hook has failed: ${String(error)}` });
      return undefined;
    }
  }

  async connect(e: Fields): Promise<boolean> {
    const { connect } = this.options;
    if (kinds[kindOf(e)].class !== "auth" || !connect || this.connected || e["effect"] !== "none") return false;
    this.connected = true;
    return (await this.hook("connect", () => connect(failureOf(e)))) !== undefined;
  }

  async ask(question: Question): Promise<boolean> {
    const { answer } = this.options;
    const given = answer && ++this.answers <= 5 ? await this.hook("answer", () => answer(question)) : undefined;
    this.args = { ...this.args, ...given?.value };
    return given !== undefined;
  }

  /** Settles what became of a write of which it is not known: whether it has landed, or the failure to judge. */
  async verify(e: Fields): Promise<{ e: Fields; landed?: boolean | undefined; result?: unknown }> {
    const mine = verifyCall(this.tool, this.args);
    const call = [e["verify"], mine].filter(isObject).find((v) => this.mayAsk(textOr(v["tool"])));
    if (e["effect"] !== "unknown" || !call) return { e };
    const wait = Math.floor(backoff(e, 1, this.random())); // what is on its way may arrive yet
    if (wait >= this.left() || !(await this.wait(wait, "the write may be on its way"))) return { e };
    const found = await this.lookUp(textOr(call["tool"]), fieldsOr(call["args"]));
    if (!found) return { e };
    const landed = await this.landed(e, call, mine, found.result);
    const reason = landed ? "the write has landed" : "the write has not landed";
    const open = "it stays open whether the write has landed";
    this.note({ action: "decide", failure: failureOf(e), reason: landed === undefined ? open : reason });
    if (landed) this.server.forget();
    return { e: landed === false ? { ...e, effect: "none", retry: "same_call" } : e, landed, result: found.result };
  }

  async lookUp(tool: string, args: Fields): Promise<{ readonly result: unknown } | undefined> {
    for (let attempt = 1; ; attempt++) {
      const { result, e, question } = await this.call("verify", tool, args);
      if (question) return undefined;
      if (!e || kindOf(e) === "not_found") return { result: e ? undefined : result };
      const d = this.judge(settle(e, "reads"), tool, attempt);
      if (!d.repeat || !this.server.take() || !(await this.wait(d.waitMs, d.reason))) return undefined;
    }
  }

  async landed(e: Fields, call: Fields, mine: Fields | undefined, result: unknown): Promise<boolean | undefined> {
    const { tool, args, options } = this;
    const data = dataOf(result);
    const rule = Object.hasOwn(contract.verify, tool) ? contract.verify[tool] : undefined;
    // Without an argument that the verify call takes from this one, it asks about something else.
    const asks = rule?.args.every((a) => own(mine?.["args"], a.name) !== undefined);
    const mineToo = same([call["tool"], call["args"]], [mine?.["tool"], mine?.["args"]]);
    const fits = asks && mineToo && (!result || data !== undefined);
    const verdict = fits && rule?.landed ? hasLanded(rule.landed, args, data) : undefined;
    if (verdict !== undefined || !options.landed) return verdict;
    const given = { tool, arguments: args, failure: failureOf(e), verify: asVerify(call), result };
    return (await this.hook("decide", () => options.landed?.(given)))?.value;
  }

  /** Makes a call that has failed in part again, with the items alone that failed and may succeed. */
  async repeatItems(result: unknown, e: Fields): Promise<unknown> {
    const argument = textOr(own(contract.batch as Fields, this.tool));
    let items = new Map(listOr(own(copyOf(this.args), argument)).map((item) => [idOf(item), item]));
    const succeeded: Fields[] = [];
    const failed: Fields[] = [];
    for (;;) {
      await this.hand(succeeded, listOr(e["succeeded"]).map(fieldsOr));
      const again = new Map<string, Fields>();
      let longest = refuse("");
      for (const f of listOr(e["failed"]).map(fieldsOr)) {
        const error = f["error"];
        const nature = this.natureOf(this.tool);
        const known = items.has(textOr(f["id"])) && !succeeded.some((s) => s["id"] === f["id"]);
        const settled = known && isObject(error) ? settle(this.believed(error, this.tool), nature) : undefined;
        const d = settled ? this.judge(settled, this.tool, this.attempt) : refuse("");
        if (d.repeat) again.set(textOr(f["id"]), f);
        else failed.push(f);
        if (d.repeat && d.waitMs >= longest.waitMs) longest = d;
      }
      const goes = again.size > 0 && (await this.again(longest, e, "items that failed may succeed: "));
      const args = { ...this.args, [argument]: [...again.keys()].map((id) => items.get(id)) };
      const next = goes ? await this.call("call", this.tool, args) : undefined;
      if (next?.e && !next.unsent) {
        const settled = settle(next.e, this.natureOf(this.tool));
        const all = [...again.keys()].map((id) => ({ id, error: settled }));
        e = kindOf(settled) === "partial" ? settled : { ...e, message: undefined, succeeded: [], failed: all };
        const told = [...listOr(e["succeeded"]), ...listOr(e["failed"])].map((f) => own(f, "id"));
        failed.push(...[...again.values()].filter((f) => !told.includes(f["id"])));
        items = new Map([...again.keys()].map((id) => [id, items.get(id)]));
        continue;
      }
      if (!next || next.question || next.unsent) failed.push(...again.values());
      else await this.hand(succeeded, itemsOf([...again.keys()], dataOf(next.result)));
      break;
    }
    const merged = { succeeded, failed: failed.map((f) => ({ ...f, error: encode(fieldsOr(f["error"])) })) };
    const content = [{ type: "text", text: JSON.stringify(merged) }];
    const all = { content, structuredContent: merged, isError: failed.length > 0 };
    if (failed.length === 0) return all;
    throw this.failed({ ...e, succeeded, failed }, result === undefined ? undefined : all);
  }

  async hand(all: Fields[], items: readonly Fields[]): Promise<void> {
    const { succeeded } = this.options;
    const done = items.filter((item) => !all.some((s) => s["id"] === item["id"]));
    all.push(...done);
    const given = done as unknown as NonNullable<Failure["succeeded"]>;
    if (succeeded && done.length > 0) await this.hook("decide", () => succeeded(given));
  }

  /** Waits for the work that a call has begun, where its answer names the call that asks how it gets on. */
  async follow(result: unknown): Promise<unknown> {
    if (this.natureOf(this.tool) !== "reads") this.server.forget();
    const rule = contract.poll;
    if (!rule || this.args[rule.wait] !== undefined) return result;
    const call = parseCall(textOr(own(dataOf(result), rule.next)));
    if (!call || !this.mayAsk(call.tool)) return result;
    for (let pause = 1000; pause < this.left() && (await this.wait(pause, "the work goes on")); ) {
      const next = await this.call("poll", call.tool, call.args);
      pause = Math.max(Math.min(2 * pause, 15_000), numberOr(next.e?.["afterMs"]));
      if (next.question) throw new InputNeeded(next.question);
      if (next.e && !maySucceed(next.e)) throw this.failed({ ...next.e, effect: "applied" });
      if (next.e) continue;
      result = next.result;
      const data = dataOf(result);
      if (!rule.status.some((at) => rule.pending.includes(textOr(find(data, at).found[0])))) return result;
    }
    return result;
  }
}

/** Why a call is stopped whose time is over. */
const timeUp = new Error("The time of the call is over.");

const sleep = (ms: number, signal: Signal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, Math.min(ms, 2 ** 31 - 1));
    (signal as BareSignal).addEventListener("abort", () => clearTimeout(timer));
  });

function outcomeOf(r: Reading | undefined): Outcome {
  return r?.failure ? { e: statedBy(r.failure) } : r?.question ? { question: r.question } : {};
}

const refusedBy = (status: number, outcome: Outcome): Outcome =>
  ({ ...outcome, reached: status < 502 || status > 504, refused: true });

/** Reads what an SDK has thrown. Of what it does not know it may have sent the call, or not. */
function thrown(error: unknown): Outcome {
  const { code, status, message, data } = Object(error) as Arguments;
  const text = isText(message) ? message : String(error);
  const http = [status, code].find((n): n is number => typeof n === "number" && n >= 400 && n <= 599);
  if (http !== undefined) {
    const body = text.includes("{") ? text.slice(text.indexOf("{")) : "";
    return refusedBy(http, outcomeOf(parseHTTP(http, { get: () => null }, body)));
  }
  const late = code === -32001 || code === "REQUEST_TIMEOUT"; // of the SDK itself
  if (typeof code === "number" && code !== -32000 && !late) {
    const outcome = outcomeOf(parseError({ code, message: text, data }));
    const kept = isObject(data) ? numberOr(data["httpStatus"]) : 0;
    return kept ? refusedBy(kept, outcome) : { ...outcome, reached: true };
  }
  return { e: { kind: late ? "timeout" : "unreachable", message: text }, reached: false };
}
