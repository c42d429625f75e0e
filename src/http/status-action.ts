import type { ErrorCode } from '../errors.ts';

/** What a response's status means for us: its body is used, the token is renewed once, or an error of this code. */
export type StatusAction = 'consume' | 'renewAuthorization' | ErrorCode;

interface StatusRow {
  readonly first: number;
  readonly last: number;
  readonly action: StatusAction;
  readonly because: string;
}

/**
 * Status → action; the first row that holds the status counts. The interface names 200, 400, 401, 403, 404 and 500 for
 * market data and nothing for reference data (part 7 of src/provider/README.md), so everything else follows RFC 9110.
 *
 * A 400 does not say whether it asks for less: the caller, who knows what it asked for, looks at `fields.status`.
 * Exported for tests.
 */
export const STATUS_ACTIONS: readonly StatusRow[] = [
  { first: 206, last: 206, action: 'PROTOCOL_VIOLATION', because: 'a part was never asked for' },
  { first: 200, last: 299, action: 'consume', because: 'success' },
  { first: 300, last: 399, action: 'PROVIDER_REDIRECT', because: 'redirects are never followed' },
  { first: 401, last: 401, action: 'renewAuthorization', because: 'the token may have expired or been withdrawn' },
  { first: 403, last: 403, action: 'PROVIDER_UNAUTHORIZED', because: 'a new token has no more permissions' },
  { first: 408, last: 408, action: 'PROVIDER_BUSY', because: 'the server waited in vain' },
  { first: 413, last: 413, action: 'PROVIDER_ASKS_FOR_LESS', because: 'the content is too large' },
  { first: 425, last: 425, action: 'PROVIDER_BUSY', because: 'too early' },
  { first: 429, last: 429, action: 'PROVIDER_BUSY', because: 'too many requests' },
  { first: 400, last: 499, action: 'PROVIDER_REFUSED', because: 'the same request would be refused again' },
  { first: 500, last: 599, action: 'PROVIDER_BUSY', because: 'the server failed; it may recover' },
];

/** The action for a status; one outside the table (1xx as a final response, 600 and more) breaks the protocol. */
export function actionOf(status: number): StatusAction {
  const row = STATUS_ACTIONS.find(({ first, last }) => first <= status && status <= last);
  return row?.action ?? 'PROTOCOL_VIOLATION';
}
