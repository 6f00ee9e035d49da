import { spawnSync } from "node:child_process";

/** A report of `recourse check`, as --json prints it. */
export type Report = {
  readonly grade?: string; readonly findings: readonly Finding[] | null; readonly [member: string]: unknown;
};

/** A rule that was broken. */
export type Finding = {
  readonly rule: string; readonly harm: string; readonly tool?: string; readonly title: string; readonly said: string;
  readonly mend: string; readonly entry?: string; readonly known?: string; readonly [member: string]: unknown;
};

/** Where the server is, and which findings matter. */
export type CheckOptions = {
  readonly command?: readonly string[]; readonly url?: string; readonly failOn?: string; readonly baseline?: string;
  readonly args?: readonly string[]; readonly program?: string;
};

/** Runs `recourse check`, which has to be on the PATH, and returns its report: for a test of Node's or any other
 * runner. It throws an Error that lists the findings if one is of a harm that matters and not in the baseline. */
export function check(options: CheckOptions): Report {
  const line = ["check", "--json", "--fail-on", options.failOn ?? "hides", ...(options.args ?? [])];
  if (options.baseline !== undefined) line.push("--baseline", options.baseline);
  if (options.url !== undefined) line.push(options.url);
  if (options.command !== undefined) line.push("--", ...options.command);
  const done = spawnSync(options.program ?? "recourse", line, { encoding: "utf8", maxBuffer: 64 << 20 });
  if (done.error) throw done.error;
  let report: Report;
  try {
    report = JSON.parse(done.stdout) as Report;
  } catch {
    throw new Error(`recourse check: ${done.stderr.trim()}`);
  }
  if (done.status !== 0) throw new Error([done.stderr.trim(), ...(report.findings ?? []).map(sentence)].join("\n"));
  return report;
}

function sentence(f: Finding): string {
  const known = f.known === undefined ? "" : ` (known: ${f.known})`;
  const mend = `${f.mend}\n    ${f.entry ?? ""}`.trimEnd();
  return `${f.harm}: ${f.title} (${f.rule})\n  ${f.tool ?? "the server"}: ${f.said}${known}\n  mend: ${mend}`;
}
