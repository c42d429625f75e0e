import { z } from 'zod';
import { DURATION_PATTERN, durationMs } from './duration.ts';
import type { SettingPath } from './problem.ts';
import { FileReference, type Secret, type SecretReader } from './secret.ts';

declare module 'zod' {
  interface GlobalMeta {
    /** The expected value, with an example: the second half of the message about a wrong value. */
    readonly wanted?: string;
    /** True for a secret: its value is never shown, and `<key>File` may replace its key. */
    readonly secret?: boolean;
  }
}

const MAXIMUM_TEXT = 2_000;

export function setting<Schema extends z.ZodType>(schema: Schema, description: string): Schema;
export function setting<Schema extends z.ZodType>(
  schema: Schema,
  description: string,
  fallback: z.input<Schema>,
): z.ZodPrefault<Schema>;
export function setting(schema: z.ZodType, description: string, ...fallback: unknown[]): z.ZodType {
  const documented = schema.meta({ ...schema.meta(), description });
  return fallback.length === 0 ? documented : documented.prefault(fallback[0]).meta({ description });
}

/** A group of settings; an unknown key is an error. */
export function group<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject(shape).meta({ wanted: `a group of settings: ${Object.keys(shape).join(', ')}` });
}

/** A group that may be absent or empty: then each of its settings has the default. */
export function section<Schema extends z.ZodType>(schema: Schema, description: string) {
  return z
    .preprocess((given) => given ?? {}, schema)
    .meta({ description, wanted: schema.meta()?.wanted ?? 'a group of settings' })
    .prefault({} as never);
}

export function text(wanted: string, pattern = /^[^\p{Cc}]+$/u) {
  return z.string().max(MAXIMUM_TEXT).regex(pattern).meta({ wanted });
}

export function wholeNumber(minimum: number, maximum: number) {
  return fromText(Number, z.int().min(minimum).max(maximum)).meta({
    wanted: `a whole number from ${minimum} to ${maximum}`,
  });
}

export function decimal(minimum: number, maximum: number) {
  return fromText(Number, z.number().min(minimum).max(maximum)).meta({
    wanted: `a number from ${minimum} to ${maximum}`,
  });
}

export function flag() {
  return fromText((value) => ({ true: true, false: false })[value], z.boolean()).meta({ wanted: 'true or false' });
}

export function oneOf<const Names extends readonly [string, ...string[]]>(names: Names) {
  return z.preprocess((value) => nameIn(names, value), z.enum(names)).meta({ wanted: `one of ${names.join(', ')}` });
}

/** The name that equals the text in upper or lower case; otherwise the value. */
export function nameIn(names: readonly string[], value: unknown): unknown {
  if (typeof value !== 'string') return value;
  return names.find((name) => name.toLowerCase() === value.toLowerCase()) ?? value;
}

type TypedGroups = readonly [z.core.$ZodTypeDiscriminable, ...z.core.$ZodTypeDiscriminable[]];

/** One of several groups, chosen by their `type`, in upper or lower case. */
export function byType<const Groups extends TypedGroups>(groups: Groups) {
  const union = z.discriminatedUnion('type', groups);
  const types = [...(union._zod.propValues?.type ?? [])].map(String);
  return z.preprocess((given) => {
    if (given === null || typeof given !== 'object' || !('type' in given)) return given;
    return { ...given, type: nameIn(types, given.type) };
  }, union);
}

export function listOf<Entry extends z.ZodType>(entry: Entry) {
  return z
    .array(entry)
    .max(100)
    .meta({ wanted: `a list; each entry: ${entry.meta()?.wanted}` });
}

export function duration(minimum: string, maximum: string) {
  const [minimumMs = 0, maximumMs = 0] = [durationMs(minimum), durationMs(maximum)];
  return z
    .string()
    .regex(DURATION_PATTERN)
    .transform((value) => durationMs(value) ?? 0)
    .refine((ms) => ms >= minimumMs && ms <= maximumMs)
    .meta({ wanted: `a duration from ${minimum} to ${maximum}: a whole number and ms, s, m, h or d` });
}

/** The settings of a group. The unit is added to the names of the given durations: `linger` becomes `lingerMs`. */
export type InMilliseconds<Given, Name extends string> = Omit<Given, Name> & {
  readonly [Key in Name as `${Key}Ms`]: number;
};

