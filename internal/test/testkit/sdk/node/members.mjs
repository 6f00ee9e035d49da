// Reads failures with a module that `recourse contract gen` wrote:
//   node members.mjs MODULE.ts ANSWERS
// ANSWERS is a JSON array of {result}, {error} or {status, body}. Prints a JSON line for each: the failure as the module's
// parser reads it, and the one with which recover() ends a call that is answered so.
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import typescript from 'typescript';

const [path, answers] = process.argv.slice(2);
const compiled = path.replace(/\.ts$/, '.mjs');
const compilerOptions = { target: typescript.ScriptTarget.ES2022, module: typescript.ModuleKind.ESNext };
writeFileSync(compiled, typescript.transpileModule(readFileSync(path, 'utf8'), { compilerOptions }).outputText);
const { parseError, parseHTTP, parseResult, recover } = await import(pathToFileURL(compiled));

const headers = { get: () => null };
const sleep = async () => {};
for (const { result, error, status, body } of JSON.parse(readFileSync(answers, 'utf8'))) {
  const reading = result ? parseResult(result) : error ? parseError(error) : parseHTTP(status, headers, body);
  const caller = async () => {
    if (result) return result;
    throw error ? Object.assign(new Error(error.message), error) : Object.assign(new Error(`Error POSTing to endpoint: ${body}`), { code: status });
  };
  const ended = await recover(caller, { name: 'get_field', arguments: {} }, { sleep }).then(() => null, (failed) => failed.failure ?? String(failed));
  console.log(JSON.stringify([reading?.failure ?? null, ended]));
}
