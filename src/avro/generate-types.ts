import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { typescriptSource } from './typescript-source.ts';

const SCHEMAS = join(import.meta.dirname, '../../schemas');
const GENERATED = join(import.meta.dirname, 'generated');

/** What belongs into src/avro/generated: a file for each schema in schemas/. */
export function generatedFiles(): { readonly path: string; readonly content: string }[] {
  return readdirSync(SCHEMAS)
    .filter((name) => name.endsWith('.avsc'))
    .map((name) => ({
      path: join(GENERATED, `${kebabCase(name.slice(0, -'.avsc'.length))}.ts`),
      content: typescriptSource(readFileSync(join(SCHEMAS, name), 'utf8')),
    }));
}

function kebabCase(name: string): string {
  return name.replace(/([a-z])([A-Z])/g, '$1-$2').toLowerCase();
}

if (import.meta.main) {
  for (const { path, content } of generatedFiles()) writeFileSync(path, content);
}
