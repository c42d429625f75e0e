import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ago, durationText } from '../../../../src/admin/texts.ts';
import { ConnectorError } from '../../../../src/errors.ts';
import { makeReady, startAdminScene } from '../../../support/connectors/admin-scene.ts';

const source = 'instruments';
const PLACE = { source, since: '7-1', secondsToRetentionCliff: 600_000 };
const POLL = { ...PLACE, rows: 0, durationMs: 1, caughtUp: true, endpoint: 'events' } as const;
const BUSY = new ConnectorError('PROVIDER_BUSY', 'The provider answered with 503.');
const STRANGE = new ConnectorError('OFFSET_UNREADABLE', 'It is no offset.');
const FAILED = { source, failures: 2, waitMs: 5_000, err: BUSY };
const PROCESSOR = { groupId: 'g', topics: ['i'], kinds: ['overview'] };
const NO_AGES = { ageP50Ms: 1, ageP99Ms: 1, ageMaxMs: 1, ages: [] };
const KIND = { kind: 'overview', priced: 51, waiting: 0, repaid: 0, overdue: 0, pulled: 0, failing: {}, ...NO_AGES };
const FRESH = { ...KIND, kinds: [KIND], instruments: 51, unreadable: 0, unansweredInputs: 0, lag: 0 };

/** A connector, ready unless it only begins, and its page, with spaces also where no line may end. */
async function pageScene(t: TestContext, { isReady = true } = {}) {
  const scene = await startAdminScene(t);
  const { board } = scene;
  if (isReady) makeReady(scene);
  const pageCommitted = (page: number, rows: number) =>
    board.events.pageCommitted({ source, page, rows, records: rows, deadLetters: 0 } as never);
  const walkStarted = (walk: number, waitMs = 0) =>
    board.events.walkStarted({ source, walk, since: '7-1', why: 'due', waitMs });
  return {
    ...{ scene, board, operator: scene.operator, pageCommitted, walkStarted },
    async page() {
      const answer = await scene.ask('/', { headers: { accept: 'text/html,application/xhtml+xml' } });
      return (await answer.text()).replaceAll('\u00a0', ' ');
    },
    first: () => board.status().sources[0],
    check: (wanted: string) => board.status().checks.find(({ name }) => name === wanted),
    alarms: () => board.status().alarms.map(({ text }) => text),
  };
}

test('after a restart the page shows the walk and the next one from the committed offset', async (t) => {
  const { scene, board, page, first, walkStarted } = await pageScene(t, { isReady: false });
  const walk = { walk: 41, startedAt: '2026-03-01T08:00:00.000Z', pages: 50, rows: 50_000, gone: 19 };
  board.events.sourceStarted({ ...PLACE, secondsToNextWalk: 79_200, walk });
  scene.now += 60_000;
  const text = await page();
  assert.match(text, /no\. 41: 50,000 rows in 50 pages, 19 gone, complete, begun 2 h 1 min ago/);
  assert.match(text, /<dt>Next walk<\/dt><dd>in 21 h 59 min<\/dd>/);
  // The next walk then has an end that is known.
  walkStarted(42);
  assert.deepEqual(first()?.walk?.expectedRows, 50_000);
  assert.notEqual(first()?.secondsToNextWalk, null);
  board.events.sourceFailed({ source, err: new Error('x') });
  assert.equal(first()?.secondsToNextWalk, null, 'it walks only when it runs again');
});

test('a walk that was interrupted by the restart goes on with the rows of before', async (t) => {
  const { board, first, pageCommitted } = await pageScene(t, { isReady: false });
  const startedAt = '2026-03-01T09:00:00.000Z';
  board.events.walkResumed({ source, walk: 3, pages: 20, cursor: '9', waitMs: 0 });
  const walk = { walk: 3, startedAt, pages: 20, rows: 20_000, gone: null };
  board.events.sourceStarted({ ...PLACE, secondsToRetentionCliff: null, secondsToNextWalk: null, walk });
  pageCommitted(21, 1_000);
  const { rows, pages, running, startedAt: shown } = first()?.walk ?? {};
  assert.deepEqual([rows, pages, running, shown], [21_000, 21, true, startedAt]);
  assert.equal(first()?.secondsToNextWalk, null);
});

test('a walk that waits for the list says how long and why, until it reads on', async (t) => {
  const { scene, board, page, pageCommitted, walkStarted } = await pageScene(t);
  const waiting =
    /no\. 3 running: .*, reads the list in 8 min at the earliest, because the list may lag behind the stream</;
  walkStarted(3, 540_000);
  scene.now += 60_000;
  assert.match(await page(), waiting);
  pageCommitted(1, 1_000);
  assert.doesNotMatch(await page(), /reads the list/);
  board.events.walkResumed({ source, walk: 3, pages: 1, cursor: '9', waitMs: 540_000 });
  scene.now += 60_000;
  assert.match(await page(), waiting);
  scene.now += 480_000;
  assert.doesNotMatch(await page(), /reads the list/);
});

test('whatever is shown is escaped, and no secret is', async (t) => {
  const { board, page } = await pageScene(t);
  board.events.sourceFailed({ source: 'checks', err: new Error('<script>alert("1")</script> hunter2 \u001b[2J') });
  board.events.notified({ source: '<img src=x>', kind: 'gapProven', text: 'Events are lost. <b>hunter2</b>' });
  board.events.attemptFailed({ ...FAILED, err: new Error('<i>no</i>') });
  const text = await page();
  assert.doesNotMatch(text, /<script|<img|<i>|<b>|hunter2/);
  assert.ok(!text.includes('\u001b'));
  assert.match(text, /&lt;script&gt;alert\(&quot;1&quot;\)&lt;\/script&gt; \[redacted\]/);
  assert.match(text, /<h1>p&lt;q<\/h1>/);
  assert.match(text, /Events are lost\. &lt;b&gt;\[redacted\]&lt;\/b&gt;/);
  assert.match(text, /2 failures in a row, next try in 5 s\./);
  assert.match(text, /not ready/);
});

