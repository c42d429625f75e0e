import { ConnectorError, type ErrorCode } from '../../errors.ts';
import { isSecretKey, REDACTED } from '../../observe/redaction.ts';
import { tlsAdvice } from '../../support/tls-advice.ts';
import { collectBytes } from './body-chunks.ts';
import { type HeaderFields, headerField, retryAfterMs, serverDate } from './http-response.ts';
import { quotedText } from './quoted-text.ts';
import type { ResponseBody } from './response-body.ts';

const LONGEST_QUOTE = 200;
const MOST_VALIDATION_ERRORS = 5;
const MOST_MEMBERS = 10;
const LONGEST_NAME = 50;
const SECTION = /^#[\w.-]{1,60}$/;
const PROTOCOL_CODE = /^(HPE_|HTTPParserError|UND_ERR_HEADERS_OVERFLOW)/;

/** The problem details in an error's body (parts 2.1 and 7 of src/provider/README.md), without secrets. */
export interface ProblemText {
  readonly said: string;
  /** The first errors of a ValidationProblemDetails, as `name: reason`. */
  readonly validation: readonly string[];
  /** `type`, `instance`, and all undocumented members, such as a trace id for the provider's support. */
  readonly members: Readonly<Record<string, string>>;
}

export const NO_PROBLEM: ProblemText = { said: '', validation: [], members: {} };

/** Makes the error for a status that is not a success (part 7 of src/provider/README.md). */
export function refusedResponse(
  code: ErrorCode,
  options: {
    readonly from: string;
    readonly endpoint: string;
    readonly status: number;
    readonly headers: HeaderFields;
    readonly problem: ProblemText;
    readonly wallMs: number;
    readonly name: string;
    readonly login: string;
  },
): ConnectorError {
  const { from, endpoint, status, headers, problem, wallMs } = options;
  const members = Object.entries(problem.members).map(([member, text]) => `${member}: ${text}`);
  const parts = [problem.said, ...members].filter((text) => text !== '');
  const said = parts.length === 0 ? '' : ` (${parts.join('; ')})`;
  const validation = problem.validation.length === 0 ? {} : { validation: problem.validation };
  const details = members.length === 0 ? {} : { problem: problem.members };
  return new ConnectorError(code, `${from} was answered with ${status}${said}${advice(code, options)}.`, {
    retryAfterMs: retryAfterMs(headers, wallMs),
    fields: { status, endpoint, dateMs: serverDate(headers), ...validation, ...details },
  });
}

type Refused = Parameters<typeof refusedResponse>[1];

function advice(code: ErrorCode, { status, headers, name, login }: Refused): string {
  if (code === 'PROVIDER_UNAUTHORIZED') return `; check ${login} and the account's permissions`;
  if (status === 404) return `; check ${urlSetting(name)}`;
  if (code !== 'PROVIDER_REDIRECT') return '';
  // Only the host is shown, because the path and query of a redirect can contain a session id or a token.
  const location = URL.parse(headerField(headers, 'location') ?? '');
  const where = location === null ? '' : ` to ${quotedText(location.host, LONGEST_QUOTE)}`;
  return `, a redirect${where}, which is never followed; set ${urlSetting(name)} to the final address`;
}

/** The setting of an interface's URL and its usual environment variable, such as `marketData.url (MARKET_DATA_URL)`. */
function urlSetting(name: string): string {
  return `${name}.url (${name.replace(/[A-Z]/g, '_$&').toUpperCase()}_URL)`;
}

export function unanswered(cause: unknown, from: string, name: string): ConnectorError {
  const code = PROTOCOL_CODE.test(codeOf(cause)) ? 'PROTOCOL_VIOLATION' : 'PROVIDER_UNREACHABLE';
  return new ConnectorError(code, unansweredText(cause, from, name), { cause });
}

/** @param address the name of the setting with the request's address */
export function unansweredText(cause: unknown, from: string, name: string, address = urlSetting(name)): string {
  const code = codeOf(cause);
  if (PROTOCOL_CODE.test(code)) return `${from} was answered with something that is not HTTP (${code}).`;
  const either = `${address}, or in ${name}.proxy if it is set,`;
  const advice = tlsAdvice(cause, `${name}.ca`, either) ?? `check ${address}, DNS, proxy and firewall`;
  return `${from} got no response (${code}): ${advice}.`;
}

