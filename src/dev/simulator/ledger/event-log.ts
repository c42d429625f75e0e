import type { SimulatorClock } from '../clock.ts';
import type { InstrumentText } from '../universe/instrument-text.ts';
import type { InstrumentVersion } from '../universe/instrument-version.ts';
import { keyIn, type TextForm } from '../universe/text-template.ts';
import { parseLossless, reshape, stringifyLossless } from './lossless-json.ts';

/** An offset of the provider's stream. As text: `<milliseconds>-<sequence>` (part 4.2 of src/provider/README.md). */
export interface Offset {
  readonly ms: number;
  readonly sequence: number;
}

interface LogEntry {
  readonly offset: Offset;
  readonly publishedAtMs: number;
  readonly type: string;
  readonly id: bigint;
  readonly version: InstrumentVersion;
  readonly repayment: string | null;
  readonly coupon: string | null;
  /** The event's JSON text if a test published this text. Null: the event's text is generated. */
  readonly raw: string | null;
  /** True: the entry has an offset, but no response contains it (part 4.2 of src/provider/README.md, events, rule 3). */
  readonly hidden: boolean;
}

type NewEntry = Omit<LogEntry, 'offset' | 'publishedAtMs'>;

export interface EventLog {
  append(entry: NewEntry): Offset;
  /** The newest offset that a client could see `agoMs` ago. Default: now. */
  newest(agoMs?: number): Offset;
  last(): Offset;
  /** Entries with higher offsets, oldest first. Omits entries that are not visible yet, and entries that have expired. */
  after(offset: Offset): Iterable<LogEntry>;
  /** True if an entry after this offset has expired. Responses no longer contain expired entries. */
  isExpired(offset: Offset): boolean;
  all(): Iterable<LogEntry>;
  readonly size: number;
  /** The provider's replica that answers now; null if the provider itself answers. */
  readonly replica: Replica | null;
  failOver(to: Replica | null): void;
  /** Removes all entries, as if the provider were rebuilt. New offsets are above `to`, and perhaps below old offsets. */
  reset(to: Offset): void;
}

/**
 * A replica of the provider (not of the connector). Its event log lags by `lagMs`, and so does its list for later changes.
 * `beyond`: the response to an offset that is newer than the replica's log.
 */
export interface Replica {
  readonly lagMs: number;
  /**
   * A number is the HTTP status of the response. In all other cases, the response has no events. `echo`: nextId and
   * links.next have the requested offset. `newest`: nextId has the newest offset of the replica, and links.next has
   * the requested offset. `back`: both have the newest offset of the replica.
   */
  readonly beyond: 'echo' | 'newest' | 'back' | number;
}

/** The maximum number of entries. Beyond this number, the older half is removed. An entry needs about 150 bytes. */
const MAX_ENTRIES = 1_000_000;

export function createEventLog(options: { clock: SimulatorClock; retentionMs: number; lagMs: number }): EventLog {
  const { clock, retentionMs } = options;
  let replica: Replica | null = null;
  const lag = () => replica?.lagMs ?? options.lagMs;
  let entries: LogEntry[] = [];
  let start: Offset = { ms: clock.wallMs(), sequence: 0 };
  let last = start;
  let firstRetained = 0;
  // After a reset, the milliseconds of an offset are the wall clock minus this difference.
  let behindMs = 0;

  const expire = () => {
    const cliffMs = clock.wallMs() - retentionMs;
    while (firstRetained < entries.length && (entries[firstRetained]?.publishedAtMs ?? cliffMs) < cliffMs) {
      firstRetained += 1;
    }
  };
  const isVisible = (entry: LogEntry, agoMs = 0) => entry.publishedAtMs + lag() + agoMs <= clock.wallMs();
  const indexAfter = (offset: Offset) => {
    let [low, high] = [0, entries.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const entry = entries[middle];
      if (entry && compareOffsets(entry.offset, offset) <= 0) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return {
    append(entry) {
      const publishedAtMs = clock.wallMs();
      // Offsets rise even if the wall clock goes back.
      const ms = publishedAtMs - behindMs;
      last = ms > last.ms ? { ms, sequence: 0 } : { ms: last.ms, sequence: last.sequence + 1 };
      entries.push({ ...entry, offset: last, publishedAtMs });
      if (entries.length > MAX_ENTRIES) {
        entries = entries.slice(MAX_ENTRIES / 2);
        firstRetained = Math.max(0, firstRetained - MAX_ENTRIES / 2);
      }
      return last;
    },
    newest(agoMs = 0) {
      if (lag() + agoMs === 0) return last;
      return entries.findLast((entry) => isVisible(entry, agoMs))?.offset ?? start;
    },
    last: () => last,
    *after(offset) {
      expire();
      for (let index = Math.max(firstRetained, indexAfter(offset)); index < entries.length; index++) {
        const entry = entries[index];
        if (entry === undefined || !isVisible(entry)) return;
        yield entry;
      }
    },
    isExpired(offset) {
      expire();
      const dropped = entries[firstRetained - 1];
      return dropped !== undefined && compareOffsets(offset, dropped.offset) < 0;
    },
    all: () => entries,
    get size() {
      return entries.length;
    },
    get replica() {
      return replica;
    },
    failOver(to) {
      replica = to;
    },
    reset(to) {
      entries = [];
      firstRetained = 0;
      start = to;
      last = to;
      behindMs = clock.wallMs() - to.ms;
    },
  };
}

export function compareOffsets(a: Offset, b: Offset): number {
  return a.ms - b.ms || a.sequence - b.sequence;
}

export function offsetText({ ms, sequence }: Offset): string {
  return `${ms}-${sequence}`;
}

/** Undefined if the text does not have the form `<digits>-<digits>`. */
export function parseOffset(text: string): Offset | undefined {
  const match = /^([0-9]{1,18})-([0-9]{1,18})$/.exec(text);
  return match ? { ms: Number(match[1]), sequence: Number(match[2]) } : undefined;
}

/** Writes a log entry as the envelope of an event (part 2.2 of src/provider/README.md, event envelope). */
export interface EventText {
  write(entry: LogEntry): string;
}

export function createEventText(text: InstrumentText, form: TextForm): EventText {
  const key = (name: string) => JSON.stringify(keyIn(form, name));
  // In the form of a single instrument, a missing repayment or coupon is omitted. In all other forms, it is null.
  const standalone = form.absent === 'omit' && form.casing === 'capitalised';
  const member = (name: string, value: string | null) => {
    if (value === null) return standalone ? '' : `,${key(name)}:null`;
    return `,${key(name)}:${form.casing === 'lower' ? value : stringifyLossless(reshape(parseLossless(value), form))}`;
  };
  return {
    write(entry) {
      if (entry.raw !== null) return entry.raw;
      const { type, repayment, coupon } = entry;
      const event = `${key('type')}:${JSON.stringify(type)}${member('repayment', repayment)}${member('coupon', coupon)}`;
      return `{${key('event')}:{${event}},${key('instrument')}:${text.write(entry.id, entry.version, form)}}`;
    },
  };
}