test('the page shows how far each source is', async (t) => {
  const { scene, board, page, walkStarted } = await pageScene(t);
  board.events.polled(POLL);
  scene.now += 20_000;
  board.events.polled({ ...POLL, secondsToRetentionCliff: 3_600, caughtUp: false });
  assert.match(await page(), /<dt>Stream<\/dt><dd>caught up</, 'of a busy stream, some responses are not its end');
  walkStarted(3);
  board.events.notified({ source, kind: 'shrinkRefused', text: 'Far fewer instruments than before.' });
  scene.now += 65_000;
  const text = await page();
  const times = ['not read to its end for 1 min 25 s', '1 min 5 s ago', 'kept for 58 min 55 s'];
  for (const part of [...times, '7-1', 'no. 3 running', 'shrink refused', 'Not deleted</dt>']) {
    assert.ok(text.includes(part), `${part} is missing`);
  }
  const { sources } = (await (await scene.ask('/status.json')).json()) as { sources: Record<string, unknown>[] };
  const { secondsToRetentionCliff, caughtUp, lastPollAt } = sources[0] ?? {};
  assert.deepEqual([secondsToRetentionCliff, caughtUp, lastPollAt], [3_535, false, '2026-03-01T10:00:20.000Z']);
  walkStarted(4);
  board.events.notified({ source, kind: 'deletionSkipped', text: 'The list seems to lag.' });
  assert.match(await page(), /Not deleted<\/dt><dd><span class="badge bad">The list seems to lag\./);
});

test('a walk goes on counting when its writer is opened again, and shows how much there will be from the last one', async (t) => {
  const { board, page, first, walkStarted } = await pageScene(t, { isReady: false });
  const walk = () => first()?.walk;
  const commit = (number: number) =>
    board.events.pageCommitted({ source, page: number, rows: 10, records: 8, deadLetters: 1 } as never);
  board.events.sourceStarted(PLACE);
  walkStarted(1);
  commit(1);
  board.events.sourceFailed({ source, err: new Error('x') });
  assert.equal(walk()?.running, false, 'it stands');
  assert.match(await page(), /no\. 1 not running: 10 rows in 1 page,/);
  board.events.sourceStarted(PLACE);
  board.events.walkResumed({ source, walk: 1, pages: 1, cursor: '9', waitMs: 0 });
  commit(2);
  assert.deepEqual([walk()?.rows, walk()?.pages, walk()?.running, walk()?.expectedRows], [20, 2, true, null]);
  const result = { added: 16, corrected: 0, unchanged: 2, reEncoded: 0, gone: 4, deadLetters: 2, durationMs: 5 };
  board.events.walkCompleted({ source, walk: 1, resumed: true, pages: 2, rows: 20, ...result });
  assert.deepEqual([walk()?.running, walk()?.gone], [false, 4]);
  walkStarted(2);
  assert.deepEqual([walk()?.rows, walk()?.expectedRows], [0, 20]);
  assert.deepEqual(first()?.written, { instruments: 20, items: 0, deadLetters: 2 });
});

test('what needs somebody stands first, and how many do what is reported above', async (t) => {
  const { board, page } = await pageScene(t);
  const cards = (text: string) =>
    [...text.matchAll(/<h3>(\S+) <span class="badge ([a-z]*)">([^<]*)/g)].map((match) => match.slice(1));
  const calm = await page();
  assert.deepEqual(cards(calm)[0], ['instruments', 'good', 'RUNNING']);
  assert.match(calm, /2 sources: 2 running</);
  board.events.attemptFailed(FAILED);
  board.events.sourceFailed({ source: 'checks', err: STRANGE });
  const text = await page();
  assert.deepEqual(cards(text).slice(0, 2), [
    ['checks', 'bad', 'FAILED'],
    ['instruments', 'wait', 'RUNNING, retrying'],
  ]);
  assert.match(text, /2 sources: 1 running, 1 failed</);
  assert.match(text, /<li><span class="badge bad">no<\/span><span>source checks: failed/);
  assert.ok(text.indexOf('source checks: failed') < text.indexOf('process: running'));
});

test('what another replica runs is shown from the groups and the topics, with nothing of what was seen here before', async (t) => {
  const { scene, board, page } = await pageScene(t);
  board.events.polled({ ...POLL, caughtUp: false });
  const [instruments = -1, own = -1] = board.status().sources.map(({ partition }) => partition);
  board.events.replicaJoined({ partitions: [own], sources: ['checks'] });
  board.events.writerLost({ partition: instruments, err: BUSY });
  const unknown = await page();
  assert.doesNotMatch(unknown, /opened again/);
  assert.match(unknown, /Its partition belongs to another replica, which shows its state\./);
  assert.match(unknown, /; the other replicas are not known: Kafka has not listed them in time/);
  assert.doesNotMatch(unknown, /Assigned to/);
  scene.kafkaAnsweredMs = scene.now - 80_000;
  assert.match(await page(), /Its partition belonged to another replica at 09:58:40 UTC\./);
  assert.match(await page(), /source instruments: its partition belonged to another replica at 09:58:40 UTC/);
  scene.kafkaAnsweredMs = null;
  const priced = (partition: number) => ({ topic: 'p.instruments', partition });
  board.events.processorJoined({ partitions: 1 });
  board.events.partitionAssigned({ ...priced(0), transactionalId: 'x', offset: '0', instruments: 1, durationMs: 1 });
  scene.whole = {
    sources: [
      { host: '10.0.0.1', partitions: [{ topic: 'p.offsets', partition: own }] },
      { host: '10.0.0.2', partitions: [{ topic: 'p.offsets', partition: instruments }] },
    ],
    prices: [
      { host: '10.0.0.1', partitions: [priced(0)] },
      { host: '10.0.0.2', partitions: [priced(1), priced(2)] },
      { host: '10.0.0.3', partitions: [priced(3)] },
      { host: '10.0.0.4', partitions: [] },
    ],
    pricedPartitions: 4,
    offsets: { instruments: '8-1' },
    newestPrices: { 1: '2026-03-01T09:59:00.000Z', 2: '2026-03-01T09:59:51.000Z' },
  };
  const shown = await page();
  for (const part of [
    '2 replicas share the sources; this one has 1 of 2; 4 replicas share the prices; this one has 1 of 4 partitions',
    '<dt>Assigned to</dt><dd>10.0.0.2</dd>\n<dt>Offset</dt><dd>8-1</dd>',
    '<dt>At 10.0.0.2</dt><dd>2 partitions (1, 2), the newest price of each partition is at most 1 min old</dd>',
    '<dt>At 10.0.0.3</dt><dd>1 partition (3), 1 without a price in the newest records</dd>',
    '<dt>At 10.0.0.4</dt><dd>0 partitions</dd>',
  ]) {
    assert.ok(shown.includes(part), `${part} is missing`);
  }
  assert.doesNotMatch(shown, /Last poll<\/dt><dd><time datetime|At 10\.0\.0\.1|7-1/);

  const others = [priced(1), { topic: 'p.others', partition: 2 }, { topic: 'p.others', partition: 0 }];
  scene.whole = { ...scene.whole, prices: [...(scene.whole.prices ?? []), { host: '10.0.0.5', partitions: others }] };
  const named = /<dt>At 10\.0\.0\.5<\/dt><dd>3 partitions \(p\.instruments 1; p\.others 0, 2\)/;
  assert.match(await page(), named, 'with several topics, each is named');
  const [, ...two] = scene.whole.sources ?? [];
  scene.whole = { ...scene.whole, sources: two };
  assert.doesNotMatch(await page(), /replicas share the sources/);
  board.events.partitionWriterLost({ ...priced(0), err: BUSY });
  const withoutWriter = await page();
  assert.match(withoutWriter, /this one has 1 of 4 partitions/);
  assert.doesNotMatch(withoutWriter, /At 10\.0\.0/, 'our own member is not known, and is none of the others');
});

