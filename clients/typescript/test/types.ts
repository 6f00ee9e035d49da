// The types of the SDKs' clients are kept: tsc --noEmit types.ts
import { Client as Client2 } from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { McpServer as McpServer1 } from "@modelcontextprotocol/sdk/server/mcp.js";
import { McpServer as McpServer2 } from "@modelcontextprotocol/server";
import { Contract, recover, recoverConnect } from "@recoursehq/client";
import type { MCPServer as OpenAIServer } from "@openai/agents";
import { answeringClient, mcpServer } from "@recoursehq/client/frameworks";
import { notFound, use } from "@recoursehq/client/server";

declare const one: Client1;
declare const two: Client2;
export const first: Client1 = recover(one, "recourse", { natures: { order_get: "reads" } });
export const second: Client2 = recover(two, new Contract("fieldmcp"));
export const opened: Promise<Client2> = recoverConnect(async () => two);
export const called: Promise<{ [name: string]: unknown }> = first.callTool({ name: "a" }, undefined, { timeout: 1000 });

declare const server1: McpServer1;
declare const server2: McpServer2;
use(server1, "fieldmcp");
use(server2, new Contract("fieldmcp"), { reveal: false });
export const thrown: Error = notFound("field", "12", { hints: ["List them."] });
export const agents: OpenAIServer = mcpServer("farm", one, "fieldmcp");
export const answering: Client1 = answeringClient(one, "fieldmcp");