export function inMilliseconds<const Name extends string>(...names: readonly Name[]) {
  return <Given extends Readonly<Record<Name, number>>>(given: Given): InMilliseconds<Given, Name> => {
    const isDuration = (key: string) => (names as readonly string[]).includes(key);
    const entries = Object.entries(given).map(([key, value]) => [isDuration(key) ? `${key}Ms` : key, value]);
    return Object.fromEntries(entries);
  };
}

/** Also accepts null; an empty variable of the environment means null. */
export function nullable<Schema extends z.ZodType>(schema: Schema) {
  const wanted = schema.meta()?.wanted;
  return z
    .preprocess((value) => (value === '' ? null : value), schema.nullable())
    .meta({ ...schema.meta(), ...(wanted && { wanted: `${wanted}, or null` }) });
}

/**
 * A secret, given as text or, under `<key>File`, as the path of a file. Wrap the group by `withSecretFiles`.
 * @param content `header`: no encoding changes the secret before a header carries it
 */
export function secret(
  secrets: SecretReader,
  content: 'secret' | 'header' | 'token' | 'proxy',
  wanted = 'the secret as text in quotes',
) {
  return z
    .unknown()
    .transform(async (value, context) => {
      if (value instanceof FileReference) return readOr(context, () => secrets.fromFile(value.path, content));
      if (typeof value === 'string') return readOr(context, async () => secrets.fromText(value, content));
      context.addIssue({ code: 'invalid_type', expected: 'string', input: value });
      return z.NEVER;
    })
    .meta({ wanted, secret: true });
}

/** The path of a PEM file. Each call reads the file again, so that a rotated file is used. */
export function pemFile(secrets: SecretReader, content: 'ca' | 'cert' | 'key') {
  return text('the path of a PEM file').transform((path, context) =>
    readOr(context, () => secrets.fromFile(path, content)),
  );
}

/** Moves `<key>File` to `<key>` for the given secrets, so that the schema of a group needs only `<key>`. */
export function withSecretFiles<Schema extends z.ZodType>(keys: readonly string[], schema: Schema) {
  return z.preprocess((given) => {
    if (given === null || typeof given !== 'object' || Array.isArray(given)) return given;
    const entries = Object.entries(given).map(([name, value]) => {
      const key = keys.find((candidate) => `${candidate}File` === name);
      if (key === undefined) return [name, value];
      // An empty variable counts as not set.
      const other: unknown = (given as Readonly<Record<string, unknown>>)[key];
      if (value === '') return [key, other ?? null];
      // If both keys are given, `<key>File` remains and is reported as superfluous.
      if (key in given && other !== '') return [name, value];
      // `secret` refuses a value that is not text.
      return [key, typeof value === 'string' ? new FileReference(value) : value];
    });
    return Object.fromEntries(entries);
  }, schema);
}

async function readOr(context: z.core.$RefinementCtx, read: () => Promise<Secret>): Promise<Secret> {
  try {
    return await read();
  } catch (error) {
    context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : 'cannot be read' });
    return z.NEVER;
  }
}

/** Converts a value of the environment, which is text, to the type of the setting. */
function fromText<Schema extends z.ZodType>(convert: (value: string) => unknown, schema: Schema) {
  return z.preprocess((value) => (typeof value === 'string' && value.trim() !== '' ? convert(value) : value), schema);
}

/** Reports a conflict between settings; the path is relative to the group that is checked. */
export type Report = (path: SettingPath, message: string) => void;

/** Values of a group before their check: any value may be wrong, missing or of another type. */
export type Unchecked<Value> = { readonly [Key in keyof Value]?: Value[Key] | undefined };

/**
 * Adds a check between the settings of a group. The check also runs if some settings are wrong, so that all problems
 * are reported together. So the check must test the type of each value before use.
 * @param decidedBy settings, like `sasl.mechanism`, on which the check depends: if one is wrong, the check does not run
 */
export function crossCheck<Schema extends z.ZodType>(
  schema: Schema,
  check: (value: Unchecked<z.output<Schema>>, report: Report) => void | Promise<void>,
  decidedBy: readonly string[] = [],
): Schema {
  return schema.superRefine(
    (value, context) => {
      if (value === null || typeof value !== 'object') return;
      return check(value as Unchecked<z.output<Schema>>, (path, message) =>
        context.addIssue({ code: 'custom', message, path: [...path] }),
      );
    },
    { when: ({ issues }) => !issues.some(({ path = [] }) => decidedBy.includes(path.join('.'))) },
  );
}
