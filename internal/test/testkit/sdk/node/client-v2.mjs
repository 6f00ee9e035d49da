// A client built with @modelcontextprotocol/client, which knows both eras.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { elicit, run, sample } from './driver.mjs';

const newest = '2026-07-28';
const modes = { legacy: 'legacy', modern: { pin: newest }, auto: 'auto' };

// anything is a schema that accepts every result, for methods unknown to the SDK.
const anything = { '~standard': { version: 1, vendor: 'testkit', validate: (value) => ({ value }) } };

await run(async ({ url, start, env, era, headers, timeout, capabilities }, hooks) => {
  const client = new Client(
    { name: 'testkit-v2', version: '1.0.0' },
    {
      capabilities: capabilities ?? { elicitation: {}, sampling: {} },
      versionNegotiation: { mode: modes[era] },
    },
  );
  client.setRequestHandler('elicitation/create', elicit);
  if (!capabilities) {
    client.setRequestHandler('sampling/createMessage', sample);
  }
  client.fallbackNotificationHandler = async (message) => hooks.notification(message);
  const requestInit = { headers: headers ?? {} };
  const transport = start
    ? new StdioClientTransport({ command: start[0], args: start.slice(1), env })
    : new StreamableHTTPClientTransport(new URL(url), { requestInit });
  await client.connect(transport, { timeout });
  return {
    info: () => ({ protocolVersion: client.getNegotiatedProtocolVersion(), server: client.getServerVersion() }),
    listTools: () => client.listTools(),
    callTool: ({ name, args, timeout }) =>
      client.callTool({ name, arguments: args }, { timeout, onprogress: hooks.progress }),
    request: ({ method, params, timeout }) => client.request({ method, params }, anything, { timeout }),
    notify: ({ method, params }) => client.notification({ method, params }),
    listen: async ({ filter }) => (await client.listen(filter)).honoredFilter,
    headers: ({ headers }) => void (requestInit.headers = headers),
    close: () => client.close(),
  };
});
