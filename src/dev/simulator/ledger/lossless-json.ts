/**
 * JSON values whose numbers keep their text (by `JSON.rawJSON`). Used to change existing JSON text: instruments that a
 * test published, rows and responses that a fault changes.
 */
export type Lossless = string | boolean | null | object;

interface SourceAwareJson {
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
  rawJSON(text: string): object;
  isRawJSON(value: unknown): boolean;
}
const json = JSON as unknown as SourceAwareJson;

/** Parses JSON and keeps every digit of numbers. Throws a SyntaxError on malformed text. */
export function parseLossless(text: string): unknown {
  return json.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined ? json.rawJSON(source) : value,
  );
}

export function stringifyLossless(value: unknown): string {
  return JSON.stringify(value);
}

/** Returns a value that `stringifyLossless` writes as exactly this JSON scalar. Exported for tests. */
export function rawScalar(text: string): object {
  return json.rawJSON(text);
}

export function isContainer(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !json.isRawJSON(value);
}

/** Copies a tree in another form: absent values are null or omitted, keys are lower-case or capitalised. */
export function reshape(value: unknown, form: { absent: 'null' | 'omit'; casing: 'lower' | 'capitalised' }): unknown {
  if (Array.isArray(value)) return value.map((item) => reshape(item, form));
  if (!isContainer(value)) return value;
  const entries = Object.entries(value).filter(([, item]) => form.absent === 'null' || item !== null);
  return Object.fromEntries(
    entries.map(([key, item]) => [
      form.casing === 'lower' ? key : key.charAt(0).toUpperCase() + key.slice(1),
      reshape(item, form),
    ]),
  );
}

/** One change at a JSON pointer. `value` is the new JSON text; without `value`, the member is removed. */
export interface Edit {
  readonly pointer: string;
  readonly value?: string;
}

/** Applies edits to a parsed tree in place. Ignores an edit if the parent of its member does not exist. */
export function applyEdits(root: unknown, edits: readonly Edit[]): unknown {
  for (const { pointer, value } of edits) {
    const path = pointer
      .split('/')
      .slice(1)
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
    const last = path.pop();
    if (last === undefined) continue;
    let parent: unknown = root;
    for (const part of path) parent = isContainer(parent) ? parent[part] : undefined;
    if (!isContainer(parent)) continue;
    if (value !== undefined) parent[last] = parseLossless(value);
    else if (Array.isArray(parent)) parent.splice(Number(last), 1);
    else delete parent[last];
  }
  return root;
}
