import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { FaultRule as ProviderFault } from '../../../src/dev/simulator/faults/fault.ts';
import { createSimulator, type Simulator } from '../../../src/dev/simulator/simulator.ts';
import { logLines, startCommand } from '../../support/connectors/connector-command.ts';
import type { ConnectorProcess } from '../../support/connectors/connector-process.ts';
import type { PartitionView } from '../../support/kafka/kafka-wire-log.ts';
import { viewPartition } from '../../support/kafka/kafka-wire-log.ts';
import { PATIENT_BROKER } from '../../support/kafka/patient-broker.ts';
import { ownKafkaOrSkip, stackOrSkip, type TestStack, uniquePrefix } from '../../support/kafka/stack.ts';
import { fenceSource, SOURCE_KEY, SOURCE_PARTITION } from '../../support/ledgers/at-rest.ts';
import { switchablePort } from '../../support/network/switchable-port.ts';
import { startTcpProxy, type TcpProxy } from '../../support/network/tcp-proxy.ts';
import { openOurCluster } from '../../support/network/tcp-proxy-cluster.ts';
import type { FaultRule as KafkaFault } from '../../support/network/tcp-proxy-faults.ts';
import { eventually } from '../../support/runner/eventually.ts';

const LIMIT = 100;
const INSTRUMENTS = 400;
/** What a stop may take, or as long as its start on a slow machine. */
const LONGEST_STOP_MS = 10_000;
/**
 * A commit answers once it is decided; its markers reach the partitions some milliseconds later. A transaction that was
 * left open stays so for a minute.
 */
const MARKERS_MS = 45_000;
const SECOND_PAGE = 3;

interface Started {
  readonly connector: ConnectorProcess;
  readonly simulator: Simulator;
  /** How often the rule for Kafka has struck. */
  readonly kafkaHits: () => number;
  /** How many connections the port in the place of a part has seen. */
  readonly connections: () => number;
}

interface Phase {
  /** Kafka, or the registry, is a port that does this. */
  readonly kafka?: 'cut' | 'hang';
  readonly registry?: 'hang';
  readonly provider?: ProviderFault;
  readonly onKafka?: KafkaFault;
  /** Resolves when the phase is reached. */
  readonly reached: (started: Started) => Promise<unknown>;
  /** The pages that may be committed then. */
  readonly pages: readonly number[] | 'of the log, or one more' | 'no topics';
  /** The broker could not be informed how the transaction ends: its time-out, or the next start, ends it. */
  readonly leavesOpen?: true;
}

const providerIsHit = ({ simulator }: Started) =>
  eventually('the request is being answered', () => Object.keys(simulator.faultsStruck()).length, Boolean);
const kafkaIsHit = ({ kafkaHits }: Started) => eventually('the request is on its way', kafkaHits, Boolean);
const isConnected = ({ connections }: Started) => eventually('it is connected', connections, Boolean);

const PHASES: Record<string, Phase> = {
  'while Kafka cuts every connection': {
    kafka: 'cut',
    reached: ({ connector }) => connector.line('KAFKA_UNREACHABLE'),
    pages: 'no topics',
  },
  'while Kafka accepts connections and never answers': {
    kafka: 'hang',
    reached: isConnected,
    pages: 'no topics',
  },
  'while the schema registry never answers': {
    registry: 'hang',
    // It is asked while the topics are still being created.
    reached: async (started) => {
      await isConnected(started);
      await started.connector.line('"source started"');
    },
    pages: [0],
  },
  'while a token is awaited': {
    provider: { match: 'token', fault: { kind: 'delay', ms: 60_000 } },
    reached: providerIsHit,
    pages: [0],
  },
  "while a page's body trickles in": {
    provider: {
      match: 'instruments',
      nth: SECOND_PAGE,
      count: 0,
      fault: { kind: 'slow', part: 'body', bytesPerSecond: 50 },
    },
    reached: ({ connector }) => connector.line('page committed'),
    pages: [1],
  },
  'while records are on their way': {
    // The first request that produces is part of the fence, and the next one holds only the walk's beginning.
    onKafka: { on: 'Produce', fault: 'delayAnswer', delayMs: 1_500, skip: 2, times: 100 },
    reached: kafkaIsHit,
    pages: 'of the log, or one more',
  },
  'while a commit is on its way': {
    onKafka: { on: 'EndTxn', fault: 'delayRequest', delayMs: 1_500, skip: 2, times: 100 },
    reached: kafkaIsHit,
    pages: 'of the log, or one more',
  },
  'while the answer to a commit is on its way': {
    onKafka: { on: 'EndTxn', fault: 'delayAnswer', delayMs: 1_500, skip: 2, times: 100 },
    reached: kafkaIsHit,
    pages: 'of the log, or one more',
  },
  'while a commit is swallowed by a broker that has fallen silent': {
    onKafka: { on: 'EndTxn', fault: 'blackHole', skip: 2 },
    reached: kafkaIsHit,
    pages: [0],
    leavesOpen: true,
  },
  'while it waits after a refusal': {
    provider: {
      match: 'instruments',
      nth: SECOND_PAGE,
      count: 0,
      fault: { kind: 'status', status: 503, retryAfterSeconds: 60 },
    },
    reached: ({ connector }) => connector.line('PROVIDER_BUSY'),
    pages: [1],
  },
  'while it waits for the next walk': {
    reached: ({ connector }) => connector.line('walk completed'),
    pages: [INSTRUMENTS / LIMIT],
  },
};

