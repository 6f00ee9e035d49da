import { CallFailed } from "./options.js";
import type { Failure, Kind } from "./types.js";

type More = Partial<Failure>;
type Thrown = (more?: More) => CallFailed;

/** Makes an error of a kind to throw from a tool. Prefer the function named for the kind. */
export function failure(kind: Kind, message = "", more: More = {}): CallFailed {
  return new CallFailed({ kind, ...(message && { message }), ...more });
}

const quoted = (value: string): string => JSON.stringify(value.length > 128 ? value.slice(0, 128) + "…" : value);
const listed = (names: readonly string[]): string =>
  [names.slice(0, -1).join(", "), ...names.slice(-1)].filter((text) => text).join(" and ");
const called = (provider: string): string => provider || "The server";
const of = (provider: string): More => (provider ? { provider } : {});
const pointerOf = (param: string): string =>
  "/" + param.replaceAll("~", "~0").replaceAll("/", "~1").replaceAll(".", "/");

/** Required parameters were not given. */
export function missingParam(...params: string[]): CallFailed {
  const violations = params.map((param) =>
    ({ pointer: pointerOf(param), param, rule: "required", message: `${param} is required` }));
  const [word, verb] = params.length === 1 ? ["Parameter", "is"] : ["Parameters", "are"];
  return failure("missing_param", `${word} ${listed(params)} ${verb} required.`, { violations });
}

const invalid = (kind: Kind, rule: string) => (param: string, want: string, got?: unknown): CallFailed => {
  const message = `${param} must be ${want}`;
  const more = { ...(rule && { rule }), ...(got !== undefined && { got }), want, message };
  return failure(kind, `Parameter ${message}.`, { violations: [{ pointer: pointerOf(param), param, ...more }] });
};
/** A parameter has the wrong type; want names the right one. Leave got out to keep the value out of the record. */
export const invalidType = invalid("invalid_type", "type");
/** A parameter has a value outside of what want describes. */
export const invalidValue = invalid("invalid_value", "");

/** Parameters exclude each other. */
export function conflictingParams(...params: string[]): CallFailed {
  const message = `${listed(params)} exclude each other`;
  const violations = params.map((param) => ({ pointer: pointerOf(param), param, rule: "not", message }));
  return failure("conflicting_params", `Parameters ${listed(params)} cannot be used together.`, { violations });
}

const ofProvider = (kind: Kind, sentence: (provider: string) => string) => (provider = "", more?: More): CallFailed =>
  failure(kind, sentence(called(provider)), { ...of(provider), ...more });
/** Valid credentials are required. */
export const unauthenticated: Thrown = (more) => failure("unauthenticated", "", more);
/** The access to a provider has expired, and could not be renewed. */
export const tokenExpired = ofProvider("token_expired", (name) => `The access to ${name} has expired.`);
/** The access to a provider was revoked. */
export const tokenRevoked = ofProvider("token_revoked", (name) => `The access to ${name} was revoked.`);
/** No account of a provider has been connected yet. */
export const notConnected = ofProvider("not_connected", (name) => `No ${name} account is connected.`);
/** The access to a provider lacks scopes. */
export const missingScope = (provider: string, ...missingScopes: string[]): CallFailed => {
  const word = missingScopes.length === 1 ? "scope" : "scopes";
  const message = `The access to ${provider} lacks the ${word} ${listed(missingScopes)}.`;
  return failure("missing_scope", message, { provider, missingScopes });
};
/** The caller may not do this. */
export const permissionDenied: Thrown = (more) => failure("permission_denied", "", more);

/** No resource of a type has an id. */
export const notFound = (type: string, id: string, more?: More): CallFailed =>
  failure("not_found", `There is no ${type} ${quoted(id)}.`, { resource: { type, id }, ...more });
/** A search or filter matched no resource of a type. */
export const noMatch = (type: string, more?: More): CallFailed =>
  failure("no_match", `No ${type} matched.`, { resource: { type }, ...more });
/** The call conflicts with the current state; message says how. */
export const conflict = (message: string, more?: More): CallFailed => failure("conflict", message, more);
/** The current state does not allow the call; message says why. */
export const invalidState = (message: string, more?: More): CallFailed => failure("invalid_state", message, more);

/** There were too many calls. afterMs: the minimum wait, if it is known. */
export const rateLimited = (afterMs = 0, more?: More): CallFailed =>
  failure("rate_limited", "", { ...(afterMs > 0 && { afterMs }), ...more });
/** The quota of a name is used up. */
export const quotaExhausted = (policy: string, more?: More): CallFailed =>
  failure("quota_exhausted", `The quota ${quoted(policy)} is used up.`, {
    quotas: [{ policy, remaining: 0 }], ...more,
  });
/** No more resources of a type may be created. */
export const limitReached = (type: string, more?: More): CallFailed =>
  failure("limit_reached", `No more of type ${quoted(type)} may be created.`, { resource: { type }, ...more });

/** The connection to a provider could not be made, or broke. */
export const unreachable = ofProvider("unreachable", (name) => `${name} could not be reached.`);
/** A provider is down or overloaded. */
export const unavailable = ofProvider("unavailable", (name) => `${name} is not available at the moment.`);
/** A provider did not answer in time. */
export const timeout = ofProvider("timeout", (name) => `${name} did not answer in time.`);
/** A provider's answer cannot be understood. */
export const badResponse = ofProvider("bad_response", (name) => `${name} sent an invalid response.`);

/** A provider answered with an HTTP status of 400 or more. */
export function answered(provider: string, status: number, more?: More): CallFailed {
  const told = { ...of(provider), upstream: { status }, ...more };
  return status < 500 ? failure("client_error", `${called(provider)} refused the request (HTTP ${status}).`, told)
    : failure("server_error", `${called(provider)} failed (HTTP ${status}).`, told);
}

/** The work ended without success; message says why. */
export const jobFailed = (message: string, more?: More): CallFailed => failure("job_failed", message, more);
/** Something failed through no fault of the caller. */
export const internal: Thrown = (more) => failure("internal", "", more);
