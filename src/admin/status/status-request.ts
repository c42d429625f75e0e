import type { AdminSettings } from '../../config/settings.ts';
import { ConnectorError } from '../../errors.ts';
import type { Status } from './status.ts';

const TIMEOUT_MS = 10_000;

/**
 * Asks the admin server of a running connector how it is.
 *
 * @param base of its addresses, without a slash at the end
 * @throws ConnectorError ADMIN_UNREACHABLE, or the signal's reason.
 */
export async function requestStatus(base: string, signal: AbortSignal): Promise<Status> {
  try {
    const timely = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const response = await fetch(`${base}/status.json`, { redirect: 'error', signal: timely });
    if (!response.ok) throw new Error(`status ${response.status}`);
    return (await response.json()) as Status;
  } catch (cause) {
    signal.throwIfAborted();
    const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
    const why = inner instanceof Error ? inner.message : String(inner);
    throw new ConnectorError('ADMIN_UNREACHABLE', `No admin server responded at ${base} (${why}).`, { cause });
  }
}

/** Where the settings place the admin server, as seen from this machine. */
export function adminAddress({ host, port }: Pick<AdminSettings, 'host' | 'port'>): string {
  // A server that listens on every network also listens on this machine.
  const near = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${near.includes(':') ? `[${near}]` : near}:${port}`;
}
