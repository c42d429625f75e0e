import type { RegistryResponse } from './registry-http.ts';

/** What another service, or another path of the same one, says to a request of Confluent's API. */
const ANOTHER_SERVICE = [200, 301, 302, 307, 308, 404, 405];

/** A registry's "there is none" has a code of its own; a 404 without one is of another service, or of another path. */
export function isNoneThere({ status, body }: RegistryResponse): boolean {
  return status === 404 && typeof body.error_code === 'number';
}

/** A sentence behind a refusal that no registry would have given; empty for one that it would. */
export function pathHint({ status, body }: RegistryResponse): string {
  if (typeof body.error_code === 'number' || !ANOTHER_SERVICE.includes(status)) return '';
  return (
    ' That is no answer of the API of Confluent: is the base path missing in schemaRegistry.url (SCHEMA_REGISTRY_URL)? ' +
    'Apicurio has that API below /apis/ccompat/v7, Confluent at the root.'
  );
}