test('bars are as high as their shares, a single price shows, and ages end one step beside the last ones', async (t) => {
  const { scene, board, page } = await pageScene(t, { isReady: false });
  const [bounds, counts] = [
    [1, 2, 5, 45, 60, 90, 129_600, Number.POSITIVE_INFINITY],
    [0, 0, 10, 50, 51, 51, 51, 51],
  ];
  const ages = bounds.map((seconds, at) => ({ atMostMs: seconds * 1_000, instruments: counts[at] ?? 0 }));
  board.events.processorStarted({ ...PROCESSOR, freshness: () => ({ ...FRESH, kinds: [{ ...KIND, ages }] }) });
  for (const records of [4, 0, 8, 2, 3]) {
    board.events.batchPriced({ records, deadLetters: 1, deadLettersOfRepaid: 7 } as never);
    scene.now += 60_000;
  }
  const text = await page();
  const [byAge = '', byMinute = ''] = text.split('<svg class="chart"').slice(1);
  const bars = (chart: string) =>
    [...chart.matchAll(/<rect x="([\d.]+)%" y="[\d.]+" width="[\d.]+%" height="([\d.]+)"/g)].map(
      ([, x, height]) => [Number(x), Number(height)] as const,
    );
  assert.deepEqual(bars(byAge), [
    [20, 14],
    [40, 56],
    [60, 1.5],
  ]);
  const names = [...byAge.matchAll(/text-anchor="end">([^<]*)/g)].map(([, name]) => name);
  assert.deepEqual(names, ['2 s', '5 s', '45 s', '1 min', '90 s']);
  const heights = bars(byMinute).map(([, height]) => height);
  assert.deepEqual(heights, [28, 56, 14, 21]);
  assert.ok((bars(byMinute).at(-1)?.[0] ?? 0) > 96, 'the newest minute stands at the end');
  assert.match(byMinute, /30 min ago/);
  assert.match(text, /<dt>Dead letters<\/dt><dd><span class="badge wait">5, and 35 of repaid products<\/span>/);
  assert.match(text, /3 in the last full minute, 0 this minute; 3\.4 on average, at most 8 since the start 5 min ago/);
});

test('the processor shows how fresh its prices are', async (t) => {
  const { board, page } = await pageScene(t, { isReady: false });
  const failing = { 'status 404': 5, none: 1_000 };
  const ages = { ageP50Ms: 30_000, ageP99Ms: 61_000 };
  const overview = { ...KIND, ...ages, priced: 180, repaid: 15, overdue: 3, pulled: 2, failing };
  const daily = { ...KIND, kind: 'daily', priced: 17, waiting: 1_183, overdue: 1_183 };
  const all = {
    ...overview,
    kinds: [overview, daily],
    instruments: 1_200,
    unreadable: 42,
    unansweredInputs: 0,
    lag: 7,
  };
  board.events.processorStarted({ ...PROCESSOR, freshness: () => all });
  board.events.processorJoined({ partitions: 0 });
  const text = await page();
  for (const part of [
    '<dt>Instruments</dt><dd>1,200</dd>',
    '<dt>Prices overview</dt><dd>180 priced, 1,005 failing, 15 repaid</dd>',
    'half below about 30 s, 99 % below about 1 min 1 s',
    '7 records',
    '1,005 (none: 1,000, status 404: 5)',
    '<span class="badge bad">42</span>',
    '<dt>Prices daily</dt><dd>17 priced, 1,183 without an answer since the assignment</dd>',
    '<dt>Overdue daily</dt><dd><span class="badge bad">1,183</span></dd>',
  ]) {
    assert.ok(text.includes(part), `${part} is missing`);
  }
});

test('while prices are overdue, the newest failed call is named, also if its parts are answered', async (t) => {
  const { scene, board, page } = await pageScene(t);
  const late = { ...KIND, overdue: 4_009 };
  board.events.processorStarted({ ...PROCESSOR, freshness: () => ({ ...FRESH, ...late, kinds: [late] }) });
  board.events.processorJoined({ partitions: 0 });
  board.events.bulkAttemptFailed({ kind: 'overview', items: 5, failures: 1, waitMs: 1_000, err: BUSY });
  board.events.bulkAnswered({ kind: 'overview', items: 1, durationMs: 1, drift: 0, roundedNumbers: 0 });
  scene.now += 12_000;
  assert.match(await page(), /4,009; a call failed 12 s ago \(PROVIDER_BUSY\)</);
  scene.kafkaAnsweredMs = scene.now - 30_000;
  assert.match(await page(), />4,009</);
  scene.kafkaAnsweredMs = null;
  scene.now += 48_000;
  assert.match(await page(), />4,009</);
  scene.kafkaAnsweredMs = scene.now - 80_000;
  assert.match(await page(), /<dt>Instruments<\/dt><dd>51 as of \d\d:\d\d:\d\d UTC</);
});

test('all that goes to the notifications topic is reported: completed walks and failed sources too', async (t) => {
  const { board } = await pageScene(t, { isReady: false });
  board.events.walkCompleted({ source, walk: 1, rows: 2, added: 2, corrected: 0, gone: 0 } as never);
  board.events.notified({ source, kind: 'shrinkRefused', text: 'Far fewer instruments than before.' });
  board.events.sourceFailed({ source, err: STRANGE });
  const [failed, ...others] = board.status().notifications.map(({ kind, text }) => [kind, text]);
  assert.deepEqual(others, [
    ['shrinkRefused', 'Far fewer instruments than before.'],
    ['walkCompleted', 'Walk 1: 2 rows, 2 added, 0 corrected, 0 gone.'],
  ]);
  assert.match(String(failed), /^sourceFailed,OFFSET_UNREADABLE: It is no offset\.\n/);
});

