/** @throws RangeError if a value of another process is no object, or has a member that is not in `known`. */
export function assertMembers(what: string, given: unknown, known: readonly string[]): void {
  if (given === null || typeof given !== 'object' || Array.isArray(given))
    throw new RangeError(`${what} is no object.`);
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new RangeError(`${what} has no member ${unknown}; there are: ${known.join(', ') || 'none'}.`);
}
