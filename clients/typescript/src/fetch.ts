import { effectOf } from "./decide.js";
import { type HTTPAnswer } from "./options.js";
import { readHTTP } from "./read.js";
import { encode, isObject, kindOf, own, parsed, textOr } from "./record.js";
import type { Tables } from "./tables.js";

// Of every runtime.
declare const Response: new (body: string, init: { headers: { [name: string]: string } }) => HTTPAnswer;

/** Where the status is kept: a name that no server knows, since a status counts for more than words. */
export const keptStatus = `httpStatus-${Math.random().toString(36).slice(2)}`;

/** Returns a fetch for the HTTP transport of an SDK. SDKs drop Retry-After and more from an HTTP error: it becomes a
 * JSON-RPC error, which they pass on. A lost session and a challenge to sign in reach them unchanged. */
export function keepFailures<F extends (...request: never[]) => Promise<HTTPAnswer>>(c: Tables, fetch: F): F {
  const send = async (...request: Parameters<F>): Promise<HTTPAnswer> => {
    const answer = await fetch(...request);
    const id = isObject(request[1]) ? own(parsed(textOr(request[1]["body"])), "id") : undefined;
    const asIs = answer.status < 400 || answer.status === 404 || answer.headers.get("WWW-Authenticate") !== null;
    if (asIs || id === undefined) return answer;
    const e = readHTTP(c, answer.status, answer.headers, await answer.text());
    const data = { ...encode(e), effect: effectOf(e, "writes"), [keptStatus]: answer.status };
    const error = { code: -32603, message: textOr(e["message"]) || kindOf(e), data };
    const headers = { "Content-Type": "application/json" };
    return new Response(JSON.stringify({ jsonrpc: "2.0", id, error }), { headers });
  };
  return send as F;
}
