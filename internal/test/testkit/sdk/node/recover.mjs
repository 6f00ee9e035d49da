// Makes calls through recover() of the package @recoursehq/client, with an SDK's client:
//   node recover.mjs SDK PACKAGE CONTRACT.json URL HEADERS CALLS
// SDK is v1 or v2. HEADERS is a JSON object, CALLS a JSON array of {tool, arguments, title}: the title shows whether a
// write has landed. Prints a line for each call: its end, and everything that was done. Waits only advance the clock.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import * as v2 from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const [sdk, path, table, url, headers, calls] = process.argv.slice(2);
const { Contract, recover } = await import(pathToFileURL(path));
const contract = new Contract(JSON.parse(readFileSync(table, 'utf8')));

const { Client: OfSDK, StreamableHTTPClientTransport: Transport } = sdk === 'v2' ? v2 : { Client, StreamableHTTPClientTransport };
const info = { name: 'testkit-recover', version: '1.0.0' };
const client = new OfSDK(info, sdk === 'v2' ? { versionNegotiation: { mode: 'auto' } } : undefined);
await client.connect(new Transport(new URL(url), { requestInit: { headers: JSON.parse(headers) }, fetch: contract.keepFailures(fetch) }));
const { tools } = await client.listTools();

const now = Date.now;
let waited = 0;
Date.now = () => now() + waited;
const sleep = async (ms) => void (waited += ms);

for (const { tool, arguments: args, title } of JSON.parse(calls)) {
  const report = [];
  const landed = title === undefined ? undefined : ({ result }) => JSON.stringify(result ?? '').includes(title);
  let ended;
  try {
    const session = recover(client, contract, { tools, landed, report, sleep, random: () => 0.5 });
    const result = await session.callTool({ name: tool, arguments: args });
    ended = { result: JSON.stringify(result) };
  } catch (error) {
    ended = { kind: error.failure?.kind ?? String(error) };
  }
  const count = (action) => report.filter((step) => step.action === action).length;
  const waits = report.filter((step) => step.action === 'wait').map((step) => step.waitMs);
  console.log(JSON.stringify({ ...ended, calls: count('call'), verifies: count('verify'), polls: count('poll'), waits }));
}
await client.close();
