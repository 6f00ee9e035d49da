// ---- Recovering.

type Arguments = { readonly [name: string]: unknown };

/** What stops a call: an AbortSignal. */
type Signal = typeof globalThis extends { AbortSignal: { prototype: infer T } } ? T : BareSignal;
interface BareSignal {
  readonly aborted: boolean;
  readonly reason?: unknown;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

const runtime = globalThis as unknown as {
  setTimeout(run: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
  AbortController: new () => { readonly signal: BareSignal; abort(reason?: unknown): void };
};

type Params = { name: string; arguments?: { [name: string]: unknown } };
/** The client of an SDK, or a function that calls a tool and hands on the signal. */
export type Caller = { callTool(params: Params): Promise<unknown> } | ((params: Params, signal: Signal) => Promise<unknown>);

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
  readonly verify: NonNullable<Failure["verify"]>;
  /** Of the verify call; undefined: there is no such thing. */
  readonly result: unknown;
}

export interface RecoverOptions {
  /** What the callers of one server share. Left out: this call has it for itself. */
  readonly server?: Server;
  /** The time of the call with all repetitions and waits; left out: 2 minutes. */
  readonly timeoutMs?: number;
  /** The time of each attempt. Left out: that of the call, or a quarter of it less, at most 15 s, where the call could be repeated or verified. */
  readonly attemptTimeoutMs?: number;
  readonly signal?: Signal;
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
  /** Waits; it ends early, with an exception, when the signal says so. */
  readonly sleep?: (ms: number, signal: Signal) => Promise<void>;
}

/** The failure that a call has ended with. */
export class CallFailed extends Error {
  /** result holds the items that have succeeded, of a call that has failed in part. */
  constructor(readonly failure: Failure, readonly result?: unknown, cause?: unknown) {
    super(failure.message ?? kinds[failure.kind].sentence, { cause });
    this.name = "CallFailed";
  }
}

/** The question that a call has ended with. */
export class InputNeeded extends Error {
  constructor(readonly question: Question) {
    super(question.message);
    this.name = "InputNeeded";
  }
}

/** What all callers of one server share: a budget of repetitions, a pace, and the mistakes that the server has refused. */
export class Server {
  private spent = 0;
  private resumes = 0;
  private next = 0;
  readonly mistakes = new Map<string, Failure>();

  /** Notes a call, which earns a fifth of a repetition. */
  called(): void {
    this.spent = Math.max(this.spent - 0.2, -90);
  }

  /** Says whether a repetition is within the budget, and takes it. */
  take(): boolean {
    if (this.spent + 1 > 10) return false;
    this.spent++;
    return true;
  }

  /** Returns how long a caller waits for its turn: after a rate limit one comes after the other. */
  turn(leastMs: number): number {
    const now = Date.now();
    if (now >= this.resumes) return leastMs;
    const at = this.next;
    this.next = at + Math.min(100, (this.resumes - now) / 10);
    return Math.max(at - now, leastMs);
  }

  /** Takes in that the server has limited its callers. */
  limit(waitMs: number): void {
    const resumes = Date.now() + Math.min(waitMs, maxWaitMs);
    if (resumes > this.resumes) this.resumes = this.next = resumes;
  }
}

/** Calls a tool, and does what the contract says when the call fails. It throws CallFailed or InputNeeded. */
export async function recover<R = ToolResult>(
  caller: Caller, params: { readonly name: string; readonly arguments?: Arguments | undefined }, options: RecoverOptions = {},
): Promise<R> {
  return (await new Exchange(caller, params.name, params.arguments ?? {}, options).run()) as R;
}

/** What one call has led to: a result, a failure or a question. */
interface Outcome {
  readonly result?: unknown;
  readonly e?: Fields;
  readonly question?: Question;
  readonly cause?: unknown;
}

class Exchange {
  private readonly ends: number;
  private readonly server: Server;
  private readonly stop = new runtime.AbortController();
  private attempt = 0;
  private connected = false;
  private answers = 0;
  private cause: unknown;

