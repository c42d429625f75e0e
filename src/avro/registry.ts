import { ConnectorError, type ErrorCode } from '../errors.ts';
import type { Log } from '../support/log.ts';
import { untilAborted } from '../support/until-aborted.ts';
import { createRegistryHttp, type RegistryHttpOptions, type RegistryResponse } from './registry-http.ts';
import { pathHint } from './registry-refusal.ts';
import { parseSchema } from './schema.ts';
import { canonicalSchema } from './schema-canonical.ts';

const LEVEL = 'FULL_TRANSITIVE';

/** Where the ids of schemas come from. */
export interface SchemaRegistry {
  /**
   * The id of a schema under a subject: registered, or only looked up, and verified: the registry gives this schema
   * back for the id. Asked once; a failure is asked again.
   * @param schema the text of the schema
   * @param signal when it aborts, the call rejects with its reason
   * @throws ConnectorError REGISTRY_UNREACHABLE, REGISTRY_REFUSED, REGISTRY_MISMATCH, SCHEMA_INCOMPATIBLE or
   *   SCHEMA_NOT_REGISTERED
   */
  schemaId(subject: string, schema: string, signal: AbortSignal): Promise<number>;
  /** The text of the schema that the registry holds for an id, for readers. */
  schemaText(id: number, signal: AbortSignal): Promise<string>;
}

export interface SchemaRegistryOptions extends RegistryHttpOptions {
  /** Whether schemas are registered; otherwise they must be there already. */
  readonly register: boolean;
  readonly log: Log;
}

export function createSchemaRegistry(options: SchemaRegistryOptions): SchemaRegistry {
  const { register, log } = options;
  const url = options.url.replace(/\/$/, '');
  const http = createRegistryHttp({ ...options, url });
  // One entry for each subject that is configured.
  const verified = new Map<string, { readonly schema: string; readonly id: number }>();
  // The subjects that are being asked about now.
  const asking = new Map<string, { readonly answer: Promise<number>; readonly signal: AbortSignal }>();

  async function fixCompatibility(subject: string, signal: AbortSignal): Promise<void> {
    const path = `/config/${encodeURIComponent(subject)}`;
    const answer = await http.request({ method: 'GET', path }, signal);
    const level = levelOf(answer);
    if (level === LEVEL) return;
    // 404: the subject has no level of its own (40401 from Apicurio, 40408 from Confluent).
    if (answer.status !== 200 && answer.status !== 404) throw refused(answer, `the compatibility of ${subject}`);
    if (level !== null) log.warn({ subject, level: String(level), wanted: LEVEL }, 'subject had another compatibility');
    const set = await http.request({ method: 'PUT', path, body: { compatibility: LEVEL } }, signal);
    // Apicurio refuses the second of two that set it at once, as replicas do at their first start.
    if (set.status === 409 && levelOf(await http.request({ method: 'GET', path }, signal)) === LEVEL) return;
    if (set.status !== 200) throw refused(set, `the compatibility ${LEVEL} of ${subject}`);
  }

  async function registered(subject: string, schema: string, signal: AbortSignal): Promise<number> {
    const answer = await http.register(subject, schema, signal);
    if (answer.status === 409) {
      const what = `The registry refuses the schema of ${subject}: it is not compatible with those that are there.`;
      throw new ConnectorError('SCHEMA_INCOMPATIBLE', what, { fields: { subject, status: answer.status } });
    }
    return idOf(answer, `the registration of ${subject}`);
  }

  function lookUp(subject: string, schema: string, signal: AbortSignal): Promise<RegistryResponse> {
    return http.request({ method: 'POST', path: `/subjects/${encodeURIComponent(subject)}`, body: { schema } }, signal);
  }

  async function lookedUp(subject: string, schema: string, signal: AbortSignal): Promise<number> {
    const answer = await lookUp(subject, schema, signal);
    if (answer.status === 404) {
      const what = `The registry has not got the schema of ${subject}, and schemaRegistry.register is false.`;
      throw new ConnectorError('SCHEMA_NOT_REGISTERED', what, { fields: { subject } });
    }
    return idOf(answer, `the look-up of ${subject}`);
  }

  async function schemaText(id: number, signal: AbortSignal): Promise<string> {
    const answer = await http.request({ method: 'GET', path: `/schemas/ids/${id}` }, signal);
    if (answer.status !== 200 || typeof answer.body.schema !== 'string') throw refused(answer, `schema id ${id}`);
    return answer.body.schema;
  }

  async function isHeld(id: number, schema: string, signal: AbortSignal): Promise<boolean> {
    return isSameSchema(await schemaText(id, signal), schema);
  }

  /** The id of a schema that is there already, as at every start but the first: only what registers is slow to load. */
  async function presentId(subject: string, schema: string, signal: AbortSignal): Promise<number | null> {
    const answer = await lookUp(subject, schema, signal);
    if (answer.status !== 200) return null;
    const id = idOf(answer, `the look-up of ${subject}`);
    return (await isHeld(id, schema, signal)) ? id : null;
  }

  async function heldId(subject: string, schema: string, signal: AbortSignal): Promise<number> {
    if (register) {
      await fixCompatibility(subject, signal);
      const present = await presentId(subject, schema, signal);
      if (present !== null) return present;
    }
    const id = await (register ? registered(subject, schema, signal) : lookedUp(subject, schema, signal));
    if (await isHeld(id, schema, signal)) return id;
    const what = `The registry gave id ${id} for the schema of ${subject}, but holds another schema for that id.`;
    throw new ConnectorError('REGISTRY_MISMATCH', what, { fields: { subject, schemaId: id } });
  }

  async function verifiedId(subject: string, schema: string, signal: AbortSignal): Promise<number> {
    const id = await heldId(subject, schema, signal);
    verified.set(subject, { schema, id });
    log.info({ subject, schemaId: id }, 'schema verified');
    return id;
  }

  return {
    schemaText,
    async schemaId(subject, schema, signal) {
      // All partitions of a topic of prices want the same at once: one asks, and what it hears is for all.
      for (let other = asking.get(subject); other !== undefined; other = asking.get(subject)) {
        try {
          await untilAborted(other.answer, signal);
        } catch (error) {
          signal.throwIfAborted();
          // Where whoever asked was told to stop, the next one asks.
          if (!other.signal.aborted) throw error;
        }
      }
      const known = verified.get(subject);
      if (known?.schema === schema) return known.id;
      const answer = verifiedId(subject, schema, signal).finally(() => asking.delete(subject));
      asking.set(subject, { answer, signal });
      return answer;
    },
  };
}

