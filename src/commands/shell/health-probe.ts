// A separate program for the health check of a container, because the image has neither curl nor a shell:
//   node dist/commands/shell/health-probe.js [url]

import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { readSettingsTree } from '../../config/yaml-tree.ts';

const TIMEOUT_MS = 3_000;
/** The same text as in config/load.ts. That module is not imported: this would take half a second of CPU at each check. */
const DEFAULT_SETTINGS_FILE = 'config/connector.yaml';
/** The command line of the container's first process: the connector, or a process with the connector's arguments. */
const COMMAND_LINE = '/proc/1/cmdline';

export interface ProbedProcess {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly read: (path: string) => Promise<string>;
}

/** The liveness URL from the settings; null if the admin server is off, or its port is unknown. Exported for tests. */
export async function livenessUrl({ env, read }: ProbedProcess): Promise<string | null> {
  const words = (await read(COMMAND_LINE).catch(() => '')).split('\0');
  const text = await read(settingsFileOf(words) ?? (env.SPCONNECT_CONFIG || DEFAULT_SETTINGS_FILE)).catch(() => '');
  const { admin } = (readSettingsTree(text, env).value ?? {}) as { admin?: Readonly<Record<string, unknown>> | null };
  const { enabled = true, host = '127.0.0.1', port = 8083 } = admin ?? {};
  // With port 0, the system chooses a port that this program cannot know.
  if (String(enabled) === 'false' || Number(port) === 0) return null;
  return `${adminUrl({ host: String(host), port: Number(port) })}/livez`;
}

/** The URL of the settings' admin server, for a client on this machine. */
export function adminUrl({ host, port }: { readonly host: string; readonly port: number }): string {
  // A server that listens on every network also listens on this machine.
  const near = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${near.includes(':') ? `[${near}]` : near}:${port}`;
}

/** The settings file on the command line of `spconnect run`: the last `--config file` or `--config=file`. */
function settingsFileOf(words: readonly string[]): string | undefined {
  const args = words.filter((word) => word !== '--');
  const { config } = parseArgs({ args, options: { config: { type: 'string' } }, strict: false }).values;
  return typeof config === 'string' ? config : undefined;
}

/** True if the server responds with success within 3 s. Never rejects. Exported for tests. */
export async function answersWell(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

if (import.meta.main) {
  const read = (path: string) => readFile(path, 'utf8');
  const url = process.argv[2] ?? (await livenessUrl({ env: process.env, read }));
  // Without an admin server, the connector counts as healthy while it runs. If it ends, the container ends too.
  process.exit(url === null || (await answersWell(url)) ? 0 : 1);
}
