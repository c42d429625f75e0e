import { deadLetterRecord } from '../kafka/dead-letter.ts';
import { keyedRecord, type OutgoingRecord, partitionFor, type TargetTopic } from '../kafka/record.ts';
import type { TopicPartition } from '../kafka/topic.ts';
import type { BatchPriced, TombstoneReason } from '../observe/events.ts';
import type { PriceKind } from './bulk-prices.ts';
import type { CommittedPart, CoreResult, ReportedFailures } from './core/core-messages.ts';
import type { WindowDigests } from './read-windows.ts';

export const NAME = 'prices';
/** The header of dead letters and tombstones with the reason why there is no price. */
export const PROBLEM = 'spc-problem';
/** The header of dead letters with the kind of prices, because several kinds may share a topic. */
export const KIND = 'spc-kind';

export interface PriceTargets {
  readonly prices: ReadonlyMap<PriceKind, TargetTopic>;
  readonly deadLetters: TargetTopic;
  readonly endpoint: string;
}

export type BatchReport = Omit<BatchPriced, 'commitMs'>;

interface RecordsContext {
  readonly input: TopicPartition;
  readonly targets: PriceTargets;
  readonly windows: ReadonlyMap<PriceKind, WindowDigests>;
  readonly wallMs: number;
  /** Failures that already have a dead letter. Without this option, no failure has a dead letter yet. */
  readonly reported?: ReportedFailures;
  readonly source?: string;
  /** More headers of each record. */
  readonly headers?: Readonly<Record<string, string>>;
}

export function priceRecords(
  part: CommittedPart,
  context: RecordsContext,
): { readonly records: readonly OutgoingRecord[]; readonly report: BatchReport } {
  const collected = new PartRecords(part.batch.kind, context);
  for (const result of part.results) collected.add(result);
  return { records: collected.records, report: reportOf(part, context.input, collected) };
}

class PartRecords {
  readonly records: OutgoingRecord[] = [];
  readonly prices: { instrumentId: string; isin: string; values: readonly Buffer[] }[] = [];
  readonly tombstones: Partial<Record<TombstoneReason, number>> = {};
  readonly dead: NonNullable<BatchReport['dead']>[number][] = [];
  unchanged = 0;
  readonly #kind: PriceKind;
  readonly #context: RecordsContext;
  readonly #target: TargetTopic;
  readonly #known: WindowDigests | undefined;
  readonly #provenance: Readonly<Record<string, string>>;

