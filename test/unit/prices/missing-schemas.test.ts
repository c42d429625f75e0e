import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { keyedRecord } from '../../../src/kafka/record.ts';
import { NO_TERMS } from '../../../src/records/avro/instrument-terms.ts';
import { createPricedInstrumentReader } from '../../../src/records/avro/priced-instrument-reader.ts';
import { readSchemaText } from '../../../src/records/avro/schema-files.ts';
import { decodeRow, SCHEMA_ID } from '../../support/decoding/avro-decoding.ts';
import { MemoryBroker } from '../../support/memory-kafka/memory-broker.ts';
import { createMemoryCluster } from '../../support/memory-kafka/memory-cluster.ts';
import { eventually } from '../../support/runner/eventually.ts';
import { skippingClock } from '../../support/runner/manual-clock.ts';
import { ALL_PRICED, memberOf, TOPICS } from './memory-prices.ts';

const PATIENCE_MS = 300_000;
const IDS = ['1', '2', '3', '4', '5'];

async function instrument(id: string): Promise<Buffer> {
  const decoded = await decodeRow(`{"id":${id},"identifiers":[{"type":"isin","value":"isin-${id}"}]}`);
  assert.ok(decoded.kind === 'record');
  return decoded.value;
}

test('instruments whose schema the registry has lost are counted, and priced again once it has it', async (t) => {
  const clock = skippingClock();
  const broker = new MemoryBroker(clock.wallMs);
  for (const topic of Object.values(TOPICS)) broker.createTopic(topic);
  const source = createMemoryCluster({ broker }).transactionalWriter('source');
  await source.open(async () => {}, new AbortController().signal);
  const write = async (id: string, value: Buffer) =>
    source.commit({ records: [keyedRecord(TOPICS.instruments, id, value, {})] });
  for (const id of IDS) await write(id, await instrument(id));

  let hasSchema = true;
  let asked = 0;
  /** A process of its own: it has no schema yet. */
  const start = () => {
    const isins = createPricedInstrumentReader(async () => {
      asked += 1;
      if (hasSchema) return readSchemaText('Instrument');
      throw new ConnectorError('REGISTRY_REFUSED', 'no such schema', { fields: { status: 404, errorCode: 40403 } });
    });
    const member = memberOf({ broker, clock, prices: ALL_PRICED, random: () => 0.5, isins });
    t.after(() => member.stop());
    const named = (name: string) => member.seen.filter((event) => event.name === name).map(({ fields }) => fields);
    const sum = (name: string, field: string) =>
      named(name).reduce((total: number, fields) => total + Number(fields[field]), 0);
    return { ...member, named, sum };
  };
  const until = (what: string, is: () => boolean) => eventually(what, is, (yes) => yes, PATIENCE_MS);

  const first = start();
  await until('all have a price', () => first.sum('batchPriced', 'priced') >= IDS.length);
  await first.stop();

  // The registry was replaced while we were away; one more instrument comes meanwhile.
  hasSchema = false;
  const second = start();
  await until('what the table lacks is reported', () => second.sum('recordsUnreadable', 'records') === IDS.length);
  assert.ok(second.named('recordsUnreadable').every(({ reason }) => reason === 'schema'));
  assert.equal(second.sum('partitionAssigned', 'instruments'), 0);
  await write('6', await instrument('6'));
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

test('a schema that was missing is loaded once it is there', async () => {
  let calls = 0;
  const isins = createPricedInstrumentReader(async () => {
    calls += 1;
    if (calls > 1) return readSchemaText('Instrument');
    throw new ConnectorError('REGISTRY_REFUSED', 'no such schema', { fields: { status: 404, errorCode: 40403 } });
  });
  const forever = new AbortController().signal;
  assert.equal(await isins.load(SCHEMA_ID, forever), false);
  const value = await instrument('7');
  assert.throws(() => isins.read(value), { code: 'RECORD_UNREADABLE', fields: { missingSchemaId: SCHEMA_ID } });
  assert.equal(await isins.load(SCHEMA_ID, forever), true);
  assert.deepEqual(isins.read(value), { ...NO_TERMS, isin: 'isin-7' });
});
