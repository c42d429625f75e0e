import type { InstrumentText } from './instrument-text.ts';
import { idResidueOf } from './isin.ts';
import type { Universe } from './universe.ts';

/** Finds the key of an existing instrument by its ISIN, without a table of all instruments. */
export interface InstrumentFinder {
  keyOf(isin: string): number | undefined;
}

const NUMBERS = 1_000_000_000n;
/** An ISIN gives an id modulo 10^9. The id is this number, or the sum of this number and HUGE. */
const HUGE = (2n ** 53n / NUMBERS) * NUMBERS;

/** `rawIds` returns the ids of instruments that were published as raw text. These instruments may have any ISIN. */
export function createInstrumentFinder(
  universe: Universe,
  text: InstrumentText,
  rawIds: () => Iterable<bigint>,
): InstrumentFinder {
  const isOf = (id: bigint, isin: string) => universe.has(id) && text.isin(id, universe.versionOf(id)) === isin;
  return {
    keyOf(isin) {
      const residue = idResidueOf(isin);
      const candidates = residue === undefined ? [] : [residue, HUGE + residue];
      const found = candidates.find((id) => isOf(id, isin)) ?? [...rawIds()].find((id) => isOf(id, isin));
      return found === undefined ? undefined : text.key(found);
    },
  };
}
