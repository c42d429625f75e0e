import type { FastifyInstance } from 'fastify';
import type { SourceOffset } from '../kafka/offset-store.ts';
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
  const stoppedSource = (name: string) => {
    const { type } = find(name);
    if (type !== 'source')
      throw new RestError(400, 'The offsets of a consumer group are changed with the tools of Kafka.');
    if (reads.status().sources.some((source) => source.name === name && source.wanted === 'stopped')) return name;
    throw new RestError(
      400,
      `Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the ` +
        `specified connector by issuing a 'PUT' request to the '/connectors/${name}/stop' endpoint`,
    );
  };

  app.get<Named>('/connectors/:name/offsets', async ({ params }) => {
    const offsets = await operations.offsets(find(params.name).name);
    return { offsets: offsets.filter(({ offset }) => offset !== null) };
  });
  app.delete<Named>('/connectors/:name/offsets', async ({ params }) => {
    await operations.alterOffset(stoppedSource(params.name), null);
    return { message: 'The offsets for this connector have been reset successfully' };
  });
  app.patch<Altered>('/connectors/:name/offsets', async ({ params, body }) => {
    const offsets = offsetsIn(body);
    const name = stoppedSource(params.name);
    const [current] = await operations.offsets(name);
    await operations.alterOffset(name, theOffset(offsets, current?.partition ?? {}));
    return { message: 'The offsets for this connector have been altered successfully' };
  });
}

/** What is listed in `{"offsets":[{"partition":{…},"offset":{…}}]}`. */
function offsetsIn(body: unknown): readonly unknown[] {
  const offsets = isObject(body) ? body.offsets : undefined;
  if (Array.isArray(offsets) && offsets.length > 0) return offsets;
  throw new RestError(400, 'Partitions / offsets need to be provided for an alter offsets request');
}

/** The one offset that a source has. */
function theOffset([only, ...more]: readonly unknown[], wanted: ConnectorOffset['partition']): SourceOffset | null {
  const partition = JSON.stringify(wanted);
  if (!isObject(only) || more.length > 0 || JSON.stringify(only.partition) !== partition) {
    throw new RestError(400, `Expected exactly one offset, with the partition ${partition}`);
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
