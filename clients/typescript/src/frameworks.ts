import { Contract, recover } from "./contract.js";
import type { RecoverOptions, Signal, Tool } from "./options.js";
import { Server } from "./server.js";
import type { Arguments, ToolResult } from "./types.js";

type Result = { readonly content: unknown };
type ClientLike = {
  callTool(params: { name: string; arguments?: { [name: string]: unknown } }): Promise<unknown>;
  listTools(): Promise<{ tools: unknown[] }>;
  close(): Promise<void>;
};

/** OpenAI Agents: a client of an official SDK as an MCPServer, whose calls do what the contract says when one fails.
 * What is left the model reads, instead of being told to try again.
 *
 *     new Agent({ name: "farm", mcpServers: [mcpServer("farm", client, "fieldmcp")] }) */
export function mcpServer(
  name: string, client: ClientLike, contract: string | Contract = "recourse", options: RecoverOptions = {},
) {
  const c = typeof contract === "string" ? new Contract(contract) : contract;
  const given = { server: new Server(), ...options, returns: true };
  let listed: unknown[] | undefined;
  return {
    name,
    cacheToolsList: true,
    connect: async (): Promise<void> => undefined,
    close: async (): Promise<void> => client.close(),
    // It is asked at every turn, also while the server is down.
    listTools: async (): Promise<never[]> => (listed ??= (await client.listTools()).tools) as never[],
    callTool: async (tool: string, args: { [name: string]: unknown } | null): Promise<never> => {
      const session = recover(client, c, knowing(listed, given));
      return ((await session.callTool({ name: tool, arguments: args ?? {} })) as Result).content as never;
    },
    invalidateToolsCache: async (): Promise<void> => void (listed = undefined),
  };
}

/** Returns options with the tools of a server, whose annotations say what they do. */
const knowing = (tools: readonly unknown[] | undefined, options: RecoverOptions): RecoverOptions =>
  tools && !options.tools ? { ...options, tools: tools as readonly Tool[] } : options;

/** LangChain and LangGraph: a client of an official SDK for loadMcpTools, whose calls do what the contract says when
 * one fails. What is left the model reads as an answer: LangChain adds "Please fix your mistakes." to every error.
 *
 *     await loadMcpTools("farm", answeringClient(client, "fieldmcp")) */
export function answeringClient<C extends { callTool: (params: never) => Promise<unknown> }>(
  client: C, contract: string | Contract = "recourse", options: RecoverOptions = {},
): C {
  const c = typeof contract === "string" ? new Contract(contract) : contract;
  const given = { server: new Server(), ...options, returns: true };
  let listed: unknown[] | undefined;
  const plain = client as unknown as ClientLike;
  const callTool = async (...call: Parameters<ClientLike["callTool"]>): Promise<unknown> =>
    ({ ...((await recover(plain, c, knowing(listed, given)).callTool(...call)) as object), isError: false });
  const listTools = async (...page: unknown[]): Promise<unknown> => {
    const found = await (plain.listTools as (...all: unknown[]) => Promise<{ tools: unknown[] }>).apply(plain, page);
    listed = [...(page[0] === undefined ? [] : (listed ?? [])), ...found.tools];
    return found;
  };
  const own: { readonly [name: PropertyKey]: unknown } = { callTool, listTools };
  const get = (all: object, name: PropertyKey): unknown => own[name] ?? Reflect.get(all, name);
  return new Proxy(recover(plain, c, given), { get }) as unknown as C;
}

type Executed = { execute?: ((input: never, options: never) => unknown) | undefined };
type Execute = (input: unknown, options: unknown) => unknown;

/** AI SDK, and Mastra with onToolError: "return": the tools of an MCP client, whose calls do what the contract says
 * when one fails. What is left the model reads.
 *
 *     streamText({ model, tools: recoverTools(await mcp.tools(), "fieldmcp") }) */
export function recoverTools<T extends { [name: string]: Executed }>(
  tools: T, contract: string | Contract = "recourse", options: RecoverOptions = {},
): T {
  const c = typeof contract === "string" ? new Contract(contract) : contract;
  // Mastra's names begin with that of the server: what a failure calls order_get is farm_order_get there.
  const named = (name: string): string =>
    Object.keys(tools).find((full) => full === name || full.endsWith(`_${name}`)) ?? name;
  const unwrapped = new WeakMap<object, object>();
  const natures = { ...options.natures };
  for (const [name, nature] of Object.entries(natures)) natures[named(name)] = nature;
  const recovering = (name: string, { execute }: Executed): Execute | undefined => execute && ((input, more) => {
    const caller = async (params: { name: string; arguments?: Arguments }, _signal: Signal): Promise<unknown> => {
      const tool = tools[named(params.name)];
      const result = await (tool?.execute as Execute | undefined)?.call(tool, params.arguments, more);
      if (typeof result !== "object" || result === null || "content" in result) return result;
      const whole = { content: [], structuredContent: result }; // Mastra unwraps a result that has a structure
      unwrapped.set(whole, result);
      return whole;
    };
    const session = recover(caller, c, { ...options, natures, returns: true });
    const ended = session<ToolResult>({ name, arguments: input as Arguments });
    return ended.then((result) => unwrapped.get(result) ?? result);
  });
  const copyOf = (tool: Executed): object => Object.assign(Object.create(Object.getPrototypeOf(tool)) as object, tool);
  const all = Object.entries(tools).map(([name, tool]) =>
    [name, Object.assign(copyOf(tool), { execute: recovering(name, tool) })]);
  return Object.fromEntries(all) as T;
}
