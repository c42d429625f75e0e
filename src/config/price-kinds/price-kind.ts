import { z } from 'zod';
import { duration, oneOf, setting } from '../setting.ts';

/** What makes a kind of prices. Schedule, batches and exactness are the same for all. */
export interface PriceKindDefinition<Settings, Query, Asked> {
  /** Where its records go: the role of the topic in the settings. */
  readonly topic: string;
  /** The schema of its records, in the folder schemas/. */
  readonly schema: string;
  /** The values of $type (part 2.1 of src/provider/README.md, typed requests and typed responses). */
  readonly types: { readonly request: string; readonly response: string };
  /** Its group of settings, how long a price is fresh among them. */
  readonly settings: z.ZodType<Settings>;
  /** What is asked for by its settings: one plan for each series. */
  readonly plans: (settings: Settings) => readonly SeriesPlan<Query, Asked>[];
}

/** What is asked for of each instrument in one series, or once where prices have no windows. */
export interface SeriesPlan<Query, Asked> {
  /** The middle of the keys of its records, between id and window: `OHLC`, `Hour_1/Close`; null where a price has no window. */
  readonly series: string | null;
  /** What the records say of the question. */
  readonly inRecords: Asked;
  /** The question at a moment. */
  query(wallMs: number): Query;
  /** Null where a price has no window. */
  readonly windows: SeriesWindows<Query> | null;
}

/** The windows of a series, in milliseconds since the epoch. */
export interface SeriesWindows<Query> {
  readonly lengthMs: number;
  /** When the first window opens that is asked for at a moment. */
  oldestMs(wallMs: number): number;
  /** The question for the windows that open from one moment on and before another; null: up to now. */
  between(fromMs: number, toMs: number | null): Query;
}

// Snapshots are kept for seven days and series for 400: a record must be refreshed before it leaves its topic.
export const refreshInterval = (usual: string) =>
  setting(duration('1s', '1d'), 'The age at which it is requested again, for each instrument.', usual);

export const lookBack = (usual: string) =>
  setting(duration('1m', '366d'), 'How far back each request goes; what has not changed is not written again.', usual);

/** One, or several of them as a list: each is a series of its own. */
export function oneOrMore<const Names extends readonly [string, ...string[]]>(names: Names) {
  return z
    .union([oneOf(names).transform((one) => [one]), z.array(oneOf(names))])
    .refine((all) => all.length > 0 && new Set(all).size === all.length)
    .meta({ wanted: `one or several of ${names.join(', ')}, each once` });
}

export function inMilliseconds<Given extends { readonly refreshInterval: number }>({
  refreshInterval,
  ...rest
}: Given) {
  return { ...rest, refreshIntervalMs: refreshInterval };
}

export function seriesInMilliseconds<Given extends { readonly refreshInterval: number; readonly lookBack: number }>({
  lookBack: lookBackMs,
  ...rest
}: Given) {
  return { ...inMilliseconds(rest), lookBackMs };
}

/** A series whose windows begin `lookBackMs` before the moment of the question, the first one asked for whole. */
export function seriesPlan<Query, Asked>(
  series: string,
  inRecords: Asked,
  lookBackMs: number,
  { lengthMs, between }: Pick<SeriesWindows<Query>, 'lengthMs' | 'between'>,
): SeriesPlan<Query, Asked> {
  const oldestMs = (wallMs: number) => Math.floor((wallMs - lookBackMs) / lengthMs) * lengthMs;
  const query = (wallMs: number) => between(oldestMs(wallMs), null);
  return { series, inRecords, query, windows: { lengthMs, oldestMs, between } };
}
