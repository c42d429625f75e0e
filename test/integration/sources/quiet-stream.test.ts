import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Fault, FaultRule } from '../../../src/dev/simulator/faults/fault.ts';
import type { SimulatorOptions } from '../../../src/dev/simulator/options.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, memoryScene, PREFIX } from '../../support/connectors/memory-scene.ts';
import { universeViolations } from '../../support/ledgers/universe-log.ts';
import { filtered, notificationsOn, offsetsOn, universeOnTopics } from '../../support/ledgers/universe-on-topics.ts';
import { ledgerUniverse } from '../../support/ledgers/universe-reading.ts';

const COUNTRY = 'LI';

type QuietScene = Awaited<ReturnType<typeof createQuietScene>>;

/** A provider of whose instruments few are inside the filter. */
async function createQuietScene(
  t: TestContext,
  options: SimulatorOptions = {},
  source: Readonly<Record<string, string | number>> = {},
) {
  const scene = await memoryScene(t, { instruments: 100, seed: 5, ...options });
  const { simulator, kafka } = scene;
  const inside = filtered(simulator, { legalCountry: COUNTRY });
  const first = await ledgerUniverse(inside);
  assert.ok(first.size > 0 && first.size < 20, `${first.size} instruments are inside the filter`);
  let changes = 0;
  return {
    ...scene,
    async live(ms: number) {
      const connector = await scene.live(ms, {
        legalCountry: COUNTRY,
        pollInterval: '10m',
        emptyCommitInterval: '1h',
        // No walk may commit the offset in the stream's place.
        walkInterval: '365d',
        ...source,
      });
      assert.deepEqual(await connector.ended, []);
      assert.deepEqual([...connector.fieldsOf('sourceFailed'), ...connector.fieldsOf('writerLost')], []);
    },
    /** Something happens to an instrument inside the filter. */
    change() {
      const ids = [...inside.ledger.instruments()].map(({ id }) => id);
      const id = ids[changes++ % ids.length];
      assert.ok(id);
      simulator.publish({ kind: 'datachange', id });
    },
    /** Errors on the topics, and whatever was notified beside complete walks. */
    async outcome() {
      const log = await universeOnTopics({ kafka, prefix: PREFIX, simulator: inside, first, isDue: () => true });
      const reported = await notificationsOn(kafka, PREFIX);
      return {
        violations: universeViolations(log),
        notified: reported.map(({ kind }) => kind).filter((kind) => kind !== 'walk-completed'),
        events: log.events.length,
      };
    },
    offsets: () => offsetsOn(kafka, PREFIX),
  };
}

/** Events of others: the provider filters them out, and the offset moves. */
function othersHappen({ time, simulator }: QuietScene, everyMs: number, untilMs: number, count: number): void {
  const others = [...simulator.ledger.instruments({ legalCountry: 'CH' })].map(({ id }) => id);
  let next = 0;
  for (let atMs = everyMs; atMs <= untilMs; atMs += everyMs) {
    time.after(atMs, () => {
      for (let made = 0; made < count; made++) {
        const id = others[next++ % others.length];
        if (id !== undefined) simulator.publish({ kind: 'datachange', id });
      }
    });
  }
}

/** Of the stream's filter nothing happens, and this provider does not move the offset over what it filters out. */
const STAYS: FaultRule = { match: 'events', count: 0, fault: { kind: 'links', how: 'same' } };

const streams: Record<string, { everyMs: number; count: number; faults: FaultRule[]; options?: SimulatorOptions }> = {
  'whose offset moves without events': { everyMs: HOUR_MS, count: 3, faults: [] },
  'whose offset moves a little per answer': {
    everyMs: 6 * HOUR_MS,
    count: 40,
    faults: [],
    options: { eventScanLimit: 7 },
  },
  'in which nothing happens at all': { everyMs: Number.POSITIVE_INFINITY, count: 0, faults: [] },
  'whose offset stays, at a provider that answers an expired one with nothing,': {
    everyMs: HOUR_MS,
    count: 3,
    faults: [STAYS],
    options: { expiredSince: 'emptyNewest' },
  },
  'whose offset stays, at a provider that echoes an expired one,': {
    everyMs: HOUR_MS,
    count: 3,
    faults: [STAYS],
    options: { expiredSince: 'empty' },
  },
};

for (const [what, { everyMs, count, faults, options }] of Object.entries(streams)) {
  test(`a stream ${what} for 30 days, with a pause every 3 days, is never taken for a gap`, async (t) => {
    const scene = await createQuietScene(t, options, { pollInterval: '30m' });
    const { time, simulator } = scene;
    simulator.injectFaults(faults);
    if (count > 0) othersHappen(scene, everyMs, 30 * DAY_MS, count);
    for (let day = 0; day < 30; day += 5) {
      await scene.live(3 * DAY_MS);
      time.pass(2 * DAY_MS);
    }
    simulator.clearFaults();
    scene.change();
    await scene.live(HOUR_MS);
    assert.deepEqual(await scene.outcome(), { violations: [], notified: [], events: 1 });
  });
}

