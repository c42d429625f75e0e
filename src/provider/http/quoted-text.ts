import { isTooShortToRedact } from '../../observe/redaction.ts';

// Unsafe characters: control and format characters (terminal escapes, marks of text direction), line separators.
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const ADDRESS = /\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s"']+/gi;

/**
 * Makes a server's text safe for a message: removes addresses and `secrets`, escapes control characters, cuts it.
 * @param secrets the secrets that were sent with the request and must not appear in a log
 */
export function quotedText(text: string, longest: number, secrets: readonly string[] = []): string {
  let clean = text;
  for (const secret of secrets) {
    if (!isTooShortToRedact(secret)) clean = clean.replaceAll(secret, '[secret]');
  }
  clean = clean.replace(ADDRESS, '[address]');
  const cut = clean.length > longest ? `${clean.slice(0, longest)}…` : clean;
  return cut.replace(UNSAFE, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}
