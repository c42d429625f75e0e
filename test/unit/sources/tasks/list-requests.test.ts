import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../../src/errors.ts';
import { runSource } from '../../../../src/sources/source-worker.ts';
import { responseTime } from '../../../../src/sources/stream/response-time.ts';
import { ListRequests } from '../../../../src/sources/tasks/core-task.ts';
import { createInstrumentsTask } from '../../../../src/sources/tasks/instruments-task.ts';
import { InstrumentsCore } from '../../../../src/sources/walk/instruments-core.ts';
import { firstOffset } from '../../../../src/sources/walk/instruments-offset.ts';
import { operator } from '../../../support/connectors/operator.ts';
import { recordedEvents } from '../../../support/ledgers/recorded-events.ts';
import { skippingClock } from '../../../support/runner/manual-clock.ts';
import { SteppedClock } from '../../kafka/stepped-clock.ts';
import { SETTINGS } from '../core/driven-core.ts';
import { instrumentsTaskOptions } from './instruments-task-options.ts';

const HOUR_MS = 3_600_000;
/** More than any hold lets through. Without one, the list is asked again before any time passes, and nothing else ends that. */
const MOST_REQUESTS = 10_000;
const forever = new AbortController().signal;
const list = { rows: [], envelope: new Map(), bytes: 0, duplicateKeys: 0 };

/** Runs an instruments source for some hours of its own clock; gives when list and stream were asked, from its start. */
async function run(hours: number, refusal: (atMs: number) => ConnectorError | null, isNew = false) {
  const skipping = skippingClock();
  const stop = new AbortController();
  const startMs = skipping.monotonicMs();
  const elapsedMs = () => skipping.monotonicMs() - startMs;
  const clock = {
    ...skipping,
    async sleep(ms: number, signal?: AbortSignal) {
      await skipping.sleep(ms, signal);
      if (elapsedMs() >= hours * HOUR_MS) stop.abort(new Error('over'));
    },
  };
  const { events, seen } = recordedEvents();
  const time = () => responseTime(clock.wallMs(), clock.wallMs());
  const listAtMs: number[] = [];
  const streamAtMs: number[] = [];
  const askList = () => {
    listAtMs.push(elapsedMs());
    if (listAtMs.length > MOST_REQUESTS) stop.abort(new Error(`the list was asked ${MOST_REQUESTS} times`));
    const refused = refusal(elapsedMs());
    if (refused !== null) throw refused;
  };
  const task = createInstrumentsTask({
    ...instrumentsTaskOptions({ events, clock }),
    core: new InstrumentsCore(SETTINGS, isNew ? null : firstOffset('scope=all', '5-0', time(), null), startMs),
    provider: {
      async start() {
        askList();
        return { since: '5-0', time: time() };
      },
      async page() {
        askList();
        return { decoded: list, next: null, start: null, time: time(), fetchMs: 0 };
      },
      async after(since) {
        const next = since ?? assert.fail('there is an offset');
        streamAtMs.push(elapsedMs());
        return { kind: 'stream', answer: { decoded: list, next, nextId: next, time: time(), fetchMs: 0 } };
      },
    },
  });
  const asking = operator(['s']);
  const ended = runSource({
    source: 's',
    task,
    commit: async () => {},
    target: () => asking.targets.of('s'),
    clock,
    random: () => 0,
    events,
    signal: stop.signal,
  });
  const reason = await ended.catch((error: unknown) => error);
  return { listAtMs, streamAtMs, seen, reason };
}

const busy = (retryAfterMs?: number) => new ConnectorError('PROVIDER_BUSY', 'later', { retryAfterMs });
const longestGapMs = (atMs: readonly number[]) =>
  Math.max(...atMs.map((ms, index) => ms - (index === 0 ? 0 : (atMs[index - 1] ?? 0))));

test('a list that asks for an hour holds up the walk for that hour, and the stream at no time', async () => {
  const { listAtMs, streamAtMs, seen } = await run(3, (atMs) => (atMs < HOUR_MS ? busy(HOUR_MS) : null));
  assert.ok(longestGapMs(streamAtMs) <= SETTINGS.pollIntervalMs, `${longestGapMs(streamAtMs)} ms`);
  const [first = 0, second = 0] = listAtMs;
  assert.ok(second - first >= HOUR_MS && second - first <= HOUR_MS + 1_000, `asked again after ${second - first} ms`);
  assert.ok(seen.some(({ name }) => name === 'walkCompleted'));
  const failures = seen.filter(({ name }) => name === 'attemptFailed').map(({ fields }) => fields);
  assert.equal(failures.length, 1);
  assert.deepEqual([failures[0]?.endpoint, failures[0]?.waitMs], ['instruments', HOUR_MS]);
});