test('SIGTERM ends the connector in good order, whatever it is doing', async (t) => {
  const stack = await stackOrSkip(t);
  if (!stack) return;
  let proxy: TcpProxy | undefined;
  const kafka = await ownKafkaOrSkip(t, {
    settings: PATIENT_BROKER,
    advertise: async (broker) => {
      proxy = await startTcpProxy({ broker });
      return proxy.address;
    },
  });
  const [broker] = kafka?.brokers ?? [];
  if (!proxy || broker === undefined) return;
  t.after(() => proxy?.close());
  for (const [when, phase] of Object.entries(PHASES)) {
    await t.test(when, (t) => stopsIn(t, phase, { stack, proxy: proxy as TcpProxy, broker }));
  }
});

async function stopsIn(t: TestContext, phase: Phase, real: { stack: TestStack; proxy: TcpProxy; broker: string }) {
  const { proxy, broker } = real;
  const prefix = uniquePrefix('stop');
  const simulator = await createSimulator({ instruments: INSTRUMENTS, seed: 8, port: 0 });
  t.after(() => simulator.close());
  if (phase.provider) simulator.injectFaults([phase.provider]);
  const rule = phase.onKafka && proxy.addRule(phase.onKafka);
  t.after(() => proxy.clearRules());
  const port = await switchablePort(t, phase.kafka ?? 'hang');
  const brokers = [phase.kafka ? port.address : proxy.address];
  const registryUrl = phase.registry ? `http://${port.address}` : real.stack.registryUrl;
  const source = { limit: LIMIT };
  const env = { ADMIN_ENABLED: 'true' };
  const beganMs = performance.now();
  const connector = await startCommand(t, { stack: { brokers, registryUrl }, simulator, prefix, source, env });
  const kafkaHits = () => rule?.hits() ?? 0;
  await phase.reached({ connector, simulator, kafkaHits, connections: port.connections });
  await assertHealth(connector, phase);

  const logged = connector.lines.filter((line) => line.includes('"page committed"')).length;
  const askedAtMs = performance.now();
  const longestMs = Math.max(LONGEST_STOP_MS, askedAtMs - beganMs);
  connector.child.kill('SIGTERM');
  const ended = await connector.ended;
  const tookMs = performance.now() - askedAtMs;
  assert.deepEqual(ended, { code: 0, signal: null }, connector.lines.join('\n'));
  assert.ok(tookMs < longestMs, `it took ${tookMs} ms`);
  t.diagnostic(`${Math.round(tookMs)} ms`);
  assertLastLine(connector);

  if (phase.pages === 'no topics') return;
  proxy.clearRules();
  if (phase.leavesOpen) await fenceSource(openOurCluster(t, { brokers: [proxy.address] }), prefix);
  const pages = phase.pages === 'of the log, or one more' ? [logged, logged + 1] : phase.pages;
  await assertWholePages({ broker, prefix, pages });
}

/** It lives in every phase, and is ready once topics, fence, offset and schemas are proven, whatever the provider does. */
async function assertHealth(connector: ConnectorProcess, phase: Phase): Promise<void> {
  const { url } = JSON.parse(await connector.line('admin server listens')) as { url: string };
  const statusOf = async (path: string) => (await fetch(`${url}${path}`)).status;
  assert.equal(await statusOf('/livez'), 200);
  const expected = phase.kafka || phase.registry ? 503 : 200;
  // The provider is asked before all of that is proven.
  const isExpected = (status: number) => status === expected;
  await eventually(`readiness is ${expected}`, () => statusOf('/readyz'), isExpected);
}

function assertLastLine(connector: ConnectorProcess): void {
  const last = logLines(connector).at(-1);
  const at = connector.lines.findIndex((line) => line.includes('"stopped"'));
  assert.notEqual(at, -1);
  assert.deepEqual(connector.lines.slice(at + 1), [], 'nothing comes after it');
  assert.equal(last?.reason, 'stopped by SIGTERM');
  assert.ok(last.cpuSeconds > 0 && last.peakMemoryBytes > 1_000_000);
  const errors = logLines(connector).filter(({ level }) => level === 'error');
  assert.deepEqual(errors, []);
}

/** No transaction is open, and exactly the rows of the pages that the committed offset counts can be read. */
async function assertWholePages(at: { broker: string; prefix: string; pages: readonly number[] }): Promise<void> {
  const view = (topic: string, partition: number): Promise<PartitionView> =>
    eventually(
      `no transaction is open on ${topic} ${partition}`,
      () => viewPartition({ broker: at.broker, topic: `${at.prefix}.${topic}`, partition }),
      ({ lastStableOffset, highWatermark }) => lastStableOffset === highWatermark,
      MARKERS_MS,
    );
  const offsets = (await view('offsets', SOURCE_PARTITION)).committed.filter(({ key }) => key === SOURCE_KEY);
  const rows = (await Promise.all([0, 1, 2, 3, 4, 5].map((partition) => view('instruments', partition)))).flatMap(
    ({ committed }) => committed.map(({ key }) => key),
  );
  const committed = Number(JSON.parse(offsets.at(-1)?.value ?? '{"walkPages":0}').walkPages);
  assert.ok(at.pages.includes(committed), `${committed} pages are committed, not ${at.pages.join(' or ')}`);
  assert.equal(rows.length, committed * LIMIT);
  assert.equal(new Set(rows).size, rows.length);
}
