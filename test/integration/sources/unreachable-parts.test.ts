import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createSimulator, type Simulator } from '../../../src/dev/simulator/simulator.ts';
import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import { OFFSETS_PARTITIONS } from '../../../src/kafka/topic-plan.ts';
import { type RunningConnector, startConnector } from '../../support/connectors/running-connector.ts';
import { kafkaOrSkip, readCommitted } from '../../support/kafka/kafka-real.ts';
import { stackOrSkip, type TestStack, uniquePrefix } from '../../support/kafka/stack.ts';
import { fenceSource } from '../../support/ledgers/at-rest.ts';
import { type PortMode, type SwitchablePort, switchablePort } from '../../support/network/switchable-port.ts';

const INSTRUMENTS = 200;
const INSTRUMENT_PARTITIONS = [0, 1, 2, 3, 4, 5];
const OFFSET_PARTITIONS = Array.from({ length: OFFSETS_PARTITIONS }, (_, partition) => partition);

interface Scene {
  readonly stack: TestStack;
  readonly simulator: Simulator;
  readonly kafka: KafkaCluster;
  /** Starts the connector, with these addresses in the place of the real ones. */
  start(parts: { stack?: Partial<TestStack>; simulator?: Partial<Simulator> }): Promise<RunningConnector>;
  /** How many records the instruments and the offsets topic hold. */
  written(): Promise<[instruments: number, offsets: number]>;
  /** The walk comes to its end, and every instrument is there once. */
  assertWalked(connector: RunningConnector): Promise<void>;
}

function scene(title: string, body: (t: TestContext, scene: Scene) => Promise<void>): void {
  test(title, { timeout: 1_200_000 }, async (t) => {
    const stack = await stackOrSkip(t);
    const kafka = (await kafkaOrSkip(t))?.connect();
    if (!stack || !kafka) return;
    const prefix = uniquePrefix('parts');
    const simulator = await createSimulator({ instruments: INSTRUMENTS, seed: 5, port: 0 });
    t.after(() => simulator.close());
    const keysOf = async (topic: string, partitions: readonly number[]) =>
      (await readCommitted(kafka, `${prefix}.${topic}`, partitions)).map(({ key }) => String(key));
    await body(t, {
      stack,
      simulator,
      kafka,
      start: (parts) =>
        startConnector(t, {
          stack: { ...stack, ...parts.stack },
          simulator: { ...simulator, ...parts.simulator },
          prefix,
          source: { limit: 100 },
        }),
      written: async () => [
        (await keysOf('instruments', INSTRUMENT_PARTITIONS)).length,
        (await keysOf('offsets', OFFSET_PARTITIONS)).length,
      ],
      async assertWalked(connector) {
        await connector.event('walkCompleted');
        await connector.stop();
        await fenceSource(kafka, prefix);
        const keys = await keysOf('instruments', INSTRUMENT_PARTITIONS);
        assert.deepEqual([keys.length, new Set(keys).size], [INSTRUMENTS, INSTRUMENTS]);
      },
    });
  });
}

/** The same base URL at another port. */
function through(url: string, { address }: SwitchablePort): string {
  const moved = new URL(url);
  moved.host = address;
  return moved.href.replace(/\/$/, '');
}

/** Errors of the attempts that have failed so far, each reported with its wait. */
function failures(connector: RunningConnector): { code: string; message: string }[] {
  return connector.seen
    .filter(({ name }) => name === 'attemptFailed')
    .map(({ fields }) => {
      assert.ok(fields.waitMs > 0, 'every failure says how long it waits');
      return { code: fields.err.code, message: fields.err.message };
    });
}

scene('Kafka that is down at the start is named with its setting, and used once it is there', async (t, scene) => {
  const port = await switchablePort(t, 'cut');
  const connector = await scene.start({ stack: { brokers: [port.address] } });
  await connector.event('attemptFailed');
  const [failure] = failures(connector);
  assert.equal(failure?.code, 'KAFKA_UNREACHABLE');
  assert.match(failure?.message ?? '', /kafka\.brokers/);
  assert.equal(scene.simulator.requests.count('instruments'), 0, 'nothing is asked for that could not be written');
  port.turn({ to: scene.stack.brokers[0] ?? '' });
  await scene.assertWalked(connector);
});

const registryFaults: Record<string, { mode: PortMode; says: RegExp }> = {
  'is down': { mode: 'cut', says: /of schemaRegistry got no response .*check schemaRegistry\.url/ },
  'answers 500': { mode: 'fail', says: /schema registry answered 500/ },
  'never answers': { mode: 'hang', says: /^\w+ http:.+ of schemaRegistry was not answered within \d+ ms/ },
};
for (const [what, { mode, says }] of Object.entries(registryFaults)) {
  scene(
    `a schema registry that ${what}: nothing is written, the log says so, and it goes on later`,
    async (t, scene) => {
      const port = await switchablePort(t, mode);
      const connector = await scene.start({ stack: { registryUrl: through(scene.stack.registryUrl, port) } });
      await connector.event('attemptFailed');
      const [failure] = failures(connector);
      assert.equal(failure?.code, 'REGISTRY_UNREACHABLE');
      assert.match(failure?.message ?? '', says);
      assert.deepEqual(await scene.written(), [0, 0]);
      port.turn({ to: new URL(scene.stack.registryUrl).host });
      await scene.assertWalked(connector);
    },
  );
}

scene('a provider that is down at the start is named with its setting, and asked again', async (t, scene) => {
  const port = await switchablePort(t, 'cut');
  const { referenceDataUrl } = scene.simulator;
  const connector = await scene.start({ simulator: { referenceDataUrl: through(referenceDataUrl, port) } });
  await connector.event('attemptFailed');
  const [failure] = failures(connector);
  assert.equal(failure?.code, 'PROVIDER_UNREACHABLE');
  assert.match(failure?.message ?? '', /check referenceData\.url/);
  assert.deepEqual(await scene.written(), [0, 0]);
  port.turn({ to: new URL(referenceDataUrl).host });
  await scene.assertWalked(connector);
});

scene('a token endpoint that refuses is named with its settings, and asked again', async (_t, scene) => {
  const refusal = { kind: 'status', status: 401, contentType: 'application/json', body: '{"error":"invalid_client"}' };
  scene.simulator.injectFaults([{ match: 'token', count: 0, fault: { ...refusal, kind: 'status' } }]);
  const connector = await scene.start({});
  await connector.event('attemptFailed');
  const [failure] = failures(connector);
  assert.equal(failure?.code, 'TOKEN_FAILED');
  assert.match(failure?.message ?? '', /of referenceData\.auth \(POST http:.*\) answered 401 \(invalid_client/);
  assert.deepEqual(await scene.written(), [0, 0]);
  scene.simulator.clearFaults();
  await scene.assertWalked(connector);
});