/**
 * Whether the registry says that it has no schema of an id. A 404 without its own code is of something before it, such
 * as a gateway while the registry restarts, and says nothing.
 */
export function isSchemaNotFound(error: unknown): boolean {
  return error instanceof ConnectorError && error.fields.status === 404 && typeof error.fields.errorCode === 'number';
}

function levelOf({ status, body }: RegistryResponse): unknown {
  return status === 200 ? body.compatibilityLevel : null;
}

function isSameSchema(held: string, ours: string): boolean {
  const expected = canonicalSchema(parseSchema(ours));
  try {
    return canonicalSchema(parseSchema(held)) === expected;
  } catch {
    // A schema that uses what ours never use is another one.
    return false;
  }
}

function idOf(answer: RegistryResponse, what: string): number {
  const { id } = answer.body;
  if (answer.status !== 200 || typeof id !== 'number' || !Number.isInteger(id)) throw refused(answer, what);
  return id;
}

// An answer that will pass (5xx, 408, 429, and 409 when two set the same at once) is like none; any other needs someone
// to look at the settings.
function refused(answer: RegistryResponse, what: string): ConnectorError {
  const { status, body } = answer;
  const passes = status >= 500 || [408, 409, 429].includes(status);
  const code: ErrorCode = passes ? 'REGISTRY_UNREACHABLE' : 'REGISTRY_REFUSED';
  const fields = { status, errorCode: typeof body.error_code === 'number' ? body.error_code : null };
  const hint = code === 'REGISTRY_REFUSED' ? pathHint(answer) : '';
  return new ConnectorError(code, `The schema registry answered ${status} to ${what}.${hint}`, { fields });
}
