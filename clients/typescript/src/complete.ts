import { choose, isRetryable, statusOf, subjectOf } from "./choose.js";
import { wireKinds } from "./kinds.js";
import {
  bounded, classOf, type Fields, fieldsOr, get, isText, kindOf, numberOr, objectsAt, set, textOr, usualAdvice,
  type Value,
} from "./record.js";
import { closedSets, store } from "./shapes.js";
import { type CodeEntry, Tables } from "./tables.js";
import { frames, match } from "./templates.js";
import type { Kind } from "./types.js";

const isFailed = (status: number): boolean => status >= 400 && status <= 599;
export const kindOfStatus = (status: number): Kind =>
  !isFailed(status) ? "unknown" : wireKinds[status] ?? (status < 500 ? "client_error" : "server_error");

export function rangeOf(c: Tables, code: string): (typeof c.table.ranges)[number] | undefined {
  const n = /^[+-]?\d+$/.test(code) ? Number(code) : NaN;
  return c.table.ranges.find((r) => r.from <= n && n <= r.to);
}

/** Completes a record in the contract's form with the meaning of its code. inner, kind: replace the code's. */
export function complete(c: Tables, from: Fields, inner?: CodeEntry, kind?: Value, isItem = false): Fields {
  if (!isItem && from["contract"] === c.name) return from;
  const { retryable, ...e }: Fields = from;
  const code = textOr(e["code"]);
  const said = closedSets["kind"]?.includes(textOr(e["kind"])) ? kindOf(e) : undefined;
  const status = statusOf(e);
  const entry = inner ?? c.byCode.get(code) ?? (code ? c.open : undefined);
  const range = rangeOf(c, code);
  e["kind"] = said ?? range?.kind ?? kindOfStatus(status);
  if (code && !entry && !range) e["upstream"] = { code, ...fieldsOr(e["upstream"]) }; // the other side's own word
  if (code) e["contract"] = c.name;
  for (const one of [inner && c.byCode.get(code), entry]) if (one) apply(e, one);
  if (inner) e["code"] = code;
  e["kind"] = kind ?? e["kind"];
  const again = retryable && entry?.retryable === false ? false : retryable; // whatever the other side says
  for (const other of entry ? [said, isFailed(status) ? kindOfStatus(status) : undefined] : []) {
    if (!entry || other === undefined) continue; // of the kinds with this code, the other one tells more
    const one = sayRetryable({ ...e, kind: other, contract: "", code: "" }, again);
    if (choose(c, subjectOf(one))[0] !== entry) continue;
    if (again !== undefined && isRetryable(one, entry, entry.code) !== again) continue;
    e["kind"] = other;
    break;
  }
  if (again === true && entry?.retryable === "stated" && !e["effect"]) { // safe to repeat: it did nothing
    Object.assign(e, { effect: "none", effectBasis: "stated" });
  }
  const [type, id] = [get(e, "resource.type"), get(e, "resource.id")];
  if (!e["message"] && e["kind"] === "not_found" && isText(type) && id) {
    e["message"] = `There is no ${type} ${JSON.stringify(id)}.`; // what is not there is all that is told
  }
  for (const f of objectsAt(e, "failed")) f["error"] = complete(c, fieldsOr(f["error"]), undefined, undefined, true);
  return isItem ? sayRetryable(e, again) : { origin: "server", ...takeWait(c, sayRetryable(e, again)) };
}

/** Takes the wait that the other side states beside the members of the contract. */
function takeWait(c: Tables, e: Fields): Fields {
  const { retryAfterMs, retryAfter, retry_after } = fieldsOr(e["details"]);
  const stated = numberOr(retryAfter ?? retry_after);
  const inMs = c.inMs && stated >= 1000; // some mean milliseconds
  const afterMs = bounded(numberOr(retryAfterMs) || (inMs ? stated : stated * 1000));
  return e["afterMs"] || !afterMs || !/^(allowance|upstream)$/.test(classOf(e)) ? e : { ...e, afterMs };
}

/** Adds the properties of an entry: its kind, its constants, and the parts of its message. */
function apply(e: Fields, entry: CodeEntry): void {
  e["kind"] = entry.kind;
  if (entry.open) store(e, match(entry.code, textOr(e["code"])));
  else e["code"] = entry.code;
  for (const [path, value] of Object.entries(entry.set ?? {})) set(e, path, value);
  const said = textOr(e["message"]);
  const template = entry.message?.find((t) => match(t, said));
  if (template === undefined) return;
  store(e, match(template, said));
  if (!frames(template)) e["message"] = said;
}

/** Stores the boolean on the wire as advice. A kind that names a way to retry overrides a mere false. */
const sayRetryable = (e: Fields, retryable: Value): Fields =>
  retryable === true ? { ...e, retry: "same_call" }
  : retryable === false && usualAdvice(e) === "same_call" ? { ...e, retry: "never" } : e;
