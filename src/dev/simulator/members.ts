import { z } from 'zod';

/** The allowed members of an object, each with its schema. */
export type Members = Readonly<Record<string, z.ZodType>>;

export const TEXT = z.string();
export const MS = z.int().min(0);
export const COUNT = z.int().min(0);

/** @throws RangeError if `given`, which came from another process, is no object, or has an unknown member or a wrong value. */
export function assertMembers(what: string, given: unknown, known: Members): void {
  if (given === null || typeof given !== 'object' || Array.isArray(given))
    throw new RangeError(`${what} is not an object.`);
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(known, name));
  if (unknown !== undefined)
    throw new RangeError(`${what} has no member ${unknown}; there are: ${Object.keys(known).join(', ') || 'none'}.`);
  for (const [name, schema] of Object.entries(known)) {
    const [issue] = schema.safeParse((given as Record<string, unknown>)[name]).error?.issues ?? [];
    if (issue !== undefined) throw new RangeError(`${[what, name, ...issue.path].join(': ')}: ${issue.message}.`);
  }
}
