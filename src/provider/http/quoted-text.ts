// Control and format characters (terminal escapes, marks that change the direction of text) and line separators.
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const ADDRESS = /\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s"']+/gi;

/**
 * Text of the other side made safe for a message: echoed secrets and addresses taken out, control characters escaped,
 * and cut at `longest` characters.
 * @param secrets what was sent with the request and must not come back in a log
 */
export function quotedText(text: string, longest: number, secrets: readonly string[] = []): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret.length >= SHORTEST_SECRET) clean = clean.replaceAll(secret, '[secret]');
  }
  clean = clean.replace(ADDRESS, '[address]');
  const cut = clean.length > longest ? `${clean.slice(0, longest)}…` : clean;
  return cut.replace(UNSAFE, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

// A shorter value would also match parts of ordinary words.
const SHORTEST_SECRET = 4;
