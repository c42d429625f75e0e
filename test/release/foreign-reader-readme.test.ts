import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { createSimulator } from '../../src/dev/simulator/simulator.ts';
import { addHardRecords, ownPrices } from '../foreign/hard-records.ts';
import { FOREIGN_READERS, foreignCommand, readPrices } from '../foreign/readers.ts';
import { startConnector } from '../support/connectors/running-connector.ts';
import { pythonWith } from '../support/decoding/python-environment.ts';
import { kafkaOrSkip, readCommitted } from '../support/kafka/kafka-real.ts';
import { stackOrSkip, uniquePrefix } from '../support/kafka/stack.ts';
import { fenceSource } from '../support/ledgers/at-rest.ts';
import { eventually } from '../support/runner/eventually.ts';

const INSTRUMENTS = 300;
const root = resolve(import.meta.dirname, '../..');
// Python alone by default: it is quick to have. FOREIGN_READERS=python,java,go,flink,spark names others.
const wanted = (process.env.FOREIGN_READERS ?? 'python').split(',');
const readers = FOREIGN_READERS.filter((reader) => wanted.includes(reader));

test('the programs of other languages read the digits of every price, later schemas and deletions, and no dropped page', {
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

test('the program that schemas/README.md prints, with the packages that it names, reads the newest prices and ends', {
  timeout: 1_800_000,
}, async (t) => {
  const readme = readFileSync(join(root, 'schemas/README.md'), 'utf8');
  const [, packages = ''] = /^python3 -m pip install '(.+)'$/m.exec(readme) ?? assert.fail();
  const [, file = ''] = /^python3 (test\/foreign\/\S+\.py) /m.exec(readme) ?? assert.fail();
  assert.ok(readme.includes(`\`\`\`python\n${readFileSync(join(root, file), 'utf8')}\`\`\``), `${file} differs`);
  const stack = await stackOrSkip(t);
  if (!stack) return;
  const python = await pythonWith([packages]);
  if (python === null) return t.skip('no python3 with these packages can be had here');
  const simulator = await createSimulator({ instruments: 60, seed: 21, port: 0 });
  t.after(() => simulator.close());
  const prefix = uniquePrefix('read-prices');
  const more = `
marketData: { url: "${simulator.marketDataUrl}", requestsPerSecond: 1000 }
prices: { kinds: { overview: { refreshInterval: 1s } } }`;
  const connector = await startConnector(t, { stack, simulator, prefix, more });
  await connector.event('walkCompleted');
  await eventually(
    'each instrument has a price',
    () => connector.seen.reduce((sum, { name, fields }) => sum + (name === 'batchPriced' ? fields.priced : 0), 0),
    (priced) => priced >= 2 * simulator.size,
  );
  // Prices keep coming meanwhile.
  const args = [join(root, file), stack.brokers.join(','), stack.registryUrl, `${prefix}.prices`];
  const { stdout } = await promisify(execFile)(python, args, { timeout: 120_000 });
  const rows = stdout.trim().split('\n');
  for (const row of rows)
    assert.match(row, /^\d+ [A-Z]{2}\w{10} (?:\d+(?:\.\d*[1-9])?|None) (?:\d+(?:\.\d*[1-9])?|None)$/);
  assert.equal(new Set(rows.map((row) => row.split(' ')[0])).size, simulator.size);
  const misspelled = promisify(execFile)(python, args.with(-1, `${prefix}.price`), { timeout: 120_000 });
  await assert.rejects(misspelled, {
    code: 1,
    stdout: '',
    stderr: new RegExp(`^${prefix}\\.price: .*[Uu]nknown topic`),
  });
});
