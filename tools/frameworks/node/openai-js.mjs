import { Agent, MCPServerStdio, MCPServerStreamableHttp, OpenAIProvider, Runner, setTracingDisabled } from "@openai/agents";
import { play } from "./rig.mjs";

setTracingDisabled(true);

await play(async ({ url, command, model, prompt }) => {
  const server = url ? new MCPServerStreamableHttp({ url }) : new MCPServerStdio({ command: command[0], args: command.slice(1) });
  const runner = new Runner({ modelProvider: new OpenAIProvider({ baseURL: model, apiKey: "none", useResponses: true }) });
  try {
    await server.connect();
    const said = await runner.run(new Agent({ name: "shop", model: "scripted", mcpServers: [server] }), prompt);
    return said.finalOutput;
  } finally {
    await server.close();
  }
});
