// What a model reads in agent frameworks, with a scripted model and a real server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { AIMessage } from "@langchain/core/messages";
import { loadMcpTools } from "@langchain/mcp-adapters";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { Agent, Runner, setTracingDisabled, Usage } from "@openai/agents";
import { answeringClient, mcpServer, recoverTools } from "@recoursehq/client/frameworks";

const now = Date.now;
let slept = 0;
Date.now = () => now() + slept;
const sleep = async (ms) => void (slept += ms); // waits take no time: the clock goes forward
const options = () => ({ sleep, random: () => 0 }); // annotations say which tools read
const told = () => ({ ...options(), natures: { get_field: "reads", order_get: "reads" } }); // where they are not known
const server = { command: process.execPath, args: [fileURLToPath(new URL("server.mjs", import.meta.url))] };
const calls = { get_field: { id: "12" }, order_create: { reference: "A-17" } };

/** Checks what the model has read: the field, after a wait; of a lost write, what to do. */
function check(read) {
  assert.ok(!JSON.stringify(read).includes("Please fix"));
  assert.match(read.get_field, /\\?"id\\?":\s?\\?"12/);
  assert.match(read.order_create, /No answer came.*\\?n?It is not known whether the call took effect.*order_get/s);
}

async function connected() {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StdioClientTransport(server));
  return client;
}

test("LangChain and LangGraph", async () => {
  const client = await connected();
  try {
    const tools = await loadMcpTools("farm", answeringClient(client, "recourse", options()));
    const message = new AIMessage({
      content: "",
      tool_calls: Object.entries(calls).map(([name, args]) => ({ name, args, id: name, type: "tool_call" })),
    });
    const { messages } = await new ToolNode(tools).invoke({ messages: [message] });
    check(Object.fromEntries(messages.map((m) => [m.name, typeof m.content === "string" ? m.content : JSON.stringify(m.content)])));
  } finally {
    await client.close();
  }
});

test("OpenAI Agents", async () => {
  setTracingDisabled(true);
  const client = await connected();
  const read = {};
  const model = {
    async getResponse({ input }) {
      for (const item of input) if (item.type === "function_call_result") read[item.name] = JSON.stringify(item.output);
      const output = Object.keys(read).length > 0
        ? [{ type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: "done" }] }]
        : Object.entries(calls).map(([name, args]) => ({ type: "function_call", callId: name, name, status: "completed", arguments: JSON.stringify(args) }));
      return { usage: new Usage(), output };
    },
  };
  try {
    const agent = new Agent({ name: "farm", model, mcpServers: [mcpServer("farm", client, "recourse", options())] });
    await new Runner().run(agent, "go");
    check(read);
  } finally {
    await client.close();
  }
});

const isOld = parseInt(process.versions.node) < 22 && "the newest AI SDK and Mastra need Node 22";

/** A model for AI SDK and Mastra that makes the calls, and keeps what it reads. */
async function scripted(read, prefix = "") {
  const { MockLanguageModelV3, convertArrayToReadableStream } = await import("ai/test");
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
  const next = (prompt) => {
    for (const { role, content } of prompt) {
      if (role === "tool") for (const part of content) read[part.toolName.slice(prefix.length)] = JSON.stringify(part.output);
    }
    const isDone = Object.keys(read).length > 0;
    const content = isDone
      ? [{ type: "text", text: "done" }]
      : Object.entries(calls).map(([name, args]) =>
          ({ type: "tool-call", toolCallId: name, toolName: prefix + name, input: JSON.stringify(args) }));
    return { content, finishReason: { unified: isDone ? "stop" : "tool-calls" } };
  };
  return new MockLanguageModelV3({
    doGenerate: async ({ prompt }) => ({ ...next(prompt), usage, warnings: [] }),
    doStream: async ({ prompt }) => {
      const { content, finishReason } = next(prompt);
      const parts = content.flatMap((part) => part.type === "text"
        ? [{ type: "text-start", id: "1" }, { type: "text-delta", id: "1", delta: part.text }, { type: "text-end", id: "1" }]
        : [part]);
      const stream = [{ type: "stream-start", warnings: [] }, ...parts, { type: "finish", finishReason, usage }];
      return { stream: convertArrayToReadableStream(stream) };
    },
  });
}

test("AI SDK", { skip: isOld }, async () => {
  const { createMCPClient } = await import("@ai-sdk/mcp");
  const { Experimental_StdioMCPTransport: Stdio } = await import("@ai-sdk/mcp/mcp-stdio");
  const { generateText, stepCountIs } = await import("ai");
  const client = await createMCPClient({ transport: new Stdio(server) });
  const read = {};
  try {
    const tools = recoverTools(await client.tools(), "recourse", told());
    await generateText({ model: await scripted(read), tools, prompt: "go", stopWhen: stepCountIs(3) });
    check(read);
  } finally {
    await client.close();
  }
});

test("Mastra", { skip: isOld }, async () => {
  const { Agent: MastraAgent } = await import("@mastra/core/agent");
  const { MCPClient } = await import("@mastra/mcp");
  const mcp = new MCPClient({ servers: { farm: { ...server, onToolError: "return" } } });
  const read = {};
  try {
    const tools = recoverTools(await mcp.listTools(), "recourse", told());
    const agent = new MastraAgent({ id: "farm", name: "farm", instructions: "go", model: await scripted(read, "farm_"), tools });
    await agent.generate("go", { maxSteps: 3 });
    check(read);
  } finally {
    await mcp.disconnect();
  }
});
