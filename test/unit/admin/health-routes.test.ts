import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { type AdminScene, makeReady, startAdminScene } from '../../support/connectors/admin-scene.ts';

const ready = async (scene: AdminScene) => {
  const answer = await scene.ask('/readyz?verbose');
  assert.equal((await scene.ask('/livez')).status, 200);
  assert.equal((await scene.ask('/health')).status, answer.status);
  return `${answer.status}\n${await answer.text()}`;
};

test('ready is who has proven topics, fence, offset and schemas, and joined; one line reports each', async (t) => {
  const scene = await startAdminScene(t);
  const { board } = scene;
  const source = 'instruments';
  assert.equal(
    await ready(scene),
    [
      '503',
      '[+] process: running',
      '[+] kafka: answers',
      '[-] topics: not verified yet',
      '[-] source instruments: not fenced yet, and its offset not read yet',
      '[-] source checks: not fenced yet, and its offset not read yet',
      '[-] prices: not joined its group yet',
      'not ready\n',
    ].join('\n'),
  );
  const err = new ConnectorError('KAFKA_UNREACHABLE', 'No broker answers.');
  board.events.attemptFailed({ part: 'topics', failures: 1, waitMs: 1, err });
  assert.match(await ready(scene), /\[-\] topics: KAFKA_UNREACHABLE: No broker answers\./);
  board.topicsProven('id');
  board.events.sourceStarted({ source, since: null, secondsToRetentionCliff: null });
  assert.match(await ready(scene), /\[-\] source instruments: its schemas are not registered yet/);
  makeReady(scene);
  assert.match(await ready(scene), /^200\n[\s\S]*\[\+\] prices: joined its group; .+\nready\n$/);
  assert.equal(await (await scene.ask('/readyz')).text(), 'ready\n');
});

const troubles: Record<string, (scene: AdminScene) => void> = {
  'a failed source': ({ board }) => board.events.sourceFailed({ source: 'checks', err: new Error('x') }),
  'a failed processor': ({ board }) => board.events.processorFailed({ err: new Error('x') }),
  'a stop': ({ stop }) => stop.abort(),
  'a lost writer': ({ board }) => {
    const { partition = 0 } = board.status().sources[1] ?? {};
    board.events.writerLost({ partition, err: new ConnectorError('TRANSACTION_FAILED', 'cut') });
  },
};
test('trouble ends readiness, and never liveness', async (t) => {
  for (const [what, happens] of Object.entries(troubles)) {
    const scene = await startAdminScene(t);
    makeReady(scene);
    assert.match(await ready(scene), /^200/);
    happens(scene);
    assert.match(await ready(scene), /^503/, what);
  }
});

test('what an operator has paused or stopped is as it should be', async (t) => {
  const scene = await startAdminScene(t);
  makeReady(scene);
  scene.operator.wants('instruments', { state: 'paused' });
  scene.board.events.sourcePaused({ source: 'instruments' });
  scene.operator.wants('checks', { state: 'stopped' });
  scene.board.events.sourceStopped({ source: 'checks' });
  scene.operator.wants('prices', { state: 'stopped' });
  assert.match(
    await ready(scene),
    /^200[\s\S]*instruments: paused as requested[\s\S]*checks: stopped as requested[\s\S]*prices: stopped/,
  );
});

test('metrics come as Prometheus asks for them, and nothing may be kept or guessed at', async (t) => {
  const scene = await startAdminScene(t);
  const answer = await scene.ask('/metrics');
  assert.equal(answer.headers.get('content-type'), 'text/plain; version=0.0.4');
  assert.equal(await answer.text(), 'a_metric 1\n');
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
});

test('what is shown of prices is new in every answer, and whether the process lives is answered without it', async (t) => {
  const scene = await startAdminScene(t);
  let refreshed = 0;
  scene.board.events.processorStarted({
    groupId: 'g',
    topics: ['i'],
    kinds: ['overview'],
    freshness: () => assert.fail('only what shows prices asks for them'),
    async refreshed() {
      refreshed += 1;
    },
  });
  assert.equal((await scene.ask('/livez')).status, 200);
  assert.equal(refreshed, 0);
  const paths = ['/readyz', '/health', '/metrics', '/status.json', '/', '/connectors', '/connectors/prices/status'];
  for (const [index, path] of paths.entries()) {
    await scene.ask(path);
    assert.equal(refreshed, index + 1, path);
  }
});
