import assert from 'node:assert/strict';
import { test } from 'node:test';
import { knowingBrokers } from '../../../../../src/kafka/kafkajs/patches/first-coordinator.ts';

for (const [what, brokers, fails, expected] of [
  ['that knows no broker asks for them first', {}, false, ['brokers', 'coordinator of g']],
  ['that cannot ask for them does as before', {}, true, ['brokers', 'coordinator of g']],
  ['that knows brokers asks one of them', { 1: {} }, false, ['coordinator of g']],
] as const) {
  test(`a client ${what}`, async () => {
    const asked: string[] = [];
    const cluster = {
      brokerPool: { brokers },
      async refreshMetadata() {
        asked.push('brokers');
        if (fails) throw new Error('no broker answers');
      },
    };
    const find = knowingBrokers(async (of) => {
      asked.push(`coordinator of ${(of as { groupId: string }).groupId}`);
      return 'coordinator';
    });
    assert.equal(await find.call(cluster, { groupId: 'g' }), 'coordinator');
    assert.deepEqual(asked, expected);
  });
}
