import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { addHardRecords, ownPrices } from '../foreign/hard-records.ts';
import { FOREIGN_READERS, foreignCommand, readPrices } from '../foreign/readers.ts';
import { testInstallation } from '../support/connectors/installation.ts';
import { pythonWith } from '../support/decoding/python-environment.ts';
import { fenceSource } from '../support/ledgers/at-rest.ts';
import { eventually } from '../support/runner/eventually.ts';

const INSTRUMENTS = 300;
const root = resolve(import.meta.dirname, '../..');
// Python alone by default: it is quick to have. FOREIGN_READERS=python,java,go,flink,spark names others.
const wanted = (process.env.FOREIGN_READERS ?? 'python').split(',');
const readers = FOREIGN_READERS.filter((reader) => wanted.includes(reader));

const WALKED = { simulator: { instruments: INSTRUMENTS, seed: 21 } };

testInstallation(
  'the programs of other languages read the digits of every price, later schemas and deletions, and no dropped page',
  WALKED,
  async (t, at) => {
    const { stack, broker, kafka, prefix } = at;
    const connector = await at.start();
    await connector.event('walkCompleted');
    await connector.stop();
    await fenceSource(kafka, prefix);
    const topic = `${prefix}.instruments`;
    const walked = await at.read('instruments');
    const changed = await addHardRecords(broker, stack.registryUrl, walked);
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
  },
);

const PRICED = {
  simulator: { instruments: 60, seed: 21 },
  prices: '{ kinds: { overview: { refreshInterval: 1s } } }',
};

testInstallation(
  'the program that schemas/README.md prints, with the packages that it names, reads the newest prices and ends',
  PRICED,
  async (t, at) => {
    const { stack, simulator, prefix } = at;
    const readme = readFileSync(join(root, 'schemas/README.md'), 'utf8');
    const [, packages = ''] = /^python3 -m pip install '(.+)'$/m.exec(readme) ?? assert.fail();
    const [, file = ''] = /^python3 (test\/foreign\/\S+\.py) /m.exec(readme) ?? assert.fail();
    assert.ok(readme.includes(`\`\`\`python\n${readFileSync(join(root, file), 'utf8')}\`\`\``), `${file} differs`);
    const python = await pythonWith([packages]);
    if (python === null) return t.skip('no python3 with these packages can be had here');
    const connector = await at.start();
    await connector.event('walkCompleted');
    await eventually(
      'each instrument has a price',
      () => connector.fieldsOf('batchPriced').reduce((sum, { priced }) => sum + priced, 0),
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
  },
);
