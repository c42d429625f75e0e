import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandScene } from '../../support/connectors/command-scene.ts';
import { readCommitted } from '../../support/kafka/kafka-real.ts';
import { notificationsOn } from '../../support/ledgers/universe-on-topics.ts';
import { eventually } from '../../support/runner/eventually.ts';

const PARTITIONS = [0, 1, 2, 3, 4, 5];

test('a position that can never be read is skipped by an operator, and reported with from and to', {
  timeout: 1_200_000,
}, async (t) => {
  const scene = await commandScene(t, { simulator: { instruments: 10 } });
  if (!scene) return;
  const { simulator, kafka, prefix } = scene;
  const connector = await scene.start();
  await connector.event('walkCompleted');
  const readable = await scene.spconnect('offsets skip instruments');
  assert.deepEqual(
    [readable.code, readable.stderr],
    [0, 'Nothing was changed: the response at the committed offset can be read.\n'],
  );

  const [id = ''] = [...simulator.ledger.instruments()].map((one) => String(one.id));
  simulator.publish({ kind: 'event', id, envelope: '{"event":{"type":"datachange"' });
  await connector.event('attemptFailed');
  const plan = JSON.parse((await scene.spconnect('offsets skip instruments --output json')).stdout);
  assert.match(plan.problem, /^(BODY_MALFORMED|PROTOCOL_VIOLATION): /);
  assert.notEqual(plan.to, plan.from);
  const running = await scene.spconnect('offsets skip instruments --execute');
  assert.equal(running.code, 1);
  assert.match(running.stderr, /^SOURCE_NOT_STOPPED: /);

  await scene.spconnect('stop instruments');
  const skipped = await scene.spconnect('offsets skip instruments --execute');
  assert.equal(skipped.code, 0, skipped.stderr);
  const again = await scene.spconnect('offsets skip instruments --execute');
  assert.equal(again.code, 1, 'there is nothing more to skip');
  const reported = (await notificationsOn(kafka, prefix)).filter(({ kind }) => kind === 'stream-skipped');
  assert.equal(reported.length, 1);
  const [{ gapFrom, gapTo, gapSinceFrom, gapSinceTo, why, lost } = {}] = reported;
  assert.deepEqual([gapSinceFrom, gapSinceTo, why], [plan.from, plan.to, plan.problem]);
  assert.ok(Date.parse(String(gapFrom)) <= Date.parse(String(gapTo)), `${gapFrom} to ${gapTo}`);
  assert.match(String(lost), /events between the two offsets; instruments are healed/);

  await scene.spconnect('resume instruments');
  const { offset } = simulator.publish({ kind: 'datachange', id });
  await eventually(
    'what comes after it',
    () => readCommitted(kafka, `${prefix}.instrument-events`, PARTITIONS),
    (records) => records.some(({ headers }) => headers['spc-since'] === plan.to),
  );
  assert.ok(offset);
});
