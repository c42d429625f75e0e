import { z } from 'zod';
import type { SecretReader } from '../src/config/secret.ts';
import { createSettingsSchema } from '../src/config/settings.ts';

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** Values of the environment are put in later, so an editor has to let a reference stand for any single value. */
const REFERENCE: JsonSchema = { type: 'string', pattern: '\\$\\{' };
const TO_REFERENCE: JsonSchema = { $ref: '#/$defs/reference' };

const noSecrets: SecretReader = {
  fromText: () => {
    throw new Error('Only the schema is described here; no setting is read.');
  },
  fromFile: () => Promise.reject(new Error('A schema is described, no setting is read.')),
};

/** The JSON schema of the settings file, for editors: names, types, defaults and each setting's line. */
export function settingsJsonSchema(): JsonSchema {
  const schema = z.toJSONSchema(createSettingsSchema(noSecrets), {
    io: 'input',
    unrepresentable: 'any',
    reused: 'inline',
    override({ jsonSchema }) {
      if (jsonSchema.secret === true && !jsonSchema.anyOf) jsonSchema.type = 'string';
    },
  });
  return {
    ...withReferences(schema),
    title: 'Settings of structured-products-connect',
    $defs: { reference: REFERENCE },
  };
}

/** Walks the schema: allows references in place of values, adds `<key>File` beside secrets, drops our own attributes. */
function withReferences(schema: JsonSchema): JsonSchema {
  const { wanted: _, secret: __, required, properties, items, anyOf, oneOf, ...rest } = schema;
  if (rest.default !== undefined && Object.keys(Object(rest.default)).length === 0 && properties) delete rest.default;
  if (properties) return { ...rest, ...groupOf(properties as Record<string, JsonSchema>, required ?? []) };
  if (!acceptsReference(rest)) {
    const { description, default: fallback, ...type } = rest;
    const documentation = { description, default: fallback };
    return withoutUndefined({ ...documentation, anyOf: [type, TO_REFERENCE] });
  }
  return withoutUndefined({
    ...rest,
    items: items && withReferences(items as JsonSchema),
    anyOf: anyOf && flattened(anyOf as JsonSchema[]),
    oneOf: oneOf?.map((option) => withReferences(option as JsonSchema)),
  });
}

function groupOf(properties: Readonly<Record<string, JsonSchema>>, required: readonly string[]): JsonSchema {
  const entries = Object.entries(properties).flatMap(([key, member]): [string, JsonSchema][] => {
    const file: JsonSchema = { type: 'string', description: `The path of a file that holds ${key}, in its place.` };
    return member.secret === true
      ? [
          [key, withReferences(member)],
          [`${key}File`, file],
        ]
      : [[key, withReferences(member)]];
  });
  // A secret may be in its file, and a group can only be left out when no setting in it is required.
  const stillRequired = entries
    .filter(([key, { required: inner }]) => inner?.length || (required.includes(key) && !properties[key]?.secret))
    .map(([key]) => key);
  const members = { properties: Object.fromEntries(entries) };
  return stillRequired.length > 0 ? { ...members, required: stillRequired } : members;
}

function flattened(options: readonly JsonSchema[]): JsonSchema[] {
  return options.map(withReferences).flatMap((option) => (option.anyOf as JsonSchema[] | undefined) ?? [option]);
}

/** True for types that accept a reference anyway, and for all but single values. */
function acceptsReference({ type, enum: names, pattern, const: only }: JsonSchema): boolean {
  if (only !== undefined) return true;
  if (type === 'number' || type === 'integer' || type === 'boolean' || names !== undefined) return false;
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the reference itself is tried.
  return pattern === undefined || new RegExp(pattern, 'u').test('${NAME:?message}');
}

function withoutUndefined(schema: { readonly [Key in keyof JsonSchema]: JsonSchema[Key] | undefined }): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== undefined));
}
