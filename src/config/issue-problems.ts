import { z } from 'zod';
import { memberOf, type Problem, type SettingPath } from './problem.ts';
import { FileReference } from './secret.ts';
import { nameIn } from './setting.ts';
import { alikeName, nearestName } from './suggestion.ts';
import type { SettingsTree } from './yaml-tree.ts';

type Issue = z.core.$ZodIssue;
const MAXIMUM_SHOWN = 60;
const MOST_GROUPS = 3;

export interface IssueContext extends Pick<SettingsTree, 'variablesOf' | 'originsOf'> {
  readonly schema: z.ZodType;
  readonly given: unknown;
}

/**
 * Describes each issue of the schema check in one sentence: the given value (never a secret) and the expected value. If
 * the `type` of a group is misspelt, checks the group again with the most similar type, to find all its problems.
 */
export async function problemsOf(issues: readonly Issue[], context: IssueContext): Promise<readonly Problem[]> {
  const { schema, given } = context;
  const nearType = (issue: Issue) => {
    const type = valueAt(given, pathOf(issue));
    return isWrongType(issue) && typeof type === 'string' ? nearestName(type, issue.options.map(String)) : undefined;
  };
  const wrong = issues.filter((issue) => nearType(issue) !== undefined);
  const found = (wrong.length === 0 ? issues : wrong).flatMap((issue) => issueProblems(issue, [], context));
  if (wrong.length === 0) return found;
  const corrected = wrong.reduce((all, issue) => replacedAt(all, pathOf(issue), nearType(issue)), given);
  const { error } = await schema.safeParseAsync(corrected);
  return [...found, ...(await problemsOf(error?.issues ?? [], { ...context, given: corrected }))];
}

function isWrongType(issue: Issue): issue is Issue & { readonly options: readonly unknown[] } {
  return issue.code === 'invalid_union' && 'options' in issue && Array.isArray(issue.options);
}

function pathOf({ path }: Issue): SettingPath {
  return path.filter((part) => typeof part !== 'symbol');
}

function replacedAt(around: unknown, [key, ...rest]: SettingPath, value: unknown): unknown {
  if (key === undefined) return value;
  const copy = Array.isArray(around) ? [...around] : { ...Object(around) };
  return Object.assign(copy, { [key]: replacedAt(memberOf(around, key), rest, value) });
}

function issueProblems(issue: Issue, around: SettingPath, context: IssueContext): readonly Problem[] {
  const path = [...around, ...pathOf(issue)];
  if (issue.code === 'custom' && issue.message !== 'Invalid input') {
    const message = `${issue.message}${variableHint(issue.message, path, context)}`;
    return [{ path: fileOf(path, context) ?? path, message }];
  }
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey([...path, key], context));
  if (issue.code === 'invalid_union') {
    // The user probably meant the first alternative whose check found problems inside the value.
    const meant = issue.errors.find((errors) => errors.some(isInside));
    if (meant) return meant.flatMap((inner) => issueProblems(inner, path, context));
    if (isWrongType(issue)) return [wrongValue(path, context, `one of ${issue.options.join(', ')}`)];
  }
  return [wrongValue(path, context)];
}

/** The value of `<key>File` is checked under the name `<key>` of a secret. This is the path that the user wrote. */
function fileOf(path: SettingPath, { schema, given }: IssueContext): SettingPath | undefined {
  const file = [...path.slice(0, -1), `${String(path.at(-1))}File`];
  const isFile = valueAt(given, path) === undefined && (valueAt(given, file) ?? '') !== '';
  return isFile && documentationOf(schema, path, given).secret ? file : undefined;
}

/** Names the variables that gave the value; for a missing value, the variable to which the file refers. */
function variableHint(message: string, path: SettingPath, context: IssueContext): string {
  const { schema, given, variablesOf, originsOf } = context;
  const [variable] = variablesOf(path);
  const origins = originsOf(path);
  if (origins.length > 0) return ` (from ${origins.join(' and ')})`;
  if (variable === undefined || !message.startsWith('is missing')) return '';
  return documentationOf(schema, path, given).secret
    ? ` (set ${variable}, or ${variable}_FILE to the path of a file that holds it)`
    : ` (set ${variable})`;
}

