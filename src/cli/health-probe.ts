// A program of its own, for the health check of a container, which has neither curl nor a shell to spare:
//   node dist/cli/health-probe.js [url]

const TIMEOUT_MS = 3_000;

/** Where the admin server says that the process is alive, as the environment of the process places it. */
export function livenessUrl(env: Readonly<Record<string, string | undefined>>): string {
  const { ADMIN_HOST: host, ADMIN_PORT: port } = env;
  // Whoever listens on every network also listens on this machine.
  const isEverywhere = !host || host === '0.0.0.0' || host === '::';
  const near = isEverywhere ? '127.0.0.1' : host;
  return `http://${near.includes(':') ? `[${near}]` : near}:${port || 8083}/livez`;
}

/** Whether it is answered with success within 3 s. Never rejects. */
export async function answersWell(url: string): Promise<boolean> {
  try {
    const answer = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) });
    await answer.body?.cancel();
    return answer.ok;
  } catch {
    return false;
  }
}

if (import.meta.main) {
  const isHealthy = await answersWell(process.argv[2] ?? livenessUrl(process.env));
  process.exit(isHealthy ? 0 : 1);
}
