import { isMap, isScalar, isSeq, type Node, parseDocument } from 'yaml';
import { settingsJsonSchema } from '../../../src/config/json-schema.ts';

/** What the schema of the settings says of one of them. */
interface SettingSchema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, SettingSchema>>;
  readonly items?: SettingSchema;
  readonly anyOf?: readonly SettingSchema[];
  readonly oneOf?: readonly SettingSchema[];
}

export interface DocumentedSetting {
  readonly description: string;
  /** Whether `<key>File` may stand in its place. */
  readonly hasFile: boolean;
}

/** Gives what is known of a setting such as `sources[].limit`; lists are written with empty brackets. */
export function settingsDocumentation(): (path: string) => DocumentedSetting {
  const schema = settingsJsonSchema() as SettingSchema;
  return (path) => {
    const keys = path.replaceAll('[]', '.[]').split('.');
    let groups: readonly SettingSchema[] = [schema];
    for (const key of keys.slice(0, -1)) groups = groups.flatMap((group) => membersOf(group, key));
    const last = keys.at(-1) ?? '';
    const found = groups.flatMap((group) => membersOf(group, last))[0];
    if (!found?.description) throw new Error(`There is no setting ${path}, or it has no line.`);
    return {
      description: found.description,
      hasFile: groups.some((group) => membersOf(group, `${last}File`).length > 0),
    };
  };
}

function membersOf(group: SettingSchema, key: string): SettingSchema[] {
  const own = key === '[]' ? group.items : group.properties?.[key];
  const alternatives = [...(group.anyOf ?? []), ...(group.oneOf ?? [])];
  return [...(own ? [own] : []), ...alternatives.flatMap((option) => membersOf(option, key))];
}

export interface EnvironmentSetting {
  readonly variable: string;
  /** As settingsDocumentation takes it. */
  readonly path: string;
  /** What holds when the variable is not set; undefined when it must be. */
  readonly fallback: string | undefined;
}

const REFERENCE = /^\$\{([A-Z0-9_]+)(?::([-?])(.*))?\}$/s;

/** The settings of a file that come from the environment, in the order of the file. */
export function environmentSettings(yaml: string): EnvironmentSetting[] {
  const found: EnvironmentSetting[] = [];
  const visit = (node: unknown, path: string): void => {
    if (isMap(node)) {
      for (const { key, value } of node.items) {
        visit(value, path === '' ? String((key as Node).toJSON()) : `${path}.${(key as Node).toJSON()}`);
      }
    } else if (isSeq(node)) {
      for (const item of node.items) visit(item, `${path}[]`);
    } else if (isScalar(node) && typeof node.value === 'string') {
      const [, variable, operator, rest] = REFERENCE.exec(node.value) ?? [];
      if (variable) found.push({ variable, path, fallback: operator === '-' ? (rest ?? '') : undefined });
    }
  };
  visit(parseDocument(yaml).contents, '');
  return found;
}
