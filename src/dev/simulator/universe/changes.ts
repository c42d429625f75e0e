import type { SimulatorClock } from '../clock.ts';
import { type EventLog, offsetText } from '../ledger/event-log.ts';
import { assertMembers, type Members, TEXT } from '../members.ts';
import { dateTimeText, dayText } from './calendar.ts';
import type { InstrumentText } from './instrument-text.ts';
import { type InstrumentVersion, ISSUED } from './instrument-version.ts';
import type { Universe } from './universe.ts';

/** Changes of the provider's data. Ids are decimal text, because JSON numbers would round them. */
export type Change =
  /** Changes an instrument and adds an event. Default id: for `newissue` a new id, else the first instrument's id. */
  | { readonly kind: EventKind; readonly id?: string }
  /** Delists an instrument: it leaves the list without an event. */
  | { readonly kind: 'vanish'; readonly id: string }
  /** Replaces an instrument by exactly this JSON text. Adds an event of this type (default: datachange; null: no event). */
  | { readonly kind: 'replace'; readonly id: string; readonly instrument: string; readonly type?: string | null }
  /** Adds an event with exactly this JSON text as envelope. The universe does not change. */
  | { readonly kind: 'event'; readonly envelope: string; readonly type?: string; readonly id?: string }
  /** Adds a log entry that no client receives: the newest offset changes, but no response has the event. */
  | { readonly kind: 'hidden' };

