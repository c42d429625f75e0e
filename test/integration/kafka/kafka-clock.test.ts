import assert from 'node:assert/strict';
import { systemClock } from '../../../src/support/clock.ts';
import { createTopic, kafkaTest } from '../../support/kafka/kafka-real.ts';
import { textRecord } from '../../support/network/tcp-proxy-cluster.ts';

const BEHIND_MS = 3_600_000;

kafkaTest('the response to records shows how far the clock of the broker is ahead', async (t, plain) => {
  const seen: number[] = [];
  const clock = { ...systemClock, wallMs: () => systemClock.wallMs() - BEHIND_MS };
  const kafka = plain.connect({ clock, clockSeen: (aheadMs) => void seen.push(aheadMs) });
  const { name: ownTime } = await createTopic(kafka, { 'message.timestamp.type': 'CreateTime' });
  const { name: brokersTime } = await createTopic(kafka, { 'message.timestamp.type': 'LogAppendTime' });
  const writer = kafka.transactionalWriter(`${brokersTime}-writer`);
  await writer.open(async () => {}, t.signal);
  await writer.commit({ records: [textRecord(ownTime, 'with our time')] });
  assert.deepEqual(seen, []);
  await writer.commit({ records: [textRecord(brokersTime, 'with the time of the broker')] });
  const [aheadMs = 0] = seen;
  assert.equal(seen.length, 1);
  assert.ok(aheadMs > BEHIND_MS - 300_000 && aheadMs < BEHIND_MS + 1_000, String(aheadMs));
});