  constructor(private readonly caller: Caller, private readonly tool: string, private args: Arguments, private readonly options: RecoverOptions) {
    this.ends = Date.now() + (options.timeoutMs ?? 120_000);
    this.server = options.server ?? new Server();
    const format = contract.layout.format?.argument;
    const schema = fieldsOr(copyOf(options.tools?.find((t) => t.name === tool)?.inputSchema));
    if (format && own(fieldsOr(schema["properties"]), format) !== undefined && !Object.hasOwn(args, format)) this.args = { ...args, [format]: "json" };
  }

  async run(): Promise<unknown> {
    const outer = this.options.signal as BareSignal | undefined;
    const abort = (): void => this.stop.abort(outer?.reason);
    if (outer?.aborted) abort();
    outer?.addEventListener("abort", abort);
    const timer = runtime.setTimeout(() => this.stop.abort(timeUp), Math.min(this.left(), 2 ** 31 - 1));
    try {
      return await this.repeat();
    } finally {
      runtime.clearTimeout(timer);
      outer?.removeEventListener("abort", abort);
    }
  }

  private async repeat(): Promise<unknown> {
    const mistake = this.server.mistakes.get(this.fingerprint());
    if (mistake) {
      this.note({ action: "decide", failure: mistake, reason: "the same call was a mistake before: it is not sent" });
      throw new CallFailed(mistake);
    }
    for (;;) {
      const { result, e: failed, question, cause } = await this.call("call", this.tool, this.args);
      if (question) {
        if (await this.ask(question)) continue;
        throw new InputNeeded(question);
      }
      if (!failed) return this.follow(result);
      this.cause = cause;
      const e = settle(failed, this.natureOf(this.tool));
      const kind = kindOf(e);
      if (kinds[kind].class === "input" && kind !== "unknown_tool") this.server.mistakes.set(this.fingerprint(), failureOf(e));
      if (kind === "partial") return this.repeatItems(result, e);
      if (await this.connect(e)) continue;
      const settled = await this.verify(e);
      if (settled.landed) return settled.result ?? { content: [] };
      if (!(await this.again(settled.e))) throw this.failed(settled.e);
    }
  }

  /** Tells the call from others. */
  private fingerprint(): string {
    return canonical([this.tool, copyOf(this.args)]);
  }

  /** Returns how long one attempt may take: where something could be done after it, it leaves time for that. */
  private attemptMs(tool: string): number {
    const left = this.left();
    if (this.options.attemptTimeoutMs !== undefined) return this.options.attemptTimeoutMs;
    return this.natureOf(tool) === "writes" && !Object.hasOwn(contract.verify, this.tool) ? left : left - Math.min(left / 4, 15_000);
  }

  private failed(e: Fields, result?: unknown): CallFailed {
    return new CallFailed(failureOf(e), result, this.cause);
  }

  private left(): number {
    return this.ends - Date.now();
  }

  private natureOf(tool: string): Nature {
    const { verify, readOnly, readers } = contract;
    return this.options.natures?.[tool] ?? (!Object.hasOwn(verify, tool) && (readOnly || readers.includes(tool)) ? "reads" : "writes");
  }

  /** Says whether a call that the server names is made: if the server has that tool, and it only reads. */
  private mayAsk(tool: string): boolean {
    return tool !== "" && (this.options.tools?.some((t) => t.name === tool) ?? true) && this.natureOf(tool) === "reads";
  }

  private random(): number {
    return (this.options.random ?? Math.random)();
  }

  private note(step: Omit<Step, "tool" | "attempt"> & { readonly tool?: string }): void {
    const whole: Step = { tool: this.tool, ...step, attempt: this.attempt };
    this.options.report?.push(whole);
    this.options.observe?.(whole);
  }

  /** Waits, and says whether the call goes on. */
  private async wait(ms: number, reason: string): Promise<boolean> {
    const signal = this.stop.signal;
    if (ms > 0 && !signal.aborted) {
      this.note({ action: "wait", waitMs: ms, reason });
      try {
        await (this.options.sleep ?? sleep)(ms, signal as Signal);
      } catch {
        return false;
      }
    }
    return !signal.aborted;
  }

