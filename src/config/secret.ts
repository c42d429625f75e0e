import { inspect } from 'node:util';
import { CONTENT_PROBLEMS } from '../support/connection-contents.ts';

/**
 * A secret, or the content of a file, as a function that returns the text. Each call reads the file again, so that a
 * rotated secret is used without a restart. A printed secret shows only its origin.
 */
export type Secret = (() => Promise<string>) & {
  /** Reads the current content. Rejects if the file is unusable. The secret itself then returns the last good text. */
  readNow(): Promise<string>;
  toJSON(): string;
  toString(): string;
};

export class FileReference {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }
}

type Content = 'secret' | keyof typeof CONTENT_PROBLEMS;

/** Creates secrets from the settings. Errors are sentences without the secret. */
export interface SecretReader {
  /** @throws Error if the text has control characters (no header or login can have them) or is no usable proxy. */
  fromText(text: string, content?: 'secret' | 'header' | 'token' | 'proxy'): Secret;
  /** @throws Error if the file is unreadable, empty or too large, or has no usable content of this kind. */
  fromFile(path: string, content: Content): Promise<Secret>;
}

const MAXIMUM_CHARACTERS = 1_048_576;
// biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for control characters.
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f]/;

/**
 * @param onSecret called with each value of a secret, and its file, before use, so that the log redacts the value
 * @param onUnreadable called once when a file becomes unusable after its first reading: `problem` names the file
 */
export function createSecretReader(options: {
  readonly readFile: (path: string) => Promise<string>;
  readonly onSecret: (value: string, file?: string) => void;
  readonly onUnreadable?: ((problem: string) => void) | undefined;
}): SecretReader {
  const { readFile, onSecret, onUnreadable } = options;
  async function read(path: string, content: Content): Promise<string> {
    const value = checked(await readFile(path), content);
    if (isLine(content)) onSecret(value, path);
    return value;
  }

  return {
    fromText(text, content = 'secret') {
      const value = checked(text, content);
      onSecret(value);
      const read = async () => value;
      return redacted(read, read, '[secret]');
    },
    async fromFile(path, content) {
      const readNow = () =>
        read(path, content).catch((error: unknown) => {
          throw new Error(`${shownPath(path)} ${reasonOf(error)}`, { cause: error });
        });
      let newest = await readNow();
      let isUsable = true;
      const readAgain = async () => {
        // During a rotation the file may be missing or empty. Until the file is complete, the last good value is used.
        try {
          newest = await readNow();
          isUsable = true;
        } catch (error) {
          if (isUsable) onUnreadable?.((error as Error).message);
          isUsable = false;
        }
        return newest;
      };
      return redacted(readAgain, readNow, isLine(content) ? `[secret in ${path}]` : `[content of ${path}]`);
    },
  };
}

/** True for a secret of one line. All other contents are PEM. */
const isLine = (content: Content) => ['secret', 'header', 'token', 'proxy'].includes(content);

function checked(text: string, content: Content): string {
  if (text.length > MAXIMUM_CHARACTERS) throw new Error(`is longer than ${MAXIMUM_CHARACTERS} characters`);
  const value = isLine(content) ? text.replace(/^\ufeff|\r?\n$/g, '') : text;
  if (value.trim() === '') throw new Error('is empty');
  if (isLine(content) && CONTROL_CHARACTER.test(value)) {
    throw new Error('has a line break or another control character');
  }
  if (isLine(content) && value.includes('\ufffd')) throw new Error('is not UTF-8');
  const problem = content === 'secret' ? null : CONTENT_PROBLEMS[content](value);
  if (problem !== null) throw new Error(problem);
  return value;
}

/** A user may write the secret in place of its path, so a text that is not clearly a path is not shown. */
function shownPath(path: string): string {
  return /^\.{0,2}\/\S{1,200}$/.test(path) ? path : 'the file';
}

/** Uses the system's error code, never its message, because a message may quote a secret. */
function reasonOf(error: unknown): string {
  return error instanceof Error && !('code' in error) ? error.message : `cannot be read${whyUnreadable(error)}`;
}

function redacted(read: () => Promise<string>, readNow: () => Promise<string>, shown: string): Secret {
  const show = () => shown;
  return Object.freeze(Object.assign(read, { readNow, toString: show, toJSON: show, [inspect.custom]: show }));
}

/** Returns why a file is unreadable, in brackets, and which user may not read the file; empty if unknown. */
export function whyUnreadable(error: unknown): string {
  if (!(error instanceof Error) || !('code' in error)) return '';
  if (error.code !== 'EACCES') return ` (${String(error.code)})`;
  const user = process.getuid?.();
  return ` (EACCES): user ${user ?? 'of this process'} has no right to read it, or to enter a folder of its path`;
}
