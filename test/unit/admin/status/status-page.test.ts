import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ago, durationText } from '../../../../src/admin/texts.ts';
import { ConnectorError } from '../../../../src/errors.ts';
import { makeReady, startAdminScene } from '../../../support/connectors/admin-scene.ts';

/** With spaces where lines may not end, too. */
const pageOf = async (answer: Response) => (await answer.text()).replaceAll('\u00a0', ' ');
const asPage = { headers: { accept: 'text/html,application/xhtml+xml' } };

test('after a restart the page shows the walk and the next one from the committed offset', async (t) => {
  const scene = await startAdminScene(t);
  const { board } = scene;
  const source = 'instruments';
  const startedAt = '2026-03-01T08:00:00.000Z';
  const place = { source, since: '7-1', secondsToRetentionCliff: 600_000 };
  const walk = { walk: 41, startedAt, pages: 50, rows: 50_000, gone: 19 };
  board.events.sourceStarted({ ...place, secondsToNextWalk: 79_200, walk });
  scene.now += 60_000;
  const page = await pageOf(await scene.ask('/', asPage));
  assert.match(page, /no\. 41: 50,000 rows in 50 pages, 19 gone, complete, begun 2 h 1 min ago/);
  assert.match(page, /<dt>Next walk<\/dt><dd>in 21 h 59 min<\/dd>/);
  // The next walk then has an end that is known.
  board.events.walkStarted({ source, walk: 42, since: '7-1', why: 'due', waitMs: 0 });
  assert.deepEqual(board.status().sources[0]?.walk?.expectedRows, 50_000);
  assert.notEqual(board.status().sources[0]?.secondsToNextWalk, null);
  board.events.sourceFailed({ source, err: new Error('x') });
  assert.equal(board.status().sources[0]?.secondsToNextWalk, null, 'it walks only when it runs again');
});

test('a walk that was interrupted by the restart goes on with the rows of before', async (t) => {
  const { board } = await startAdminScene(t);
  const source = 'instruments';
  const startedAt = '2026-03-01T09:00:00.000Z';
  board.events.walkResumed({ source, walk: 3, pages: 20, cursor: '9', waitMs: 0 });
  const walk = { walk: 3, startedAt, pages: 20, rows: 20_000, gone: null };
  board.events.sourceStarted({ source, since: '7-1', secondsToRetentionCliff: null, secondsToNextWalk: null, walk });
  board.events.pageCommitted({ source, page: 21, rows: 1_000, records: 0, deadLetters: 0 } as never);
  const { rows, pages, running, startedAt: shown } = board.status().sources[0]?.walk ?? {};
  assert.deepEqual([rows, pages, running, shown], [21_000, 21, true, startedAt]);
  assert.equal(board.status().sources[0]?.secondsToNextWalk, null);
});

test('a walk that waits for the list says how long and why, until it reads on', async (t) => {
  const scene = await startAdminScene(t);
  const { board } = scene;
  makeReady(scene);
  const source = 'instruments';
  const page = async () => pageOf(await scene.ask('/', asPage));
  const waiting = /no\. 3 running: .*, reads the list in 8 min, since the list may lag the stream</;
  board.events.walkStarted({ source, walk: 3, since: '7-1', why: 'requested', waitMs: 540_000 });
  scene.now += 60_000;
  assert.match(await page(), waiting);
  board.events.pageCommitted({ source, page: 1, rows: 1_000, records: 0, deadLetters: 0 } as never);
  assert.doesNotMatch(await page(), /reads the list/);
  board.events.walkResumed({ source, walk: 3, pages: 1, cursor: '9', waitMs: 540_000 });
  scene.now += 60_000;
  assert.match(await page(), waiting);
  scene.now += 480_000;
  assert.doesNotMatch(await page(), /reads the list/);
});

test('whatever is shown is escaped, and no secret is', async (t) => {
  const scene = await startAdminScene(t);
  const { board } = scene;
  makeReady(scene);
  board.events.sourceFailed({ source: 'checks', err: new Error('<script>alert("1")</script> hunter2 \u001b[2J') });
  board.events.notified({ source: '<img src=x>', kind: 'gapProven', text: 'Events are lost. <b>hunter2</b>' });
  board.events.attemptFailed({ source: 'instruments', failures: 2, waitMs: 5_000, err: new Error('<i>no</i>') });
  const page = await pageOf(await scene.ask('/', asPage));
  assert.doesNotMatch(page, /<script|<img|<i>|<b>|hunter2/);
  assert.ok(!page.includes('\u001b'));
  assert.match(page, /&lt;script&gt;alert\(&quot;1&quot;\)&lt;\/script&gt; \[redacted\]/);
  assert.match(page, /<h1>p&lt;q<\/h1>/);
  assert.match(page, /Events are lost\. &lt;b&gt;\[redacted\]&lt;\/b&gt;/);
  assert.match(page, /2 failures in a row, next try in 5 s\./);
  assert.match(page, /not ready/);
});

