import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { temporaryFolder } from '../../../test/support/runner/temporary-folder.ts';
import { createSimulator } from './simulator.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const README = join(ROOT, 'src/dev/simulator/README.md');
/** Replaces curl, which this machine may lack. Supports only the options of the examples. */
const CURL = `#!${process.execPath}
const args = process.argv.slice(2);
const after = (name) => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined);
const url = args.find((arg) => arg.startsWith('http'));
const response = await fetch(url, { method: after('-X') ?? 'GET', ...(args.includes('-d') && { body: after('-d') }) });
process.stdout.write(await response.text());
process.exitCode = response.ok ? 0 : 22;
`;
const NPX = `#!/bin/sh\nshift\nexec ${process.execPath} ${ROOT}/src/bin/spconnect.js "$@"\n`;

/** Runs an example of the README unchanged, with a separate provider. Returns the lines of its output. */
async function outputOf(t: TestContext, example: string): Promise<string[]> {
  const simulator = await createSimulator({ instruments: 20 });
  t.after(() => simulator.close());
  const folder = temporaryFolder(t);
  for (const [name, text] of [
    ['curl', CURL],
    ['npx', NPX],
  ] as const) {
    await writeFile(join(folder, name), text);
    await chmod(join(folder, name), 0o755);
  }
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  const block = new RegExp(`<!-- example: ${example} -->\\n\\n\`\`\`sh\\n([^]*?)\`\`\``).exec(
    await readFile(README, 'utf8'),
  );
  assert.ok(block?.[1]);
  const { stdout } = await promisify(execFile)(
    'sh',
    ['-c', block[1].replaceAll('http://127.0.0.1:8090', simulator.url)],
    {
      cwd: ROOT,
      timeout: 300_000,
      maxBuffer: 2 ** 24,
      env: {
        PATH: `${folder}:${process.env.PATH}`,
        REFERENCE_DATA_URL: simulator.referenceDataUrl,
        AUTH_TOKEN_URL: simulator.tokenUrl,
        CLIENT_ID: simulator.clientId,
        CLIENT_SECRET: simulator.clientSecret,
      },
    },
  );
  return stdout.split('\n').filter((line) => line !== '' && line !== '{}');
}

test('the example of a fault has one dead letter beside a record, and then none', async (t) => {
  const topics = (await outputOf(t, 'fault')).map((line) => String(JSON.parse(line).topic).split('.')[1]);
  assert.deepEqual(topics, ['dead-letters', 'instruments', 'instruments', 'instruments']);
});

test('the example of the clock reads a repayment, and eight days later its offset has expired', async (t) => {
  const lines = await outputOf(t, 'clock');
  const events = lines.filter((line) => line.includes('instrument-events'));
  assert.deepEqual(
    events.map((line) => JSON.parse(line).value.type),
    ['repayment'],
  );
  assert.equal(lines.at(-1), 'expired');
});

test('the example of the ledger has the same digits on both sides, and the request for them', async (t) => {
  const [ledger = '', record = '', requests = ''] = await outputOf(t, 'ledger');
  const { key, value } = JSON.parse(record);
  assert.match(ledger, new RegExp(`^\\{"id":${key},`));
  const digits = /"level":(\d+\.\d{15,})/.exec(ledger)?.[1] ?? '';
  assert.ok(digits !== '' && JSON.stringify(value).includes(`"${digits}"`));
  assert.equal(JSON.parse(requests).last[0].endpoint, 'instruments');
});

test('the table of the control path in the README has every request, and no other', async () => {
  const source = await readFile(join(ROOT, 'src/dev/simulator/control.ts'), 'utf8');
  const served = [...source.matchAll(/^ {4}'((?:GET |POST |DELETE )?[a-z/]+)': /gm)].map(([, name = '']) =>
    name.startsWith('ledger/') ? `GET ${name}` : name,
  );
  const documented = [...(await readFile(README, 'utf8')).matchAll(/^\| `((?:GET|POST|DELETE) [a-z/]+)` \|/gm)];
  assert.ok(served.length >= 19);
  assert.deepEqual(documented.map(([, name]) => name).toSorted(), served.toSorted());
});
