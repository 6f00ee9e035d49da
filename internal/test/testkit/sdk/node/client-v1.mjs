// A client built with @modelcontextprotocol/sdk, which knows the legacy era only.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema, ElicitRequestSchema, ResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { elicit, run, sample } from './driver.mjs';

await run(async ({ url, start, env, era, headers, timeout, capabilities }, hooks) => {
  if (era !== 'legacy') {
    throw new Error('this SDK knows the legacy era only');
  }
  const client = new Client(
    { name: 'testkit-v1', version: '1.0.0' },
    { capabilities: capabilities ?? { elicitation: {}, sampling: {} } },
  );
  client.setRequestHandler(ElicitRequestSchema, elicit);
  if (!capabilities) {
    client.setRequestHandler(CreateMessageRequestSchema, sample);
  }
  client.fallbackNotificationHandler = async (message) => hooks.notification(message);
  const requestInit = { headers: headers ?? {} };
  const transport = start
    ? stdio(start, env)
    : new StreamableHTTPClientTransport(new URL(url), { requestInit });
  await client.connect(transport, { timeout });
  return {
    info: () => ({ protocolVersion: transport.protocolVersion, server: client.getServerVersion() }),
    listTools: () => client.listTools(),
    callTool: ({ name, args, timeout }) =>
      client.callTool({ name, arguments: args }, undefined, { timeout, onprogress: hooks.progress }),
    request: ({ method, params, timeout }) => client.request({ method, params }, ResultSchema, { timeout }),
    notify: ({ method, params }) => client.notification({ method, params }),
    headers: ({ headers }) => void (requestInit.headers = headers),
    close: () => client.close(),
  };
});

// stdio starts a server. Its transport does not keep the negotiated version, as the other one does.
function stdio([command, ...args], env) {
  const transport = new StdioClientTransport({ command, args, env });
  transport.setProtocolVersion = (version) => { transport.protocolVersion = version; };
  return transport;
}
