import { maxWaitMs } from "./kinds.js";
import { type Fields, kindOf, numberOr } from "./record.js";
import type { Failure } from "./types.js";

/** Holds calls back after five failures in a row: for a while, then one call at a time may try. */
class Circuit {
  failures = 0;
  opens = 0;
  until = 0; // when a call may try; 0: all may
  trying = 0; // when the call began that tries; 0: none does
  next = 0; // when the next one that waits asks again
  failed = 0;

  /** Returns how long a call waits until it asks again. A call that can wait until last tries early. */
  wait(now: number, last: number): number {
    const early = last > 0 && last - this.failed >= 1000;
    if (this.until === 0) return 0;
    if (this.trying > 0 && now < this.trying + 30_000) return Math.min(Math.max(now - this.trying, 100), 1000);
    if (now >= this.until || (early && now >= last)) return 0;
    const turn = early ? Math.min(this.next, last) : this.next;
    this.next += 100;
    return turn - now;
  }

  fail(now: number, leastMs: number): void {
    if (++this.failures < 5) return;
    this.failed = now;
    this.until = now + Math.max(Math.min(1000 * 2 ** this.opens++, 30_000), Math.min(leastMs, maxWaitMs));
    this.next = this.until;
  }
}

/** The result of an attempt: it was answered, the way to the server is broken, the backend is down; or unknown. */
export type Ending = "answered" | "unreached" | "down" | "untold";

/** The state that all callers of one server share: a retry budget, a pace after rate limits, circuits for the way to
 * the server and for each tool, and the mistakes that it has refused. */
export class Server {
  readonly mistakes = new Map<string, { readonly failure: Failure; readonly until: number }>();
  readonly #tools = new Map<string, Circuit>();
  #way = new Circuit();
  #spent = 0;
  #pace = { until: 0, next: 0, limit: {} as Fields };

  /** Takes a retry, if the budget allows it. Each call of a caller adds a fifth of one: take(-0.2). */
  take(repetitions = 1): boolean {
    if (this.#spent + repetitions > 10) return false;
    this.#spent = Math.max(this.#spent + repetitions, -90);
    return true;
  }

  /** Returns how long a caller waits for its turn: after a rate limit, calls are made one at a time. */
  turn(now: number, leastMs: number): number {
    if (now >= this.#pace.until) return leastMs;
    const at = this.#pace.next;
    this.#pace.next += Math.min(100, (this.#pace.until - now) / 10);
    return Math.max(at - now, leastMs);
  }

  /** Returns how long a call waits until it asks again, at most until last, and the failure that holds it back. 0: it
   * begins; pass its end to learn. */
  admit(now: number, last: number, tool: string): [waitMs: number, why: Fields] {
    const turn = this.turn(now, 0);
    if (turn > 0) return [turn, this.#pace.limit];
    const circuits = [this.#way, this.#tools.get(tool) ?? new Circuit()];
    const wait = circuits.reduce((least, circuit) => least || circuit.wait(now, last), 0);
    for (const circuit of circuits) if (wait === 0 && circuit.until > 0) circuit.trying = now;
    return [wait, { kind: "unavailable", message: "Calls before this one have failed.", retry: "same_call" }];
  }

  /** Learns how an attempt has ended, and its failure: a limit holds back all callers. */
  learn(now: number, tool: string, ending: Ending, e?: Fields): void {
    const leastMs = numberOr(e?.["afterMs"]);
    const behind = this.#tools.get(tool) ?? new Circuit();
    for (const circuit of [this.#way, behind]) circuit.trying = 0;
    if (ending === "answered" || ending === "down") this.#way = new Circuit();
    if (ending === "answered") this.#tools.delete(tool);
    if (ending === "unreached") this.#way.fail(now, leastMs);
    if (ending === "down") {
      behind.fail(now, leastMs);
      if (this.#tools.size >= 1000) this.#tools.clear();
      this.#tools.set(tool, behind);
    }
    const until = now + Math.min(leastMs, maxWaitMs);
    if (e && kindOf(e) === "rate_limited" && until > this.#pace.until) this.#pace = { until, next: until, limit: e };
  }
}