  /** Makes one call: of the tool, or of another on its behalf. */
  private async call(action: "call" | "verify" | "poll", tool: string, args: Arguments): Promise<Outcome> {
    const turn = this.server.turn(0);
    if (turn > 0 && (turn >= this.left() || !(await this.wait(turn, "the server has limited its callers")))) {
      return { e: { kind: "rate_limited", afterMs: Math.floor(turn), effect: "none", origin: "server" } };
    }
    if (action === "call") this.attempt++;
    if (action === "call" && this.attempt === 1) this.server.called();
    const outcome = await this.send(tool, args);
    const e = outcome.e;
    if (e && kindOf(e) === "rate_limited" && numberOr(e.afterMs) > 0) this.server.limit(numberOr(e.afterMs));
    this.note({ action, tool, ...(e && { failure: failureOf(e) }) });
    return outcome;
  }

  private async send(tool: string, args: Arguments): Promise<Outcome> {
    const attempt = new runtime.AbortController();
    let stopped = (): void => undefined;
    const timer = runtime.setTimeout(() => attempt.abort(timeUp), Math.min(this.attemptMs(tool), 2 ** 31 - 1));
    try {
      const ended = new Promise<never>((_, reject) => {
        stopped = () => attempt.abort(this.stop.signal.reason);
        attempt.signal.addEventListener("abort", () => reject(attempt.signal.reason));
        this.stop.signal.addEventListener("abort", stopped);
        if (this.stop.signal.aborted) stopped();
      });
      const params: Params = { name: tool, arguments: { ...args } };
      const made = attempt.signal.aborted ? ended
        : typeof this.caller === "function" ? this.caller(params, attempt.signal as Signal) : this.caller.callTool(params);
      const result = await Promise.race([made, ended]);
      const reading = parseResult(result);
      if (!reading) return { result };
      return reading.failure ? { result, e: statedBy(reading.failure) } : { result, question: reading.question as Question };
    } catch (cause) {
      if (attempt.signal.aborted) return { e: { kind: attempt.signal.reason === timeUp ? "timeout" : "cancelled", origin: "caller" }, cause };
      return { ...thrown(cause), cause };
    } finally {
      runtime.clearTimeout(timer);
      this.stop.signal.removeEventListener("abort", stopped);
    }
  }

  /** Waits for the next attempt, and says whether there is one. */
  private async again(e: Fields): Promise<boolean> {
    let d = judge(e, this.natureOf(this.tool), this.attempt, this.left(), this.random());
    if (d.repeat && !this.server.take()) d = refuse("the budget of repetitions is spent");
    const waitMs = d.repeat ? this.server.turn(d.waitMs) : 0;
    if (d.repeat && waitMs >= this.left()) d = refuse("the turn after the limit comes too late");
    this.note({ action: "decide", failure: failureOf(e), reason: d.reason });
    return d.repeat && this.wait(waitMs, d.reason);
  }

  private async hook<T>(action: "connect" | "answer" | "decide", run: () => T | Promise<T>): Promise<{ readonly value: T } | undefined> {
    const signal = this.stop.signal;
    let stopped = (): void => undefined;
    const ended = new Promise<never>((_, reject) => {
      stopped = () => reject(signal.reason);
      signal.addEventListener("abort", stopped);
      if (signal.aborted) stopped();
    });
    try {
      const value = await Promise.race([Promise.resolve().then(run), ended]);
      this.note({ action });
      return { value };
    } catch (error) {
      this.note({ action, reason: `the hook has failed: ${String(error)}` });
      return undefined;
    } finally {
      signal.removeEventListener("abort", stopped);
    }
  }

  private async connect(e: Fields): Promise<boolean> {
    const { connect } = this.options;
    if (kinds[kindOf(e)].class !== "auth" || !connect || this.connected || e.effect !== "none") return false;
    this.connected = true;
    return (await this.hook("connect", () => connect(failureOf(e)))) !== undefined;
  }

  private async ask(question: Question): Promise<boolean> {
    const { answer } = this.options;
    if (!answer || ++this.answers > 5) return false;
    const given = await this.hook("answer", () => answer(question));
    if (given) this.args = { ...this.args, ...given.value };
    return given !== undefined;
  }