/** Exported for tests. */
export const EVENT_KINDS = [
  'newissue',
  'datachange',
  'rulebasedparameteradjustment',
  'repayment',
  'barriercross',
  'couponpayment',
  'incomepayment',
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

const ID = TEXT.regex(/^-?\d+$/);
const OTHER_MEMBERS: Readonly<Record<string, Members>> = {
  vanish: { id: ID },
  replace: { id: ID, instrument: TEXT, type: TEXT.nullish() },
  event: { envelope: TEXT, type: TEXT.optional(), id: ID.optional() },
  hidden: {},
};
const NEEDS_NO_INSTRUMENT = ['newissue', 'replace', 'event'];

function assertKind(kind: string): void {
  const kinds = [...EVENT_KINDS, 'vanish', 'replace', 'event', 'hidden'];
  if (!kinds.includes(kind)) throw new RangeError(`Unknown kind of change ${kind}. Known kinds: ${kinds.join(', ')}.`);
}

/** Verifies a change that came as JSON from another process. @throws RangeError if it has a wrong member or value. */
export function assertChange(change: Change, has: (id: string) => boolean): void {
  const kind = String(change?.kind);
  assertKind(kind);
  assertMembers(`The change ${kind}`, change, { kind: TEXT, ...(OTHER_MEMBERS[kind] ?? { id: ID.optional() }) });
  const { id } = { id: undefined, ...change };
  if (id !== undefined && !NEEDS_NO_INSTRUMENT.includes(kind)) assertInstrument(id, has);
}

/** @throws RangeError if the universe has no instrument with this id. */
export function assertInstrument(id: string, has: (id: string) => boolean): void {
  if (!/^-?\d+$/.test(String(id)) || !has(id)) {
    throw new RangeError(`There is no instrument ${id}; GET ledger/instruments lists them.`);
  }
}

/** The event types of part 6 of src/provider/README.md. Events of income payments have the type couponpayment. */
export const EVENT_TYPES: readonly string[] = EVENT_KINDS.filter((kind) => kind !== 'incomepayment');

export interface Published {
  readonly id: string | null;
  readonly offset: string | null;
}

export interface Changes {
  apply(change: Change): Published;
  /** The ids of all instruments that a `replace` has changed. Instruments that were removed afterwards are included. */
  rawIds(): Iterable<bigint>;
}

export function createChanges(parts: {
  universe: Universe;
  log: EventLog;
  text: InstrumentText;
  clock: SimulatorClock;
}): Changes {
  const { universe, log, text, clock } = parts;
  const blank = { version: ISSUED, repayment: null, coupon: null, raw: null, hidden: false };

  const rawIds = new Set<bigint>();

  const happen = (kind: EventKind, id: bigint): Published => {
    const nowMs = clock.wallMs();
    const before = universe.versionOf(id);
    const version = kind === 'newissue' ? before : next(before, kind, nowMs, text.blueprint(id));
    universe.put(id, version);
    const offset = log.append({
      ...blank,
      type: kind === 'incomepayment' ? 'couponpayment' : kind,
      id,
      version,
      repayment: kind === 'repayment' ? repaymentText(nowMs, text.blueprint(id).currency) : null,
      coupon: kind.endsWith('payment') && kind !== 'repayment' ? couponText(kind, nowMs, version) : null,
    });
    return { id: String(id), offset: offsetText(offset) };
  };
  return {
    rawIds: () => rawIds,
    apply(change) {
      switch (change.kind) {
        case 'hidden':
          return { id: null, offset: offsetText(log.append({ ...blank, type: 'hidden', id: 0n, hidden: true })) };
        case 'vanish':
          universe.remove(BigInt(change.id));
          return { id: change.id, offset: null };
        case 'event': {
          const id = BigInt(change.id ?? 0);
          const entry = { ...blank, type: change.type ?? 'datachange', id, raw: oneLine(change.envelope) };
          return { id: change.id ?? null, offset: offsetText(log.append(entry)) };
        }
        case 'replace': {
          const id = BigInt(change.id);
          const before = universe.versionOf(id);
          const version = { ...before, number: before.number + 1, raw: oneLine(change.instrument) };
          universe.put(id, version);
          rawIds.add(id);
          if (change.type === null) return { id: change.id, offset: null };
          const entry = { ...blank, type: change.type ?? 'datachange', id, version };
          return { id: change.id, offset: offsetText(log.append(entry)) };
        }
        default: {
          assertKind(change.kind);
          const fresh = change.kind === 'newissue' ? universe.nextId() : universe.idAt(0);
          const id = change.id === undefined ? fresh : BigInt(change.id);
          return id === undefined ? { id: null, offset: null } : happen(change.kind, id);
        }
      }
    },
  };
}

function next(
  before: InstrumentVersion,
  kind: EventKind,
  nowMs: number,
  limits: { underlyings: number; coupons: number },
): InstrumentVersion {
  const version = { ...before, number: before.number + 1 };
  if (kind === 'repayment') return { ...version, repaidOn: dayText(nowMs) };
  if (kind === 'rulebasedparameteradjustment') return { ...version, adjustments: before.adjustments + 1 };
  if (kind === 'barriercross' && before.breachedAt.length < limits.underlyings) {
    return { ...version, breachedAt: [...before.breachedAt, dateTimeText(nowMs)] };
  }
  if (kind === 'couponpayment' && before.couponsPaid < limits.coupons) {
    return { ...version, couponsPaid: before.couponsPaid + 1 };
  }
  return { ...version, dataChanges: before.dataChanges + 1 };
}

// The interface does not define the form of repayment and coupon (part 2.2 of src/provider/README.md). The simulator
// uses its own form.
function repaymentText(nowMs: number, currency: string): string {
  return `{"valueDate":"${dayText(nowMs)}","currency":"${currency}","cashAmount":1000.00,"repaymentRate":100.000000000000000000}`;
}

function couponText(kind: EventKind, nowMs: number, version: InstrumentVersion): string {
  const income = kind === 'incomepayment' ? ',"income":true' : '';
  return `{"valueDate":"${dayText(nowMs)}","amount":12.50,"number":${version.couponsPaid}${income}}`;
}

/** Replaces line breaks, because the ledger has one instrument per line. JSON strings contain no raw line breaks. */
function oneLine(text: string): string {
  return text.replaceAll(/[\r\n]+/g, ' ');
}
