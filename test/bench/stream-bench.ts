import { randomUUID } from 'node:crypto';
import type { LocalStack } from '../../src/dev/local-stack/stack-context.ts';
import { connectKafka } from '../../src/kafka/kafkajs/kafkajs-cluster.ts';
import { systemClock } from '../../src/support/clock.ts';
import { freshPrefix, type ReadyProvider, startBenchConnector, startProvider } from './bench-stack.ts';
import { measureFloors } from './floor-process.ts';
import { processUsage } from './process-usage.ts';
import { MIB, round } from './rounding.ts';

const INSTRUMENTS = 20_000;
const PER_SECOND = 200;
const PATIENCE_MS = 600_000;
const DELAY_MEASURED_MS = 5_000;
const FIRST_ID = 1_000_000_000;
const ID_STEP = 7;
const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** Events at a steady rate, each of another instrument. */
export async function benchLatency(stack: LocalStack, events: number, pollIntervalMs: number) {
  const latenciesMs: number[] = [];
  let sinceMs = 0;
  const figures = await follow({ stack, pollIntervalMs, events, isBusy: false }, async (provider, onRecord) => {
    onRecord((key) => {
      const event = (Number(key) - FIRST_ID) / ID_STEP;
      latenciesMs.push(systemClock.wallMs() - (sinceMs + ((event + 1) * 1_000) / PER_SECOND));
    });
    ({ sinceMs = 0 } = await provider.order({ perSecond: PER_SECOND }));
  });
  const { seconds: _, ...own } = figures;
  const sorted = latenciesMs.slice(0, events).toSorted((a, b) => a - b);
  const quantile = (share: number) => Math.round(sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN);
  return {
    events,
    perSecond: PER_SECOND,
    pollIntervalMs,
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
    ...own,
  };
}

/** Events that all wait already. */
export async function benchBacklog(stack: LocalStack, events: number) {
  const how = { stack, pollIntervalMs: 1_000, events, isBusy: true };
  const { seconds, ...own } = await follow(how, (provider) => provider.order({ backlog: events }));
  return {
    events,
    eventsPerSecond: Math.round(events / seconds),
    timesParse: round(own.cpuSecondsPer1000 / own.floors.parse),
    ...own,
  };
}

/** Of a busy connector the event-loop delay is measured at once; of one that mostly waits afterwards, as it takes CPU. */
async function follow(
  how: {
    readonly stack: LocalStack;
    readonly pollIntervalMs: number;
    readonly events: number;
    readonly isBusy: boolean;
  },
  begin: (provider: ReadyProvider, onRecord: (listener: (key: string) => void) => void) => Promise<unknown>,
) {
  const { stack, pollIntervalMs, events, isBusy } = how;
  const provider = await startProvider(INSTRUMENTS);
  const prefix = freshPrefix();
  const source = { pollInterval: `${pollIntervalMs}ms` };
  const connector = startBenchConnector(stack, provider, { prefix, source });
  const common = { clientId: `latency-${randomUUID()}`, clock: systemClock, random: Math.random, log: silent };
  const kafka = connectKafka({ ...common, brokers: stack.brokers });
  const reading = new AbortController();
  try {
    await connector.process.line('walk completed');
    let listener: (key: string) => void = () => {};
    let read = 0;
    const following = kafka.logTail.follow({
      topic: `${prefix}.instrument-events`,
      partitions: [0, 1, 2, 3, 4, 5],
      onRecord({ key }) {
        read += 1;
        listener(String(key));
      },
      signal: reading.signal,
    });
    following.catch(() => {});
    await systemClock.sleep(2_000);
    if (isBusy) await connector.loopDelayP99Ms();
    const used = processUsage(connector.pid).cpuSeconds;
    const beganMs = systemClock.monotonicMs();
    await begin(provider, (given) => {
      listener = given;
    });
    while (read < events) {
      if (systemClock.monotonicMs() - beganMs > PATIENCE_MS) throw new Error(`Only ${read} of ${events} events came.`);
      await systemClock.sleep(20);
    }
    const seconds = (systemClock.monotonicMs() - beganMs) / 1_000;
    const { cpuSeconds, peakMemoryBytes } = processUsage(connector.pid);
    if (!isBusy) {
      await connector.loopDelayP99Ms();
      await systemClock.sleep(DELAY_MEASURED_MS);
    }
    const loopDelayP99Ms = await connector.loopDelayP99Ms();
    await connector.stop();
    return {
      seconds,
      cpuSecondsPer1000: round(((cpuSeconds - used) * 1_000) / events),
      peakMemoryMiB: Math.round(peakMemoryBytes / MIB),
      loopDelayP99Ms,
      floors: await measureFloors(stack, provider, 'events'),
    };
  } finally {
    reading.abort(new Error('the measurement is over'));
    await kafka.close();
    await provider.stop();
  }
}
