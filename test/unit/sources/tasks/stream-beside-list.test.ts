import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../../src/errors.ts';
import type { SourceTask } from '../../../../src/sources/source-task.ts';
import { runSource } from '../../../../src/sources/source-worker.ts';
import { FollowerCore } from '../../../../src/sources/stream/follower-core.ts';
import { responseTime } from '../../../../src/sources/stream/response-time.ts';
import { createFollowerTask } from '../../../../src/sources/tasks/core-task.ts';
import { createInstrumentsReport, createInstrumentsTask } from '../../../../src/sources/tasks/instruments-task.ts';
import { KnownDeadRows } from '../../../../src/sources/tasks/known-dead-rows.ts';
import { Census } from '../../../../src/sources/walk/census.ts';
import { InstrumentsCore } from '../../../../src/sources/walk/instruments-core.ts';
import { firstOffset } from '../../../../src/sources/walk/instruments-offset.ts';
import { operator } from '../../../support/connectors/operator.ts';
import { recordedEvents } from '../../../support/ledgers/recorded-events.ts';
import { SteppedClock } from '../../kafka/stepped-clock.ts';
import { SETTINGS } from '../core/driven-core.ts';
import { EVENTS, offsetAt } from '../core/follower-scene.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const ANSWER_MS = 2_000;
const TIMEOUT_MS = 30_000;
/** By so much the clock moves on while the source is between two sleeps. */
const STEP_MS = 500;
const topic = (name: string) => ({ name, partitions: 6 });
const list = { rows: [], envelope: new Map(), bytes: 0, duplicateKeys: 0 };

/** What the list does: it refuses, or takes the whole time-out of a request, each time. */
const LISTS = {
  'asks for an hour': () => {
    throw new ConnectorError('PROVIDER_BUSY', 'later', { retryAfterMs: HOUR_MS });
  },
  'is forbidden': () => {
    throw new ConnectorError('PROVIDER_UNAUTHORIZED', 'not for you');
  },
  hangs: async (clock: SteppedClock, signal: AbortSignal) => {
    await clock.sleep(TIMEOUT_MS, signal);
    throw new ConnectorError('PROVIDER_TIMEOUT', 'no answer in time');
  },
} as const;
type List = (typeof LISTS)[keyof typeof LISTS];

interface Scene {
  readonly source: 'events' | 'instruments';
  readonly list: List;
  /** Whether events come all the time, in answers that name only their own newest offset; else none ever comes. */
  readonly isBusy: boolean;
  readonly walks?: boolean;
  readonly minutes: number;
  /** How long before the start the offset was known to be served. */
  readonly unmovedMs?: number;
}

