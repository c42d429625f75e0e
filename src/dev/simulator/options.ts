import type { SimulatorClock } from './clock.ts';
import type { FaultRule } from './faults/fault.ts';
import type { TextForm } from './universe/text-template.ts';

const DAY_MS = 86_400_000;

/** All options of a simulated provider, with their default values. */
export const DEFAULTS = {
  seed: 1,
  instruments: 1_000,
  hugeIds: 3,
  host: '127.0.0.1',
  port: 0,
  auth: true,
  clientId: 'simulated-client',
  clientSecret: 'simulated-secret',
  tokenLifetimeSeconds: 3_600,
  /** Changes of the universe per second; 0 means that the universe changes only on request. */
  mutationsPerSecond: 0,
  /**
   * A repaid instrument stays on the list for this time, unchanged. Then it can leave. Other instruments never
   * leave. 0: any instrument can leave the list, repaid instruments first.
   */
  delistAfterMs: 0,
  /** The share of instruments that were repaid within delistAfterMs before the start. */
  repaidAtFirst: 0,
  checkShare: 0.02,
  /** The number of filtered (hidden) log entries per change. */
  filteredShare: 0.1,
  /** The share of instruments that belong to the calling account (the /my variants). */
  myShare: 0.25,
  listLagMs: 0,
  /** True: each list response lags by a different time up to listLagMs. */
  listLagVaries: false,
  eventLagMs: 0,
  /** True: links.events of the list has the newest offset of the whole log, even if its event is not visible yet. */
  startsAhead: false,
  /** True: links.next stays at the last returned event, although filtered entries follow. */
  staysOverFiltered: false,
  retentionMs: 7 * DAY_MS,
  /**
   * The response to an expired offset. `empty`: no events, and nextId is the expired offset. `emptyNewest`: no events,
   * and nextId is the newest offset. `oldest`: the oldest retained events. A number: an error with this status.
   */
  expiredSince: 410 as 'empty' | 'emptyNewest' | 'oldest' | 400 | 403 | 404 | 410,
  /**
   * The id in links.next. `next`: the last id of this page plus one. `overlapping` and `exclusive`: the last id of this
   * page. With `overlapping`, the next page repeats the row of this id. With `exclusive`, it omits this row.
   */
  minIdMode: 'next' as 'next' | 'overlapping' | 'exclusive',
  maxLimit: 5_000,
  maxMaxEvents: 1_000,
  /** The maximum number of events or pre-trade checks in one response, even if more are requested; 0 means no limit. */
  answerClamp: 0,
  /** True: maxEvents in links.next is at most `answerClamp`. False: maxEvents in links.next is the requested number. */
  namesAnswerClamp: false,
  /** `log`: nextId is the newest offset of the log. `answer`: nextId is the offset in links.next. */
  nextIdOf: 'log' as 'log' | 'answer',
  /** The maximum number of log entries that one events request reads, filtered entries included; 0 means no limit. */
  eventScanLimit: 0,
  linksForgetFilter: false,
  eventForm: { absent: 'omit', casing: 'lower' } as TextForm,
  /** True: a single pre-trade check is wrapped in an object, `{ preTradeCheck: … }`. */
  wrappedCheck: false,
  maxBulkItems: 1_000,
  bulkRefusalStatus: 400 as 400 | 413,
  failingPricesShare: 0,
  keptPrices: 5,
  faults: [] as readonly FaultRule[],
};

export type SimulatorSettings = Readonly<typeof DEFAULTS>;

export interface SimulatorOptions extends Partial<SimulatorSettings> {
  readonly clock?: SimulatorClock;
}