test('the page shows how far each source is', async (t) => {
  const scene = await startAdminScene(t);
  const { board } = scene;
  makeReady(scene);
  const source = 'instruments';
  const poll = { source, since: '7-1', secondsToRetentionCliff: 3_600, rows: 0, caughtUp: false, durationMs: 1 };
  board.events.polled({ ...poll, endpoint: 'events' });
  board.events.walkStarted({ source, walk: 3, since: '7-1', why: 'due', waitMs: 0 });
  board.events.notified({ source, kind: 'shrinkRefused', text: 'Far fewer instruments than before.' });
  scene.now += 65_000;
  const page = await pageOf(await scene.ask('/', asPage));
  for (const part of ['behind', '7-1', '1 min 5 s ago', 'kept for 58 min 55 s', 'no. 3 running', 'shrink refused']) {
    assert.ok(page.includes(part), `${part} is missing`);
  }
  const { sources } = (await (await scene.ask('/status.json')).json()) as { sources: Record<string, unknown>[] };
  const { secondsToRetentionCliff, caughtUp, lastPollAt } = sources[0] ?? {};
  assert.deepEqual([secondsToRetentionCliff, caughtUp, lastPollAt], [3_535, false, '2026-03-01T10:00:00.000Z']);
});

test('a walk goes on counting when its writer is opened again, and shows how much there will be from the last one', async (t) => {
  const scene = await startAdminScene(t);
  const { board } = scene;
  const source = 'instruments';
  const walk = () => board.status().sources[0]?.walk;
  const page = {
    records: 8,
    unchanged: 1,
    deadLetters: 1,
    repeatedRows: 0,
    deadLettersTooLarge: 0,
    deadLettersWithoutKey: 0,
    drift: 0,
    roundedNumbers: 0,
  };
  const sizes = { duplicateKeys: 0, jsonBytes: 1, fetchMs: 1, commitMs: 1, cursor: null };
  const commit = (number: number) => board.events.pageCommitted({ source, page: number, rows: 10, ...page, ...sizes });
  const started = { source, since: '1-1', secondsToRetentionCliff: null };
  board.events.sourceStarted(started);
  board.events.walkStarted({ source, walk: 1, since: '1-1', why: 'first', waitMs: 0 });
  commit(1);
  board.events.sourceFailed({ source, err: new Error('x') });
  assert.equal(walk()?.running, false, 'it stands');
  assert.match(await pageOf(await scene.ask('/', asPage)), /no\. 1 not running: 10 rows in 1 page,/);
  board.events.sourceStarted(started);
  board.events.walkResumed({ source, walk: 1, pages: 1, cursor: '9', waitMs: 0 });
  commit(2);
  assert.deepEqual([walk()?.rows, walk()?.pages, walk()?.running, walk()?.expectedRows], [20, 2, true, null]);
  const result = { added: 16, corrected: 0, unchanged: 2, reEncoded: 0, gone: 4, deadLetters: 2, durationMs: 5 };
  board.events.walkCompleted({ source, walk: 1, resumed: true, pages: 2, rows: 20, ...result });
  assert.deepEqual([walk()?.running, walk()?.gone], [false, 4]);
  board.events.walkStarted({ source, walk: 2, since: '1-1', why: 'due', waitMs: 0 });
  assert.deepEqual([walk()?.rows, walk()?.expectedRows], [0, 20]);
  assert.deepEqual(board.status().sources[0]?.written, { instruments: 20, items: 0, deadLetters: 2 });
});

