import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import type { GroupReader, GroupReaderOptions } from '../../../src/kafka/group-reader.ts';
import type { Events } from '../../../src/observe/events.ts';
import type { PartitionCore } from '../../../src/prices/core/partition-core.ts';
import type { PartitionTask } from '../../../src/prices/partition-task.ts';
import { runPriceMember } from '../../../src/prices/price-member.ts';
import { untilAborted } from '../../../src/support/until-aborted.ts';
import { skippingClock } from '../../support/runner/manual-clock.ts';

/** A member of a group that the test plays. */
const runWith = (
  run: GroupReader['run'],
  events: Events,
  signal: AbortSignal,
  options: Partial<Parameters<typeof runPriceMember>[0]> = {},
) =>
  runPriceMember({
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
    signal,
    ...options,
  });

test('a member whose run failed is reported to be none until it has joined again', async () => {
  const reported: unknown[] = [];
  const events = new Proxy({} as Events, {
    get: (_, name) => () => reported.push(name),
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
  const running = runWith(run, events, stop.signal);
  await assert.rejects(running, /that was all/);
  assert.deepEqual(reported, ['processorStarted', 'processorJoined', 'processorAttemptFailed', 'processorJoined']);
});

test('what is known of prices grows old while no group is joined, until another member has the partition', async () => {
  const clock = skippingClock();
  const [stop, started] = [new AbortController(), Promise.withResolvers<Parameters<Events['processorStarted']>[0]>()];
  const shown: unknown[] = [];
  const known: (PartitionCore | null)[] = [];
  const events = new Proxy({} as Events, {
    get: (_, name) => async (event: Parameters<Events['processorStarted']>[0]) => {
      if (name === 'processorStarted') started.resolve(event);
    },
  });
  const partitions = [0, 1].map((partition) => ({ topic: 'instruments', partition }));
  const show = async () => {
    await clock.sleep(10_000);
    const { freshness, refreshed } = await started.promise;
    await refreshed?.();
    const now = freshness();
    shown.push(now && [now.instruments, now.priced, now.ageMaxMs]);
  };
  let runs = 0;
  const run = async ({ joined, assigned, signal }: GroupReaderOptions): Promise<never> => {
    runs += 1;
    const held = runs === 1 ? partitions : partitions.slice(0, 1);
    joined?.(held);
    for (const partition of held) assigned(partition, signal, async () => {}).catch(() => {});
    await show();
    if (runs === 1) throw new ConnectorError('KAFKA_UNREACHABLE', 'no broker answers');
    stop.abort(new Error('that was all'));
    return untilAborted(new Promise<never>(() => {}), signal);
  };
  const running = runWith(run, events, stop.signal, {
    partitions,
    clock,
    // Before each join.
    verifyStart: show,
    createTask({ signal }, before) {
      known.push(before);
      const pricedMs = clock.monotonicMs();
      const plan = () => ({ isPriced: true, sinceMs: pricedMs, pulled: false, problem: null });
      const core = { instruments: { size: 1, rows: () => [0], plan }, stateOf: () => 'priced', unanswered: 0 };
      const task = {
        core: before ?? core,
        lag: 0,
        unreadable: 0,
        run: () => untilAborted(new Promise<never>(() => {}), signal),
        begun: async () => {},
      };
      return task as unknown as PartitionTask;
    },
  });
  await assert.rejects(running, /that was all/);
  const [before, joined, away, back] = shown as [null, number[], number[], number[]];
  assert.deepEqual([before, joined.slice(0, 2), away.slice(0, 2), back.slice(0, 2)], [null, [2, 2], [2, 2], [1, 1]]);
  const ages = [joined, away, back].map(([, , ageMs = 0]) => Math.floor(ageMs / 10_000));
  assert.deepEqual(ages, [0, 1, 2]);
  const resumed = known.map((core) => core !== null);
  assert.deepEqual(resumed, [false, false, true]);
});

for (const code of ['REGISTRY_UNREACHABLE', 'REGISTRY_REFUSED', 'SCHEMA_INCOMPATIBLE'] as const) {
  test(`no member joins before what it needs is proven: ${code}`, async () => {
    const reported: string[] = [];
    const events = new Proxy({} as Events, { get: (_, name) => () => reported.push(String(name)) });
    const stop = new AbortController();
    let tries = 0;
    const run: GroupReader['run'] = ({ signal }) => {
      reported.push('joins');
      stop.abort(new Error('that was all'));
      return untilAborted(new Promise<never>(() => {}), signal);
    };
    const running = runWith(run, events, stop.signal, {
      async verifyStart() {
        tries += 1;
        if (tries <= 2) throw new ConnectorError(code, 'The registry says no.');
      },
    });
    const isFinal = code === 'SCHEMA_INCOMPATIBLE';
    await assert.rejects(running, isFinal ? { code } : /that was all/);
    const tried = ['processorAttemptFailed', 'processorAttemptFailed', 'joins'];
    assert.deepEqual(reported, ['processorStarted', ...(isFinal ? [] : tried)]);
  });
}