test('a list that refuses for hours is asked ever more seldom, beside a stream that keeps its interval', async () => {
  const { listAtMs, streamAtMs } = await run(4, () => new ConnectorError('PROVIDER_UNAUTHORIZED', 'not for you'));
  assert.ok(longestGapMs(streamAtMs) <= SETTINGS.pollIntervalMs, `${longestGapMs(streamAtMs)} ms`);
  assert.ok(longestGapMs(listAtMs) >= 140_000, 'up to five minutes, half of it jitter');
  assert.ok(listAtMs.length > 40 && listAtMs.length < 120, `${listAtMs.length} requests`);
});

test('a source without an offset waits for the list that alone says where the stream starts', async () => {
  const { listAtMs, streamAtMs, seen } = await run(2, (atMs) => (atMs < HOUR_MS ? busy(HOUR_MS) : null), true);
  assert.deepEqual(listAtMs.slice(0, 2), [0, HOUR_MS]);
  assert.ok((streamAtMs[0] ?? 0) >= HOUR_MS);
  const firstPoll = seen.find(({ name }) => name === 'polled')?.fields;
  assert.equal(firstPoll?.endpoint, 'instruments', 'the list that said where the stream starts was a poll');
});

/** A list that answers as the test says; gives the failures that were reported, and the wait after each. */
function requests() {
  const clock = skippingClock();
  const reported: { readonly failures: number; readonly waitMs: number }[] = [];
  const list = new ListRequests<string>({
    source: 's',
    events: { attemptFailed: ({ failures, waitMs }) => void reported.push({ failures, waitMs }) },
    clock,
    random: () => 0,
  });
  const ask = async (outcome: string | ConnectorError) => {
    const request = async () => {
      if (typeof outcome !== 'string') throw outcome;
      return outcome;
    };
    await list.begin(request, forever, true);
    return list.take();
  };
  return { clock, list, ask, reported };
}

test('a list is not asked while it is being asked, nor before the wait after a failure has passed', async () => {
  const { clock, list, ask, reported } = requests();
  assert.ok(list.freeMs <= clock.monotonicMs());
  const answer = Promise.withResolvers<string>();
  const ended = list.begin(() => answer.promise, forever, true);
  assert.equal(list.freeMs, Number.POSITIVE_INFINITY);
  answer.resolve('page');
  await ended;
  assert.equal(list.take(), 'page');
  assert.ok(list.freeMs <= clock.monotonicMs());
  await ask(busy());
  assert.equal(list.freeMs, clock.monotonicMs() + (reported[0]?.waitMs ?? 0));
});

test('a list that fails is asked ever later, and once it has answered, soon again after its next failure', async () => {
  const { ask, reported } = requests();
  for (let failure = 0; failure < 4; failure++) assert.equal(await ask(busy()), null);
  assert.equal(await ask('page'), 'page');
  await ask(busy());
  const waitsMs = reported.map(({ waitMs }) => waitMs);
  const counts = reported.map(({ failures }) => failures);
  assert.deepEqual(counts, [1, 2, 3, 4, 1]);
  assert.ok((waitsMs[3] ?? 0) > (waitsMs[0] ?? 0) && waitsMs[4] === waitsMs[0], `${waitsMs} ms`);
});

test('an error of the list that no repetition mends ends the source', async () => {
  const { reason } = await run(1, () => new ConnectorError('TOO_MANY_DEAD_LETTERS', 'too many'));
  assert.ok(reason instanceof ConnectorError && reason.code === 'TOO_MANY_DEAD_LETTERS');
});

const LATENCY_MS = 100;
const PAGES = 30;
const MINUTES = 10;

