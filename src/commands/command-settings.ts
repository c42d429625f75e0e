import { readFile } from 'node:fs/promises';
import { loadSettings, loadSettingsTree } from '../config/load.ts';
import { memberOf } from '../config/problem.ts';
import type { Settings } from '../config/settings.ts';
import { nearestName } from '../config/suggestion.ts';
import { readSettingsTree, type SettingsTree } from '../config/yaml-tree.ts';
import { isTooShortToRedact, SHORTEST_SECRET } from '../observe/redaction.ts';
import type { CommandContext } from './shell/terminal.ts';

type Given = Pick<CommandContext, 'config' | 'env' | 'redaction'>;

// Values for variables that the settings file requires, although the command does not use them.
const KAFKA_NOT_NEEDED = { KAFKA_BROKERS: 'localhost:9092', SCHEMA_REGISTRY_URL: 'http://localhost' };
const PROVIDER_NOT_NEEDED = {
  REFERENCE_DATA_URL: 'https://localhost',
  AUTH_TOKEN_URL: 'https://localhost',
  CLIENT_ID: 'not needed',
  CLIENT_SECRET: 'not-needed-by-this-command',
};

/** These variables are ignored: the operator may have no right to read their files. CLIENT_AUTHENTICATION needs such a file. */
const PROVIDER_FILES = [
  'CLIENT_SECRET_FILE',
  'CLIENT_AUTHENTICATION',
  'CLIENT_KEY_FILE',
  'PROVIDER_CA_FILE',
  'PROVIDER_CERT_FILE',
  'PROVIDER_KEY_FILE',
];

/** The settings file of this repository. It refers to all documented variables. */
const USUAL_FILE = new URL('../../config/connector.yaml', import.meta.url);

export function loadWholeSettings({ config, env, redaction }: Given): Promise<Settings> {
  return loadSettings({ file: config, env, onSecret: redaction.register });
}

export function loadWithoutKafka(given: Given): Promise<Settings> {
  return loadWholeSettings({ ...given, env: { ...KAFKA_NOT_NEEDED, ...setIn(given.env) } });
}

export function loadWithoutProvider(given: Given): Promise<Settings> {
  const set = Object.entries(setIn(given.env)).filter(([name]) => !PROVIDER_FILES.includes(name));
  return loadWholeSettings({ ...given, env: { ...PROVIDER_NOT_NEEDED, ...Object.fromEntries(set) } });
}

function setIn(env: Given['env']): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
}

/** Loads the settings, with warnings about values that are allowed but probably a mistake. @throws the errors of loadSettings. */
export async function loadWithWarnings(
  { config: file, env, redaction }: Given,
  onUnreadable?: (problem: string) => void,
): Promise<{ readonly settings: Settings; readonly warnings: readonly string[] }> {
  const short = new Set<string>();
  const onSecret = (value: string, from?: string) => {
    redaction.register(value, from);
    if (isTooShortToRedact(value)) short.add(value);
  };
  const { settings, tree, warnings } = await loadSettingsTree({
    file,
    env,
    onSecret,
    ...(onUnreadable && { onUnreadable }),
  });
  const ofSecrets = [...short].map(
    () =>
      `A secret has fewer than ${SHORTEST_SECRET} characters. Its value is not removed from messages, because it may be ` +
      'part of ordinary words; use a longer secret.',
  );
  const unused = (await unusedVariables(tree)).flatMap((name) =>
    [name, `${name}_FILE`].filter((each) => env[each] && !tree.variables.has(each)),
  );
  const why = 'because the settings file does not refer to them';
  const ofUnused =
    unused.length === 0 ? [] : [`These variables are set but have no effect, ${why}: ${unused.join(', ')}.`];
  return { settings, warnings: [...warnings, ...ofUnused, ...ofSecrets] };
}

/** The documented variables that the settings file does not refer to. */
async function unusedVariables({ variables: used }: SettingsTree): Promise<readonly string[]> {
  const { variables } = readSettingsTree(await readFile(USUAL_FILE, 'utf8').catch(() => ''), {});
  return [...variables].filter((name) => !used.has(name));
}

/** An error must not name a variable that the settings file does not refer to. So later texts omit such variables. */
export async function omitUnused({ config, env, redaction }: Given): Promise<void> {
  const own = await readFile(config, 'utf8').catch(() => null);
  if (own !== null) for (const name of await unusedVariables(readSettingsTree(own, env))) redaction.omit(name);
}

/** Gives a line that begins with a setting the position of this setting, and the variables that set it. */
export async function withOrigins({ config: file, env }: Pick<Given, 'config' | 'env'>, text: string): Promise<string> {
  const own = await readFile(file, 'utf8').catch(() => null);
  if (own === null) return text;
  const tree = readSettingsTree(own, env);
  const place = (line: string, code: string = '', setting: string) => {
    const path = setting.split('.');
    const at = tree.positionOf(path, 'value');
    if (at === undefined || memberOf(tree.value, path[0] ?? '') === undefined) return line;
    const origins = tree.originsOf(path).join(' and ');
    return `${code}${file}:${at.line}:${at.column} ${setting}${origins && ` (from ${origins})`}`;
  };
  return text.replace(/^([A-Z_]+: )?([a-z]\w*(?:\.\w+)+)(?=[ ,])/gm, place);
}

/** Finds the source with this name. An unknown name is a usage error that lists the known names. */
export function knownSource<Source extends { readonly name: string }>(
  context: Pick<CommandContext, 'refuse'>,
  name: string,
  sources: readonly Source[],
  what: 'source' | 'instruments source' = 'source',
): Source {
  const names = sources.map((source) => source.name);
  return sources.find((source) => source.name === name) ?? refuseName(context, what, name, names);
}

export function refuseName(
  { refuse }: Pick<CommandContext, 'refuse'>,
  what: 'source' | 'instruments source' | 'topic',
  name: string,
  names: readonly string[],
): never {
  const nearest = nearestName(name, names);
  const meant = nearest === undefined ? '' : `\n(Did you mean ${nearest}?)`;
  const have = what === 'topic' ? 'The settings have' : 'The settings enable';
  const there = names.length === 0 ? `${have} none` : `${have}: ${names.join(', ')}`;
  return refuse(`unknown ${what} ${JSON.stringify(name)}. ${there}.${meant}`);
}
