// Writes connector.schema.json again from the settings under src/config; a test fails when it is stale.
import { writeFileSync } from 'node:fs';
import { settingsJsonSchema } from './json-schema.ts';

const file = new URL('connector.schema.json', import.meta.url);
writeFileSync(file, `${JSON.stringify(settingsJsonSchema(), null, 2)}\n`);
