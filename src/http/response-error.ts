import { ConnectorError, type ErrorCode } from '../errors.ts';
import { collectBytes } from './body-chunks.ts';
import { type HeaderFields, headerField, retryAfterMs, serverDate } from './header-fields.ts';
import { quotedText } from './quoted-text.ts';
import type { ResponseBody } from './response-body.ts';

const LONGEST_QUOTE = 200;
const MOST_VALIDATION_ERRORS = 5;
const CERTIFICATE_CODE = /^(ERR_TLS_|CERT_|UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED|HOSTNAME_MISMATCH)/;
const PROTOCOL_CODE = /^(HPE_|HTTPParserError|UND_ERR_HEADERS_OVERFLOW)/;

/** What the body of an error says (parts 2.1 and 7 of src/provider/README.md), made safe for a message. */
export interface ProblemText {
  /** Title and detail; empty when it says nothing. */
  readonly said: string;
  /** The first of a ValidationProblemDetails' errors, `name: reason`. */
  readonly validation: readonly string[];
}

export const NO_PROBLEM: ProblemText = { said: '', validation: [] };

/**
 * The error for a response whose status we cannot use (part 7 of src/provider/README.md: problem details, or anything
 * else in its body).
 */
export function refusedResponse(
  code: ErrorCode,
  options: {
    readonly from: string;
    readonly endpoint: string;
    readonly status: number;
    readonly headers: HeaderFields;
    readonly problem: ProblemText;
    readonly wallMs: number;
    /** `referenceData` or `marketData`. */
    readonly name: string;
  },
): ConnectorError {
  const { from, endpoint, status, headers, problem, wallMs, name } = options;
  const said = problem.said === '' ? '' : ` (${problem.said})`;
  const validation = problem.validation.length === 0 ? {} : { validation: problem.validation };
  return new ConnectorError(code, `${from} was answered with ${status}${said}${advice(code, headers, name)}.`, {
    retryAfterMs: retryAfterMs(headers, wallMs),
    // The date as well: a refusal shows the provider's time as any other response does.
    fields: { status, endpoint, dateMs: serverDate(headers), ...validation },
  });
}

function advice(code: ErrorCode, headers: HeaderFields, name: string): string {
  if (code === 'PROVIDER_UNAUTHORIZED') return `; check ${name}.auth and the account's permissions`;
  if (code !== 'PROVIDER_REDIRECT') return '';
  // Only the origin is shown: the path and query of a redirect may carry a session or a token.
  const location = URL.parse(headerField(headers, 'location') ?? '');
  const where = location === null ? '' : ` to ${quotedText(location.host, LONGEST_QUOTE)}`;
  return `, a redirect${where}, which is never followed; set ${name}.url to the final address`;
}

/** The error for a request that got no response, or one that is not HTTP. */
export function unanswered(cause: unknown, from: string, name: string): ConnectorError {
  const code = PROTOCOL_CODE.test(codeOf(cause)) ? 'PROTOCOL_VIOLATION' : 'PROVIDER_UNREACHABLE';
  return new ConnectorError(code, unansweredText(cause, from, name, `; check ${name}.url, DNS, proxy and firewall`), {
    cause,
  });
}

/** Why a request got no response; `advice` for one that reached no server. */
export function unansweredText(cause: unknown, from: string, name: string, advice = ''): string {
  const code = codeOf(cause);
  if (CERTIFICATE_CODE.test(code)) {
    return `${from}: the server's certificate is not accepted (${code}); set ${name}.ca to the file of your own authority, or replace the certificate.`;
  }
  if (PROTOCOL_CODE.test(code)) return `${from} was answered with something that is not HTTP (${code}).`;
  return `${from} got no response (${code})${advice}.`;
}

function codeOf(cause: unknown): string {
  if (!(cause instanceof Error)) return 'unknown';
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name;
}

/** The problem (RFC 9457) in an error's body. Throws for a body that is not JSON, or too long. */
export async function readProblem(body: ResponseBody, secrets: readonly string[]): Promise<ProblemText> {
  const problem: unknown = JSON.parse((await collectBytes(body.chunks)).toString('utf8'));
  if (typeof problem !== 'object' || problem === null) return NO_PROBLEM;
  const { title, detail, errors } = problem as { title?: unknown; detail?: unknown; errors?: unknown };
  const validation = validationErrors(errors).map((text) => quotedText(text, LONGEST_QUOTE, secrets));
  const said = [title, detail]
    .filter((text) => typeof text === 'string')
    .map((text) => quotedText(text, LONGEST_QUOTE, secrets));
  return { said: [...said, ...validation.slice(0, 1)].join(': '), validation };
}

/** The errors of a ValidationProblemDetails: an object that maps a name to an array of strings. */
function validationErrors(errors: unknown): readonly string[] {
  if (typeof errors !== 'object' || errors === null) return [];
  return Object.entries(errors)
    .slice(0, MOST_VALIDATION_ERRORS)
    .flatMap(([name, reasons]) =>
      [reasons].flat().map((reason) => (typeof reason === 'string' ? `${name}: ${reason}` : name)),
    )
    .slice(0, MOST_VALIDATION_ERRORS);
}
