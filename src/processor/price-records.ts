import { deadLetterRecord } from '../kafka/dead-letter.ts';
import { partitionFor } from '../kafka/partitioner.ts';
import type { OutgoingRecord } from '../kafka/record.ts';
import { keyedRecord, type TargetTopic } from '../kafka/target-topic.ts';
import type { TopicPartition } from '../kafka/topic.ts';
import type { BatchPriced, TombstoneReason } from '../observability/processor-events.ts';
import type { PriceKind } from './bulk-prices.ts';
import type { CommittedPart, CoreResult } from './core/core-messages.ts';
import type { WindowDigests } from './window-digests.ts';

/** The name of the processor in headers of records. */
export const NAME = 'prices';
/** The header of dead letters and tombstones that says why there is no price. */
export const PROBLEM = 'spc-problem';
/** The header of dead letters that says of which kind of prices: several may have one topic. */
export const KIND = 'spc-kind';

export interface PriceTargets {
  /** The topic of each kind that is asked for. */
  readonly prices: ReadonlyMap<PriceKind, TargetTopic>;
  readonly deadLetters: TargetTopic;
  /** The endpoint that prices come from, for headers. */
  readonly endpoint: string;
}

/** Everything of `BatchPriced` but the time that the commit takes. */
export type BatchReport = Omit<BatchPriced, 'commitMs'>;

/** What a part of a transaction is in Kafka: its records in order, and its report. */
export function priceRecords(
  part: CommittedPart,
  options: {
    readonly input: TopicPartition;
    readonly targets: PriceTargets;
    /** Of the kinds that are series. */
    readonly windows: ReadonlyMap<PriceKind, WindowDigests>;
    readonly wallMs: number;
  },
): { readonly records: readonly OutgoingRecord[]; readonly report: BatchReport } {
  const { input, targets, windows, wallMs } = options;
  const { batch, results } = part;
  const { kind } = batch;
  const target = targets.prices.get(kind);
  if (target === undefined) throw new RangeError(`There is no topic for ${kind}.`);
  const records: OutgoingRecord[] = [];
  const prices: { instrumentId: string; isin: string; values: readonly Buffer[] }[] = [];
  let unchanged = 0;
  const provenance = {
    'spc-source': NAME,
    'spc-endpoint': targets.endpoint,
    'spc-received': new Date(wallMs).toISOString(),
  };
  const headersFor = (offsets: readonly bigint[]): Record<string, string> =>
    offsets.length === 0
      ? provenance
      : { ...provenance, 'spc-input': `${input.topic}/${input.partition}:${offsets.join(',')}` };
  const tombstones: Partial<Record<TombstoneReason, number>> = {};
  /** A series keeps what was; only a snapshot says that it holds now. */
  function tombstone(id: string, reason: TombstoneReason, headers: Readonly<Record<string, string>>): void {
    const snapshots = targets.prices.get('overview');
    if (snapshots === undefined) return;
    tombstones[reason] = (tombstones[reason] ?? 0) + 1;
    records.push(keyedRecord(snapshots, id, null, { ...headers, 'spc-reason': reason }));
  }
  const deadLetter = (
    offsets: readonly bigint[],
    rejected: Parameters<typeof deadLetterRecord>[0]['input'],
    targetTopic: string,
    problem: Readonly<Record<string, string>> = {},
  ) =>
    records.push(
      deadLetterRecord({
        topic: targets.deadLetters,
        source: NAME,
        targetTopic,
        input: rejected,
        provenance: { ...headersFor(offsets), ...problem },
      }),
    );

  for (const result of results) {
    switch (result.kind) {
      case 'prices': {
        const { instrument, answer, offsets } = result;
        const known = windows.get(kind);
        const written = known?.changed(instrument.id, answer.records) ?? answer.records;
        known?.put(
          instrument.id,
          answer.records.map(({ digest }) => digest),
        );
        unchanged += answer.records.length - written.length;
        const partition = partitionFor(Buffer.from(instrument.id, 'utf8'), target.partitions);
        const headers = headersFor(offsets);
        for (const { key, value } of written) records.push({ topic: target.name, partition, key, value, headers });
        const values = written.map(({ value }) => value);
        if (values.length > 0) prices.push({ instrumentId: instrument.id, isin: instrument.isin, values });
        break;
      }
      case 'failure': {
        const { instrument, withdrawal, problem } = result;
        if (result.isDeadLetter) {
          deadLetter(result.offsets, rejectedAnswer(result), target.name, { [PROBLEM]: problem, [KIND]: kind });
        }
        // The dead letter beside it is what answers the record.
        if (withdrawal !== null) tombstone(instrument.id, withdrawal, { ...provenance, [PROBLEM]: problem });
        break;
      }
      case 'postponed': {
        const { instrument, withdrawal, offsets } = result;
        const headers = { ...headersFor(offsets), [PROBLEM]: 'unanswered' };
        if (withdrawal !== null) tombstone(instrument.id, withdrawal, headers);
        break;
      }
      case 'unreadable': {
        const { id, key, reason, value: raw } = result;
        deadLetter(result.offsets, { key, pointer: '', reason, raw }, target.name);
        for (const known of windows.values()) known.delete(id);
        // Any other key is not the id of an instrument, so no price has it.
        if (id === key) tombstone(id, 'unreadable', provenance);
        break;
      }
      case 'noIsin':
      case 'gone':
        for (const known of windows.values()) known.delete(result.id);
        // Also without an isin: the price of the isin that it had before would stay there for good.
        tombstone(result.id, result.kind === 'gone' ? 'gone' : 'no-isin', headersFor(result.offsets));
        break;
    }
  }
  return { records, report: reportOf(part, input, { unchanged, tombstones, prices }) };
}