function isInside(issue: Issue): boolean {
  return issue.path.length > 0 || issue.code === 'unrecognized_keys';
}

function unknownKey(path: SettingPath, context: IssueContext): Problem {
  const { schema, given } = context;
  const parent = path.slice(0, -1);
  const { knownKeys, typesWith } = documentationOf(schema, parent, given);
  const checked = String(path.at(-1));
  // `<key>File` is checked under the name `<key>`; the message uses the name that the user wrote.
  const key = valueAt(given, path) === undefined ? `${checked}File` : checked;
  if (knownKeys.includes(key)) {
    const other = key.replace(/File$/, '');
    return { path: [...parent, key], message: `${other} is set too; keep one of ${other} and ${key}` };
  }
  const [types, nearest] = [typesWith(key).join(' and '), nearestName(key, knownKeys) ?? alikeName(key, knownKeys)];
  const groups = [...new Set(groupsWith(key, schema, ''))];
  const isElsewhere = groups.length > 0 && groups.length <= MOST_GROUPS;
  const known = isElsewhere
    ? `it belongs to ${groups.map((one) => one || 'the top level').join(' or ')}`
    : `known here: ${knownKeys.join(', ')}`;
  const hint = nearest ? `did you mean ${nearest}?` : known;
  const origins = context.originsOf([...parent, key]);
  const [typeVariable] = context.variablesOf([...parent, 'type']);
  const setType = typeVariable === undefined ? '' : `; ${typeVariable} sets the type`;
  const from = origins.length > 0 ? ` (from ${origins.join(' and ')}${types ? setType : ''})` : '';
  return { path: [...parent, key], message: `unknown setting; ${types ? `only type ${types} has it` : hint}${from}` };
}

function wrongValue(path: SettingPath, context: IssueContext, options?: string): Problem {
  const { schema, given, variablesOf, originsOf } = context;
  // If a list is given as one text, the schema splits the text. Then an entry has no position of its own in the file.
  const place = valueAt(given, path) === undefined && typeof path.at(-1) === 'number' ? path.slice(0, -1) : path;
  const file = fileOf(place, context);
  if (file)
    return { path: file, message: `found ${describe(valueAt(given, file), true)}; expected the path of a file` };
  const documentation = documentationOf(schema, place, given);
  const { secret } = documentation;
  const wanted = options ?? documentation.wanted ?? 'another value';
  const value = valueAt(given, place);
  const origins = originsOf(place);
  // An empty variable counts as not set.
  if (value === undefined || (value === '' && variablesOf(place).length > 0)) {
    const message = `is missing; expected ${wanted}`;
    return { path: place, message: `${message}${variableHint(message, place, context)}` };
  }
  if (value instanceof FileReference && !secret) {
    return {
      path: place,
      message: `${origins.join()} is set, but only secrets are read from files`,
    };
  }
  const came =
    origins.length > 0
      ? `the value of ${origins.join(' and ')}`
      : describe(value, options === undefined && documentation.hasSecret);
  const isRead = typeof value === 'number' || typeof value === 'boolean';
  const quotes = isRead && documentation.wouldBe(String(value)) && !wanted.includes('quotes') ? ', in quotes' : '';
  return { path: place, message: `found ${came}; expected ${wanted}${quotes}` };
}

/** Texts with an address are not shown, because an address may contain a login. */
function describe(value: unknown, hasSecret: boolean): string {
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (value instanceof FileReference) return 'a file';
  if (typeof value === 'object') return 'a group';
  const shown = typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? typeof value);
  if (hasSecret || shown.length > MAXIMUM_SHOWN || /:\/\/|@/.test(shown)) return `a ${typeof value}`;
  return `the ${typeof value} ${shown}`;
}

function valueAt(value: unknown, path: SettingPath): unknown {
  return path.reduce(memberOf, value);
}