  constructor(kind: PriceKind, context: RecordsContext) {
    const { targets, windows, wallMs, source = NAME } = context;
    const target = targets.prices.get(kind);
    if (target === undefined) throw new RangeError(`There is no topic for ${kind}.`);
    this.#kind = kind;
    this.#context = context;
    this.#target = target;
    this.#known = windows.get(kind);
    this.#provenance = {
      'spc-source': source,
      'spc-endpoint': targets.endpoint,
      'spc-received': new Date(wallMs).toISOString(),
      ...context.headers,
    };
  }

  add(result: CoreResult): void {
    switch (result.kind) {
      case 'prices':
        this.#addPrices(result);
        return;
      case 'failure': {
        const { instrument, withdrawal, problem, offsets } = result;
        const header = { [PROBLEM]: problem };
        if (result.isDeadLetter) {
          const isNew = !result.isRepaid && !this.#context.reported?.has(this.#kind, instrument.id, problem);
          const headers = this.#headersFor(offsets, { ...header, [KIND]: this.#kind });
          this.#addDeadLetter(rejectedAnswer(result), headers, isNew);
        }
        // The tombstone has no `spc-input` header, because the dead letter already answers the input record.
        if (withdrawal !== null) this.#addTombstone(instrument.id, withdrawal, { ...this.#provenance, ...header });
        return;
      }
      case 'postponed': {
        const { instrument, withdrawal, offsets } = result;
        const headers = this.#headersFor(offsets, { [PROBLEM]: 'unanswered' });
        if (withdrawal !== null) this.#addTombstone(instrument.id, withdrawal, headers);
        return;
      }
      case 'unreadable': {
        const { id, key, reason, value: raw, offsets } = result;
        this.#addDeadLetter({ key, pointer: '', reason, raw }, this.#headersFor(offsets), true);
        this.#forget(id);
        // If the key of the input record is not the id of an instrument, `id` is a made-up name, and no price has this key.
        if (id === key) this.#addTombstone(id, 'unreadable', this.#provenance);
        return;
      }
      case 'noIsin':
      case 'gone':
        this.#forget(result.id);
        // Without a tombstone, the price of an earlier isin stays on the topic permanently.
        this.#addTombstone(result.id, result.kind === 'gone' ? 'gone' : 'no-isin', this.#headersFor(result.offsets));
    }
  }

  #addPrices({ instrument, answer, offsets }: CoreResult & { readonly kind: 'prices' }): void {
    const { id, isin } = instrument;
    const { name: topic, partitions } = this.#target;
    const written = this.#known?.changed(id, answer.records) ?? answer.records;
    this.#known?.put(
      id,
      answer.records.map(({ digest }) => digest),
      answer.range?.isLast === false,
    );
    this.unchanged += answer.records.length - written.length;
    const partition = partitionFor(Buffer.from(id, 'utf8'), partitions);
    const headers = this.#headersFor(offsets);
    for (const { key, value } of written) this.records.push({ topic, partition, key, value, headers });
    const values = written.map(({ value }) => value);
    if (values.length > 0) this.prices.push({ instrumentId: id, isin, values });
  }

  /** Only overview prices get tombstones: they are current values, and a series is history. */
  #addTombstone(id: string, reason: TombstoneReason, headers: Readonly<Record<string, string>>): void {
    const snapshots = this.#context.targets.prices.get('overview');
    if (snapshots === undefined) return;
    this.tombstones[reason] = (this.tombstones[reason] ?? 0) + 1;
    this.records.push(keyedRecord(snapshots, id, null, { ...headers, 'spc-reason': reason }));
  }

  #addDeadLetter(
    input: Parameters<typeof deadLetterRecord>[0]['input'],
    provenance: Readonly<Record<string, string>>,
    isNew: boolean,
  ): void {
    const { source = NAME, targets } = this.#context;
    const { key, pointer, reason } = input;
    if (isNew) this.dead.push({ source, kind: this.#kind, key, pointer, reason });
    const record = { topic: targets.deadLetters, source, targetTopic: this.#target.name, input };
    this.records.push(deadLetterRecord({ ...record, provenance }));
  }

  #headersFor(offsets: readonly bigint[], more?: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    if (offsets.length === 0) return more === undefined ? this.#provenance : { ...this.#provenance, ...more };
    const { topic, partition } = this.#context.input;
    return { ...this.#provenance, 'spc-input': `${topic}/${partition}:${offsets.join(',')}`, ...more };
  }

  #forget(id: string): void {
    for (const known of this.#context.windows.values()) known.delete(id);
  }
}

function reportOf(
  { batch, results }: CommittedPart,
  input: TopicPartition,
  counts: Pick<BatchReport, 'unchanged' | 'tombstones' | 'prices' | 'dead'>,
): BatchReport {
  const count = (wanted: (result: CoreResult) => boolean) => results.filter(wanted).length;
  return {
    ...input,
    kind: batch.kind,
    items: batch.questions.length,
    answered: count(
      (result) => result.kind === 'prices' || (result.kind === 'failure' && result.outcome.kind !== 'refused'),
    ),
    priced: count((result) => result.kind === 'prices'),
    records: counts.prices.reduce((sum, { values }) => sum + values.length, 0),
    problems: count((result) => result.kind === 'failure' && result.outcome.kind !== 'unusable'),
    unusable: count((result) => result.kind === 'failure' && result.outcome.kind === 'unusable'),
    dropped: count((result) => result.kind === 'dropped'),
    inputs: results.reduce((sum, result) => sum + ('offsets' in result ? result.offsets.length : 0), 0),
    deadLetters: count((result) =>
      result.kind === 'failure' ? result.isDeadLetter && !result.isRepaid : result.kind === 'unreadable',
    ),
    deadLettersOfRepaid: count((result) => result.kind === 'failure' && result.isDeadLetter && result.isRepaid),
    dead: counts.dead ?? [],
    unchanged: counts.unchanged,
    tombstones: counts.tombstones,
    prices: counts.prices,
  };
}

/** The reason quotes no value. `raw` is the provider's item, or our query if the call was refused. */
function rejectedAnswer({ instrument, outcome, isRepaid }: CoreResult & { readonly kind: 'failure' }) {
  const key = instrument.id;
  switch (outcome.kind) {
    case 'problem': {
      const { status, item: raw } = outcome;
      const what = status === null ? 'without a reason' : `with the problem status ${status}`;
      const which = isRepaid ? 'this product, whose repaymentDate has come' : 'this product';
      return { key, pointer: '', reason: `the provider gave no price for ${which}: it answered ${what}`, raw };
    }
    case 'unusable':
      return { key, pointer: outcome.pointer, reason: outcome.reason, raw: outcome.item };
    case 'refused': {
      const { status, code } = outcome;
      const how = status === null ? code : `${code}, status ${status}`;
      const raw = Buffer.from(JSON.stringify({ isin: instrument.isin }));
      return {
        key,
        pointer: '',
        reason: `a call for this product alone failed, while calls for other products were answered: ${how}`,
        raw,
      };
    }
  }
}
