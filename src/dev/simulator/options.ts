import type { SimulatorClock } from './clock.ts';
import type { FaultRule } from './faults/fault.ts';
import type { TextForm } from './universe/text-template.ts';

/** Everything that can be chosen about a simulated provider; all of it has a default. */
export interface SimulatorOptions {
  readonly seed?: number;
  readonly instruments?: number;
  readonly hugeIds?: number;
  readonly host?: string;
  readonly port?: number;
  readonly auth?: boolean;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly tokenLifetimeSeconds?: number;
  /** Changes of the universe per second; 0 for a universe that changes only on request. */
  readonly mutationsPerSecond?: number;
  /**
   * How long a repaid instrument stays on the list, unchanged; no other one leaves the list then. 0: what was repaid
   * leaves first and soon, and others leave too.
   */
  readonly delistAfterMs?: number;
  /** The share of instruments that were repaid within delistAfterMs before the beginning. */
  readonly repaidAtFirst?: number;
  readonly checkShare?: number;
  /** The share of log positions that are filtered out for everyone, as a number of them per change. */
  readonly filteredShare?: number;
  /** The share of instruments that belong to the calling account (the /my variants). */
  readonly myShare?: number;
  readonly listLagMs?: number;
  /** Each list answer lags by another amount up to listLagMs. */
  readonly listLagVaries?: boolean;
  readonly eventLagMs?: number;
  /** The list names the newest offset of the whole log as its start, events that are not shown yet included. */
  readonly startsAhead?: boolean;
  /** The offset stays where it is over filtered entries; else it moves. */
  readonly staysOverFiltered?: boolean;
  readonly retentionMs?: number;
  /**
   * An expired `since`: `empty` echoes it for ever, `emptyNewest` too with the newest offset as nextId; `oldest` goes
   * on with the oldest retained event; or a status.
   */
  readonly expiredSince?: 'empty' | 'emptyNewest' | 'oldest' | 400 | 404 | 410;
  /** `next`: minId is the first id of the next page; `overlapping`: the last of this page; `exclusive`: ids above it. */
  readonly minIdMode?: 'next' | 'overlapping' | 'exclusive';
  readonly maxLimit?: number;
  readonly maxMaxEvents?: number;
  /** Events and checks that one response holds at most, however many are asked for; 0 for as many. */
  readonly answerClamp?: number;
  /** maxEvents in the links.next of an events answer says so; else it is as requested. */
  readonly namesAnswerClamp?: boolean;
  /** nextId is the newest offset of the log, or of the response alone. */
  readonly nextIdOf?: 'log' | 'answer';
  /** How many log positions an events answer looks at, filtered ones included; 0 for all. */
  readonly eventScanLimit?: number;
  readonly linksForgetFilter?: boolean;
  readonly eventForm?: TextForm;
  /** A single pre-trade check is in an object of its own, `{ preTradeCheck: … }`. */
  readonly wrappedCheck?: boolean;
  readonly maxBulkItems?: number;
  readonly bulkRefusalStatus?: 400 | 413;
  readonly failingPricesShare?: number;
  readonly keptPrices?: number;
  readonly faults?: readonly FaultRule[];
  readonly clock?: SimulatorClock;
}

export type SimulatorSettings = Required<Omit<SimulatorOptions, 'clock'>>;

const DAY_MS = 86_400_000;

export const DEFAULTS: SimulatorSettings = {
  seed: 1,
  instruments: 1_000,
  hugeIds: 3,
  host: '127.0.0.1',
  port: 0,
  auth: true,
  clientId: 'simulated-client',
  clientSecret: 'simulated-secret',
  tokenLifetimeSeconds: 3_600,
  mutationsPerSecond: 0,
  delistAfterMs: 0,
  repaidAtFirst: 0,
  checkShare: 0.02,
  filteredShare: 0.1,
  myShare: 0.25,
  listLagMs: 0,
  listLagVaries: false,
  eventLagMs: 0,
  startsAhead: false,
  staysOverFiltered: false,
  retentionMs: 7 * DAY_MS,
  expiredSince: 410,
  minIdMode: 'next',
  maxLimit: 5_000,
  maxMaxEvents: 1_000,
  answerClamp: 0,
  namesAnswerClamp: false,
  nextIdOf: 'log',
  eventScanLimit: 0,
  linksForgetFilter: false,
  eventForm: { absent: 'omit', casing: 'lower' },
  wrappedCheck: false,
  maxBulkItems: 1_000,
  bulkRefusalStatus: 400,
  failingPricesShare: 0,
  keptPrices: 5,
  faults: [],
};
