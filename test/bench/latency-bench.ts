import { randomUUID } from 'node:crypto';
import type { LocalStack } from '../../src/demo/stack-context.ts';
import { connectKafka } from '../../src/kafka/kafkajs-cluster.ts';
import { systemClock } from '../../src/support/clock.ts';
import { startBenchProcesses } from './bench-stack.ts';

const INSTRUMENTS = 1_000;
const POLL_INTERVAL_MS = 1_000;
const PATIENCE_MS = 10_000;
const silent = { debug() {}, info() {}, warn() {}, error() {} };

export interface LatencyFigures {
  readonly events: number;
  readonly pollIntervalMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maximumMs: number;
}

/**
 * From an event's publication by the provider to a read_committed reader that has it, at a poll a second. Events are
 * published one by one at random moments, since an event waits half a poll on average.
 */
export async function benchLatency(stack: LocalStack, events: number): Promise<LatencyFigures> {
  const processes = await startBenchProcesses(stack, INSTRUMENTS, { pollInterval: `${POLL_INTERVAL_MS}ms` });
  const options = { clientId: `latency-${randomUUID()}`, clock: systemClock, random: Math.random, log: silent };
  const kafka = connectKafka({ ...options, brokers: stack.brokers });
  const reading = new AbortController();
  try {
    await processes.connector.line('walk completed');
    const readAtMs = new Map<string, number>();
    const following = kafka.logTail.follow({
      topic: `${processes.prefix}.instrument-events`,
      partitions: [0, 1, 2, 3, 4, 5],
      onRecord: ({ key }) => readAtMs.set(String(key), performance.now()),
      signal: reading.signal,
    });
    following.catch(() => {});
    const publishedAtMs = new Map<string, number>();
    for (let count = 0; count < events; count++) {
      await systemClock.sleep(Math.random() * 200);
      const atMs = performance.now();
      const answer = await fetch(`${processes.controlUrl}publish`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ kind: 'newissue' }),
      });
      const published = (await answer.json()) as { id: string } | { id: string }[];
      publishedAtMs.set([published].flat()[0]?.id ?? '', atMs);
    }
    const deadline = performance.now() + PATIENCE_MS;
    while (readAtMs.size < events && performance.now() < deadline) await systemClock.sleep(20);
    const latencies = [...publishedAtMs].map(([id, atMs]) => (readAtMs.get(id) ?? Number.POSITIVE_INFINITY) - atMs);
    latencies.sort((a, b) => a - b);
    const quantile = (share: number) => Math.round(latencies[Math.ceil(latencies.length * share) - 1] ?? Number.NaN);
    return {
      events,
      pollIntervalMs: POLL_INTERVAL_MS,
      p50Ms: quantile(0.5),
      p99Ms: quantile(0.99),
      maximumMs: quantile(1),
    };
  } finally {
    reading.abort(new Error('the measurement is over'));
    await kafka.close();
    await processes.stop();
  }
}
