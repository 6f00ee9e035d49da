import { dataOf, idOf, itemsOf, type Place, wholeOf } from "./answers.js";
import { refuse, settle } from "./decide.js";
import {
  copyOf, encode, type Fields, fieldsOr, isObject, kindOf, listOr, numberOr, own, textOr, type Value,
} from "./record.js";
import { again, believed, decided, type Exchange, failed, hook, make, natureOf, type Outcome } from "./recover.js";
import type { Failure } from "./types.js";

/** Returns the argument that lists the items: by the contract, or else the only one with what has failed. */
function batchArgument(x: Exchange, e: Fields): string {
  const ids = [...listOr(e["succeeded"]), ...listOr(e["failed"])].map((f) => textOr(own(f, "id")));
  const has = (list: Value): boolean => {
    const items = listOr(list).map(idOf);
    return ids.length > 0 && ids.every((id) => items.includes(id));
  };
  const found = Object.entries(fieldsOr(copyOf(x.args))).filter(([, list]) => has(list));
  return textOr(own(x.c.table.batch, x.tool)) || (found.length === 1 ? (found[0]?.[0] ?? "") : "");
}

/** Says whether a failure tells how each item failed: then the code of the whole does not decide about them. */
export function tellsItems(x: Exchange, e: Fields): boolean {
  return kindOf(e) === "partial" || (listOr(e["failed"]).length > 0 && batchArgument(x, e) !== "");
}

/** Repeats a call that has failed in part, with only the failed items that may succeed. An item that is never mentioned
 * has failed. */
export async function repeatItems(x: Exchange, result: unknown, e: Fields): Promise<unknown> {
  const argument = batchArgument(x, e);
  const nature = natureOf(x, x.tool);
  let items = new Map(listOr(own(copyOf(x.args), argument)).map((item) => [idOf(item), item]));
  const asked = [...items.keys()];
  const succeeded: Fields[] = [];
  const over: Fields[] = [];
  let last: { result: unknown; list: Place } | undefined;
  for (;;) {
    await hand(x, succeeded, listOr(e["succeeded"]).map(fieldsOr));
    const retried = new Map<string, Fields>();
    let longest = refuse("");
    for (const f of listOr(e["failed"]).map(fieldsOr)) {
      const error = f["error"];
      const isKnown = items.has(textOr(f["id"])) && !succeeded.some((s) => s["id"] === f["id"]);
      const told = isKnown && isObject(error) ? settle(x.c, believed(x, error, x.tool), nature) : undefined;
      const afterMs = Math.max(numberOr(told?.["afterMs"]), numberOr(e["afterMs"])); // of the whole: for each
      const settled = told && (afterMs > 0 ? { ...told, afterMs } : told);
      const d = settled ? decided(x, settled, x.tool, x.attempt) : refuse("");
      if (d.repeat) retried.set(textOr(f["id"]), f);
      else over.push(f);
      if (d.repeat && d.waitMs >= longest.waitMs) longest = d;
    }
    const goes = retried.size > 0 && (await again(x, longest, e, "items that failed may succeed: "));
    const args = { ...x.args, [argument]: [...retried.keys()].map((id) => items.get(id)) };
    const next: Outcome = goes ? await make(x, "call", x.tool, args) : { unsent: true };
    if (next.e && !next.unsent) {
      const settled = settle(x.c, next.e, nature);
      const all = [...retried.keys()].map((id) => ({ id, error: settled }));
      e = tellsItems(x, settled) ? settled : { ...e, message: undefined, succeeded: [], failed: all };
      const told = [...listOr(e["succeeded"]), ...listOr(e["failed"])].map((f) => own(f, "id"));
      over.push(...[...retried.values()].filter((f) => !told.includes(f["id"])));
      items = new Map([...retried.keys()].map((id) => [id, items.get(id)]));
      continue;
    }
    if (next.question) next.unsent = true;
    const found = next.unsent ? undefined : itemsOf([...retried.keys()], dataOf(next.result));
    if (found) await hand(x, succeeded, found.items);
    const isFound = (f: Fields): boolean => found?.items.some((item) => item["id"] === f["id"]) === true;
    over.push(...[...retried.values()].filter((f) => !isFound(f)));
    last = found && over.length === 0 ? { result: next.result, list: found.list } : undefined;
    break;
  }
  const silent = asked.filter((id) => ![...succeeded, ...over].some((f) => f["id"] === id));
  const message = "The answer does not say what became of it.";
  const error = { kind: "bad_response", message, retry: "never", origin: "server" };
  over.push(...silent.map((id) => ({ id, error })));
  const values = asked.map((id) => succeeded.find((s) => s["id"] === id)?.["value"]);
  const isWhole = over.length === 0 && succeeded.length === asked.length;
  const whole = isWhole ? wholeOf(last?.result, last?.list, values) : undefined;
  if (whole) return whole;
  const merged = { succeeded, failed: over.map((f) => ({ ...f, error: encode(fieldsOr(f["error"])) })) };
  const content = [{ type: "text", text: JSON.stringify(merged) }];
  const all = { content, structuredContent: merged, isError: over.length > 0 };
  if (over.length === 0) return all;
  const isPartial = kindOf(e) !== "partial" && succeeded.length > 0; // the first answer had none
  const code = x.c.codes.find((entry) => entry.kind === "partial")?.code;
  if (isPartial) e = { kind: "partial", contract: x.c.name, code, origin: e["origin"] };
  throw failed(x, { ...e, succeeded, failed: over }, result === undefined ? undefined : all);
}

async function hand(x: Exchange, all: Fields[], items: readonly Fields[]): Promise<void> {
  const { succeeded } = x.options;
  const fresh = items.filter((item) => !all.some((s) => s["id"] === item["id"]));
  all.push(...fresh);
  const given = fresh as unknown as NonNullable<Failure["succeeded"]>;
  if (succeeded && fresh.length > 0) await hook(x, "call", () => succeeded(given));
}

