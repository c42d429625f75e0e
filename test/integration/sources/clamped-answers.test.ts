import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SimulatorOptions } from '../../../src/dev/simulator/options.ts';
import { followingScene, INSTRUMENTS } from '../../support/connectors/following-scene.ts';
import { HOUR_MS, MINUTE_MS } from '../../support/connectors/memory-scene.ts';

const CLAMP = 15;

const providers: Record<string, SimulatorOptions> = {
  'and says so nowhere': { answerClamp: CLAMP, nextIdOf: 'answer' },
  'and says so in links.next only': { answerClamp: CLAMP, namesAnswerClamp: true, nextIdOf: 'answer' },
  'and names the newest offset of its log': { answerClamp: CLAMP, nextIdOf: 'log' },
};

for (const [what, options] of Object.entries(providers)) {
  test(`a provider gives fewer events than are asked for, ${what}: a backlog is read at once, and only its end is caught up`, async (t) => {
    const scene = await followingScene(t, options, { pollInterval: '1h' });
    const { time, simulator, connector, change, reached, violations } = scene;
    await reached(change(1));
    const asked: { since: string | null; maxEvents: string | null; atMs: number }[] = [];
    simulator.onRequest((endpoint, { searchParams }) => {
      if (endpoint !== 'events') return;
      asked.push({ since: searchParams.get('since'), maxEvents: searchParams.get('maxEvents'), atMs: time.nowMs() });
    });
    const [fromMs, polledBefore] = [time.nowMs(), connector.seen.length];
    const last = change(INSTRUMENTS);
    await reached(last);
    // The poll that finds the first of them is the only one that waited: the last answer with events was asked for with it.
    const readMs = (asked.findLast(({ since }) => since !== last)?.atMs ?? Number.NaN) - fromMs;
    assert.ok(readMs < HOUR_MS + MINUTE_MS, `${readMs} ms`);
    await connector.until('the end', (seen) => seen.slice(polledBefore).some(isCaughtUp));
    const polls = connector.seen.slice(polledBefore).filter(({ name }) => name === 'polled');
    const early = polls.filter((poll) => isCaughtUp(poll) && poll.fields.rows > 0 && poll.fields.since !== last);
    assert.deepEqual(early, []);
    const isNamed = options.namesAnswerClamp === true;
    assert.equal(
      asked.filter(({ maxEvents }) => maxEvents === String(CLAMP)).length > 5,
      isNamed,
      'a clamp that is named is learnt',
    );
    assert.deepEqual(await violations(), []);
  });
}

function isCaughtUp({ name, fields }: { readonly name: string; readonly fields: Record<string, unknown> }): boolean {
  return name === 'polled' && fields.caughtUp === true;
}

test('a walk over a list that lags puts nothing back, however few events an answer holds', async (t) => {
  const options: SimulatorOptions = { answerClamp: CLAMP, nextIdOf: 'answer', listLagMs: 3_000 };
  const scene = await followingScene(t, options, { walkInterval: '2h', limit: 50 });
  const { simulator, connector, change, violations } = scene;
  let pages = 0;
  simulator.onRequest((endpoint, url) => {
    // Each page shows its instruments as they were three seconds ago, before all of these.
    if (endpoint === 'instruments' && url.searchParams.get('limit') === '50' && pages++ < 8) change(INSTRUMENTS);
  });
  const walks = connector.fieldsOf('walkCompleted').length;
  await connector.until('another walk', () => connector.fieldsOf('walkCompleted').length > walks);
  assert.ok(pages >= 5, `${pages} pages`);
  assert.deepEqual(await violations(), []);
});

test('a stream in steady operation costs one more request after an answer with events, and none in a quiet hour', async (t) => {
  const { time, simulator, change, reached, violations } = await followingScene(t, {}, { pollInterval: '1m' });
  await reached(change(1));
  const countOver = async (minutes: number, events: number) => {
    const before = simulator.requests.count('events');
    for (let at = 1; at <= minutes; at++) {
      if (events > 0) time.after(at * MINUTE_MS - 30_000, () => change(events));
    }
    const untilMs = time.nowMs() + minutes * MINUTE_MS;
    while (time.nowMs() < untilMs) await new Promise((resolve) => setTimeout(resolve, 1));
    return simulator.requests.count('events') - before;
  };
  // Waits are a twentieth shorter than the interval, by their jitter.
  const quiet = await countOver(60, 0);
  assert.ok(quiet >= 58 && quiet <= 66, `${quiet} requests`);
  const busy = await countOver(60, 5);
  assert.ok(busy >= 116 && busy <= 132, `${busy} requests`);
  await reached(change(1));
  assert.deepEqual(await violations(), []);
});
