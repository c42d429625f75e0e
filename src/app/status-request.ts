import type { AdminSettings } from '../config/settings.ts';
import { ConnectorError } from '../errors.ts';
import type { Status } from './status.ts';

const TIMEOUT_MS = 10_000;

/**
 * Asks the admin server of a running connector how it is.
 *
 * @param url the base of its addresses; as the settings place it on this machine when null
 * @throws ConnectorError ADMIN_UNREACHABLE, or the signal's reason.
 */
export async function requestStatus(
  admin: Pick<AdminSettings, 'host' | 'port'>,
  { url, signal }: { readonly url: string | null; readonly signal: AbortSignal },
): Promise<Status> {
  const base = url?.replace(/\/+$/, '') ?? baseOf(admin);
  try {
    const timely = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const answer = await fetch(`${base}/status.json`, { redirect: 'error', signal: timely });
    if (!answer.ok) throw new Error(`it answers with status ${answer.status}`);
    return (await answer.json()) as Status;
  } catch (cause) {
    signal.throwIfAborted();
    const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
    const why = inner instanceof Error ? inner.message : String(inner);
    throw new ConnectorError('ADMIN_UNREACHABLE', `There is no admin server at ${base} (${why}).`, { cause });
  }
}

function baseOf({ host, port }: Pick<AdminSettings, 'host' | 'port'>): string {
  // Whoever listens on every network also listens on this machine.
  const near = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${near.includes(':') ? `[${near}]` : near}:${port}`;
}