test('what needs somebody stands first, and how many do what is reported above', async (t) => {
  const scene = await startAdminScene(t);
  const { board } = scene;
  makeReady(scene);
  const cards = async () => {
    const page = await pageOf(await scene.ask('/', asPage));
    return {
      page,
      names: [...page.matchAll(/<h3>(\S+) <span class="badge ([a-z]*)">([^<]*)/g)].map((match) => match.slice(1)),
    };
  };
  const calm = await cards();
  assert.deepEqual(calm.names[0], ['instruments', 'good', 'RUNNING']);
  assert.match(calm.page, /2 sources: 2 running</);
  board.events.attemptFailed({
    source: 'instruments',
    failures: 2,
    waitMs: 5_000,
    err: new ConnectorError('PROVIDER_BUSY', 'The provider answered with 503.'),
  });
  board.events.sourceFailed({ source: 'checks', err: new ConnectorError('OFFSET_UNREADABLE', 'It is no offset.') });
  const { page, names } = await cards();
  assert.deepEqual(names.slice(0, 2), [
    ['checks', 'bad', 'FAILED'],
    ['instruments', 'wait', 'RUNNING, retrying'],
  ]);
  assert.match(page, /2 sources: 1 running, 1 failed</);
  assert.match(page, /<li><span class="badge bad">no<\/span><span>source checks: failed/);
  assert.ok(page.indexOf('source checks: failed') < page.indexOf('process: running'));
});

test('what another replica runs is shown from the groups and the topics, with nothing of what was seen here before', async (t) => {
  const scene = await startAdminScene(t);
  const { board } = scene;
  makeReady(scene);
  const poll = { source: 'instruments', since: '7-1', secondsToRetentionCliff: 9, rows: 0, durationMs: 1 };
  board.events.polled({ ...poll, caughtUp: false, endpoint: 'events' });
  const [instruments, checks] = board.status().sources.map(({ partition }) => partition);
  const own = checks ?? -1;
  const page = async () => pageOf(await scene.ask('/', asPage));
  board.events.replicaJoined({ partitions: [own], sources: ['checks'] });
  const unknown = await page();
  assert.match(unknown, /Another replica runs it\./);
  assert.doesNotMatch(unknown, /replicas|Runs at/);
  const priced = (partition: number) => ({ topic: 'p.instruments', partition });
  const assigned = { transactionalId: 'x', offset: '0', instruments: 1, durationMs: 1 };
  board.events.processorJoined({ partitions: 1 });
  board.events.partitionAssigned({ ...priced(0), ...assigned });
  scene.whole = {
    sources: [
      { host: '10.0.0.1', partitions: [{ topic: 'p.offsets', partition: own }] },
      { host: '10.0.0.2', partitions: [{ topic: 'p.offsets', partition: instruments ?? -1 }] },
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
    '2 replicas run sources; this one runs 1 of 2; 4 replicas price; this one has 1 of 4 partitions',
    '<dt>Runs at</dt><dd>10.0.0.2</dd>\n<dt>Offset</dt><dd>8-1</dd>',
    '<dt>At 10.0.0.2</dt><dd>2 partitions (1, 2), each with a price of the last 1 min</dd>',
    '<dt>At 10.0.0.3</dt><dd>1 partition (3), one without a price</dd>',
    '<dt>At 10.0.0.4</dt><dd>0 partitions</dd>',
  ]) {
    assert.ok(shown.includes(part), `${part} is missing`);
  }
  assert.doesNotMatch(shown, /Last poll<\/dt><dd><time datetime|At 10\.0\.0\.1|7-1/);
});

test('bars are as high as their shares, a single price shows, and ages end one step beside the last ones', async (t) => {
  const scene = await startAdminScene(t);
  const { board } = scene;
  const counts = [
    [1, 0],
    [2, 0],
    [5, 10],
    [45, 50],
    [60, 51],
    [90, 51],
    [129_600, 51],
    [Number.POSITIVE_INFINITY, 51],
  ];
  const ages = counts.map(([seconds = 0, instruments = 0]) => ({ atMostMs: seconds * 1_000, instruments }));
  const none = { waiting: 0, repaid: 0, overdue: 0, pulled: 0, failing: {} };
  const overview = { ...none, kind: 'overview', priced: 51, ages, ageP50Ms: 1, ageP99Ms: 1 } as never;
  const fresh = { kinds: [overview], instruments: 51, unreadable: 0, pulled: 0, unansweredInputs: 0, lag: 0 } as never;
  board.events.processorStarted({ groupId: 'g', topics: ['i'], kinds: ['overview'], freshness: () => fresh });
  for (const records of [4, 0, 8, 2, 3]) {
    board.events.batchPriced({ records, deadLetters: 1, deadLettersOfRepaid: 7 } as never);
    scene.now += 60_000;
  }
  const page = await pageOf(await scene.ask('/', asPage));
  const [byAge = '', byMinute = ''] = page.split('<svg class="chart"').slice(1);
  const bars = (chart: string) =>
    [...chart.matchAll(/<rect x="([\d.]+)%" y="[\d.]+" width="[\d.]+%" height="([\d.]+)"/g)].map((found) =>
      found.slice(1).map(Number),
    );
  assert.deepEqual(bars(byAge), [
    [20, 14],
    [40, 56],
    [60, 1.5],
  ]);
  assert.deepEqual(
    [...byAge.matchAll(/text-anchor="end">([^<]*)/g)].map(([, name]) => name),
    ['2 s', '5 s', '45 s', '1 min', '90 s'],
  );
  assert.match(byAge, /<th scope="row">at most 90 s<\/th><td>0</);
  assert.deepEqual(
    bars(byMinute).map(([, height]) => height),
    [28, 56, 14, 21],
  );
  assert.ok((bars(byMinute).at(-1)?.[0] ?? 0) > 96, 'the newest minute stands at the end');
  assert.match(byMinute, /30 min ago/);
  assert.match(page, /<dt>Dead letters<\/dt><dd><span class="badge wait">5, and 35 of repaid products<\/span>/);
  assert.match(page, /3 in the last whole minute, 0 since; 3\.4 on average and at most 8 since the start 5 min ago/);
});

