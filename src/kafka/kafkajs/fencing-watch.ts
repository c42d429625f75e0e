import { ConnectorError } from '../../errors.ts';

const MAX_FENCINGS = 3;
const WINDOW_MS = 5 * 60_000;

/**
 * Counts how often a transactional id was taken from us. Once or twice is a replica taking over; three times in five
 * minutes is somebody else with the same ids, and opening again would fence each other for ever. An operator's command
 * takes it too, says so, and is not counted.
 */
export class FencingWatch {
  readonly #transactionalId: string;
  #fencedAtMs: number[] = [];

  constructor(transactionalId: string) {
    this.#transactionalId = transactionalId;
  }

  record(nowMs: number): void {
    this.#fencedAtMs = [...this.#fencedAtMs, nowMs].slice(-MAX_FENCINGS);
  }

  /** So many of the latest were an operator's. */
  excuse(fencings: number): void {
    this.#fencedAtMs = this.#fencedAtMs.slice(0, Math.max(0, this.#fencedAtMs.length - fencings));
  }

  /**
   * Told once: who opens again after the refusal was started by an operator, and gets a new count.
   *
   * @throws ConnectorError WRITER_IDS_SHARED
   */
  refuseWhenShared(nowMs: number): void {
    const recent = this.#fencedAtMs.filter((fencedAtMs) => nowMs - fencedAtMs < WINDOW_MS);
    if (recent.length < MAX_FENCINGS) return;
    this.#fencedAtMs = [];
    throw new ConnectorError(
      'WRITER_IDS_SHARED',
      `Another process took the transactional id ${this.#transactionalId} ${MAX_FENCINGS} times in five minutes. ` +
        'It uses the same topic prefix: give each installation its own prefix, then start this source again.',
      { fields: { transactionalId: this.#transactionalId } },
    );
  }
}
