export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** The reasons of a refusal (`errors` of ValidationProblemDetails). Key: the name of the wrong parameter or body member. */
export type Refusals = Readonly<Record<string, readonly string[]>>;

export function jsonAnswer(body: string | Buffer, status = 200): Answer {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
    body: typeof body === 'string' ? Buffer.from(body) : body,
  };
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  410: 'Gone',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
};

/**
 * The JSON text of a ProblemDetails or, if there are refusals, of a ValidationProblemDetails (part 2.1 of
 * src/provider/README.md).
 */
export function problemText(status: number, detail: string, refusals?: Refusals): string {
  const problem = {
    type: `https://tools.ietf.org/html/rfc9110#section-15`,
    title: refusals ? 'One or more validation errors occurred.' : (TITLES[status] ?? 'Error'),
    status,
    detail,
    instance: null,
    ...(refusals && { errors: refusals }),
    traceId: '00-5eed5eed5eed5eed5eed5eed5eed5eed-5eed5eed5eed5eed-00',
  };
  return JSON.stringify(problem);
}

export function problem(status: number, detail: string, refusals?: Refusals): Answer {
  return {
    status,
    headers: {
      'content-type': 'application/problem+json; charset=utf-8',
      'cache-control': 'no-store',
      ...(status === 401 && { 'www-authenticate': 'Bearer realm="simulator"' }),
    },
    body: Buffer.from(problemText(status, detail, refusals)),
  };
}
