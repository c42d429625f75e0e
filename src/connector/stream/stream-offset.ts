const FORM = /^(\d{1,20})-(\d{1,20})$/;

/**
 * Which of two offsets of an event stream comes first: negative for a, positive for b, 0 for the same. Null when they
 * are not of the form `<digits>-<digits>` (part 4.2 of src/provider/README.md), which alone can be compared.
 */
export function compareStreamOffsets(a: string, b: string): number | null {
  if (a === b) return 0;
  const [first, second] = [FORM.exec(a), FORM.exec(b)];
  if (first === null || second === null) return null;
  return compareDigits(first[1], second[1]) || compareDigits(first[2], second[2]);
}

function compareDigits(a: string | undefined, b: string | undefined): number {
  const [first, second] = [BigInt(a ?? 0), BigInt(b ?? 0)];
  if (first === second) return 0;
  return first < second ? -1 : 1;
}
