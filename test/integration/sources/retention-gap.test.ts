import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { SimulatorOptions } from '../../../src/dev/simulator/options.ts';
import type { Simulator } from '../../../src/dev/simulator/simulator.ts';
import { systemClock } from '../../../src/support/clock.ts';
import { type Installation, installation } from '../../support/connectors/installation.ts';
import { DAY_MS } from '../../support/connectors/memory-scene.ts';
import type { RunningConnector } from '../../support/connectors/running-connector.ts';
import { fenceSource } from '../../support/ledgers/at-rest.ts';
import type { RecordedEvent } from '../../support/ledgers/recorded-events.ts';
import { universeViolations } from '../../support/ledgers/universe-log.ts';
import {
  notificationsOn,
  offsetsOn,
  tombstoneIds,
  universeOnTopics,
} from '../../support/ledgers/universe-on-topics.ts';
import { ledgerEvents, ledgerUniverse } from '../../support/ledgers/universe-reading.ts';

const AWAY_MS = 8 * DAY_MS;
const GAP_PROOF_MS = 1_000;
const INSTRUMENTS = 600;
/** The clock goes on while the connector starts and proves the gap, on a slow machine for minutes. */
const SLACK_MS = 600_000;
/** The walk that is due by time alone would hide one that a gap does not begin. */
const SOURCE = { gapProof: `${GAP_PROOF_MS}ms`, behindLimit: '3s', walkInterval: '365d' };

interface Scene extends Omit<Installation, 'start'> {
  /** The universe before anything happened. */
  readonly first: ReadonlyMap<string, string>;
  start(): Promise<RunningConnector>;
}

async function sceneOrSkip(t: TestContext, options: SimulatorOptions): Promise<Scene | undefined> {
  const at = await installation(t, { simulator: { instruments: INSTRUMENTS, ...options }, source: SOURCE });
  if (!at) return undefined;
  const overrides = { clock: { ...systemClock, wallMs: () => at.simulator.wallMs() } };
  return { ...at, first: await ledgerUniverse(at.simulator), start: () => at.start({ overrides }) };
}

const ids = (simulator: Simulator) => [...simulator.ledger.instruments()].map(({ id }) => id);
const isNotified = (kind: string) => (seen: readonly RecordedEvent[]) =>
  seen.some(({ name, fields }) => name === 'notified' && fields.kind === kind);
/** The newest walk that began is complete. */
const isWalked = (seen: readonly RecordedEvent[]) => {
  const begun = seen.findLastIndex(({ name }) => name === 'walkStarted');
  return begun >= 0 && seen.findLastIndex(({ name }) => name === 'walkCompleted') > begun;
};
const isCommitted = (offset: string | null) => (seen: readonly RecordedEvent[]) =>
  seen.some(({ name, fields }) => name === 'streamCommitted' && fields.since === offset);

/** Changes of instruments, by position in the universe; gives the offset of the last event. */
function change(simulator: Simulator, from: number, to: number): string | null {
  const some = ids(simulator).slice(from, to);
  return some.map((id) => simulator.publish({ kind: 'datachange', id }).offset).at(-1) ?? null;
}

/** The connector has walked and followed some events, and stops; gives the offset where it stands. */
async function followedUntil({ simulator, start }: Scene): Promise<string> {
  const connector = await start();
  await connector.until('the first walk', isWalked);
  const offset = change(simulator, 0, 20);
  await connector.until('the events of before', isCommitted(offset));
  assert.deepEqual(await connector.stop(), []);
  return offset ?? '';
}

const answers = ['empty', 'emptyNewest', 'oldest', 400, 404, 410] as const;

