import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import type { GroupReaderOptions } from '../../../src/kafka/group-reader.ts';
import type { ProcessorEvents } from '../../../src/observability/processor-events.ts';
import { runPriceMember } from '../../../src/processor/price-member.ts';
import { untilAborted } from '../../../src/support/until-aborted.ts';
import { skippingClock } from '../../support/runner/manual-clock.ts';

test('a member whose run failed is reported to be none until it has joined again', async () => {
  const reported: unknown[] = [];
  const events = new Proxy({} as ProcessorEvents, {
    get: (_, name) => (event: { readonly isMember?: boolean }) => reported.push([name, event.isMember]),
  });
  const stop = new AbortController();
  let runs = 0;
  const run = async ({ joined, signal }: GroupReaderOptions): Promise<never> => {
    runs += 1;
    joined?.([]);
    if (runs === 1) throw new ConnectorError('KAFKA_UNREACHABLE', 'the consumer crashed');
    stop.abort(new Error('that was all'));
    return untilAborted(new Promise<never>(() => {}), signal);
  };
  const running = runPriceMember({
    groupReader: { run },
    groupId: 'g',
    topics: ['instruments'],
    partitions: [],
    kinds: [{ kind: 'overview', refreshIntervalMs: 60_000 }],
    async verifyStart() {},
    createTask: () => assert.fail('no partition is assigned'),
    clock: skippingClock(),
    random: () => 0.5,
    events,
    signal: stop.signal,
  });
  await assert.rejects(running, /that was all/);
  assert.deepEqual(reported, [
    ['processorStarted', undefined],
    ['processorJoined', undefined],
    ['processorAttemptFailed', false],
    ['processorJoined', undefined],
  ]);
});

for (const code of ['REGISTRY_UNREACHABLE', 'REGISTRY_REFUSED', 'SCHEMA_INCOMPATIBLE'] as const) {
  test(`no member joins before what it needs is proven: ${code}`, async () => {
    const reported: string[] = [];
    const events = new Proxy({} as ProcessorEvents, { get: (_, name) => () => reported.push(String(name)) });
    const stop = new AbortController();
    let tries = 0;
    const running = runPriceMember({
      groupReader: {
        run({ signal }) {
          reported.push('joins');
          stop.abort(new Error('that was all'));
          return untilAborted(new Promise<never>(() => {}), signal);
        },
      },
      groupId: 'g',
      topics: ['instruments'],
      partitions: [],
      kinds: [{ kind: 'overview', refreshIntervalMs: 60_000 }],
      async verifyStart() {
        tries += 1;
        if (tries <= 2) throw new ConnectorError(code, 'The registry says no.');
      },
      createTask: () => assert.fail('no partition is assigned'),
      clock: skippingClock(),
      random: () => 0.5,
      events,
      signal: stop.signal,
    });
    const isFinal = code === 'SCHEMA_INCOMPATIBLE';
    await assert.rejects(running, isFinal ? { code } : /that was all/);
    const tried = ['processorAttemptFailed', 'processorAttemptFailed', 'joins'];
    assert.deepEqual(reported, ['processorStarted', ...(isFinal ? [] : tried)]);
  });
}
