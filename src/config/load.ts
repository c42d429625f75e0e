import { readFile as readFileFromDisk } from 'node:fs/promises';
import type { z } from 'zod';
import { ConnectorError } from '../errors.ts';
import { type Position, type Problem, printPath, type SettingPath } from './problem.ts';
import { createSecretReader, whyUnreadable } from './secret.ts';
import type { Settings } from './settings.ts';
import type { Environment, SettingsTree } from './yaml-tree.ts';

export const DEFAULT_SETTINGS_FILE = 'config/connector.yaml';
/** This variable names the settings file for every command of a shell, a container or a pod. */
const SETTINGS_FILE_VARIABLE = 'SPCONNECT_CONFIG';

export interface LoadSettingsOptions {
  /** The settings file, relative to the working directory; by default DEFAULT_SETTINGS_FILE. `text`: its content. */
  readonly file?: string | undefined;
  readonly text?: string | undefined;
  readonly env: Environment;
  readonly readFile?: (path: string) => Promise<string>;
  /** Called with every value of a secret before its use, also after a change; `file`: the file of the secret. */
  readonly onSecret?: (value: string, file?: string) => void;
  /** Called when the file of a secret becomes unusable; the last good value stays in use. */
  readonly onUnreadable?: (problem: string) => void;
}

const MAXIMUM_PROBLEMS = 100;
type PlacedProblem = Problem & { readonly position?: Position | undefined };

/**
 * Reads the settings from one YAML file and the environment, and checks all settings.
 * @throws ConnectorError SETTINGS_INVALID with one line for each problem: `file:line:column setting: what is wrong`.
 */
export async function loadSettings(options: LoadSettingsOptions): Promise<Settings> {
  return (await loadSettingsTree(options)).settings;
}

export interface LoadedSettings {
  readonly settings: Settings;
  readonly tree: SettingsTree;
  readonly schema: z.ZodType;
  readonly warnings: readonly string[];
}

/** Reads the settings as `loadSettings` does, and also returns the origin of each value. The errors are the same. */
export async function loadSettingsTree(options: LoadSettingsOptions): Promise<LoadedSettings> {
  const { env, readFile = (path) => readFileFromDisk(path, 'utf8'), onSecret = () => {} } = options;
  const { file = DEFAULT_SETTINGS_FILE } = options;
  const text = options.text ?? (await readSettingsFile(file, readFile));
  // Every command imports this file. These modules are loaded late, so that a usage error does not wait for them.
  const [{ readSettingsTree }, { settingsWarnings }, { createSettingsSchema }, { problemsOf }] = await Promise.all([
    import('./yaml-tree.ts'),
    import('./warnings.ts'),
    import('./settings.ts'),
    import('./issue-problems.ts'),
  ]);
  const tree = readSettingsTree(text, env);
  const schema = createSettingsSchema(createSecretReader({ readFile, onSecret, onUnreadable: options.onUnreadable }));
  const isParsed = tree.value !== undefined;
  const warnings = settingsWarnings(tree.value);
  const checked = isParsed ? await schema.safeParseAsync(tree.value ?? {}) : undefined;
  const context = { ...tree, schema, given: tree.value };
  const found = checked?.error ? await problemsOf(checked.error.issues, context) : [];
  const problems = [...environmentProblems(env), ...inFileOrder(tree, found)];
  if (problems.length > 0 || !checked?.success) throw settingsInvalid(file, problems, { warnings });
  return { settings: checked.data, tree, schema, warnings };
}

/** The settings file that a command reads: the given file, or the file in SPCONNECT_CONFIG, or else the default. */
export function settingsFile(given: string | undefined, env: Environment): string {
  return given ?? (env[SETTINGS_FILE_VARIABLE] || DEFAULT_SETTINGS_FILE);
}

async function readSettingsFile(file: string, readFile: (path: string) => Promise<string>): Promise<string> {
  try {
    return await readFile(file);
  } catch (cause) {
    const text = `The settings file ${file} cannot be read${whyUnreadable(cause)}.`;
    throw new ConnectorError('SETTINGS_INVALID', text, { cause });
  }
}

/** Sorts problems by position. If a value refers to a missing variable, only the missing variable is reported. */
function inFileOrder(tree: SettingsTree, found: readonly Problem[]): readonly PlacedProblem[] {
  const broken = new Set(tree.problems.filter(({ path }) => path.length > 0).map(({ path }) => JSON.stringify(path)));
  const isFollowUp = (path: SettingPath) =>
    path.some((_, depth) => broken.has(JSON.stringify(path.slice(0, depth + 1))));
  const fromSchema = found
    .filter(({ path }) => !isFollowUp(path))
    .map((problem) => ({ ...problem, position: positionOf(tree, problem) }));
  const fromFile = tree.problems.map((problem) => ({
    ...problem,
    position: problem.position ?? tree.positionOf(problem.path, 'value'),
  }));
  return [...fromFile, ...fromSchema].sort(
    ({ position: a }, { position: b }) => (a?.line ?? 0) - (b?.line ?? 0) || (a?.column ?? 0) - (b?.column ?? 0),
  );
}

function positionOf(tree: SettingsTree, { path, message }: Problem): Position | undefined {
  return tree.positionOf(path, message.startsWith('unknown setting') ? 'key' : 'value');
}

function environmentProblems(env: Environment): readonly Problem[] {
  if (env.NODE_TLS_REJECT_UNAUTHORIZED !== '0') return [];
  const message =
    'is 0 in the environment, so any certificate would be accepted; unset it, and name your authorities under ca';
  return [{ path: ['NODE_TLS_REJECT_UNAUTHORIZED'], message }];
}

const NAMES_VARIABLE = /\b[A-Z]+_[A-Z0-9_]+\b/;

function settingsInvalid(file: string, problems: readonly PlacedProblem[], fields: object): ConnectorError {
  // If several settings take a wrong value from the same variable, they count as one problem.
  const causes = Map.groupBy(problems, ({ path, message }) => (NAMES_VARIABLE.test(message) ? message : path));
  const all = [...causes.values()].map((same) => {
    const [{ message, position }] = same as [PlacedProblem];
    const settings = same.filter(({ path }) => path.length > 0).map(({ path }) => printPath(path));
    const place = position ? `${file}:${position.line}:${position.column}` : file;
    return `${place} ${settings.length > 0 ? `${settings.join(', ')}: ` : ''}${message}`.replace(/\p{Cc}/gu, ' ');
  });
  const lines = [...new Set(all)];
  const count = lines.length === 1 ? 'One problem' : `${lines.length} problems`;
  const left = lines.splice(MAXIMUM_PROBLEMS).length;
  if (left > 0) lines.push(`and ${left} more`);
  return new ConnectorError('SETTINGS_INVALID', `${count} in the settings:\n${lines.join('\n')}`, {
    fields: { problems: causes.size, ...fields },
  });
}
