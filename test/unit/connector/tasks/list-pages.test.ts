import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InstrumentsPage } from '../../../../src/connector/tasks/instruments-provider.ts';
import { ListPages } from '../../../../src/connector/tasks/list-pages.ts';

const { signal } = new AbortController();

/** A provider that notes what it is asked for; a page seems to end, and comes, when the test says so. */
function scene() {
  const asked: {
    readonly minId: string | null;
    readonly signal: AbortSignal;
    readonly seemsToGoOnAt: (minId: string) => void;
    readonly page: PromiseWithResolvers<InstrumentsPage>;
  }[] = [];
  const pages = new ListPages({
    page(minId, stop, seemsToGoOnAt = () => {}) {
      const page = Promise.withResolvers<InstrumentsPage>();
      asked.push({ minId, signal: stop, seemsToGoOnAt, page });
      return page.promise;
    },
  });
  return { pages, asked, cursors: () => asked.map(({ minId }) => minId) };
}

test('the next page is asked for once the one before has arrived, and taken from there', async () => {
  const { pages, asked, cursors } = scene();
  const first = pages.take({ walk: 1, minId: null }, signal);
  assert.deepEqual(cursors(), [null]);
  asked[0]?.seemsToGoOnAt('5');
  assert.deepEqual(cursors(), [null, '5'], 'it is not decoded yet');
  asked[0]?.page.resolve({ next: '5' } as InstrumentsPage);
  await first;
  pages.fetchAhead({ walk: 1, minId: '5' }, signal);
  const second = pages.take({ walk: 1, minId: '5' }, signal);
  assert.deepEqual(cursors(), [null, '5'], 'no page is asked for twice');
  asked[1]?.page.resolve({ next: '9' } as InstrumentsPage);
  assert.equal((await second).next, '9');
});

test('one page is asked for ahead, and no more before it is taken', () => {
  const { pages, asked, cursors } = scene();
  pages.take({ walk: 1, minId: null }, signal);
  asked[0]?.seemsToGoOnAt('5');
  asked[1]?.seemsToGoOnAt('9');
  assert.deepEqual(cursors(), [null, '5']);
  pages.take({ walk: 1, minId: '5' }, signal);
  assert.deepEqual(cursors(), [null, '5', '9']);
});

test('a page that was guessed wrongly is given up, and nothing is guessed any more', async () => {
  const { pages, asked, cursors } = scene();
  pages.take({ walk: 1, minId: null }, signal);
  asked[0]?.seemsToGoOnAt('5');
  pages.fetchAhead({ walk: 1, minId: '6' }, signal);
  assert.deepEqual(cursors(), [null, '5', '6']);
  assert.equal(asked[1]?.signal.aborted, true);
  asked[1]?.page.reject(asked[1].signal.reason);
  pages.take({ walk: 1, minId: '6' }, signal);
  asked[2]?.seemsToGoOnAt('8');
  assert.deepEqual(cursors(), [null, '5', '6']);
});

test('a page of an earlier walk is never taken for one of a later walk', () => {
  const { pages, asked, cursors } = scene();
  pages.take({ walk: 1, minId: null }, signal);
  asked[0]?.seemsToGoOnAt('5');
  pages.take({ walk: 2, minId: null }, signal);
  assert.equal(asked[1]?.signal.aborted, true);
  asked[2]?.seemsToGoOnAt('5');
  pages.take({ walk: 2, minId: '5' }, signal);
  assert.deepEqual(cursors(), [null, '5', null, '5']);
});

test('a page of an earlier walk is not taken where the later walk begins with its cursor', () => {
  const { pages, asked, cursors } = scene();
  pages.take({ walk: 1, minId: null }, signal);
  asked[0]?.seemsToGoOnAt('5');
  pages.take({ walk: 2, minId: '5' }, signal);
  assert.deepEqual(cursors(), [null, '5', '5']);
});

test('a page that failed is asked for again, without the one behind it', async () => {
  const { pages, asked, cursors } = scene();
  const first = pages.take({ walk: 1, minId: null }, signal);
  asked[0]?.seemsToGoOnAt('5');
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
  asked[0]?.seemsToGoOnAt('5');
  assert.deepEqual(cursors(), [null]);
});

test('nothing is asked for behind a cursor that repeats itself or falls', () => {
  for (const next of ['5', '4']) {
    const { pages, asked, cursors } = scene();
    pages.take({ walk: 1, minId: '5' }, signal);
    asked[0]?.seemsToGoOnAt(next);
    assert.deepEqual(cursors(), ['5']);
  }
});
