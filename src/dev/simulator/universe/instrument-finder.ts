import type { InstrumentText } from './instrument-text.ts';
import { idResidueOf } from './isin.ts';
import type { Universe } from './universe.ts';

/** Finds an existing instrument by its ISIN, without a table of all ISINs. Returns its `InstrumentText.key`. */
export interface InstrumentFinder {
  keyOf(isin: string): number | undefined;
}

const NUMBERS = 1_000_000_000n;
/** `idResidueOf` returns the id modulo 10^9. The id is this residue, or the sum of HUGE and this residue. */
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
