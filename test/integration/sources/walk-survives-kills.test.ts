import assert from 'node:assert/strict';
import type { Simulator } from '../../../src/dev/simulator/simulator.ts';
import type { CommittedRecord } from '../../../src/kafka/record.ts';
import { readSchemaText } from '../../../src/records/avro/schema-files.ts';
import { readWireValue } from '../../../src/records/avro/wire-format.ts';
import { createPageDecoder } from '../../../src/records/decoding/page-decoder.ts';
import { readInstrumentsOffset } from '../../../src/sources/walk/instruments-offset.ts';
import { systemClock } from '../../../src/support/clock.ts';
import { logLines } from '../../support/connectors/connector-command.ts';
import type { ConnectorProcess } from '../../support/connectors/connector-process.ts';
import { type Installation, testInstallation } from '../../support/connectors/installation.ts';
import { chunked } from '../../support/decoding/avro-decoding.ts';
import type { KillMoment } from '../../support/kafka/killing-kafka.ts';
import { fenceSource } from '../../support/ledgers/at-rest.ts';
import { offsetsOn } from '../../support/ledgers/universe-on-topics.ts';
import { type WalkLog, walkViolations } from '../../support/ledgers/walk-log.ts';
import { eventually } from '../../support/runner/eventually.ts';

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
const SCENE = { simulator: { instruments: INSTRUMENTS, seed: 7 }, source: { limit: 100 }, env: { LOG_LEVEL: 'warn' } };

testInstallation(
  `a walk killed at ${MOMENTS.length} different moments writes every instrument once, as sent`,
  SCENE,
  async (t, at) => {
    const { simulator } = at;
    const ids = [...simulator.ledger.instruments()].map(({ id }) => BigInt(id));
    let pages = 0;

    for (const moment of MOMENTS) {
      const connector = at.startKillable(moment);
      const { code, signal } = await connector.ended;
      assert.equal(
        signal,
        'SIGKILL',
        `it was to die (${JSON.stringify(moment)}), but ended with ${code}:\n${connector.lines.join('\n')}`,
      );
      const log = await atRest(at);
      assert.deepEqual(walkViolations(log, ids), [], `after ${JSON.stringify(moment)}`);
      pages = log.offsets.at(-1)?.counts.pages ?? 0;
    }
    assert.ok(pages >= 4 && pages < INSTRUMENTS / 100, `the kills fell into the walk (after ${pages} pages)`);

    const last = at.startKillable(null);
    assert.equal((await last.ended).code, 0, last.lines.join('\n'));
    const log = await atRest(at);
    assert.deepEqual(walkViolations(log, ids), []);
    // A resumed walk cannot determine what is gone, so a fresh one follows it at once; it finds nothing to write.
    const done = log.offsets.at(-1);
    assert.deepEqual([done?.walk, done?.walkPending, done?.counts.unchanged], [2, false, INSTRUMENTS]);
    assert.equal(log.rows.length, INSTRUMENTS);
    await assertValues(await at.read('instruments'), simulator);
    t.diagnostic(`${MOMENTS.length} kills, ${INSTRUMENTS} instruments: 0 missing, 0 twice, 0 ahead of the offset`);
  },
);

testInstallation(
  'a walk that is killed before its first page is logged as started again, not as resumed',
  { simulator: { instruments: 300 }, source: { limit: 100, handoffMargin: '20s' } },
  async (_t, at) => {
    const begun = (connector: ConnectorProcess) =>
      eventually(
        'the walk',
        () => logLines(connector).find(({ msg }) => msg === 'walk started' || msg === 'walk resumed'),
        (line) => line !== undefined,
      );
    const killed = await at.startCommand();
    assert.equal((await begun(killed))?.why, 'first');
    killed.child.kill('SIGKILL');
    await killed.ended;
    const again = await begun(await at.startCommand());
    assert.deepEqual([again?.msg, again?.why, again?.walk], ['walk started', 'afterRestart', 1]);
  },
);

/** What is truly committed, when nothing writes any more. */
async function atRest({ kafka, prefix, read }: Installation): Promise<WalkLog> {
  await fenceSource(kafka, prefix);
  const rows = await read('instruments');
  return {
    rows: rows.map((row) => ({ id: BigInt(String(row.key)), partition: row.partition, offset: row.offset })),
    offsets: (await offsetsOn(kafka, prefix)).map(({ offset }) =>
      readInstrumentsOffset(offset, 'instruments', 'scope=all'),
    ),
  };
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
  const due = await decoder.decode(chunked(`{"instruments":[${rows.join(',')}]}`));
  const found = new Map(records.map((record) => [String(record.key), record.value]));
  for (const row of due.rows) {
    assert.ok(row.kind === 'record');
    assert.ok(found.get(row.key)?.equals(row.value), `instrument ${row.key} differs`);
  }
}