function codeOf(cause: unknown): string {
  if (!(cause instanceof Error)) return 'unknown';
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name;
}

/** Reads the problem (RFC 9457) in an error's body. Throws if the body is not JSON or is too long. */
export async function readProblem(body: ResponseBody, secrets: readonly string[]): Promise<ProblemText> {
  const problem: unknown = JSON.parse((await collectBytes(body.chunks)).toString('utf8'));
  if (typeof problem !== 'object' || problem === null) return NO_PROBLEM;
  const { title, detail, errors, status: _, ...others } = problem as Readonly<Record<string, unknown>>;
  const validation = validationErrors(errors).map((text) => quotedText(text, LONGEST_QUOTE, secrets));
  const said = [title, detail]
    .filter((text) => typeof text === 'string')
    .map((text) => quotedText(text, LONGEST_QUOTE, secrets));
  return { said: [...said, ...validation.slice(0, 1)].join(': '), validation, members: membersOf(others, secrets) };
}

function membersOf(
  others: Readonly<Record<string, unknown>>,
  secrets: readonly string[],
): Readonly<Record<string, string>> {
  const given = Object.entries(others).filter(([, value]) => value !== null && value !== '');
  const members = given.slice(0, MOST_MEMBERS).map(([name, value]): [string, string] => {
    const shown = withoutSecrets(name, value);
    const text = typeof shown === 'string' ? withoutQuery(shown) : JSON.stringify(shown, withoutSecrets);
    return [quotedText(name, LONGEST_NAME, secrets), quotedText(text, LONGEST_QUOTE, secrets)];
  });
  return Object.fromEntries(members);
}

function withoutSecrets(name: string, value: unknown): unknown {
  return isSecretKey(name, value) ? REDACTED : value;
}

/** Returns only the host, path and fragment of an address, because a login or a query can contain a secret. */
function withoutQuery(text: string): string {
  const url = URL.parse(text);
  return url === null || url.host === '' ? text : `${url.host}${url.pathname}${SECTION.test(url.hash) ? url.hash : ''}`;
}

function validationErrors(errors: unknown): readonly string[] {
  if (typeof errors !== 'object' || errors === null) return [];
  return Object.entries(errors)
    .slice(0, MOST_VALIDATION_ERRORS)
    .flatMap(([name, reasons]) =>
      [reasons].flat().map((reason) => (typeof reason === 'string' ? `${name}: ${reason}` : name)),
    )
    .slice(0, MOST_VALIDATION_ERRORS);
}

/** The action for a status: use the body, renew the token once, or fail with an error code. */
type StatusAction = 'consume' | 'renewAuthorization' | ErrorCode;

/**
 * For market data, the provider documents 200, 400, 401, 403, 404 and 500; for reference data, the provider documents
 * no status (part 7 of src/provider/README.md). Every other status has the meaning of RFC 9110. A 400 does not say if a
 * smaller request helps. The caller knows the request, and checks `fields.status`.
 */
export function actionOf(status: number): StatusAction {
  // 206 (a part of the body) is a violation, because our requests never ask for a part.
  if (status < 200 || status === 206 || status > 599) return 'PROTOCOL_VIOLATION';
  if (status < 300) return 'consume';
  if (status < 400) return 'PROVIDER_REDIRECT';
  if (status === 401) return 'renewAuthorization';
  if (status === 403) return 'PROVIDER_UNAUTHORIZED';
  if (status === 413) return 'PROVIDER_ASKS_FOR_LESS';
  return status >= 500 || [408, 425, 429].includes(status) ? 'PROVIDER_BUSY' : 'PROVIDER_REFUSED';
}

/** Resolves with null if the provider does not know the id (404). A 404 of the token endpoint still rejects. */
export async function nullWhenUnknown<Found>(asked: Promise<Found>): Promise<Found | null> {
  try {
    return await asked;
  } catch (error) {
    const isRefusal = error instanceof ConnectorError && error.code === 'PROVIDER_REFUSED';
    if (isRefusal && error.fields.status === 404) return null;
    throw error;
  }
}