  /** Settles what became of a write of which it is not known: whether it has landed, and the failure as it is to be judged if not. */
  private async verify(e: Fields): Promise<{ readonly e: Fields; readonly landed?: boolean; readonly result?: unknown }> {
    const mine = fieldsOr(verifyOf({ tool: this.tool, arguments: this.args }));
    const call = [fieldsOr(e.verify), mine].find((v) => this.mayAsk(textOr(v["tool"])));
    if (e.effect !== "unknown" || !call) return { e };
    const wait = backoff(e, 1, this.random()); // what is on its way may arrive yet
    if (wait >= this.left() || !(await this.wait(Math.floor(wait), "the write may be on its way"))) return { e };
    const found = await this.lookUp(textOr(call["tool"]), fieldsOr(call["args"]));
    if (!found) return { e };
    const landed = await this.landed(e, call, callText(call) === callText(mine), found.result);
    const reason = landed === undefined ? "it stays open whether the write has landed" : `the write has ${landed ? "" : "not "}landed`;
    this.note({ action: "decide", failure: failureOf(e), reason });
    if (landed !== false) return landed ? { e, landed, result: found.result } : { e };
    return { e: { ...e, effect: "none", retry: "same_call" } };
  }

  private async lookUp(tool: string, args: Fields): Promise<{ readonly result: unknown } | undefined> {
    for (let attempt = 1; ; attempt++) {
      const { result, e, question } = await this.call("verify", tool, args);
      if (question) return undefined;
      if (!e) return { result };
      if (kindOf(e) === "not_found") return { result: undefined };
      const d = judge(settle(e, "reads"), "reads", attempt, this.left(), this.random());
      if (!d.repeat || !this.server.take() || !(await this.wait(d.waitMs, d.reason))) return undefined;
    }
  }

  private async landed(e: Fields, call: Fields, mine: boolean, result: unknown): Promise<boolean | undefined> {
    const data = dataOf(result);
    const own = Object.hasOwn(contract.verify, this.tool) ? contract.verify[this.tool] : undefined;
    // Without an argument that the verify call takes from this one, it asks about something else.
    const asks = own?.args.every((a) => a.pointer === undefined || argument(this.args, a.pointer) !== undefined);
    const rule = asks ? own?.landed : undefined;
    const verdict = mine && rule && (result === undefined || data !== undefined) ? hasLanded(rule, this.args, data) : undefined;
    const { landed } = this.options;
    if (verdict !== undefined || !landed) return verdict;
    const verify = call as unknown as Verification["verify"];
    return (await this.hook("decide", () => landed({ tool: this.tool, arguments: this.args, failure: failureOf(e), verify, result })))?.value;
  }

  /** Makes a call that has failed in part again, with the items alone that failed and may succeed. */
  private async repeatItems(result: unknown, e: Fields): Promise<unknown> {
    const argument = own(contract.batch as Fields, this.tool) as string | undefined;
    let items = new Map(listOr(copyOf(argument === undefined ? [] : this.args[argument])).map((item) => [idOf(item), item]));
    const succeeded: Fields[] = [];
    const failed: Fields[] = [];
    for (;;) {
      await this.hand(succeeded, listOr(e.succeeded).map(fieldsOr));
      const again = new Map<string, Value>();
      let longest = refuse("");
      const open: Fields[] = [];
      for (const f of listOr(e.failed).map(fieldsOr)) {
        const id = textOr(f["id"]);
        const d = isObject(f["error"]) && items.has(id) && !succeeded.some((s) => s["id"] === id)
          ? judge(settle(f["error"], this.natureOf(this.tool)), this.natureOf(this.tool), this.attempt, this.left(), this.random()) : refuse("");
        (d.repeat ? open : failed).push(f);
        if (!d.repeat) continue;
        again.set(id, items.get(id));
        if (d.waitMs >= longest.waitMs) longest = d;
      }
      if (again.size === 0 || !(await this.mayRepeat(e, longest))) {
        failed.push(...open);
        break;
      }
      const ids = [...again.keys()];
      const next = await this.call("call", this.tool, { ...this.args, [argument ?? ""]: [...again.values()] });
      if (next.question) {
        failed.push(...open);
        break;
      }
      if (!next.e) {
        await this.hand(succeeded, itemsOf(ids, dataOf(next.result)));
        break;
      }
      const before = e;
      e = settle(next.e, this.natureOf(this.tool));
      if (kindOf(e) !== "partial") e = { ...before, message: undefined, succeeded: [], failed: ids.map((id) => ({ id, error: e })) };
      const told = [...listOr(e.succeeded), ...listOr(e.failed)].map((f) => fieldsOr(f)["id"]);
      failed.push(...open.filter((f) => !told.includes(f["id"])));
      items = again;
    }
    const merged = { succeeded, failed: failed.map((f) => ({ ...f, error: encode(fieldsOr(f["error"])) })) };
    const all = { content: [{ type: "text", text: JSON.stringify(merged) }], structuredContent: merged, isError: failed.length > 0 };
    if (failed.length === 0) return all;
    throw this.failed({ ...e, succeeded, failed }, result === undefined ? undefined : all);
  }