for (const [what, lagMs] of [
  ['10 minutes', 10 * MINUTE_MS],
  ['3 hours', 3 * HOUR_MS],
  ['20 hours', 20 * HOUR_MS],
] as const) {
  test(`an event comes though the log lags by ${what} and our offset stood still when it was published`, async (t) => {
    const options = { eventLagMs: lagMs, startsAhead: true, staysOverFiltered: true };
    const scene = await createQuietScene(t, options, { pollInterval: '2m' });
    othersHappen(scene, HOUR_MS, 3 * DAY_MS, 1);
    // Published before a fresh offset is asked for, and shown long after.
    scene.time.after(6 * HOUR_MS - MINUTE_MS, scene.change);
    await scene.live(1.5 * DAY_MS);
    assert.deepEqual(await scene.outcome(), { violations: [], notified: [], events: 1 });
    const held = (await scene.offsets()).filter(({ offset: { heldSince } }) => heldSince !== null);
    assert.ok(held.length > 0, 'a fresh offset was held');
    assertRising(await scene.offsets());
  });
}

test('an offset that stood still until it expired, since no fresh one was to be had, is healed and reported', async (t) => {
  const scene = await createQuietScene(t, { expiredSince: 'emptyNewest' });
  const { simulator, time } = scene;
  await scene.live(HOUR_MS);
  othersHappen(scene, HOUR_MS, 9 * DAY_MS, 1);
  simulator.injectFaults([STAYS, { match: 'instruments', count: 0, fault: { kind: 'status', status: 403 } }]);
  // Nothing is reported of these: the offset has expired by then.
  time.after(7.5 * DAY_MS, scene.change);
  // It never stops for long, and is answered each time.
  for (let day = 0; day < 8; day++) {
    time.pass(23 * HOUR_MS);
    await scene.live(HOUR_MS);
  }
  simulator.clearFaults();
  simulator.injectFaults([STAYS]);
  await scene.live(HOUR_MS);
  simulator.clearFaults();
  scene.change();
  await scene.live(HOUR_MS);
  const { violations, notified } = await scene.outcome();
  assert.deepEqual(notified, ['retention-gap-suspected', 'retention-gap']);
  // One event is lost, as was reported; every instrument is right, and the event of another one after it has come.
  assert.equal(violations.length, 1);
  assert.match(violations[0] ?? '', /has 0 events, 1 were due/);
});

const shifts: Record<string, number | null> = {
  '8 days ahead': 8 * DAY_MS,
  '8 days behind': -8 * DAY_MS,
  'unusable, as if it were missing,': null,
};

for (const [what, shiftMs] of Object.entries(shifts)) {
  test(`a Date header that is ${what} for an hour, a restart included, loses nothing and repeats nothing`, async (t) => {
    const scene = await createQuietScene(t);
    const { time, simulator } = scene;
    await scene.live(DAY_MS);
    othersHappen(scene, 20 * MINUTE_MS, 5 * DAY_MS, 1);
    for (let at = 1; at <= 40; at++) time.after(at * 3 * HOUR_MS, scene.change);
    // Before it, during it and after it the connector is started again.
    for (const [from, isWrong] of [false, true, true, false, false].entries()) {
      simulator.clearFaults();
      const date = shiftMs === null ? 'none' : new Date(time.nowMs() + shiftMs).toUTCString();
      if (isWrong) simulator.injectFaults([{ match: '*', count: 0, fault: { kind: 'headers', headers: { date } } }]);
      await scene.live(from === 1 ? 30 * MINUTE_MS : 12 * HOUR_MS);
    }
    simulator.clearFaults();
    await scene.live(5 * DAY_MS);
    const { violations, notified, events } = await scene.outcome();
    assert.deepEqual(violations, []);
    assert.equal(events, 40);
    // A wrong clock may be suspected of a gap, which costs a walk, and nothing more.
    const others = notified.filter((kind) => kind !== 'retention-gap-suspected');
    assert.deepEqual(others, []);
    if (shiftMs === null) assert.deepEqual(notified, []);
    assertRising(await scene.offsets());
  });
}

/** A replica whose stream and list are some events behind, however high the offset that it is asked for. */
function laggingReplica({ simulator }: QuietScene): FaultRule[] {
  const behind = [...simulator.ledger.events()].at(-3)?.offset ?? '';
  const link = JSON.stringify(`${simulator.referenceDataUrl}/v1/instruments/events?since=${behind}`);
  const edits = [
    { pointer: '/events', value: '[]' },
    { pointer: '/nextId', value: JSON.stringify(behind) },
    { pointer: '/links/next', value: link },
  ];
  return [
    { match: 'events', rate: 0.5, fault: { kind: 'edit', edits } },
    { match: 'instruments', rate: 0.5, fault: { kind: 'edit', edits: [{ pointer: '/links/events', value: link }] } },
  ];
}

