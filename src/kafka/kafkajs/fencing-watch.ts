import { ConnectorError } from '../../errors.ts';

const MAX_FENCINGS = 3;
const WINDOW_MS = 5 * 60_000;

/**
 * Counts how often a transactional id was taken from us. Once or twice is a replica that takes over. Three times in five
 * minutes is another installation with the same ids, and both would fence each other for ever. An operator's command
 * takes the id too; it leaves a mark, and is not counted.
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

  /** How many of the latest were an operator's. */
  excuse(fencings: number): void {
    this.#fencedAtMs = this.#fencedAtMs.slice(0, Math.max(0, this.#fencedAtMs.length - fencings));
  }

  /**
   * Thrown once: after it only an operator starts the source again, and the count begins at 0.
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
