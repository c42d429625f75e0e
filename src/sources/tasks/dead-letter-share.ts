import { ConnectorError } from '../../errors.ts';
import type { DecodedFailure } from '../../records/decoding/decoded-list.ts';

const DEAD_LETTERS_ALWAYS_TAKEN = 20;
const ROWS_LOOKED_AT = 1_000;

interface Counted {
  readonly rows: number;
  readonly failures: number;
}

/**
 * Stops the source if too many rows cannot be mapped, because the provider has probably changed a type. A response of a
 * live stream has few rows, so earlier responses with about a thousand rows count too. A repeated response counts once.
 */
export class DeadLetterShare {
  readonly #largest: number;
  /** The counts of earlier responses by request, the oldest first. */
  readonly #answers = new Map<string, Counted>();

  constructor(largestShare: number) {
    this.#largest = largestShare;
  }

  /** @throws ConnectorError TOO_MANY_DEAD_LETTERS. `whence`: the endpoint and offset of the request. */
  check(rows: readonly { readonly kind: string }[], whence: string): void {
    if (rows.length === 0) return;
    const failed = rows.filter((row): row is DecodedFailure => row.kind === 'failure');
    const own = { rows: rows.length, failures: failed.length };
    this.#answers.delete(whence);
    const recent = { ...own };
    for (const [earlier, { rows, failures }] of [...this.#answers].reverse()) {
      if (recent.rows >= ROWS_LOOKED_AT) this.#answers.delete(earlier);
      else {
        recent.rows += rows;
        recent.failures += failures;
      }
    }
    if (this.#isTooMany(own)) throw tooMany(own, `rows of ${whence}`, failed[0]);
    if (failed.length > 0 && this.#isTooMany(recent)) {
      throw tooMany(recent, `recent rows, up to ${whence},`, failed[0]);
    }
    this.#answers.set(whence, own);
  }

  #isTooMany({ rows, failures }: Counted): boolean {
    return failures > Math.max(DEAD_LETTERS_ALWAYS_TAKEN, rows * this.#largest);
  }
}

function tooMany({ rows, failures }: Counted, what: string, first: DecodedFailure | undefined): ConnectorError {
  return new ConnectorError(
    'TOO_MANY_DEAD_LETTERS',
    `${failures} of ${rows} ${what} do not map, more than mapping.maxDeadLetters allows. The first row, ` +
      `${first?.key ? `id ${first.key}` : 'without an id'}, at ${first?.pointer || '/'}: ${first?.reason}. No row of the response was written.`,
    { fields: { rows, failures } },
  );
}
