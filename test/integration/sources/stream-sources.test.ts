import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { SimulatorOptions } from '../../../src/dev/simulator/options.ts';
import { createSimulator, type Simulator } from '../../../src/dev/simulator/simulator.ts';
import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import { systemClock } from '../../../src/support/clock.ts';
import { type RunningConnector, startConnector } from '../../support/connectors/running-connector.ts';
import {
  expectedChecks,
  expectedEvents,
  type StreamAtRest,
  streamAtRest,
} from '../../support/connectors/stream-source.ts';
import { kafkaOrSkip } from '../../support/kafka/kafka-real.ts';
import { stackOrSkip, uniquePrefix } from '../../support/kafka/stack.ts';
import { eventually } from '../../support/runner/eventually.ts';

const PATIENCE_MS = 300_000;
const STREAMS = {
  events: { name: 'new-issues', type: 'events', topic: 'new-issues' },
  checks: { name: 'checks', type: 'pre-trade-checks', topic: 'pre-trade-checks' },
} as const;
const QUICK = { pollInterval: '100ms', gapProof: '1s', emptyCommitInterval: '1s' };

interface Scene {
  readonly simulator: Simulator;
  start(): Promise<RunningConnector>;
  /** What stands on Kafka, once the connector has stopped. */
  atRest(): Promise<StreamAtRest>;
}

function scene(
  title: string,
  stream: keyof typeof STREAMS,
  options: { readonly simulator?: SimulatorOptions; readonly source?: Record<string, string | number> },
  body: (t: TestContext, scene: Scene) => Promise<void>,
): void {
  test(title, { timeout: 1_200_000 }, async (t) => {
    const stack = await stackOrSkip(t);
    const kafka: KafkaCluster | undefined = (await kafkaOrSkip(t))?.connect();
    if (!stack || !kafka) return;
    const prefix = uniquePrefix('stream');
    const simulator = await createSimulator({ instruments: 60, seed: 5, port: 0, ...options.simulator });
    t.after(() => simulator.close());
    const { name, type, topic } = STREAMS[stream];
    const own = stream === 'events' ? { topics: `{ instrument-events: ${topic} }` } : {};
    const source = { name, type, ...QUICK, ...own, ...options.source };
    await body(t, {
      simulator,
      // Our wall clock is the provider's: of an offset that one of the two alone calls old, nothing is given up soon.
      start: () =>
        startConnector(t, {
          stack,
          simulator,
          prefix,
          source,
          overrides: { clock: { ...systemClock, wallMs: () => simulator.wallMs() } },
        }),
      atRest: () => streamAtRest(kafka, prefix, STREAMS[stream]),
    });
  });
}

function committed(connectors: readonly RunningConnector[]): number {
  return connectors
    .flatMap(({ seen }) => seen)
    .reduce((sum, { fields }) => sum + (fields.items ?? 0) + (fields.deadLetters ?? 0), 0);
}

function valuesOf(records: StreamAtRest['records']): (string | undefined)[][] {
  return records.map((partition) => partition.map(({ value }) => value?.toString('base64')));
}

const inBase64 = (values: readonly (readonly Buffer[])[]) =>
  values.map((partition) => partition.map((value) => value.toString('base64')));

/** No offset is committed that is lower than one before it. */
function assertRising(offsets: StreamAtRest['offsets']): void {
  const positions = offsets.map(({ since }) => String(since).split('-').map(Number));
  for (const [index, [ms = 0, sequence = 0]] of positions.entries()) {
    const [beforeMs = 0, beforeSequence = 0] = positions[index - 1] ?? [];
    assert.ok(ms > beforeMs || (ms === beforeMs && sequence >= beforeSequence), JSON.stringify(offsets));
  }
}

/** What of the ledger an events source must have written that began with this offset. */
function eventTexts(simulator: Simulator, first: StreamAtRest['offsets'][number] | undefined, type?: string): string[] {
  const [ms = 0, sequence = 0] = String(first?.since).split('-').map(Number);
  return [...simulator.ledger.events()]
    .filter(({ offset }) => {
      const [eventMs = 0, eventSequence = 0] = offset.split('-').map(Number);
      return eventMs > ms || (eventMs === ms && eventSequence > sequence);
    })
    .filter((event) => !event.hidden && (type === undefined || event.type === type))
    .map(({ text }) => text);
}

