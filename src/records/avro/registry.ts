import { ConnectorError, type ErrorCode } from '../../errors.ts';
import type { Log } from '../../support/log.ts';
import { untilAborted } from '../../support/until-aborted.ts';
import { avscType } from './avsc-type.ts';
import {
  createRegistryHttp,
  isNotFound,
  pathHint,
  type RegistryHttp,
  type RegistryHttpOptions,
  type RegistryResponse,
} from './registry-http.ts';
import { canonicalSchema, parseSchema } from './schema.ts';

const LEVEL = 'FULL_TRANSITIVE';

export interface SchemaRegistry {
  /**
   * Returns the id of a schema under a subject. `register` decides if an unknown schema is registered. Then the id is
   * verified: the registry must return the same schema for the id. Later calls return a verified id without a
   * request. After a failure, the next call sends the requests again.
   * @throws ConnectorError REGISTRY_UNREACHABLE, REGISTRY_REFUSED, REGISTRY_MISMATCH, SCHEMA_INCOMPATIBLE or
   * SCHEMA_NOT_REGISTERED
   */
  schemaId(subject: string, schema: string, signal: AbortSignal): Promise<number>;
  schemaText(id: number, signal: AbortSignal): Promise<string>;
}

export interface SchemaRegistryOptions extends RegistryHttpOptions {
  /** False: the schemas must already be registered. */
  readonly register: boolean;
  readonly log: Log;
}

export function createSchemaRegistry(options: SchemaRegistryOptions): SchemaRegistry {
  const { register, log } = options;
  const url = options.url.replace(/\/$/, '');
  const http = createRegistryHttp({ ...options, url });
  const verified = new Map<string, { readonly schema: string; readonly id: number }>();
  const asking = new Map<string, { readonly id: Promise<unknown>; readonly signal: AbortSignal }>();

  async function heldId(subject: string, schema: string, signal: AbortSignal): Promise<number> {
    if (register) await fixCompatibility(http, log, subject, signal);
    const what = `the look-up of ${subject}`;
    const path = `/subjects/${encodeURIComponent(subject)}`;
    const found = await http.request({ method: 'POST', path, body: { schema } }, signal);
    // After the first start, the schema is registered, and the call returns here. So the slow package for registration is not loaded.
    if (found.status === 200 && (await isHeld(http, idOf(found, what), schema, signal))) return idOf(found, what);
    if (!register && isNotFound(found.status, found.body.error_code)) {
      const missing = `The registry does not have the schema of ${subject}, and schemaRegistry.register is false.`;
      throw new ConnectorError('SCHEMA_NOT_REGISTERED', missing, { fields: { subject } });
    }
    const id = register ? await registered(http, subject, schema, signal) : idOf(found, what);
    if (register && (await isHeld(http, id, schema, signal))) return id;
    const other = `The registry gave id ${id} for the schema of ${subject}, but holds another schema for that id.`;
    throw new ConnectorError('REGISTRY_MISMATCH', other, { fields: { subject, schemaId: id } });
  }

  async function verifiedId(subject: string, schema: string, signal: AbortSignal): Promise<number> {
    const id = await heldId(subject, schema, signal);
    verified.set(subject, { schema, id });
    log.info({ subject, schemaId: id }, 'schema verified');
    return id;
  }

  return {
    schemaText: (id, signal) => schemaText(http, id, signal),
    async schemaId(subject, schema, signal) {
      // All partitions of a price topic need this id at the same time, so one call requests the id for all of them.
      for (let other = asking.get(subject); other !== undefined; other = asking.get(subject)) {
        try {
          await untilAborted(other.id, signal);
        } catch (error) {
          signal.throwIfAborted();
          // If the requesting caller was stopped, the next caller sends the request.
          if (!other.signal.aborted) throw error;
        }
      }
      const known = verified.get(subject);
      if (known?.schema === schema) return known.id;
      const id = verifiedId(subject, schema, signal).finally(() => asking.delete(subject));
      asking.set(subject, { id, signal });
      return id;
    },
  };
}

/** A 404 without the registry's error code comes from a gateway, and does not prove that the schema is missing. */
export function isSchemaNotFound(error: unknown): boolean {
  return error instanceof ConnectorError && isNotFound(error.fields.status, error.fields.errorCode);
}

async function isHeld(http: RegistryHttp, id: number, schema: string, signal: AbortSignal): Promise<boolean> {
  return isSameSchema(await schemaText(http, id, signal), schema);
}

async function fixCompatibility(http: RegistryHttp, log: Log, subject: string, signal: AbortSignal): Promise<void> {
  const path = `/config/${encodeURIComponent(subject)}`;
  const response = await http.request({ method: 'GET', path }, signal);
  const level = levelOf(response);
  if (level === LEVEL) return;
  // Not found: the subject has no separate compatibility level (40401 from Apicurio, 40408 from Confluent).
  if (response.status !== 200 && !isNotFound(response.status, response.body.error_code))
    throw refused(response, `the compatibility of ${subject}`);
  if (level !== null) log.warn({ subject, level: String(level), wanted: LEVEL }, 'subject had another compatibility');
  const set = await http.request({ method: 'PUT', path, body: { compatibility: LEVEL } }, signal);
  // Replicas that start together set the level at the same time. Apicurio then refuses all requests but one.
  if (set.status === 409 && levelOf(await http.request({ method: 'GET', path }, signal)) === LEVEL) return;
  if (set.status !== 200) throw refused(set, `the compatibility ${LEVEL} of ${subject}`);
}

