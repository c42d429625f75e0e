import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ALLOCATOR, NODE_FLAGS, startProcess } from '../support/connectors/connector-process.ts';
import { parseDockerfile } from '../support/documents/dockerfile.ts';

const read = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');

test('npm start, the image, the tests and the benchmark run the connector with the same flags', () => {
  const variables = Object.entries(ALLOCATOR).map((pair) => pair.join('='));
  const { scripts } = JSON.parse(read('package.json')) as { readonly scripts: { readonly start: string } };
  assert.equal(scripts.start, [...variables, 'exec node', ...NODE_FLAGS, 'src/bin/spconnect.js run'].join(' '));

  const image = parseDockerfile(read('Dockerfile'));
  assert.ok(image.some(({ name, text }) => name === 'ENV' && text === variables.join(' ')));
  const entry = image.findLast(({ name }) => name === 'ENTRYPOINT');
  assert.deepEqual(JSON.parse(entry?.text ?? '[]'), ['node', ...NODE_FLAGS, 'dist/main.js']);
});

test('memory of buffers goes back to the system, also where others that stay lie between them', async () => {
  const { header } = process.report.getReport() as { readonly header: { readonly glibcVersionRuntime?: string } };
  // The settings are those of glibc; other systems have allocators of their own.
  if (header.glibcVersionRuntime === undefined) return;
  const script = new URL('../support/connectors/dropped-buffers.ts', import.meta.url).pathname;
  const { line, ended } = startProcess(script, [], { PATH: process.env.PATH ?? '' });
  const memory = JSON.parse(await line('withoutBytes')) as {
    readonly withBytes: number;
    readonly withoutBytes: number;
  };
  assert.deepEqual(await ended, { code: 0, signal: null });
  assert.ok(memory.withoutBytes < memory.withBytes / 3, JSON.stringify(memory));
});
