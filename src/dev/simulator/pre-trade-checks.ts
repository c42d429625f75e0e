import type { SimulatorClock } from './clock.ts';
import { compareOffsets, type Offset } from './ledger/event-log.ts';
import type { InstrumentText } from './universe/instrument-text.ts';
import type { InstrumentVersion } from './universe/instrument-version.ts';
import { digits, mix } from './universe/random.ts';
import type { TextForm } from './universe/text-template.ts';
import type { Universe } from './universe/universe.ts';

export interface SimulatedPreTradeCheck {
  readonly preTradeCheckId: string;
  readonly offset: Offset;
  readonly id: bigint;
  readonly version: InstrumentVersion;
  /** The JSON text of the check if a test published this text. `write` replaces `{id}` in this text. */
  readonly raw: string | null;
}

export interface SimulatedPreTradeChecks {
  trigger(id: bigint, raw?: string): SimulatedPreTradeCheck;
  find(preTradeCheckId: string): SimulatedPreTradeCheck | undefined;
  after(offset: Offset): Iterable<SimulatedPreTradeCheck>;
  newest(): Offset;
  all(): readonly SimulatedPreTradeCheck[];
  write(check: SimulatedPreTradeCheck): string;
}

const MAX_CHECKS = 100_000;

export function createSimulatedPreTradeChecks(parts: {
  seed: number;
  clock: SimulatorClock;
  universe: Universe;
  text: InstrumentText;
  form: TextForm;
}): SimulatedPreTradeChecks {
  const { seed, clock, universe, text, form } = parts;
  const checks: SimulatedPreTradeCheck[] = [];
  let last: Offset = { ms: clock.wallMs(), sequence: 0 };
  let triggered = 0;
  return {
    trigger(id, raw) {
      const nowMs = clock.wallMs();
      last = nowMs > last.ms ? { ms: nowMs, sequence: 0 } : { ms: last.ms, sequence: last.sequence + 1 };
      const preTradeCheckId = `PTC-${digits(mix(seed, triggered++), 71, 10)}`;
      const check = { preTradeCheckId, offset: last, id, version: universe.versionOf(id), raw: raw ?? null };
      checks.push(check);
      if (checks.length > MAX_CHECKS) checks.shift();
      return check;
    },
    find: (wanted) => checks.findLast(({ preTradeCheckId }) => preTradeCheckId === wanted),
    *after(offset) {
      for (const check of checks) if (compareOffsets(check.offset, offset) > 0) yield check;
    },
    newest: () => last,
    all: () => checks,
    write(check) {
      const { preTradeCheckId: id } = check;
      if (check.raw !== null) return check.raw.replaceAll('{id}', id);
      const key = mix(seed, check.offset.sequence);
      const trade = (at: number) =>
        `{"preTradeCheckId":"${id}","quantity":${(at + 1) * 10},"volume":1${digits(key, at, 4)}.${digits(key, at + 9, 18)},` +
        `"volumeNet":1${digits(key, at + 20, 4)}.50,"reference":"${id}/${at + 1}"}`;
      return (
        `{"preTradeCheckId":"${id}","simulationUrl":"https://trading.example.com/simulate?check=${id}` +
        `&ticket=${digits(mix(key, 3), 72, 24)}","instrument":${text.write(check.id, check.version, form)},` +
        `"indicativeTrades":[${trade(0)},${trade(1)}]}`
      );
    },
  };
}
