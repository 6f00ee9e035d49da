// ---- What the code of a failure adds to what was read.

const isFailed = (status: number): boolean => status >= 400 && status <= 599;
const kindOfStatus = (status: number): Kind =>
  !isFailed(status) ? "unknown" : wireKinds[status] ?? (status < 500 ? "client_error" : "server_error");

//{{if has "contract.ranges"}}
function rangeOf(code: string): (typeof contract.ranges)[number] | undefined {
  const n = /^[+-]?\d+$/.test(code) ? Number(code) : NaN;
  return contract.ranges.find((r) => r.from <= n && n <= r.to);
}

//{{end}}
/** Completes a record in the contract's form with the meaning of its code. inner, kind: replace the code's. */
function complete(from: Fields, inner?: CodeEntry, kind?: Value, isItem = false): Fields {
  if (!isItem && from["contract"] === contract.name) return from;
  const { retryable, ...e }: Fields = from;
  const code = textOr(e["code"]);
  const said = closedSets["kind"]?.includes(textOr(e["kind"])) ? kindOf(e) : undefined;
  const status = statusOf(e);
//{{if has "code.open"}}
  const entry = inner ?? byCode.get(code) ?? (code ? open : undefined);
//{{else}}
  const entry = inner ?? byCode.get(code);
//{{end}}
//{{if has "contract.ranges"}}
  const range = rangeOf(code);
  e["kind"] = said ?? range?.kind ?? kindOfStatus(status);
  if (code && !entry && !range) e["upstream"] = { code, ...fieldsOr(e["upstream"]) }; // the other side's own word
//{{else}}
  e["kind"] = said ?? kindOfStatus(status);
  if (code && !entry) e["upstream"] = { code, ...fieldsOr(e["upstream"]) }; // the other side's own word
//{{end}}
  if (code) e["contract"] = contract.name;
  for (const one of [inner && byCode.get(code), entry]) if (one) apply(e, one);
  if (inner) e["code"] = code;
  e["kind"] = kind ?? e["kind"];
  const again = retryable && entry?.retryable === false ? false : retryable; // whatever the other side says
  for (const other of entry ? [said, isFailed(status) ? kindOfStatus(status) : undefined] : []) {
    if (!entry || other === undefined) continue; // of the kinds with this code, the other one tells more
    const one = sayRetryable({ ...e, kind: other, contract: "", code: "" }, again);
    if (choose(subjectOf(one))[0] !== entry) continue;
    if (again !== undefined && isRetryable(one, entry, entry.code) !== again) continue;
    e["kind"] = other;
    break;
  }
//{{if has "retryable.stated"}}
  if (again === true && entry?.retryable === "stated" && !e["effect"]) { // safe to repeat: it did nothing
    Object.assign(e, { effect: "none", effectBasis: "stated" });
  }
//{{end}}
//{{if has "path resource.type"}}
  const [type, id] = [get(e, "resource.type"), get(e, "resource.id")];
  if (!e["message"] && e["kind"] === "not_found" && isText(type) && id) {
    e["message"] = `There is no ${type} ${JSON.stringify(id)}.`; // what is not there is all that is told
  }
//{{end}}
//{{if has "path failed"}}
  for (const f of objectsAt(e, "failed")) f["error"] = complete(fieldsOr(f["error"]), undefined, undefined, true);
//{{end}}
  return isItem ? sayRetryable(e, again) : { origin: "server", ...takeWait(sayRetryable(e, again)) };
}

/** Takes the wait that the other side states beside the members of the contract. */
function takeWait(e: Fields): Fields {
  const { retryAfterMs, retryAfter, retry_after } = fieldsOr(e["details"]);
  const stated = numberOr(retryAfter ?? retry_after);
//{{if has "path afterMs:ms"}}
  const afterMs = bounded(numberOr(retryAfterMs) || (stated < 1000 ? stated * 1000 : stated)); // some mean milliseconds
//{{else}}
  const afterMs = bounded(numberOr(retryAfterMs) || stated * 1000);
//{{end}}
  return e["afterMs"] || !afterMs || !/^(allowance|upstream)$/.test(classOf(e)) ? e : { ...e, afterMs };
}

/** Adds the properties of an entry: its kind, its constants, and the parts of its message. */
function apply(e: Fields, entry: CodeEntry): void {
  e["kind"] = entry.kind;
//{{if has "code.open"}}
  if (entry.open) store(e, match(entry.code, textOr(e["code"])));
  else e["code"] = entry.code;
//{{else}}
  e["code"] = entry.code;
//{{end}}
  for (const [path, value] of Object.entries(entry.set ?? {})) set(e, path, value);
//{{if has "code.message"}}
  const said = textOr(e["message"]);
  const template = entry.message?.find((t) => match(t, said));
  if (template === undefined) return;
  store(e, match(template, said));
  if (!frames(template)) e["message"] = said;
//{{end}}
}

/** Stores the boolean on the wire as advice. A kind that names a way to retry overrides a mere false. */
const sayRetryable = (e: Fields, retryable: Value): Fields =>
  retryable === true ? { ...e, retry: "same_call" }
  : retryable === false && usualAdvice(e) === "same_call" ? { ...e, retry: "never" } : e;
