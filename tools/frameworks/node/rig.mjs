// What the programs have in common: a task on each line of the input, and a line of output for how the agent has ended.
import { createInterface } from "node:readline";

const say = (end) => process.stdout.write(`\n@@${JSON.stringify(end)}\n`);

/** Runs an agent for each task: run({ url, command, model, prompt }) returns what the model says at last. */
export async function play(run) {
  say({});
  for await (const line of createInterface({ input: process.stdin })) {
    try {
      say({ done: String(await run(JSON.parse(line))) });
    } catch (error) {
      say({ threw: String(error) || "an error" });
    }
  }
}
