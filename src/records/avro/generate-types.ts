import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FieldNode, parseSchema, type RecordNode, type ScalarNode, type SchemaNode } from './schema.ts';
import { readSchemaText, SCHEMA_NAMES } from './schema-files.ts';

const GENERATED = join(import.meta.dirname, 'generated');

/** The files of src/records/avro/generated, one for each schema in schemas/. Exported for tests. */
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

// `modules`: where the types of other schemas are, by the short name of their record: "./instrument.ts"
function typescriptSource(schemaText: string, modules: ReadonlyMap<string, string>): string {
  const root = parseSchema(schemaText);
  const imports = new Set<string>();
  const records = new Map<string, RecordNode>([[root.fullName, root]]);
  const collect = (node: SchemaNode): void => {
    if (node.kind === 'nullable') collect(node.inner);
    if (node.kind === 'array') collect(node.items);
    if (node.kind === 'map') collect(node.values);
    if (node.kind !== 'record' || records.has(node.fullName)) return;
    const module = modules.get(shortName(node));
    if (module !== undefined) imports.add(`import type { ${shortName(node)} } from '${module}';`);
    else {
      records.set(node.fullName, node);
      for (const field of node.fields) collect(field.node);
    }
  };
  for (const field of root.fields) collect(field.node);
  return `${[
    `// Generated from schemas/${shortName(root)}.avsc by src/records/avro/generate-types.ts; a test fails when it is stale.\n` +
      '// Decimals are unscaled bytes, dates days since 1970-01-01, date-times milliseconds since then, or microseconds.',
    ...imports,
    ...[...records.values()].map(recordSource),
  ].join('\n\n')}\n`;
}

function recordSource(record: RecordNode): string {
  return `/** ${record.doc} */\nexport type ${shortName(record)} = {\n${record.fields.map(fieldSource).join('')}};`;
}

function fieldSource(field: FieldNode): string {
  return `  /** ${field.doc} */\n  readonly ${field.name}: ${typeSource(field.node)};\n`;
}

function typeSource(node: SchemaNode): string {
  switch (node.kind) {
    case 'nullable':
      return `${typeSource(node.inner)} | null`;
    case 'array':
      return `readonly ${typeSource(node.items)}[]`;
    case 'map':
      return `{ readonly [key: string]: ${typeSource(node.values)} }`;
    case 'record':
      return shortName(node);
    case 'scalar':
      return scalarSource(node);
  }
}

function scalarSource(node: ScalarNode): string {
  if (node.avro === 'string' || node.avro === 'boolean') return node.avro;
  if (node.avro === 'bytes') return 'Buffer';
  // Beyond the year 2255 microseconds are not a safe integer.
  if (node.logical?.name === 'timestamp-micros') return 'number | bigint';
  return node.avro === 'long' && node.logical === null ? 'bigint' : 'number';
}

function shortName(record: RecordNode): string {
  return record.fullName.slice(record.fullName.lastIndexOf('.') + 1);
}
