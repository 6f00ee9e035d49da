import { asResult, Contract } from "./contract.js";
import { effectOf, type Nature } from "./decide.js";
import * as failures from "./failures.js";
import { type Annotations, CallFailed, InputNeeded } from "./options.js";
import { classOf, copyOf, type Fields, fieldsOr, own } from "./record.js";
import type { Failure, Question, ToolResult } from "./types.js";

export * from "./failures.js";

/** An McpServer of either version of the official SDK. */
export type ServerLike = { registerTool: (...registration: never[]) => unknown };

type Config = { annotations?: Annotations; inputSchema?: unknown; outputSchema?: unknown };
type Callback = (...args: unknown[]) => unknown;

/** Makes a server write the failures of tools that are registered from now on in the form of a contract: what they
 * throw becomes a failure, as failureFrom says. With reveal: false the text of an unknown error stays out of it. */
export function use(
  server: ServerLike, contract: string | Contract = "recourse", options: { reveal?: boolean } = {},
): void {
  const c = typeof contract === "string" ? new Contract(contract) : contract;
  const tools: string[] = [];
  const register = (server.registerTool as unknown as Callback).bind(server);
  server.registerTool = ((name: string, config: Config, run: Callback): unknown => {
    tools.push(name);
    const guarded = async (...args: unknown[]): Promise<unknown> => {
      try {
        return await run(...args);
      } catch (error) {
        const given = config.inputSchema === undefined ? undefined : args[0];
        return sent(c, failureFrom(error, options.reveal), { name, config, given, tools });
      }
    };
    return register(name, config, guarded);
  }) as ServerLike["registerTool"];
}

/** Turns what was thrown into a failure or a question: a CallFailed or an InputNeeded in its chain is that; time-outs
 * and broken connections are recognized. Anything else is internal, with its own text unless reveal is false. */
export function failureFrom(error: unknown, reveal = true): Failure | { question: Question } {
  let last = error;
  for (let at: unknown = error, n = 0; at !== undefined && at !== null && n < 10; at = (at as Error).cause, n++) {
    if (at instanceof CallFailed) return at.failure;
    if (at instanceof InputNeeded) return { question: at.question };
    const { name, code } = Object(at) as { name?: unknown; code?: unknown };
    const isLate = name === "TimeoutError" || isOneOf(code, "ETIMEDOUT UND_ERR_HEADERS_TIMEOUT");
    if (isLate) return failures.timeout().failure;
    if (isOneOf(code, "ECONNREFUSED ENOTFOUND UND_ERR_CONNECT_TIMEOUT")) { // nothing can have been sent
      return failures.unreachable("", { effect: "none" }).failure;
    }
    if (isOneOf(code, "ECONNRESET EPIPE UND_ERR_SOCKET")) return failures.unreachable().failure;
    last = at;
  }
  const message = last instanceof Error ? last.message : String(last);
  return failures.internal(reveal && message ? { message } : {}).failure;
}

const isOneOf = (code: unknown, codes: string): boolean => typeof code === "string" && codes.split(" ").includes(code);

type Registered = { name: string; config: Config; given: unknown; tools: readonly string[] };

function sent(c: Contract, failed: Failure | { question: Question }, registered: Registered): ToolResult {
  const { name, config, given, tools } = registered;
  const argument = c.table.layouts[0].format?.argument;
  const formatArgument = argument !== undefined && own(copyOf(given), argument) !== undefined;
  const call = { tool: name, arguments: given, tools, formatArgument, outputSchema: config.outputSchema !== undefined };
  return asResult("question" in failed ? c.ask(failed.question, call) : c.write(settled(failed, config), call));
}

/** Says who has failed, and whether anything was changed, unless the author has said it. */
function settled(failed: Failure, { annotations }: Config): Failure {
  const e: Fields = fieldsOr(copyOf(failed));
  const nature: Nature = annotations?.readOnlyHint ? "reads" : annotations?.idempotentHint ? "idempotent" : "writes";
  const origin = classOf(e) === "input" ? "caller" : e["provider"] ? "provider" : "server";
  return { origin, effect: effectOf(e, nature), ...e } as unknown as Failure;
}
