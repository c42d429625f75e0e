import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { createPricedInstrumentReader } from '../../../src/records/avro/priced-instrument-reader.ts';
import { readSchemaText } from '../../../src/records/avro/schema-files.ts';
import { decodeRow } from '../../support/decoding/avro-decoding.ts';
import { memoryPrices, until } from './memory-prices.ts';

const IDS = ['1', '2', '3', '4', '5'];

async function instrument(id: string): Promise<Buffer> {
  const decoded = await decodeRow(`{"id":${id},"identifiers":[{"type":"isin","value":"isin-${id}"}]}`);
  assert.ok(decoded.kind === 'record');
  return decoded.value;
}

test('instruments whose schema the registry has lost are counted, and priced again once it has it', async (t) => {
  const { write, start: join } = await memoryPrices(t);
  for (const id of IDS) await write([id, await instrument(id)]);

  let hasSchema = true;
  let asked = 0;
  /** A process of its own: it has no schema yet. */
  const start = () => {
    const isins = createPricedInstrumentReader(async () => {
      asked += 1;
      if (hasSchema) return readSchemaText('Instrument');
      throw new ConnectorError('REGISTRY_REFUSED', 'no such schema', { fields: { status: 404, errorCode: 40403 } });
    });
    return join({ isins });
  };

  const first = start();
  await until('all have a price', () => first.sum('batchPriced', 'priced') >= IDS.length);
  await first.stop();

  // The registry was replaced while we were away; one more instrument comes meanwhile.
  hasSchema = false;
  const second = start();
  await until('what the table lacks is reported', () => second.sum('recordsUnreadable', 'records') === IDS.length);
  assert.ok(second.named('recordsUnreadable').every(({ reason }) => reason === 'schema'));
  assert.equal(second.sum('partitionAssigned', 'instruments'), 0);
  await write(['6', await instrument('6')]);
  await until('and what comes', () => second.sum('recordsUnreadable', 'records') > IDS.length);
  const before = asked;
  await until('it is asked for again', () => asked > before + 2);
  assert.equal(second.sum('batchPriced', 'priced'), 0);

  hasSchema = true;
  const codes = () => second.named('partitionWriterLost').map(({ err }) => (err as ConnectorError).code);
  await until('all have prices again', () => {
    const priced = second.named('batchPriced').flatMap(({ prices }) => prices as { instrumentId: string }[]);
    return new Set(priced.map(({ instrumentId }) => instrumentId)).size === IDS.length + 1;
  });
  assert.deepEqual(new Set(codes()), new Set(['TABLE_INCOMPLETE']));
});
