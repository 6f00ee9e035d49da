// What of Node is used here, so that the package needs no types of others.
declare module "node:child_process" {
  export function spawnSync(
    program: string, args: readonly string[], options: { encoding: "utf8"; maxBuffer: number },
  ): { status: number | null; stdout: string; stderr: string; error?: Error };
}
