import { type FieldNode, parseSchema, type RecordNode, type ScalarNode, type SchemaNode } from './schema.ts';

/** The TypeScript of a schema: a type for each of its records, in the form in which records are encoded. */
export function typescriptSource(schemaText: string): string {
  const root = parseSchema(schemaText);
  const records = new Map<string, RecordNode>();
  collectRecords(root, records);
  return `${[
    `// Generated from schemas/${shortName(root)}.avsc by src/avro/generate-types.ts; a test fails when it is stale.\n` +
      '// Decimals are unscaled bytes, dates days since 1970-01-01, local date-times milliseconds since then.',
    ...[...records.values()].map(recordSource),
  ].join('\n\n')}\n`;
}

function collectRecords(node: SchemaNode, records: Map<string, RecordNode>): void {
  if (node.kind === 'nullable') collectRecords(node.inner, records);
  if (node.kind === 'array') collectRecords(node.items, records);
  if (node.kind === 'map') collectRecords(node.values, records);
  if (node.kind !== 'record' || records.has(node.fullName)) return;
  records.set(node.fullName, node);
  for (const field of node.fields) collectRecords(field.node, records);
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
  return node.avro === 'long' && node.logical === null ? 'bigint' : 'number';
}

function shortName(record: RecordNode): string {
  return record.fullName.slice(record.fullName.lastIndexOf('.') + 1);
}
