/** Checks a value of another process. @throws RangeError if it is not an object, or has an unknown member. */
export function assertMembers(what: string, given: unknown, known: readonly string[]): void {
  if (given === null || typeof given !== 'object' || Array.isArray(given))
    throw new RangeError(`${what} is not an object.`);
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new RangeError(`${what} has no member ${unknown}; there are: ${known.join(', ') || 'none'}.`);
}

/** Checks that a member is a JSON text. @throws RangeError if it is missing, or a JSON value in place of its text */
export function assertText(member: string, value: unknown): void {
  if (typeof value !== 'string') throw new RangeError(`${member} must be a JSON text (a string).`);
}
