import { ConnectorError } from '../errors.ts';
import type { RegistryHttp, RegistryResponse } from './registry-http.ts';
import { isNoneThere, pathHint } from './registry-refusal.ts';
import { parseSchema } from './schema.ts';
import { canonicalSchema } from './schema-canonical.ts';

/** One version that a registry holds of a subject. */
export interface SubjectVersion {
  readonly version: number;
  readonly id: number;
  /** Whether it is the requested schema. */
  readonly isOurs: boolean;
}

/** Reads a registry's facts about subjects; changes nothing there. */
export interface RegistrySubjects {
  /**
   * Every version of a subject, oldest first; none when the registry does not know it.
   * @throws ConnectorError REGISTRY_UNREACHABLE, REGISTRY_REFUSED.
   */
  versions(subject: string, ours: string, signal: AbortSignal): Promise<readonly SubjectVersion[]>;
  /** The subject's own compatibility; null when it has none. */
  level(subject: string, signal: AbortSignal): Promise<string | null>;
  /** Whether the registry would accept the schema beside all registered versions. */
  isCompatible(subject: string, ours: string, signal: AbortSignal): Promise<boolean>;
}

// Schemas change a few times a year.
const MOST_VERSIONS = 1_000;

export function createRegistrySubjects(http: RegistryHttp): RegistrySubjects {
  async function get(path: string, what: string, signal: AbortSignal): Promise<RegistryResponse | null> {
    const response = await http.request({ method: 'GET', path }, signal);
    if (isNoneThere(response)) return null;
    if (response.status !== 200) throw refused(response, what);
    return response;
  }

  return {
    async versions(subject, ours, signal) {
      const path = `/subjects/${encodeURIComponent(subject)}/versions`;
      const response = await get(path, `the versions of ${subject}`, signal);
      if (response !== null && !Array.isArray(response.body)) throw refused(response, `the versions of ${subject}`);
      const numbers = (response === null ? [] : Object.values(response.body)).filter(
        (value) => typeof value === 'number',
      );
      const found: SubjectVersion[] = [];
      for (const version of numbers.slice(-MOST_VERSIONS)) {
        const held = await get(`${path}/${version}`, `version ${version} of ${subject}`, signal);
        const { id, schema } = held?.body ?? {};
        if (typeof id !== 'number' || typeof schema !== 'string') continue;
        found.push({ version, id, isOurs: isSame(schema, ours) });
      }
      return found;
    },

    async level(subject, signal) {
      const response = await get(`/config/${encodeURIComponent(subject)}`, `the compatibility of ${subject}`, signal);
      const level = response?.body.compatibilityLevel;
      return typeof level === 'string' ? level : null;
    },

    async isCompatible(subject, ours, signal) {
      const path = `/compatibility/subjects/${encodeURIComponent(subject)}/versions`;
      const response = await http.request({ method: 'POST', path, body: { schema: ours } }, signal);
      if (isNoneThere(response)) return true;
      const { is_compatible: isCompatible } = response.body;
      if (response.status !== 200 || typeof isCompatible !== 'boolean') {
        throw refused(response, `the compatibility with ${subject}`);
      }
      return isCompatible;
    },
  };
}

function isSame(held: string, ours: string): boolean {
  try {
    return canonicalSchema(parseSchema(held)) === canonicalSchema(parseSchema(ours));
  } catch {
    // A schema that uses what ours never use is another one.
    return false;
  }
}

function refused(response: RegistryResponse, what: string): ConnectorError {
  const { status } = response;
  const code = status >= 500 || status === 408 || status === 429 ? 'REGISTRY_UNREACHABLE' : 'REGISTRY_REFUSED';
  const text = `The schema registry answered ${status} to ${what}.${pathHint(response)}`;
  return new ConnectorError(code, text, { fields: { status } });
}