test('lengths of time are reported in their two largest units', () => {
  const shown = [0, 0.4, 59, 60, 3_599, 3_600, 86_399, 86_400, 604_799, -90].map(durationText);
  const wanted = '0 s, 0 s, 59 s, 1 min, 59 min 59 s, 1 h, 23 h 59 min, 1 d, 6 d 23 h, −1 min 30 s';
  assert.equal(shown.join(', '), wanted);
  assert.equal(ago('2026-01-01T00:00:10Z', '2026-01-01T00:00:00Z'), '0 s ago');
});

test('with Kafka silent the page says so first and since when, and what it shows of a source is as of then', async (t) => {
  const { scene, board, page, first, alarms } = await pageScene(t);
  board.events.polled(POLL);
  assert.match(await page(), /caught up<\/dd>/);
  assert.doesNotMatch(await page(), /role="alert"/);
  for (const [clock, ms] of Object.entries({ referenceData: 300_000, marketData: -61_000, kafka: 60_000 }))
    scene.clocksAheadMs.set(clock, ms);
  assert.deepEqual(alarms(), [
    'The clock of referenceData is 5 min ahead of the clock of this machine.',
    'The clock of marketData is 1 min 1 s behind the clock of this machine.',
  ]);
  scene.clocksAheadMs.clear();
  scene.kafkaAnsweredMs = scene.now;
  scene.now += 80_000;
  // The provider goes on to answer, and there is nothing to commit.
  board.events.polled(POLL);
  const err = new ConnectorError('TRANSACTION_FAILED', 'a request got no response');
  board.events.writerLost({ partition: board.status().sources[1]?.partition ?? -1, err });
  board.events.attemptFailed({ ...FAILED, source: 'checks', err });
  scene.kafkaAnsweredMs = scene.now - 8_900;
  assert.match(await page(), /kafka: answered 9 s ago; after 10 s, Kafka counts as silent/);
  scene.kafkaAnsweredMs = scene.now - 80_000;
  const checks = () => board.status().checks.filter(({ ok }) => !ok);
  const failing = () => checks().map(({ name, why }) => `${name}: ${why}`);
  const waiting = ['source instruments', 'source checks', 'prices'].map((name) => `${name}: waits for Kafka`);
  const allFail = ['kafka: has not answered since 10:00:00 UTC', ...waiting];
  assert.deepEqual(failing(), allFail);
  const silent = await page();
  assert.doesNotMatch(silent, /class="note wait"/, 'no card blames anything else');
  assert.match(silent, /<\/header>\n<p class="note bad" role="alert">Kafka has not answered for 1 min 20 s: nothing/);
  assert.match(silent, /caught up as of 10:00:00 UTC/);
  assert.match(silent, /RUNNING, waiting for Kafka<\/span><span class="soft">for 1 min 20 s</);
  const [, cards = ''] = silent.split('class="cards"');
  assert.doesNotMatch(cards, /class="(?:badge )?good"/);
  assert.deepEqual([first()?.caughtUp, first()?.caughtUpAt], [null, '2026-03-01T10:00:00.000Z']);
  board.events.polled({ ...POLL, caughtUp: false });
  assert.match(
    await page(),
    /not read to its end for 1 min 20 s<[\s\S]*<rect class="plain" width="99.21%"/,
    'the bar of a source that is not read',
  );
  // It has left its groups, as any other replica has.
  board.events.attemptFailed({ ...FAILED, part: 'replicas', err });
  board.events.processorAttemptFailed({ failures: 1, waitMs: 1_000, err });
  const left = await page();
  assert.equal([...left.matchAll(/>WAITING FOR KAFKA<\/span><span class="soft">for 1 min 20 s</g)].length, 3);
  assert.doesNotMatch(left, /unassigned|0 partitions/i);
  assert.match(left, /2 sources: 2 waiting for Kafka</);
  assert.deepEqual(failing(), allFail);
});

test('behind stays behind, whatever fails; caught up is not known while the source does not read', async (t) => {
  const { scene, board, operator, first, alarms } = await pageScene(t);
  for (const was of [true, false]) {
    board.events.polled({ ...POLL, caughtUp: was });
    assert.equal(first()?.caughtUp, was);
    board.events.attemptFailed({ ...FAILED, endpoint: 'instruments' });
    assert.equal(first()?.caughtUp, was, 'the stream goes on beside the list');
    board.events.attemptFailed(FAILED);
    assert.equal(first()?.caughtUp, was ? null : false);
  }
  scene.now += 60_000;
  const both = 'source instruments, source instruments (requests of the list)';
  assert.deepEqual(alarms(), [`Failing for up to 1 min, now with PROVIDER_BUSY, and retried: ${both}.`]);
  board.events.polled(POLL);
  assert.match(alarms().join(), /source instruments \(requests of the list\)/);
  board.events.polled({ ...POLL, endpoint: 'instruments' });
  assert.deepEqual(alarms(), []);
  operator.wants(source, { state: 'paused' });
  board.events.sourcePaused({ source });
  assert.equal(first()?.caughtUp, null);
  board.events.sourceFailed({ source, err: BUSY });
  scene.now += 120_000;
  assert.deepEqual(alarms(), ['Failed 2 min ago (PROVIDER_BUSY), waits for an operator: source instruments.']);
});

test('an offset that the provider refuses is said, and no retention is claimed until the stream is read again', async (t) => {
  const { scene, board, page } = await pageScene(t);
  board.events.polled(POLL);
  assert.match(await page(), /unread events are kept for 6 d 22 h/);
  board.events.responseDiscarded({ source, why: 'refused' });
  scene.now += 90_000;
  board.events.responseDiscarded({ source, why: 'refused' });
  board.events.polled({ ...POLL, endpoint: 'instruments' });
  const refused = await page();
  assert.match(refused, /role="alert">The provider has refused the offset for 1 min 30 s: source instruments\.</);
  assert.match(refused, /<span class="badge wait">the provider has refused the offset since 10:00:00 UTC</);
  const [card = ''] = refused.split('</article>');
  assert.doesNotMatch(card, /are kept for|caught up/);
  assert.match(card, /Last poll<\/dt><dd>(<span[^>]*>)?refused</);
  board.events.polled(POLL);
  assert.doesNotMatch(await page(), /refuse/);
});