const refused = (status: number): Fault => ({ kind: 'status', status });
const troubles: Record<string, { minutes: number; rules: (scene: QuietScene) => FaultRule[] }> = {
  // Longer than a proof takes: a fresh start is refused too, which is what distinguishes a deployment from a gap.
  'a 404 from the events endpoint': {
    minutes: 20,
    rules: () => [{ match: 'events', count: 0, fault: refused(404) }],
  },
  'a 404 from everything': { minutes: 20, rules: () => [{ match: '*', count: 0, fault: refused(404) }] },
  'a 404 from one of two replicas': {
    minutes: 4,
    rules: () => [{ match: 'events', rate: 0.5, fault: refused(404) }],
  },
  'a 410 most of the time': { minutes: 4, rules: () => [{ match: 'events', rate: 0.7, fault: refused(410) }] },
  'a replica that lags behind': { minutes: 4, rules: laggingReplica },
};

for (const [what, { minutes, rules }] of Object.entries(troubles)) {
  test(`${what}, for ${minutes} minutes, makes no gap, loses nothing and repeats nothing`, async (t) => {
    const scene = await createQuietScene(t, {}, { pollInterval: '20s' });
    const { time, simulator } = scene;
    for (let at = 1; at <= 60; at++) time.after(at * MINUTE_MS, scene.change);
    time.after(30 * MINUTE_MS + 5_000, () => simulator.injectFaults(rules(scene)));
    time.after((30 + minutes) * MINUTE_MS + 5_000, () => simulator.clearFaults());
    await scene.live(2 * HOUR_MS);
    const struck = Object.values(simulator.faultsStruck()).reduce((sum, times) => sum + times, 0);
    assert.ok(struck >= 3, `the trouble was there ${struck} times`);
    assert.deepEqual(await scene.outcome(), { violations: [], notified: [], events: 60 });
    assertRising(await scene.offsets());
  });
}

for (const beyond of ['back', 'echo', 404] as const) {
  test(`a replica that is behind and answers for six minutes, thrice a day, loses and repeats nothing (${beyond})`, async (t) => {
    const scene = await createQuietScene(t, {}, { pollInterval: '1m', walkInterval: '1h' });
    const { time, simulator } = scene;
    for (let at = 1; at <= 100; at++) time.after(at * 4 * MINUTE_MS, scene.change);
    for (const hour of [1, 3, 5]) {
      time.after(hour * HOUR_MS, () => simulator.failOver({ lagMs: 30 * MINUTE_MS, beyond }));
      time.after(hour * HOUR_MS + 6.5 * MINUTE_MS, () => simulator.failOver(null));
    }
    await scene.live(7 * HOUR_MS);
    const { violations, notified, events } = await scene.outcome();
    assert.deepEqual([violations, events], [[], 100]);
    // A replica that echoes what it does not know looks like a quiet stream.
    const others = notified.filter((kind) => kind !== 'list-lags' && kind !== 'deletion-skipped');
    assert.deepEqual(others, beyond === 'echo' ? [] : ['stream-behind', 'stream-behind', 'stream-behind']);
    assertRising(await scene.offsets());
  });

  test(`one that stays behind for hours is followed after the hour, and no instrument goes back (${beyond})`, async (t) => {
    const scene = await createQuietScene(t, {}, { pollInterval: '2m' });
    const { time, simulator } = scene;
    for (let at = 1; at <= 50; at++) time.after(at * MINUTE_MS, scene.change);
    time.after(HOUR_MS, () => simulator.failOver({ lagMs: 10 * HOUR_MS, beyond }));
    await scene.live(9 * HOUR_MS);
    simulator.failOver(null);
    scene.change();
    await scene.live(2 * HOUR_MS);
    const { violations, notified, events } = await scene.outcome();
    assert.deepEqual(notified, ['stream-behind', 'stream-reset']);
    assert.equal(events, 51 + 50, 'what lies before our offset comes again');
    const others = violations.filter((text) => !/has 3[34] events, 17 were due/.test(text));
    assert.deepEqual(others, []);
  });
}

/** The committed offset never goes back, and never jumps over an event that was not taken: the events show that. */
function assertRising(offsets: Awaited<ReturnType<QuietScene['offsets']>>): void {
  const sinces = offsets.map(({ offset: { since } }) => String(since).split('-').map(Number));
  for (const [at, [ms = 0, sequence = 0]] of sinces.entries()) {
    const [earlierMs = 0, earlierSequence = 0] = sinces[at - 1] ?? [];
    assert.ok(ms > earlierMs || (ms === earlierMs && sequence >= earlierSequence), `offset ${at} went back`);
  }
}
