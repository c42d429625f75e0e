/** @throws RangeError if `given`, which came from another process, is not an object or has an unknown member. */
export function assertMembers(what: string, given: unknown, known: readonly string[]): void {
  if (given === null || typeof given !== 'object' || Array.isArray(given))
    throw new RangeError(`${what} is not an object.`);
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new RangeError(`${what} has no member ${unknown}; there are: ${known.join(', ') || 'none'}.`);
}

/** For a member that holds JSON text. @throws RangeError if the member is missing, or is a JSON value other than a string. */
export function assertText(member: string, value: unknown): void {
  if (typeof value !== 'string') throw new RangeError(`${member} must be a JSON text (a string).`);
}
