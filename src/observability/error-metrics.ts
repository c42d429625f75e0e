import { ConnectorError } from '../errors.ts';
import type { Meters } from './meters.ts';

/** The code of an error as a label. */
export function codeOf(err: unknown): string {
  return err instanceof ConnectorError ? err.code : 'OTHER';
}

/** Failures of the registry appear as errors of its callers. */
export function countRegistryFailure(meters: Meters, err: unknown): void {
  const code = codeOf(err);
  if (/^(REGISTRY|SCHEMA)_/.test(code)) meters.add('spconnect_registry_failures_total', { code }, 1);
}
