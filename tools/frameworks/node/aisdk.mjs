import { createMCPClient } from "@ai-sdk/mcp";
import { Experimental_StdioMCPTransport as Stdio } from "@ai-sdk/mcp/mcp-stdio";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, stepCountIs } from "ai";
import { play } from "./rig.mjs";

await play(async ({ url, command, model, prompt }) => {
  const transport = url ? { type: "http", url } : new Stdio({ command: command[0], args: command.slice(1) });
  const client = await createMCPClient({ transport });
  try {
    const provider = createOpenAICompatible({ name: "scripted", baseURL: model, apiKey: "none" });
    const { text } = await generateText({
      model: provider("scripted"),
      tools: await client.tools(),
      prompt,
      stopWhen: stepCountIs(4),
      maxRetries: 0,
    });
    return text;
  } finally {
    await client.close();
  }
});
