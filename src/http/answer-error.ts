import { ConnectorError, type ErrorCode } from '../errors.ts';
import type { AnswerBody } from './answer-body.ts';
import { type HeaderFields, headerField, retryAfterMs } from './header-fields.ts';
import { quotedText } from './quoted-text.ts';

const LONGEST_QUOTE = 200;
const CERTIFICATE_CODE = /^(ERR_TLS_|CERT_|UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED|HOSTNAME_MISMATCH)/;
const PROTOCOL_CODE = /^(HPE_|HTTPParserError|UND_ERR_HEADERS_OVERFLOW)/;

/** The error for an answer whose status is none that we can use (interface, part 7: problem details, or anything). */
export function refusedAnswer(
  code: ErrorCode,
  options: {
    readonly from: string;
    readonly endpoint: string;
    readonly status: number;
    readonly headers: HeaderFields;
    /** What the body says, made fit for a message; empty when it says nothing. */
    readonly problem: string;
    readonly wallMs: number;
    /** `referenceData` or `marketData`. */
    readonly name: string;
  },
): ConnectorError {
  const { from, endpoint, status, headers, problem, wallMs, name } = options;
  const said = problem === '' ? '' : ` (${problem})`;
  return new ConnectorError(code, `${from} was answered with ${status}${said}${advice(code, headers, name)}.`, {
    retryAfterMs: retryAfterMs(headers, wallMs),
    fields: { status, endpoint },
  });
}

function advice(code: ErrorCode, headers: HeaderFields, name: string): string {
  if (code === 'PROVIDER_UNAUTHORIZED') return `; check ${name}.auth and the account's permissions`;
  if (code !== 'PROVIDER_REDIRECT') return '';
  // Only the origin is told: the path and query of a redirect may carry a session or a token.
  const location = URL.parse(headerField(headers, 'location') ?? '');
  const where = location === null ? '' : ` to ${quotedText(location.host, LONGEST_QUOTE)}`;
  return `, a redirect${where}, which is never followed; set ${name}.url to the final address`;
}

/** The error for a request that got no answer, or none that is HTTP. */
export function unanswered(cause: unknown, from: string, name: string): ConnectorError {
  const code = codeOf(cause);
  if (CERTIFICATE_CODE.test(code)) {
    return new ConnectorError(
      'PROVIDER_UNREACHABLE',
      `${from}: the server's certificate is not accepted (${code}); set ${name}.ca to the file of your own authority, or mend the certificate.`,
      { cause },
    );
  }
  if (PROTOCOL_CODE.test(code)) {
    return new ConnectorError('PROTOCOL_VIOLATION', `${from} was answered with something that is not HTTP (${code}).`, {
      cause,
    });
  }
  return new ConnectorError(
    'PROVIDER_UNREACHABLE',
    `${from} got no answer (${code}); check ${name}.url, DNS, proxy and firewall.`,
    { cause },
  );
}

function codeOf(cause: unknown): string {
  if (!(cause instanceof Error)) return 'unknown';
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name;
}

/** Title and detail of a problem (RFC 9457) that an error's body holds; empty for bodies that are none, or too long. */
export async function readProblem(body: AnswerBody, secrets: readonly string[]): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body.chunks) chunks.push(chunk);
  const problem: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
  if (typeof problem !== 'object' || problem === null) return '';
  const { title, detail } = problem as { readonly title?: unknown; readonly detail?: unknown };
  return [title, detail]
    .filter((text) => typeof text === 'string')
    .map((text) => quotedText(text, LONGEST_QUOTE, secrets))
    .join(': ');
}
