import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReportedEvents } from '../../../../src/sources/stream/reported-events.ts';
import { Census, REMEMBERED_MS } from '../../../../src/sources/walk/census.ts';
import type { CoreDecision } from '../../../../src/sources/walk/instruments-messages.ts';
import { DAY_MS, drive, event, pending, SETTINGS, time } from '../core/driven-core.ts';

const MINUTE_MS = 60_000;

/** A topic that holds 1 and 2 for long, and of which an event reported so long ago that 2 has changed and 3 was issued. */
function topicAfterEvents(ageMs: number, shown: ReportedEvents = new ReportedEvents('5-5')): Census {
  const census = new Census(shown);
  for (const id of [1n, 2n]) census.put(id, id, true);
  census.putEvent(2n, 20n, true, ageMs);
  census.putEvent(3n, 3n, true, ageMs);
  for (const id of [2n, 3n]) shown.add('5-1', id, ageMs, ageMs <= REMEMBERED_MS);
  return census;
}

type Source = ReturnType<typeof drive>;

/** A walk of one page, up to its end. */
function walkOver(
  source: Source,
  census: Census,
  page: { readonly rows: readonly number[]; readonly start?: string; readonly marginMs?: number },
): { readonly rows: CoreDecision; readonly end: CoreDecision } {
  source.handOffOver(census, page.marginMs);
  source.page(null, page.rows, null, page.start ?? null);
  source.stream();
  const rows = source.commit();
  const last = Math.max(...page.rows);
  source.close([String(last), String(last + 1)]);
  return { rows, end: source.commit() };
}

function begun(settings: Parameters<typeof drive>[1] = {}): Source {
  const source = drive({ ...pending, walk: 2 }, settings);
  source.stream();
  assert.equal(source.next().kind, 'census');
  return source;
}

const written = ({ write }: CoreDecision) => (write.kind === 'rows' ? write.rows : []);
const shown = ({ notifications }: CoreDecision) => notifications.map(({ kind }) => kind);
const lagOf = ({ notifications }: CoreDecision) => notifications.find((one) => one.kind === 'listLags');

for (const ageMs of [10_000, MINUTE_MS, 60 * MINUTE_MS]) {
  test(`a list that is older than events of ${ageMs / 1_000} s before the walk puts no row back and deletes nothing`, () => {
    const source = begun();
    // The list still has the old row 2, lacks 3, and 1 is gone.
    const { rows, end } = walkOver(source, topicAfterEvents(ageMs), { rows: [2] });
    assert.deepEqual(written(rows), []);
    assert.equal(rows.offset?.counts.contradicting, 1);
    assert.deepEqual(end.write, { kind: 'nothing' });
    assert.deepEqual(shown(end), ['walkCompleted', 'listLags', 'deletionSkipped']);
    const lagMs = ageMs + SETTINGS.handoffMarginMs;
    assert.deepEqual(lagOf(end), { kind: 'listLags', walk: 2, waitMs: 2 * lagMs, lagMs, rows: 1, lacking: 1 });
    assert.equal(end.offset?.listLagMs, lagMs);
  });
}

test('a list that is ahead of the stream is explained by the event that follows, and is no lag', () => {
  const source = begun();
  source.handOffOver(topicAfterEvents(MINUTE_MS));
  source.page(null, [1, 2, 3], null);
  source.stream();
  assert.deepEqual(written(source.commit()), []);
  source.close(['3', '4']);
  // The stream reported 2 only after its row: in the final drain.
  const late = begun();
  late.handOffOver(topicAfterEvents(MINUTE_MS));
  late.page(null, [2, 3], null);
  late.stream();
  late.commit();
  for (const minId of ['3', '4']) {
    assert.deepEqual(late.next(), { kind: 'behindLast', minId });
    late.answer({ kind: 'behindLast', rows: [], next: null });
  }
  late.stream([event(2)], '6-0');
  late.stream();
  const { write, notifications } = late.commit();
  assert.deepEqual(write, { kind: 'tombstones', ids: [1n] });
  assert.deepEqual(
    notifications.map(({ kind }) => kind),
    ['walkCompleted'],
  );
});

