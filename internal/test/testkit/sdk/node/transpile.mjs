// Compiles the package @recoursehq/client without checking its types, for tests that run it:
//   node transpile.mjs FROM INTO
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import typescript from 'typescript';

const [from, into] = process.argv.slice(2);
const compilerOptions = { target: typescript.ScriptTarget.ES2022, module: typescript.ModuleKind.ESNext };
mkdirSync(into, { recursive: true });
for (const name of readdirSync(from)) {
  const file = join(into, name.replace(/\.ts$/, '.js'));
  writeFileSync(`${file}.${process.pid}`, typescript.transpileModule(readFileSync(join(from, name), 'utf8'), { compilerOptions }).outputText);
  renameSync(`${file}.${process.pid}`, file); // tests of other packages may run it
}
writeFileSync(join(into, 'package.json'), '{"type":"module"}');
