// Reads commands from stdin, one per line, runs them with an SDK's client, and writes one line each to stdout with the
// result or the error. Ends with stdin.
import { createInterface } from 'node:readline';

const notifications = [];

process.on('unhandledRejection', () => {}); // what a command throws is in its reply

// run drives an SDK: connect(options, hooks) resolves to a client whose other commands are functions of one argument.
export async function run(connect) {
  let client;
  const hooks = {
    notification: (message) => notifications.push(message),
    progress: (params) => notifications.push({ method: 'notifications/progress', params }),
  };
  for await (const line of createInterface({ input: process.stdin })) {
    const { command, number, ...args } = JSON.parse(line);
    const reply = { number };
    try {
      if (command === 'connect') {
        client = await connect(args, hooks);
        reply.result = client.info();
      } else if (client === undefined) {
        throw new Error('not connected');
      } else {
        reply.result = (await client[command](args)) ?? null;
      }
    } catch (error) {
      reply.error = describe(error);
    }
    reply.notifications = notifications.splice(0);
    process.stdout.write(JSON.stringify(reply) + '\n');
  }
  process.exit(0);
}

// elicit is the user's answer to every question.
export const elicit = async () => ({ action: 'accept', content: { name: 'Ada' } });

// sample is the answer of the user's model to everything.
export const sample = async () => ({ role: 'assistant', model: 'testkit', content: { type: 'text', text: 'sampled' } });

// describe turns an error into JSON with everything by which a program can distinguish it.
function describe(error) {
  if (!(error instanceof Error)) {
    return { class: typeof error, message: String(error) };
  }
  return {
    class: error.constructor.name,
    message: error.message,
    code: error.code === undefined ? undefined : String(error.code),
    status: error.status,
    data: error.data,
  };
}
