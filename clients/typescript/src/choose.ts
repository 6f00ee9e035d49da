import {
  adviceOf, classOf, type Fields, get, kindOf, listOr, numberOr, own, textOr, usualAdvice, type Value,
} from "./record.js";
import { type CodeEntry, type Selector, Tables } from "./tables.js";
import { render } from "./templates.js";

/** A record as the contract sees it, with the tool of the call, and the point at which the call failed, if known. */
export type Subject = { e: Fields; get: (path: string) => Value; tool?: string | undefined; at?: string | undefined };
export const subjectOf = (e: Fields): Subject => ({ e, get: (path) => get(e, path) });
export const isCodeWord = (word: string): boolean => /^[A-Za-z0-9_.-]{1,64}$/.test(word);
export const statusOf = (e: Fields): number => numberOr(get(e, "upstream.status"));
export const places: { readonly [condition: string]: string } = {
  resource: "resource.type", upstream_code: "upstream.code", rule: "violations.0.rule", basis: "effectBasis",
};
/** The values of conditions, unless they are at a path of their name. Authors know their tools: nature. */
const wordOf: Record<string, (e: Fields) => string> = {
  kind: kindOf, class: classOf, retry: adviceOf, nature: () => "known",
};
/** The conditions that are more than a word. */
const tests: { readonly [condition: string]: (values: readonly string[], s: Subject) => boolean } = {
  status: (values, { e }) => isStatus(values, statusOf(e)),
  params: (values, { e }) => {
    const params = listOr(e["violations"]).map((v) => textOr(own(v, "param")));
    return params.every((p) => values.includes(p)) && values.every((v) => params.includes(v));
  },
  has: (values, s) => values.every((path) => s.get(path) !== undefined),
  tool: (values, { tool }) => values.includes(tool ?? ""),
  at: (values, { at }) => values.includes(at || "tool"),
};
export const selects = (selector: Selector | undefined, s: Subject): boolean =>
  Object.entries(selector ?? {}).every(([condition, values]) =>
    tests[condition]?.(values, s) ??
    values.includes(wordOf[condition]?.(s.e) ?? textOr(get(s.e, places[condition] ?? condition))));
const isStatus = (values: readonly string[], status: number): boolean =>
  values.includes(String(status || "none")) || values.includes(String(status).charAt(0) + "xx");

/** Returns the entry of a record, and the code that the record has there. */
export function choose(c: Tables, s: Subject): readonly [entry: CodeEntry, code: string] {
  const code = textOr(s.e["code"]);
  if (s.e["contract"] === c.name && code) return [c.byCode.get(code) ?? c.open ?? c.fallback, code];
  for (const entry of c.codes) {
    const word = entry.open ? (render(entry.code, s.get) ?? "") : entry.code;
    if ((entry.open && !isCodeWord(word)) || !entry.for.some((selector) => selects(selector, s))) continue;
    return [c.byCode.get(word) ?? entry, word]; // another's word may be one of the contract's own
  }
  return [c.fallback, c.fallback.code];
}

/**
 * Says whether the same call may succeed. A code that is never retryable stays so, and for an unlisted one the failure
 * decides. A possible effect of the call is not overruled, nor is advice that departs from the kind's.
 */
export function isRetryable(e: Fields, entry: CodeEntry, code: string): boolean {
  const rule = entry.retryable;
  const advised = adviceOf(e) === "same_call";
  if (rule === "stated") return advised && e["retry"] === "same_call";
  if (rule === "error" || (code !== entry.code && !entry.open)) return advised;
  if (rule === false) return false;
  if (e["effect"] === "unknown" || advised !== (usualAdvice(e) === "same_call")) return advised;
  return rule === true || (statusOf(e) === 0 ? advised : isStatus(listOr(rule) as string[], statusOf(e)));
}
