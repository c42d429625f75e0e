import type { Simulator } from '../../../src/dev/simulator/simulator.ts';
import { ConnectorError } from '../../../src/errors.ts';
import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import { readCommitted } from '../kafka/kafka-real.ts';
import { answersOf, type PriceInput } from './price-log.ts';
import { readable } from './readable.ts';

const PARTITIONS = [0, 1, 2, 3, 4, 5];
const PATIENCE_MS = 300_000;

/** Fences every writer of prices, as the next start would: afterwards what a reader sees is final. */
export async function fencePrices(kafka: KafkaCluster, prefix: string): Promise<void> {
  await Promise.all(
    PARTITIONS.map(async (partition) => {
      const writer = kafka.transactionalWriter(`${prefix}-prices-${prefix}.instruments-${partition}`);
      await writer.open(async () => {}, AbortSignal.timeout(PATIENCE_MS));
      await writer.close();
    }),
  );
}

/** What the topics hold of instruments and prices. */
export async function pricesOnTopics(kafka: KafkaCluster, prefix: string) {
  const topic = `${prefix}.instruments`;
  const instruments = await readCommitted(kafka, topic, PARTITIONS);
  const prices = await readCommitted(kafka, `${prefix}.prices`, PARTITIONS);
  const dead = await readCommitted(kafka, `${prefix}.dead-letters`);
  const committed = await committedOffsets(kafka, prefix);
  const isins = readable(instruments, 'Instrument').map(({ isin }) => String(isin ?? '') || null);
  const ids = prices.flatMap(({ key, value }) => (value === null ? [] : [String(key)]));
  const read = readable(prices, 'PriceSnapshot').map((price, index) => ({ id: ids[index] ?? '', price }));
  let [nextInstrument, next] = [0, 0];
  return {
    inputs: instruments.map(({ partition, offset, key, value }): PriceInput => {
      const isin = value === null ? null : (isins[nextInstrument++] ?? null);
      const kind = value === null ? 'gone' : isin === null ? 'noIsin' : 'live';
      return { partition, offset: Number(offset), id: String(key), kind, isin };
    }),
    results: [
      ...prices.map(({ key, value, headers }) => ({
        kind: value === null ? ('tombstone' as const) : ('price' as const),
        id: String(key),
        isin: value === null ? null : String(read[next++]?.price.isin),
        answers: answersOf(headers['spc-input']),
      })),
      ...dead
        .filter(({ headers }) => headers['spc-source'] === 'prices')
        .map(({ key, headers }) => ({
          kind: 'deadLetter' as const,
          id: String(key),
          isin: null,
          answers: answersOf(headers['spc-input']),
        })),
    ],
    committed,
    prices: read,
  };
}

/** Records of instruments that are not answered yet, and all of them. */
export async function unansweredInputs(kafka: KafkaCluster, prefix: string): Promise<{ waiting: number; all: number }> {
  const instruments = await readCommitted(kafka, `${prefix}.instruments`, PARTITIONS);
  const committed = await committedOffsets(kafka, prefix);
  const waiting = instruments.filter(({ partition, offset }) => Number(offset) >= (committed.get(partition) ?? 0));
  return { waiting: waiting.length, all: instruments.length };
}

/** Asks until nothing is wrong any more; fails with what still is. A topic that cannot be read may not exist yet. */
export async function onceRight(whatIsWrong: () => Promise<string | null> | string | null): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  for (;;) {
    const wrong = await (async () => whatIsWrong())().catch(unlessUnreachable);
    if (wrong === null) return;
    if (performance.now() > deadlineMs) throw new Error(`Still after ${PATIENCE_MS} ms: ${wrong}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

function unlessUnreachable(error: unknown): string {
  if (error instanceof ConnectorError && error.action === 'retry') return error.message;
  throw error;
}

async function committedOffsets(kafka: KafkaCluster, prefix: string): Promise<Map<number, number>> {
  const [topic, groupId] = [`${prefix}.instruments`, `${prefix}-prices`];
  const offsets = PARTITIONS.map(async (partition) => {
    const committed = await kafka.consumerOffset(groupId, { topic, partition }, AbortSignal.timeout(PATIENCE_MS));
    const offset = committed?.offset ?? null;
    return [partition, Number(offset ?? 0n)] as const;
  });
  return new Map(await Promise.all(offsets));
}

/** The isin of each simulated instrument that has one, by its id. */
export function isinsOf(simulator: Simulator): Map<string, string> {
  return new Map(
    [...simulator.ledger.instruments()].flatMap(({ id, text }) => {
      const { identifiers } = JSON.parse(text) as { identifiers: { type: string; value: string }[] };
      const isin = identifiers.find(({ type }) => type.toLowerCase() === 'isin')?.value;
      return isin === undefined ? [] : [[id, isin] as const];
    }),
  );
}
