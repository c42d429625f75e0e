import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DecodedEvent } from '../../../../src/records/decoding/event-decoder.ts';
import type { FollowedOutcome } from '../../../../src/sources/tasks/followed-stream.ts';
import type { InstrumentsPage } from '../../../../src/sources/tasks/instruments-provider.ts';
import { ListPages } from '../../../../src/sources/tasks/list-pages.ts';

const { signal } = new AbortController();

/** A provider that notes what it is asked for; a page arrives, and is decoded, when the test says so. */
function scene() {
  const asked: {
    readonly minId: string | null;
    readonly signal: AbortSignal;
    readonly arrives: (probableNext: string | null) => void;
    readonly page: PromiseWithResolvers<InstrumentsPage>;
  }[] = [];
  const streamed: { readonly since: string | null; readonly signal: AbortSignal; readonly response: Outcome }[] = [];
  const clock = { ms: 0 };
  const pages = new ListPages(
    {
      page(minId, stop, arrives = () => {}) {
        const page = Promise.withResolvers<InstrumentsPage>();
        asked.push({ minId, signal: stop, arrives, page });
        return page.promise;
      },
      after(since, stop) {
        const response = Promise.withResolvers<FollowedOutcome<DecodedEvent>>();
        streamed.push({ since, signal: stop, response });
        return response.promise;
      },
    },
    { monotonicMs: () => clock.ms },
  );
  const offsets = () => streamed.map(({ since }) => since);
  return { pages, asked, streamed, clock, cursors: () => asked.map(({ minId }) => minId), offsets };
}

type Outcome = PromiseWithResolvers<FollowedOutcome<DecodedEvent>>;

test('the next page is asked for once the one before has arrived, and taken from there', async () => {
  const { pages, asked, cursors } = scene();
  const first = pages.take({ walk: 1, minId: null }, signal);
  assert.deepEqual(cursors(), [null]);
  asked[0]?.arrives('5');
  assert.deepEqual(cursors(), [null, '5'], 'it is not decoded yet');
  asked[0]?.page.resolve({ next: '5' } as InstrumentsPage);
  await first;
  pages.fetchAhead({ walk: 1, minId: '5' }, signal);
  const second = pages.take({ walk: 1, minId: '5' }, signal);
  assert.deepEqual(cursors(), [null, '5'], 'no page is asked for twice');
  asked[1]?.page.resolve({ next: '9' } as InstrumentsPage);
  assert.equal((await second).next, '9');
});

test('two pages are asked for ahead once the one that was taken is decoded, and no more before they are taken', async () => {
  const { pages, asked, cursors } = scene();
  const first = pages.take({ walk: 1, minId: null }, signal);
  asked[0]?.arrives('5');
  asked[1]?.arrives('9');
  asked[0]?.page.resolve({ next: '5' } as InstrumentsPage);
  await first;
  assert.deepEqual(cursors(), [null, '5', '9']);
  asked[2]?.arrives('12');
  asked[1]?.page.resolve({ next: '9' } as InstrumentsPage);
  asked[2]?.page.resolve({ next: '12' } as InstrumentsPage);
  await Promise.all([asked[1]?.page.promise, asked[2]?.page.promise]);
  assert.deepEqual(cursors(), [null, '5', '9']);
  pages.take({ walk: 1, minId: '5' }, signal);
  assert.deepEqual(cursors(), [null, '5', '9', '12']);
});

test('a page that was guessed wrongly is given up, and nothing is guessed any more', async () => {
  const { pages, asked, cursors } = scene();
  pages.take({ walk: 1, minId: null }, signal);
  asked[0]?.arrives('5');
  pages.fetchAhead({ walk: 1, minId: '6' }, signal);
  assert.deepEqual(cursors(), [null, '5', '6']);
  assert.equal(asked[1]?.signal.aborted, true);
  asked[1]?.page.reject(asked[1].signal.reason);
  pages.take({ walk: 1, minId: '6' }, signal);
  asked[2]?.arrives('8');
  assert.deepEqual(cursors(), [null, '5', '6']);
});

test('a page of an earlier walk is not taken where the later walk begins with its cursor', () => {
  const { pages, asked, cursors } = scene();
  pages.take({ walk: 1, minId: null }, signal);
  asked[0]?.arrives('5');
  pages.take({ walk: 2, minId: '5' }, signal);
  assert.deepEqual(cursors(), [null, '5', '5']);
});