  private async hand(all: Fields[], items: readonly Fields[]): Promise<void> {
    const { succeeded } = this.options;
    const done = items.filter((item) => !all.some((s) => s["id"] === item["id"]));
    all.push(...done);
    if (succeeded && done.length > 0) await this.hook("decide", () => succeeded(done as unknown as NonNullable<Failure["succeeded"]>));
  }

  private async mayRepeat(e: Fields, d: Decision): Promise<boolean> {
    const within = this.server.take();
    const reason = within ? `items that failed may succeed: ${d.reason}` : "the budget of repetitions is spent";
    this.note({ action: "decide", failure: failureOf(e), reason });
    return within && this.wait(d.waitMs, d.reason);
  }

  /** Waits for the work that a call has begun, where its answer names the call that asks how it gets on. */
  private async follow(result: unknown): Promise<unknown> {
    if (this.natureOf(this.tool) !== "reads") this.server.mistakes.clear(); // what was wrong may be right now
    const rule = contract.poll;
    if (!rule || this.args[rule.wait] !== undefined) return result;
    const call = parseCall(textOr(own(fieldsOr(dataOf(result)), rule.next)));
    if (!call || !this.mayAsk(call.tool)) return result;
    for (let pause = 1000; pause < this.left() && (await this.wait(pause, "the work goes on")); ) {
      const next = await this.call("poll", call.tool, call.args);
      pause = Math.min(2 * pause, 15_000);
      if (next.question) throw new InputNeeded(next.question);
      if (!next.e) {
        result = next.result;
        if (!rule.status.some((at) => rule.pending.includes(textOr(find(dataOf(result), at.split("/").slice(1)).found[0])))) return result;
      } else if (!isRetryable(bind({ ...next.e, effect: "none" }, {}))) {
        throw this.failed({ ...next.e, effect: "applied" });
      } else {
        pause = Math.max(pause, statedWait(next.e));
      }
    }
    return result;
  }
}

/** Why a call is stopped whose time is over. */
const timeUp = new Error("The time of the call is over.");

function sleep(ms: number, signal: Signal): Promise<void> {
  const stop = signal as BareSignal;
  return new Promise((resolve, reject) => {
    const stopped = (): void => {
      runtime.clearTimeout(timer);
      reject(stop.reason);
    };
    const timer = runtime.setTimeout(() => {
      stop.removeEventListener("abort", stopped);
      resolve();
    }, Math.min(ms, 2 ** 31 - 1));
    stop.addEventListener("abort", stopped);
  });
}

const failureOf = (e: Fields): Failure => {
  const failure = encode(e) as unknown as Failure;
  stated.set(failure, e);
  return failure;
};

/** Reads what an SDK has thrown. Of what it does not know it may have sent the call, or not. */
function thrown(error: unknown): Outcome {
  const { code, status, message, data } = (typeof error === "object" && error !== null ? error : {}) as { [member: string]: unknown };
  const text = typeof message === "string" ? message : String(error);
  const http = [status, code].find((n) => typeof n === "number" && n >= 400 && n <= 599);
  const asOutcome = (r: Reading | undefined): Outcome => (r?.failure ? { e: statedBy(r.failure) } : r?.question ? { question: r.question } : { e: { kind: "unreachable", message: text } });
  if (typeof http === "number") {
    const body = text.slice(Math.max(text.indexOf("{"), 0));
    return asOutcome(parseHTTP(http, { get: () => null }, body.startsWith("{") ? body : ""));
  }
  if (code === -32001 || code === "REQUEST_TIMEOUT") return { e: { kind: "timeout", message: text } }; // of the SDK itself
  if (typeof code === "number" && code !== -32000) return asOutcome(parseError({ code, message: text, data }));
  return { e: { kind: "unreachable", message: text } };
}