// Each waits for its proof most of the time, so several run beside each other.
describe('after a retention gap', { concurrency: 4 }, () => {
  for (const expiredSince of answers) {
    test(`away for 8 days, and the old offset gets ${expiredSince}: the topic is the universe again`, async (t) => {
      const scene = await sceneOrSkip(t, { expiredSince });
      if (!scene) return;
      const { simulator, kafka, prefix } = scene;
      const stoodAt = await followedUntil(scene);
      const leftAtMs = simulator.wallMs();

      // Lost for good as events: 4 % of the instruments vanish, some change, some are new.
      const vanished = ids(simulator).slice(100, 124);
      for (const id of vanished) simulator.publish({ kind: 'vanish', id });
      change(simulator, 30, 60);
      for (let count = 0; count < 5; count++) simulator.publish({ kind: 'newissue' });
      simulator.advanceClock(AWAY_MS);
      const backAtMs = simulator.wallMs();
      // Still retained when the connector is back.
      const retained = change(simulator, 50, 80);

      const connector = await scene.start();
      const isServed = expiredSince === 'oldest';
      // Each verification of a fresh start meets an event that is younger than the start.
      simulator.onRequest((endpoint, url) => {
        const isVerification = endpoint === 'events' && url.searchParams.get('since') !== stoodAt;
        if (isVerification && !isServed && !isNotified('gapProven')(connector.seen)) change(simulator, 0, 1);
      });
      await connector.until('the gap', isNotified(isServed ? 'gapSuspected' : 'gapProven'));
      await connector.until('the walk after the gap', isWalked);
      // What comes afterwards is followed as ever, and brings a gone one back.
      const [returned] = vanished;
      const { offset } = simulator.publish({ kind: 'datachange', ...(returned && { id: returned }) });
      await connector.until('the events of afterwards', isCommitted(offset));
      assert.deepEqual(await connector.stop(), []);
      await fenceSource(kafka, prefix);

      const reported = (await notificationsOn(kafka, prefix)).filter(({ kind }) => kind !== 'walk-completed');
      const [suspected, certain, proven, ...others] = reported;
      const events = [...simulator.ledger.events()];
      const placeOf = (offset: unknown) => events.findIndex((event) => event.offset === offset);
      const goesOnAfter = placeOf(proven?.gapSinceTo);
      const due = events.filter(({ publishedAtMs }, at) =>
        isServed ? at <= placeOf(stoodAt) || publishedAtMs >= backAtMs : at <= placeOf(stoodAt) || at > goesOnAfter,
      );
      const dueOffsets = new Set(due.map((event) => event.offset));
      const log = await universeOnTopics({ ...scene, isDue: (event) => dueOffsets.has(event.offset) });
      assert.deepEqual(universeViolations(log), []);
      assert.deepEqual(tombstoneIds(log).toSorted(), vanished.toSorted());

      assert.deepEqual(others, []);
      assert.equal(suspected?.kind, 'retention-gap-suspected');
      assert.equal(suspected.gapSinceFrom, stoodAt);
      assert.match(String(suspected.why), /last confirmed our offset 192 hours ago/);
      // What lies before the last seven days is lost for certain, however the expired offset is answered.
      assert.equal(certain?.kind, 'retention-gap');
      assert.ok(Math.abs(Date.parse(String(certain.gapFrom)) - leftAtMs) < SLACK_MS, String(certain.gapFrom));
      assert.ok(
        Math.abs(Date.parse(String(certain.gapTo)) - (backAtMs - 7 * DAY_MS)) < SLACK_MS,
        String(certain.gapTo),
      );
      assert.deepEqual([certain.gapSinceFrom, certain.gapSinceTo], [stoodAt, null]);
      assert.match(String(certain.why), /not read for 192 hours, and events are kept for 168 hours/);
      assert.match(String(certain.lost), /events of that time/);
      const offsets = await offsetsOn(kafka, prefix);
      const jump = offsets.findIndex(({ offset: { since } }) => since === proven?.gapSinceTo);
      if (isServed) {
        assert.equal(proven, undefined);
        return;
      }
      assert.equal(proven?.kind, 'retention-gap');
      assert.equal(proven.gapSinceFrom, stoodAt);
      // The first fresh start counts, so that nothing of what happens during the proof is lost.
      assert.equal(goesOnAfter, placeOf(retained));
      assert.ok(Math.abs(Date.parse(String(proven.gapFrom)) - leftAtMs) < SLACK_MS, String(proven.gapFrom));
      assert.ok(Math.abs(Date.parse(String(proven.gapTo)) - backAtMs) < SLACK_MS, String(proven.gapTo));
      assert.match(String(proven.lost), /events between the two offsets/);
      assert.match(String(proven.why), typeof expiredSince === 'number' ? /refuses our offset/ : /no events/);

      // From the return to the proof every commit keeps the old offset, and the proof takes its time.
      const kept = offsets.filter(({ offset: { since } }, at) => at < jump && since === stoodAt);
      assert.ok(kept.length >= 2, 'the suspicion was committed with our offset');
      assert.ok(jump > 0 && offsets.slice(0, jump).at(-1)?.offset.since === stoodAt);
      const suspectedAtMs = offsets.find(({ offset: { gapSuspectedFrom } }) => gapSuspectedFrom !== null)?.atMs ?? 0;
      // The suspicion begins before its commit, which a busy broker stamps later.
      assert.ok((offsets[jump]?.atMs ?? 0) - suspectedAtMs >= GAP_PROOF_MS / 2, 'three rounds over gapProof');
    });
  }

  test('away for 8 days while 60 % of the list vanished: nothing is deleted, and a notification asks', async (t) => {
    const scene = await sceneOrSkip(t, { expiredSince: 410 });
    if (!scene) return;
    const { simulator, kafka, prefix } = scene;
    const before = await followedUntil(scene).then(() => ids(simulator));
    const vanished = before.slice(0, INSTRUMENTS * 0.6);
    for (const id of vanished) simulator.publish({ kind: 'vanish', id });
    change(simulator, 0, 5);
    simulator.advanceClock(AWAY_MS);
    const connector = await scene.start();
    await connector.until('the gap', isNotified('gapProven'));
    await connector.until('the refusal', isNotified('shrinkRefused'));
    assert.deepEqual(await connector.stop(), []);
    await fenceSource(kafka, prefix);

    const log = await universeOnTopics({ ...scene, isDue: () => true });
    assert.deepEqual(tombstoneIds(log), []);
    assert.deepEqual(new Set(log.instruments.map(({ key }) => key)), new Set(before));
    const [refused] = (await notificationsOn(kafka, prefix)).filter(({ kind }) => kind === 'shrink-refused');
    assert.deepEqual([refused?.gone, refused?.known], [vanished.length, before.length]);
    const command = `\`spconnect walk instruments --allow-shrink ${Math.ceil(vanished.length * 1.05)}\``;
    assert.ok(String(refused?.message).includes(command), String(refused?.message));
  });

  test('a stream that begins again behind our offset is followed from there once that is proven', async (t) => {
    const scene = await sceneOrSkip(t, {});
    if (!scene) return;
    const { simulator, kafka, prefix } = scene;
    const stoodAt = await followedUntil(scene);
    const before = await ledgerEvents(simulator);
    simulator.resetStream('1000-0');
    const connector = await scene.start();
    await connector.until('the reset', isNotified('streamReset'));
    const offset = change(simulator, 40, 60);
    await connector.until('the events of the new stream', isCommitted(offset));
    // Walks bring what they say, one after the other: the events may have come before.
    const begun = (seen: readonly RecordedEvent[]) => seen.filter(({ name }) => name === 'walkStarted').length;
    const earlier = begun(connector.seen);
    await connector.until('a walk after them', (seen) => begun(seen) > earlier && isWalked(seen));
    assert.deepEqual(await connector.stop(), []);
    await fenceSource(kafka, prefix);

    // The ledger forgets with the stream, and so the test hands it what happened before.
    const log = await universeOnTopics({ ...scene, before, isDue: () => true });
    assert.deepEqual(universeViolations(log), []);
    const reported = (await notificationsOn(kafka, prefix)).filter(({ kind }) => kind !== 'walk-completed');
    assert.deepEqual(
      reported.map(({ kind, gapSinceFrom, gapSinceTo }) => [kind, gapSinceFrom, gapSinceTo]),
      [
        ['stream-behind', stoodAt, '1000-0'],
        ['stream-reset', stoodAt, '1000-0'],
      ],
    );
  });
});