/** Runs a source for some minutes of its clock: when list and stream were asked. */
async function live({ source, list: ask, isBusy, walks = false, minutes, unmovedMs = 0 }: Scene) {
  const clock = new SteppedClock();
  const { events, seen } = recordedEvents();
  const stop = new AbortController();
  const time = () => responseTime(clock.wallMs(), clock.wallMs());
  const [listAtMs, streamAtMs]: [number[], number[]] = [[], []];
  const askList = async (signal: AbortSignal): Promise<never> => {
    listAtMs.push(clock.monotonicMs());
    return ask(clock, signal) as Promise<never>;
  };
  const stream = {
    start: askList,
    async after(since: string | null, signal: AbortSignal) {
      streamAtMs.push(clock.monotonicMs());
      await clock.sleep(ANSWER_MS, signal);
      const ours = since ?? assert.fail('there is an offset');
      const next = isBusy ? `${Number(ours.split('-')[0]) + 1}-0` : ours;
      return {
        kind: 'stream',
        answer: { decoded: list, next, nextId: next, time: time(), fetchMs: ANSWER_MS },
      } as const;
    },
  };
  const common = {
    source,
    notifications: topic('notifications'),
    encodeNotification: async () => Buffer.alloc(0),
    events,
    clock,
    random: () => 0,
  };
  const followed = (): SourceTask =>
    createFollowerTask<never>(
      {
        ...common,
        stream,
        endpoint: '/v1/instruments/events',
        core: new FollowerCore(
          EVENTS,
          { ...offsetAt(EVENTS, '1-0', 0), standingMs: unmovedMs, standingLeastMs: unmovedMs },
          0,
        ),
      },
      { kind: 'events', records: () => [], notification: () => assert.fail('nothing is lost'), committed() {} },
    );
  const walked = (): SourceTask =>
    createInstrumentsTask({
      ...common,
      targets: {
        source,
        instruments: topic('instruments'),
        instrumentEvents: topic('instrument-events'),
        deadLetters: topic('dead-letters'),
        notifications: topic('notifications'),
      },
      core: new InstrumentsCore(
        SETTINGS,
        {
          ...firstOffset(SETTINGS.filter, '1-0', time(), null),
          walkPending: walks,
          standingMs: unmovedMs,
          standingLeastMs: unmovedMs,
        },
        0,
      ),
      provider: { ...stream, page: (_, signal) => askList(signal) },
      walkRequests: { newest: () => ({ request: null, superseded: new AbortController().signal }) },
      census: async () => new Census(),
      deleteOnEventTypes: [],
      deadRows: new KnownDeadRows(),
      walkIntervalMs: 86_400_000,
      instrumentsEndpoint: '/v1/instruments',
      eventsEndpoint: '/v1/instruments/events',
      report: createInstrumentsReport(source, events, 24 * HOUR_MS),
    });
  const { targets } = operator([source]);
  const ended = runSource({
    source,
    task: source === 'events' ? followed() : walked(),
    commit: async () => {},
    target: () => targets.of(source),
    clock,
    random: () => 0,
    events,
    signal: stop.signal,
  }).catch((error: unknown) => error);
  while (clock.monotonicMs() < minutes * MINUTE_MS) await clock.advance(STEP_MS);
  const longestMs = Math.max(...[...streamAtMs, clock.monotonicMs()].map((ms, at) => ms - (streamAtMs[at - 1] ?? 0)));
  const failures = seen.filter(({ name }) => name === 'attemptFailed').map(({ fields }) => fields.endpoint);
  stop.abort(new Error('over'));
  assert.equal(await ended, stop.signal.reason);
  return { listAtMs, streamAtMs, longestMs, failures };
}

/** An answer of a stream that always has more, and the longest pause between two of them. */
const READ_ON_MS = ANSWER_MS + 1_000 + 2 * STEP_MS;

for (const source of ['events', 'instruments'] as const) {
  for (const [what, ask] of Object.entries(LISTS)) {
    test(`a stream of ${source} that never pauses is read on while the list ${what}`, async () => {
      const { listAtMs, longestMs, failures } = await live({ source, list: ask, isBusy: true, minutes: 10 });
      assert.ok(longestMs <= READ_ON_MS, `the stream was not asked for ${longestMs} ms`);
      assert.ok(listAtMs.length > 0, 'the list is asked where the stream ends');
      assert.ok(ask !== LISTS['asks for an hour'] || listAtMs.length === 1, `asked ${listAtMs.length} times`);
      assert.deepEqual(new Set(failures), new Set(['instruments']));
    });
  }
}

for (const [what, ask] of Object.entries(LISTS)) {
  test(`a quiet stream whose offset is to be renewed keeps its interval while the list ${what}`, async () => {
    const scene = { source: 'events', list: ask, isBusy: false, minutes: 10, unmovedMs: 7 * HOUR_MS } as const;
    const { listAtMs, longestMs } = await live(scene);
    assert.ok(longestMs <= EVENTS.pollIntervalMs + READ_ON_MS, `the stream was not asked for ${longestMs} ms`);
    assert.ok(listAtMs.length > 0, 'a fresh start is asked for');
    assert.ok(ask !== LISTS['asks for an hour'] || listAtMs.length === 1, `asked ${listAtMs.length} times`);
  });

  test(`a walk whose list ${what} leaves the stream its interval, and one that never pauses is read on`, async () => {
    for (const isBusy of [false, true]) {
      const { listAtMs, longestMs } = await live({
        source: 'instruments',
        list: ask,
        isBusy,
        walks: true,
        minutes: 10,
      });
      assert.ok(listAtMs.length > 0, 'a page is asked for');
      const mostMs = isBusy ? READ_ON_MS : SETTINGS.pollIntervalMs + READ_ON_MS;
      assert.ok(longestMs <= mostMs, `the stream was not asked for ${longestMs} ms`);
    }
  });
}
