/** Removes secrets from texts: the registered secrets, and text that looks like a secret. */
export interface Redaction {
  /**
   * Removes this value from all later texts, also in its usual encodings.
   *
   * @param place where the secret is stored, such as a file, if the secret may change; absent for a constant secret
   */
  register(secret: string, place?: string): void;
  /** Removes ` (NAME)` and ` (NAME=value)` from all later texts, for a variable that has no effect here. */
  omit(name: string): void;
  redact(text: string): string;
}

export const REDACTED = '[redacted]';

/** A shorter secret stays in texts, because it matches parts of ordinary words. A warning names such secrets. */
export const SHORTEST_SECRET = 6;
/** Of a changing secret, at most this many values are removed from texts: the newest. Older values have expired long ago. */
const MAXIMUM_VALUES = 100;

// "a bearer token" and "basic authentication" are words of messages. A value that only begins with them is none.
const LOGIN = /\b(bearer|basic) {1,8}(?!(?:token|authentication)[.;,:)\]}"'\\]*(?:\s|$))[A-Za-z0-9+/=._~-]{4,}/gi;
const URL_TEXT = /\bhttps?:\/\/[^\s"'<>]+/gi;
const SECRET_KEY =
  /authorization|cookie|token|secret|password|passphrase|apikey|privatekey|credential|simulationurl|assertion/;
/** Names of facts about a secret, such as its file or type; these facts are not secret. */
const ABOUT_A_SECRET = /(file|type|endpoint|count)$|(?<!simulation)url$/;

/** True for a secret so short that its value stays in texts. */
export function isTooShortToRedact(secret: string): boolean {
  return secret.trim().length < SHORTEST_SECRET;
}

/** True if the name says that the field holds a secret. Numbers and booleans are never secrets. */
export function isSecretKey(key: string, value: unknown): boolean {
  if (typeof value === 'number' || typeof value === 'boolean' || value === null || value === undefined) return false;
  const name = key.toLowerCase().replace(/[-_]/g, '');
  return SECRET_KEY.test(name) && !ABOUT_A_SECRET.test(name);
}

const VARIABLE = / \(([A-Z_]+)(?:=\w+)?\)/g;

export function createRedaction(): Redaction {
  const omitted = new Set<string>();
  /** The values of each secret, the newest last, by `place`. Each value has its encoded forms. */
  const places = new Map<string, Map<string, readonly string[]>>();
  return {
    register(secret, place = secret) {
      const value = secret.trim();
      if (isTooShortToRedact(value)) return;
      const values = places.get(place) ?? new Map<string, readonly string[]>();
      const forms = values.get(value) ?? formsOf(value);
      values.delete(value);
      places.set(place, values.set(value, forms));
      const [oldest = ''] = values.keys();
      if (values.size > MAXIMUM_VALUES) values.delete(oldest);
    },
    omit: (name) => omitted.add(name),
    redact(text) {
      let clean = text;
      for (const values of places.values()) {
        for (const forms of values.values()) {
          for (const form of forms) clean = clean.replaceAll(form, REDACTED);
        }
      }
      clean = clean.replace(VARIABLE, (all, name) => (omitted.has(name) ? '' : all));
      return clean.replace(LOGIN, `$1 ${REDACTED}`).replace(URL_TEXT, withoutSecretParts);
    },
  };
}

/** The secret unchanged, and as in a URL, a form body, JSON and base64; the longest form first. */
function formsOf(secret: string): readonly string[] {
  const inUrl = encodeURIComponent(secret.toWellFormed());
  const encodings = [
    secret,
    inUrl,
    inUrl.replaceAll('%20', '+'),
    JSON.stringify(secret).slice(1, -1),
    Buffer.from(secret).toString('base64'),
    Buffer.from(secret).toString('base64url'),
  ];
  return [...new Set(encodings)].sort((a, b) => b.length - a.length);
}

/** Keeps host and path of a URL, and hides login and query, which may hold any secret. */
function withoutSecretParts(url: string): string {
  const start = url.indexOf('//') + 2;
  const pathStart = url.slice(start).search(/[/?#]/);
  const authority = pathStart < 0 ? url.slice(start) : url.slice(start, start + pathStart);
  const rest = url.slice(start + authority.length);
  const query = rest.search(/[?#]/);
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  const login = host === authority ? '' : `${REDACTED}@`;
  return `${url.slice(0, start)}${login}${host}${query < 0 ? rest : `${rest.slice(0, query)}?${REDACTED}`}`;
}