function reportOf(
  { batch, results }: CommittedPart,
  input: TopicPartition,
  counts: Pick<BatchReport, 'unchanged' | 'tombstones' | 'prices'>,
): BatchReport {
  const { answers } = batch;
  const count = (wanted: (result: CoreResult) => boolean) => results.filter(wanted).length;
  return {
    ...input,
    kind: batch.kind,
    items: batch.questions.length,
    priced: count((result) => result.kind === 'prices'),
    records: counts.prices.reduce((sum, { values }) => sum + values.length, 0),
    problems: count((result) => result.kind === 'failure' && result.outcome.kind !== 'unusable'),
    unusable: count((result) => result.kind === 'failure' && result.outcome.kind === 'unusable'),
    dropped: count((result) => result.kind === 'dropped'),
    inputs: results.reduce((sum, result) => sum + ('offsets' in result ? result.offsets.length : 0), 0),
    withoutIsin: count((result) => result.kind === 'noIsin'),
    gone: count((result) => result.kind === 'gone'),
    postponed: results.reduce((sum, result) => sum + (result.kind === 'postponed' ? result.offsets.length : 0), 0),
    deadLetters: count((result) => result.kind === 'unreadable' || (result.kind === 'failure' && result.isDeadLetter)),
    calls: answers.calls,
    drift: answers.drift,
    roundedNumbers: answers.roundedNumbers,
    errorsFlagDiffers: answers.errorsFlagDiffers,
    askMs: answers.askMs,
    ...counts,
  };
}

/** Why an instrument has no price, in words that quote no value; the bytes are the provider's item, or our question. */
function rejectedAnswer({ instrument, outcome }: CoreResult & { readonly kind: 'failure' }) {
  const key = instrument.id;
  switch (outcome.kind) {
    case 'problem': {
      const { status, item: raw } = outcome;
      const what = status === null ? 'without a price and without a reason' : `with the problem status ${status}`;
      return { key, pointer: '', reason: `the provider answered this item ${what}`, raw };
    }
    case 'unusable':
      return { key, pointer: outcome.pointer, reason: outcome.reason, raw: outcome.item };
    case 'refused': {
      const { status } = outcome;
      const what = status === null ? 'could not be used, or did not come' : `was a refusal with status ${status}`;
      const raw = Buffer.from(JSON.stringify({ isin: instrument.isin }));
      return { key, pointer: '', reason: `the answer to a call for this item alone ${what}`, raw };
    }
  }
}