async function registered(http: RegistryHttp, subject: string, schema: string, signal: AbortSignal): Promise<number> {
  const response = await http.register(subject, schema, signal);
  if (response.status === 409) {
    const what = `The registry refuses the schema of ${subject}: it is not compatible with the registered versions.`;
    throw new ConnectorError('SCHEMA_INCOMPATIBLE', what, { fields: { subject, status: response.status } });
  }
  return idOf(response, `the registration of ${subject}`);
}

async function schemaText(http: RegistryHttp, id: number, signal: AbortSignal): Promise<string> {
  const response = await http.request({ method: 'GET', path: `/schemas/ids/${id}` }, signal);
  if (response.status !== 200 || typeof response.body.schema !== 'string') throw refused(response, `schema id ${id}`);
  return response.body.schema;
}

function levelOf({ status, body }: RegistryResponse): unknown {
  return status === 200 ? body.compatibilityLevel : null;
}

function isSameSchema(held: string, ours: string): boolean {
  const expected = canonicalSchema(parseSchema(ours));
  try {
    return canonicalSchema(parseSchema(held)) === expected;
  } catch {
    return false;
  }
}

function idOf(response: RegistryResponse, what: string): number {
  const { id } = response.body;
  if (response.status !== 200 || typeof id !== 'number' || !Number.isInteger(id)) throw refused(response, what);
  return id;
}

// A temporary refusal (5xx, 408, 429, and 409 for two equal requests at once) counts as unreachable. Others need an operator.
function refused(response: RegistryResponse, what: string): ConnectorError {
  const { status, body, from } = response;
  const passes = status >= 500 || [408, 409, 429].includes(status);
  const code: ErrorCode = passes ? 'REGISTRY_UNREACHABLE' : 'REGISTRY_REFUSED';
  const fields = { status, errorCode: typeof body.error_code === 'number' ? body.error_code : null };
  const hint = code === 'REGISTRY_REFUSED' ? pathHint(response) : '';
  return new ConnectorError(code, `The schema registry answered ${status} to ${what} (${from}).${hint}`, { fields });
}

export interface SubjectVersion {
  readonly version: number;
  readonly id: number;
  readonly isOurs: boolean;
}

/** Reads the subjects of a registry; changes nothing in the registry. */
export interface RegistrySubjects {
  /** All versions, oldest first; empty for an unknown subject. @throws REGISTRY_UNREACHABLE, REGISTRY_REFUSED */
  versions(subject: string, ours: string, signal: AbortSignal): Promise<readonly SubjectVersion[]>;
  level(subject: string, signal: AbortSignal): Promise<string | null>;
  /** True if the schema is compatible with all registered versions, or if no version is registered. */
  isCompatible(subject: string, ours: string, signal: AbortSignal): Promise<boolean>;
}

const MOST_VERSIONS = 1_000;

export function createRegistrySubjects(http: RegistryHttp): RegistrySubjects {
  async function get(path: string, what: string, signal: AbortSignal): Promise<RegistryResponse | null> {
    const response = await http.request({ method: 'GET', path }, signal);
    if (isNotFound(response.status, response.body.error_code)) return null;
    if (response.status !== 200) throw refused(response, what);
    return response;
  }

  async function level(subject: string, signal: AbortSignal): Promise<string | null> {
    const response = await get(`/config/${encodeURIComponent(subject)}`, `the compatibility of ${subject}`, signal);
    const found = response?.body.compatibilityLevel;
    return typeof found === 'string' ? found : null;
  }

  async function heldVersions(subject: string, signal: AbortSignal) {
    const path = `/subjects/${encodeURIComponent(subject)}/versions`;
    const response = await get(path, `the versions of ${subject}`, signal);
    if (response !== null && !Array.isArray(response.body)) throw refused(response, `the versions of ${subject}`);
    const numbers = (response === null ? [] : Object.values(response.body)).filter(
      (value) => typeof value === 'number',
    );
    const found: { readonly version: number; readonly id: number; readonly schema: string }[] = [];
    for (const version of numbers.slice(-MOST_VERSIONS)) {
      const held = await get(`${path}/${version}`, `version ${version} of ${subject}`, signal);
      const { id, schema } = held?.body ?? {};
      if (typeof id !== 'number' || typeof schema !== 'string') continue;
      found.push({ version, id, schema });
    }
    return found;
  }

  return {
    async versions(subject, ours, signal) {
      const held = await heldVersions(subject, signal);
      return held.map(({ version, id, schema }) => ({ version, id, isOurs: isSameSchema(schema, ours) }));
    },

    level,

    async isCompatible(subject, ours, signal) {
      const path = `/compatibility/subjects/${encodeURIComponent(subject)}/versions`;
      const response = await http.request({ method: 'POST', path, body: { schema: ours } }, signal);
      if (isNotFound(response.status, response.body.error_code)) return true;
      const { is_compatible: isCompatible } = response.body;
      if (response.status !== 200 || typeof isCompatible !== 'boolean') {
        throw refused(response, `the compatibility with ${subject}`);
      }
      // The registry answers under the level of now, but a registration sets LEVEL first.
      if (!isCompatible || (await level(subject, signal)) === LEVEL) return isCompatible;
      return (await heldVersions(subject, signal)).every((held) => canReadEachOther(ours, held.schema));
    },
  };
}

function canReadEachOther(ours: string, theirs: string): boolean {
  try {
    const [a, b] = [avscType(ours), avscType(theirs)];
    a.createResolver(b);
    b.createResolver(a);
    return true;
  } catch {
    return false;
  }
}
