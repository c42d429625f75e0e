import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { rootCertificates } from 'node:tls';
import { inspect } from 'node:util';
import { createSecretReader } from '../../../src/config/secret.ts';
import { temporaryFolder } from '../../support/runner/temporary-folder.ts';

const CANARY = 'canary-7f3a';

async function secretFile(t: TestContext, content: string | Buffer) {
  const folder = temporaryFolder(t);
  const path = join(folder, 'secret');
  await writeFile(path, content);
  return path;
}

function reader() {
  const reported: string[] = [];
  const problems: string[] = [];
  const secrets = createSecretReader({
    readFile: (path) => readFile(path, 'utf8'),
    onSecret: (value) => reported.push(value),
    onUnreadable: (problem) => problems.push(problem),
  });
  return { secrets, reported, problems };
}

test('a secret gives its text, and prints as where it comes from', async (t) => {
  const { secrets } = reader();
  const path = await secretFile(t, `${CANARY}\n`);
  for (const [secret, shown] of [
    [secrets.fromText(CANARY), '[secret]'],
    [await secrets.fromFile(path, 'secret'), `[secret in ${path}]`],
  ] as const) {
    assert.equal(await secret(), CANARY);
    const printed = [
      String(secret),
      `${secret}`,
      JSON.stringify({ secret }),
      inspect({ secret }, { depth: 9, showHidden: true }),
    ];
    for (const text of printed) {
      assert.ok(text.includes(shown), text);
      assert.ok(!text.includes(CANARY), text);
    }
  }
});

test('a rotated file is seen at the next call, and its new value is reported before it is used', async (t) => {
  const { secrets, reported } = reader();
  const path = await secretFile(t, 'first-secret');
  const secret = await secrets.fromFile(path, 'secret');
  await writeFile(path, 'second-secret\r\n');
  assert.equal(await secret(), 'second-secret');
  assert.deepEqual(reported, ['first-secret', 'second-secret']);
});

test('while a rotation is half done the last good secret serves, and one warning names the file', async (t) => {
  const { secrets, problems } = reader();
  const path = await secretFile(t, 'first-secret');
  const secret = await secrets.fromFile(path, 'secret');
  await writeFile(path, '');
  assert.equal(await secret(), 'first-secret');
  await rm(path);
  assert.equal(await secret(), 'first-secret');
  assert.deepEqual(problems, [`${path} is empty`]);
  await writeFile(path, 'second-secret');
  assert.equal(await secret(), 'second-secret');
  await rm(path);
  assert.equal(await secret(), 'second-secret');
  assert.deepEqual(problems.slice(1), [`${path} cannot be read (ENOENT)`]);
});

test('what cannot be a secret is refused without being quoted', async (t) => {
  const { secrets, reported } = reader();
  const problem = (content: string) =>
    secretFile(t, content)
      .then((path) => secrets.fromFile(path, 'secret'))
      .then(
        () => '',
        (error: Error) => error.message,
      );
  assert.match(await problem('\n'), /secret is empty$/);
  assert.match(await problem(`${CANARY}\nx`), /secret has a line break or another control character$/);
  assert.match(await problem('x'.repeat(2_000_000)), /secret is longer than 1048576 characters$/);
  assert.throws(() => secrets.fromText(`${CANARY}\r\nx: y`), /^Error: has a line break/);
  const says = /^Error: \/no\/such\/file cannot be read \(ENOENT\)$/;
  await assert.rejects(secrets.fromFile('/no/such/file', 'secret'), says);
  assert.deepEqual(reported, []);
});

test('a secret that no header can carry, or whose file is not UTF-8, is refused', async (t) => {
  const { secrets } = reader();
  const problem = async (content: string | Buffer, kind: 'secret' | 'header') =>
    secrets.fromFile(await secretFile(t, content), kind).then(
      (secret) => secret(),
      (error: Error) => error.message,
    );
  assert.equal(await problem('\ufeffpässwort \n', 'secret'), 'pässwort ');
  assert.match(await problem(Buffer.from('pässwort', 'latin1'), 'secret'), /secret is not UTF-8$/);
  for (const content of ['tokén', 'token \n', ' token'])
    assert.match(
      await problem(content, 'header'),
      /secret holds characters that no header can carry; use visible ASCII$/,
    );
});

test('a file that we may not read is named, with the right that is missing and whose it is', async () => {
  const denied = async () => assert.fail(Object.assign(new Error(CANARY), { code: 'EACCES' }));
  const secrets = createSecretReader({ readFile: denied, onSecret: () => {} });
  const user = process.getuid?.() ?? 'of this process';
  const text = `/run/secret cannot be read (EACCES): user ${user} has no right to read it, or to enter a folder of its path`;
  await assert.rejects(secrets.fromFile('/run/secret', 'secret'), new Error(text));
});

test('a certificate keeps its lines and is no secret', async (t) => {
  const { secrets, reported } = reader();
  const [pem = ''] = rootCertificates;
  const path = await secretFile(t, pem);
  const content = await secrets.fromFile(path, 'ca');
  assert.equal(await content(), pem);
  assert.equal(String(content), `[content of ${path}]`);
  assert.deepEqual(reported, []);
});
