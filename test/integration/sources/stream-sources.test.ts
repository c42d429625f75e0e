import assert from 'node:assert/strict';
import type { Simulator } from '../../../src/dev/simulator/simulator.ts';
import { partitionFor } from '../../../src/kafka/record.ts';
import { readSchemaText } from '../../../src/records/avro/schema-files.ts';
import { readWireValue } from '../../../src/records/avro/wire-format.ts';
import { createCheckDecoder } from '../../../src/records/decoding/check-decoder.ts';
import { createEventDecoder } from '../../../src/records/decoding/event-decoder.ts';
import { systemClock } from '../../../src/support/clock.ts';
import { type Installation, testInstallation } from '../../support/connectors/installation.ts';
import type { RunningConnector } from '../../support/connectors/running-connector.ts';
import { type StreamAtRest, streamAtRest } from '../../support/connectors/stream-source.ts';
import { chunked } from '../../support/decoding/avro-decoding.ts';
import { PARTITIONS } from '../../support/ledgers/universe-on-topics.ts';
import { eventually } from '../../support/runner/eventually.ts';

const EVENTS = { name: 'new-issues', type: 'events', topic: 'new-issues' } as const;
const CHECKS = { name: 'checks', type: 'pre-trade-checks', topic: 'pre-trade-checks' } as const;
const QUICK = { gapProof: '1s', emptyCommitInterval: '1s' };
const OF_CHECKS = { source: { name: CHECKS.name, type: CHECKS.type, ...QUICK } };
const OF_EVENTS = {
  simulator: { eventScanLimit: 20, linksForgetFilter: true },
  source: {
    name: EVENTS.name,
    type: EVENTS.type,
    ...QUICK,
    topics: `{ instrument-events: ${EVENTS.topic} }`,
    eventType: 'newissue',
    maxEvents: 5,
  },
};

/** Our wall clock is the provider's: of an offset that one of the two alone calls old, nothing is given up soon. */
const start = ({ simulator, start }: Installation) =>
  start({ overrides: { clock: { ...systemClock, wallMs: () => simulator.wallMs() } } });

function committed(connectors: readonly RunningConnector[]): number {
  return connectors
    .flatMap(({ seen }) => seen)
    .reduce((sum, { fields }) => sum + (fields.items ?? 0) + (fields.deadLetters ?? 0), 0);
}

function valuesOf(records: StreamAtRest['records']): (string | undefined)[][] {
  return records.map((partition) => partition.map(({ value }) => value?.toString('base64')));
}

/** Values by partition as they must be on the topic for these JSON texts, under the schema that its records name. */
async function expectedEvents(texts: readonly string[], records: StreamAtRest['records']): Promise<string[][]> {
  const schemaId = schemaIdOf(records);
  const decoder = createEventDecoder({
    eventSchema: readSchemaText('InstrumentEvent'),
    eventSchemaId: schemaId,
    instrumentSchema: readSchemaText('Instrument'),
    instrumentSchemaId: schemaId,
    onMismatch: 'deadLetter',
    clock: systemClock,
  });
  const { rows } = await decoder.decode(chunked(`{"events":[${texts.join(',')}]}`));
  return byPartition(rows.map((row) => (row.kind === 'event' ? [row.key, row.eventValue] : refuse(row.reason))));
}

async function expectedChecks(texts: readonly string[], records: StreamAtRest['records']): Promise<string[][]> {
  const decoder = createCheckDecoder({
    schema: readSchemaText('PreTradeCheck'),
    schemaId: schemaIdOf(records),
    onMismatch: 'deadLetter',
    clock: systemClock,
  });
  const { rows } = await decoder.decode(chunked(`{"preTradeChecks":[${texts.join(',')}]}`));
  return byPartition(rows.map((row) => (row.kind === 'record' ? [row.key, row.value] : refuse(row.reason))));
}

function refuse(reason: string): never {
  throw new Error(`What was expected does not map: ${reason}`);
}

function schemaIdOf(records: StreamAtRest['records']): number {
  const value = records.flat()[0]?.value;
  if (!value) throw new Error('The topic is empty.');
  return readWireValue(value).schemaId;
}

function byPartition(keyed: readonly (readonly [string, Buffer])[]): string[][] {
  return PARTITIONS.map((partition) =>
    keyed
      .filter(([key]) => partitionFor(Buffer.from(key), PARTITIONS.length) === partition)
      .map(([, value]) => value.toString('base64')),
  );
}

/** No offset is committed that is lower than one before it. */
function assertRising(offsets: StreamAtRest['offsets']): void {
  const positions = offsets.map(({ since }) => String(since).split('-').map(Number));
  for (const [index, [ms = 0, sequence = 0]] of positions.entries()) {
    const [beforeMs = 0, beforeSequence = 0] = positions[index - 1] ?? [];
    assert.ok(ms > beforeMs || (ms === beforeMs && sequence >= beforeSequence), JSON.stringify(offsets));
  }
}

