import type { FieldNode, RecordNode, ScalarNode, SchemaNode } from './schema.ts';

/**
 * A schema as text with only those parts that decide about bytes and their meaning, in a fixed order: names with
 * their namespace, types, defaults, and scale and precision of decimals, which Avro's own canonical form drops.
 * Two registries may print one schema differently; this text is the same.
 */
export function canonicalSchema(schema: RecordNode): string {
  return JSON.stringify(canonical(schema, new Set()));
}

function canonical(node: SchemaNode, defined: Set<string>): unknown {
  switch (node.kind) {
    case 'scalar':
      return scalar(node);
    case 'nullable':
      return ['null', canonical(node.inner, defined)];
    case 'array':
      return { type: 'array', items: canonical(node.items, defined) };
    case 'map':
      return { type: 'map', values: canonical(node.values, defined) };
    case 'record':
      return record(node, defined);
  }
}

function record(node: RecordNode, defined: Set<string>): unknown {
  if (defined.has(node.fullName)) return node.fullName;
  defined.add(node.fullName);
  const field = ({ name, node: type, default: value }: FieldNode) => ({
    name,
    type: canonical(type, defined),
    ...(value === undefined ? {} : { default: value }),
  });
  return { type: 'record', name: node.fullName, fields: node.fields.map(field) };
}

function scalar(node: ScalarNode): unknown {
  const { avro, logical } = node;
  if (logical === null) return avro;
  if (logical.name !== 'decimal') return { type: avro, logicalType: logical.name };
  return { type: avro, logicalType: logical.name, precision: logical.precision, scale: logical.scale };
}
