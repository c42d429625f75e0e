import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Exported for tests. */
export const SCHEMA_NAMES = [
  'Instrument',
  'InstrumentEvent',
  'PreTradeCheck',
  'PriceSnapshot',
  'DailyPrice',
  'IntradayPrice',
  'Notification',
] as const;
export type SchemaName = (typeof SCHEMA_NAMES)[number];

const SCHEMAS = join(import.meta.dirname, '../../../schemas');

/**
 * Returns the text of a schema from schemas/, the only place where records are defined. If the text names another
 * schema, that schema is inserted at the first mention. So the text is complete under any subject.
 * @param folder another folder than schemas/, such as a folder of released schemas
 */
export function readSchemaText(name: SchemaName, folder = SCHEMAS): string {
  return JSON.stringify(readInlined(name, folder, new Set()));
}

function readInlined(name: SchemaName, folder: string, inlined: Set<string>): unknown {
  inlined.add(name);
  return inline(JSON.parse(readFileSync(join(folder, `${name}.avsc`), 'utf8')), folder, inlined);
}

// Looks only where types are written, because a doc or a default may be the same word as a schema's name.
function inline(type: unknown, folder: string, inlined: Set<string>): unknown {
  if (typeof type === 'string')
    return isSchemaName(type) && !inlined.has(type) ? readInlined(type, folder, inlined) : type;
  if (Array.isArray(type)) return type.map((branch) => inline(branch, folder, inlined));
  const attributes = { ...(type as Record<string, unknown>) };
  for (const place of ['type', 'items', 'values']) {
    if (place in attributes) attributes[place] = inline(attributes[place], folder, inlined);
  }
  if (Array.isArray(attributes.fields)) attributes.fields = inline(attributes.fields, folder, inlined);
  return attributes;
}

function isSchemaName(name: string): name is SchemaName {
  return (SCHEMA_NAMES as readonly string[]).includes(name);
}
