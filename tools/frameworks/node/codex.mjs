import { spawn } from "node:child_process";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { play } from "./rig.mjs";

const codex = fileURLToPath(new URL("bin/codex.js", import.meta.resolve("@openai/codex/package.json")));

await play(async ({ url, command, model, prompt }) => {
  const home = await mkdtemp(join(tmpdir(), "codex-"));
  const shop = url ? `url = ${JSON.stringify(url)}` : `command = ${JSON.stringify(command[0])}\nargs = ${JSON.stringify(command.slice(1))}`;
  await writeFile(join(home, "config.toml"), `model = "scripted"
model_provider = "scripted"
approval_policy = "never"
[model_providers.scripted]
name = "scripted"
base_url = ${JSON.stringify(model)}
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[mcp_servers.shop]
${shop}
default_tools_approval_mode = "approve"
`);
  const args = [codex, "exec", "--skip-git-repo-check", "--json", prompt];
  const child = spawn(process.execPath, args, { env: { ...process.env, CODEX_HOME: home }, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  let log = "";
  child.stdout.on("data", (part) => (said += part));
  child.stderr.on("data", (part) => (log += part));
  const code = await new Promise((resolve) => child.on("close", resolve));
  if (code !== 0) throw new Error(`codex: exit status ${code}: ${log.slice(-600)} ${said.slice(-300)}`);
  return said;
});
