/** Takes secrets out of texts: the registered ones, and text that looks like one. */
export interface Redaction {
  /**
   * From now on this value is taken out wherever it appears, in its usual encodings too.
   *
   * @param place where it stands, such as a file, in which it replaces an earlier one; left out for one that never changes
   */
  register(secret: string, place?: string): void;
  redact(text: string): string;
}

export const REDACTED = '[redacted]';

/** A shorter value would match parts of ordinary words, and is not taken out: the settings warn of it. */
export const SHORTEST_SECRET = 6;
/** Of one place: beyond this the oldest are forgotten; they have expired long ago. */
const MAXIMUM_VALUES = 100;

const LOGIN = /\b(bearer|basic) {1,8}[A-Za-z0-9+/=._~-]{4,}/gi;
const URL_TEXT = /\bhttps?:\/\/[^\s"'<>]+/gi;
const SECRET_KEY =
  /authorization|cookie|token|secret|password|passphrase|apikey|privatekey|credential|simulationurl|assertion/;
/** Names of facts about a secret: its place, its age. */
const ABOUT_A_SECRET = /(file|type|endpoint|count)$|(?<!simulation)url$/;

/** True for a secret so short that its value stays in texts. */
export function isTooShortToRedact(secret: string): boolean {
  return secret.trim().length < SHORTEST_SECRET;
}

/** A field that by its name holds a secret, whatever its value; numbers and truth values never are one. */
export function isSecretKey(key: string, value: unknown): boolean {
  if (typeof value === 'number' || typeof value === 'boolean' || value === null || value === undefined) return false;
  const name = key.toLowerCase().replace(/[-_]/g, '');
  return SECRET_KEY.test(name) && !ABOUT_A_SECRET.test(name);
}

export function createRedaction(): Redaction {
  /** By place: its values, each with its forms, the newest last. */
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
    redact(text) {
      let clean = text;
      for (const values of places.values()) {
        for (const forms of values.values()) {
          for (const form of forms) clean = clean.replaceAll(form, REDACTED);
        }
      }
      return clean.replace(LOGIN, `$1 ${REDACTED}`).replace(URL_TEXT, withoutSecretParts);
    },
  };
}

/** As it is, in a URL, in a form body, in JSON, in base64. */
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

/** Host and path of a URL stay; a login or a query can hold anything. */
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