test('the processor shows how fresh its prices are', async (t) => {
  const scene = await startAdminScene(t);
  const { board } = scene;
  const ages = { ageP50Ms: 30_000, ageP99Ms: 61_000, ageMaxMs: 90_000, ages: [] };
  const failing = { 'status 404': 5, none: 1_000 };
  const fresh = { ...ages, priced: 180, waiting: 0, repaid: 15, overdue: 3, pulled: 2, failing };
  const overview = { ...fresh, kind: 'overview' } as const;
  const daily = {
    ...fresh,
    kind: 'daily',
    priced: 17,
    waiting: 1_183,
    repaid: 0,
    overdue: 1_183,
    failing: {},
  } as const;
  const rest = { instruments: 1_200, unreadable: 42, unansweredInputs: 0, lag: 7 };
  const freshness = () => ({ ...overview, kinds: [overview, daily], ...rest });
  board.events.processorStarted({ groupId: 'g', topics: ['i'], kinds: ['overview'], freshness });
  board.events.processorJoined({ partitions: 0 });
  const page = await pageOf(await scene.ask('/', asPage));
  for (const part of [
    '<dt>Instruments</dt><dd>1,200</dd>',
    '<dt>Prices overview</dt><dd>180 priced, 1,005 failing, 15 repaid</dd>',
    'half below 30 s, 99 % below 1 min 1 s',
    '7 records',
    '1,005 (none: 1,000, status 404: 5)',
    '<span class="badge bad">42</span>',
    '<dt>Prices daily</dt><dd>17 priced, 1,183 not requested by this process yet</dd>',
    '<dt>Overdue daily</dt><dd><span class="badge bad">1,183</span></dd>',
  ]) {
    assert.ok(page.includes(part), `${part} is missing`);
  }
});

test('all that goes to the notifications topic is reported: completed walks and failed sources too', async (t) => {
  const { board } = await startAdminScene(t);
  const walk = { walk: 1, resumed: false, pages: 1, rows: 2, added: 2, corrected: 0, unchanged: 0, reEncoded: 0 };
  board.events.walkCompleted({ source: 'instruments', ...walk, gone: 0, deadLetters: 0, durationMs: 5 } as never);
  board.events.notified({ source: 'instruments', kind: 'shrinkRefused', text: 'Far fewer instruments than before.' });
  board.events.sourceFailed({
    source: 'instruments',
    err: new ConnectorError('OFFSET_UNREADABLE', 'It is no offset.'),
  });
  assert.deepEqual(
    board.status().notifications.map(({ kind }) => kind),
    ['sourceFailed', 'shrinkRefused', 'walkCompleted'],
  );
  const [failed, shrunk, walked] = board.status().notifications.map(({ text }) => text);
  assert.match(failed ?? '', /^OFFSET_UNREADABLE: It is no offset\.\n/);
  assert.equal(shrunk, 'Far fewer instruments than before.');
  assert.equal(walked, 'Walk 1: 2 rows, 2 added, 0 corrected, 0 gone.');
});

