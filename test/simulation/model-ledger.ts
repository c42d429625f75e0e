import type { FailOver } from './model-provider.ts';

/** One entry of the provider's event log, as it truly was. */
export interface ModelEvent {
  /** Rises by one over all entries ever, resets included. */
  readonly order: number;
  readonly offset: string;
  readonly publishedMs: number;
  /** Which log it belongs to: each reset begins a new one. */
  readonly incarnation: number;
  /** Null for an event whose instrument cannot be read. */
  readonly id: bigint | null;
  readonly version: number;
  /** Whether it does not map. */
  readonly dead: boolean;
  readonly deletes: boolean;
  /** Filtered out: it moves the cursor and is never returned. */
  readonly hidden: boolean;
}

/** An instrument from a moment on; version null: it left the list. */
export interface ModelState {
  readonly fromMs: number;
  readonly version: number | null;
  readonly dead: boolean;
}

export const MODEL_RETENTION_MS = 7 * 86_400_000;

/** What the provider truly did. The oracle compares with this, and with nothing that the provider answered. */
export class ModelLedger {
  readonly events: ModelEvent[] = [];
  /** Whether events come later than the rows that they changed: then a state may step back until they have come. */
  streamLags = false;
  readonly #states = new Map<bigint, ModelState[]>();
  /** Where each log began, and when. */
  readonly starts: { readonly offset: string; readonly atMs: number }[] = [];

  /** When a replica answered that was behind. */
  readonly failOvers: FailOver[] = [];

  failOverAt(atMs: number): FailOver | undefined {
    return this.failOvers.findLast(({ fromMs, untilMs }) => fromMs <= atMs && atMs < untilMs);
  }

  /** Of when an answer is that is given then. */
  asOfMs(atMs: number): number {
    const replica = this.failOverAt(atMs);
    return replica === undefined ? atMs : (replica.isFrozen ? replica.fromMs : atMs) - replica.lagMs;
  }

  change(id: bigint, state: ModelState): void {
    const states = this.#states.get(id);
    if (states === undefined) this.#states.set(id, [state]);
    else states.push(state);
  }

  ids(): bigint[] {
    return [...this.#states.keys()].sort((a, b) => (a < b ? -1 : 1));
  }

  stateAt(id: bigint, atMs: number): ModelState | null {
    return this.#states.get(id)?.findLast(({ fromMs }) => fromMs <= atMs) ?? null;
  }

  isLive(id: bigint, atMs: number): boolean {
    return (this.stateAt(id, atMs)?.version ?? null) !== null;
  }

  /** Whether it was there at the first moment and did not leave until the second. */
  wasLiveThroughout(id: bigint, fromMs: number, toMs: number): boolean {
    const states = this.#states.get(id) ?? [];
    return this.isLive(id, fromMs) && !states.some((s) => s.version === null && s.fromMs >= fromMs && s.fromMs <= toMs);
  }

  /** Visible and hidden entries between two offsets of one log: behind the first, up to the second. */
  between(after: string, upTo: string, incarnation: number): ModelEvent[] {
    return this.events.filter(
      (event) => event.incarnation === incarnation && isBehind(event.offset, after) && !isBehind(event.offset, upTo),
    );
  }

  isDropped(event: ModelEvent, atMs: number): boolean {
    return event.publishedMs + MODEL_RETENTION_MS < atMs;
  }

  /** The log that an offset was issued by; null when none was. */
  incarnationOf(offset: string): number | null {
    const start = this.starts.findIndex((begun) => begun.offset === offset);
    if (start >= 0) return start;
    return this.events.find((event) => event.offset === offset)?.incarnation ?? null;
  }
}

/** Whether an offset lies behind another. Written again here: the oracle shares no code with what it checks. */
export function isBehind(a: string, b: string): boolean {
  const [firstMs = 0, firstOrder = 0] = a.split('-').map(Number);
  const [secondMs = 0, secondOrder = 0] = b.split('-').map(Number);
  return firstMs > secondMs || (firstMs === secondMs && firstOrder > secondOrder);
}