test('what all retry for one reason is one line, with the age of the oldest trouble; each card has its own age', async (t) => {
  const { scene, board, page, alarms } = await pageScene(t);
  scene.now += 3_600_000;
  board.events.processorStarted({ ...PROCESSOR, kinds: ['overview', 'daily'], freshness: () => null });
  board.events.processorJoined({ partitions: 0 });
  board.events.attemptFailed(FAILED);
  board.events.bulkAttemptFailed({ kind: 'daily', items: 5, failures: 1, waitMs: 1_000, err: BUSY });
  scene.now += 60_000;
  board.events.attemptFailed({ ...FAILED, source: 'checks', err: new ConnectorError('PROVIDER_REFUSED', '403') });
  scene.now += 30_000;
  assert.deepEqual(alarms(), [
    'Failing for up to 1 min 30 s, now with PROVIDER_BUSY, and retried: source instruments, the price processor (daily).',
    'Failing for 30 s, now with PROVIDER_REFUSED, and retried: source checks.',
  ]);
  assert.match(await page(), />1 failure \(daily\), the next try is due\.\s/);
  const ages = [...(await page()).matchAll(/retrying<\/span><span class="soft">([^<]*)/g)].map(([, age]) => age);
  assert.deepEqual(ages, ['for 1 min 30 s', 'for 30 s', 'for 1 min 30 s']);
});

test('failed calls count by kind until an answer, and the text names all kinds that fail now', async (t) => {
  const { board, page } = await pageScene(t);
  board.events.processorStarted({ ...PROCESSOR, kinds: ['overview', 'daily', 'intraday'], freshness: () => null });
  board.events.processorJoined({ partitions: 0 });
  const [fails, answers] = [true, false];
  const steps: readonly (readonly [kind: string, fails: boolean, shown: string | undefined])[] = [
    ['daily', fails, '1 failure (daily)'],
    ['overview', answers, '1 failure (daily)'],
    ['intraday', answers, '1 failure (only daily; all others had answers meanwhile)'],
    ['daily', fails, '2 failures (only daily; all others had answers meanwhile)'],
    ['overview', fails, '3 failures (only daily, overview; all others had answers meanwhile)'],
    ['intraday', fails, '4 failures (all kinds)'],
    ['daily', fails, '5 failures (all kinds)'],
    ['daily', answers, '2 failures (only intraday, overview; all others had answers meanwhile)'],
    ['intraday', answers, '1 failure (only overview; all others had answers meanwhile)'],
    ['overview', answers, undefined],
  ];
  for (const [kind, isFailure, shown] of steps) {
    // The event counts the failures of these questions alone.
    if (isFailure) board.events.bulkAttemptFailed({ kind, items: 5, failures: 1, waitMs: 1_000, err: BUSY });
    else board.events.bulkAnswered({ kind, items: 5, durationMs: 1, drift: 0, roundedNumbers: 0 });
    assert.equal(/>([^<]*failures? [^<]*), next try in/.exec(await page())?.[1], shown);
  }
  for (const [kind, waitMs] of [
    ['overview', 5_000],
    ['daily', 280_000],
  ] as const)
    board.events.bulkAttemptFailed({ kind, items: 1, failures: 1, waitMs, err: BUSY });
  assert.match(await page(), /next try in 5 s at the latest\.\s/, 'the next try of any kind');
});

test('a long wait names the command that ends it, and no walk begins before the next try', async (t) => {
  const { board, page } = await pageScene(t);
  const [refused, asked] = [undefined, 284_000].map(
    (retryAfterMs) => new ConnectorError('PROVIDER_UNAUTHORIZED', '401', { retryAfterMs }),
  );
  const hint = /next try in 4 min 44 s; spconnect restart instruments tries now\./;
  const walks = async () => /<dt>Next walk<\/dt><dd>([^<]*)</.exec(await page())?.[1];
  board.events.polled({ ...POLL, secondsToNextWalk: 8 });
  assert.equal(await walks(), 'in 8 s');
  assert.match(await page(), /<dt>Last poll</);
  board.events.responseDiscarded({ source, why: 'refused' });
  assert.equal(await walks(), 'with the next response of the stream, at the earliest in 8 s');
  board.events.polled({ ...POLL, secondsToNextWalk: 8 });
  board.events.attemptFailed({ ...FAILED, waitMs: 284_000, err: refused as Error });
  assert.match(await page(), hint);
  assert.match(await page(), /<dt>Last good poll</);
  assert.equal(await walks(), 'with the next response of the stream, at the earliest in 4 min 44 s');
  board.events.attemptFailed({ ...FAILED, waitMs: 284_000, err: asked as Error });
  assert.doesNotMatch(await page(), hint, 'the provider has asked for this wait');
  board.events.attemptFailed({ ...FAILED, waitMs: 5_000, err: refused as Error });
  assert.doesNotMatch(await page(), /tries now/);
  assert.equal(await walks(), 'with the next response of the stream, at the earliest in 8 s');
  board.events.sourcePaused({ source });
  assert.doesNotMatch(await page(), /Next walk/);
  const ofPrices = { failures: 2, waitMs: 284_000, topic: 'i', partition: 0 };
  board.events.partitionReadFailed({ ...ofPrices, err: refused as Error });
  assert.match(await page(), /next try in 4 min 44 s at the latest; spconnect restart prices tries now\./);
  board.events.partitionReadFailed({ ...ofPrices, err: asked as Error });
  assert.doesNotMatch(await page(), /tries now/);
  board.events.partitionReadAgain({ topic: 'i', partition: 0 });
  board.events.bulkAttemptFailed({ kind: 'daily', items: 1, failures: 1, waitMs: 284_000, err: refused as Error });
  assert.match(await page(), /next try in 4 min 44 s at the latest\.\s/, 'after a restart, the refresh may come later');
});

test('the remedy of an error has the name of its source, or of the price processor', async (t) => {
  const { board, page } = await pageScene(t);
  board.events.sourceFailed({ source: 'checks', err: new ConnectorError('TOO_MANY_DEAD_LETTERS', 'Too many.') });
  board.events.processorFailed({ err: new ConnectorError('SCHEMA_NOT_REGISTERED', 'It is missing.') });
  const text = await page();
  assert.match(text, /spconnect preview checks/);
  assert.match(text, /spconnect restart prices/);
  assert.doesNotMatch(text, /&lt;source&gt;/);
});

test('without its group a replica runs no source, and says why', async (t) => {
  const { scene, board, check } = await pageScene(t);
  board.events.replicaJoined({ partitions: board.status().sources.map(({ partition }) => partition), sources: [] });
  makeReady(scene);
  const err = new ConnectorError('KAFKA_UNREACHABLE', 'The member could not go on.');
  board.events.attemptFailed({ ...FAILED, part: 'replicas', err });
  for (const { task, owned } of board.status().sources) assert.deepEqual([task, owned], ['unassigned', null]);
  assert.equal(board.status().ready, false);
  assert.match(check('source checks')?.why ?? '', /: KAFKA_UNREACHABLE: The member could/);
});

