import { openAICompatible } from "@genkit-ai/compat-oai";
import { createMcpHost } from "@genkit-ai/mcp";
import { genkit } from "genkit";
import { play } from "./rig.mjs";

await play(async ({ url, command, model, prompt }) => {
  const shop = url ? { url } : { command: command[0], args: command.slice(1) };
  const host = createMcpHost({ name: "host", mcpServers: { shop } });
  const ai = genkit({ plugins: [openAICompatible({ name: "scripted", apiKey: "none", baseURL: model, maxRetries: 0 })] });
  try {
    const { text } = await ai.generate({ model: "scripted/scripted", prompt, tools: await host.getActiveTools(ai) });
    return text;
  } finally {
    await host.close();
  }
});