test('lengths of time are reported in their two largest units', () => {
  const shown = [0, 0.4, 59, 60, 3_599, 3_600, 86_399, 86_400, 604_799, -90].map(durationText);
  assert.deepEqual(shown, [
    '0 s',
    '0 s',
    '59 s',
    '1 min',
    '59 min 59 s',
    '1 h',
    '23 h 59 min',
    '1 d',
    '6 d 23 h',
    '−1 min 30 s',
  ]);
  assert.equal(ago('2026-01-01T00:00:10Z', '2026-01-01T00:00:00Z'), '0 s ago');
});

test('with Kafka silent the page says so first and since when, and what it shows of a source is as of then', async (t) => {
  const scene = await startAdminScene(t);
  const { board } = scene;
  makeReady(scene);
  const poll = { source: 'instruments', since: '7-1', secondsToRetentionCliff: 600_000, rows: 0, durationMs: 1 };
  board.events.polled({ ...poll, endpoint: 'events', caughtUp: true });
  const page = async () => pageOf(await scene.ask('/', asPage));
  assert.match(await page(), /caught up<\/dd>/);
  assert.doesNotMatch(await page(), /role="alert"/);
  scene.kafkaAnsweredMs = scene.now;
  scene.now += 80_000;
  // The provider goes on to answer, and there is nothing to commit.
  board.events.polled({ ...poll, endpoint: 'events', caughtUp: true });
  const err = new ConnectorError('TRANSACTION_FAILED', 'a request got no response');
  board.events.writerLost({ partition: board.status().sources[1]?.partition ?? -1, err });
  board.events.attemptFailed({ source: 'checks', failures: 2, waitMs: 1_000, err });
  scene.kafkaAnsweredMs = scene.now - 8_900;
  assert.match(await page(), /kafka: answered 9 s ago; from 10 s on it counts as silent/);
  scene.kafkaAnsweredMs = scene.now - 80_000;
  const silent = await page();
  assert.doesNotMatch(silent, /class="note wait"/, 'no card blames anything else');
  assert.match(silent, /<\/header>\n<p class="note bad" role="alert">Kafka has not answered for 1 min 20 s: nothing/);
  assert.match(silent, /caught up as of 10:00:00 UTC/);
  board.events.polled({ ...poll, endpoint: 'events', caughtUp: false });
  assert.match(
    await page(),
    /behind<[\s\S]*<rect class="plain" width="99.21%"/,
    'the bar of a source that is not read',
  );
  board.events.polled({ ...poll, endpoint: 'events', caughtUp: true });
  assert.match(silent, /RUNNING, waiting for Kafka<\/span><span class="soft">for 1 min 20 s</);
  const [, cards = ''] = silent.split('class="cards"');
  assert.doesNotMatch(cards, /class="(?:badge )?good"/);
  const [source] = board.status().sources;
  assert.deepEqual([source?.caughtUp, source?.caughtUpAt], [null, '2026-03-01T10:00:00.000Z']);
  // It has left its groups, as any other replica has.
  board.events.attemptFailed({ source: 'replicas', failures: 1, waitMs: 1_000, err });
  board.events.processorAttemptFailed({ failures: 1, waitMs: 1_000, err, isMember: false });
  const left = await page();
  assert.equal([...left.matchAll(/>WAITING FOR KAFKA<\/span><span class="soft">for 1 min 20 s</g)].length, 3);
  assert.doesNotMatch(left, /unassigned/i);
  assert.match(left, /2 sources: 2 waiting for Kafka</);
  const { checks } = board.status();
  assert.deepEqual(
    checks.filter(({ ok }) => !ok).map(({ name, why }) => [name, why]),
    [
      ['kafka', 'has not answered since 10:00:00 UTC'],
      ...['source instruments', 'source checks', 'prices'].map((name) => [name, 'waits for Kafka']),
    ],
  );
});