test('a lost writer is shown while it is opened again, and not for a source that is stopped or has failed', async (t) => {
  const { board, operator, page } = await pageScene(t);
  const partition = board.status().sources[0]?.partition ?? -1;
  board.events.writerLost({ partition, err: BUSY });
  assert.match(await page(), /The writer is being opened again/);
  board.events.sourceFailed({ source, err: BUSY });
  assert.doesNotMatch(await page(), /The writer is being opened again/);
  board.events.polled(POLL);
  operator.wants(source, { state: 'stopped' });
  board.events.sourceStopped({ source });
  assert.match(await page(), /<dt>Offset at its stop<\/dt>/, 'an operator may change it');
});

test('a source that is restarted while it runs has been running since then', async (t) => {
  const { scene, board, first } = await pageScene(t);
  const before = first()?.changedAt;
  scene.now += 60_000;
  board.events.sourceStarted(PLACE);
  assert.equal(Date.parse(first()?.changedAt ?? '') - Date.parse(before ?? ''), 60_000);
});

test('no walk runs while its source is paused', async (t) => {
  const { board, page, walkStarted } = await pageScene(t);
  walkStarted(3);
  assert.match(await page(), /no\. 3 running/);
  board.events.sourcePaused({ source });
  assert.match(await page(), /no\. 3 not running/);
  board.events.sourceResumed({ source });
  assert.match(await page(), /no\. 3 running/);
});

test('a source or processor that waits after a stop has been waiting since its resume', async (t) => {
  const { scene, board, operator, first } = await pageScene(t);
  operator.wants(source, { state: 'stopped' });
  board.events.sourceStopped({ source });
  const stoppedAt = first()?.changedAt;
  scene.now += 60_000;
  operator.restarts(source);
  assert.equal(first()?.changedAt, stoppedAt, 'a restart leaves it stopped');
  operator.wants(source, { state: 'running' });
  assert.equal(Date.parse(first()?.changedAt ?? ''), scene.now);
  board.events.processorRests({ wanted: 'stopped' });
  scene.now += 60_000;
  board.events.processorStarted({ ...PROCESSOR, freshness: () => null });
  assert.equal(Date.parse(board.status().processor?.changedAt ?? ''), scene.now);
});

test('the trouble of the list is shown until the list is asked again, also while the stream answers', async (t) => {
  const { scene, board, first, page } = await pageScene(t);
  const trouble = () => first()?.trouble;
  board.events.attemptFailed({ ...FAILED, endpoint: 'instruments', waitMs: 3_600_000 });
  assert.match(
    await page(),
    /2 failures in a row \(requests of the list\), next try in 1 h\.\s/,
    'a restart is no help',
  );
  for (const afterMs of [0, 30_000, 3_569_000, 61_000]) {
    scene.now += afterMs;
    board.events.polled(POLL);
    assert.match(trouble()?.message ?? '', /503/);
  }
  board.events.polled({ ...POLL, endpoint: 'instruments' });
  assert.equal(trouble(), null);
  board.events.attemptFailed({ ...FAILED, endpoint: 'instruments', waitMs: 1_000 });
  scene.now += 3_600_000;
  board.events.polled(POLL);
  assert.equal(trouble(), null, 'the list is not asked any more');
  board.events.attemptFailed({ ...FAILED, waitMs: 60_000 });
  assert.notEqual(trouble(), null);
  board.events.polled(POLL);
  assert.equal(trouble(), null, 'what concerns the whole source is over with any answer');
});

test('a price processor that rests has no instruments, which is no count of 0 prices', async (t) => {
  const { board, operator } = await pageScene(t);
  const fresh = () => board.status().processor?.freshness;
  board.events.processorStarted({ ...PROCESSOR, freshness: () => ({ ...FRESH, kinds: [], instruments: 0 }) });
  assert.equal(fresh()?.instruments, 0);
  operator.wants('prices', { state: 'paused' });
  board.events.processorRests({ wanted: 'paused' });
  assert.equal(fresh(), null);
});

test('a price processor is ready while it is a member of its group that holds its partitions, or says why it is not', async (t) => {
  const { board, check, page } = await pageScene(t, { isReady: false });
  const status = () => board.status().processor;
  const prices = () => [check('prices')?.ok, check('prices')?.why];
  const failure = { failures: 1, waitMs: 100, err: new ConnectorError('KAFKA_UNREACHABLE', 'The group is away.') };
  const [first, second] = [0, 1].map((partition) => ({ topic: 'p.instruments', partition })) as [Held, Held];
  const assign = (held: Held) =>
    board.events.partitionAssigned({ ...held, transactionalId: 'x', offset: '0', instruments: 1, durationMs: 1 });
  const priced = (answered: number) =>
    board.events.batchPriced({
      items: 1,
      answered,
      kind: 'overview',
      records: 0,
      deadLetters: 0,
      deadLettersOfRepaid: 0,
    } as never);
  const joined = 'has joined its group; all 2 assigned partitions are ready';

  assert.equal(prices()[0], false);
  board.events.processorJoined({ partitions: 2 });
  assert.deepEqual(prices(), [false, '0 of its 2 assigned partitions are ready']);
  for (const held of [first, second]) assign(held);
  assert.deepEqual(prices(), [true, joined]);
  board.events.partitionWriterLost({ ...first, err: new Error('It was cut.') });
  assert.deepEqual([status()?.partitions, status()?.writerTrouble], [[second], 'Error: It was cut.']);
  assert.deepEqual(prices(), [false, '1 of its 2 assigned partitions are ready: Error: It was cut.']);
  assert.match(await page(), /2 partitions of instruments here, 1 not ready/);
  assign(first);
  assert.deepEqual([prices(), status()?.writerTrouble], [[true, joined], null]);
  board.events.partitionReadFailed({ ...failure, ...first });
  assert.deepEqual(prices(), [true, joined], 'it waits for the registry, and holds its partitions');
  priced(1);
  assert.equal(status()?.trouble?.part, 'reading of instruments', 'prices of known instruments go on');
  board.events.partitionReadAgain(first);
  assert.equal(status()?.trouble, null);
  board.events.bulkAttemptFailed({ ...failure, kind: 'daily', items: 5 });
  priced(1);
  assert.match(status()?.trouble?.message ?? '', /group is away/, 'overview is answered, daily is not');
  board.events.bulkAnswered({ kind: 'daily', items: 1, durationMs: 1, drift: 0, roundedNumbers: 0 });
  assert.equal(status()?.trouble, null);
  board.events.processorAttemptFailed(failure);
  assert.deepEqual(prices(), [false, `has not joined its group: ${status()?.trouble?.message.replace('\n', ' ')}`]);
  board.events.processorJoined({ partitions: 2 });
  assert.equal(prices()[0], true);
  board.events.partitionLost({ ...first, why: 'another has it' });
  assert.deepEqual(status()?.partitions, [second]);
});

