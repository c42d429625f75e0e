import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The records that have a schema in the folder schemas/. */
export type SchemaName = 'Instrument';

/** The text of a schema: the one definition of a record, read from the folder that is shipped beside the code. */
export function readSchemaText(name: SchemaName): string {
  const text = readFileSync(join(import.meta.dirname, '../../schemas', `${name}.avsc`), 'utf8');
  // The registry keeps the text as it is registered: without line breaks, whatever the file's layout.
  return JSON.stringify(JSON.parse(text));
}
