import type { FastifyInstance } from 'fastify';
import type { SourceOffset } from '../../kafka/offset-store.ts';
import { type ConnectReads, findConnector } from './connect-reads.ts';
import type { ConnectorOffset, ConnectorOperations } from './connector-operations.ts';
import { RestError } from './rest-error.ts';

interface Named {
  readonly Params: { readonly name: string };
}
interface Altered extends Named {
  readonly Body: unknown;
}

/** Committed offsets in Kafka Connect's form: shown always, altered and reset only while the connector is stopped. */
export function addConnectOffsets(app: FastifyInstance, reads: ConnectReads, operations: ConnectorOperations): void {
  const find = (name: string) => findConnector(reads.connectors, name);
  const stoppedSource = (name: string, what: 'altered' | 'reset') => {
    const { type } = find(name);
    if (type !== 'source')
      throw new RestError(400, 'The offsets of a consumer group are altered with the tools of Kafka.');
    if (reads.status().sources.some((source) => source.name === name && source.wanted === 'stopped')) return name;
    throw new RestError(
      400,
      `Connectors must be in the STOPPED state before their offsets can be ${what}. This can be done for the specified ` +
        `connector by issuing a 'PUT' request to the '/connectors/${name}/stop' endpoint`,
    );
  };

  app.get<Named>('/connectors/:name/offsets', async ({ params }) => ({
    offsets: await operations.offsets(find(params.name).name),
  }));
  app.delete<Named>('/connectors/:name/offsets', async ({ params }) => {
    await operations.alterOffset(stoppedSource(params.name, 'reset'), null);
    return { message: 'The offsets for this connector have been reset successfully' };
  });
  app.patch<Altered>('/connectors/:name/offsets', async ({ params, body }) => {
    const name = stoppedSource(params.name, 'altered');
    const [current] = await operations.offsets(name);
    await operations.alterOffset(name, offsetIn(body, current?.partition ?? {}));
    return { message: 'The offsets for this connector have been altered successfully' };
  });
}

/** The one offset that a source has, out of `{"offsets":[{"partition":{…},"offset":{…}}]}`. */
function offsetIn(body: unknown, wanted: ConnectorOffset['partition']): SourceOffset | null {
  const offsets = isObject(body) ? body.offsets : undefined;
  const [only, ...more] = Array.isArray(offsets) ? offsets : [];
  const partition = JSON.stringify(wanted);
  if (!isObject(only) || more.length > 0 || JSON.stringify(only.partition) !== partition) {
    throw new RestError(400, `Exactly one offset is wanted, with the partition ${partition}`);
  }
  const { offset } = only;
  if (offset === null) return null;
  if (!isObject(offset) || Object.keys(offset).length === 0 || !Object.values(offset).every(isPrimitive)) {
    throw new RestError(
      400,
      'The offset must be a flat map of texts, numbers, booleans and nulls, or null to reset it',
    );
  }
  return offset as SourceOffset;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isPrimitive(value: unknown): boolean {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}
