import { ConnectorError } from '../errors.ts';
import type { Meters } from './meters.ts';

/** The code of an error as a label. */
export function codeOf(err: unknown): string {
  return err instanceof ConnectorError ? err.code : 'OTHER';
}

/** The registry speaks through the errors of whoever needed it. */
export function countRegistryFailure(meters: Meters, err: unknown): void {
  const code = codeOf(err);
  if (/^(REGISTRY|SCHEMA)_/.test(code)) meters.add('spconnect_registry_failures_total', { code }, 1);
}
