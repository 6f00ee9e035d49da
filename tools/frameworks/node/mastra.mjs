import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Agent } from "@mastra/core/agent";
import { MCPClient } from "@mastra/mcp";
import { play } from "./rig.mjs";

let runs = 0;

await play(async ({ url, command, model, prompt }) => {
  const shop = url ? { url: new URL(url) } : { command: command[0], args: command.slice(1) };
  const mcp = new MCPClient({ id: `shop-${runs++}`, servers: { shop } });
  try {
    const provider = createOpenAICompatible({ name: "scripted", baseURL: model, apiKey: "none" });
    const tools = await mcp.listTools();
    const agent = new Agent({ id: "shop", name: "shop", instructions: "Be brief.", model: provider("scripted"), tools });
    return (await agent.generate(prompt, { maxSteps: 4 })).text;
  } finally {
    await mcp.disconnect();
  }
});
