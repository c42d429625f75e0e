import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSimulator, type Simulator } from '../../../src/dev/simulator/simulator.ts';
import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import type { CommittedRecord } from '../../../src/kafka/record.ts';
import { readSchemaText } from '../../../src/records/avro/schema-files.ts';
import { readWireValue } from '../../../src/records/avro/wire-format.ts';
import { createPageDecoder } from '../../../src/records/decoding/page-decoder.ts';
import { readInstrumentsOffset } from '../../../src/sources/walk/instruments-offset.ts';
import { systemClock } from '../../../src/support/clock.ts';
import {
  connectorEnvironment,
  settingsText,
  startKillableConnector,
} from '../../support/connectors/connector-process.ts';
import { kafkaOrSkip, readCommitted } from '../../support/kafka/kafka-real.ts';
import type { KillMoment } from '../../support/kafka/killing-kafka.ts';
import { stackOrSkip, uniquePrefix } from '../../support/kafka/stack.ts';
import { fenceSource, SOURCE_KEY, SOURCE_PARTITION } from '../../support/ledgers/at-rest.ts';
import { type WalkLog, walkViolations } from '../../support/ledgers/walk-log.ts';

// Transaction 1 of a process only fences. On the first start, 2 commits the stream's start, and pages follow from 3;
// after a restart, pages follow from 2.
const MOMENTS: readonly KillMoment[] = [
  { transaction: 1, at: 'before it begins' },
  { transaction: 1, at: 'aborted' },
  { transaction: 2, at: 'before it begins' },
  { transaction: 2, at: 'commit sent' },
  { transaction: 2, at: 'before it begins' },
  { transaction: 2, at: 'begun' },
  { transaction: 3, at: 'after the first send' },
  { transaction: 3, at: 'before the offset record' },
  { transaction: 3, at: 'after the offset record' },
  { transaction: 3, at: 'commit sent' },
  { transaction: 3, at: 'committed' },
  { transaction: 2, at: 'after the offset record' },
  { transaction: 5, at: 'after the first send' },
];
const INSTRUMENTS = 2_000;
const PARTITIONS = [0, 1, 2, 3, 4, 5];

test(`a walk killed at ${MOMENTS.length} different moments writes every instrument once, as sent`, async (t) => {
  const stack = await stackOrSkip(t);
  if (!stack) return;
  const prefix = uniquePrefix('kills');
  const simulator = await createSimulator({ instruments: INSTRUMENTS, seed: 7, port: 0 });
  t.after(() => simulator.close());
  const kafka = (await kafkaOrSkip(t))?.connect();
  if (!kafka) return;
  const SETTINGS = settingsText({ limit: 100, handoffMargin: '50ms', pollInterval: '100ms' });
  const env = connectorEnvironment(stack, simulator, { TOPIC_PREFIX: prefix, LOG_LEVEL: 'warn', SETTINGS });
  const ids = ledgerIds(simulator);
  let pages = 0;

  for (const moment of MOMENTS) {
    const connector = startKillableConnector(moment, env);
    const { code, signal } = await connector.ended;
    assert.equal(
      signal,
      'SIGKILL',
      `it was to die (${JSON.stringify(moment)}), but ended with ${code}:\n${connector.lines.join('\n')}`,
    );
    const log = await atRest(kafka, prefix);
    assert.deepEqual(walkViolations(log, ids), [], `after ${JSON.stringify(moment)}`);
    pages = log.offsets.at(-1)?.counts.pages ?? 0;
  }
  assert.ok(pages >= 4 && pages < INSTRUMENTS / 100, `the kills fell into the walk (after ${pages} pages)`);

  const last = startKillableConnector(null, env);
  assert.equal((await last.ended).code, 0, last.lines.join('\n'));
  const log = await atRest(kafka, prefix);
  assert.deepEqual(walkViolations(log, ids), []);
  // A resumed walk cannot determine what is gone, so a fresh one follows it at once; it finds nothing to write.
  const done = log.offsets.at(-1);
  assert.deepEqual([done?.walk, done?.walkPending, done?.counts.unchanged], [2, false, INSTRUMENTS]);
  assert.equal(log.rows.length, INSTRUMENTS);
  await assertValues(await readCommitted(kafka, `${prefix}.instruments`, PARTITIONS), simulator);
  t.diagnostic(`${MOMENTS.length} kills, ${INSTRUMENTS} instruments: 0 missing, 0 twice, 0 ahead of the offset`);
});

/** What is truly committed, when nothing writes any more. */
async function atRest(kafka: KafkaCluster, prefix: string): Promise<WalkLog> {
  await fenceSource(kafka, prefix);
  const rows = await readCommitted(kafka, `${prefix}.instruments`, PARTITIONS);
  const offsets = await readCommitted(kafka, `${prefix}.offsets`, [SOURCE_PARTITION]);
  return {
    rows: rows.map((row) => ({ id: BigInt(String(row.key)), partition: row.partition, offset: row.offset })),
    offsets: offsets
      .filter((record) => String(record.key) === SOURCE_KEY)
      .map((record) => readInstrumentsOffset(JSON.parse(String(record.value)), 'instruments', 'scope=all')),
  };
}

function ledgerIds(simulator: Simulator): bigint[] {
  return [...simulator.ledger.instruments()].map(({ id }) => BigInt(id));
}

/** Every value on the topic is what one page with the whole ledger gives. */
async function assertValues(records: readonly CommittedRecord[], simulator: Simulator): Promise<void> {
  const { schemaId } = readWireValue(records[0]?.value ?? Buffer.alloc(0));
  const schema = readSchemaText('Instrument');
  const decoder = createPageDecoder({
    schema,
    schemaId,
    listKey: 'instruments',
    onMismatch: 'deadLetter',
    clock: systemClock,
  });
  const rows = [...simulator.ledger.instruments()].map(({ text }) => text);
  async function* body() {
    yield Buffer.from(`{"instruments":[${rows.join(',')}]}`);
  }
  const due = await decoder.decode(body());
  const found = new Map(records.map((record) => [String(record.key), record.value]));
  for (const row of due.rows) {
    assert.ok(row.kind === 'record');
    assert.ok(found.get(row.key)?.equals(row.value), `instrument ${row.key} differs`);
  }
}
