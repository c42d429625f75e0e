import type { FieldNode, RecordNode, SchemaNode } from '../../../src/records/avro/schema.ts';

/**
 * What keeps two schemas from reading each other's records, in both directions, or changes what a value means. Stricter
 * than a registry: a changed decimal scale is an error by powers of ten that no registry refuses.
 */
export function incompatibilities(released: SchemaNode, current: SchemaNode, path = ''): string[] {
  if (released.kind !== current.kind) return [`${path}: ${released.kind} became ${current.kind}`];
  if (released.kind === 'nullable' && current.kind === 'nullable') {
    return incompatibilities(released.inner, current.inner, path);
  }
  if (released.kind === 'array' && current.kind === 'array') {
    return incompatibilities(released.items, current.items, `${path}[]`);
  }
  if (released.kind === 'map' && current.kind === 'map') {
    return incompatibilities(released.values, current.values, `${path}{}`);
  }
  if (released.kind === 'record' && current.kind === 'record') return recordIncompatibilities(released, current, path);
  const [before, after] = [JSON.stringify(released), JSON.stringify(current)];
  return before === after ? [] : [`${path}: ${before} became ${after}`];
}

function recordIncompatibilities(released: RecordNode, current: RecordNode, path: string): string[] {
  const found: string[] = [];
  if (released.fullName !== current.fullName) found.push(`${path}: renamed to ${current.fullName}`);
  const before = new Map(released.fields.map((field) => [field.name, field]));
  const after = new Map(current.fields.map((field) => [field.name, field]));
  for (const [name, field] of before) {
    const now = after.get(name);
    if (now === undefined) found.push(...withoutDefault(field, `${path}/${name}: taken away`));
    else {
      found.push(...incompatibilities(field.node, now.node, `${path}/${name}`));
      if (field.default !== now.default) found.push(`${path}/${name}: another default`);
    }
  }
  for (const [name, field] of after) {
    if (!before.has(name)) found.push(...withoutDefault(field, `${path}/${name}: added`));
  }
  return found;
}

function withoutDefault(field: FieldNode, what: string): string[] {
  return field.default === null && field.node.kind === 'nullable' ? [] : [`${what} without default null`];
}
