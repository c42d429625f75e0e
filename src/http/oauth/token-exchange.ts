import type { Dispatcher } from 'undici';
import { ConnectorError } from '../../errors.ts';
import type { Clock } from '../../support/clock.ts';
import { untilAborted } from '../../support/until-aborted.ts';
import { collectBytes } from '../body-chunks.ts';
import { headerField, retryAfterMs } from '../header-fields.ts';
import type { RequestTurns } from '../request-turns.ts';
import { openResponseBody } from '../response-body.ts';
import { unansweredText } from '../response-error.ts';
import { actionOf } from '../status-action.ts';
import type { TokenEndpoint } from './token-endpoint.ts';

const LARGEST_RESPONSE_BYTES = 65_536;

/** What a token endpoint answered: the status, and the members of the JSON object. */
export interface TokenResponse {
  readonly status: number;
  readonly fields: Readonly<Record<string, unknown>>;
}

interface TokenForm {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Sends one form to the token endpoint. Rejects with TOKEN_FAILED when nothing can be read from what comes. */
export async function exchangeForm(
  form: TokenForm,
  { endpoint, dispatcher, turns, clock }: ExchangeOptions,
  signal: AbortSignal,
): Promise<TokenResponse> {
  const { address, turn, name } = endpoint;
  let response: Dispatcher.ResponseData;
  try {
    const path = `${address.pathname}${address.search}`;
    const sent = dispatcher.request({ origin: address.origin, path, method: 'POST', ...form, signal });
    response = await untilAborted(sent, signal);
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    throw new ConnectorError('TOKEN_FAILED', unansweredText(cause, turn.from, name), { cause });
  }
  response.body.on('error', () => {});
  const { statusCode: status } = response;
  const action = actionOf(status);
  const patienceMs = retryAfterMs(response.headers, clock.wallMs());
  if (action === 'consume') turns.answered(turn);
  else turns.refused(turn, { status, retryAfterMs: patienceMs });
  if (action === 'PROVIDER_BUSY' || action === 'PROVIDER_REDIRECT') {
    const why = action === 'PROVIDER_REDIRECT' ? ', a redirect, which is never followed' : '';
    throw endpoint.failed(`answered ${status}${why}`, { status }, patienceMs);
  }
  return { status, fields: await readFields(response, endpoint, signal) };
}

interface ExchangeOptions {
  readonly endpoint: TokenEndpoint;
  readonly dispatcher: Dispatcher;
  readonly turns: RequestTurns;
  readonly clock: Clock;
}

async function readFields(
  { headers, statusCode: status, body: stream }: Dispatcher.ResponseData,
  endpoint: TokenEndpoint,
  signal: AbortSignal,
): Promise<TokenResponse['fields']> {
  try {
    const body = openResponseBody({
      stream,
      encoding: headerField(headers, 'content-encoding'),
      maxBodyBytes: LARGEST_RESPONSE_BYTES,
      from: endpoint.turn.from,
      capSetting: 'nothing',
      signal,
    });
    const content: unknown = JSON.parse((await collectBytes(body.chunks)).toString('utf8'));
    if (typeof content === 'object' && content !== null) return content as Record<string, unknown>;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    // The body of a response may hold a token, so neither it nor the parser's message goes into the error.
    const code = error instanceof ConnectorError ? error.code : 'no JSON';
    throw endpoint.failed(`answered ${status} with a body that cannot be read (${code})`, { status });
  }
  throw endpoint.failed(`answered ${status} with JSON that is not an object`, { status });
}
