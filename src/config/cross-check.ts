import type { z } from 'zod';
import type { SettingPath } from './problem.ts';

/** Reports a conflict between settings; the path is relative to the group that is checked. */
export type Report = (path: SettingPath, message: string) => void;

/** Values of a group; any may be wrong, missing or of another type, which is reported elsewhere. */
export type Unchecked<Value> = { readonly [Key in keyof Value]?: Value[Key] | undefined };

/**
 * Adds a check between the settings of a group. It also runs when some of them are wrong, so that all problems are
 * reported at once. So the check must expect values of any type, and test each before it uses it.
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
