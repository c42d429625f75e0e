import { Document, isCollection, isNode, isScalar } from 'yaml';
import { z } from 'zod';
import { alternativeFor, isSecret, layersOf } from './issue-problems.ts';
import type { LoadedSettings } from './load.ts';
import { memberOf, type SettingPath } from './problem.ts';
import { FileReference } from './secret.ts';

interface PrintedSetting {
  readonly path: SettingPath;
  readonly origin: string;
}

interface Printed {
  readonly value: unknown;
  readonly settings: readonly PrintedSetting[];
}

type Group = Readonly<Record<string, unknown>>;

/**
 * Returns all settings, with defaults and values of the environment, in the form of the settings file. As text, the
 * result can be loaded again. A secret is shown as its variable or file; if it has text of the settings file: `[secret]`.
 */
export function effectiveSettings({ schema, tree }: LoadedSettings): Printed {
  const settings: PrintedSetting[] = [];

  function print(member: z.ZodType, given: unknown, path: SettingPath): unknown {
    const layers = layersOf(member);
    const usual = layers.find((layer) => layer instanceof z.ZodPrefault)?.def.defaultValue;
    const value = given === undefined ? usual : given;
    const inner = alternativeFor(member, value);
    // In an empty group, each setting has its default. If the group may be null, an empty group is off.
    const isEmpty = (value ?? null) === null && !layers.some((layer) => layer instanceof z.ZodNullable);
    if (inner instanceof z.ZodObject && (isGroup(value) || isEmpty)) {
      const held = (value ?? {}) as Group;
      return Object.fromEntries(
        Object.entries(inner.shape).map(([key, one]) => printMember(key, one as z.ZodType, held, path)),
      );
    }
    if (Array.isArray(value) && inner instanceof z.ZodArray && value.some(isGroup)) {
      return value.map((one, at) => print(inner.element as z.ZodType, one, [...path, at]));
    }
    const inFile = path.reduce<unknown>((around, name) => memberOf(around, name), tree.value);
    settings.push({ path, origin: inFile === undefined ? 'default' : originOf(path) });
    // An empty variable means null, if the setting may be null.
    const isNullable = layers.some((layer) => layer instanceof z.ZodNullable);
    if (value === '' && isNullable) return null;
    // A value of the environment is text, even if the setting is a number.
    const isConverted = inner instanceof z.ZodBoolean || inner instanceof z.ZodNumber;
    return isConverted ? member.parse(value) : asWritten(value);
  }

  function printMember(key: string, member: z.ZodType, held: Group, path: SettingPath): [string, unknown] {
    const file = held[`${key}File`];
    if (!isSecret(member) || held[key] === null || (held[key] === undefined && file === undefined) || held[key] === '')
      return [key, print(member, held[key], [...path, key])];
    const own = [...path, key];
    const name = file === undefined ? key : `${key}File`;
    settings.push({ path: [...path, name], origin: originOf(own) });
    if (file !== undefined) return [name, asWritten(file)];
    const isVariable = tree.isReference(own) && tree.originsOf(own).length > 0;
    return [name, isVariable ? `\${${tree.variablesOf(own).join()}}` : '[secret]'];
  }

  function originOf(path: SettingPath): string {
    const variables = tree.variablesOf(path);
    if (variables.length === 0) return 'file';
    const origins = tree.originsOf(path);
    return origins.length > 0 ? `environment: ${origins.join(', ')}` : `file; ${variables.join(', ')} is not set`;
  }

  const value = print(schema, tree.value ?? {}, []);
  return { value, settings };
}

export function settingsYaml({ value, settings }: Printed): string {
  const document = new Document(value);
  for (const { path, origin } of settings) {
    const node = document.getIn(path, true);
    if (isCollection(node)) node.flow = true;
    if (isNode(node) && (isScalar(node) || isCollection(node))) node.comment = ` ${origin}`;
  }
  return document.toString({ lineWidth: 0 });
}

function isGroup(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof FileReference);
}

/** Escapes `${…}` in a text, so that a later load does not insert a variable. */
function asWritten(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asWritten);
  return typeof value === 'string' ? value.replaceAll('${', () => '$${') : value;
}
