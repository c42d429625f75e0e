import assert from 'node:assert/strict';
import { ConnectorError, type ErrorCode } from '../../../src/errors.ts';
import { BulkCaller } from '../../../src/prices/bulk-caller.ts';
import type { BulkResponse, PriceKind, PriceQuestion, QuestionOutcome } from '../../../src/prices/bulk-prices.ts';
import type { Clock } from '../../../src/support/clock.ts';
import { skippingClock } from '../../support/runner/manual-clock.ts';

export const forever = new AbortController().signal;
export const MINUTE_MS = 60_000;
const HTTP_TIMEOUT_MS = 30_000;
const TIMED_OUT = new ConnectorError('PROVIDER_TIMEOUT', 'no answer in time');

export function questions(count: number, from = 0): PriceQuestion[] {
  return Array.from({ length: count }, (_, at) => ({ instrumentId: String(from + at), isin: `isin-${from + at}` }));
}

function priced(asked: readonly PriceQuestion[]): BulkResponse {
  const answers = asked.map(({ isin }) => {
    const record = { key: Buffer.from(isin), value: Buffer.from(isin), digest: 0n };
    return { kind: 'prices' as const, records: [record], isQuotingPulled: null };
  });
  return { answers, drift: 0, roundedNumbers: 0 };
}

export function refusal(status: number): ConnectorError {
  const codes: Readonly<Record<number, ErrorCode>> = {
    400: 'PROVIDER_REFUSED',
    404: 'PROVIDER_REFUSED',
    401: 'PROVIDER_UNAUTHORIZED',
    403: 'PROVIDER_UNAUTHORIZED',
    413: 'PROVIDER_ASKS_FOR_LESS',
  };
  return new ConnectorError(codes[status] ?? 'PROVIDER_BUSY', `status ${status}`, { fields: { status } });
}

/** A provider that throws or answers, by what it is asked. */
export function calling(options: {
  readonly refuse: (asked: readonly PriceQuestion[], call: number, kind: PriceKind) => ConnectorError | null;
  /** Thrown before anything is sent. */
  readonly heldBack?: () => ConnectorError | null;
  readonly maxItems?: number;
  readonly concurrency?: number;
  readonly togetherMs?: number;
  /** What may be asked for where many in a row are refused. */
  readonly others?: readonly PriceQuestion[];
  readonly clock?: Clock;
  /** How long a call takes; it is given up when that is longer than it may. */
  readonly takesMs?: (asked: readonly PriceQuestion[], kind: PriceKind) => number;
}) {
  const clock = options.clock ?? skippingClock();
  const seen: { readonly name: string; readonly fields: object }[] = [];
  const record = (name: string) => (fields: object) => void seen.push({ name, fields });
  const events: ConstructorParameters<typeof BulkCaller>[0]['events'] = {
    bulkAnswered() {},
    batchBisected: record('batchBisected'),
    batchLimitLearnt: record('batchLimitLearnt'),
    bulkAttemptFailed: record('bulkAttemptFailed'),
  };
  const calls: number[] = [];
  let inFlight = 0;
  let mostInFlight = 0;
  const caller = new BulkCaller({
    prices: {
      async ask(kind, asked, signal, timeoutMs = HTTP_TIMEOUT_MS) {
        const held = options.heldBack?.() ?? null;
        if (held !== null) throw held;
        calls.push(asked.length);
        inFlight += 1;
        mostInFlight = Math.max(mostInFlight, inFlight);
        const takesMs = options.takesMs?.(asked, kind) ?? 0;
        const mayTakeMs = Math.min(timeoutMs, HTTP_TIMEOUT_MS);
        if (takesMs === 0) await new Promise((resolve) => setImmediate(resolve));
        else await clock.sleep(Math.min(takesMs, mayTakeMs), signal);
        inFlight -= 1;
        if (takesMs > mayTakeMs) throw TIMED_OUT;
        const error = options.refuse(asked, calls.length, kind);
        if (error !== null) throw error;
        return priced(asked);
      },
    },
    maxItems: options.maxItems ?? 1_000,
    concurrency: options.concurrency ?? 4,
    togetherMs: options.togetherMs ?? 0,
    ...(options.others && { sampleOthers: () => options.others ?? [] }),
    clock,
    random: () => 0.5,
    events,
  });
  return { caller, clock, calls, seen, mostInFlight: () => mostInFlight };
}

/** All that is handed on of a batch, each once. */
export async function ask(
  caller: BulkCaller,
  kind: PriceKind,
  asked: readonly PriceQuestion[],
  signal: AbortSignal,
  isWanted: (at: number) => boolean = () => true,
) {
  const outcomes: QuestionOutcome[] = [];
  const answered = (positions: readonly number[], given: readonly QuestionOutcome[]) => {
    for (const [at, outcome] of given.entries()) {
      const position = positions[at] ?? -1;
      assert.equal(outcomes[position], undefined, 'a question is answered twice');
      outcomes[position] = outcome;
    }
  };
  await caller.ask({ kind, questions: asked, isWanted }, answered, signal);
  assert.equal(Object.keys(outcomes).length, asked.length, 'a question is not answered');
  return { outcomes };
}

export const has = (asked: readonly PriceQuestion[], ...isins: string[]) =>
  asked.some(({ isin }) => isins.includes(isin));
