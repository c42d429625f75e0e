import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ALLOCATOR, NODE_FLAGS } from '../support/connectors/connector-process.ts';
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
