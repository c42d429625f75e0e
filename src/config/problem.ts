export type SettingPath = readonly (string | number)[];

/** One problem of the settings: a sentence without the name of the setting, and never with a secret. */
export interface Problem {
  readonly path: SettingPath;
  readonly message: string;
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
