import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runSource } from '../../../../src/sources/source-worker.ts';
import { responseTime } from '../../../../src/sources/stream/response-time.ts';
import { createInstrumentsTask } from '../../../../src/sources/tasks/instruments-task.ts';
import { InstrumentsCore } from '../../../../src/sources/walk/instruments-core.ts';
import { firstOffset } from '../../../../src/sources/walk/instruments-offset.ts';
import { operator } from '../../../support/connectors/operator.ts';
import { recordedEvents } from '../../../support/ledgers/recorded-events.ts';
import { SteppedClock } from '../../kafka/stepped-clock.ts';
import { SETTINGS } from '../core/driven-core.ts';
import { instrumentsTaskOptions } from './instruments-task-options.ts';

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