/** The walk of one source: the provider's responses, decoding and commits take these times, and nothing else takes any. */
async function walk(takes: { readonly stream: number; readonly decoding: number; readonly commit: number }) {
  const clock = new SteppedClock();
  const { events } = recordedEvents();
  const stop = new AbortController();
  const time = () => responseTime(clock.wallMs(), clock.wallMs());
  const requests = { list: 0, stream: 0, atOnce: 0, mostAtOnce: 0 };
  const cursorsAtMs = new Map<unknown, number>();
  const list = { rows: [], envelope: new Map(), bytes: 0, duplicateKeys: 0 };
  const answer = async (ms: number, signal: AbortSignal) => {
    requests.atOnce += 1;
    requests.mostAtOnce = Math.max(requests.mostAtOnce, requests.atOnce);
    await clock.sleep(ms, signal).finally(() => {
      requests.atOnce -= 1;
    });
  };
  let decoding: Promise<void> = Promise.resolve();
  const task = createInstrumentsTask({
    ...instrumentsTaskOptions({ events, clock }),
    core: new InstrumentsCore(SETTINGS, firstOffset(SETTINGS.filter, '5-0', time(), null), clock.monotonicMs()),
    provider: {
      start: () => assert.fail('there is an offset'),
      async page(minId, signal, onArrived) {
        requests.list += 1;
        await answer(LATENCY_MS, signal);
        const id = Number(minId ?? '0') + 1;
        const next = id < PAGES ? String(id) : null;
        onArrived?.(next);
        decoding = decoding.then(() => clock.sleep(takes.decoding, signal));
        await decoding;
        const row = { kind: 'record', key: String(id), id: BigInt(id), isin: null, value: Buffer.alloc(9) } as const;
        const decoded =
          minId === String(PAGES) ? list : { ...list, rows: [{ ...row, driftFields: 0, roundedNumbers: 0 }] };
        return { decoded, next: decoded === list ? null : next, start: null, time: time(), fetchMs: LATENCY_MS };
      },
      async after(since, signal) {
        requests.stream += 1;
        await answer(takes.stream, signal);
        const next = since ?? assert.fail('there is an offset');
        return { kind: 'stream', answer: { decoded: list, next, nextId: next, time: time(), fetchMs: takes.stream } };
      },
    },
  });
  let isOver = false;
  const ended = runSource({
    source: 'instruments',
    task,
    async commit(_, offset) {
      await clock.sleep(takes.commit, stop.signal);
      if (offset.walkCursor !== null) cursorsAtMs.set(offset.walkCursor, clock.monotonicMs());
      isOver = offset.walkPending === false;
    },
    target: () => operator(['instruments']).targets.of('instruments'),
    clock,
    random: () => 0,
    events,
    signal: stop.signal,
  }).catch((error: unknown) => error);
  while (!isOver && clock.monotonicMs() < MINUTES * 60_000) await clock.advance(10);
  assert.ok(isOver, 'the walk does not end');
  stop.abort();
  await ended;
  const committedMs = [...cursorsAtMs.values()];
  assert.equal(committedMs.length, PAGES - 1, 'each page but the last one leaves a cursor');
  const pageMs = ((committedMs.at(-1) ?? 0) - (committedMs[0] ?? 0)) / (committedMs.length - 1);
  return { pageMs, requests };
}

test('a walk costs one round trip of the provider per page: drain, decoding and commit take no time beside it', async () => {
  const { pageMs } = await walk({ stream: LATENCY_MS, decoding: 60, commit: 60 });
  assert.ok(pageMs <= LATENCY_MS * 1.02, `${pageMs} ms a page`);
});

test('a walk asks for each page once and for its drain once, and for one of each at a time', async () => {
  const { requests } = await walk({ stream: LATENCY_MS, decoding: 60, commit: 60 });
  const { list, stream, mostAtOnce } = requests;
  // Behind the last page, the list is asked twice more.
  assert.equal(list, PAGES + 2);
  // The stream, too, is asked at the start, before the first page and at the end.
  assert.equal(stream, PAGES + 3);
  assert.equal(mostAtOnce, 2);
});

test('a walk is as slow as the slowest of stream, decoding and commits, and not as their sum', async () => {
  const slow = { stream: 250, decoding: 250, commit: 250 };
  for (const [what, ms] of Object.entries(slow)) {
    const { pageMs } = await walk({ stream: 50, decoding: 20, commit: 20, [what]: ms });
    assert.ok(pageMs <= ms * 1.02, `${pageMs} ms a page where ${what} takes ${ms} ms`);
  }
});
