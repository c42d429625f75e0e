import { ConnectorError } from '../errors.ts';
import type { RegistryHttp, RegistryResponse } from './registry-http.ts';
import { isNoneThere, pathHint } from './registry-refusal.ts';
import { parseSchema } from './schema.ts';
import { canonicalSchema } from './schema-canonical.ts';

/** One version that a registry holds of a subject. */
export interface SubjectVersion {
  readonly version: number;
  readonly id: number;
  /** Whether it is the schema that was asked about. */
  readonly isOurs: boolean;
}

/** What a registry says about subjects; changes nothing there. */
export interface RegistrySubjects {
  /**
   * Every version of a subject, oldest first; none when the registry does not know it.
   * @throws ConnectorError REGISTRY_UNREACHABLE, REGISTRY_REFUSED.
   */
  versions(subject: string, ours: string, signal: AbortSignal): Promise<readonly SubjectVersion[]>;
  /** The compatibility that the subject has of its own; null when it has none. */
  level(subject: string, signal: AbortSignal): Promise<string | null>;
  /** Whether the registry would take the schema beside all versions that are there. */
  isCompatible(subject: string, ours: string, signal: AbortSignal): Promise<boolean>;
}

// Schemas change a few times a year.
const MOST_VERSIONS = 1_000;

export function createRegistrySubjects(http: RegistryHttp): RegistrySubjects {
  async function get(path: string, what: string, signal: AbortSignal): Promise<RegistryResponse | null> {
    const answer = await http.request({ method: 'GET', path }, signal);
    if (isNoneThere(answer)) return null;
    if (answer.status !== 200) throw refused(answer, what);
    return answer;
  }

  return {
    async versions(subject, ours, signal) {
      const path = `/subjects/${encodeURIComponent(subject)}/versions`;
      const answer = await get(path, `the versions of ${subject}`, signal);
      if (answer !== null && !Array.isArray(answer.body)) throw refused(answer, `the versions of ${subject}`);
      const numbers = (answer === null ? [] : Object.values(answer.body)).filter((value) => typeof value === 'number');
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
      const answer = await get(`/config/${encodeURIComponent(subject)}`, `the compatibility of ${subject}`, signal);
      const level = answer?.body.compatibilityLevel;
      return typeof level === 'string' ? level : null;
    },

    async isCompatible(subject, ours, signal) {
      const path = `/compatibility/subjects/${encodeURIComponent(subject)}/versions`;
      const answer = await http.request({ method: 'POST', path, body: { schema: ours } }, signal);
      if (isNoneThere(answer)) return true;
      const { is_compatible: isCompatible } = answer.body;
      if (answer.status !== 200 || typeof isCompatible !== 'boolean') {
        throw refused(answer, `the compatibility with ${subject}`);
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

function refused(answer: RegistryResponse, what: string): ConnectorError {
  const { status } = answer;
  const code = status >= 500 || status === 408 || status === 429 ? 'REGISTRY_UNREACHABLE' : 'REGISTRY_REFUSED';
  const text = `The schema registry answered ${status} to ${what}.${pathHint(answer)}`;
  return new ConnectorError(code, text, { fields: { status } });
}
