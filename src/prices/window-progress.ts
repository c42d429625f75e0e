import { dayOf, instantOf, type PriceQuery } from '../config/price-kinds/all.ts';
import { keyedRecord, type OutgoingRecord, type TargetTopic } from '../kafka/record.ts';
import type { WindowsMissed } from '../observe/events.ts';
import { notificationEncoder } from '../records/avro/record-encoder.ts';
import type { SchemaRegistry } from '../records/avro/registry.ts';
import type { PriceKind } from './bulk-prices.ts';
import type { MissedWindows } from './core/core-messages.ts';
import { MARKS_EVERY_MS } from './core/partition-core.ts';
import type { EnabledKind } from './enabled-kinds.ts';
import { NAME } from './price-records.ts';

const DAY_MS = 86_400_000;
const MOST_REPORTED = 20;

/** The metadata of the consumer offset: for each series, the end of the answered windows. */
export function progressText(answeredMs: ReadonlyMap<PriceKind, number>): string {
  const entries = [...answeredMs].map(([kind, ms]) => [kind, new Date(ms).toISOString()]);
  return JSON.stringify({ answered: Object.fromEntries(entries) });
}

export function readProgress(metadata: string): ReadonlyMap<PriceKind, number> {
  let answered: unknown = null;
  try {
    answered = JSON.parse(metadata)?.answered;
  } catch {}
  const entries = typeof answered === 'object' && answered !== null ? Object.entries(answered) : [];
  const read = entries.map(
    ([kind, at]) => [kind as PriceKind, typeof at === 'string' ? Date.parse(at) : Number.NaN] as const,
  );
  return new Map(read.filter(([, ms]) => !Number.isNaN(ms)));
}

/** The arguments of `backfill` for a range of windows: `daily --from 2026-01-01 --to 2026-03-31`. */
export function backfillText(
  kind: Exclude<PriceQuery['kind'], 'overview'>,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): string {
  const [from, to] = kind === 'daily' ? [fromMs, toMs - DAY_MS].map(dayOf) : [fromMs, toMs].map(instantOf);
  return `${kind} --from ${from} --to ${to}`;
}

export interface MissedNotice {
  readonly record: OutgoingRecord;
  readonly event: WindowsMissed;
  /** Called if the commit fails, so that another partition can report the windows. */
  readonly withdraw: () => void;
}

/** Creates the notice of windows that were never requested; null if this process has already reported these windows. */
export type MissedNotices = (
  missed: MissedWindows,
  wallMs: number,
  signal: AbortSignal,
) => Promise<MissedNotice | null>;

export function createMissedNotices(options: {
  readonly kinds: readonly EnabledKind[];
  readonly topic: TargetTopic;
  readonly registry: Pick<SchemaRegistry, 'schemaId'>;
}): MissedNotices {
  const { kinds, topic, registry } = options;
  let reported: { readonly base: string; readonly fromMs: number; readonly toMs: number }[] = [];
  return async ({ kind, fromMs, toMs, isins }, wallMs, signal) => {
    const enabled = kinds.find((one) => one.kind === kind);
    const base = enabled?.inRecords.kind;
    const lengthMs = enabled?.windows?.lengthMs;
    if (enabled === undefined || base === undefined || base === 'overview' || lengthMs === undefined) return null;
    const encode = await notificationEncoder(registry, topic, signal);
    const isKnown = reported.some((one) => one.base === base && one.fromMs <= fromMs && toMs <= one.toMs);
    if (isKnown) return null;
    // The low-water marks of partitions differ by at most `around`. A range wider by `around` covers all partitions.
    const around = isins === null ? enabled.refreshIntervalMs + MARKS_EVERY_MS : 0;
    const range = {
      fromMs: Math.floor((fromMs - around) / lengthMs) * lengthMs,
      toMs: Math.ceil((toMs + around) / lengthMs) * lengthMs,
    };
    const claim = { base, ...range };
    // Claims the range before the commit, so that no other partition reports the same windows meanwhile.
    if (isins === null) reported.push(claim);
    if (reported.length > MOST_REPORTED) reported.shift();
    const products = isins === null ? '' : ` --isin ${isins.join(' ')}`;
    const command = `spconnect backfill ${backfillText(base, range)}${products}`;
    const [from, to] = [range.fromMs, range.toMs].map((ms) => new Date(ms).toISOString());
    const value = encode({
      source: NAME,
      kind: 'windows-missed',
      at: wallMs,
      message: `Windows of ${base} prices that opened from ${from} to ${to} were not requested. To request them, run: ${command}`,
      why: `For longer than prices.kinds.${base}.catchUp, no request was answered or no price processor ran. All times are by the connector's clock.`,
      gapFrom: range.fromMs,
      gapTo: range.toMs,
    });
    return {
      record: keyedRecord(topic, NAME, value, {}),
      event: { kind, from: from ?? '', to: to ?? '', products: isins?.length ?? null, command },
      withdraw() {
        reported = reported.filter((one) => one !== claim);
      },
    };
  };
}