// Finds a setting in the schema, or the nearest group around the setting. The given values choose among alternatives.
function documentationOf(root: z.ZodType, path: SettingPath, given: unknown) {
  let schema = root;
  let value = given;
  for (const key of path) {
    const member = memberSchema(alternativeFor(schema, value), key);
    if (member === undefined) break;
    schema = member;
    value = memberOf(value, key);
  }
  const layers = layersOf(schema);
  const inner = alternativeFor(schema, value);
  return {
    wanted: layers.map((layer) => layer.meta()?.wanted).find((wanted) => wanted !== undefined),
    secret: isSecret(schema),
    /** True also for a group that has a secret. A user may write the secret in place of its group. */
    hasSecret: hasSecret(schema),
    /** True if this text is right for a setting that is text. */
    wouldBe: (text: string) => inner instanceof z.ZodString && inner.safeParse(text).success,
    /** The keys of a group, for secrets also `<key>File`; empty for a setting that is not a group. */
    knownKeys: inner instanceof z.ZodObject ? keysOf(inner) : [],
    /** The values of `type` with which the group has this key. */
    typesWith: (key: string) =>
      groupsOf(schema)
        .filter((one) => keysOf(one).includes(key))
        .flatMap(({ shape: { type } }) => (type instanceof z.ZodLiteral ? [...type.values] : [])),
  };
}

function keysOf(schema: z.ZodObject): readonly string[] {
  return Object.entries(schema.shape).flatMap(([key, member]) =>
    isSecret(member as z.ZodType) ? [key, `${key}File`] : [key],
  );
}

export function isSecret(schema: z.ZodType): boolean {
  return layersOf(schema).some((layer) => layer.meta()?.secret === true);
}

function hasSecret(schema: z.ZodType): boolean {
  const members = groupsOf(schema).flatMap(({ shape }) => Object.values(shape));
  return isSecret(schema) || members.some((member) => hasSecret(member as z.ZodType));
}

/** The schema and all schemas inside its wrappers: defaults, null, conversions. */
export function layersOf(schema: z.ZodType): readonly z.ZodType[] {
  const layers = [schema];
  for (let next = wrappedBy(schema); next; next = wrappedBy(next)) layers.push(next);
  return layers;
}

function wrappedBy(schema: z.ZodType): z.ZodType | undefined {
  if (schema instanceof z.ZodPrefault || schema instanceof z.ZodNullable) return schema.unwrap() as z.ZodType;
  if (!(schema instanceof z.ZodPipe)) return undefined;
  return (schema.in instanceof z.ZodTransform ? schema.out : schema.in) as z.ZodType;
}

export function alternativeFor(schema: z.ZodType, value: unknown): z.ZodType {
  const inner = layersOf(schema).at(-1) ?? schema;
  if (!(inner instanceof z.ZodUnion)) return inner;
  const chosen = groupsOf(schema).find((option) => {
    const type: unknown = option.shape.type;
    if (!(type instanceof z.ZodLiteral)) return true;
    return type.values.has(nameIn([...type.values].map(String), memberOf(value, 'type')) as z.core.util.Literal);
  });
  return chosen ?? inner;
}

function groupsOf(schema: z.ZodType): readonly z.ZodObject[] {
  const inner = layersOf(schema).at(-1);
  if (inner instanceof z.ZodObject) return [inner];
  if (!(inner instanceof z.ZodUnion)) return [];
  const options = inner.options.map((option) => layersOf(option as z.ZodType).at(-1));
  return options.filter((option) => option instanceof z.ZodObject);
}

/** The paths of all groups that have this key. `[n]` stands for any position of a list. */
function groupsWith(key: string, schema: z.ZodType, path: string): readonly string[] {
  const inner = layersOf(schema).at(-1);
  if (inner instanceof z.ZodArray) return groupsWith(key, inner.element as z.ZodType, `${path}[n]`);
  return groupsOf(schema).flatMap((group) => [
    ...(keysOf(group).includes(key) ? [path] : []),
    ...Object.entries(group.shape).flatMap(([name, member]) =>
      groupsWith(key, member as z.ZodType, path === '' ? name : `${path}.${name}`),
    ),
  ]);
}

function memberSchema(schema: z.ZodType, key: string | number): z.ZodType | undefined {
  if (schema instanceof z.ZodArray) return schema.element as z.ZodType;
  if (!(schema instanceof z.ZodObject) || typeof key !== 'string') return undefined;
  return Object.hasOwn(schema.shape, key) ? (schema.shape[key] as z.ZodType) : undefined;
}