test('an instrument of which an event reported lately and that the list has dropped stays until the next walk, without a word', () => {
  const source = begun();
  const census = topicAfterEvents(MINUTE_MS);
  // 2 has been on the topic for long, so that no lag explains that the list lacks it.
  const { end } = walkOver(source, census, { rows: [3] });
  assert.deepEqual(end.write, { kind: 'tombstones', ids: [1n] });
  assert.deepEqual(shown(end), ['walkCompleted']);
});

test('an instrument that was issued and dropped within the hour is no lag where the list has one that was issued later', () => {
  for (const [laterMs, expected] of [
    [MINUTE_MS - 1_000, ['walkCompleted']],
    [MINUTE_MS, ['walkCompleted', 'listLags', 'deletionSkipped']],
    [MINUTE_MS + 1_000, ['walkCompleted', 'listLags', 'deletionSkipped']],
  ] as const) {
    const census = topicAfterEvents(MINUTE_MS);
    census.see(2n);
    census.putEvent(4n, 4n, true, laterMs);
    const { end } = walkOver(begun(), census, { rows: [4] });
    assert.deepEqual(shown(end), expected, `issued ${laterMs} ms before the walk`);
  }
});

test('a page that names its place before an event from before the walk is older, and is reported', () => {
  const census = topicAfterEvents(MINUTE_MS);
  census.see(2n);
  const { end } = walkOver(begun(), census, { rows: [1, 3], start: '5-1' });
  assert.equal(lagOf(end)?.lagMs, MINUTE_MS + SETTINGS.handoffMarginMs);
  assert.deepEqual(shown(end), ['walkCompleted', 'listLags', 'deletionSkipped']);
  const later = walkOver(begun(), topicAfterEvents(MINUTE_MS), { rows: [1, 3], start: '5-2' });
  assert.deepEqual(shown(later.end), ['walkCompleted'], 'from behind that event it is not');
});

test('the first page of a new source that is older than the start of its stream is reported', () => {
  const source = drive(null);
  source.answer({ kind: 'start', since: '5-5', time: time(0) });
  source.stream();
  source.handOff();
  source.page(null, [1], null, '5-4');
  source.stream();
  assert.deepEqual(written(source.commit()), [0], 'a row that the topic lacks is always used');
  source.close(['1', '2']);
  assert.deepEqual(shown(source.commit()), ['walkCompleted', 'listLags', 'deletionSkipped']);
});

test('what an event has deleted lately is not brought back by the row of an old list, nor taken for a lag', () => {
  const census = new Census();
  census.put(1n, 1n, true);
  census.put(2n, 2n, true);
  census.deleteByEvent(2n, MINUTE_MS);
  const { rows, end } = walkOver(begun(), census, { rows: [1, 2] });
  assert.deepEqual(written(rows), []);
  assert.deepEqual(shown(end), ['walkCompleted']);
});

test('the next walk waits for twice the lag that was seen, and the one after a clean walk for half of that', () => {
  const source = begun();
  walkOver(source, topicAfterEvents(MINUTE_MS), { rows: [2] });
  source.ms += DAY_MS;
  assert.equal(source.stream([], '6-0').begun, 'interval');
  const census = new Census();
  for (const id of [1n, 2n, 3n]) census.put(id, id, true);
  source.answer({ kind: 'census', census });
  source.stream();
  source.ms += 2 * (MINUTE_MS + SETTINGS.handoffMarginMs) - 1;
  assert.notEqual(source.next().kind, 'page');
  source.ms += 1;
  source.stream();
  source.page(null, [1, 2, 3], null);
  source.stream();
  source.commit();
  source.close(['3', '4']);
  assert.equal(source.commit().offset?.listLagMs, (MINUTE_MS + SETTINGS.handoffMarginMs) / 2);
});

test('a walk that goes on after a restart does not take the rows of its earlier pages for missing ones', () => {
  const source = drive({ ...pending, walk: 2, walkCursor: '4', walkResumed: true });
  source.stream();
  assert.equal(source.next().kind, 'census');
  source.handOffOver(topicAfterEvents(MINUTE_MS));
  source.page('4', [4], null);
  source.stream();
  source.commit();
  source.close(['4', '5']);
  const end = source.commit();
  // 3 was issued lately and stood on an earlier page; the walk that follows at once sees it there.
  assert.deepEqual([shown(end), end.offset?.listLagMs, end.begun], [['walkCompleted'], 0, 'afterResumed']);
});
