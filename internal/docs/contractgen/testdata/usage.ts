// How authors of servers and clients use the package @recoursehq/client and a contract's module.
import { CallFailed, Contract, ContractError, Server, recover, recoverConnect } from "@recoursehq/client";
import type { Answer, Failure, Kind, Question, ToolResult } from "@recoursehq/client";
import { contract } from "./fieldmcp.js";
import type { Code, WireError } from "./fieldmcp.js";

/** A tool of a server. */
export function getField(id: string): ToolResult {
  if (id === "") return answered(contract.ask({ message: "Which field?", fields: ["id"] }, { tool: "get_field" }));
  const failure = contract.failures.FIELD_NOT_FOUND(`There is no field ${id}.`, { resource: { type: "field", id } });
  return answered(contract.write(failure, { tool: "get_field", tools: ["get_field", "deere_list_resources"] }));
}

function answered(answer: Answer): ToolResult {
  if (answer.surface === "result") return answer.result;
  throw new Error(answer.surface === "error" ? answer.error.message : answer.body);
}

/** A client: the wait before the same call is repeated; undefined: repeating it is useless. */
export function waitMs(result: unknown): number | undefined {
  const reading = contract.parseResult(result);
  if (reading === undefined) return undefined;
  if (reading.question !== undefined) return question(reading.question);
  const failure: Failure = reading.failure;
  return failure.retry === "same_call" ? (failure.afterMs ?? 1000) : undefined;
}

function question(q: Question): undefined {
  console.log(q.message, q.options?.map((option) => option.label) ?? []);
  return undefined;
}

declare const console: { log(...values: unknown[]): void };

export async function overHTTP(answer: { status: number; headers: { get(name: string): string | null }; text(): Promise<string> }): Promise<Kind | undefined> {
  return contract.parseHTTP(answer.status, answer.headers, await answer.text())?.failure?.kind;
}

export const ofError = (error: { code: number; message: string; data?: unknown }): string | undefined => contract.parseError(error).failure?.code;

/** The parts of an SDK's client that are used here. */
interface Client {
  callTool(params: { name: string; arguments?: { [name: string]: unknown } }, schema?: unknown, options?: { timeout?: number }): Promise<{ [name: string]: unknown }>;
  close(): Promise<void>;
}

export async function recovered(client: Client): Promise<{ [name: string]: unknown } | readonly string[]> {
  try {
    const session: Client = recover(client, contract, { timeoutMs: 60_000, connect: (failure) => console.log(failure.provider) });
    return await session.callTool({ name: "get_field", arguments: { id: "12" } });
  } catch (error) {
    return error instanceof CallFailed ? (error.failure.hints ?? []) : [];
  }
}

export const opened = async (open: () => Promise<Client>): Promise<Client> => recoverConnect(open, "fieldmcp", { timeoutMs: 60_000 });

/** The state that all callers of the server share, and the fetch for its transport. */
export const shared = new Server();
declare const fetch: (url: string | URL, init?: { method?: string; body?: string }) => Promise<Response>;
declare class URL {}
declare class Response {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}
export const kept: typeof fetch = contract.keepFailures(fetch);

export const isRepeated = (failure: Failure): boolean => contract.decide(failure, "reads", 1, 60_000).repeat;

export const groups = new Map<string, string | undefined>(contract.codes.map((entry) => [entry.code, entry.group]));
export const notFound: readonly Code[] = ["FIELD_NOT_FOUND", "ORG_NOT_FOUND"];
export const isWireError = (o: unknown): o is WireError => typeof o === "object" && o !== null && "error" in o && o.error === true;

export function loaded(text: string): Contract | string {
  try {
    return new Contract(JSON.parse(text));
  } catch (error) {
    return error instanceof ContractError ? error.message : "no JSON";
  }
}

// @ts-expect-error: a code that the contract does not have
contract.failures.FEILD_NOT_FOUND();
// @ts-expect-error: a member that the record does not have
contract.failures.FIELD_NOT_FOUND("x", { resourse: { type: "field" } });
