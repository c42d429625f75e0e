import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { areaProcesses, differsFromRelease, everydayFiles, stackProcesses } from './reporter-processes.ts';
import { temporaryFolder } from './temporary-folder.ts';

const FILES = [
  'test/integration/hazards/a.test.ts',
  'test/integration/kafka/b.test.ts',
  'test/release/c.test.ts',
  'test/unit/prices/calls/d.test.ts',
  'test/unit/prices/e.test.ts',
  'test/unit/prices/f.test.ts',
  'test/security/kafka.test.ts',
];

test('each change runs what holds a guarantee, and the hazards where our client or kafkajs is another', () => {
  const [unchanged, changed] = [false, true].map((differs) => everydayFiles(FILES, () => differs));
  assert.deepEqual(unchanged, [...FILES.slice(1, 2), ...FILES.slice(3)]);
  assert.deepEqual(changed, [...FILES.slice(0, 2), ...FILES.slice(3)]);
});

test('the hazards are due when kafkajs or our client changed since the version did, or when git is absent', async (t) => {
  const root = temporaryFolder(t);
  const write = async (file: string, text: string) => {
    await mkdir(join(root, file, '..'), { recursive: true });
    await writeFile(join(root, file), text);
  };
  const lock = (kafkajs: string, pino: string) =>
    JSON.stringify({ packages: { 'node_modules/kafkajs': kafkajs, 'node_modules/pino': pino } });
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x', ...args], { cwd: root });
  const commit = () => [git('add', '.'), git('commit', '--quiet', '--message', 'x')];
  assert.equal(differsFromRelease(root), true, 'git knows of no release there');
  git('init', '--quiet');
  await write('package.json', '{\n  "version": "1",\n  "private": true\n}\n');
  await write('package-lock.json', lock('1', '1'));
  await write('src/kafka/a.ts', '1');
  commit();
  await write('package.json', '{\n  "version": "1"\n}\n');
  await write('package-lock.json', lock('1', '2'));
  commit();
  assert.equal(differsFromRelease(root), false, 'another package, another line of package.json');
  await write('package-lock.json', lock('2', '2'));
  assert.equal(differsFromRelease(root), true, 'another kafkajs');
  await write('package-lock.json', lock('1', '2'));
  await write('src/kafka/a.ts', '2');
  commit();
  assert.equal(differsFromRelease(root), true, 'another client');
  await write('package.json', '{\n  "version": "2"\n}\n');
  commit();
  assert.equal(differsFromRelease(root), false, 'the next release');
});

test('an area is one process, but for a file that needs its own; what needs a stack has one for each file', async (t) => {
  const root = temporaryFolder(t);
  for (const [index, file] of FILES.entries()) {
    await mkdir(join(root, file, '..'), { recursive: true });
    await writeFile(
      join(root, file),
      file.endsWith('f.test.ts') ? '// Needs a process of its own' : 'x'.repeat(index % 6),
    );
  }
  const [area, alone] = areaProcesses(root, FILES, root);
  assert.deepEqual(area?.files, FILES.slice(3, 5));
  const imports = /import\(".*d\.test\.ts"\);\nawait import\(".*e\.test\.ts"\)/;
  assert.match(await readFile(area?.entry ?? '', 'utf8'), imports);
  assert.deepEqual(alone, { entry: join(root, FILES[5] ?? ''), files: [FILES[5]] });
  const files = stackProcesses(root, FILES).flatMap(({ files }) => files);
  assert.deepEqual(files, [FILES[6], FILES[2], FILES[1], FILES[0]]);
});
