import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GroupReaderOptions } from '../../../src/kafka/group-reader.ts';
import type { ProcessorEvents } from '../../../src/observability/processor-events.ts';
import { runPriceMember } from '../../../src/processor/price-member.ts';
import { skippingClock } from '../../support/runner/manual-clock.ts';

test('a price processor that has no others beside it goes ahead with every partition of its inputs', async () => {
  const partitions = ['instruments', 'more'].flatMap((topic) => [0, 1].map((partition) => ({ topic, partition })));
  const ended = new Error('ended');
  const joins: GroupReaderOptions[] = [];
  const running = runPriceMember({
    groupReader: {
      async run(options) {
        joins.push(options);
        throw ended;
      },
    },
    groupId: 'prices',
    topics: ['instruments', 'more'],
    partitions,
    kinds: [{ kind: 'overview', refreshMs: 60_000 }] as never,
    verifyStart: async () => {},
    createTask: () => assert.fail('nothing is assigned'),
    clock: skippingClock(),
    random: () => 0,
    events: { processorStarted() {} } as unknown as ProcessorEvents,
    signal: new AbortController().signal,
  });
  await assert.rejects(running, ended);
  assert.deepEqual(joins[0]?.alone, partitions);
});