interface Held {
  readonly topic: string;
  readonly partition: number;
}

test('a source or processor that failed again failed just now', async (t) => {
  const { scene, board, first } = await pageScene(t);
  for (const _ of [1, 2]) {
    board.events.sourceFailed({ source, err: BUSY });
    board.events.processorFailed({ err: BUSY });
    scene.now += 60_000;
  }
  const failedMs = [first()?.changedAt, board.status().processor?.changedAt].map((text) => Date.parse(text ?? ''));
  assert.deepEqual(failedMs, [scene.now - 60_000, scene.now - 60_000]);
});

test('a response of the list says nothing about the stream', async (t) => {
  const { scene, board, first } = await pageScene(t);
  board.events.polled(POLL);
  const lastPollAt = first()?.lastPollAt;
  const list = () => {
    scene.now += 60_000;
    board.events.polled({ ...POLL, endpoint: 'instruments' });
    const shown = first();
    assert.deepEqual([shown?.lastPollAt, shown?.caughtUpAt], [lastPollAt, lastPollAt]);
  };
  board.events.attemptFailed(FAILED);
  list();
  assert.match(first()?.trouble?.message ?? '', /503/);
  board.events.responseDiscarded({ source, why: 'refused' });
  assert.equal(first()?.trouble, null, 'a refusal is an answer');
  list();
  assert.notEqual(first()?.refusedAt, null);
});

test('an outage of the provider has one age, whatever else ends and begins meanwhile', async (t) => {
  const { scene, board, operator, page, first, alarms } = await pageScene(t);
  const { partition = -1 } = first() ?? {};
  board.events.attemptFailed(FAILED);
  board.events.attemptFailed({ ...FAILED, endpoint: 'instruments' });
  const since = first()?.trouble?.since;
  scene.now += 3_600_000;
  assert.equal((await page()).match(/failures in a row/g)?.length, 2, 'the stream and the list');
  board.events.writerLost({ partition, err: BUSY });
  board.events.writerOpened({ partition } as never);
  board.events.sourceStarted({ ...PLACE, secondsToNextWalk: null });
  assert.deepEqual([first()?.trouble, first()?.otherTrouble], [null, null], 'nothing has failed in the new task');
  board.events.attemptFailed(FAILED);
  assert.deepEqual([first()?.trouble?.since, first()?.otherTrouble], [since, null]);
  board.events.attemptFailed({ ...FAILED, endpoint: 'instruments' });
  board.events.polled(POLL);
  const ofList = first()?.trouble;
  assert.deepEqual([ofList?.since, ofList?.part], [since, 'requests of the list'], 'only the stream answers');
  operator.wants(source, { state: 'paused' });
  board.events.sourcePaused({ source });
  board.events.attemptFailed({ ...FAILED, endpoint: 'instruments' });
  scene.now += 60_000;
  assert.deepEqual([first()?.trouble, alarms()], [null, []], 'a paused source repeats nothing');
  board.events.sourceResumed({ source });
  board.events.attemptFailed(FAILED);
  assert.notEqual(first()?.trouble?.since, since, 'the pause has ended the outage');
  board.events.sourceFailed({ source, err: BUSY });
  board.events.attemptFailed({ ...FAILED, endpoint: 'instruments' });
  assert.equal(first()?.trouble, null, 'a failed source repeats nothing');
});

test('a failure of the registry in a request of the list ends with a response of the list', async (t) => {
  const { board, first } = await pageScene(t);
  const away = new ConnectorError('REGISTRY_UNREACHABLE', 'It is away.');
  board.events.attemptFailed({ ...FAILED, endpoint: 'instruments', err: away });
  board.events.polled({ ...POLL, endpoint: 'instruments' });
  assert.equal(first()?.trouble, null);
});

test('an outage of market data goes on when the group shares its partitions again', async (t) => {
  const { scene, board, alarms } = await pageScene(t);
  board.events.processorStarted({ ...PROCESSOR, freshness: () => FRESH });
  board.events.processorJoined({ partitions: 2 });
  board.events.bulkAttemptFailed({ kind: 'overview', items: 5, failures: 1, waitMs: 1_000, err: BUSY });
  scene.now += 240_000;
  board.events.processorJoined({ partitions: 1 });
  const failing = 'Failing for 4 min, now with PROVIDER_BUSY, and retried: the price processor.';
  assert.deepEqual(alarms(), [failing]);
  board.events.partitionReadFailed({ topic: 'i', partition: 0, failures: 1, waitMs: 1, err: BUSY });
  assert.deepEqual(alarms(), [failing], 'a younger failure hides no older one');
  scene.now += 70_000;
  const ofReading =
    'Failing for 1 min 10 s, now with PROVIDER_BUSY, and retried: the price processor (reading of instruments).';
  assert.deepEqual(alarms(), [ofReading], 'another replica repeats the request, or nobody');
  board.events.bulkAttemptFailed({ kind: 'overview', items: 5, failures: 1, waitMs: 1_000, err: BUSY });
  const since = board.status().processor?.otherTrouble?.since;
  board.events.processorAttemptFailed({ failures: 1, waitMs: 1_000, err: STRANGE });
  board.events.processorJoined({ partitions: 1 });
  const { trouble, otherTrouble } = board.status().processor ?? {};
  assert.deepEqual([trouble?.since, otherTrouble], [since, null], 'it goes on in the new membership');
  scene.now += 3_600_000;
  board.events.bulkAttemptFailed({ kind: 'overview', items: 5, failures: 1, waitMs: 1_000, err: BUSY });
  assert.notEqual(board.status().processor?.trouble?.since, since, 'nothing failed for an hour');
});

test('while instruments cannot be read, the number of unread records is not known', async (t) => {
  const { board } = await pageScene(t);
  const lag = () => board.status().processor?.freshness?.lag;
  board.events.processorStarted({ ...PROCESSOR, freshness: () => FRESH });
  board.events.processorJoined({ partitions: 0 });
  assert.equal(lag(), 0);
  board.events.partitionReadFailed({ topic: 'i', partition: 0, failures: 1, waitMs: 1, err: BUSY });
  assert.equal(lag(), null);
  board.events.partitionLost({ topic: 'i', partition: 0, why: 'another has it' });
  assert.equal(lag(), 0);
});

