import type { SimulatorClock } from './clock.ts';
import type { FaultRule } from './faults/fault.ts';
import type { TextForm } from './universe/text-template.ts';

const DAY_MS = 86_400_000;

/** Everything that can be chosen about a simulated provider, with what it is unless chosen. */
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
  /** Changes of the universe per second; 0 for a universe that changes only on request. */
  mutationsPerSecond: 0,
  /**
   * How long a repaid instrument stays on the list, unchanged; no other one leaves the list then. 0: what was repaid
   * leaves first and soon, and others leave too.
   */
  delistAfterMs: 0,
  /** The share of instruments that were repaid within delistAfterMs before the beginning. */
  repaidAtFirst: 0,
  checkShare: 0.02,
  /** The share of log positions that are filtered out for everyone, as a number of them per change. */
  filteredShare: 0.1,
  /** The share of instruments that belong to the calling account (the /my variants). */
  myShare: 0.25,
  listLagMs: 0,
  /** Each list answer lags by another amount up to listLagMs. */
  listLagVaries: false,
  eventLagMs: 0,
  /** The list names the newest offset of the whole log as its start, events that are not shown yet included. */
  startsAhead: false,
  /** The offset stays where it is over filtered entries; else it moves. */
  staysOverFiltered: false,
  retentionMs: 7 * DAY_MS,
  /**
   * An expired `since`: `empty` echoes it for ever, `emptyNewest` too with the newest offset as nextId; `oldest` goes
   * on with the oldest retained event; or a status.
   */
  expiredSince: 410 as 'empty' | 'emptyNewest' | 'oldest' | 400 | 404 | 410,
  /** `next`: minId is the first id of the next page; `overlapping`: the last of this page; `exclusive`: ids above it. */
  minIdMode: 'next' as 'next' | 'overlapping' | 'exclusive',
  maxLimit: 5_000,
  maxMaxEvents: 1_000,
  /** Events and checks that one response holds at most, however many are asked for; 0 for as many. */
  answerClamp: 0,
  /** maxEvents in the links.next of an events answer says so; else it is as requested. */
  namesAnswerClamp: false,
  /** nextId is the newest offset of the log, or of the response alone. */
  nextIdOf: 'log' as 'log' | 'answer',
  /** How many log positions an events answer looks at, filtered ones included; 0 for all. */
  eventScanLimit: 0,
  linksForgetFilter: false,
  eventForm: { absent: 'omit', casing: 'lower' } as TextForm,
  /** A single pre-trade check is in an object of its own, `{ preTradeCheck: … }`. */
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
