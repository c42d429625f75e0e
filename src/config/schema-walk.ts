import { z } from 'zod';
import type { SettingPath } from './problem.ts';

/** The schema's documentation of one setting: for messages about it. */
export interface SettingDocumentation {
  readonly wanted: string | undefined;
  readonly secret: boolean;
  /** The names that a group knows, secrets also with their `…File`; empty for a setting that is not a group. */
  readonly knownKeys: readonly string[];
}

/**
 * Finds a setting in the schema, or the nearest one around it; where the schema offers alternatives, the given values
 * decide.
 */
export function documentationOf(root: z.ZodType, path: SettingPath, given: unknown): SettingDocumentation {
  let schema = root;
  let value = given;
  for (const key of path) {
    const member = memberOf(alternativeFor(schema, value), key);
    if (member === undefined) break;
    schema = member;
    value = memberOfValue(value, key);
  }
  const layers = layersOf(schema);
  const inner = alternativeFor(schema, value);
  return {
    wanted: layers.map((layer) => layer.meta()?.wanted).find((wanted) => wanted !== undefined),
    secret: layers.some((layer) => layer.meta()?.secret === true),
    knownKeys: inner instanceof z.ZodObject ? keysOf(inner) : [],
  };
}

function keysOf(schema: z.ZodObject): readonly string[] {
  return Object.entries(schema.shape).flatMap(([key, member]) => {
    const isSecret = layersOf(member as z.ZodType).some((layer) => layer.meta()?.secret === true);
    return isSecret ? [key, `${key}File`] : [key];
  });
}

/** The schema and what is inside its wrappers: defaults, null, conversions. */
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
  const options = inner.options.map((option) => layersOf(option as z.ZodType).at(-1));
  const groups = options.filter((option) => option instanceof z.ZodObject);
  const chosen = groups.find((option) => {
    const type: unknown = option.shape.type;
    return !(type instanceof z.ZodLiteral) || type.values.has(memberOfValue(value, 'type') as z.core.util.Literal);
  });
  return chosen ?? inner;
}

function memberOf(schema: z.ZodType, key: string | number): z.ZodType | undefined {
  if (schema instanceof z.ZodArray) return schema.element as z.ZodType;
  if (!(schema instanceof z.ZodObject) || typeof key !== 'string') return undefined;
  return Object.hasOwn(schema.shape, key) ? (schema.shape[key] as z.ZodType) : undefined;
}

function memberOfValue(value: unknown, key: string | number): unknown {
  return value !== null && typeof value === 'object' && Object.hasOwn(value, key)
    ? (value as Record<string | number, unknown>)[key]
    : undefined;
}
