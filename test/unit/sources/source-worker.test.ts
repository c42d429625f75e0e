import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConnectorError } from '../../../src/errors.ts';
import type { OutgoingRecord } from '../../../src/kafka/record.ts';
import type { SourceTask, SourceTurn } from '../../../src/sources/source-worker.ts';
import { runSource } from '../../../src/sources/source-worker.ts';
import { type Clock, systemClock } from '../../../src/support/clock.ts';
import { operator } from '../../support/connectors/operator.ts';
import { recordedEvents } from '../../support/ledgers/recorded-events.ts';
import { skippingClock } from '../../support/runner/manual-clock.ts';

const record: OutgoingRecord = { topic: 't', partition: 0, key: null, value: null, headers: {} };

/** A task that plays a script of answers and failures, then aborts; everything that happens is written down. */
function scripted(script: readonly (Partial<SourceTurn> | Error)[]) {
  const happened: string[] = [];
  const stop = new AbortController();
  let position = 0;
  const task: SourceTask = {
    async poll() {
      const step = script[position++];
      if (step === undefined) {
        stop.abort(new Error('the script has ended'));
        throw stop.signal.reason;
      }
      happened.push('poll');
      if (step instanceof Error) throw step;
      return { records: [record], offset: {}, waitMs: 0, committed: () => happened.push('committed'), ...step };
    },
  };
  return { task, happened, signal: stop.signal };
}

interface Around {
  readonly commit?: () => Promise<void>;
  readonly sleep?: Clock['sleep'];
  readonly asking?: ReturnType<typeof operator>;
}

function start(
  script: readonly (Partial<SourceTurn> | Error)[],
  { commit, sleep, asking = operator(['s']) }: Around = {},
) {
  const { task, happened, signal } = scripted(script);
  const skipping = skippingClock();
  const clock = { ...skipping, ...(sleep && { sleep }) };
  const { events, seen } = recordedEvents();
  const ended = runSource({
    source: 's',
    task,
    commit: async () => {
      happened.push('commit');
      await commit?.();
    },
    target: () => asking.targets.of('s'),
    clock,
    random: () => 1,
    events,
    signal,
  });
  return { happened, sleepsMs: skipping.sleepsMs, seen, reason: ended.catch((error: unknown) => error) };
}

async function run(...script: Parameters<typeof start>) {
  const started = start(...script);
  return { ...started, reason: await started.reason };
}

test('an answer without records commits nothing and waits as the task says', async () => {
  const { happened, sleepsMs } = await run([{ records: [], offset: null, waitMs: 30_000 }, {}]);
  assert.deepEqual(happened, ['poll', 'poll', 'commit', 'committed']);
  assert.deepEqual(sleepsMs, [30_000]);
});

test('a wait ends early when it is woken, and then the task is polled at once', async () => {
  const wake = new AbortController();
  const { happened, reason } = await run([{ records: [], offset: null, waitMs: 30_000, wake: wake.signal }, {}], {
    sleep: (_ms, signal) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason));
        wake.abort();
      }),
  });
  assert.deepEqual(happened, ['poll', 'poll', 'commit', 'committed']);
  assert.match(String(reason), /the script has ended/);
});

test('a poll that failed is tried again with a growing wait, and starts small after a success', async () => {
  const busy = new ConnectorError('PROVIDER_BUSY', 'later');
  const { sleepsMs } = await run([busy, busy, busy, {}, busy, {}]);
  assert.deepEqual(sleepsMs, [500, 1_000, 2_000, 500]);
});

for (const error of [new ConnectorError('WALK_CURSOR_REPEATED', 'loop'), new TypeError('a bug')]) {
  test(`what no repetition mends leaves the loop: ${error.message}`, async () => {
    const { happened, reason } = await run([error, {}]);
    assert.deepEqual(happened, ['poll']);
    assert.equal(reason, error);
  });
}

test('a failed commit is never repeated: it leaves the loop, since only the committed offset reports what became of it', async () => {
  const failure = new ConnectorError('TRANSACTION_FAILED', 'cut');
  const { happened, reason } = await run([{}, {}], { commit: () => Promise.reject(failure) });
  assert.deepEqual(happened, ['poll', 'commit']);
  assert.equal(reason, failure);
});

test('a stop during a wait that could be woken ends the loop with its reason, whatever the clock rejects with', async () => {
  const ofNode: Clock = { ...systemClock, sleep: (ms, signal) => sleep(ms, undefined, signal && { signal }) };
  for (const clock of [systemClock, ofNode]) {
    const { task, signal } = scripted([
      { records: [], offset: null, waitMs: 30_000, wake: new AbortController().signal },
    ]);
    const stop = new AbortController();
    const reason = new Error('stopped');
    const ended = runSource({
      source: 's',
      task,
      commit: async () => {},
      target: () => operator(['s']).targets.of('s'),
      clock,
      random: () => 1,
      events: recordedEvents().events,
      signal: AbortSignal.any([signal, stop.signal]),
    });
    setImmediate(() => stop.abort(reason));
    await assert.rejects(ended, reason);
  }
});

test('refused credentials are tried again seldom', async () => {
  const { sleepsMs } = await run([new ConnectorError('PROVIDER_UNAUTHORIZED', 'no'), {}]);
  assert.deepEqual(sleepsMs, [10_000]);
});
