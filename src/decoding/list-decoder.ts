// Decodes the body of a response with a list, chunk by chunk, as it comes: one object, of which one member is the list and
// all others are small. Rows are made as soon as they are complete, and given out together with the other members once
// the end of the body has been checked: a body that is cut or malformed gives nothing.
import { setImmediate as afterOtherWork } from 'node:timers/promises';
import { type RowKey, skimKey } from '../json/row-key.ts';
import type { Clock } from '../support/clock.ts';
import { BodyDecoder } from './body-decoder.ts';
import type { DecodedFailure, DecodedList } from './decoded-list.ts';
import type { BodyDecoderOptions, SkimmedRow } from './row-decoder.ts';
import { USUAL_SIZES } from './sizes.ts';

export interface ListDecoderOptions<Row, Context> extends BodyDecoderOptions<Row, Context> {
  /** Where a row has its key, for rows that are not read; null where rows have none. */
  readonly key: RowKey | null;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

const LONGEST_TURN_MS = 2;

export class ListDecoder<Row, Context> {
  readonly #options: ListDecoderOptions<Row, Context>;
  // Decoders whose reading has ended: they are used again, so that the engine keeps their compiled code.
  readonly #idle: BodyDecoder<Row, Context>[] = [];

  constructor(options: ListDecoderOptions<Row, Context>) {
    this.#options = options;
  }

  /** @throws ConnectorError BODY_MALFORMED when the body as a whole is not what was expected. */
  async decode(body: AsyncIterable<Uint8Array>, context: Context): Promise<DecodedList<Row | DecodedFailure>> {
    const { clock, key, sizes = USUAL_SIZES } = this.#options;
    const decoder = this.#idle.pop() ?? new BodyDecoder(this.#options);
    decoder.begin(context);
    let turnStartedMs = clock.monotonicMs();
    const nextTurn = async () => {
      await afterOtherWork();
      turnStartedMs = clock.monotonicMs();
    };
    for await (const chunk of body) {
      for (let at = 0; at < chunk.length; at += sizes.piece) {
        decoder.push(chunk.subarray(at, at + sizes.piece));
        while (decoder.isPaused) {
          await nextTurn();
          decoder.goOn();
          await nextTurn();
        }
        for (const skimmed of decoder.takeSkimmed()) await nameSkimmed(skimmed, key, nextTurn);
        if (clock.monotonicMs() - turnStartedMs >= LONGEST_TURN_MS) await nextTurn();
      }
    }
    decoder.end();
    for (const skimmed of decoder.takeSkimmed()) await nameSkimmed(skimmed, key, nextTurn);
    const decoded = decoder.result();
    // After an error it is not used again, since its state is unknown.
    this.#idle.push(decoder);
    return decoded;
  }
}

async function nameSkimmed(row: SkimmedRow, key: RowKey | null, nextTurn: () => Promise<void>): Promise<void> {
  if (key === null) return;
  const steps = skimKey(row.raw, [0, row.raw.length], key);
  let step = steps.next();
  while (!step.done) {
    await nextTurn();
    step = steps.next();
  }
  row.key = step.value;
}