test('behind stays behind, whatever fails; caught up is not known while the source does not read', async (t) => {
  const scene = await startAdminScene(t);
  const { board, operator } = scene;
  makeReady(scene);
  const source = 'instruments';
  const poll = { source, since: '7-1', secondsToRetentionCliff: 600_000, rows: 0, durationMs: 1 };
  const caughtUp = () => board.status().sources[0]?.caughtUp;
  const err = new ConnectorError('PROVIDER_BUSY', 'The provider answered with 503.');
  for (const [was, shown] of [
    [true, null],
    [false, false],
  ] as const) {
    board.events.polled({ ...poll, endpoint: 'events', caughtUp: was });
    assert.equal(caughtUp(), was);
    board.events.attemptFailed({ source, endpoint: 'instruments', failures: 1, waitMs: 1_000, err });
    assert.equal(caughtUp(), was, 'the stream goes on beside the list');
    board.events.attemptFailed({ source, failures: 1, waitMs: 1_000, err });
    assert.equal(caughtUp(), shown);
  }
  scene.now += 60_000;
  assert.equal(board.status().alarms[0]?.text, 'Retrying for 1 min (PROVIDER_BUSY): source instruments.');
  board.events.polled({ ...poll, endpoint: 'events', caughtUp: true });
  assert.deepEqual(board.status().alarms, []);
  operator.wants(source, { state: 'paused' });
  board.events.sourcePaused({ source });
  assert.equal(caughtUp(), null);
  board.events.sourceFailed({ source, err });
  scene.now += 120_000;
  const text = 'Failed 2 min ago (PROVIDER_BUSY), waits for an operator: source instruments.';
  assert.equal(board.status().alarms[0]?.text, text);
});

test('an offset that the provider refuses is said, and no retention is claimed until the stream is read again', async (t) => {
  const scene = await startAdminScene(t);
  const { board } = scene;
  makeReady(scene);
  const source = 'instruments';
  const poll = { source, since: '7-1', secondsToRetentionCliff: 600_000, rows: 0, caughtUp: true, durationMs: 1 };
  const page = async () => pageOf(await scene.ask('/', asPage));
  board.events.polled({ ...poll, endpoint: 'events' });
  assert.match(await page(), /unread events are kept for 6 d 22 h/);
  board.events.responseDiscarded({ source, why: 'refused' });
  scene.now += 90_000;
  board.events.responseDiscarded({ source, why: 'refused' });
  board.events.polled({ ...poll, endpoint: 'instruments' });
  const refused = await page();
  assert.match(refused, /role="alert">The provider has refused the offset for 1 min 30 s: source instruments\.</);
  assert.match(refused, /<span class="badge wait">the provider refuses the offset since 10:00:00 UTC</);
  const [card = ''] = refused.split('</article>');
  assert.doesNotMatch(card, /are kept for|caught up/);
  board.events.polled({ ...poll, endpoint: 'events' });
  assert.doesNotMatch(await page(), /refuse/);
});

test('what all retry for one reason is one line, with the age of the oldest trouble; each card has its own age', async (t) => {
  const scene = await startAdminScene(t);
  const { board } = scene;
  makeReady(scene);
  scene.now += 3_600_000;
  const err = new ConnectorError('PROVIDER_BUSY', 'The provider answered with 500.');
  board.events.attemptFailed({ source: 'instruments', failures: 1, waitMs: 1_000, err });
  board.events.bulkAttemptFailed({ kind: 'overview', items: 5, failures: 1, waitMs: 1_000, err });
  scene.now += 60_000;
  const refused = new ConnectorError('PROVIDER_REFUSED', 'The provider answered with 403.');
  board.events.attemptFailed({ source: 'checks', failures: 1, waitMs: 1_000, err: refused });
  scene.now += 30_000;
  assert.deepEqual(
    board.status().alarms.map(({ text }) => text),
    [
      'Retrying for 1 min 30 s (PROVIDER_BUSY): source instruments, the price processor.',
      'Retrying for 30 s (PROVIDER_REFUSED): source checks.',
    ],
  );
  const ages = [
    ...(await pageOf(await scene.ask('/', asPage))).matchAll(/retrying<\/span><span class="soft">([^<]*)/g),
  ];
  assert.deepEqual(
    ages.map(([, age]) => age),
    ['for 1 min 30 s', 'for 30 s', 'for 1 min 30 s'],
  );
});

test('without its group a replica runs no source, and says why', async (t) => {
  const scene = await startAdminScene(t);
  const { board } = scene;
  makeReady(scene);
  board.events.replicaJoined({ partitions: board.status().sources.map(({ partition }) => partition), sources: [] });
  makeReady(scene);
  const err = new ConnectorError('KAFKA_UNREACHABLE', 'The member could not go on.');
  board.events.attemptFailed({ source: 'replicas', failures: 1, waitMs: 1_000, err });
  const { sources, checks, ready } = board.status();
  for (const { task, owned } of sources) assert.deepEqual([task, owned], ['unassigned', null]);
  assert.equal(ready, false);
  assert.match(checks.find(({ name }) => name === 'source checks')?.why ?? '', /: KAFKA_UNREACHABLE: The member could/);
});