/** What of the ledger an events source must have written that began with this offset. */
function eventTexts(simulator: Simulator, first: StreamAtRest['offsets'][number] | undefined, type?: string): string[] {
  const [ms = 0, sequence = 0] = String(first?.since).split('-').map(Number);
  return [...simulator.ledger.events()]
    .filter(({ offset }) => {
      const [eventMs = 0, eventSequence = 0] = offset.split('-').map(Number);
      return eventMs > ms || (eventMs === ms && eventSequence > sequence);
    })
    .filter((event) => !event.hidden && (type === undefined || event.type === type))
    .map(({ text }) => text);
}

testInstallation(
  'each event of one type stands once and in order on its own topic, from the start of the stream, over a restart',
  OF_EVENTS,
  async (_t, at) => {
    const { simulator } = at;
    simulator.change(50);
    const first = await start(at);
    await eventually('the start is committed', () => simulator.requests.count('events') > 0, Boolean);
    simulator.change(400);
    await eventually('something is committed', () => committed([first]) > 0, Boolean);
    await first.stop();
    simulator.change(400);
    const second = await start(at);
    const last = [...simulator.ledger.events()].filter(({ hidden }) => !hidden).at(-1)?.offset ?? '';
    const isRead = () => simulator.requests.last.at(-1)?.query.includes(last) ?? false;
    await eventually('the stream is read', isRead, Boolean);
    await second.stop();

    const { records, offsets, deadLetters, notifications } = await streamAtRest(at, EVENTS);
    const texts = eventTexts(simulator, offsets[0], 'newissue');
    assert.ok(texts.length > 20, `${texts.length} events`);
    assert.deepEqual(valuesOf(records), await expectedEvents(texts, records));
    assert.deepEqual([deadLetters.length, notifications.length], [0, 0]);
    assertRising(offsets);
    const { headers } = records.flat()[0] ?? assert.fail();
    const origin = [headers['spc-source'], headers['spc-endpoint'], 'spc-since' in headers, 'spc-received' in headers];
    assert.deepEqual(origin, ['new-issues', '/v1/instruments/events', true, true]);
    for (const { headers: all } of records.flat()) assert.equal(all['spc-event-type'], 'newissue');
  },
);

testInstallation(
  'each pre-trade check stands once and in order on its topic, those from before the first start too, over a restart',
  OF_CHECKS,
  async (_t, at) => {
    const { simulator } = at;
    const ids = [...simulator.ledger.instruments()].map(({ id }) => id);
    const trigger = (count: number) => {
      for (let made = 0; made < count; made++) simulator.triggerCheck(ids[made % ids.length] ?? '');
    };
    trigger(250);
    const first = await start(at);
    await eventually('250 checks are committed', () => committed([first]) === 250, Boolean);
    await first.stop();
    trigger(60);
    const second = await start(at);
    await eventually('310 checks are committed', () => committed([first, second]) === 310, Boolean);
    trigger(1);
    await eventually('311 checks are committed', () => committed([first, second]) === 311, Boolean);
    await second.stop();

    const { records, offsets, notifications } = await streamAtRest(at, CHECKS);
    const texts = [...simulator.ledger.checks()].map(({ text }) => text);
    assert.deepEqual(valuesOf(records), await expectedChecks(texts, records));
    assert.equal(records.flat().length, 311);
    assert.equal(notifications.length, 0);
    assertRising(offsets);
  },
);

testInstallation(
  'pre-trade checks whose link leads back to where they came from are discarded, asked for again, and come once each',
  OF_CHECKS,
  async (_t, at) => {
    const { simulator } = at;
    const ids = [...simulator.ledger.instruments()].map(({ id }) => id);
    const trigger = (count: number) => ids.slice(0, count).map((id) => simulator.triggerCheck(id));
    const source = await start(at);
    trigger(3);
    await eventually('the first checks are committed', () => committed([source]) === 3, Boolean);
    const [{ since }] = source.fieldsOf('streamCommitted');
    trigger(3);
    await eventually('more checks are committed', () => committed([source]) === 6, Boolean);
    const value = JSON.stringify(`${simulator.referenceDataUrl}/v1/pretradechecks?since=${since}`);
    const edits = [{ pointer: '/links/next', value }];
    simulator.injectFaults([{ match: 'pre-trade-checks', count: 3, fault: { kind: 'edit', edits } }]);
    trigger(3);
    await eventually('all checks are committed', () => committed([source]) >= 9, Boolean);
    await source.stop();
    const discarded = source.fieldsOf('responseDiscarded').map(({ why }) => why);
    assert.ok(discarded.length >= 2 && discarded.every((why) => why === 'stuck'), discarded.join());
    const { records, notifications } = await streamAtRest(at, CHECKS);
    const texts = [...simulator.ledger.checks()].map(({ text }) => text);
    assert.deepEqual(valuesOf(records), await expectedChecks(texts, records));
    assert.equal(notifications.length, 0);
  },
);