scene(
  'each event of one type stands once and in order on its own topic, from the start of the stream, over a restart',
  'events',
  { simulator: { eventScanLimit: 20, linksForgetFilter: true }, source: { eventType: 'newissue', maxEvents: 5 } },
  async (_t, { simulator, start, atRest }) => {
    simulator.change(50);
    const first = await start();
    await eventually('the start is committed', () => simulator.requests.count('events') > 0, Boolean, PATIENCE_MS);
    simulator.change(400);
    await eventually('something is committed', () => committed([first]) > 0, Boolean, PATIENCE_MS);
    await first.stop();
    simulator.change(400);
    const second = await start();
    const last = [...simulator.ledger.events()].filter(({ hidden }) => !hidden).at(-1)?.offset ?? '';
    await eventually(
      'the stream is read',
      () => simulator.requests.last.at(-1)?.query.includes(last) ?? false,
      Boolean,
      PATIENCE_MS,
    );
    await second.stop();

    const { records, offsets, deadLetters, notifications } = await atRest();
    const texts = eventTexts(simulator, offsets[0], 'newissue');
    assert.ok(texts.length > 20, `${texts.length} events`);
    assert.deepEqual(valuesOf(records), inBase64(await expectedEvents(texts, records)));
    assert.deepEqual([deadLetters.length, notifications.length], [0, 0]);
    assertRising(offsets);
    const { headers } = records.flat()[0] ?? assert.fail();
    assert.deepEqual(
      [headers['spc-source'], headers['spc-endpoint'], 'spc-since' in headers, 'spc-received' in headers],
      ['new-issues', '/v1/instruments/events', true, true],
    );
    for (const { headers: all } of records.flat()) assert.equal(all['spc-event-type'], 'newissue');
  },
);

scene(
  'each pre-trade check stands once and in order on its topic, those from before the first start too, over a restart',
  'checks',
  {},
  async (_t, { simulator, start, atRest }) => {
    const ids = [...simulator.ledger.instruments()].map(({ id }) => id);
    const trigger = (count: number) => {
      for (let made = 0; made < count; made++) simulator.triggerCheck(ids[made % ids.length] ?? '');
    };
    trigger(250);
    const first = await start();
    await eventually('250 checks are committed', () => committed([first]) === 250, Boolean, PATIENCE_MS);
    await first.stop();
    trigger(60);
    const second = await start();
    await eventually('310 checks are committed', () => committed([first, second]) === 310, Boolean, PATIENCE_MS);
    trigger(1);
    await eventually('311 checks are committed', () => committed([first, second]) === 311, Boolean, PATIENCE_MS);
    await second.stop();

    const { records, offsets, notifications } = await atRest();
    const texts = [...simulator.ledger.checks()].map(({ text }) => text);
    assert.deepEqual(valuesOf(records), inBase64(await expectedChecks(texts, records)));
    assert.equal(records.flat().length, 311);
    assert.equal(notifications.length, 0);
    assertRising(offsets);
  },
);

scene(
  'pre-trade checks whose link leads back to where they came from are discarded, asked for again, and come once each',
  'checks',
  {},
  async (_t, { simulator, start, atRest }) => {
    const ids = [...simulator.ledger.instruments()].map(({ id }) => id);
    const trigger = (count: number) => ids.slice(0, count).map((id) => simulator.triggerCheck(id));
    const source = await start();
    trigger(3);
    await eventually('the first checks are committed', () => committed([source]) === 3, Boolean, PATIENCE_MS);
    const { since } = source.seen.find(({ name }) => name === 'streamCommitted')?.fields ?? {};
    trigger(3);
    await eventually('more checks are committed', () => committed([source]) === 6, Boolean, PATIENCE_MS);
    const value = JSON.stringify(`${simulator.referenceDataUrl}/v1/pretradechecks?since=${since}`);
    const edits = [{ pointer: '/links/next', value }];
    simulator.injectFaults([{ match: 'pre-trade-checks', count: 3, fault: { kind: 'edit', edits } }]);
    trigger(3);
    await eventually('all checks are committed', () => committed([source]) >= 9, Boolean, PATIENCE_MS);
    await source.stop();
    const discarded = source.seen.filter(({ name }) => name === 'responseDiscarded').map(({ fields }) => fields.why);
    assert.ok(discarded.length >= 2 && discarded.every((why) => why === 'stuck'), discarded.join());
    const { records, notifications } = await atRest();
    const texts = [...simulator.ledger.checks()].map(({ text }) => text);
    assert.deepEqual(valuesOf(records), inBase64(await expectedChecks(texts, records)));
    assert.equal(notifications.length, 0);
  },
);
