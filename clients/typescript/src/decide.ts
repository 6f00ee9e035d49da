import { choose, isRetryable, subjectOf } from "./choose.js";
import { maxWaitMs } from "./kinds.js";
import { statedBy } from "./read.js";
import { classOf, type Fields, isObject, kindOf, numberOr, textOr, usualAdvice, waitText } from "./record.js";
import type { Tables } from "./tables.js";
import type { Failure, Verify } from "./types.js";

/** What a tool does to the world. Idempotent: it writes, and a second call changes nothing more. */
export type Nature = "writes" | "idempotent" | "reads";

/** The reaction to a failure. verify: the call that first settles whether the failed call took effect. */
export type Decision = Readonly<{ repeat: boolean; waitMs: number; verify?: Verify; reason: string }>;

/** Returns whether a failed call changed anything. A tool that only reads has no effect, whatever is stated. */
export function effectOf(e: Fields, nature: Nature): string {
  if (nature === "reads" || textOr(e["effect"])) return nature === "reads" ? "none" : textOr(e["effect"]);
  if (kindOf(e) === "partial") return "applied";
  const isBefore = /^(protocol|input|auth|permission|resource|state|allowance|data)$/.test(classOf(e));
  return isBefore || kindOf(e) === "not_implemented" || e["retry"] === "after_setup" ? "none" : "unknown";
}

/** Says whether the contract calls a failure retryable, apart from its effect. */
export function maySucceed(c: Tables, from: Fields): boolean {
  const e = { ...from, effect: "none" };
  const [entry, code] = choose(c, subjectOf(e));
  const other = c.byCode.get(entry.otherwise ?? "");
  return isRetryable(e, other ?? entry, other?.code ?? code);
}

/** Completes a failure with the contract's effect, and with its advice if the failure states none. */
export function settle(c: Tables, from: Fields, nature: Nature): Fields {
  const saysSafe = !from["effect"] && from["retry"] === "same_call";
  const effect = effectOf(from, nature);
  const usual = usualAdvice(from) === "same_call" ? "never" : usualAdvice(from);
  const retry = textOr(from["retry"]) || (maySucceed(c, from) ? "same_call" : usual);
  return { ...from, effect: effect === "unknown" && saysSafe ? "none" : effect, retry };
}

/** Returns the wait before the next attempt of a call that has failed attempt times. A stated wait is a minimum. */
export function backoff(c: Tables, e: Fields, attempt: number, random: number): number {
  const { startMs, factor, jitterMs, jitterFrom } = c.table.retry;
  const said = Math.min(Math.max(numberOr(e["afterMs"]), 0), 9_223_372_036_854); // the longest that a record can state
  const start = said || Math.max(startMs, kindOf(e) === "rate_limited" ? 1000 : 0);
  const jitter = attempt >= jitterFrom ? jitterMs * random : 0;
  return Math.max(said, Math.min(start * factor ** (attempt - 1) + jitter, maxWaitMs));
}

export const refuse = (reason: string): Decision => ({ repeat: false, waitMs: 0, reason });
const reasons: { readonly [nature in Nature]: string } = {
  writes: "the call did not take effect", idempotent: "the tool is idempotent", reads: "the tool only reads",
};

export function judge(c: Tables, e: Fields, nature: Nature, attempt: number, leftMs: number, random: number): Decision {
  const unsafe = nature === "writes" && (e["effect"] !== "none" || e["effectBasis"] === "stated");
  const open = unsafe && e["effect"] !== "applied";
  if (e["retry"] !== "same_call" && !open) return refuse(`${kindOf(e)}: the same call would fail again`);
  if (unsafe) {
    const reason = "the call may have taken effect: a repetition might do it twice";
    return { repeat: false, waitMs: 0, ...(isObject(e["verify"]) && { verify: e["verify"] as Verify }), reason };
  }
  if (attempt > c.table.retry.retries) return refuse(`gave up after ${attempt} attempts`);
  const wait = Math.floor(backoff(c, e, attempt, random));
  const left = waitText(Math.max(leftMs, 0));
  if (wait >= leftMs) return refuse(`the wait of ${waitText(wait)} is longer than the ${left} that are left`);
  return { repeat: true, waitMs: wait, reason: reasons[nature] };
}

/** Decides whether to repeat a call that failed in its attempt-th attempt (from 1). random is in [0, 1). */
export function decide(
  c: Tables, f: Failure, nature: Nature, attempt: number, leftMs: number, random = Math.random(),
): Decision {
  return judge(c, settle(c, statedBy(f), nature), nature, attempt, leftMs, random);
}