test('a rest, a failure or a new start ends what failed before, also for its age', async (t) => {
  const { scene, board, operator, first } = await pageScene(t);
  const prices = () => board.status().processor;
  const fail = () => {
    board.events.partitionReadFailed({ topic: 'i', partition: 0, failures: 1, waitMs: 1, err: BUSY });
    board.events.bulkAttemptFailed({ kind: 'overview', items: 5, failures: 1, waitMs: 1_000, err: BUSY });
  };
  for (const end of [
    () => board.events.processorStarted({ ...PROCESSOR, freshness: () => null }),
    () => board.events.processorRests({ wanted: 'paused' }),
    () => board.events.processorFailed({ err: STRANGE }),
    () => board.events.processorJoined({ partitions: 0 }),
  ]) {
    fail();
    assert.notEqual(prices()?.trouble, null);
    end();
    assert.deepEqual([prices()?.trouble, prices()?.otherTrouble], [null, null], String(end));
  }
  const { partition = -1 } = first() ?? {};
  for (const end of [
    () => board.events.replicaJoined({ partitions: [], sources: [] }),
    () => board.events.sourcePaused({ source }),
    () => board.events.sourceFailed({ source, err: STRANGE }),
    () => {
      operator.wants(source, { state: 'stopped' });
      board.events.sourceStopped({ source });
    },
  ]) {
    board.events.attemptFailed(FAILED);
    const since = first()?.trouble?.since;
    scene.now += 60_000;
    end();
    board.events.replicaJoined({ partitions: [partition], sources: [source] });
    operator.wants(source, { state: 'running' });
    board.events.sourceStarted({ ...PLACE, secondsToNextWalk: null });
    board.events.attemptFailed(FAILED);
    assert.notEqual(first()?.trouble?.since, since, String(end));
    board.events.polled(POLL);
  }
});

test('a source that comes back to a process has nothing of its earlier time there', async (t) => {
  const { scene, board, first } = await pageScene(t);
  const { partition = -1 } = first() ?? {};
  board.events.writerLost({ partition, err: BUSY });
  for (const partitions of [[], [partition]]) {
    scene.now += 3_600_000;
    board.events.replicaJoined({ partitions, sources: [] });
  }
  assert.deepEqual([first()?.writerTrouble, first()?.ownedAt], [null, '2026-03-01T12:00:00.000Z']);
  board.events.attemptFailed({ ...FAILED, part: 'replicas' });
  scene.now += 3_600_000;
  board.events.replicaJoined({ partitions: [partition], sources: [] });
  assert.equal(first()?.ownedAt, '2026-03-01T12:00:00.000Z', 'it has only joined the group again');
});

test('an end of the stream that an outage follows is not shown as of now', async (t) => {
  const { board, page } = await pageScene(t);
  board.events.polled({ ...POLL, caughtUp: false, providerEndsAt: '6-1' });
  assert.match(await page(), /stream ends at 6-1, before our offset 7-1/);
  board.events.attemptFailed(FAILED);
  assert.doesNotMatch(await page(), /stream ends at/);
});

test('a registry that is away is no failure of the requests of the list', async (t) => {
  const { board, first } = await pageScene(t);
  const away = new ConnectorError('REGISTRY_UNREACHABLE', 'It is away.');
  board.events.attemptFailed({ ...FAILED, endpoint: 'instruments', err: away });
  assert.equal(first()?.trouble?.part, 'records of the list');
});

test('events that repeat are written, and no instrument is', async (t) => {
  const { board, first } = await pageScene(t);
  for (const isAgain of [false, true])
    board.events.streamCommitted({ source, items: 3, deadLetters: 0, isAgain } as never);
  const { instruments, items } = first()?.written ?? {};
  assert.deepEqual([instruments, items], [3, 6]);
});

test('a replica knows no age of what an operator has asked of the source of another replica', async (t) => {
  const { scene, board, operator, page } = await pageScene(t);
  board.events.replicaJoined({ partitions: [], sources: [] });
  for (const state of ['stopped', 'paused'] as const) {
    operator.wants(source, { state });
    scene.now += 60_000;
    assert.match(
      (await page()).replace(/<[^>]*>/g, ' '),
      new RegExp(`instruments[^.]*${state} +as requested`, 'i'),
      state,
    );
  }
});

test('after a restart of the connector nothing is known of the age of a rest that lasts', async (t) => {
  const { scene, board, operator, page } = await pageScene(t, { isReady: false });
  const text = async () => (await page()).replace(/<[^>]*>/g, ' ');
  operator.wants(source, { state: 'paused' });
  board.events.sourceStarted({ ...PLACE, secondsToNextWalk: null });
  board.events.sourcePaused({ source });
  scene.now += 60_000;
  assert.match(await text(), /paused +as requested/i);
  operator.wants(source, { state: 'running' });
  board.events.sourceResumed({ source });
  board.events.polled(POLL);
  operator.wants(source, { state: 'paused' });
  board.events.sourcePaused({ source });
  scene.now += 60_000;
  assert.match(await text(), /paused +for 1 min/i, 'this process saw when it began');
  board.events.sourceStopped({ source });
  board.events.sourceStarted({ ...PLACE, secondsToNextWalk: null });
  board.events.sourcePaused({ source });
  scene.now += 60_000;
  assert.match(await text(), /paused +for 2 min/i, 'the writer was opened again meanwhile');
  operator.wants(source, { state: 'running' });
  board.events.sourceResumed({ source });
  operator.wants(source, { state: 'paused' });
  board.events.sourcePaused({ source });
  scene.now += 60_000;
  assert.match(await text(), /paused +for 1 min/i, 'a new pause');
});

test('what a source knew before a rest or another offset is not shown as of now', async (t) => {
  const { scene, board, operator, page, first, alarms } = await pageScene(t);
  board.events.polled(POLL);
  assert.equal(first()?.caughtUp, true);
  board.events.sourcePaused({ source });
  board.events.sourceResumed({ source });
  assert.equal(first()?.caughtUp, null, 'after a pause');
  operator.wants(source, { state: 'stopped' });
  board.events.sourceStopped({ source });
  assert.match(await page(), /Offset at its stop.*Retention of this offset/s, 'an operator may have set another');
  board.events.responseDiscarded({ source, why: 'refused' } as never);
  scene.now += 86_400_000;
  assert.match(await page(), /the provider refused the offset, at first at 2026-03-01 10:00:00 UTC/);
  assert.deepEqual(alarms(), [], 'an operator has stopped it, and may have set another offset');
  board.events.sourceStarted({ ...PLACE, secondsToNextWalk: null });
  assert.notEqual(first()?.refusedAt, null, 'the same offset');
  board.events.sourceStarted({ ...PLACE, since: '8-1', secondsToNextWalk: null });
  assert.equal(first()?.refusedAt, null, 'another offset was never refused');
});
