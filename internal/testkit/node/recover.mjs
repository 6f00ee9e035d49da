// Makes calls through recover() of a module that `recourse contract gen` wrote, with an SDK's client:
//   node recover.mjs MODULE.ts URL HEADERS CALLS
// HEADERS is a JSON object, CALLS a JSON array of {tool, arguments, title}: whether a write has landed is told by the title.
// Prints a line for each call: what it ended with, and what was done for it. Waits take no time.
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import typescript from 'typescript';

const [path, url, headers, calls] = process.argv.slice(2);
const compiled = path.replace(/\.ts$/, '.mjs');
const compilerOptions = { target: typescript.ScriptTarget.ES2022, module: typescript.ModuleKind.ESNext };
writeFileSync(compiled, typescript.transpileModule(readFileSync(path, 'utf8'), { compilerOptions }).outputText);
const { recover } = await import(pathToFileURL(compiled));

const client = new Client({ name: 'testkit-recover', version: '1.0.0' });
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: JSON.parse(headers) } }));
const { tools } = await client.listTools();

for (const { tool, arguments: args, title } of JSON.parse(calls)) {
  const report = [];
  const landed = title === undefined ? undefined : ({ result }) => JSON.stringify(result ?? '').includes(title);
  const caller = (params, signal) => client.callTool(params, undefined, { signal });
  let ended;
  try {
    const result = await recover(caller, { name: tool, arguments: args }, { tools, landed, report, sleep: async () => {}, random: () => 0.5 });
    ended = { result: JSON.stringify(result) };
  } catch (error) {
    ended = { kind: error.failure?.kind ?? String(error) };
  }
  const count = (action) => report.filter((step) => step.action === action).length;
  console.log(JSON.stringify({ ...ended, calls: count('call'), verifies: count('verify'), polls: count('poll') }));
}
await client.close();
