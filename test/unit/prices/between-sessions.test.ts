import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { keyedRecord, partitionFor } from '../../../src/kafka/record.ts';
import type { BulkPrices } from '../../../src/prices/bulk-prices.ts';
import { MemoryBroker } from '../../support/memory-kafka/memory-broker.ts';
import { createMemoryCluster } from '../../support/memory-kafka/memory-cluster.ts';
import { eventually } from '../../support/runner/eventually.ts';
import { skippingClock } from '../../support/runner/manual-clock.ts';
import { ALL_PRICED, memberOf, POISON, TOPICS } from './memory-prices.ts';

const PATIENCE_MS = 300_000;
/** Records that a member reads ahead. */
const READ_AHEAD = 20;
/** Turns in which a member reads that many. */
const MANY_TURNS = 1_000;

test('what cannot be read counts too when the writer was opened again before there was room for it', async (t) => {
  const clock = skippingClock();
  const broker = new MemoryBroker(clock.wallMs);
  for (const topic of Object.values(TOPICS)) broker.createTopic(topic);
  const source = createMemoryCluster({ broker }).transactionalWriter('source');
  await source.open(async () => {}, new AbortController().signal);
  const { partitions } = TOPICS.instruments;
  const ids = Array.from({ length: 1_000 }, (_, id) => String(id)).filter(
    (id) => partitionFor(Buffer.from(id, 'utf8'), partitions) === 0,
  );
  const [first = '', ...others] = ids.slice(0, READ_AHEAD + 2);
  // The first one is answered at once; the last one is read, and waits for room.
  const live = others.slice(0, -1).map((id) => [id, `isin-${id}`] as const);
  const values = [[first, ''], ...live, [others.at(-1) ?? '', POISON]] as const;
  await source.commit({
    records: values.map(([id, value]) => keyedRecord(TOPICS.instruments, id, Buffer.from(value), {})),
  });

  const lost = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  let isLost = false;
  const prices: BulkPrices = {
    async ask(...question) {
      asked.resolve();
      await lost.promise;
      if (isLost) return ALL_PRICED.ask(...question);
      isLost = true;
      throw new ConnectorError('WRITER_CLOSED', 'the writer is lost');
    },
  };
  const member = memberOf({ broker, clock, prices, random: () => 0.5 });
  t.after(() => member.stop());
  const named = (name: string) => member.seen.filter((event) => event.name === name).map(({ fields }) => fields);
  const until = (what: string, is: () => boolean) => eventually(what, is, (yes) => yes, PATIENCE_MS);
  await asked.promise;
  for (let turn = 0; turn < MANY_TURNS; turn++) await new Promise((resolve) => setImmediate(resolve));
  lost.resolve();
  const sum = (field: string) => named('batchPriced').reduce((total, fields) => total + Number(fields[field]), 0);
  await until('all are answered', () => sum('priced') >= READ_AHEAD && sum('deadLetters') === 1);
  assert.equal(named('partitionWriterLost').length, 1);
  assert.equal(named('recordsUnreadable').length, 1);
});
