// Makes calls through recover() of a module that `recourse contract gen` wrote, with an SDK's client:
//   node recover.mjs SDK MODULE.ts URL HEADERS CALLS
// SDK is v1 or v2. HEADERS is a JSON object, CALLS a JSON array of {tool, arguments, title}: the title shows whether a
// write has landed. Prints a line for each call: its end, and everything that was done. Waits only advance the clock.
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import * as v2 from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import typescript from 'typescript';

const [sdk, path, url, headers, calls] = process.argv.slice(2);
const compiled = path.replace(/\.ts$/, '.mjs');
const compilerOptions = { target: typescript.ScriptTarget.ES2022, module: typescript.ModuleKind.ESNext };
writeFileSync(compiled, typescript.transpileModule(readFileSync(path, 'utf8'), { compilerOptions }).outputText);
const { keepFailures, recover } = await import(pathToFileURL(compiled));

const { Client: OfSDK, StreamableHTTPClientTransport: Transport } = sdk === 'v2' ? v2 : { Client, StreamableHTTPClientTransport };
const info = { name: 'testkit-recover', version: '1.0.0' };
const client = new OfSDK(info, sdk === 'v2' ? { versionNegotiation: { mode: 'auto' } } : undefined);
await client.connect(new Transport(new URL(url), { requestInit: { headers: JSON.parse(headers) }, fetch: keepFailures(fetch) }));
const { tools } = await client.listTools();
const caller = (params, signal) => client.callTool(params, ...(sdk === 'v2' ? [] : [undefined]), { signal });

const now = Date.now;
let waited = 0;
Date.now = () => now() + waited;
const sleep = async (ms) => void (waited += ms);

for (const { tool, arguments: args, title } of JSON.parse(calls)) {
  const report = [];
  const landed = title === undefined ? undefined : ({ result }) => JSON.stringify(result ?? '').includes(title);
  let ended;
  try {
    const result = await recover(caller, { name: tool, arguments: args }, { tools, landed, report, sleep, random: () => 0.5 });
    ended = { result: JSON.stringify(result) };
  } catch (error) {
    ended = { kind: error.failure?.kind ?? String(error) };
  }
  const count = (action) => report.filter((step) => step.action === action).length;
  const waits = report.filter((step) => step.action === 'wait').map((step) => step.waitMs);
  console.log(JSON.stringify({ ...ended, calls: count('call'), verifies: count('verify'), polls: count('poll'), waits }));
}
await client.close();
