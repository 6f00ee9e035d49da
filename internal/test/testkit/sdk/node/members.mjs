// Reads failures with the package @recoursehq/client:
//   node members.mjs PACKAGE CONTRACT ANSWERS
// ANSWERS is a JSON array of {result}, {error} or {status, body}. Prints a JSON line for each: the failure as the module's
// parser reads it, and the one with which recover() ends a call that is answered so.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [path, name, answers] = process.argv.slice(2);
const { Contract, recover } = await import(pathToFileURL(path));
const contract = new Contract(name);

const headers = { get: () => null };
const sleep = async () => {};
for (const { result, error, status, body } of JSON.parse(readFileSync(answers, 'utf8'))) {
  const reading = result ? contract.parseResult(result) : error ? contract.parseError(error) : contract.parseHTTP(status, headers, body);
  const caller = async () => {
    if (result) return result;
    throw error ? Object.assign(new Error(error.message), error) : Object.assign(new Error(`Error POSTing to endpoint: ${body}`), { code: status });
  };
  const ended = await recover(caller, contract, { sleep })({ name: 'get_field', arguments: {} }).then(() => null, (failed) => failed.failure ?? String(failed));
  console.log(JSON.stringify([reading?.failure ?? null, ended]));
}
