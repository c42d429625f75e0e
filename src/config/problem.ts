export type SettingPath = readonly (string | number)[];

/** One problem of the settings: a sentence without the name of the setting, and never with a secret. */
export interface Problem {
  readonly path: SettingPath;
  readonly message: string;
}

/** What a value has under a name or at a position; undefined where it is no group or list, or has none. */
export function memberOf(value: unknown, key: string | number): unknown {
  if (value === null || typeof value !== 'object' || !Object.hasOwn(value, key)) return undefined;
  return (value as Readonly<Record<string | number, unknown>>)[key];
}

export interface Position {
  readonly line: number;
  readonly column: number;
}

/** `sources[0].walkInterval`; other parts than plain names are quoted, with their control characters escaped. */
export function printPath(path: SettingPath): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    if (!/^[\w-]{1,100}$/.test(part)) return `${text}[${JSON.stringify(part.slice(0, 100))}]`;
    return text === '' ? part : `${text}.${part}`;
  }, '');
}
