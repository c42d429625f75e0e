import assert from 'node:assert/strict';
import { ConnectorError } from '../../../src/errors.ts';
import { offsetKey, readOffsets } from '../../../src/kafka/offset-store.ts';
import type { TransactionalWriter } from '../../../src/kafka/transactional-writer.ts';
import { type OffsetPartitionOptions, runOffsetPartition, type Source } from '../../../src/sources/offset-partition.ts';
import { operator } from '../../support/connectors/operator.ts';
import { recordedEvents } from '../../support/ledgers/recorded-events.ts';
import { MemoryBroker } from '../../support/memory-kafka/memory-broker.ts';
import { createMemoryCluster, type MemoryStep } from '../../support/memory-kafka/memory-cluster.ts';
import { skippingClock } from '../../support/runner/manual-clock.ts';

export const OFFSETS = 'p.offsets';
const ROWS = 'p.rows';
export const ANSWERS = 20;

/** A source that writes the numbers from 1 to ANSWERS, one a transaction, and then ends as a failed one. */
export function countingSource(name: string, polled: string[] = []): Source {
  return {
    name,
    offsetKey: offsetKey(name, 'counting'),
    startTask(offset) {
      let position = Number(offset?.position ?? 0);
      return {
        async poll() {
          if (position === ANSWERS) throw new ConnectorError('WALK_CURSOR_REPEATED', 'counted to the end');
          const next = position + 1;
          polled.push(`${name} ${next}`);
          return {
            records: [
              { topic: ROWS, partition: 0, key: Buffer.from(name), value: Buffer.from(String(next)), headers: {} },
            ],
            offset: { position: next },
            waitMs: 0,
            committed: () => {
              position = next;
            },
          };
        },
      };
    },
  };
}

/** A broker with the two topics. */
export function broker(): MemoryBroker {
  const memory = new MemoryBroker(() => 0);
  for (const name of [OFFSETS, ROWS]) memory.createTopic({ name, partitions: 1, replicationFactor: 1, settings: {} });
  return memory;
}

interface Around extends Partial<OffsetPartitionOptions> {
  readonly onStep?: (step: MemoryStep) => void;
  /** With an operator, failed sources wait for one. */
  readonly asking?: ReturnType<typeof operator>;
  readonly wrap?: (writer: TransactionalWriter, running: () => readonly Source[]) => TransactionalWriter;
}

/** Runs them through a writer of the broker. */
export function run(memory: MemoryBroker, sources: readonly Source[], around: Around = {}) {
  const { onStep, asking, wrap = (writer) => writer, ...more } = around;
  const cluster = createMemoryCluster({ broker: memory, ...(onStep && { onStep }) });
  const { events, seen } = recordedEvents();
  const stop = new AbortController();
  const ended = runOffsetPartition({
    partition: 0,
    transactionalId: 'p-sources-0',
    offsetsTopic: OFFSETS,
    kafka: { topicIds: async () => new Map() },
    sources,
    writtenBy: ({ name }) => [ROWS, `topic of ${name}`],
    createWriter(running) {
      const writer = cluster.transactionalWriter('p-sources-0');
      const { open, commit, close } = writer;
      return wrap({ open: open.bind(writer), commit: commit.bind(writer), close: close.bind(writer) }, running);
    },
    readOffsets: (signal) => readOffsets(cluster.logReader, OFFSETS, 0, signal),
    targets: (asking ?? operator(sources.map(({ name }) => name))).targets,
    waitsForOperator: asking !== undefined,
    clock: skippingClock(),
    random: () => 0.5,
    events,
    signal: stop.signal,
    ...more,
  });
  ended.catch(() => {});
  return {
    ended,
    stop,
    all: (name: string) => seen.flatMap((one) => (one.name === name ? [one.fields] : [])),
    count: (name: string) => seen.filter((one) => one.name === name).length,
    failures: () =>
      seen.flatMap(({ name, fields }): [string, ConnectorError][] =>
        name === 'sourceFailed' ? [[fields.source, fields.err]] : [],
      ),
    async stopped(): Promise<void> {
      stop.abort(new Error('enough'));
      await assert.rejects(ended, { message: 'enough' });
    },
  };
}

export const written = (memory: MemoryBroker, name: string) =>
  memory
    .readCommitted(ROWS, 0)
    .filter(({ key }) => String(key) === name)
    .map(({ value }) => Number(String(value)));
export const counted = Array.from({ length: ANSWERS }, (_, index) => index + 1);
