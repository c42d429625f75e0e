import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { createSimulator } from '../../../src/simulator/simulator.ts';
import { addHardRecords } from '../../foreign/hard-records.ts';
import { ownPrices } from '../../foreign/own-prices.ts';
import { FOREIGN_READERS, foreignCommand, readPrices } from '../../foreign/readers.ts';
import { startConnector } from '../../support/connectors/running-connector.ts';
import { kafkaOrSkip, readCommitted } from '../../support/kafka/kafka-real.ts';
import { stackOrSkip, uniquePrefix } from '../../support/kafka/stack.ts';
import { fenceSource } from '../../support/ledgers/at-rest.ts';

const INSTRUMENTS = 300;
const PROGRAMS = [
  'python/read_instruments.py',
  'java/ReadInstruments.java',
  'go/main.go',
  'flink/ReadInstruments.java',
  'spark/read_instruments.py',
];
const root = resolve(import.meta.dirname, '../../..');
// Python alone by default: it is quick to have. FOREIGN_READERS=python,java,go,flink,spark names others.
const wanted = (process.env.FOREIGN_READERS ?? 'python').split(',');
const readers = FOREIGN_READERS.filter((reader) => wanted.includes(reader));

test('the programs of test/foreign/README.md are the files that are run', () => {
  const readme = readFileSync(join(root, 'test/foreign/README.md'), 'utf8');
  for (const file of PROGRAMS) {
    assert.ok(readme.includes(readFileSync(join(root, 'test/foreign', file), 'utf8')), file);
  }
});

test('the programs that are printed read the digits of every price, later schemas and deletions, and no dropped page', {
  timeout: 1_800_000,
}, async (t) => {
  const stack = await stackOrSkip(t);
  const plain = await kafkaOrSkip(t);
  if (!stack || !plain) return;
  const kafka = plain.connect();
  const simulator = await createSimulator({ instruments: INSTRUMENTS, seed: 21, port: 0 });
  t.after(() => simulator.close());
  const prefix = uniquePrefix('foreign');
  const connector = await startConnector(t, { stack, simulator, prefix });
  await connector.event('walkCompleted');
  await connector.stop();
  await fenceSource(kafka, prefix);
  const topic = `${prefix}.instruments`;
  const walked = await readCommitted(kafka, topic, [0, 1, 2, 3, 4, 5]);
  const changed = await addHardRecords(plain, stack.registryUrl, walked);
  const expected = new Map([...ownPrices(walked), ...changed]);
  assert.equal(expected.size, INSTRUMENTS);
  for (const reader of readers) {
    await t.test(reader, async (inner) => {
      const command = await foreignCommand(reader);
      if (command instanceof Error) return inner.skip(command.message.split('\n')[0]);
      const prices = await readPrices(command, stack, topic);
      assert.deepEqual([...prices].sort(), [...expected].sort());
    });
  }
});
