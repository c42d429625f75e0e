import type { z } from 'zod';
import type { Problem, SettingPath } from './problem.ts';
import { documentationOf } from './schema-walk.ts';
import { FileReference } from './secret.ts';
import { nearestName } from './suggestion.ts';

type Issue = z.core.$ZodIssue;

const MAXIMUM_SHOWN = 60;

export interface IssueContext {
  readonly schema: z.ZodType;
  /** The values that were checked, as they were given. */
  readonly given: unknown;
  readonly variablesOf: (path: SettingPath) => readonly string[];
}

/** Describes what the schema found, one sentence per problem: the given value (never a secret) and what is expected. */
export function problemsOf(issues: readonly Issue[], context: IssueContext): readonly Problem[] {
  return issues.flatMap((issue) => issueProblems(issue, [], context));
}

function issueProblems(issue: Issue, around: SettingPath, context: IssueContext): readonly Problem[] {
  const path = [...around, ...issue.path.filter((part) => typeof part !== 'symbol')];
  if (issue.code === 'custom' && issue.message !== 'Invalid input') {
    return [{ path, message: `${issue.message}${variableHint(issue.message, path, context)}` }];
  }
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey([...path, key], context));
  if (issue.code === 'invalid_union') {
    // Of several alternatives, the intended one is the one whose check got further than the type of the whole.
    const meant = issue.errors.find((errors) => errors.some(isInside));
    if (meant) return meant.flatMap((inner) => issueProblems(inner, path, context));
    if ('options' in issue && issue.options) return [wrongValue(path, context, `one of ${issue.options.join(', ')}`)];
  }
  return [wrongValue(path, context)];
}

/** The variable of the environment that would give a value that is missing, when the file refers to one. */
function variableHint(message: string, path: SettingPath, { schema, given, variablesOf }: IssueContext): string {
  const [variable] = variablesOf(path);
  if (variable === undefined || !message.startsWith('is missing')) return '';
  return documentationOf(schema, path, given).secret
    ? ` (set ${variable}, or ${variable}_FILE to the path of a file that holds it)`
    : ` (set ${variable})`;
}

function isInside(issue: Issue): boolean {
  return issue.path.length > 0 || issue.code === 'unrecognized_keys';
}

function unknownKey(path: SettingPath, { schema, given }: IssueContext): Problem {
  const parent = path.slice(0, -1);
  const { knownKeys } = documentationOf(schema, parent, given);
  const checked = String(path.at(-1));
  // A secret's file is checked under the secret's own name; the message names it as it was written.
  const key = valueAt(given, path) === undefined ? `${checked}File` : checked;
  if (knownKeys.includes(key)) {
    const other = key.replace(/File$/, '');
    return { path: [...parent, key], message: `${other} is there too; keep one of ${other} and ${key}` };
  }
  const nearest = nearestName(key, knownKeys);
  const hint = nearest ? `did you mean ${nearest}?` : `known here: ${knownKeys.join(', ')}`;
  return { path: [...parent, key], message: `unknown setting; ${hint}` };
}

function wrongValue(path: SettingPath, { schema, given, variablesOf }: IssueContext, options?: string): Problem {
  // A list that was given as one text is split, so its entries have no place of their own.
  const place = valueAt(given, path) === undefined && typeof path.at(-1) === 'number' ? path.slice(0, -1) : path;
  const documentation = documentationOf(schema, place, given);
  const { secret } = documentation;
  const wanted = options ?? documentation.wanted ?? 'another value';
  const value = valueAt(given, place);
  const variables = variablesOf(place);
  if (value === undefined) return { path: place, message: `is missing; expected ${wanted}` };
  if (value instanceof FileReference && !secret) {
    return {
      path: place,
      message: `${variables.map((name) => `${name}_FILE`).join()} is set, but only secrets are read from files`,
    };
  }
  const came = variables.length > 0 ? `the value of ${variables.join(' and ')}` : describe(value, secret);
  return { path: place, message: `found ${came}; expected ${wanted}` };
}

/** Texts with an address are not shown, as a login may stand in it. */
function describe(value: unknown, secret: boolean): string {
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (value instanceof FileReference) return 'a file';
  if (typeof value === 'object') return 'a group';
  const shown = JSON.stringify(value) ?? typeof value;
  if (secret || shown.length > MAXIMUM_SHOWN || /:\/\/|@/.test(shown)) return `a ${typeof value}`;
  return `the ${typeof value} ${shown}`;
}

function valueAt(value: unknown, path: SettingPath): unknown {
  return path.reduce<unknown>(
    (around, key) =>
      around !== null && typeof around === 'object' && Object.hasOwn(around, key)
        ? (around as Record<string | number, unknown>)[key]
        : undefined,
    value,
  );
}
