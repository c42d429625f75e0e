import type { SimulatorClock } from './clock.ts';
import type { FaultRule } from './faults/fault.ts';
import type { TextForm } from './universe/text-template.ts';

/** Everything that can be chosen about a simulated provider; all of it has a default. */
export interface SimulatorOptions {
  /** The same seed gives the same bytes. */
  readonly seed?: number;
  /** How many instruments there are at first. */
  readonly instruments?: number;
  /** How many of them have ids beyond 2^53. */
  readonly hugeIds?: number;
  /** Interface to listen on; the control paths answer loopback only, whatever this is. */
  readonly host?: string;
  /** 0 for any free port. */
  readonly port?: number;
  /** Whether the endpoints ask for a bearer token. */
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
  /** The share of changes that are pre-trade checks. */
  readonly checkShare?: number;
  /** The share of log positions that are filtered out for everyone, as a number of them per change. */
  readonly filteredShare?: number;
  /** The share of instruments that belong to the calling account (the /my variants). */
  readonly myShare?: number;
  /** How far the list lags behind the event log. */
  readonly listLagMs?: number;
  /** Whether each list answer lags by another amount up to listLagMs. */
  readonly listLagVaries?: boolean;
  /** Whether links.events of a list that lags names the offset of the moment that it shows, or the newest one. */
  readonly listTellsItsAge?: boolean;
  /** How far the event log lags behind the list. */
  readonly eventLagMs?: number;
  /** Whether the list names the newest offset of the whole log as its start, of events too that are not shown yet. */
  readonly startsAhead?: boolean;
  /** Whether the offset stays over what is filtered out; else it moves. */
  readonly staysOverFiltered?: boolean;
  readonly retentionMs?: number;
  /**
   * What an expired `since` gets: `empty` echoes it for ever; `emptyNewest` does too, but names the newest offset as
   * nextId; `oldest` goes on with the oldest retained event; or a status.
   */
  readonly expiredSince?: 'empty' | 'emptyNewest' | 'oldest' | 400 | 404 | 410;
  /** `next`: minId is the first id of the next page; `overlapping`: the last of this page; `exclusive`: ids above it. */
  readonly minIdMode?: 'next' | 'overlapping' | 'exclusive';
  readonly legalCountryRequired?: boolean;
  /** Larger limits are refused with 400. */
  readonly maxLimit?: number;
  readonly maxMaxEvents?: number;
  /** Events and checks that one response holds at most, however many are asked for; 0 for as many. */
  readonly answerClamp?: number;
  /** Whether maxEvents of an events answer's links.next says so; else it is as it was asked. */
  readonly namesAnswerClamp?: boolean;
  /** What nextId is: the newest offset of the log, or only of the response. */
  readonly nextIdOf?: 'log' | 'answer';
  /** How many log positions an events answer looks at, filtered ones included; 0 for all. */
  readonly eventScanLimit?: number;
  /** Whether links.next of events lacks legalCountry and eventType. */
  readonly linksForgetFilter?: boolean;
  /** How instruments in events and checks are written. */
  readonly eventForm?: TextForm;
  /** Event types beyond those of the interface that the eventType filter accepts. */
  readonly extraEventTypes?: readonly string[];
  /** Whether a single pre-trade check is in an object of its own, `{ preTradeCheck: … }`. */
  readonly wrappedCheck?: boolean;
  /** More items in a bulk request are refused with `bulkRefusalStatus`. */
  readonly maxBulkItems?: number;
  readonly bulkRefusalStatus?: 400 | 413;
  /** The share of instruments whose prices always fail with 500. */
  readonly failingPricesShare?: number;
  /** How often prices move. */
  readonly priceStepMs?: number;
  /** How many price responses per ISIN the ledger remembers. */
  readonly keptPrices?: number;
  /** Rules in force from the start. */
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
  listTellsItsAge: false,
  eventLagMs: 0,
  startsAhead: false,
  staysOverFiltered: false,
  retentionMs: 7 * DAY_MS,
  expiredSince: 410,
  minIdMode: 'next',
  legalCountryRequired: false,
  maxLimit: 5_000,
  maxMaxEvents: 1_000,
  answerClamp: 0,
  namesAnswerClamp: false,
  nextIdOf: 'log',
  eventScanLimit: 0,
  linksForgetFilter: false,
  eventForm: { absent: 'omit', casing: 'lower' },
  extraEventTypes: [],
  wrappedCheck: false,
  maxBulkItems: 1_000,
  bulkRefusalStatus: 400,
  failingPricesShare: 0,
  priceStepMs: 1_000,
  keptPrices: 5,
  faults: [],
};
