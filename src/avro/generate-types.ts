import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSchemaText, SCHEMA_NAMES } from './schema-files.ts';
import { typescriptSource } from './typescript-source.ts';

const GENERATED = join(import.meta.dirname, 'generated');

/** What belongs into src/avro/generated: a file for each schema in schemas/. Exported for tests. */
export function generatedFiles(): { readonly path: string; readonly content: string }[] {
  const modules = new Map(SCHEMA_NAMES.map((name) => [name, `${kebabCase(name)}.ts`]));
  return [...modules].map(([name, file]) => {
    const others = [...modules].filter(([other]) => other !== name);
    const imported = new Map<string, string>(others.map(([other, otherFile]) => [other, `./${otherFile}`]));
    return { path: join(GENERATED, file), content: typescriptSource(readSchemaText(name), imported) };
  });
}

function kebabCase(name: string): string {
  return name.replace(/([a-z])([A-Z])/g, '$1-$2').toLowerCase();
}

if (import.meta.main) {
  for (const { path, content } of generatedFiles()) writeFileSync(path, content);
}
