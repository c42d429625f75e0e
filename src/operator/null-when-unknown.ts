import { ConnectorError } from '../errors.ts';

const NOT_FOUND = 404;

/** What the provider answers with; null when it knows nothing of this id. The token endpoint can answer with 404 too, which is another matter. */
export async function nullWhenUnknown<Found>(asked: Promise<Found>): Promise<Found | null> {
  try {
    return await asked;
  } catch (error) {
    const isRefusal = error instanceof ConnectorError && error.code === 'PROVIDER_REFUSED';
    if (isRefusal && error.fields.status === NOT_FOUND) return null;
    throw error;
  }
}
