import type { z } from 'zod';
import type { SettingPath } from './problem.ts';

/** Tells what is wrong between settings; the path is relative to the group that is checked. */
export type Report = (path: SettingPath, message: string) => void;

/** Values of a group in which any may be wrong, missing or of another type: the other problems are told elsewhere. */
export type Unchecked<Value> = { readonly [Key in keyof Value]?: Value[Key] | undefined };

/**
 * Adds a check between the settings of a group. It also runs when some of them are wrong, so that everything is told at
 * once; so the check must expect values of any type, and look before it uses one.
 */
export function crossCheck<Schema extends z.ZodType>(
  schema: Schema,
  check: (value: Unchecked<z.output<Schema>>, report: Report) => void,
): Schema {
  return schema.superRefine(
    (value, context) => {
      if (value === null || typeof value !== 'object') return;
      check(value as Unchecked<z.output<Schema>>, (path, message) =>
        context.addIssue({ code: 'custom', message, path: [...path] }),
      );
    },
    { when: () => true },
  );
}
