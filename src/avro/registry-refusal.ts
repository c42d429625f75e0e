import type { RegistryResponse } from './registry-http.ts';

/** Recognises the responses of another service, or of another path, to a request of Confluent's API. */
const ANOTHER_SERVICE = [200, 301, 302, 307, 308, 404, 405];

/** A registry's "not found" has a code of its own; a 404 without one comes from another service or path. */
export function isNoneThere({ status, body }: RegistryResponse): boolean {
  return status === 404 && typeof body.error_code === 'number';
}

/** A sentence for a refusal that no registry gives; empty for one that a registry can give. */
export function pathHint({ status, body }: RegistryResponse): string {
  if (typeof body.error_code === 'number' || !ANOTHER_SERVICE.includes(status)) return '';
  return (
    ' That is not a response of the API of Confluent: is the base path missing in schemaRegistry.url (SCHEMA_REGISTRY_URL)? ' +
    'Apicurio has that API below /apis/ccompat/v7, Confluent at the root.'
  );
}
