import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent } from "langchain";
import { play } from "./rig.mjs";

await play(async ({ url, command, model, prompt }) => {
  const shop = url ? { transport: "http", url } : { transport: "stdio", command: command[0], args: command.slice(1) };
  const client = new MultiServerMCPClient({ mcpServers: { shop } });
  try {
    const llm = new ChatOpenAI({ model: "scripted", apiKey: "none", maxRetries: 0, configuration: { baseURL: model } });
    const agent = createAgent({ model: llm, tools: await client.getTools() });
    const { messages } = await agent.invoke({ messages: [{ role: "user", content: prompt }] });
    return messages.at(-1).content;
  } finally {
    await client.close();
  }
});