test('a page that failed is asked for again, without the one behind it', async () => {
  const { pages, asked, cursors } = scene();
  const first = pages.take({ walk: 1, minId: null }, signal);
  asked[0]?.arrives('5');
  asked[0]?.page.reject(new Error('malformed'));
  await assert.rejects(first, /malformed/);
  pages.take({ walk: 1, minId: null }, signal);
  assert.deepEqual(cursors(), [null, '5', null]);
  assert.equal(asked[1]?.signal.aborted, true);
});

test('nothing is asked for ahead once the session has ended', () => {
  const { pages, asked, cursors } = scene();
  const session = new AbortController();
  pages.take({ walk: 1, minId: null }, session.signal);
  session.abort();
  asked[0]?.arrives('5');
  assert.deepEqual(cursors(), [null]);
});

/** The first page is here and its rows are being written, at offset 5-0 of the stream; the second one is asked for. */
async function used() {
  const scenery = scene();
  const { pages, asked } = scenery;
  const first = pages.take({ walk: 1, minId: null }, signal);
  asked[0]?.arrives('5');
  asked[0]?.page.resolve({ next: '5' } as InstrumentsPage);
  await first;
  pages.fetchAhead({ walk: 1, minId: '5' }, signal);
  pages.use('5-0', signal);
  return scenery;
}

const SECOND = { walk: 1, minId: '5' } as const;
const QUIET = { kind: 'refused', status: 404 } as FollowedOutcome<DecodedEvent>;

test('once the rows of a page are being written, the arrival of the next one asks the stream and for the page behind it', async () => {
  const { asked, cursors, offsets } = await used();
  assert.deepEqual([cursors(), offsets()], [[null, '5'], []]);
  asked[1]?.arrives('9');
  assert.deepEqual([cursors(), offsets()], [[null, '5', '9'], ['5-0']]);
  asked[2]?.arrives('12');
  assert.deepEqual([cursors(), offsets()], [[null, '5', '9'], ['5-0']], 'nothing is asked for behind that');
});

test('a response from after the arrival of a page begins its drain, once', async () => {
  const { pages, asked, streamed, offsets } = await used();
  asked[1]?.arrives('9');
  pages.take(SECOND, signal);
  const drained = pages.after('5-0', true, signal);
  assert.deepEqual(offsets(), ['5-0'], 'the stream is not asked twice');
  streamed[0]?.response.resolve(QUIET);
  assert.equal(await drained, QUIET);
  pages.after('5-0', true, signal);
  assert.deepEqual(offsets(), ['5-0', '5-0']);
});

for (const [what, ask] of [
  ['for another offset', (pages: ListPages) => pages.after('6-0', true, signal)],
  ['that begins no drain', (pages: ListPages) => pages.after('5-0', false, signal)],
] as const) {
  test(`a request ${what} is not answered by a response that was asked for before`, async () => {
    const { pages, asked, offsets } = await used();
    asked[1]?.arrives('9');
    pages.take(SECOND, signal);
    ask(pages);
    assert.equal(offsets().length, 2);
  });
}

test('a response that was kept for longer than requests are waited for is asked for again', async () => {
  const { pages, asked, clock, offsets } = await used();
  asked[1]?.arrives('9');
  pages.take(SECOND, signal);
  clock.ms += 10_001;
  pages.after('5-0', true, signal);
  assert.equal(offsets().length, 2);
});

test('nothing is asked for behind a cursor that repeats itself or falls', () => {
  for (const next of ['5', '4']) {
    const { pages, asked, cursors } = scene();
    pages.take({ walk: 1, minId: '5' }, signal);
    asked[0]?.arrives(next);
    assert.deepEqual(cursors(), ['5']);
  }
});

test('nothing is asked of the stream ahead once another of its responses may move our offset', async () => {
  const { pages, asked, offsets } = await used();
  pages.after('5-0', false, signal);
  asked[1]?.arrives('9');
  assert.deepEqual(offsets(), ['5-0']);
});

test('a response that failed fails the drain that it would have begun, and the next request is sent', async () => {
  const { pages, asked, streamed, offsets } = await used();
  asked[1]?.arrives('9');
  pages.take(SECOND, signal);
  streamed[0]?.response.reject(new Error('busy'));
  await assert.rejects(pages.after('5-0', true, signal), /busy/);
  pages.after('5-0', true, signal);
  assert.deepEqual(offsets(), ['5-0', '5-0']);
});
