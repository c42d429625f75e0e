import { compareStreamOffsets } from '../../src/sources/stream/stream-response.ts';
import { type PriceLog, priceViolations } from '../support/ledgers/price-log.ts';
import { type KeyedContent, type UniverseLog, universeViolations } from '../support/ledgers/universe-log.ts';
import type { Finding, FindingKind } from './violation.ts';

/** All that a connector left on its topics, beside what the provider's ledger says, when nothing writes any more. */
export interface ConnectorLog {
  readonly universe: UniverseLog;
  readonly prices: PriceLog;
  /** A sentence for each price that the provider never served as it is on the topic. */
  readonly unserved: readonly string[];
  /** The offsets of the stream that were committed, in the order of their partition. */
  readonly committed: readonly string[];
  /** Every offset that the provider issued, in order; those that no client sees among them. */
  readonly issued: readonly string[];
  /** The offset of the newest event that a client sees. */
  readonly newest: string | null;
  readonly partitions: readonly PartitionEnd[];
}

export interface PartitionEnd {
  readonly topic: string;
  readonly partition: number;
  readonly lastStableOffset: number;
  readonly highWatermark: number;
}

/** Which column of the report a sentence of the ledgers' checks belongs to. */
const KINDS: readonly (readonly [says: RegExp, kind: FindingKind])[] = [
  [/ is missing$| is not as the provider has it$| is lost$/, 'lost'],
  [/ is answered \d+ times$/, 'twice'],
  [/ went back to /, 'out of order'],
];

/** What is wrong; empty when the topics hold exactly what the provider did. */
export function findingsOf(log: ConnectorLog): Finding[] {
  const { universe, prices, unserved } = log;
  const sentences = [...universeViolations({ ...universe, published: [], events: [] }), ...priceViolations(prices)];
  return [
    ...eventFindings(universe.published, universe.events, true),
    ...sentences.map((text) => ({ kind: KINDS.find(([says]) => says.test(text))?.[1] ?? 'wrong', text })),
    ...repeatedRecords(universe),
    ...unserved.map((text) => ({ kind: 'wrong' as const, text })),
    ...wrongOffsets(log),
    ...openTransactions(log),
  ];
}

/**
 * Events by instrument beside those that had to come. While more may still come, what is there must be the beginning of
 * what had to; at rest it must be all of it.
 */
export function eventFindings(
  due: readonly KeyedContent[],
  seen: readonly KeyedContent[],
  isAtRest: boolean,
): Finding[] {
  const [dueOf, seenOf] = [Map.groupBy(due, ({ key }) => key), Map.groupBy(seen, ({ key }) => key)];
  return [...new Set([...dueOf.keys(), ...seenOf.keys()])].flatMap((key) => {
    const all = (dueOf.get(key) ?? []).map(({ content }) => content);
    const found = (seenOf.get(key) ?? []).map(({ content }) => content);
    const expected = isAtRest ? all : all.slice(0, found.length);
    const extra = without(found, expected);
    const missing = isAtRest || extra.length === 0 ? without(expected, found) : [];
    const findings = [
      ...extra.map((content): Finding => {
        const text = `an event of instrument ${key}`;
        return all.includes(content) ? { kind: 'twice', text } : { kind: 'wrong', text: `${text} was never published` };
      }),
      ...missing.map((): Finding => ({ kind: 'lost', text: `an event of instrument ${key}` })),
    ];
    const isSwapped = findings.length === 0 && expected.some((content, index) => content !== found[index]);
    return isSwapped ? [{ kind: 'out of order' as const, text: `the events of instrument ${key}` }] : findings;
  });
}

/** What is in the first list more often than in the second. */
function without<Item>(items: readonly Item[], others: readonly Item[]): Item[] {
  const left = [...others];
  return items.filter((item) => {
    const index = left.indexOf(item);
    if (index >= 0) left.splice(index, 1);
    return index < 0;
  });
}

/** No version of an instrument is written twice, and nothing is deleted that is there, or that is deleted already. */
function* repeatedRecords({ instruments, versions, universe }: UniverseLog): Generator<Finding> {
  const newest = new Map<string, string | null>();
  for (const { key, content } of instruments) {
    const isKnown = newest.get(key) != null;
    if (content === null && universe.has(key))
      yield { kind: 'wrong', text: `a tombstone for instrument ${key}, which exists` };
    else if (content === null && !isKnown) yield { kind: 'twice', text: `a tombstone for instrument ${key}` };
    newest.set(key, content);
  }
  for (const [key, records] of Map.groupBy(instruments, (record) => record.key)) {
    const contents = records.flatMap(({ content }) => content ?? []);
    const known = versions.get(key) ?? [];
    for (const content of without(contents, known)) {
      const places = records.filter((record) => record.content === content).flatMap(({ place }) => place ?? []);
      const text = [`a version of instrument ${key}`, ...places].join('; ');
      if (known.includes(content)) yield { kind: 'twice', text };
    }
  }
}

/** Offsets are ones that the provider issued, never go back, and end behind the last event. */
function* wrongOffsets({ committed, issued, newest }: ConnectorLog): Generator<Finding> {
  const known = new Set(issued);
  const isBefore = (a: string, b: string) => (compareStreamOffsets(a, b) ?? 0) < 0;
  for (const [index, offset] of committed.entries()) {
    const before = committed[index - 1];
    if (before !== undefined && isBefore(offset, before))
      yield { kind: 'out of order', text: `the offset ${offset} is committed behind ${before}` };
    // The start of the log is issued too, and has no event.
    const isStart = issued[0] === undefined || isBefore(offset, issued[0]);
    if (!known.has(offset) && !isStart) yield { kind: 'wrong', text: `the offset ${offset} was never issued` };
  }
  const last = committed.at(-1);
  if (newest !== null && (last === undefined || isBefore(last, newest)))
    yield { kind: 'wrong', text: `the last committed offset is ${last ?? 'none'}, the newest event's is ${newest}` };
}

function* openTransactions({ partitions }: ConnectorLog): Generator<Finding> {
  for (const { topic, partition, lastStableOffset, highWatermark } of partitions) {
    if (lastStableOffset >= highWatermark) continue;
    const text = `an open transaction at ${lastStableOffset} of ${topic}/${partition}, which ends at ${highWatermark}`;
    yield { kind: 'stuck', text };
  }
}
