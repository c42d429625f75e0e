export type SettingPath = readonly (string | number)[];

/** One problem of the settings. The message is a sentence without the setting's name, and never shows a secret. */
export interface Problem {
  readonly path: SettingPath;
  readonly message: string;
}

/** The member of a group or list under a name or position; undefined if there is no such member. */
export function memberOf(value: unknown, key: string | number): unknown {
  if (value === null || typeof value !== 'object' || !Object.hasOwn(value, key)) return undefined;
  return (value as Readonly<Record<string | number, unknown>>)[key];
}

export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Prints a path like `sources[0].walkInterval`. A name with spaces or special characters is quoted and escaped. */
export function printPath(path: SettingPath): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    if (!/^[\w-]{1,100}$/.test(part)) return `${text}[${JSON.stringify(part.slice(0, 100))}]`;
    return text === '' ? part : `${text}.${part}`;
  }, '');
}
